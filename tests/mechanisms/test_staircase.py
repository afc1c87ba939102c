"""The staircase design: optimality conditions, the specification's figures, what is refused."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from support.fourier_designs import domain_of

from ldpsql.algebra.boxes import Box, LinearQuery
from ldpsql.algebra.workload import DeclaredQuery, QueryClass, Workload, gram
from ldpsql.mechanisms.registry import mechanism
from ldpsql.mechanisms.staircase.bound_of_totals import least_variance
from ldpsql.mechanisms.staircase.optimise import (
    MOST_PATTERNS,
    Program,
    cell_gram,
    optimise,
    raise_eigenvalues,
)
from ldpsql.mechanisms.staircase.recipe import FAST_CELLS, MOST_CELLS
from ldpsql_device.epsilon import Epsilon
from ldpsql_device.errors import SurveyError

E = math.e


def all_patterns(cells: int) -> np.ndarray:
    """Every pattern but none and all, shape (2^n - 2, n)."""
    numbers = np.arange(1, 2**cells - 1)
    return (numbers[:, None] >> np.arange(cells) & 1).astype(bool)


def whole_program(kind: str, cells: int, odds: float) -> Program:
    """Every pattern there is, weighed as well as can be."""
    patterns = all_patterns(cells)
    even = np.full(len(patterns), 2.0 / ((odds + 1.0) * len(patterns)))
    return Program(gram(kind, cells), odds, patterns, even, np.ones(cells)).improve(400, 1e-12)


def dual_bound(program: Program) -> float:
    """A lower bound on tr(X^-1 G) over every channel: 2 F - rho 1'lambda, over all patterns."""
    prices = program.prices(0.5)
    levels = 1.0 + (program.odds - 1.0) * all_patterns(len(program.gram))
    gains = np.einsum("si,si->s", levels @ program.slopes, levels) / levels.sum(axis=1)
    sums = levels @ prices
    assert sums.min() > 0.0
    return float(2.0 * program.objective - (gains / sums).max() * prices.sum())


@pytest.mark.parametrize(("kind", "odds"), [("range", E), ("prefix", E**0.5), ("prefix", E**2)])
def test_no_channel_is_much_better_on_a_small_domain(kind, odds):
    """By duality over all 254 patterns of eight cells, which the design never lists."""
    found = optimise(gram(kind, 8), odds)
    least = dual_bound(whole_program(kind, 8, odds))
    assert least <= found.objective <= 1.01 * least


def test_the_multiplier_is_the_objective_and_keeps_the_constraint():
    program = whole_program("range", 6, E)
    assert program.prices(0.5).sum() == pytest.approx(program.objective, rel=1e-3)
    for power in (0.5, 0.9):
        prices = program.prices(power)
        weights = program.weights * (program.gains / (program.levels @ prices)) ** power
        assert weights @ program.levels == pytest.approx(1.0, abs=1e-9)


@pytest.mark.fast(1)
@pytest.mark.parametrize(
    ("kind", "cells", "expected"),
    [
        ("prefix", 16, (20.49, 4.682, 0.8676)),
        ("range", 16, (27.9, 6.439, 1.167)),
        ("equality", 16, (13.72, 3.187, 0.5783)),
        ("prefix", 32, (29.62, 6.825, 1.268)),
        ("range", 32, (41.96, 9.735, 1.791)),
    ],
)
def test_figures_of_the_specification(kind, cells, expected):
    """Within a hundredth; those of the specification took ten times as long."""
    for epsilon, figure in zip((0.5, 1.0, 2.0), expected, strict=True):
        found = optimise(gram(kind, cells), math.exp(epsilon))
        assert found.variance == pytest.approx(figure, rel=0.01)
        assert len(found.weights) <= MOST_PATTERNS


def single(kind: str, cells: int) -> Workload:
    return Workload(domain_of((cells,)), (QueryClass(1.0, ((0, kind),)),))


@pytest.mark.fast(2)
@pytest.mark.parametrize("kind", ["range", "prefix"])
@pytest.mark.parametrize("epsilon", ["0.5", "1", "2"])
def test_the_design_is_near_the_bound_and_never_below(kind, epsilon):
    """Its predicted variances, over every query of the workload, are what it certifies."""
    workload, budget = single(kind, 16), Epsilon.parse(epsilon)
    design = mechanism("staircase").design(workload.domain, budget, {}, workload)
    spans = [(a, b) for a in range(16) for b in range(a + 1, 17) if kind == "range" or not a]
    queries = [LinearQuery.count(Box((((a, b),),)).normal((16,))) for a, b in spans]
    mean = design.variance([design.prepare(query) for query in queries], 1).mean()
    assert mean == pytest.approx(design.mean_variance, rel=1e-9)
    bound = least_variance(workload, budget)
    assert bound <= mean == pytest.approx(design.over_bound * bound)
    assert design.over_bound < (1.17 if epsilon == "2" else 1.05)
    assert f"{design.over_bound:.3f} of the least" in design.remarks[0]


