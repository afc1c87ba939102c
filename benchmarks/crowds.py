"""A crowd's worth: the best mechanism by its blanket, and the best by its local epsilon alone."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from benchmarks.tables import print_table
from ldpsql.algebra.boxes import Box, LinearQuery
from ldpsql.algebra.record_domain import RecordDomain
from ldpsql.algebra.workload import Workload
from ldpsql.errors import Error
from ldpsql.estimators.base import AnyDesign, make_estimator
from ldpsql.mechanisms.base import AnyOptions
from ldpsql.mechanisms.registry import mechanism
from ldpsql.reports.report import Histogram
from ldpsql.shuffle.accountant import clones, largest_local
from ldpsql_device.epsilon import Epsilon
from ldpsql_device.schema import Dimension, Schema
from ldpsql_device.shuffled import Central
from ldpsql_device.values import int_domain
from ldpsql_lab.simulation import SeededEntropy

SURVEYS, BOXES = 200, 200
SIZES = ((64,), (256,), (16, 16))
CROWDS = ((1_000, "1"), (10_000, "0.2"), (100_000, "0.1"))
ALONE = ("fourier", "hgrr", "hio", "ahio", "ehio")
"""Tried by the local epsilon alone; the mechanisms over marginals always stated their blankets."""
TRIED = (*ALONE, "olh", "hrr", "srr-ss")


def run(surveys: int = SURVEYS) -> None:
    """Print the table."""
    print_table(
        f"Crowds: root mean square error of {BOXES} random boxes, {surveys} surveys each",
        (
            *("codes", "people", "epsilon", "by local epsilon", "local", "error"),
            *("by blanket", "local", "error", "variance", "predicted", "design (CPU s)"),
        ),
        rows(surveys),
    )


def rows(surveys: int) -> Iterator[tuple[object, ...]]:
    """A row per cell, and the geometric mean of the ratios of variances."""
    ratios = []
    for people, epsilon in CROWDS:
        for sizes in SIZES:
            boxes = list(draw_boxes(sizes))
            central = Central(Epsilon.parse(epsilon), Fraction(1, 100 * people), people)
            before = best_of(designs_alone(sizes, central), boxes, people)
            started = time.process_time()
            after = best_of(designs_in_crowd(sizes, central), boxes, people)
            spent = time.process_time() - started
            errors = [measure(own, boxes, people, surveys) for own in (before, after)]
            expected = [predict(own, boxes, people) for own in (before, after)]
            ratios.append(errors[1] ** 2 / errors[0] ** 2)
            yield (
                *(" x ".join(map(str, sizes)), f"{people:,}", epsilon),
                *(before.name, before.epsilon, f"{errors[0]:.4f}"),
                *(after.name, after.epsilon, f"{errors[1]:.4f}"),
                *(f"{ratios[-1]:.2f}", f"{expected[1] / expected[0]:.2f}", f"{spent:.0f}"),
            )
    mean = math.exp(float(np.mean(np.log(ratios))))
    yield ("geometric mean", *[""] * 8, f"{mean:.2f}", "", "")


def domain_of(sizes: tuple[int, ...]) -> RecordDomain:
    """Whole numbers."""
    own = (Dimension(f"d{axis}", int_domain(0, size - 1)) for axis, size in enumerate(sizes))
    return RecordDomain.of(Schema(tuple(own), ()))


def draw_boxes(sizes: tuple[int, ...]) -> Iterator[LinearQuery]:
    """Counts of random ranges, on every dimension at once."""
    random = np.random.default_rng(3)
    for _ in range(BOXES):
        ends = [sorted(random.choice(size + 1, 2, replace=False).tolist()) for size in sizes]
        sides = {axis: ((low, high),) for axis, (low, high) in enumerate(ends)}
        yield LinearQuery.count(Box.of(len(sizes), sides))


def _make(name: str, sizes: tuple[int, ...], promise: Epsilon | Central) -> AnyDesign:
    domain = domain_of(sizes)
    options: AnyOptions = {"ways": 0} if name == "srr-ss" else {}
    return mechanism(name).design(domain, promise, options, Workload.everyday(domain))


def designs_alone(sizes: tuple[int, ...], central: Central) -> Iterator[AnyDesign]:
    """At the local epsilon that any mechanism may have, and what stated its blanket."""
    local = largest_local(lambda epsilon: (clones(epsilon.odds),), central)
    for name in ALONE:
        yield _make(name, sizes, local)
    yield _make("srr-ss", sizes, central)


def designs_in_crowd(sizes: tuple[int, ...], central: Central) -> Iterator[AnyDesign]:
    """Each by its blanket."""
    for name in TRIED:
        yield _make(name, sizes, central)


def best_of(designs: Iterator[AnyDesign], boxes: list[LinearQuery], people: int) -> AnyDesign:
    """The one with the least predicted variance of the boxes."""

    def error(design: AnyDesign) -> float:
        try:
            return predict(design, boxes, people)
        except Error:
            return math.inf

    return min(designs, key=error)


def predict(design: AnyDesign, boxes: list[LinearQuery], people: int) -> float:
    """Mean variance of the shares that boxes hold, for records spread evenly."""
    return design.expected_variances([boxes], people)[0] / people**2


def measure(design: AnyDesign, boxes: list[LinearQuery], people: int, surveys: int) -> float:
    """Root mean square error of the shares that boxes hold among a survey's own people, who are
    spread around the middle, over so many surveys."""
    sizes, random = design.domain.sizes, np.random.default_rng(11)
    shares = np.ones(1)
    for size in sizes:
        own = np.exp(-0.5 * ((np.arange(size) - size / 2) / (size / 4)) ** 2)
        shares = np.outer(shares, own / own.sum()).ravel()
    records = np.stack([axis.ravel() for axis in np.indices(sizes)], axis=1)
    inside = np.array([_inside(query, records) for query in boxes])
    planned, squares = [design.prepare(query) for query in boxes], 0.0
    for seed in range(surveys):
        counts = random.multinomial(people, shares)
        histogram = histogram_of(design, np.repeat(records, counts, axis=0), seed)
        estimator = make_estimator(design, histogram)
        values = estimator.values(planned)
        squares += float(np.mean(((values - inside @ counts) / people) ** 2))
    return math.sqrt(squares / surveys)


def histogram_of(design: AnyDesign, records: NDArray[np.int64], seed: int) -> Histogram:
    """One drawn report per row, counted."""
    columns = design.randomize(records, SeededEntropy(seed)).columns.values()
    limits = [int(column.max(initial=0)) + 1 for column in columns]
    found, counts = np.unique(np.ravel_multi_index(tuple(columns), limits), return_counts=True)
    rows = np.unravel_index(found, limits)
    return Histogram(design.plan.questions, tuple(rows), counts)


def _inside(query: LinearQuery, records: NDArray[np.int64]) -> NDArray[np.float64]:
    ((_, box),) = query.terms
    found = np.ones(len(records))
    for axis, side in enumerate(box.sides):
        if side is not None:
            ((low, high),) = side
            found *= (records[:, axis] >= low) & (records[:, axis] < high)
    return found
