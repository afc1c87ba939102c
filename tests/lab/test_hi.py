"""HI over several dimensions: privacy, statistics, the split of epsilon, refusals."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from functools import cache
from typing import Any

import numpy as np
import pytest
from support.histograms import histogram_of
from support.significance import coverage_fits, is_unbiased, variance_fits

from ldpsql.algebra.boxes import Box, LinearQuery
from ldpsql.algebra.estimate import quantile
from ldpsql.algebra.record_domain import RecordDomain
from ldpsql.audit.exact import worst_odds
from ldpsql.estimators.base import make_estimator
from ldpsql.estimators.linear import LinearEstimator
from ldpsql.estimators.nodes import GroupDesign
from ldpsql.mechanisms.registry import mechanism
from ldpsql.reports.channel import Law, enumerate_law
from ldpsql_device.epsilon import Epsilon
from ldpsql_device.errors import SurveyError
from ldpsql_lab.mechanisms.split import plan_of_split
from ldpsql_lab.simulation import SeededEntropy

TINY = RecordDomain(("x", "y"), (2, 2), ("y",), ((0.0, 1.0),), (1,))
PLANE = RecordDomain(("x", "y"), (5, 3), ("y", "pay"), ((0.0, 2.0), (2.0, 10.0)), (1, None))
SQUARE = RecordDomain(("x", "y"), (2, 2), (), (), ())
PEOPLE, RUNS = 1_000, 120
CASES: list[dict[str, Any]] = [
    {"fanout": 3, "oracle": "hrr"},
    {"fanout": 5},
    {"fanout": 3, "oracle": "hrr", "inference": "consistent"},
    {"fanout": 5, "inference": "consistent"},
]
QUERIES = [
    LinearQuery.count(Box((((1, 4),), ((0, 2),)))),
    LinearQuery.count(Box((((0, 3),), None))),
    LinearQuery.sum(0, Box((((1, 4),), ((0, 2),)))),
    LinearQuery.sum(1, Box((None, ((1, 3),)))),
]


def made(domain: RecordDomain, epsilon: str, options: dict[str, Any]) -> GroupDesign:
    design = mechanism("hi").design(domain, Epsilon.parse(epsilon), options)
    assert isinstance(design, GroupDesign)
    return design


def split_otherwise(design: GroupDesign, budgets: tuple[Epsilon, ...]) -> GroupDesign:
    """The same design with other parts of epsilon."""
    plan = plan_of_split(design.domain, design.table, design.oracle, budgets)
    return replace(design, plan=plan, budgets=budgets)


def is_private(law: Law, epsilon: Epsilon) -> bool:
    """No report is more than e^epsilon times likelier under one record than under another."""
    worst = law.worst().odds
    return worst is not None and worst <= epsilon.odds


@pytest.mark.parametrize("inference", ["direct", "consistent"])
def test_two_dimensions_with_a_measure_are_exactly_private(inference: str) -> None:
    """The whole channel, and the odds that are stated for larger ones."""
    design = made(TINY, "1", {"oracle": "grr", "inference": inference})
    law = enumerate_law(design.plan)
    assert is_private(law, design.epsilon)
    assert law.worst().odds == worst_odds(design)
    assert float(law.worst().odds or 0) == pytest.approx(np.e, rel=1e-9)


def test_a_part_too_large_is_not_private() -> None:
    """The negative control of the test above: one part a twentieth larger."""
    design = made(TINY, "1", {"oracle": "grr"})
    larger = Epsilon(design.budgets[0].value * Decimal("1.05"))
    loose = split_otherwise(design, (larger, *design.budgets[1:]))
    assert not is_private(enumerate_law(loose.plan), design.epsilon)


@pytest.mark.parametrize("inference", ["direct", "consistent"])
def test_parts_add_up_to_epsilon_in_every_frame(inference: str) -> None:
    """Exactly, and a design whose parts exceed it is refused."""
    design = made(PLANE, "0.7", {"inference": inference})
    for groups in design.table.members.values():
        assert sum(design.budgets[group].value for group in groups) == Decimal("0.7")
    data = dict(design.to_json())
    data["budgets"] = [str(Epsilon(b.value * Decimal("1.001"))) for b in design.budgets]
    with pytest.raises(SurveyError, match="add up to"):
        mechanism("hi").restore(PLANE, design.epsilon, data)


@cache
def simulated(case: int) -> tuple[np.ndarray, np.ndarray]:
    """Values (runs, k) and covariances (runs, k, k)."""
    design = made(PLANE, "4", CASES[case])
    planned = [design.prepare(query) for query in QUERIES]
    values, covariances = [], []
    codes, chances = people()
    for seed in range(RUNS):
        signs = np.random.default_rng([seed, 1]).random(chances.shape) < chances
        records = np.hstack([codes, signs.astype(np.int64)])
        answer = make_estimator(
            design, histogram_of(design.randomize(records, SeededEntropy(seed)))
        ).answer(planned)
        values.append(answer.values)
        covariances.append(answer.covariance)
    return np.array(values), np.array(covariances)


def people() -> tuple[np.ndarray, np.ndarray]:
    """Codes (n, 2) and the chance of an upper sign per measure (n, 2)."""
    random = np.random.default_rng(5)
    x = np.minimum(random.geometric(0.3, PEOPLE) - 1, 4)
    y = np.minimum(x // 2 + random.integers(0, 2, PEOPLE), 2)
    pay = (x + random.random(PEOPLE)) / 5
    return np.stack([x, y], axis=1), np.stack([y / 2, pay], axis=1)


def truth() -> np.ndarray:
    codes, chances = people()
    x, y = codes.T
    box, pay = (x >= 1) & (x < 4) & (y < 2), 2.0 + 8.0 * chances[:, 1]
    return np.array([box.sum(), (x < 3).sum(), y[box].sum(), pay[y >= 1].sum()])


@pytest.mark.fast(1)
@pytest.mark.parametrize("case", range(len(CASES)))
def test_unbiased_with_honest_errors(case: int) -> None:
    """Mean, spread and coverage; and the variance of what two overlapping queries add up to."""
    values, covariances = simulated(case)
    for column, exact in enumerate(truth()):
        variances = covariances[:, column, column]
        assert is_unbiased(values[:, column], exact)
        assert variance_fits(values[:, column], variances.mean())
        inside = np.abs(values[:, column] - exact) <= quantile(0.5) * np.sqrt(variances)
        assert coverage_fits(int(inside.sum()), RUNS, 0.5)
    for left, right, factor in ((0, 1, 1.0), (0, 2, -0.5), (1, 3, -0.1)):
        joint = values[:, left] + factor * values[:, right]
        spread = covariances[:, left, left] + factor**2 * covariances[:, right, right]
        spread = spread + 2 * factor * covariances[:, left, right]
        assert variance_fits(joint, spread.mean())


@pytest.mark.slow
@pytest.mark.parametrize("inference", ["direct", "consistent"])
def test_levels_taken_for_independent_are_caught(inference: str) -> None:
    """The negative control: at a large epsilon, where what levels share is most of the error.

    The query counts people once for their x and once for their y, which go together.
    """
    design = made(SQUARE, "16", {"fanout": 2, "inference": inference})
    sides = Box((((0, 1),), None)), Box((None, ((0, 1),)))
    query = design.prepare(LinearQuery(((1.0, sides[0]), (1.0, sides[1]))))
    values, told, apart = [], [], []
    for seed in range(RUNS):
        random = np.random.default_rng([seed, 2])
        codes = np.repeat(random.integers(0, 2, (PEOPLE, 1)), 2, axis=1)
        estimator: Any = make_estimator(
            design, histogram_of(design.randomize(codes, SeededEntropy(seed)))
        )
        answer = estimator.answer([query])
        values.append(answer.values[0])
        told.append(answer.covariance[0, 0])
        split = estimator if inference == "direct" else estimator.direct
        levels: Any = LinearEstimator(split.source)
        levels = levels if inference == "direct" else replace(estimator, direct=levels)
        apart.append(levels.answer([query]).covariance[0, 0])
    assert variance_fits(np.array(values), float(np.mean(told)))
    assert not variance_fits(np.array(values), float(np.mean(apart)))


def test_too_many_level_combinations_or_records_are_refused() -> None:
    """A report with hundreds of answers, and a table of every record."""
    with pytest.raises(SurveyError, match="more than 64"):
        made(RecordDomain(("x", "y"), (256, 256), (), (), ()), "1", {"fanout": 2})
    with pytest.raises(SurveyError, match="combinations of codes"):
        made(RecordDomain(("x", "y"), (300, 300), (), (), ()), "1", {"fanout": 17})
