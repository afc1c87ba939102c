"""Smooth answers of marginals: the same people, less error, honest intervals."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

import numpy as np
import pytest

from ldpsql.algebra.boxes import Box, LinearQuery
from ldpsql.algebra.estimate import quantile
from ldpsql.algebra.record_domain import RecordDomain
from ldpsql.errors import UnsupportedSQL
from ldpsql.marginals.decoder import CollectedMarginals
from ldpsql.mechanisms.registry import MECHANISMS
from ldpsql.reports.report import Histogram
from ldpsql_device.epsilon import Epsilon
from ldpsql_lab.simulation import SeededEntropy, histogram_of

PEOPLE, SURVEYS, QUERIES = 20_000, 12, 30
CASES: Mapping[str, tuple[str, tuple[int, ...], Mapping[str, Any]]] = {
    "marginals": ("oue-ms", (6, 5, 4), {"ways": 2}),
    "marginals, hashed": ("solh", (12,), {"ways": 1}),
    "marginals in secret": ("arr-ss", (6, 5, 4), {"ways": 2}),
}


def design_of(name: str, sizes: tuple[int, ...], options: Mapping[str, Any]) -> CollectedMarginals:
    domain = RecordDomain(tuple("xyz"[: len(sizes)]), sizes, (), (), ())
    design = MECHANISMS[name].design(domain, Epsilon.parse("1"), options)
    assert isinstance(design, CollectedMarginals)
    return design


@cache
def made(case: str) -> CollectedMarginals:
    return design_of(*CASES[case])


@cache
def codes_of(case: str) -> np.ndarray:
    """Bumps of people."""
    random = np.random.default_rng(4)
    own = [
        np.clip(random.normal(0.4 * size, 0.2 * size, PEOPLE), 0, size - 1).astype(np.int64)
        for size in CASES[case][1]
    ]
    return np.column_stack(own)


@cache
def histogram(case: str, seed: int = 1) -> Histogram:
    return histogram_of(made(case).randomize(codes_of(case), SeededEntropy(seed)))


@cache
def queries(case: str) -> tuple[tuple[LinearQuery, ...], np.ndarray]:
    """Ranges on the dimensions of a marginal, and what is true of the people."""
    _, sizes, options = CASES[case]
    random, codes = np.random.default_rng(5), codes_of(case)
    asked, truth = [], []
    for number in range(QUERIES):
        sides = [tuple(sorted(random.choice(s + 1, 2, replace=False).tolist())) for s in sizes]
        if options["ways"] < len(sizes):
            sides[number % len(sizes)] = (0, sizes[number % len(sizes)])
        if all(end - low == size for (low, end), size in zip(sides, sizes, strict=True)):
            continue  # everybody, who is known
        pairs = enumerate(sides)
        inside = np.all([(codes[:, i] >= low) & (codes[:, i] < end) for i, (low, end) in pairs], 0)
        asked.append(LinearQuery.count(Box(tuple((side,) for side in sides)).normal(sizes)))
        truth.append(inside.sum())
    return tuple(asked), np.array(truth)


def answers(case: str, estimator: str, seed: int = 1) -> tuple[np.ndarray, np.ndarray]:
    design = made(case)
    rows = [[design.prepare(query)] for query in queries(case)[0]]
    found = design.estimators[estimator](histogram(case, seed)).answer_rows(rows)
    return np.array([each.values[0] for each in found]), np.array([e.stderr[0] for e in found])


@pytest.mark.parametrize("case", CASES)
def test_the_noise_of_frequencies_is_that_of_answers(case: str) -> None:
    """The mean predicted variance of ranges, from both."""
    design, spread = made(case), []
    blocks = design.smooth(histogram(case)).blocks()
    for query in queries(case)[0]:
        ((_, box),) = query.terms
        asked = {axis for axis, side in enumerate(box.sides) if side is not None}
        block = next(each for each in blocks if asked <= set(each.axes))
        noise = PEOPLE / block.information
        noise.flat[0] = 0.0
        weights = np.zeros(block.orders)
        inside = [
            np.arange(*((0, size) if (side := box.sides[axis]) is None else side[0]))
            for axis, size in zip(block.axes, block.sizes, strict=True)
        ]
        weights[np.ix_(*inside)] = 1.0
        own = np.fft.fftn(weights) / weights.size
        spread.append(float((np.abs(own) ** 2 * noise).sum()))
    predicted = design.variance([design.prepare(query) for query in queries(case)[0]], PEOPLE)
    # That the number of people is known takes away what is alike at all codes.
    assert 0.2 < np.mean(spread) / np.mean(predicted) < 1.25


@pytest.mark.fast(1)
@pytest.mark.parametrize("case", CASES)
def test_errors_fall_and_intervals_cover(case: str) -> None:
    """Mean squared errors over some surveys, and how often intervals hold the truth."""
    truth, inside, error, plain_error = queries(case)[1], 0, 0.0, 0.0
    for seed in range(SURVEYS):
        values, stderr = answers(case, "smooth", seed)
        plain, _ = answers(case, "unbiased", seed)
        inside += int((np.abs(values - truth) <= quantile(0.95) * stderr).sum())
        error += float(np.square((values - truth) / stderr).mean())
        plain_error += float(np.square((plain - truth) / stderr).mean())
    assert error < 0.9 * plain_error
    assert inside >= 0.94 * SURVEYS * len(truth)


def test_conjunctions_that_were_not_collected_are_refused() -> None:
    """Smooth marginals tell no more about them than unbiased ones."""
    design = made("marginals")
    box = Box((((0, 3),), ((1, 4),), ((2, 3),)))
    planned = design.prepare(LinearQuery.count(box))
    with pytest.raises(UnsupportedSQL, match="does not collect x and y and z together") as e:
        design.estimators["smooth"](histogram("marginals")).answer_rows([[planned]])
    assert str(e.value.hint).startswith("ask with --estimator maxent, or design it")


@pytest.mark.parametrize("name", ["hio", "hi", "haarhrr", "grr", "staircase", "ft", "ahead"])
def test_what_does_not_count_marginals_cell_by_cell_does_not_offer_it(name: str) -> None:
    domain = RecordDomain(("x",), (2 if name == "ft" else 8,), (), (), ())
    design = MECHANISMS[name].design(domain, Epsilon.parse("1"), {})
    assert "smooth" not in design.estimators


def test_marginals_that_are_too_large_do_not_offer_it() -> None:
    small, large = (design_of("srr-ss", (size, size), {"ways": 2}) for size in (64, 512))
    assert {"smooth", "calm"} <= set(small.estimators)
    assert not {"smooth", "calm"} & set(large.estimators)


@pytest.mark.parametrize("name", ["srr-ss", "solh", "oue-ms", "arr-ss"])
def test_one_code_keeps_everybody(name: str) -> None:
    """A survey of one code has no cells that could differ."""
    design = design_of(name, (1,), {})
    codes = np.zeros((PEOPLE, 1), dtype=np.int64)
    found = histogram_of(design.randomize(codes, SeededEntropy(2)))
    planned = design.prepare(LinearQuery.count(Box.whole(1)))
    answer = design.estimators["smooth"](found).answer([planned])
    assert answer.values[0] == pytest.approx(PEOPLE)
    assert answer.stderr[0] == pytest.approx(0.0, abs=1e-6 * PEOPLE)
