"""What attacks on a ledger need."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from ldpsql_device.signature import SigningKey


@pytest.fixture
def memory_folder() -> Iterator[Path]:
    """A folder in memory, where the system has one: a disk is what takes a ledger's time."""
    memory = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None) as folder:
        yield Path(folder)


@pytest.fixture
def attacker(tmp_path: Path) -> SigningKey:
    """A key that is not the author's."""
    return SigningKey.create(tmp_path / "attacker.key")
