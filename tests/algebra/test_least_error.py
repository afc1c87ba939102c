"""Lower bounds: the specifications' vectors, dense algebra, and nobody below them."""

from __future__ import annotations

from dataclasses import replace
from math import e

import numpy as np
import pytest

from benchmarks.fourier_bounds import invariant_bound, sample_share
from ldpsql.algebra import least_error as bounds
from ldpsql.algebra.boxes import Box, LinearQuery
from ldpsql.algebra.least_error import most_information, sign_bound, spectral_bound
from ldpsql.algebra.record_domain import RecordDomain
from ldpsql.algebra.workload import DeclaredQuery, QueryClass, Workload, gram
from ldpsql.mechanisms.registry import mechanism
from ldpsql_device.epsilon import Epsilon


def domain(*sizes: int, measures: int = 0) -> RecordDomain:
    names = tuple(f"x{i}" for i in range(len(sizes)))
    signs = tuple(f"m{i}" for i in range(measures))
    return RecordDomain(names, sizes, signs, ((-1.0, 1.0),) * measures, (None,) * measures)


def single(kind: str, *sizes: int) -> Workload:
    """One predicate of the kind on every dimension."""
    entry = QueryClass(1.0, tuple((i, kind) for i in range(len(sizes))))
    return Workload(domain(*sizes), (entry,))


@pytest.mark.parametrize(
    ("workload", "epsilon", "spectral", "invariant"),
    [
        (single("range", 2), "1", 0.61378240, 0.61378240),
        (single("range", 5), "1", 2.48080536, 2.51631025),
        (single("range", 8), "1", 3.80594080, 3.85149341),
        (single("equality", 6), "2", 0.38335160, 0.38335160),
        (single("range", 4, 3), "1", 5.28069883, 5.53785815),
    ],
)
def test_vectors_of_the_fourier_specification(workload, epsilon, spectral, invariant):
    budget = Epsilon.parse(epsilon)
    population = spectral_bound(workload, budget) - sample_share(workload)
    assert population == pytest.approx(spectral, abs=5e-8)
    assert invariant_bound(workload, budget) == pytest.approx(invariant, abs=1e-8)


@pytest.mark.parametrize(
    ("kind", "expected"),
    [("prefix", (19.76, 4.527, 0.7551)), ("range", (27.86, 6.429, 1.121))],
)
def test_vectors_of_the_optimum_specification(kind, expected):
    for epsilon, value in zip(("0.5", "1", "2"), expected, strict=True):
        workload = single(kind, 16)
        found = spectral_bound(workload, Epsilon.parse(epsilon)) - sample_share(workload)
        assert found == pytest.approx(value, rel=5e-4)


def dense(workload: Workload, epsilon: float) -> tuple[float, float, float]:
    """(noise, mean, trace) from the Gram over all cells, the signs as axes of two."""
    sizes, measures = workload.domain.sizes, len(workload.domain.bounds)
    cells = int(np.prod(sizes)) * 2**measures
    matrix = np.zeros((cells, cells))
    for entry in workload.classes:
        kinds = dict(entry.predicates)
        axes = [gram(kinds[i], m) if i in kinds else np.ones((m, m)) for i, m in enumerate(sizes)]
        signs = [np.ones((2, 2)) for _ in range(measures)]
        if entry.measure is not None:
            signs[entry.measure] = np.array([[1.0, -1.0], [-1.0, 1.0]])
        product = np.ones((1, 1))
        for axis in (*axes, *signs):
            product = np.kron(product, axis)
        matrix += entry.weight * product
    for query in workload.queries:
        vector = np.zeros((*sizes, *(2,) * measures))
        for cell in np.ndindex(vector.shape):
            codes = cell[: len(sizes)]
            sign = 0 if query.measure is None else 2 * cell[len(sizes) + query.measure] - 1
            vector[cell] = (query.level + query.contrast * sign) * sum(
                share
                for share, sides in query.terms
                if all(
                    side is None or any(low <= code < high for low, high in side)
                    for code, side in zip(codes, sides, strict=True)
                )
            )
        matrix += query.weight * np.outer(vector, vector)
    centre = np.eye(cells) - 1.0 / cells
    values = np.linalg.eigvalsh(centre @ matrix @ centre)
    roots = np.sqrt(values[values > 1e-14 * values[-1]]).sum()
    odds = e**epsilon
    most = max(
        k * (cells - k) * (odds - 1) ** 2 / (k * odds + cells - k) ** 2 for k in range(1, cells)
    )
    return roots**2 / most / cells, matrix.sum() / cells**2, np.trace(matrix) / cells


QUERIES = (
    DeclaredQuery(0.2, ((1.0, (((0, 2),), None)), (-0.5, (None, ((1, 3),))))),
    DeclaredQuery(0.2, ((1.0, (((1, 3),), None)),), 0, 0.6, 0.4),
    DeclaredQuery(0.1, ((1.0, (None, ((0, 1),))),), 1, 0.0, 1.0),
)


@pytest.mark.parametrize(
    "workload",
    [
        Workload.everyday(domain(4, 3)),
        Workload.everyday(domain(4, 3, measures=2)),
        Workload(
            domain(4, 3, measures=2),
            (QueryClass(0.3, ((0, "prefix"),)), QueryClass(0.2, ((1, "equality"),), 1)),
            QUERIES,
        ),
    ],
    ids=["counts", "measures", "declared"],
)
def test_sign_patterns_give_what_the_whole_matrix_gives(workload):
    found = sign_bound(workload, Epsilon.parse("1.3"))
    noise, mean, trace = dense(workload, 1.3)
    assert found == pytest.approx(noise, rel=1e-9)
    if not workload.domain.bounds:
        assert sample_share(workload) == pytest.approx(trace - mean, rel=1e-9)


