"""Coverage of the 95 % intervals of Fourier surveys: data shapes, numbers of people, epsilons."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from benchmarks.direct import estimator_of
from benchmarks.fourier_bounds import domain
from benchmarks.tables import print_table
from ldpsql.algebra.boxes import Box, LinearQuery
from ldpsql.algebra.estimate import Ratio, quantile
from ldpsql.mechanisms.fourier.design import FourierDesign
from ldpsql.mechanisms.fourier.recipe import Fourier
from ldpsql.mechanisms.fourier.spectra import BoxQuery
from ldpsql_device.epsilon import Epsilon

Floats = NDArray[np.float64]

LEVEL, LOW, HIGH = 0.95, 0.94, 0.965
SIZE = 64
EPSILONS = ("0.5", "1", "2", "4")
SHAPES = ("gauss", "zipf", "spiky", "two points", "one point", "uniform")
LINE = ((0, 8), (5, 21), (16, 48), (31, 33), (32, 64), (12, 13), (3, 61))
BOXES = ((0, 8, 0, 8), (5, 21, 2, 30), (8, 24, 8, 24), (15, 17, 0, 32), (16, 32, 16, 32))
RUNS = {1_000: 500, 10_000: 500, 100_000: 350}
RUNS_2D = {1_000: 80, 10_000: 80, 100_000: 60}
"""Surveys per data shape, by the number of people."""


@dataclass(frozen=True)
class People:
    """Shares of the codes of a population, flat, and the mean of the measure (0..100) there."""

    sizes: tuple[int, ...]
    shares: Floats

    @property
    def means(self) -> Floats:
        """Between 20 and 80, growing along the codes."""
        return 20.0 + 60.0 * np.arange(len(self.shares)) / (len(self.shares) - 1)

    def drawn(self, people: int, seed: int) -> tuple[NDArray[np.int64], Floats]:
        """Flat codes and measures of a sample."""
        random = np.random.default_rng([seed, 5])
        codes = random.choice(len(self.shares), size=people, p=self.shares)
        return codes, self.means[codes] + random.uniform(-20, 20, people)


def population(shape: str, sizes: tuple[int, ...]) -> People:
    """One of SHAPES over a line or a plane."""
    cells = math.prod(sizes)
    random = np.random.default_rng(7)
    shares = np.zeros(cells)
    if shape == "gauss":
        axes = [np.exp(-((np.arange(m) / m - 0.45) ** 2) / 0.03) for m in sizes]
        shares = np.asarray(axes[0] if len(axes) == 1 else np.multiply.outer(*axes)).ravel()
    elif shape == "zipf":
        shares = 1.0 / np.arange(1, cells + 1) ** 1.3
    elif shape == "spiky":
        shares[random.choice(cells, 8, replace=False)] = random.dirichlet(np.ones(8))
        shares += 0.1 / cells
    elif shape == "two points":
        shares[[cells // 5, 4 * cells // 7]] = 0.7, 0.3
    elif shape == "one point":
        shares[cells // 5] = 1.0
    else:
        shares += 1.0
    return People(sizes, shares / shares.sum())


@dataclass(frozen=True)
class Asked:
    """COUNT and SUM over boxes, planned; and which flat codes each box holds."""

    made: FourierDesign
    planned: list[list[BoxQuery]]
    members: NDArray[np.bool_]

    @classmethod
    def of(cls, made: FourierDesign, boxes: tuple[tuple[int, ...], ...]) -> Asked:
        sizes = made.domain.sizes
        planned, members = [], []
        for corners in boxes:
            sides = tuple(((corners[2 * i], corners[2 * i + 1]),) for i in range(len(sizes)))
            terms = ((1.0, Box(sides)),)
            planned.append(
                [made.prepare(LinearQuery(terms)), made.prepare(LinearQuery(terms, measure=0))]
            )
            inside = np.ones(sizes, dtype=bool)
            for axis, ((low, high),) in enumerate(sides):
                index = np.arange(sizes[axis]).reshape(
                    [-1 if a == axis else 1 for a in range(len(sizes))]
                )
                inside &= (index >= low) & (index < high)
            members.append(inside.ravel())
        return cls(made, planned, np.array(members))


def run() -> None:
    """Print coverage per number of people and epsilon, on a line and on a plane.

    "+/-": the largest standard error of the three coverages of all shapes.
    "met": no data shape lies outside the limits by more than two standard errors.
    """
    print_table(
        f"Coverage of 95 % intervals, {SIZE} codes and a measure, {len(LINE)} ranges",
        (*_HEAD,),
        _rows((SIZE,), LINE, RUNS),
    )
    print()
    print_table(
        f"The same over 32 x 32 codes and a measure, {len(BOXES)} boxes",
        (*_HEAD,),
        _rows((32, 32), BOXES, RUNS_2D),
    )


_HEAD = (
    "people",
    "epsilon",
    "surveys",
    *(f"{name} {of}" for name in ("COUNT", "SUM", "AVG") for of in ("all", "lowest", "highest")),
    "+/-",
    "AVG told",
    "variance / reported",
    "met",
)


def _rows(
    sizes: tuple[int, ...], boxes: tuple[tuple[int, ...], ...], runs: dict[int, int]
) -> Iterator[tuple[object, ...]]:
    for epsilon in EPSILONS:
        made = Fourier().design(domain(sizes, 1), Epsilon.parse(epsilon), {})
        asked = Asked.of(made, boxes)
        for people, repeats in runs.items():
            found = np.array(
                [
                    [
                        _once(asked, population(shape, sizes), people, seed)
                        for seed in range(repeats)
                    ]
                    for shape in SHAPES
                ]
            )
            yield f"{people:,}", epsilon, len(SHAPES) * repeats, *_summary(found)


def _once(asked: Asked, source: People, people: int, seed: int) -> Floats:
    """Per box, for COUNT, SUM, AVG: (whether inside, or NaN; error; variance), shape (b, 3, 3)."""
    flat, values = source.drawn(people, seed)
    signs = np.random.default_rng([seed, 6]).uniform(0, 100, people) < values
    codes = np.column_stack([*np.unravel_index(flat, source.sizes), signs]).astype(np.int64)
    rows = estimator_of(asked.made, codes, seed).answer_rows(asked.planned)
    table = np.empty((len(rows), 3, 3))
    for number, (row, members) in enumerate(zip(rows, asked.members, strict=True)):
        truth = people * np.array(
            [source.shares[members].sum(), (source.shares * source.means)[members].sum()]
        )
        error, variance = row.values - truth, np.diagonal(row.covariance)
        inside = np.abs(error) <= quantile(LEVEL) * np.sqrt(np.maximum(variance, 0.0))
        table[number, :2] = np.column_stack([inside, error, variance])
        ratio = Ratio(
            row.values[1], row.values[0], variance[1], variance[0], float(row.covariance[0, 1])
        )
        low, high = ratio.interval(LEVEL)
        known = truth[0] > 0.0 and not math.isnan(low)
        mean = truth[1] / truth[0] if truth[0] > 0.0 else math.nan
        table[number, 2] = low <= mean <= high if known else math.nan, math.nan, math.nan
    return table


def _summary(found: Floats) -> Iterator[object]:
    """From shape (shapes, runs, boxes, 3, 3)."""
    met, worst_error = True, 0.0
    for position in range(3):
        inside = found[..., position, 0]
        by_shape = np.nanmean(inside, axis=(1, 2))
        stderr = np.array([_standard_error(own) for own in inside])
        slack = 2.0 * stderr
        met &= bool(((by_shape >= LOW - slack) & (by_shape <= HIGH + slack)).all())
        worst_error = max(worst_error, float(np.sqrt((stderr**2).sum())) / len(stderr))
        yield f"{100 * np.nanmean(inside):.1f}"
        for pick in (np.nanargmin, np.nanargmax):
            worst = int(pick(by_shape))
            yield f"{100 * by_shape[worst]:.1f} {SHAPES[worst]}"
    yield f"{100 * worst_error:.2f}"
    yield f"{100 * np.mean(~np.isnan(found[..., 2, 0])):.0f} %"
    ratio = np.mean(found[..., :2, 1] ** 2, axis=1) / np.mean(found[..., :2, 2], axis=1)
    yield f"{np.nanmean(ratio):.2f}"
    yield "yes" if met else "NO"


def _standard_error(inside: Floats) -> float:
    """Of the mean over (runs, boxes), NaN left out: the boxes of one run depend on each other.

    Never less than that of as many independent intervals of the level: few can all be inside.
    """
    known = ~np.isnan(inside)
    excess = np.where(known, inside - np.nanmean(inside), 0.0).sum(axis=1)
    seen = float(np.sqrt((excess**2).sum()) / known.sum())
    return max(seen, math.sqrt(LEVEL * (1.0 - LEVEL) / known.sum()))
