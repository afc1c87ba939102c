"""Public. Sees parameters. From cells back to values, in the types of the schema."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa

from ldpsql.estimate import Array
from ldpsql.synthesis.axes import Integers
from ldpsql.types import arrow_type
from ldpsql_device.attributes import Dimension, Measure
from ldpsql_device.domains import Listed, Ordered
from ldpsql_device.errors import InternalError

_STEEPEST = 1e4


def values_of(dimension: Dimension, codes: Integers, random: np.random.Generator) -> pa.Array:
    """A value per code: evenly among those that share the code; NULL for the code of NULL."""
    domain, kind = dimension.domain, arrow_type(dimension)
    if isinstance(domain, Listed):
        return pa.array(dimension.labels(), type=kind).take(pa.array(codes))
    if not isinstance(domain, Ordered):
        raise InternalError(f"no values can be drawn from a {type(domain).__name__} domain")
    missing = codes >= domain.size
    points = _points(domain, np.where(missing, 0, codes), random)
    storage = {"date": pa.int32(), "timestamp": pa.int64()}.get(domain.type, kind)
    return pa.array(points, mask=missing).cast(storage).cast(kind)


def _points(domain: Ordered, codes: Integers, random: np.random.Generator) -> Any:
    low, high = domain.edge_array[codes], domain.edge_array[codes + 1]
    if domain.is_discrete:
        return random.integers(low, high)
    return np.minimum(low + random.random(len(codes)) * (high - low), high)


def amounts_of(measure: Measure, chances: Array, random: np.random.Generator) -> pa.Array:
    """Amounts between a measure's bounds with mean low + (high - low) * chance, person by person.

    Their law is the one of greatest entropy with that mean: a truncated exponential.
    """
    low, high = measure.bounds
    fractions = truncated_exponential(chances, random.random(len(chances)))
    return pa.array(np.clip(low + (high - low) * fractions, low, high), type=pa.float64())


def truncated_exponential(means: Array, uniform: Array) -> Array:
    """Quantiles at `uniform` of the law on [0, 1] with density ~ exp(t x) and these means."""
    steep, mean = _grid()
    upper = means >= 0.5
    slopes = np.interp(np.where(upper, means, 1.0 - means), mean, steep)
    gentle = slopes < 1e-6
    safe = np.where(gentle, 1.0, slopes)
    # The quantile is 1 + log(u + (1 - u) exp(-t)) / t; below the middle it is mirrored.
    at = np.where(upper, uniform, 1.0 - uniform)
    curved = 1.0 + np.log(np.maximum(at + (1.0 - at) * np.exp(-safe), 1e-300)) / safe
    found = np.where(gentle, at, np.clip(curved, 0.0, 1.0))
    return np.where(upper, found, 1.0 - found)


@cache
def _grid() -> tuple[Array, Array]:
    """Slopes t >= 0 and the means 1 / (1 - exp(-t)) - 1 / t that they give, both ascending."""
    steep = np.concatenate([[0.0], np.geomspace(1e-3, _STEEPEST, 8000)])
    mean = np.full(len(steep), 0.5)
    t = steep[1:]
    mean[1:] = np.where(t < 0.05, 0.5 + t / 12.0 - t**3 / 720.0, -1.0 / np.expm1(-t) - 1.0 / t)
    return steep, mean
