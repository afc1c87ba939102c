"""Rates of attacks are those of the laws, found by enumeration and by playing them."""

from __future__ import annotations

import json
import math
from itertools import combinations, product

import numpy as np
import pytest
from scipy.special import ndtri

from benchmarks.field import many_values, means
from benchmarks.field.attacks import identify, reconstruct, weigh
from benchmarks.field.points import SubsetSelection
from benchmarks.field.questions import (
    Choice,
    Floats,
    LocalHash,
    Question,
    Response,
    Table,
    Unary,
    alone,
    mean_bits,
    questions_of,
)
from benchmarks.peers import ours
from ldpsql_device.law import law

FAR = float(-ndtri(5e-7))
PRIOR = np.array([0.4, 0.05, 0.25, 0.2, 0.1])


def enumerate_sets(response: Response) -> list[tuple[float, Floats]]:
    """By brute force: every report as (its own share, likelihood of every cell)."""
    odds, size = math.exp(response.epsilon), response.size  # type: ignore[attr-defined]
    if isinstance(response, Choice):
        sets = [np.isin(range(size), s) for s in combinations(range(size), response.chosen)]
        rows = [np.where(own, odds, 1.0) for own in sets]
        total = sum(row[0] for row in rows)
        return [(1 / total, row) for row in rows]
    if isinstance(response, Unary):
        found = []
        for bits in product((0, 1), repeat=size):
            law = np.array(
                [
                    math.prod(
                        0.5 if cell == own else (response.other if bit else 1 - response.other)
                        for cell, bit in enumerate(bits)
                    )
                    for own in range(size)
                ]
            )
            found.append((1.0, law))
        return found
    assert isinstance(response, LocalHash)
    functions = list(product(range(response.values), repeat=size))
    unit = 1 / (odds + response.values - 1) / len(functions)
    return [
        (unit, np.where(np.array(thrown) == said, odds, 1.0))
        for thrown in functions
        for said in range(response.values)
    ]


@pytest.mark.parametrize("epsilon", [0.5, 2.0])
@pytest.mark.parametrize(
    "make",
    [
        lambda e: Choice(5, e),
        lambda e: Choice(5, e, 2),
        lambda e: Unary(5, e),
        lambda e: LocalHash(5, e, 3, 1.0),
    ],
)
def test_reconstruction_is_that_of_all_reports(make, epsilon: float) -> None:
    response = make(epsilon)
    for prior in (PRIOR, np.full(5, 0.2), np.array([1.0, 0, 0, 0, 0])):
        by_hand = sum(share * (prior * row).max() for share, row in enumerate_sets(response))
        (found,) = reconstruct(alone(response), [prior])
        assert found == pytest.approx(by_hand)
        assert found >= prior.max() * (1 - 1e-12)


@pytest.mark.parametrize(
    "response", [Choice(5, 1.0), Choice(5, 1.0, 2), Unary(5, 1.0), LocalHash(5, 1.0, 3, 1.0)]
)
def test_a_played_attack_succeeds_as_often(response: Response) -> None:
    random, people = np.random.default_rng(1), 40_000
    values = random.choice(5, people, p=PRIOR)
    scores = weigh(alone(response), values, random)
    right = np.mean((scores + np.log(PRIOR)).argmax(axis=1) == values)
    (rate,) = reconstruct(alone(response), [PRIOR])
    assert abs(right - rate) < FAR * math.sqrt(rate * (1 - rate) / people)


