"""What attacks on a ledger need."""

from __future__ import annotations

from pathlib import Path

import pytest

from ldpsql_device.signature import SigningKey


@pytest.fixture
def attacker(tmp_path: Path) -> SigningKey:
    """A key that is not the author's."""
    return SigningKey.create(tmp_path / "attacker.key")