def test_measures_count_as_spread_between_their_bounds():
    """As by the whole matrix of 60 numbers per combination of codes, whose mean square is a little
    less, with what infinitely many kinds of records can tell at most."""
    numbers, odds = (np.arange(60) + 0.5) / 30.0 - 1.0, e**1.3
    workload = Workload(
        domain(4, measures=2),
        (
            QueryClass(0.4, ((0, "prefix"),)),
            QueryClass(0.5, ((0, "range"),), 0),
            QueryClass(0.1, ((0, "equality"),), 1),
        ),
    )
    everybody = np.ones((60, 60))
    matrix = 0.4 * np.kron(gram("prefix", 4), everybody)
    matrix += 0.5 * np.kron(gram("range", 4), np.outer(numbers, numbers))
    centre = np.eye(240) - 1.0 / 240
    values = np.linalg.eigvalsh(centre @ matrix @ centre)
    roots = np.sqrt(values[values > 1e-14 * values[-1]]).sum()
    # The other measure has numbers of its own, and no query asks both.
    other = 0.1 * np.kron(gram("equality", 4), np.outer(numbers, numbers))
    roots += np.sqrt(np.linalg.eigvalsh(other)[-4:]).sum()
    whole = roots**2 / ((odds - 1.0) ** 2 / (4.0 * odds)) / 240
    found = spectral_bound(workload, Epsilon.parse("1.3"))
    assert whole <= found <= 1.001 * whole
    assert found < sign_bound(workload, Epsilon.parse("1.3"))


def test_counts_cost_no_more_beside_a_measure_that_nobody_asks():
    counted = Workload(domain(4, measures=1), (QueryClass(1.0, ((0, "range"),)),))
    budget = Epsilon.parse("1.3")
    assert spectral_bound(counted, budget) == sign_bound(counted, budget)


@pytest.mark.parametrize(
    "kinds",
    [
        *(("range",), ("prefix", "range"), ("equality", None, "prefix")),
        *(("present",), ("range", "present"), ("equality", "level")),
    ],
)
def test_the_bound_of_a_single_class_is_that_of_its_gram(kinds):
    """Closed forms and an integral against dense algebra."""
    sizes = (5, 7, 4)[: len(kinds)]
    entry = QueryClass(1.0, tuple((i, kind) for i, kind in enumerate(kinds) if kind))
    for own, measures in ((entry, 0), (replace(entry, measure=0), 1)):
        workload = Workload(domain(*sizes, measures=measures), (own,))
        found = sign_bound(workload, Epsilon.parse("1.3"))
        assert found == pytest.approx(dense(workload, 1.3)[0], rel=1e-9)
        # The negative control: with the constant, which is known, the bound would be higher; levels
        # are about the middle, so it has no part in theirs.
        everything = 1.0 / np.sqrt(most_information(np.prod(sizes), Epsilon.parse("1.3")))
        is_about_middle = measures or "level" in kinds
        assert is_about_middle or found < 0.99 * (everything * roots_with_constant(workload)) ** 2


def roots_with_constant(workload: Workload) -> float:
    matrix = bounds.pattern_gram(workload)[0, :, 0]
    return float(np.sqrt(np.linalg.eigvalsh(matrix).clip(0)).sum()) / np.sqrt(len(matrix))


def test_interlacing_is_just_below_the_exact_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    one, workload = Epsilon.parse("1"), single("range", 60, 60)
    exact = spectral_bound(workload, one)
    monkeypatch.setattr(bounds, "_MOST_ROOTS", 100)
    assert 0.95 * exact < spectral_bound(workload, one) < exact


def test_mixtures_over_large_domains_have_no_bound():
    assert spectral_bound(Workload.everyday(domain(64, 64)), Epsilon.parse("1")) is None


def test_nothing_to_tell_costs_nothing():
    assert spectral_bound(Workload.everyday(domain(1)), Epsilon.parse("1")) == 0.0


@pytest.mark.parametrize("name", ["grr", "oue", "hio"])
@pytest.mark.parametrize("epsilon", ["0.5", "2"])
def test_no_mechanism_is_better(name, epsilon):
    """Over all ranges of one dimension, each asked."""
    workload, budget = single("range", 12), Epsilon.parse(epsilon)
    design = mechanism(name).design(workload.domain, budget, {}, workload)
    ranges = [(a, b) for a in range(12) for b in range(a + 1, 13)]
    queries = [LinearQuery.count(Box((((a, b),),)).normal((12,))) for a, b in ranges]
    variance = design.variance([design.prepare(query) for query in queries], 1).mean()
    assert variance >= spectral_bound(workload, budget)


def test_grr_attains_the_bound_on_single_codes():
    """For large epsilon, where subsets of one code are the best subsets."""
    workload, budget = single("equality", 6), Epsilon.parse("2")
    design = mechanism("grr").design(workload.domain, budget, {}, workload)
    queries = [LinearQuery.count(Box((((a, a + 1),),))) for a in range(6)]
    variance = design.variance([design.prepare(query) for query in queries], 1).mean()
    assert variance == pytest.approx(spectral_bound(workload, budget), rel=1e-9)
