"""Answers from one summary: they agree with each other, and the unbiased interval stays."""

from __future__ import annotations

from functools import cache
from itertools import product
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from support.fourier_designs import counted, domain_of
from support.surveys import integer, public, survey_toml

from ldpsql.algebra.boxes import Box, LinearQuery
from ldpsql.designer import design as design_survey
from ldpsql.engine.session import Session
from ldpsql.mechanisms.fourier import smoothing
from ldpsql.mechanisms.fourier.design import FourierDesign
from ldpsql.mechanisms.fourier.recipe import Fourier
from ldpsql.mechanisms.fourier.smoothing import SmoothEstimator
from ldpsql_device.epsilon import Epsilon
from ldpsql_lab.simulation import SeededEntropy, simulate

PEOPLE = 20_000
LOW, HIGH = -10.0, 30.0


@cache
def design() -> FourierDesign:
    """Three dimensions, of which two may be asked together, and a measure."""
    domain = domain_of((6, 5, 2), ((LOW, HIGH),))
    return Fourier().design(domain, Epsilon.parse("1"), {})


@cache
def truth() -> np.ndarray:
    """Codes and signs; the dimensions depend on each other, and many cells are empty."""
    random = np.random.default_rng(3)
    x = random.choice(6, PEOPLE, p=[0.5, 0.3, 0.1, 0.1, 0.0, 0.0])
    y = np.minimum(x + random.integers(0, 2, PEOPLE), 4)
    return np.column_stack([x, y, y > 1, random.random(PEOPLE) < 0.2 + 0.1 * x]).astype(np.int64)


@cache
def smoothed(seed: int = 1) -> SmoothEstimator:
    return design().smooth(counted(design(), design().randomize(truth(), SeededEntropy(seed))))


def boxes():
    """Every pair of ranges on the first two dimensions."""
    ranges = [[(i, j) for i in range(m) for j in range(i + 1, m + 1)] for m in (6, 5)]
    for x, y in product(*ranges):
        yield Box(((x,), (y,), None)).normal((6, 5, 2))


def ask(*queries: LinearQuery) -> np.ndarray:
    return smoothed().answer([design().prepare(query) for query in queries]).values


def test_parts_add_up_to_the_whole():
    for cut in range(1, 6):
        parts = [Box((((low, high),), ((1, 4),), None)) for low, high in ((0, cut), (cut, 6))]
        whole = Box((None, ((1, 4),), None))
        for kind in (LinearQuery.count, lambda box: LinearQuery.sum(0, box)):
            left, right, both = (ask(kind(box))[0] for box in (*parts, whole))
            assert left + right == pytest.approx(both, abs=2e-5 * PEOPLE * (HIGH - LOW))
    assert ask(LinearQuery.count(Box.whole(3)))[0] == PEOPLE


def test_tables_of_different_dimensions_agree_on_what_they_share():
    x = ((0, 2),)
    from_y = sum(ask(LinearQuery.count(Box((x, ((y, y + 1),), None))))[0] for y in range(5))
    from_z = sum(ask(LinearQuery.count(Box((x, None, ((z, z + 1),)))))[0] for z in range(2))
    assert from_y == pytest.approx(from_z, abs=2e-5 * PEOPLE)


def test_no_count_is_negative_and_every_average_is_inside_its_bounds():
    unbiased = smoothed().unbiased
    planned = [
        [design().prepare(LinearQuery.count(box)), design().prepare(LinearQuery.sum(0, box))]
        for box in boxes()
    ]
    found = np.array([row.values for row in smoothed().answer_rows(planned)])
    plain = np.array([row.values for row in unbiased.answer_rows(planned)])
    counts, sums = found.T
    assert counts.min() >= 0.0
    slack = 2e-5 * PEOPLE * (HIGH - LOW)
    assert (sums >= LOW * counts - slack).all()
    assert (sums <= HIGH * counts + slack).all()
    # The unbiased answers keep to neither, or there would be nothing to test.
    assert plain[:, 0].min() < 0.0
    assert ((plain[:, 1] > HIGH * plain[:, 0] + slack) | (plain[:, 0] < 0.0)).any()


def test_it_is_nearer_to_the_truth_and_keeps_the_unbiased_covariance():
    planned = [[design().prepare(LinearQuery.count(box))] for box in boxes()]
    codes = truth()
    true = []
    for box in boxes():
        inside = np.ones(PEOPLE, dtype=bool)
        for axis, side in enumerate(box.sides):
            if side is not None:
                ((low, high),) = side
                inside &= (codes[:, axis] >= low) & (codes[:, axis] < high)
        true.append(inside.sum())
    alone = [row[0] for row in planned]
    errors = [
        [
            np.square(e.values(alone) - true).mean()
            for e in (smoothed(seed), smoothed(seed).unbiased)
        ]
        for seed in range(1, 7)
    ]
    ours, unbiased = np.mean(errors, axis=0)
    assert ours < unbiased
    found, plain = smoothed().answer_rows(planned), smoothed().unbiased.answer_rows(planned)
    for ours, theirs in zip(found, plain, strict=True):
        assert np.array_equal(ours.covariance, theirs.covariance)
        assert ours.replicates is not None
        assert ours.replicates.shape == (20, 1)


def test_groups_of_a_public_column_share_the_work(monkeypatch: pytest.MonkeyPatch) -> None:
    found, smooth = [], smoothing.smooth

    def watch(*asked: Any) -> Any:
        found.append(asked[-1])
        return smooth(*asked)

    monkeypatch.setattr(smoothing, "smooth", watch)
    survey = design_survey(
        survey_toml(integer("age", 0, 31), public("month", "int"), epsilon="2", mechanism="fourier")
    )
    people = pa.table({"age": np.arange(3_000) % 32, "month": np.arange(3_000) % 3})
    with simulate(survey, people, seed=1) as connection:
        session = Session(connection.session.store, estimator="smooth")
        rows = session.execute("SELECT month, COUNT(*) FROM app WHERE age < 9 GROUP BY month")
    assert rows.table.num_rows == 3
    assert found == [3, 3, 3]
