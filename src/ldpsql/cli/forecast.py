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

_PAIRS, _PLACES = 6, 24


@dataclass(frozen=True)
class Typical:
    """A kind of query to predict: its text, examples of it, and the unit of its error.

    The error is the root of the examples' mean variance, over `divisor`. `whole` is what it is
    compared with: all people for a count, all people at the largest bound for a sum, the distance
    between the bounds for an average.
    """

    text: str
    queries: tuple[LinearQuery, ...]
    divisor: float
    whole: float
    whole_name: str


def forecast(survey: Survey, people: int) -> list[str]:
    """Lines of a table: predicted standard errors of typical queries, records spread evenly."""
    asked = [*_counts(survey, people), *_sums(survey, people)]
    errors = [_error(survey, typical, people) for typical in asked]
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


def _error(survey: Survey, typical: Typical, people: int) -> float:
    planned = [survey.design.plan(query) for query in typical.queries]
    variances = survey.design.variance(planned, people)
    return math.sqrt(float(np.mean(variances))) / typical.divisor


def _counts(survey: Survey, people: int) -> Iterator[Typical]:
    dimensions = survey.schema.dimensions
    quarters = [_quarters(dimension) for dimension in dimensions]
    for i, dimension in enumerate(dimensions):
        yield _count([_phrase(dimension)], {i: quarters[i]}, len(dimensions), people)
    for i, j in islice(combinations(range(len(dimensions)), 2), _PAIRS):
        phrases = [_phrase(dimensions[i]), _phrase(dimensions[j])]
        yield _count(phrases, {i: quarters[i], j: quarters[j]}, len(dimensions), people)


def _count(phrases: list[str], sides: dict[int, list[CodeSet]], d: int, people: int) -> Typical:
    boxes = [
        Box(tuple(sides[i][place] if i in sides else None for i in range(d)))
        for place in range(_PLACES)
    ]
    queries = tuple(LinearQuery.count(box) for box in boxes)
    text = f"COUNT(*) where {' and '.join(phrases)}"
    return Typical(text, queries, 1.0, people, "people")


def _sums(survey: Survey, people: int) -> Iterator[Typical]:
    everybody = Box.whole(len(survey.schema.dimensions))
    for i, measure in enumerate(survey.schema.measures):
        queries = (LinearQuery.sum(i, everybody),)
        largest = people * max(map(abs, measure.bounds))
        yield Typical(f"SUM({measure.name})", queries, 1.0, largest, "people x largest bound")
        yield Typical(f"AVG({measure.name})", queries, people, _range(measure), "the bounds' range")


def _range(measure: Measure) -> float:
    low, high = measure.bounds
    return high - low


def _quarters(dimension: Dimension) -> list[CodeSet]:
    """Ranges of a quarter of the codes, from the first place to the last.

    One place alone may fall on a tree's borders and promise too much.
    """
    length = max(1, dimension.size // 4)
    starts = np.linspace(0, dimension.size - length, _PLACES).round().astype(int)
    return [((int(start), int(start) + length),) for start in starts]


def _phrase(dimension: Dimension) -> str:
    codes = max(1, dimension.size // 4)
    return f"{dimension.name} in {codes} of {dimension.size} codes"


def _three_digits(error: float) -> str:
    """An error with three significant digits, never with an exponent."""
    places = 2 - math.floor(math.log10(error)) if error > 0 else 0
    return number(round(error, places))
