"""The variance of every hierarchical mechanism against what it predicts and what it reports."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from benchmarks.h4mda import inside
from benchmarks.tables import print_table
from ldpsql.boxes import Box, LinearQuery
from ldpsql.decoders.base import AnyDesign as Design
from ldpsql.decoders.base import AnyEstimator as Estimator
from ldpsql.recipes.registry import mechanism
from ldpsql.record_domain import RecordDomain
from ldpsql.simulation import SeededEntropy, histogram_of
from ldpsql_device.epsilon import Epsilon

RUNS, PEOPLE, EPSILON, LIMIT = 300, 5_000, "1", 0.15
GLS = {"inference": "consistent", "allocation": "optimal"}
OPTIMAL = {"allocation": "optimal"}
CASES: tuple[tuple[str, dict[str, Any], str], ...] = (
    ("hio", {}, "12"),
    ("hio", OPTIMAL, "12"),
    ("hio", {**GLS, "oracle": "auto"}, "12"),
    ("ahio", {}, "12"),
    ("ahio", {**GLS, "oracle": "auto"}, "12"),
    ("ehio", {}, "12"),
    ("ehio", {"oracle": "auto"}, "12"),
    ("ehio", {**GLS, "oracle": "auto"}, "12"),
    ("hgrr", {}, "12"),
    ("hgrr", GLS, "12"),
    ("lgrr-repaired", {}, "12"),
    ("lgrr-repaired", GLS, "12"),
    ("hi", {}, "12"),
    ("hi", {"inference": "consistent", "oracle": "hrr"}, "12"),
    ("hh", {"oracle": "oue"}, "1"),
    ("hh", {"oracle": "hrr"}, "1"),
    ("hh", {**GLS, "oracle": "oue"}, "1"),
    ("hh", {**GLS, "oracle": "hrr"}, "1"),
    ("haarhrr", {}, "1"),
    ("haarhrr", OPTIMAL, "1"),
    ("ahead", {}, "12"),
    ("lgrr", {}, "12"),
    ("lgrr-fd", {}, "12"),
    ("grr", {}, "12"),
    ("olh", {}, "12"),
    ("oue", {}, "12"),
)
COUNTS_ONLY = ("hio", "ahead")
SIZES = {1: (32,), 2: (8, 6)}
SIDES: dict[int, list[tuple[Any, ...]]] = {
    1: [(((1, 31),),), (((3, 17),),), (((12, 14),),), (((20, 32),),)],
    2: [(((1, 7),), ((1, 5),)), (((0, 3),), ((2, 6),)), (((4, 5),), ((0, 2),)), (((2, 8),), None)],
}


def run() -> None:
    """Print one row per mechanism and number of dimensions."""
    print_table(
        f"Empirical variance over {RUNS} surveys of {PEOPLE:,} people, epsilon {EPSILON}",
        ("mechanism", "options", "d", *_TITLES, "within 15 %"),
        _rows(),
    )


_TITLES = (
    "COUNT, even / predicted",
    "COUNT, skewed / reported",
    "SUM, even / predicted",
    "SUM, skewed / reported",
)


def _rows() -> Iterator[tuple[object, ...]]:
    for name, options, dimensions in CASES:
        for d in map(int, dimensions):
            ratios = _ratios(name, options, d)
            written = " ".join(f"{value}" for value in options.values()) or "defaults"
            within = all(abs(ratio - 1.0) <= LIMIT for ratio in ratios)
            shown = [f"{ratio:.3f}" for ratio in ratios] + [""] * (4 - len(ratios))
            yield (name, written, d, *shown, "yes" if within else "no")


def _ratios(name: str, options: dict[str, Any], d: int) -> list[float]:
    """Mean ratios over the queries: counts even, counts skewed, then the same of sums."""
    sizes = SIZES[d]
    names = ("x", "y")[:d]
    bounds = () if name in COUNTS_ONLY else ((0.0, sizes[-1] - 1.0),)
    measured = () if name in COUNTS_ONLY else (d - 1,)
    domain = RecordDomain(names, sizes, names[-1:] if bounds else (), bounds, measured)
    design = mechanism(name).design(domain, Epsilon.parse(EPSILON), options)
    boxes = [Box(sides) for sides in SIDES[d]]
    queries = [LinearQuery.count(box) for box in boxes]
    if bounds:
        queries += [LinearQuery.sum(0, box) for box in boxes]
    even, skewed = (_simulated(design, queries, evenly=evenly) for evenly in (True, False))
    predicted = even[1]
    if not design.asks_in_rounds:
        predicted = design.variance([design.prepare(query) for query in queries], PEOPLE)
    both = (even[0] / predicted, skewed[0] / skewed[1])
    return [
        float(np.mean(ratio[start : start + len(boxes)]))
        for start in range(0, len(queries), len(boxes))
        for ratio in both
    ]


def _simulated(
    design: Design, queries: list[LinearQuery], *, evenly: bool
) -> tuple[np.ndarray, np.ndarray]:
    """Empirical variance of the answers and mean of the variances reported with them.

    What a mechanism in rounds reports holds its bias, so its errors are about what is true.
    """
    values, variances, truths = [], [], []
    for seed in range(RUNS):
        codes = _people(design.domain, seed, evenly=evenly)
        last, estimator = _collected(design, codes, seed)
        answer = estimator.answer([last.prepare(query) for query in queries])
        values.append(answer.values)
        variances.append(np.diagonal(answer.covariance))
        held = codes[:, : len(design.domain.sizes)]
        truths.append([inside(query, held).sum() for query in queries])
    spread = np.var(values, axis=0, ddof=1)
    if design.asks_in_rounds:
        spread = np.mean((np.array(values) - np.mean(truths, axis=0)) ** 2, axis=0)
    return spread, np.mean(variances, axis=0)


def _people(domain: RecordDomain, seed: int, *, evenly: bool) -> np.ndarray:
    """Codes, and the sign of the last dimension's measure; a new sample every run."""
    random = np.random.default_rng([seed, 11])
    columns = []
    for size in domain.sizes:
        spread = np.minimum(random.gamma(2.0, size / 8.0, PEOPLE), size - 1).astype(np.int64)
        columns.append(random.integers(0, size, PEOPLE) if evenly else spread)
    if not evenly and len(columns) == 2:
        columns[1] = np.minimum(columns[0] // 2 + columns[1] // 2, domain.sizes[1] - 1)
    if domain.bounds:
        share = columns[-1] / (domain.sizes[-1] - 1)
        columns.append((random.random(PEOPLE) < share).astype(np.int64))
    return np.stack(columns, axis=1)


def _collected(design: Design, codes: np.ndarray, seed: int) -> tuple[Design, Estimator]:
    """The last round's design and its estimator; everybody answers one round."""
    rounds = design.rounds
    drawn = np.random.default_rng([seed, 12]).integers(1, rounds + 1, len(codes))
    asked: Design = design
    for number in range(1, rounds + 1):
        mine = codes[drawn == number]
        histogram = histogram_of(asked.randomize(mine, SeededEntropy(seed * rounds + number)))
        if number < rounds:
            assert asked.asks_in_rounds
            asked = asked.design_next(histogram)
    return asked, asked.estimator(histogram)
