"""Real tables on a grid of 64 x 64 public bins, with a measure beside it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import duckdb
import numpy as np
from numpy.typing import NDArray

from benchmarks.real_data import folder
from benchmarks.smoothing import GRID, answers

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


@dataclass(frozen=True)
class Source:
    """Columns of a real table, and between which values the 64 bins or the bounds lie.

    What lies beyond them counts as the outermost bin or bound.  rows: which people take part, in
    SQL.
    """

    file: str
    x: tuple[str, int, int]
    y: tuple[str, int, int]
    measure: tuple[str, int, int]
    rows: str = "true"


SOURCES: Mapping[str, Source] = {
    "adult": Source("adult", ("age", 17, 91), ("hours_per_week", 1, 100), ("education_num", 1, 16)),
    "acs_income_2018": Source(
        "acs_income_2018", ("age", 17, 97), ("hours_per_week", 1, 100), ("schooling", 1, 24)
    ),
    "us_flights": Source(
        "us_flights",
        ("sched_dep_min", 0, 1440),
        ("distance", 0, 3200),
        ("arr_delay", -60, 180),
        "arr_delay IS NOT NULL",
    ),
}


@dataclass(frozen=True, eq=False)
class People:
    """Bins of everybody on both axes, shape (n, 2), and the measure as a share of its bounds."""

    bins: Integers
    measure: Floats

    def totals(self, boxes: Integers, weights: Floats | None = None) -> Floats:
        """True sums of the weights (1 without) over boxes."""
        flat = np.ravel_multi_index(tuple(self.bins.T), GRID)
        table = np.bincount(flat, weights, math.prod(GRID)).astype(np.float64)
        return answers(table.reshape(GRID), boxes)


def people_of(source: Source) -> People | None:
    """The people of a real table in equal public bins; None where it is not at hand."""
    place = folder()
    if place is None or not (place / f"{source.file}.parquet").exists():
        return None
    names = ", ".join(f"{name}::DOUBLE" for name, _, _ in (source.x, source.y, source.measure))
    with duckdb.connect() as exact:
        found = exact.execute(
            f"SELECT {names} FROM '{place / source.file}.parquet' WHERE {source.rows}"
        ).fetchnumpy()
    x, y, measure = (np.asarray(column) for column in found.values())
    bins = [
        np.clip((values - low) * size // (end - low), 0, size - 1).astype(np.int64)
        for values, (_, low, end), size in zip((x, y), (source.x, source.y), GRID, strict=True)
    ]
    _, low, high = source.measure
    return People(np.column_stack(bins), (np.clip(measure, low, high) - low) / (high - low))
