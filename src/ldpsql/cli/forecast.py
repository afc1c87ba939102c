"""Public. Sees parameters. How well a survey will answer, before there is any data."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations, islice

import numpy as np

from ldpsql.boxes import Box, CodeSet, LinearQuery
from ldpsql.cli.figures import number
from ldpsql.schema import Dimension, Measure
from ldpsql.survey import Survey

_PAIRS = 6


@dataclass(frozen=True)
class Typical:
    """A query to predict: its text, its linear form, and the unit its error is divided by.

    `whole` is what the error is compared with: all people for a count, all people at the
    largest bound for a sum, the distance between the bounds for an average.
    """

    text: str
    query: LinearQuery
    divisor: float
    whole: float
    whole_name: str


def forecast(survey: Survey, people: int) -> list[str]:
    """Lines of a table: predicted standard errors of typical queries, records spread evenly."""
    asked = [*_counts(survey, people), *_sums(survey, people)]
    planned = [survey.design.plan(typical.query) for typical in asked]
    variances = np.asarray(survey.design.variance(planned, people), dtype=np.float64)
    errors = np.sqrt(variances) / np.array([typical.divisor for typical in asked])
    shares = [
        f"{100 * error / typical.whole:.2g}% of {typical.whole_name}"
        for typical, error in zip(asked, errors, strict=True)
    ]
    width = max(len(typical.text) for typical in asked)
    figures = [_three_digits(error) for error in errors]
    room = max(map(len, figures))
    lines = [
        f"  {typical.text:<{width}}  ± {figure:>{room}}  ({share})"
        for typical, figure, share in zip(asked, figures, shares, strict=True)
    ]
    return [f"predicted standard error with {people} people:", *lines]


def _counts(survey: Survey, people: int) -> Iterator[Typical]:
    dimensions = survey.schema.dimensions
    quarters = [_quarter(dimension) for dimension in dimensions]
    for i, dimension in enumerate(dimensions):
        yield _count([_phrase(dimension)], {i: quarters[i]}, len(dimensions), people)
    for i, j in islice(combinations(range(len(dimensions)), 2), _PAIRS):
        phrases = [_phrase(dimensions[i]), _phrase(dimensions[j])]
        yield _count(phrases, {i: quarters[i], j: quarters[j]}, len(dimensions), people)


def _count(phrases: list[str], sides: dict[int, CodeSet], d: int, people: int) -> Typical:
    box = Box(tuple(sides.get(i) for i in range(d)))
    text = f"COUNT(*) where {' and '.join(phrases)}"
    return Typical(text, LinearQuery.count(box), 1.0, people, "people")


def _sums(survey: Survey, people: int) -> Iterator[Typical]:
    everybody = Box.whole(len(survey.schema.dimensions))
    for i, measure in enumerate(survey.schema.measures):
        query = LinearQuery.sum(i, everybody)
        largest = people * max(map(abs, measure.bounds))
        yield Typical(f"SUM({measure.name})", query, 1.0, largest, "people x largest bound")
        yield Typical(f"AVG({measure.name})", query, people, _range(measure), "the bounds' range")


def _range(measure: Measure) -> float:
    low, high = measure.bounds
    return high - low


def _quarter(dimension: Dimension) -> CodeSet:
    return ((0, max(1, dimension.size // 4)),)


def _phrase(dimension: Dimension) -> str:
    codes = max(1, dimension.size // 4)
    return f"{dimension.name} in {codes} of {dimension.size} codes"


def _three_digits(error: float) -> str:
    """An error with three significant digits, never with an exponent."""
    places = 2 - math.floor(math.log10(error)) if error > 0 else 0
    return number(round(error, places))
