"""The common work: tables of people over one, two and three dimensions, and ranges."""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass

import duckdb
import numpy as np

from benchmarks.field.questions import Floats, Integers
from benchmarks.figures.data import folder
from benchmarks.smoothing import random_boxes

EPSILONS = ("1", "0.5", "2")
PEOPLE, RANGES = 100_000, 200
SHAPES = {"1-D, 256": (256,), "2-D, 64 x 64": (64, 64), "3-D, 16 x 16 x 16": (16, 16, 16)}


@dataclass(frozen=True)
class Table:
    """People over the codes of a shape. columns: of a real table, from and below which value."""

    shape: str
    name: str
    file: str = ""
    columns: tuple[tuple[str, int, int], ...] = ()

    @property
    def sizes(self) -> tuple[int, ...]:
        """Codes per dimension."""
        return SHAPES[self.shape]

    @property
    def is_here(self) -> bool:
        """Whether the real table is available."""
        place = folder()
        return not self.file or (place is not None and (place / f"{self.file}.parquet").exists())


_DEPARTURE, _DISTANCE = ("sched_dep_min", 0, 1440), ("distance", 0, 3200)
_AGE, _HOURS, _SCHOOL = ("age", 17, 97), ("hours_per_week", 1, 100), ("schooling", 1, 25)
TABLES = (
    Table("1-D, 256", "gauss"),
    Table("1-D, 256", "spiky"),
    Table("1-D, 256", "flights", "us_flights", (_DEPARTURE,)),
    Table("2-D, 64 x 64", "correlated"),
    Table("2-D, 64 x 64", "flights", "us_flights", (_DEPARTURE, _DISTANCE)),
    Table("3-D, 16 x 16 x 16", "income survey", "acs_income_2018", (_AGE, _HOURS, _SCHOOL)),
    Table("1-D, 256", "zipf"),
    Table("2-D, 64 x 64", "income survey", "acs_income_2018", (_AGE, _HOURS)),
    Table("3-D, 16 x 16 x 16", "correlated"),
)


@functools.cache
def counts_of(table: Table, people: int) -> Floats:
    """How many people hold each cell: drawn once, the same for everybody and every survey."""
    random = np.random.default_rng([30, len(table.sizes), len(table.name)])
    codes = _real(table, people, random) if table.file else _made_up(table, people, random)
    flat = np.ravel_multi_index(tuple(codes.T), table.sizes)
    return np.bincount(flat, minlength=math.prod(table.sizes)).reshape(table.sizes).astype(float)


def _real(table: Table, people: int, random: np.random.Generator) -> Integers:
    """Some of the people of a real table; values beyond the ends count as the outermost codes."""
    place = folder()
    assert place is not None
    names = ", ".join(f"{name}::DOUBLE" for name, _, _ in table.columns)
    with duckdb.connect() as exact:
        found = exact.execute(f"SELECT {names} FROM '{place / table.file}.parquet'").fetchnumpy()
    columns = [np.asarray(column) for column in found.values()]
    chosen = random.choice(len(columns[0]), people, replace=False)
    codes = [
        np.clip((column[chosen] - low) * size // (end - low), 0, size - 1).astype(np.int64)
        for column, (_, low, end), size in zip(columns, table.columns, table.sizes, strict=True)
    ]
    return np.stack(codes, axis=1)


def _made_up(table: Table, people: int, random: np.random.Generator) -> Integers:
    common, columns = random.standard_normal(people), []
    for size in table.sizes:
        if table.name == "zipf":
            share = 1.0 / np.arange(1, size + 1) ** 1.1
            values = random.choice(size, people, p=share / share.sum()).astype(float)
        elif table.name == "spiky":
            spikes = random.choice(size, size // 32, replace=False)
            is_spike = random.random(people) < 0.7
            values = np.where(
                is_spike, random.choice(spikes, people), random.integers(0, size, people)
            )
        else:
            own = random.standard_normal(people)
            drawn = 0.8 * common + 0.6 * own if table.name == "correlated" else own
            values = size * (0.5 + drawn / 6)
        columns.append(np.clip(np.floor(values), 0, size - 1).astype(np.int64))
    return np.stack(columns, axis=1)


@functools.cache
def ranges_of(shape: str) -> Integers:
    """Random ranges on every axis, shape (RANGES, axes, 2), the same for all tables of a shape."""
    return np.asarray(random_boxes(SHAPES[shape], RANGES, np.random.default_rng(31)))


def prefixes_of(shape: str) -> Integers:
    """Per axis, everybody up to each code on it but the last, which is everybody: what
    distributions and quantiles are read from."""
    sizes = SHAPES[shape]
    boxes = []
    for axis, size in enumerate(sizes):
        for end in range(1, size):
            box = [(0, other) for other in sizes]
            box[axis] = (0, end)
            boxes.append(box)
    return np.array(boxes)
