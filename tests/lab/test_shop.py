"""The made-up shoppers and their survey."""

from __future__ import annotations

import tomllib

from ldpsql_lab.demo.shop import STATES, SURVEY, shoppers


def test_shoppers_fit_the_survey() -> None:
    """Ages, salaries, states and purchases within what the survey declares."""
    table, survey = shoppers(2_000, 5), tomllib.loads(SURVEY)
    dimensions, [low, high] = survey["dimension"], survey["measure"]["purchase"]["bounds"]
    for name in ("age", "salary"):
        values, (least, most) = table[name].to_pylist(), dimensions[name]["domain"]
        assert least <= min(values) <= max(values) <= most
    assert set(table["state"].to_pylist()) == set(STATES) == set(dimensions["state"]["values"])
    purchases = table["purchase"].to_pylist()
    assert low <= min(purchases) <= max(purchases) <= high


def test_a_seed_makes_the_same_shoppers_again() -> None:
    """Another one others."""
    assert shoppers(500, 5).equals(shoppers(500, 5))
    assert not shoppers(500, 5).equals(shoppers(500, 6))
