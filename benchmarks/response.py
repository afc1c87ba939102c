"""The staircase channel against the bound and the mechanisms that need no optimisation."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence

import numpy as np

from benchmarks.dense import flat_variances, uniform_hierarchy, workload_gram
from benchmarks.fourier_bounds import sample_share
from benchmarks.tables import print_table
from ldpsql.algebra.boxes import Box, LinearQuery
from ldpsql.algebra.estimate import quantile
from ldpsql.algebra.least_error import spectral_bound
from ldpsql.algebra.record_domain import RecordDomain
from ldpsql.algebra.workload import Kind, QueryClass, Workload
from ldpsql.estimators.base import AnyDesign as Design
from ldpsql.estimators.base import make_estimator
from ldpsql.mechanisms.registry import mechanism
from ldpsql_device.epsilon import Epsilon
from ldpsql_lab.simulation import SeededEntropy, histogram_of

KINDS: tuple[Kind, ...] = ("prefix", "range")
SIZES = (32, 64)
EPSILONS = ("0.5", "1", "2")
FANOUT = 4
EXPECTED = {
    ("prefix", 32): (29.62, 6.825, 1.268),
    ("prefix", 64): (40.18, 9.323, 1.741),
    ("range", 32): (41.96, 9.735, 1.791),
    ("range", 64): (59.15, 13.78, 2.581),
}
"""What another optimiser reached in 300 s, per kind and size: epsilon 0.5, 1, 2."""
RUNS, PEOPLE = 1_000, 2_000


def workload(kind: Kind, sizes: Sequence[int]) -> Workload:
    """One predicate of the kind on every dimension at once."""
    names = tuple("abc"[: len(sizes)])
    domain = RecordDomain(names, tuple(sizes), (), (), ())
    predicates = tuple((axis, kind) for axis in range(len(sizes)))
    return Workload(domain, (QueryClass(1.0, predicates),), (), len(sizes))


def queries(kind: Kind, size: int) -> list[LinearQuery]:
    """Every predicate of the kind on one dimension."""
    starts = range(size) if kind == "range" else (0,)
    spans = [(a, b) for a in starts for b in range(a + 1, size + 1)]
    return [LinearQuery.count(Box((((a, b),),)).normal((size,))) for a, b in spans]


def run() -> None:
    """Print the three tables."""
    print_table(
        "Mean variance per query and person, of exactly these people spread evenly",
        (
            *("workload", "codes", "epsilon", "k-RR", "OUE", "hierarchy 4, OUE"),
            *("hierarchy 4, the better", "fourier", "staircase", "over reference", "bound"),
            *("staircase / bound", "best other / staircase", "patterns", "design (CPU s)"),
        ),
        _variances(),
    )
    print()
    print_table(
        "Designs of larger domains, ranges on every dimension",
        ("domain", "epsilon", "staircase / bound", "patterns", "design (CPU s)"),
        _large(),
    )
    print()
    print_table(
        f"Honesty over {RUNS:,} surveys of {PEOPLE:,} people, 32 codes, six ranges each",
        (
            *("people", "epsilon", "largest bias (in s.e.)", "variance / reported"),
            "coverage of 95 % intervals",
        ),
        _honesty(),
    )


def _variances() -> Iterator[tuple[object, ...]]:
    for kind in KINDS:
        for size in SIZES:
            for place, epsilon in enumerate(EPSILONS):
                yield _row(kind, size, epsilon, EXPECTED[kind, size][place])


def _row(kind: Kind, size: int, epsilon: str, expected: float) -> tuple[object, ...]:
    asked, budget = workload(kind, (size,)), Epsilon.parse(epsilon)
    grams, odds = workload_gram((kind,), (size,)), float(budget.odds)
    bound = spectral_bound(asked, budget)
    assert bound is not None
    sample = sample_share(asked)
    least = bound - sample
    others = (
        *flat_variances((size,), grams, odds),
        *uniform_hierarchy((size,), grams, odds, FANOUT),
        _mean(mechanism("fourier").design(asked.domain, budget, {}, asked), kind, size) - sample,
    )
    start = time.process_time()
    design = mechanism("staircase").design(asked.domain, budget, {}, asked)
    seconds = time.process_time() - start
    own = _mean(design, kind, size) - sample
    return (
        *(kind, size, epsilon, *(f"{other:.4g}" for other in others), f"{own:.4g}"),
        *(f"{own / expected:.3f}", f"{least:.4g}", f"{own / least:.3f}"),
        *(f"{min(others[:4]) / own:.2f}", design.report_format.limits.max(), f"{seconds:.2f}"),
    )


def _mean(design: Design, kind: Kind, size: int) -> float:
    """Mean predicted variance over every query, people counting as a sample."""
    planned = [design.prepare(query) for query in queries(kind, size)]
    batches = [planned[start : start + 64] for start in range(0, len(planned), 64)]
    return float(np.concatenate([design.variance(batch, 1) for batch in batches]).mean())


def _large() -> Iterator[tuple[object, ...]]:
    for sizes in ((6, 8), (8, 8), (96,), (128,), (16, 16)):
        for epsilon in ("0.5", "2"):
            asked = workload("range", sizes)
            start = time.process_time()
            design = mechanism("staircase").design(asked.domain, Epsilon.parse(epsilon), {}, asked)
            seconds = time.process_time() - start
            reports = int(design.report_format.limits.max())
            shape = " x ".join(map(str, sizes))
            yield (shape, epsilon, f"{design.over_bound:.3f}", reports, f"{seconds:.1f}")


SPANS = ((3, 9), (0, 20), (5, 6), (10, 31), (16, 24), (30, 32))
PLACES = {
    "spread evenly": np.arange(32),
    "in five codes": np.array([4, 10, 10, 15, 25]),
    "in one code": np.array([5]),
}


def _honesty() -> Iterator[tuple[object, ...]]:
    for data, places in PLACES.items():
        for epsilon in (*EPSILONS, "4"):
            asked = workload("range", (32,))
            design = mechanism("staircase").design(asked.domain, Epsilon.parse(epsilon), {}, asked)
            yield (data, epsilon, *_summary(*_repeated(design, places)))


def _repeated(design: Design, places: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Errors and standard errors of every survey, shape (runs, ranges)."""
    planned = [design.prepare(LinearQuery.count(Box((((a, b),),)))) for a, b in SPANS]
    truth = [PEOPLE * float(((places >= a) & (places < b)).mean()) for a, b in SPANS]
    found = []
    for number in range(RUNS):
        random = np.random.default_rng([number, 23])
        codes = places[random.integers(0, len(places), PEOPLE)][:, None]
        reports = design.randomize(codes, SeededEntropy(number))
        given = make_estimator(design, histogram_of(reports)).answer(planned)
        found.append((given.values - truth, given.stderr))
    errors, spread = zip(*found, strict=True)
    return np.array(errors), np.array(spread)


def _summary(errors: np.ndarray, stderr: np.ndarray) -> tuple[str, str, str]:
    bias = errors.mean(axis=0) / (errors.std(axis=0) / np.sqrt(RUNS))
    ratio = errors.var(axis=0) / (stderr**2).mean(axis=0)
    inside = np.abs(errors) <= quantile(0.95) * stderr
    return f"{np.abs(bias).max():.1f}", f"{ratio.mean():.3f}", f"{100 * inside.mean():.1f} %"
