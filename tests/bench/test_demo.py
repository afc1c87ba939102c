"""The demo and the simulation behind it."""

from __future__ import annotations

import pyarrow as pa
import pytest

from ldpsql.bench import demo, simulate
from ldpsql.survey import Survey


def test_the_demo_asks_four_questions_and_says_what_was_promised() -> None:
    """Every answer stands beside the truth, and the misses are counted."""
    lines: list[str] = []
    missed = demo.run(lines.append, people=20_000)
    text = "\n".join(lines)
    assert all(f"{name}  SELECT" in text for name in ("Q1", "Q2", "Q3", "Q4"))
    assert text.count("outside") == missed
    assert "promised to each person: 2-LDP" in text


def test_shoppers_are_the_same_for_the_same_seed() -> None:
    """The table is made up, but repeatably."""
    assert demo.shoppers(100, 3).equals(demo.shoppers(100, 3))
    assert not demo.shoppers(100, 3).equals(demo.shoppers(100, 4))


@pytest.mark.parametrize(("seed", "same"), [(5, True), (6, False)])
def test_a_simulation_repeats_with_its_seed(seed: int, same: bool) -> None:
    """The same seed gives the same reports, another one others."""
    survey, table = Survey.from_toml(demo.SURVEY), demo.shoppers(2_000, 1)

    def answer(chosen: int) -> pa.Table:
        with simulate(survey, table, seed=chosen) as connection:
            return connection.execute("SELECT COUNT(*) FROM shop WHERE age < 40").arrow()

    assert answer(5).equals(answer(seed)) == same
