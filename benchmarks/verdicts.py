"""The verdicts of `design` on questions, held against simulated answers.

The surveys are small ones of `random_surveys`, their measures now and then missing. People are of
KINDS kinds, in each of which every column has shares of its own; so groups are uneven, columns
depend on each other, and averages are not in the middle of their bounds. Each survey is answered
RUNS times. A question turns out as its middle row does: the root of that row's mean squared error,
times 1.96, is held against the limits of the verdicts. Besides, each single answer of a question
that is said to be usable is held against the limit of the usable.
"""

from __future__ import annotations

import math
import os
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from random import Random

import numpy as np
from numpy.typing import NDArray

from benchmarks.random_surveys import random_survey
from benchmarks.tables import print_table
from ldpsql.algebra.boxes import Box, LinearQuery
from ldpsql.algebra.estimate import CONFIDENCE, quantile
from ldpsql.algebra.record_domain import RecordDomain, space_levels
from ldpsql.designer import design_survey
from ldpsql.designer.verdict import VERDICTS, Judged, judge_survey
from ldpsql.estimators.base import make_estimator
from ldpsql_lab.simulation import SeededEntropy, histogram_of

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
SURVEYS, RUNS, KINDS = 30, 12, 3
MOST_CODES, MOST_DIMENSIONS = 60, 4
_MISSING = 0.15


@dataclass(frozen=True)
class Outcome:
    """errors: of the answers to a question, in the units of its verdict, shape (runs, rows)."""

    judged: Judged
    errors: Floats

    @property
    def realised(self) -> Judged:
        """The question with the half-interval that its middle row turned out to have."""
        of_rows = np.sqrt((self.errors**2).mean(axis=0))
        return replace(self.judged, half=quantile(CONFIDENCE) * float(np.median(of_rows)))

    @property
    def within(self) -> float:
        """The share of answers that are no further off than usable ones may be."""
        return float(np.mean(np.abs(self.errors) <= self.judged.question.most))


def draw_survey(seed: int) -> tuple[str, int]:
    """A survey file, and how many people answer it."""
    random = Random(seed)
    text = random_survey(seed, codes=MOST_CODES, dimensions=MOST_DIMENSIONS)
    if random.random() < 0.5:
        lines = text.splitlines()
        text = "\n".join(line for line in lines if not line.startswith(("required", "missing_as")))
    return text, round(10 ** random.uniform(3.0, 4.7))


class People:
    """People of a survey: codes, shape (people, axes), and measures, NaN where they are missing,
    shape (people, measures), first those that may be missing."""

    def __init__(self, domain: RecordDomain, count: int, seed: int) -> None:
        random = np.random.default_rng([seed, 373])
        self.domain, self._first = domain, domain.first_level_axis
        kinds = random.integers(0, KINDS, count)
        columns = []
        for size in domain.sizes[: self._first]:
            shares = np.exp(0.5 * random.standard_normal((KINDS, size)))
            ends = (shares / shares.sum(axis=1, keepdims=True)).cumsum(axis=1)[kinds]
            codes = (random.random((count, 1)) > ends).sum(axis=1)
            columns.append(np.minimum(codes, size - 1))
        self._codes = np.stack(columns, axis=1)
        measured = [(low, high) for low, high, *_ in domain.nullable] + list(domain.bounds)
        self.values = np.zeros((count, len(measured)))
        for place, (low, high) in enumerate(measured):
            shapes = random.uniform(1.0, 4.0, (2, KINDS))[:, kinds]
            self.values[:, place] = low + (high - low) * random.beta(*shapes)
            if place < len(domain.nullable):
                self.values[random.random(count) < _MISSING, place] = math.nan

    def records(self, random: np.random.Generator) -> Integers:
        """As devices encode them: measures rounded to a level at random."""
        domain, columns = self.domain, [*self._codes.T]
        scales = [space_levels(*own) for own in domain.nullable]
        scales += [domain.level_values(measure) for measure in range(len(domain.bounds))]
        for levels, own in zip(scales, self.values.T, strict=True):
            is_missing = np.isnan(own)
            known = np.where(is_missing, levels[0], own)
            below = np.clip(np.searchsorted(levels, known, "right") - 1, 0, len(levels) - 2)
            chance = (known - levels[below]) / (levels[below + 1] - levels[below])
            code = below + (random.random(len(own)) < chance)
            columns.append(np.where(is_missing, len(levels), code))
        return np.stack(columns, axis=1).astype(np.int64)

    def total(self, query: LinearQuery, measure: int | None) -> float:
        """The true sum of a measure, by its place in `values`, or the number of people."""
        everybody = np.ones(len(self.values))
        return self._add(query, everybody if measure is None else self.values[:, measure])

    def count(self, query: LinearQuery, measure: int) -> float:
        """How many people have a measure."""
        return self._add(query, 1.0 - np.isnan(self.values[:, measure]))

    def _add(self, query: LinearQuery, amounts: Floats) -> float:
        total = 0.0
        for amount, box in query.terms:
            inside = np.ones(len(self.values), dtype=bool)
            for side, codes in zip(box.sides[: self._first], self._codes.T, strict=True):
                if side is not None:
                    inside &= np.any([(codes >= low) & (codes < end) for low, end in side], axis=0)
            total += amount * float(np.nansum(amounts[inside]))
        return total


