"""From cells back to values."""

from __future__ import annotations

from datetime import date, datetime

import numpy as np
import pyarrow as pa
import pytest
from support.significance import normal_bound
from support.surveys import mix

from ldpsql.synthesis.values import amounts_of, truncated_exponential, values_of
from ldpsql_device.domains import int_domain, time_range
from ldpsql_device.schema import Dimension, Measure

TYPES = {
    "i": pa.int64(),
    "f": pa.float64(),
    "c": pa.int64(),
    "b": pa.bool_(),
    "d": pa.date32(),
    "t": pa.timestamp("us"),
}


def test_every_type_comes_back_with_its_code() -> None:
    random = np.random.default_rng(1)
    for dimension in mix().schema.dimensions:
        codes = random.integers(0, dimension.size, 300)
        found = values_of(dimension, codes, random)
        assert found.type == TYPES[dimension.name]
        assert [dimension.code(value) for value in found.to_pylist()] == codes.tolist()


def test_values_within_a_code_differ() -> None:
    random = np.random.default_rng(2)
    binned = Dimension("i", int_domain(0, 9, bin_width=5))
    assert set(values_of(binned, np.ones(200, np.int64), random).to_pylist()) == {5, 6, 7, 8, 9}
    months = Dimension("d", time_range("date", "2026-01-01", "2026-12-31", "month"))
    days = values_of(months, np.full(500, 1), random).to_pylist()
    assert (min(days), max(days)) == (date(2026, 2, 1), date(2026, 2, 28))
    hours = Dimension("t", time_range("timestamp", "2026-01-01", "2026-01-01", "hour"))
    moments = values_of(hours, np.full(50, 23), random).to_pylist()
    assert min(moments) >= datetime(2026, 1, 1, 23)
    assert len(set(moments)) == 50


def test_the_code_of_null_is_null() -> None:
    dimension = Dimension("i", int_domain(3, 4), nulls="value")
    found = values_of(dimension, np.array([2, 0, 1]), np.random.default_rng(0))
    assert found.to_pylist() == [None, 3, 4]


@pytest.mark.parametrize("mean", [0.0005, 0.03, 0.3, 0.5, 0.52, 0.9, 0.999])
def test_the_truncated_exponential_has_its_mean(mean: float) -> None:
    """By the midpoint rule over its quantiles, which stay within bounds and ascend."""
    uniform = (np.arange(200_000) + 0.5) / 200_000
    found = truncated_exponential(np.full(len(uniform), mean), uniform)
    assert found.mean() == pytest.approx(mean, abs=2e-5)
    assert found.min() >= 0.0
    assert found.max() <= 1.0
    assert (np.diff(found) >= 0).all()


def test_amounts_have_the_means_asked_for() -> None:
    random = np.random.default_rng(3)
    chances = np.repeat([0.1, 0.6, 1.0, 0.0], 50_000)
    found = amounts_of(Measure("pay", (-10, 90)), chances, random).to_numpy().reshape(4, -1)
    for row, mean in zip(found[:2], (0.0, 50.0), strict=True):
        error = row.std() / np.sqrt(len(row))
        assert abs(row.mean() - mean) < normal_bound() * error
    assert found[2].min() > 89.0
    assert found[3].max() < -9.0
