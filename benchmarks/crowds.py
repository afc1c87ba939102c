"""A crowd's worth: the best mechanism by its blanket, and the best by its local epsilon alone."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from benchmarks.figures.verdicts import Value
from benchmarks.tables import print_table
from ldpsql.algebra.boxes import Box, LinearQuery
from ldpsql.algebra.record_domain import RecordDomain
from ldpsql.algebra.workload import Workload
from ldpsql.audit.exact import domain_of_codes
from ldpsql.estimators.base import AnyDesign, make_estimator
from ldpsql.mechanisms.base import AnyOptions
from ldpsql.mechanisms.fourier.design import FourierDesign
from ldpsql.mechanisms.fourier.recipe import FOURIER, mean_variance
from ldpsql.mechanisms.registry import mechanism
from ldpsql.shuffle.accountant import clones, largest_local
from ldpsql.shuffle.blankets import choose_widths
from ldpsql_device.epsilon import Epsilon
from ldpsql_device.errors import Error
from ldpsql_device.schema import Dimension, Schema
from ldpsql_device.shuffled import Central
from ldpsql_device.values import int_domain
from ldpsql_lab.simulation import SeededEntropy, histogram_of

SURVEYS, BOXES = 200, 200
Cell = tuple[tuple[int, ...], int, str]
"""Codes of every dimension, people, and central epsilon."""
SIZES = ((64,), (256,), (16, 16))
LARGE = ((10_000, "0.2"), (10_000, "1"), (100_000, "0.2"), (100_000, "1"))
WIDER = (Decimal("0.2"), Decimal("0.8"), Decimal("1.5"))
"""More epsilon than the local one of a response by itself, for which questions are made."""
CROWDS = ((1_000, "1"), (10_000, "0.2"), (100_000, "0.1"))
ALONE = ("fourier", "hgrr", "hio", "ahio", "ehio")
"""Tried by the local epsilon alone; the mechanisms over marginals always stated their blankets."""
TRIED = (*ALONE, "olh", "hrr", "srr-ss")
MEASURED, LEVELS = 100, 5
"""Surveys with a measure of so many levels."""
SMALL: Mapping[str, AnyOptions] = {
    **{name: {} for name in ("fourier", "hgrr", "ahio", "ehio", "grr", "olh")},
    "staircase": {"levels": LEVELS},
}
WHOLE: Mapping[str, AnyOptions] = {
    **{name: {} for name in ("hgrr", "ahio", "ehio")},
    "fourier": {"form": "product"},
}
"""What is tried for a few codes and a measure, and in product form, each with its options."""


def run(surveys: int = SURVEYS) -> None:
    """Print the tables."""
    cells = [(sizes, *crowd) for crowd in CROWDS for sizes in SIZES]
    print_table(
        "Crowds: widths",
        (
            *("codes", "people", "epsilon", "by local epsilon", "local", "error"),
            *(f"{what} ({more})" for more in WIDER for what in ("variance", "local")),
        ),
        widths(cells),
    )
    print()
    print_table(
        "Crowds: product form",
        ("codes", "measures", "people", "epsilon", "alone", "in a crowd", "variance"),
        (product_form(people, epsilon) for people, epsilon in LARGE),
    )
    print()
    print_table(
        f"Crowds: root mean square error of {BOXES} random boxes, {surveys} surveys each",
        (
            *("codes", "people", "epsilon", "by local epsilon", "local", "error"),
            *("by blanket", "local", "error", "variance", "predicted", "design (CPU s)"),
        ),
        rows(surveys),
    )
    print()
    print_table(
        f"Crowds: counts and sums of a measure of {LEVELS} levels, {MEASURED} surveys each",
        (
            *("codes", "people", "epsilon", "by local epsilon", "local", "error"),
            *("by blanket", "local", "error", "variance", "+/-"),
        ),
        measure_rows(MEASURED),
    )


# -- measures -------------------------------------------------------------------------------------


def measure_rows(surveys: int) -> Iterator[tuple[object, ...]]:
    """Counts of boxes and sums of a measure in them: the best by the local epsilon alone, and the
    best by its blanket."""
    for shape, tried in (("8", SMALL), ("3x3", SMALL), ("24x7x265", WHOLE)):
        for people, epsilon in LARGE:
            yield measure_row(shape, tried, people, epsilon, surveys)


def measure_row(
    shape: str, tried: Mapping[str, AnyOptions], people: int, epsilon: str, surveys: int
) -> tuple[object, ...]:
    """A row of the table; the ratio of variances has a standard error."""
    domain, central = domain_of_codes(shape, 1), central_of(people, epsilon)
    asked, workload = draw_measured(domain.sizes), Workload.everyday(domain)
    found = []
    for promise in (local_alone(central), central):
        designs = (
            mechanism(name).design(domain, promise, options, workload)
            for name, options in tried.items()
        )
        best = best_of(designs, asked, people)
        found.append((best, measure_sums(best, asked, people, surveys)))
    (before, first), (after, second) = found
    ratio = second.mean / first.mean
    error = ratio * math.hypot(first.stderr / first.mean, second.stderr / second.mean)
    return (
        *(shape.replace("x", " x "), f"{people:,}", epsilon),
        *(before.name, before.epsilon, f"{math.sqrt(first.mean):.4f}"),
        *(after.name, after.epsilon, f"{math.sqrt(second.mean):.4f}"),
        *(f"{ratio:.3f}", f"{error:.3f}"),
    )


def draw_measured(sizes: tuple[int, ...]) -> list[LinearQuery]:
    """Counts of random ranges of one or two dimensions, and sums of the measure over them."""
    random, queries = np.random.default_rng(5), list[LinearQuery]()
    for number in range(40):
        axes = random.choice(len(sizes), min(len(sizes), 1 + number % 2), replace=False)
        ends = {int(a): sorted(random.choice(sizes[a] + 1, 2, replace=False)) for a in axes}
        sides = {a: ((int(low), int(high)),) for a, (low, high) in ends.items()}
        box = Box.of(len(sizes), sides).normal(sizes)
        queries += [LinearQuery.count(box), LinearQuery.sum(0, box)]
    return queries


def measure_sums(design: AnyDesign, asked: list[LinearQuery], people: int, surveys: int) -> Value:
    """Mean squared error of counts and sums of surveys, over the square of their people.

    People are around the middle of every dimension; their values, between 0 and 1, are LEVELS,
    higher with the first dimension. Where a design has other levels they are rounded to these.
    """
    sizes, highest = design.domain.sizes, design.domain.levels[0] - 1
    planned, squares = [design.prepare(query) for query in asked], []
    for seed in range(surveys):
        random = np.random.default_rng(seed)
        codes = np.stack(
            [random.normal(m / 2, m / 5, people).clip(0, m - 1).astype(np.int64) for m in sizes],
            axis=1,
        )
        share = 0.2 + 0.6 * codes[:, 0] / sizes[0]
        values = random.binomial(LEVELS - 1, share) / (LEVELS - 1)
        levels = np.floor(values * highest + random.random(people)).astype(np.int64)
        reports = design.randomize(np.column_stack([codes, levels]), SeededEntropy(seed))
        found = make_estimator(design, histogram_of(reports)).values(planned)
        truths = [
            float((_inside(q, codes) * (1.0 if q.measure is None else values)).sum()) for q in asked
        ]
        squares.append(float(np.mean(((found - truths) / people) ** 2)))
    return Value.over(squares)


# -- the nine cells -------------------------------------------------------------------------------


def widths(cells: Sequence[Cell]) -> Iterator[tuple[object, ...]]:
    """Predicted variances of questions made for more than the local epsilon, over the best by the
    local epsilon alone."""
    ratios: list[list[float]] = []
    for sizes, people, epsilon in cells:
        central, boxes = central_of(people, epsilon), list(draw_boxes(sizes))
        before = best_of(designs_alone(sizes, central), boxes, people)
        known, found = predict(before, boxes, people), list[str]()
        ratios.append([])
        for more in WIDER:
            beyond = choose_widths(central).value - Decimal("0.8") + more
            made = _make("fourier", sizes, Epsilon(beyond))
            after = tune(made, central)
            ratios[-1].append(predict(after, boxes, people) / known)
            found += [f"{ratios[-1][-1]:.3f}", str(after.epsilon)]
        shown = (before.name, before.epsilon, f"{math.sqrt(known):.4f}")
        yield (" x ".join(map(str, sizes)), f"{people:,}", epsilon, *shown, *found)
    means = np.exp(np.log(ratios).mean(axis=0))
    yield ("geometric mean", *[""] * 5, *(cell for mean in means for cell in (f"{mean:.3f}", "")))


def product_form(people: int, epsilon: str) -> tuple[object, ...]:
    """The predicted variance of the everyday workload over three dimensions and a measure."""
    central, options = central_of(people, epsilon), {"form": "product"}
    domain = domain_of_codes("24x7x265", 1)
    alone, crowd = (
        FOURIER.design(domain, promise, options) for promise in (local_alone(central), central)
    )
    assert isinstance(alone, FourierDesign)
    assert isinstance(crowd, FourierDesign)
    ratio = mean_variance(crowd) / mean_variance(alone)
    return "24 x 7 x 265", 1, f"{people:,}", epsilon, alone.epsilon, crowd.epsilon, f"{ratio:.2f}"


def central_of(people: int, epsilon: str) -> Central:
    """A promise at delta 1 / (100 people)."""
    return Central(Epsilon.parse(epsilon), Fraction(1, 100 * people), people)


def local_alone(central: Central) -> Epsilon:
    """The local epsilon that any mechanism may have."""
    return largest_local(lambda epsilon: (clones(epsilon.odds),), central)


def tune(made: AnyDesign, central: Central) -> AnyDesign:
    """The same questions with the odds that a crowd allows."""
    assert isinstance(made, FourierDesign)
    local = largest_local(lambda epsilon: FOURIER.retune(made, epsilon).blankets(), central)
    return FOURIER.retune(made, local)


def rows(surveys: int) -> Iterator[tuple[object, ...]]:
    """A row per cell, and the geometric mean of the ratios of variances."""
    ratios = []
    for people, epsilon in CROWDS:
        for sizes in SIZES:
            boxes = list(draw_boxes(sizes))
            central = central_of(people, epsilon)
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
    local = local_alone(central)
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
        reports = design.randomize(np.repeat(records, counts, axis=0), SeededEntropy(seed))
        estimator = make_estimator(design, histogram_of(reports))
        values = estimator.values(planned)
        squares += float(np.mean(((values - inside @ counts) / people) ** 2))
    return math.sqrt(squares / surveys)


def _inside(query: LinearQuery, records: NDArray[np.int64]) -> NDArray[np.float64]:
    ((_, box),) = query.terms
    found = np.ones(len(records))
    for axis, side in enumerate(box.sides):
        if side is not None:
            ((low, high),) = side
            found *= (records[:, axis] >= low) & (records[:, axis] < high)
    return found