def test_coarse_cells_hide_the_value() -> None:
    """Two cells of two values each: half of what a report tells about the cell."""
    pairs = Question(1.0, np.array([0, 0, 1, 1]), Choice(2, 1.0))
    (rate,) = reconstruct([pairs], [np.full(4, 0.25)])
    assert rate == pytest.approx(math.e / (math.e + 1) / 2)


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("fourier", {}),
        ("haarhrr", {}),
        ("hh", {"inference": "consistent"}),
        ("lgrr-repaired", {}),
        ("grr", {}),
    ],
)
def test_plans_give_away_what_their_law_says(name: str, options: dict[str, object]) -> None:
    """The best guess by the exact law of the plan, all reports of all records listed."""
    plan = ours._survey((8,), "1", name, json.dumps(options)).design.plan
    prior = np.arange(1.0, 9.0) / 36
    best: dict[tuple[int, ...], float] = {}
    for code in range(8):
        for report, share in law(plan, (code,)).items():
            best[report] = max(best.get(report, 0.0), float(share) * prior[code])
    asked = list(questions_of(plan, 1.0))
    assert math.fsum(question.weight for question in asked) == pytest.approx(1.0)
    (rate,) = reconstruct(asked, [prior])
    assert rate == pytest.approx(math.fsum(best.values()), rel=1e-6)
    assert 2.0 ** mean_bits(asked) >= len(best) * (1 - 1e-9)


def test_whoever_is_told_apart_by_exact_reports_is_found() -> None:
    """Without noise a person of unique records is always the first, and one of two every other
    time; without any information everybody is as likely."""
    records = np.array([[0, 0], [0, 1], [1, 0], [1, 0]])
    exact = [alone(Table(np.eye(2)))] * 2
    targets, random = np.array([0, 1, 2]), np.random.default_rng(2)
    scores = [weigh(one, records[targets, a], random) for a, one in enumerate(exact)]
    np.testing.assert_allclose(identify(records, targets, scores, 1), [1.0, 1.0, 0.5])
    nothing = [np.zeros((3, 2))] * 2
    np.testing.assert_allclose(identify(records, targets, nothing, 1), 0.25)
    np.testing.assert_allclose(identify(records, targets, nothing, 4), 1.0)


def test_oracles_of_many_values_have_the_rates_that_stand_beside_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As `points` has them by formula."""
    monkeypatch.setattr(many_values, "VALUES", 64)
    level = np.full(64, 1 / 64)
    for name in ("subset selection", "MSS"):
        questions, _ = many_values.law(name, 1.0)
        (rate,) = reconstruct(questions, [level])
        sets = SubsetSelection(64, 1.0)
        oracle = many_values.ModularSubsetSelection.spread(64, 1.0) if name == "MSS" else sets
        assert rate == pytest.approx(oracle.reconstruction)
    for name in ("GRR", "OLH", "HR", "PGR"):
        questions, found = many_values.law(name, 1.0)
        (question,) = questions
        assert isinstance(found, np.ndarray)
        if isinstance(question.response, Table):
            matrix = question.response.matrix
            np.testing.assert_allclose(matrix.sum(axis=0), 1.0)
            assert (matrix.max(axis=1) / matrix.min(axis=1)).max() == pytest.approx(math.e)
            likely = matrix > np.median(np.unique(matrix))
            np.testing.assert_allclose((matrix * likely).sum(axis=0), found[0])


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 2.0])
def test_laws_of_numbers_are_those_of_the_errors(epsilon: float) -> None:
    """Columns sum to 1, odds are e^epsilon, and the piecewise mechanism is unbiased with its
    variance."""
    values = means.middles()
    for make in (means.duchi_law, means.piecewise_law, means.hybrid_law, means.optimal_law):
        matrix = make(values, epsilon)
        np.testing.assert_allclose(matrix.sum(axis=0), 1.0)
        # Reports of a part that is never drawn have no odds.
        drawn = matrix[matrix.sum(axis=1) > 0.0]
        assert (drawn.max(axis=1) / drawn.min(axis=1)).max() <= math.exp(epsilon) * (1 + 1e-9)
    half = math.exp(epsilon / 2)
    reach = (half + 1) / (half - 1)
    ends = np.linspace(-reach, reach, means._REPORTS + 1)
    centres = (ends[1:] + ends[:-1]) / 2
    matrix = means.piecewise_law(values, epsilon)
    np.testing.assert_allclose(centres @ matrix, values, atol=1e-3)
    variance = values**2 / (half - 1) + (half + 3) / (3 * (half - 1) ** 2)
    np.testing.assert_allclose(centres**2 @ matrix - (centres @ matrix) ** 2, variance, rtol=1e-3)
