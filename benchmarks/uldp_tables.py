"""The tables of Yin, Zhu and Zhang (2023), with the orders of values that specification uldp fixes.

The first values of every attribute are the sensitive ones.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from benchmarks.figures.data import people
from ldpsql.designer import design
from ldpsql.sensitive.recipes import CellDesign
from ldpsql.survey import Survey

Floats = NDArray[np.float64]
Columns = Mapping[str, tuple[str, ...]]

CLASS = ("not_recom", "recommend", "very_recom", "priority", "spec_prior")
NURSERY: Columns = {
    "parents": ("usual", "pretentious", "great_pret"),
    "form": ("incomplete", "foster", "complete", "completed"),
    "has_nurs": ("proper", "less_proper", "improper", "critical", "very_crit"),
    "class": CLASS,
}
RACES = tuple(f"group {letter}" for letter in "ABCDE")
GRADES = ("low", "middle", "high")
SCHOOLS = (
    *("some high school", "high school", "some college", "associate's degree"),
    *("bachelor's degree", "master's degree"),
)


@dataclass(frozen=True)
class Setting:
    """Two attributes of a table, and how many of the first values of each are sensitive."""

    table: str
    columns: tuple[str, str]
    held: tuple[int, int] = (2, 2)

    def __str__(self) -> str:
        held = zip(self.columns, self.held, strict=True)
        return f"{self.table}: " + " x ".join(f"{name} ({n} sensitive)" for name, n in held)

    @property
    def values(self) -> tuple[tuple[str, ...], ...]:
        """The values of each attribute in order."""
        known = {**NURSERY, "race": RACES, "grade": GRADES, "schooling": SCHOOLS}
        return tuple(known[column] for column in self.columns)

    def records(self) -> tuple[pa.Table, str]:
        """The two columns, and a line that says where they are from."""
        if self.table == "nursery":
            return people("nursery", self.columns)
        return _scores()

    @cache  # noqa: B019  settings are few
    def counts(self) -> Floats:
        """People per cell, flat."""
        table, _ = self.records()
        places = [
            np.array([values.index(value) for value in table[column].to_pylist()])
            for column, values in zip(self.columns, self.values, strict=True)
        ]
        sizes = tuple(map(len, self.values))
        cells = np.ravel_multi_index(tuple(places), sizes)
        return np.bincount(cells, minlength=int(np.prod(sizes))).astype(float)

    def survey(self, mechanism: str, epsilon: str) -> Survey:
        """A survey of the two attributes."""
        text = f'[survey]\ntable = "{self.table}"\nepsilon = "{epsilon}"\n'
        text += f'mechanism = "{mechanism}"\n'
        for column, values, held in zip(self.columns, self.values, self.held, strict=True):
            text += f'[dimension.{column}]\ntype = "category"\nvalues = {json.dumps(values)}\n'
            text += f"sensitive = {json.dumps(values[:held])}\n"
        return design(text)


def exact_error(made: CellDesign, counts: Floats) -> float:
    """Root of the mean squared error of the unbiased shares of all cells, from the formula."""
    cells = np.eye(len(counts))
    total = np.trace(made.channel.second(counts, cells, cells)) - counts.sum()
    return float(np.sqrt(total / len(counts))) / float(counts.sum())


def _scores() -> tuple[pa.Table, str]:
    """Race, parents' schooling, and in which third of all the sum of a pupil's three marks lies."""
    marks = ("math_score", "reading_score", "writing_score")
    columns = ("race_ethnicity", "parental_education", *marks)
    table, source = people("students_performance", columns, _students_stand_in)
    total = sum(np.asarray(table[mark], dtype=np.int64) for mark in marks)
    third = np.digitize(total, np.quantile(total, [1 / 3, 2 / 3]))
    grades = pa.array([GRADES[i] for i in third])
    names = {"race": table["race_ethnicity"], "schooling": table["parental_education"]}
    return pa.table({**names, "grade": grades}), source


def _students_stand_in() -> pa.Table:
    random, size = np.random.default_rng(6), 1000
    marks = np.clip(random.normal(66, 15, (3, size)) + random.normal(0, 5, size), 0, 100)
    names = ("math_score", "reading_score", "writing_score")
    races = random.choice(RACES, size, p=[0.09, 0.19, 0.32, 0.26, 0.14])
    schools = random.choice(SCHOOLS, size, p=[0.18, 0.19, 0.23, 0.22, 0.12, 0.06])
    columns = {"race_ethnicity": races, "parental_education": schools}
    return pa.table({**columns, **dict(zip(names, marks.astype(int), strict=True))})