@dataclass(frozen=True)
class _Row:
    """One answer to check: `offset + unit * query / counted`, counted being None for a sum."""

    query: LinearQuery
    counted: LinearQuery | None
    true: float
    scale: float
    offset: float = 0.0
    unit: float = 1.0


def realise(seed: int) -> list[Outcome]:
    """Every question of a random survey with the errors of its answers."""
    text, count = draw_survey(seed)
    designed = design_survey(text, users=count, quick=True)
    design = designed.survey.design
    people = People(design.domain, count, seed)
    asked = [(own, list(_list_rows(own, people, count))) for own in judge_survey(designed)]
    asked = [(own, rows) for own, rows in asked if rows]
    planned = []
    for _, rows in asked:
        for row in rows:
            planned += [design.prepare(row.query), design.prepare(row.counted or row.query)]
    found: list[Floats] = []
    for run in range(RUNS):
        records = people.records(np.random.default_rng([seed, run]))
        reports = design.randomize(records, SeededEntropy(1000 * seed + run))
        found.append(make_estimator(design, histogram_of(reports)).values(planned))
    values, place, outcomes = np.array(found), 0, []
    for own, rows in asked:
        errors = []
        for row in rows:
            sums, counts = values[:, place], values[:, place + 1]
            place += 2
            answers = row.offset + row.unit * sums / (1.0 if row.counted is None else counts)
            errors.append((answers - row.true) / row.scale)
        outcomes.append(Outcome(own, np.array(errors).T))
    return outcomes


def _list_rows(own: Judged, people: People, count: int) -> Iterator[_Row]:
    """The rows of a question that were judged; none of a declared one about a measure that may be
    missing, whose terms do not say who is asked."""
    question, domain = own.question, people.domain
    first = domain.first_level_axis
    for query in question.sample.queries:
        levels = {i for _, box in query.terms for i, side in enumerate(box.sides) if side}
        levels = {axis - first for axis in levels if axis >= first}
        plain = query
        measure = None if query.measure is None else len(domain.nullable) + query.measure
        if levels:
            if not question.key[0]:
                return
            (measure,) = levels
            box = Box((*query.terms[0][1].sides[:first], *[None] * len(domain.nullable)))
            plain = LinearQuery(((1.0, box),))
        if question.bounds is None:
            scale = question.sample.unit * question.share * count
            yield _Row(query, None, people.total(plain, measure), scale)
            continue
        low, high = question.bounds
        counted = replace(plain, measure=None)
        number = people.total(counted, None)
        if levels:
            assert measure is not None
            number = people.count(plain, measure)
            counted = replace(query, terms=tuple((abs(a), box) for a, box in query.terms))
        true = people.total(plain, measure) / number if number else math.nan
        offset, unit = ((low + high) / 2.0, (high - low) / 2.0) if levels else (0.0, 1.0)
        yield _Row(query, counted, true, high - low, offset, unit)


def run() -> None:
    """Realise all surveys, and print what became of each verdict."""
    chosen = range(int(os.environ.get("LDPSQL_VERDICT_SURVEYS", SURVEYS)))
    outcomes = [own for seed in chosen for own in realise(seed)]
    rows = []
    for word in VERDICTS:
        own = [each for each in outcomes if each.judged.verdict == word]
        became = Counter(each.realised.verdict for each in own)
        within = f"{100.0 * np.mean([each.within for each in own]):.1f} %"
        rows.append([word, len(own), *(became[each] for each in VERDICTS), within])
    print_table(
        f"Verdicts on the questions of {len(chosen)} random surveys, {RUNS} times each",
        ["said", "questions", *(f"turned out {word}" for word in VERDICTS), "answers usable"],
        rows,
    )


if __name__ == "__main__":
    run()
