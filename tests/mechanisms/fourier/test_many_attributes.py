"""Six attributes of 8 codes, questions about two at most: section 6.3."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from support.fourier_designs import counted, domain_of

from ldpsql.bench.entropy import SeededEntropy
from ldpsql.boxes import Box, LinearQuery, Side
from ldpsql.mechanisms.fourier.estimator import FourierEstimator
from ldpsql.mechanisms.fourier.mechanism import Fourier
from ldpsql_device.epsilon import Epsilon
from ldpsql_device.errors import UnsupportedSQL

DOMAIN = domain_of((8,) * 6)
DESIGN = Fourier().design(DOMAIN, Epsilon.parse("1"), {})
PEOPLE = 20_000


def codes() -> np.ndarray:
    random = np.random.default_rng(1)
    first = np.minimum(random.geometric(0.3, PEOPLE) - 1, 7)
    others = [(first * k + random.integers(0, 3, PEOPLE)) % 8 for k in range(1, 6)]
    return np.stack([first, *others], axis=1).astype(np.int64)


@pytest.fixture(scope="module")
def estimator() -> FourierEstimator:
    return DESIGN.estimator(counted(DESIGN, DESIGN.randomize(codes(), SeededEntropy(1))))


def box(**sides: Side) -> Box:
    return Box(tuple(sides.get(name) for name in DOMAIN.names))


def test_no_family_looks_at_more_than_two_attributes() -> None:
    assert DESIGN.group.blocks == tuple(combinations(range(6), 2))
    assert max(len(cluster.axes) for cluster in DESIGN.table.clusters) == 2


def test_tables_agree_on_shared_margins(estimator: FourierEstimator) -> None:
    """Every table of two attributes has the table of each as its margin."""
    for pair in DESIGN.group.blocks:
        table = estimator.population(pair, None, None)
        for place, axis in enumerate(pair):
            margin = estimator.population((axis,), None, None)
            np.testing.assert_allclose(table.sum(axis=1 - place), margin, atol=1e-6)
        assert table.sum() == pytest.approx(PEOPLE)


def test_answers_agree_whichever_table_they_come_from(estimator: FourierEstimator) -> None:
    """A count by x is the sum over y, and over z, of counts by both."""
    alone = DESIGN.plan(LinearQuery.count(box(x=((2, 5),))))
    expected = estimator.answer([alone]).values[0]
    for other in "yzuvw":
        parts = [
            DESIGN.plan(LinearQuery.count(box(x=((2, 5),), **{other: ((code, code + 1),)})))
            for code in range(8)
        ]
        assert estimator.answer(parts).values.sum() == pytest.approx(expected, abs=1e-6)


def test_answers_are_near_the_truth(estimator: FourierEstimator) -> None:
    """All pairs, within five standard errors, which are as predicted for even data to a fifth."""
    held = codes()
    for left, right in combinations(range(6), 2):
        sides: list[Side] = [None] * 6
        sides[left], sides[right] = ((1, 4),), ((2, 7),)
        planned = DESIGN.plan(LinearQuery.count(Box(tuple(sides))))
        answer = estimator.answer([planned])
        inside = (held[:, left] >= 1) & (held[:, left] < 4)
        inside &= (held[:, right] >= 2) & (held[:, right] < 7)
        assert abs(answer.values[0] - inside.sum()) < 5.0 * answer.stderr[0]
        predicted = DESIGN.variance([planned], PEOPLE)[0]
        assert answer.covariance[0, 0] == pytest.approx(predicted, rel=0.2)


def test_three_predicates_are_refused_with_what_would_allow_them() -> None:
    asked = LinearQuery.count(box(x=((0, 3),), u=((1, 2),), w=((4, 8),)))
    with pytest.raises(UnsupportedSQL, match="x and u and w") as caught:
        DESIGN.plan(asked)
    assert "[workload]" in str(caught.value.hint)
    assert "max_predicates is at least 3" in str(caught.value.hint)
