"""The average of a number that each person has, by published mechanisms and this library: errors
that follow exactly from the laws (`benchmarks.averages`), and what one report gives away."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

import numpy as np

from benchmarks import averages
from benchmarks.field.attacks import reconstruct
from benchmarks.field.questions import Floats, Table, alone
from benchmarks.figures.cases import Row
from ldpsql.decoders.cells import MatrixChannel
from ldpsql.recipes.registry import mechanism
from ldpsql.workload import QueryClass, Workload
from ldpsql_device.epsilon import Epsilon

BINS, _REPORTS, OWN = 20, 4_096, "staircase"
NAMES: Mapping[str, str] = {"Duchi": "Duchi", "PM": "PM", "HM": "HM", "OPM": "OPM, biased"}
"""Names here, and in `averages.PUBLISHED`."""


def middles() -> Floats:
    """The middles of the bins that an attacker guesses, between -1 and 1."""
    return (np.arange(BINS) + 0.5) * 2 / BINS - 1


def duchi_law(values: Floats, epsilon: float) -> Floats:
    """Two reports (rows) by values."""
    tilt = values * math.tanh(epsilon / 2) / 2
    return np.array([0.5 - tilt, 0.5 + tilt])


def piecewise_law(values: Floats, epsilon: float) -> Floats:
    """Reports in cells of a line, exactly, even if the window ends within a cell."""
    half = math.exp(epsilon / 2)
    reach = (half + 1) / (half - 1)
    low = (reach + 1) / 2 * values - (reach - 1) / 2
    inside = (math.exp(epsilon) - half) / (2 * half + 2)
    ends = np.linspace(-reach, reach, _REPORTS + 1)
    return _window(ends, low, low + reach - 1, inside, inside / math.exp(epsilon))


def hybrid_law(values: Floats, epsilon: float) -> Floats:
    """The two laws, one below the other: a report shows which of them was drawn."""
    share = 1 - math.exp(-epsilon / 2) if epsilon > 0.61 else 0.0
    parts = share * piecewise_law(values, epsilon), (1 - share) * duchi_law(values, epsilon)
    return np.concatenate(parts)


def optimal_law(values: Floats, epsilon: float) -> Floats:
    """See `averages.optimal_piecewise`."""
    high = math.exp(epsilon / 2)
    half = (high - 1) / (2 * (math.exp(epsilon) - 1))
    middle = np.clip((values + 1) / 2, half, 1 - half)
    ends = np.linspace(0, 1, _REPORTS + 1)
    return _window(ends, middle - half, middle + half, high, 1 / high)


def _window(ends: Floats, low: Floats, high: Floats, inside: float, outside: float) -> Floats:
    """Probabilities of cells of reports (rows) by values."""
    left, right = ends[:-1, None], ends[1:, None]
    within = np.clip(np.minimum(right, high) - np.maximum(left, low), 0.0, None)
    return within * inside + (right - left - within) * outside


def own_law(values: Floats, epsilon: str) -> tuple[Floats, int]:
    """Reports by values of this library's design for a sum, and how many levels it has."""
    total = Workload(averages.ALONE, (QueryClass(1.0, (), 0),))
    design = mechanism("staircase").design(
        averages.ALONE, Epsilon.parse(epsilon), {"levels": 0}, total
    )
    assert isinstance(design.channel, MatrixChannel)
    places = design.domain.level_values(0)
    matrix = design.channel.matrix
    return np.array([np.interp(values, places, row) for row in matrix]), len(places)


def rows(source: averages.Source, epsilon: str) -> Iterator[Row]:
    """One row per mechanism: root mean squared error of the average, in the number's own unit."""
    values, text = source.values()
    low, high = source.bounds
    scale = (high - low) / 2
    real = np.histogram(values, BINS, (-1, 1))[0] / len(values)
    eps = float(epsilon)
    laws = {
        "Duchi": (duchi_law(middles(), eps), 1),
        "PM": (piecewise_law(middles(), eps), 8),
        "HM": (hybrid_law(middles(), eps), 8),
        "OPM": (optimal_law(middles(), eps), 8),
    }
    errors = {name: averages.PUBLISHED[key](values, eps) for name, key in NAMES.items()}
    own, levels = own_law(middles(), epsilon)
    laws[OWN] = own, math.ceil(math.log2(len(own)) / 8)
    errors[OWN] = averages.own(values, epsilon)[0]
    for name, (matrix, size) in laws.items():
        guessed = reconstruct(alone(Table(matrix)), [np.full(BINS, 1 / BINS), real])
        yield {
            "table": f"{source.table}, {source.column}",
            "data": text,
            "epsilon": epsilon,
            "name": name,
            "error": math.sqrt(errors[name] / len(values)) * scale,
            "bytes": size,
            "even": guessed[0],
            "real": guessed[1],
            "real_blind": float(real.max()),
            "levels": levels if name == OWN else 0,
        }
