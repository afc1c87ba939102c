"""Answers from the rows themselves: the same as by decoding, where a query is asked of many."""

from __future__ import annotations

import datetime

import numpy as np
import pyarrow as pa
import pytest
from support.fourier_designs import domain_of
from support.histograms import histogram_of
from support.surveys import integer, measure, public, survey_toml

from ldpsql.algebra.boxes import Box, LinearQuery
from ldpsql.designer import design
from ldpsql.mechanisms.fourier import design as design_module
from ldpsql.mechanisms.fourier.recipe import Fourier
from ldpsql_device.epsilon import Epsilon
from ldpsql_lab.simulation import SeededEntropy, simulate

TEXT = survey_toml(
    *(integer("age", 0, 9), measure("pay", 0, 10), public("day", "date"), public("cost", "float")),
    table="visits",
    epsilon="2",
    mechanism="fourier",
)


def test_what_is_asked_of_one_histogram_is_decoded() -> None:
    made = Fourier().design(domain_of((8,)), Epsilon.parse("1"), {})
    estimator = made.estimator(
        histogram_of(made.randomize(np.zeros((99, 1), int), SeededEntropy(1)))
    )
    for _ in range(4):
        estimator.answer([made.prepare(LinearQuery.count(Box((((2, 6),),))))])
    assert estimator._spectra


def test_days_agree_with_what_each_day_says_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Counts, sums and averages of private and public columns, per public day."""
    random = np.random.default_rng(4)
    days = [datetime.date(2026, 1, 1 + int(d)) for d in random.integers(0, 6, 6000)]
    table = pa.table(
        {
            "age": random.integers(0, 10, 6000),
            "pay": random.uniform(0, 10, 6000),
            "day": days,
            "cost": [None if c < 0.1 else float(c) for c in random.random(6000)],
        }
    )
    sql = "COUNT(*), SUM(pay), AVG(pay), SUM(cost), COUNT(cost), STDERR(SUM(cost)) FROM visits"
    with simulate(design(TEXT), table, seed=3) as connection:
        grouped = connection.execute(
            f"SELECT day, {sql} WHERE age < 4 GROUP BY day ORDER BY day"
        ).fetchall()
    monkeypatch.setattr(design_module, "SEVERAL", 10**9)
    with simulate(design(TEXT), table, seed=3) as connection:
        for day, *found in grouped:
            alone = connection.execute(f"SELECT {sql} WHERE age < 4 AND day = ?", [day]).fetchall()
            np.testing.assert_allclose(found[:-1], alone[0][:-1], rtol=1e-8)
            assert found[-1] == pytest.approx(alone[0][-1], rel=0.1)
    assert len(grouped) == 6
