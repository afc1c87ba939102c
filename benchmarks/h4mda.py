"""Hierarchical mechanisms against direct HIO, over ranges and over boxes."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from benchmarks.tables import print_table
from ldpsql.algebra.boxes import Box, LinearQuery
from ldpsql.algebra.record_domain import RecordDomain
from ldpsql.algebra.workload import DeclaredQuery, Workload
from ldpsql.estimators.base import AnyDesign as Design
from ldpsql.estimators.base import make_estimator
from ldpsql.mechanisms.registry import mechanism
from ldpsql_device.epsilon import Epsilon
from ldpsql_lab.simulation import SeededEntropy, histogram_of

PEOPLE, RANGE_RUNS, BOX_RUNS = 100_000, 60, 10
BEST = {"oracle": "auto", "inference": "consistent", "allocation": "optimal"}


def run() -> None:
    """Print the tables."""
    print_table(
        "COUNT over random ranges of 256 codes, epsilon 1: direct HIO against the rest",
        ("design", "predicted error / HIO's", "measured"),
        _compared(RecordDomain(("x",), (256,), (), (), ()), _ranges(), None, RANGE_RUNS),
    )
    sides = [((a, a + 32),) for a in range(33)]
    boxes = [(left, right) for left in sides for right in sides]
    square = RecordDomain(("x", "y"), (64, 64), (), (), ())
    asked = [boxes[i] for i in np.random.default_rng(2).choice(len(boxes), 100, replace=False)]
    share = 1.0 / len(boxes)
    declared = Workload(square, (), tuple(DeclaredQuery(share, ((1.0, box),)) for box in boxes))
    print()
    print_table(
        "COUNT over boxes of half side in 64 x 64 codes, epsilon 1, the boxes declared",
        ("design", "predicted error / HIO's", "measured"),
        _compared(square, [LinearQuery.count(Box(box)) for box in asked], declared, BOX_RUNS),
    )


def _ranges() -> list[LinearQuery]:
    ends = np.sort(np.random.default_rng(1).integers(0, 257, (150, 2)), axis=1).tolist()
    return [LinearQuery.count(Box((((a, b),),))) for a, b in ends if 0 < b - a < 256]


def _compared(
    domain: RecordDomain, queries: list[LinearQuery], workload: Workload | None, runs: int
) -> Iterator[tuple[object, ...]]:
    """Error of several designs over that of HIO, which comes first."""
    designs: list[tuple[str, str, dict[str, object]]] = [
        ("HIO as published (fanout 5, root)", "hio", {"root": True}),
        ("HIO, direct", "hio", {}),
        ("HIO, direct, fanout 2, root", "hio", {"fanout": 2, "root": True}),
        ("HIO, direct, optimal allocation", "hio", {"allocation": "optimal"}),
        *((f"consistent, optimal, fanout {f}", "hio", {**BEST, "fanout": f}) for f in (2, 4, 8)),
    ]
    if len(domain.sizes) == 1:
        consistent = {"fanout": 2, "inference": "consistent", "allocation": "optimal"}
        designs += [
            ("HI", "hi", {}),
            ("HH (OUE), consistent, optimal", "hh", {**consistent, "oracle": "oue"}),
            ("HaarHRR", "haarhrr", {}),
        ]
    first: tuple[float, float] | None = None
    for label, name, options in designs:
        design = mechanism(name).design(domain, Epsilon.parse("1"), options, workload)
        errors = _predicted(design, queries), _measured(design, queries, runs)
        first = first or errors
        yield (label, *(f"{error / base:.3f}" for error, base in zip(errors, first, strict=True)))


def _predicted(design: Design, queries: list[LinearQuery]) -> float:
    return float(design.variance([design.prepare(query) for query in queries], PEOPLE).mean())


def _measured(design: Design, queries: list[LinearQuery], runs: int) -> float:
    """Mean squared error over queries and runs, on skewed and correlated people."""
    planned = [design.prepare(query) for query in queries]
    random = np.random.default_rng(3)
    size = design.domain.sizes[0]
    x = np.clip(random.normal(size / 2, size / 6, PEOPLE), 0, size - 1).astype(np.int64)
    y = np.clip(x + random.normal(0, size / 8, PEOPLE), 0, size - 1).astype(np.int64)
    codes = np.stack([x, y], axis=1)[:, : len(design.domain.sizes)]
    truths = np.array([inside(query, codes).sum() for query in queries])
    errors = []
    for seed in range(runs):
        histogram = histogram_of(design.randomize(codes, SeededEntropy(seed)))
        values = make_estimator(design, histogram).answer(planned).values
        errors.append(np.mean((values - truths) ** 2))
    return float(np.mean(errors))


def inside(query: LinearQuery, codes: np.ndarray) -> np.ndarray:
    """Who is in the one box of a query, shape (n,)."""
    members = np.ones(len(codes), dtype=bool)
    for side, column in zip(query.terms[0][1].sides, codes.T, strict=True):
        ((low, high),) = side or ((0, int(column.max()) + 1),)
        members &= (column >= low) & (column < high)
    return members
