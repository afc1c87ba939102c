"""How near Fourier designs come to the bound, and that no classical mechanism beats them."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from benchmarks.dense import best_classical, workload_gram
from benchmarks.tables import print_table
from ldpsql.algebra.least_error import most_information
from ldpsql.algebra.record_domain import RecordDomain
from ldpsql.algebra.workload import Kind, QueryClass, Workload
from ldpsql.mechanisms.fourier.design import FourierDesign
from ldpsql.mechanisms.fourier.group import Group
from ldpsql.mechanisms.fourier.recipe import Fourier
from ldpsql.mechanisms.fourier.spectra import demand, floor
from ldpsql_device.epsilon import Epsilon

LIMITS = {
    1: ({"0.5": 1.01, "1": 1.01, "2": 1.05}, ((16,), (64,), (100,), (256,), (1024,))),
    2: ({"0.5": 1.03, "1": 1.03, "2": 1.06}, ((32, 32), (64, 64), (125, 125))),
    3: ({"0.5": 1.07, "1": 1.07, "2": 1.07}, ((16, 16, 16),)),
}
EPSILONS = ("0.25", "0.5", "1", "1.5", "2", "3", "4", "5", "6")
LINES = (2, 3, 4, 5, 7, 8, 12, 16, 31, 64, 100, 128)
WORST_LOSS = 1.005


def domain(sizes: Sequence[int], measures: int = 0) -> RecordDomain:
    """Dimensions a, b, ... and measures from 0 to 100."""
    names = tuple("abcdefgh"[: len(sizes)])
    own = tuple(f"v{i}" for i in range(measures))
    bounds = ((0.0, 100.0),) * measures
    return RecordDomain(names, tuple(sizes), own, bounds, (None,) * measures)


def boxes_of(sizes: Sequence[int], kinds: Sequence[Kind]) -> Workload:
    """One predicate on every dimension at once."""
    entry = QueryClass(1.0, tuple(enumerate(kinds)))
    return Workload(domain(sizes), (entry,), (), len(sizes))


def design(workload: Workload, epsilon: str) -> FourierDesign:
    """The Fourier design for a workload."""
    return Fourier().design(workload.domain, Epsilon.parse(epsilon), {}, workload)


def mean_variance(made: FourierDesign, workload: Workload) -> float:
    """Per query and person, records spread evenly over the group."""
    needed = demand(workload, made.group)
    known = made.collected.information
    used = {face: g > 0.0 for face, g in needed.items()}
    terms = [float((g[used[f]] / known[f][used[f]]).sum()) for f, g in needed.items()]
    return sum(terms) + floor(demand(workload, made.group))


def run() -> None:
    """Print both tables."""
    print_table(
        "Mean variance of all boxes over the bound for translation-invariant channels",
        (
            "domain",
            "epsilon",
            "variance per person",
            "over the bound",
            "limit",
            "met",
            "design (CPU s)",
            "families",
        ),
        _bounded(),
    )
    print()
    print_table(
        "Mean variance of the best of GRR, OUE and optimal hierarchies (2, 4, 8) over Fourier's",
        ("domain", "predicates", *(f"epsilon {e}" for e in EPSILONS), "least", "met"),
        _compared(),
    )


def _bounded() -> Iterator[tuple[object, ...]]:
    for dimensions, (limits, domains) in LIMITS.items():
        kinds: tuple[Kind, ...] = ("range",) * dimensions
        for sizes in domains:
            for epsilon, limit in limits.items():
                workload = boxes_of(sizes, kinds)
                start = time.process_time()
                made = design(workload, epsilon)
                seconds = time.process_time() - start
                variance = mean_variance(made, workload)
                ratio = variance / invariant_bound(workload, Epsilon.parse(epsilon))
                yield (
                    _shape(sizes),
                    epsilon,
                    f"{variance:.4f}",
                    f"{ratio:.4f}",
                    limit,
                    "yes" if ratio <= limit else "NO",
                    f"{seconds:.1f}",
                    made.plan.questions,
                )


def _compared() -> Iterator[tuple[object, ...]]:
    cases: list[tuple[tuple[int, ...], tuple[Kind, ...]]] = [
        ((m,), (kind,)) for m in LINES for kind in ("range", "equality")
    ]
    for kinds in (("range", "range"), ("equality", "range"), ("equality", "equality")):
        cases.append(((8, 8), kinds))
    cases.append(((12, 16), ("range", "range")))
    cases.append(((12, 16), ("equality", "range")))
    for sizes, kinds in cases:
        grams = workload_gram(kinds, sizes)
        workload = boxes_of(sizes, kinds)
        ratios = []
        for epsilon in EPSILONS:
            made = design(workload, epsilon)
            _, other = best_classical(sizes, grams, made.collected.odds)
            ratios.append(other / mean_variance(made, workload))
        least = min(ratios)
        shown = (f"{ratio:.3f}" for ratio in ratios)
        met = "yes" if least * WORST_LOSS >= 1.0 else "NO"
        yield (_shape(sizes), " x ".join(kinds), *shown, f"{least:.4f}", met)


def invariant_bound(workload: Workload, epsilon: Epsilon) -> float:
    """What no channel that treats all shifts of a cyclic domain alike can beat; counts alone.

    The Gram of such a workload is diagonal in the Fourier basis: its eigenvalues are the demand.
    """
    needed = _demand(workload)
    roots = sum(float(np.sqrt(powers).sum()) for powers in needed.values())
    information = most_information(math.prod(workload.domain.sizes), epsilon)
    return roots**2 / information + floor(needed)


def sample_share(workload: Workload) -> float:
    """How much less any variance is where the people do not count as a sample; counts alone."""
    return -floor(_demand(workload))


def _demand(workload: Workload) -> dict[tuple[int, ...], NDArray[np.float64]]:
    sizes = workload.domain.sizes
    return demand(workload, Group(sizes, sizes, sizes, workload.supports))


def _shape(sizes: Sequence[int]) -> str:
    return " x ".join(map(str, sizes))