def test_from_epsilon_3_on_there_is_no_certificate():
    design = mechanism("staircase").design(domain_of((5,)), Epsilon.parse("3"), {})
    assert design.remarks == ()


def test_the_gram_counts_signs_of_measures():
    """Against every query written out."""
    domain = domain_of((2, 3), ((0.0, 1.0), (0.0, 2.0)))
    query = DeclaredQuery(0.4, ((1.0, (((0, 1),), None)), (0.5, (None, ((1, 3),)))), 1, 0.3, 0.7)
    workload = Workload(domain, (QueryClass(0.6, ((1, "equality"),), 0),), (query,))
    expected = np.zeros((24, 24))
    shape = (2, 3, 2, 2)
    for code in range(3):
        vector = np.zeros(shape)
        vector[:, code, 0], vector[:, code, 1] = -1.0, 1.0
        expected += 0.6 / 3 * np.outer(vector, vector)
    vector = np.zeros(shape)
    for x, y, _, sign in np.ndindex(shape):
        share = (x == 0) + 0.5 * (y >= 1)
        vector[x, y, :, sign] = share * (0.3 + 0.7 * (2 * sign - 1))
    expected += 0.4 * np.outer(vector, vector)
    assert cell_gram(workload) == pytest.approx(expected)


def test_what_is_not_asked_about_is_answered_all_the_same():
    """A workload of one query leaves all other directions free."""
    domain = domain_of((6,))
    workload = Workload(domain, (), (DeclaredQuery(1.0, ((1.0, (((0, 2),),)),)),))
    design = mechanism("staircase").design(domain, Epsilon.parse("1"), {}, workload)
    asked = LinearQuery.count(Box((((0, 2),),)))
    other = LinearQuery.count(Box((((4, 5),),)))
    near, far = design.variance([design.prepare(query) for query in (asked, other)], 1)
    even = mechanism("grr").design(domain, Epsilon.parse("1"), {})
    assert near < even.variance([even.prepare(asked)], 1)[0] / 2
    assert near < far < 1000.0
    assert np.linalg.eigvalsh(raise_eigenvalues(cell_gram(workload)))[0] > 0.0


def test_a_domain_of_too_many_cells_is_refused():
    with pytest.raises(SurveyError, match=f"at most {MOST_CELLS} combinations"):
        mechanism("staircase").design(domain_of((300,)), Epsilon.parse("1"), {})
    maker = mechanism("staircase")
    assert maker.reserved(Workload.everyday(domain_of((FAST_CELLS,)))) is None
    assert "ask for it by name" in maker.reserved(Workload.everyday(domain_of((MOST_CELLS,))))
    with pytest.raises(SurveyError, match="no option"):
        maker.design(domain_of((3,)), Epsilon.parse("1"), {"fanout": 2})


BREAKAGES = {
    "a weight less": lambda d: d | {"weights": d["weights"][:-1]},
    "a weight too large": lambda d: d | {"weights": [d["weights"][0] * 2, *d["weights"][1:]]},
    "weights too small": lambda d: d | {"weights": [w // 4 for w in d["weights"]]},
    "a float": lambda d: d | {"weights": [float(d["weights"][0]), *d["weights"][1:]]},
    "a long pattern": lambda d: d | {"patterns": ["ff00", *d["patterns"][1:]]},
    "a cell beyond": lambda d: d | {"patterns": ["ff", *d["patterns"][1:]]},
    "blind": lambda d: d | {"patterns": ["00"] * 2, "weights": [2**62] * 2},
}


@pytest.mark.parametrize("breakage", BREAKAGES)
def test_a_design_that_was_changed_is_refused(breakage):
    design = mechanism("staircase").design(domain_of((5,)), Epsilon.parse("1"), {})
    data = json.loads(json.dumps(design.to_json()))
    assert mechanism("staircase").restore(design.domain, design.epsilon, data) == design
    with pytest.raises(SurveyError):
        mechanism("staircase").restore(design.domain, design.epsilon, BREAKAGES[breakage](data))
