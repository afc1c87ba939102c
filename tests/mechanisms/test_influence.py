"""What one report can do, held against every report that the format allows, added to others."""

from __future__ import annotations

from itertools import product
from math import prod
from typing import Any

import numpy as np
import pytest
from support.recipe_cases import CASES, FIRST, LATER, Case, design_of, law_of, questions

from ldpsql.errors import UnsupportedSQL
from ldpsql.estimators.base import AnyDesign, AnyEstimator
from ldpsql.estimators.nodes import OracleAnswer
from ldpsql.reports.report import Histogram

PEOPLE = 10**9
MOST = 260


def prepared(design: AnyDesign, name: str) -> list[Any]:
    """What an estimator of the design answers of it."""
    found, first = list[Any](), every_report(design)[0]
    estimator = design.estimators[name](count(design, [first], np.ones(1, dtype=np.int64)))
    for query in questions(design.domain):
        try:
            planned = design.prepare(query)
            estimator.answer([planned])
            found.append(planned)
        except UnsupportedSQL:
            continue
    return found


def every_report(design: AnyDesign) -> list[tuple[int, ...]]:
    """All rows that the format allows."""
    limits = design.report_format.limits.tolist()
    rows = [product([number], *map(range, own)) for number, own in enumerate(limits)]
    return [row for own in rows for row in own]


def count(design: AnyDesign, rows: Any, counts: np.ndarray) -> Histogram:
    """The histogram of reports that come so often."""
    form, table = design.report_format, np.array(rows, dtype=np.int64)
    if not form.unary:
        return Histogram.of(form.types, tuple(table.T), counts)
    words = table[:, 1:].astype("<u4").copy().view(np.uint8)
    bits = np.insert(np.unpackbits(words, axis=1, bitorder="little"), 0, 1, axis=1)
    summed = [counts[table[:, 0] == own] @ bits[table[:, 0] == own] for own in range(form.types)]
    owners, numbers = np.indices((form.types, bits.shape[1]))
    values = np.array(summed).ravel().astype(np.int64)
    return Histogram(form.types, (owners.ravel(), numbers.ravel() - 1), values, unary=True)


def people_of(case: Case) -> tuple[list[tuple[int, ...]], np.ndarray]:
    """Reports, and how often they come if people are spread unevenly and there is no noise."""
    law = law_of(case)
    weights = 1.0 + np.arange(len(law.inputs)) % 3
    chances = np.array([[float(p) for p in row] for row in law.probabilities])
    return list(law.outputs), np.rint(PEOPLE * (weights / weights.sum()) @ chances).astype(np.int64)


def moves(case: Case, name: str) -> tuple[np.ndarray, np.ndarray]:
    """By how much each report moves combinations of answers, shape (reports, m), after those of
    a billion people; and the least and the most that it is said to be, shape (2, m)."""
    design = design_of(case)
    if sum(prod(own) for own in design.report_format.limits.tolist()) > MOST:
        pytest.skip("too many reports to try all")
    every, planned = every_report(design), prepared(design, name)
    # Every query alone, and a difference of the first and the last.
    slopes = np.vstack([np.eye(len(planned)), np.zeros(len(planned))])
    slopes[-1, 0], slopes[-1, -1] = 1.0, -0.75
    rows, counts = people_of(case)
    amounts = np.zeros(len(every), dtype=np.int64)
    amounts[[every.index(row) for row in rows]] = counts
    make = design.estimators[name]
    estimator: AnyEstimator = make(count(design, every, amounts))
    before, found = slopes @ estimator.answer(planned).values, []
    for place in range(len(every)):
        amounts[place] += 1
        after = make(count(design, every, amounts)).answer(planned).values
        found.append(slopes @ after - before)
        amounts[place] -= 1
    return np.array(found), estimator.influence(planned, slopes)


def differ(found: np.ndarray, said: np.ndarray) -> float:
    """By how much the extremes of what was found differ from those that were said, of the most."""
    ends = np.array([found.min(axis=0), found.max(axis=0)])
    assert (np.isnan(ends) == np.isnan(said)).all()
    return float(np.nanmax(np.abs(ends - said)) / np.nanmax(np.abs(ends)))


@pytest.mark.fast(12)
@pytest.mark.parametrize("case", [*CASES, *LATER])
def test_no_report_does_more_and_one_does_as_much(case: Case) -> None:
    """All reports are tried, after those of people of uneven records."""
    assert differ(*moves(case, next(iter(design_of(case).estimators)))) < 1e-5


@pytest.mark.parametrize(("name", "estimator"), [("lgrr-fd", "published"), ("ft", "maxent")])
def test_of_estimators_with_one_of_their_own(name: str, estimator: str) -> None:
    """Fits are followed by their slopes."""
    assert differ(*moves(FIRST[name], estimator)) < 1e-5


def test_less_than_a_percent_too_little_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """The negative control of the tests above."""
    right = OracleAnswer.extremes
    monkeypatch.setattr(OracleAnswer, "extremes", lambda *given: 0.995 * right(*given))
    assert differ(*moves(FIRST["hio"], "unbiased")) > 1e-3
