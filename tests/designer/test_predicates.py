"""How many predicates queries may have, and what more of them cost."""

from __future__ import annotations

from dataclasses import replace
from math import sqrt

import pytest
from support.surveys import integer, survey_toml

from ldpsql.algebra.record_domain import RecordDomain
from ldpsql.algebra.workload import Workload
from ldpsql.cli.forecast import predicates
from ldpsql.designer import design_survey
from ldpsql.designer.fairness import weigh_fairly
from ldpsql.designer.file import read_workload
from ldpsql.designer.predicates import MOST_PAIRED, find_costs
from ldpsql.mechanisms.fourier.design import FourierDesign
from ldpsql.mechanisms.fourier.spectra import class_power
from ldpsql.mechanisms.registry import mechanism
from ldpsql_device.epsilon import Epsilon
from ldpsql_device.schema import Schema

ONE = Epsilon.parse("1")


def domain(*sizes: int, measures: int = 0) -> RecordDomain:
    names = tuple(f"x{i}" for i in range(len(sizes)))
    own = tuple(f"m{i}" for i in range(measures))
    return RecordDomain(names, sizes, own, ((-1.0, 1.0),) * measures, (None,) * measures)


def error_of_singles(own: RecordDomain, most: int, *, is_fair: bool) -> float:
    """Root of the mean variance of all counts with one predicate, in a survey for up to `most`."""
    workload = Workload.everyday(own, None, most)
    workload = weigh_fairly(workload, ONE) if is_fair else workload
    design = mechanism("fourier").design(own, ONE, {}, workload)
    assert isinstance(design, FourierDesign)
    known, variances = design.collected.information, []
    for entry in workload.classes:
        if len(entry.predicates) == 1 and entry.measure is None:
            powers = class_power(replace(entry, weight=1.0), design.group)
            variances.append(sum(float((p / known[face] - p).sum()) for face, p in powers))
    return sqrt(sum(variances) / len(variances))


@pytest.mark.fast(1)
@pytest.mark.parametrize("is_fair", [True, False])
@pytest.mark.parametrize("own", [domain(12, 7, 30), domain(9, 16, measures=1), domain(*[5] * 6)])
def test_costs_come_true(own: RecordDomain, is_fair: bool) -> None:
    """Predicted from ideal designs, against the designs that are made."""
    costs = find_costs(Workload.everyday(own, None, 2), is_fair=is_fair)
    errors = {most: error_of_singles(own, most, is_fair=is_fair) for most in (1, 2)}
    assert costs[2] == 1.0
    assert costs[1] == pytest.approx(errors[1] / errors[2], rel=0.1)
    # The negative control: the weights matter more than that.
    other = find_costs(Workload.everyday(own, None, 2), is_fair=not is_fair)
    assert other[1] != pytest.approx(costs[1], rel=0.1)


def test_further_predicates_cost_more() -> None:
    costs = find_costs(Workload.everyday(domain(*[8] * 6), None, 3), is_fair=True)
    assert list(costs) == [1, 2, 3, 4, 5]
    assert list(costs.values()) == sorted(costs.values())
    assert costs[3] == 1.0


def test_numbers_that_cannot_be_designed_are_left_out() -> None:
    costs = find_costs(Workload.everyday(domain(*[60] * 20), None, 1), is_fair=True)
    assert list(costs) == [1, 2]
    assert costs[2] > 2.0, "pairs of many dimensions cost questions about one"


def test_many_dimensions_are_asked_about_one_at_a_time() -> None:
    """Where nobody says otherwise."""

    def predicates(count: int, **keys: int) -> int:
        tables = {f"x{i}": {"type": "int", "domain": [0, 7]} for i in range(count)}
        schema = Schema.from_keys({"dimension": tables})
        return max(len(e.predicates) for e in read_workload(keys, "t", schema).classes)

    assert predicates(MOST_PAIRED) == 2
    assert predicates(MOST_PAIRED + 1) == 1
    assert predicates(MOST_PAIRED + 1, max_predicates=2) == 2


def test_design_says_what_predicates_cost() -> None:
    text = survey_toml(*(integer(f"x{i}", 0, 7) for i in range(4)), mechanism="fourier")
    ((_, line),) = predicates(design_survey(text))
    assert "times with 1" in line
    assert "times with 3" in line
    assert "times with 2" not in line
    assert predicates(design_survey(text, mechanism="hio")) == []
