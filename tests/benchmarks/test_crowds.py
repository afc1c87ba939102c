"""The benchmark of crowds measures what it says, on surveys small enough for a test."""

from __future__ import annotations

import pytest
from support.significance import normal_bound

from benchmarks.crowds import draw_measured, measure_row, measure_sums, predict
from ldpsql.audit.exact import domain_of_codes
from ldpsql.mechanisms.registry import mechanism
from ldpsql_device.epsilon import Epsilon

PEOPLE, SURVEYS = 1_000, 200


@pytest.mark.slow
@pytest.mark.parametrize(("name", "options"), [("grr", {}), ("staircase", {"levels": 5})])
def test_errors_are_those_that_a_design_predicts(name, options) -> None:
    """Predictions count people as a sample besides, little of a variance at epsilon 1; the control
    is what epsilon 2 predicts."""
    domain, bound = domain_of_codes("3", 1), normal_bound()
    made = {
        epsilon: mechanism(name).design(domain, Epsilon.parse(epsilon), options)
        for epsilon in ("1", "2")
    }
    asked = draw_measured(domain.sizes)
    found = measure_sums(made["1"], asked, PEOPLE, SURVEYS)
    least = {epsilon: 0.8 * predict(design, asked, PEOPLE) for epsilon, design in made.items()}
    assert least["1"] < found.mean + bound * found.stderr
    assert found.mean - bound * found.stderr < least["1"] / 0.8
    assert found.mean - bound * found.stderr > least["2"] / 0.8


@pytest.mark.slow
def test_a_row_sets_a_blanket_against_the_local_epsilon_alone() -> None:
    row = measure_row("3", {"grr": {}, "staircase": {"levels": 5}}, 2_000, "0.5", 60)
    before, after = (float(str(row[place])) for place in (4, 7))
    assert before < after
    ratio, error = (float(str(cell)) for cell in row[-2:])
    assert ratio + normal_bound() * error < 1.0
