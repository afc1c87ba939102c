"""Golden plans behind every pass."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from support.plan_fixtures import FOLDER, PLANNERS, rendered

from ldpsql.planner.plan import PASSES


@pytest.mark.parametrize("name", PLANNERS)
def test_plans_are_as_written(name: str, golden: Callable[[Path, str], None]) -> None:
    golden(FOLDER / f"{name}.sql", rendered(name))


def test_every_pass_has_a_file_of_its_name() -> None:
    assert {path.stem for path in FOLDER.glob("*.sql")} == {"boxes", *(name for name, _ in PASSES)}
