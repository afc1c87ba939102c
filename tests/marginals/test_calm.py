"""CALM: few marginals that cover all sets of attributes, chosen by their error, made consistent."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations

import numpy as np
import pyarrow as pa
import pytest
from support.marginals import domain_of
from support.surveys import boolean, survey_toml

from ldpsql.algebra.boxes import Box, LinearQuery
from ldpsql.designer import design
from ldpsql.marginals.decoder import CollectedMarginals
from ldpsql.marginals.recipes import cover_sets
from ldpsql.mechanisms.registry import mechanism
from ldpsql.survey import Survey
from ldpsql_device.epsilon import Epsilon
from ldpsql_device.errors import SurveyError
from ldpsql_device.shuffled import Central
from ldpsql_lab.simulation import SeededEntropy, histogram_of, simulate

PEOPLE = 4_000


def made(name: str, epsilon: str, sizes: tuple[int, ...], **options: object) -> CollectedMarginals:
    found = mechanism(name).design(domain_of(*sizes), Epsilon.parse(epsilon), options)
    assert isinstance(found, CollectedMarginals)
    return found


@pytest.mark.parametrize(
    ("attributes", "ways", "cover", "most"),
    [(4, 2, 2, 6), (8, 3, 2, 11), (8, 4, 2, 6), (15, 3, 2, 35), (9, 9, 2, 1), (6, 4, 3, 6)],
)
def test_sets_cover_all_and_are_few(attributes: int, ways: int, cover: int, most: int) -> None:
    """As few as the best covering designs that are known have."""
    found = cover_sets(tuple(range(attributes)), ways, cover)
    assert {len(axes) for axes in found} == {ways}
    held = {part for axes in found for part in combinations(axes, cover)}
    assert held == set(combinations(range(attributes), cover))
    assert len(found) <= most


def test_the_number_of_attributes_is_chosen_by_the_error() -> None:
    """Wider marginals for a larger epsilon, and for an oracle whose noise grows less with cells."""
    for name in ("srr-ss", "oue-ms"):
        widths = [
            len(made(name, epsilon, (2,) * 8, ways=0, cover=2).marginals[0])
            for epsilon in ("0.5", "2", "4")
        ]
        assert widths == sorted(widths)
        assert widths[0] < widths[-1]
    small = [made(name, "0.5", (2,) * 8, ways=0, cover=2) for name in ("srr-ss", "oue-ms")]
    assert len(small[0].marginals[0]) < len(small[1].marginals[0])


@pytest.mark.parametrize("name", ["srr-ss", "psrr-ss", "solh", "srr-ms", "oue-ms", "arr-ss"])
def test_the_chosen_marginals_have_the_least_error(name: str) -> None:
    """Of all widths that are tried, by the variance of counts that cover two attributes."""
    sizes = (3, 2, 4, 2, 3)
    pairs = [
        LinearQuery.count(Box(tuple(((0, 1),) if a in axes else None for a in range(5))))
        for axes in combinations(range(5), 2)
    ]

    def error(**options: int) -> float:
        return made(name, "2", sizes, **options).expected_variances([pairs], 1)[0]

    best = error(ways=0, cover=2)
    assert best == pytest.approx(min(error(ways=w, cover=2) for w in (2, 3, 4, 5)))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"ways": 1, "cover": 2}, "ways must lie between cover, 2"),
        ({"ways": 9, "cover": 2}, "or be 0 for the best"),
        ({"ways": 0, "cover": 5}, "cover must lie between 1 and 3"),
        ({"ways": 0, "cover": -1}, "cover must lie between"),
    ],
)
def test_what_cannot_be_covered_is_refused(options: dict[str, int], message: str) -> None:
    with pytest.raises(SurveyError, match=message):
        made("srr-ss", "1", (2, 2, 2), **options)


def test_it_is_published_and_read_again() -> None:
    """The marginals are part of the survey."""
    text = survey_toml(*map(boolean, "abcde"), mechanism="srr-ss", options={"ways": 3, "cover": 2})
    survey = design(text)
    assert Survey.from_json(survey.to_json()).design == survey.design
    assert len(survey.design.marginals) < 10


def simulated(runs: int, estimator: str) -> tuple[np.ndarray, np.ndarray]:
    """Estimates of all cells of all triples of five attributes, shape (runs, cells), and the truth;
    pairs depend on each other through one hidden number."""
    survey = made("srr-ss", "2", (2,) * 5, ways=2, cover=2)
    random = np.random.default_rng(3)
    hidden = random.normal(size=(PEOPLE, 1))
    codes = (random.normal(size=(PEOPLE, 5)) + 1.5 * hidden > 0.8).astype(np.int64)
    boxes, truth = [], []
    for axes in combinations(range(5), 3):
        for cell in np.ndindex(2, 2, 2):
            sides: list[tuple[tuple[int, int], ...] | None] = [None] * 5
            for axis, code in zip(axes, cell, strict=True):
                sides[axis] = ((code, code + 1),)
            boxes.append(survey.prepare(LinearQuery.count(Box(tuple(sides)))))
            truth.append((codes[:, axes] == cell).all(axis=1).sum())
    found = [
        survey.estimators[estimator](histogram_of(survey.randomize(codes, SeededEntropy(seed))))
        .answer(boxes)
        .values
        for seed in range(runs)
    ]
    return np.array(found), np.array(truth)


@pytest.mark.slow
def test_consistent_marginals_are_non_negative_and_closer() -> None:
    """Than what maximum entropy makes of the marginals as they were estimated."""
    calm, truth = simulated(12, "calm")
    plain, _ = simulated(12, "maxent")
    assert calm.min() >= 0.0
    errors = [((found - truth) ** 2).mean(axis=1) for found in (calm, plain)]
    difference = errors[1] - errors[0]
    assert difference.mean() > 5.0 * difference.std(ddof=1) / np.sqrt(len(difference))


def test_fitted_cells_add_up_to_consistent_pairs() -> None:
    """COUNT over a and b is that over a, b, c and a, b, not c; of raw marginals it is not."""
    text = survey_toml(*map(boolean, "abc"), mechanism="srr-ss", options={"ways": 2, "cover": 2})
    rows = np.random.default_rng(3).random((PEOPLE, 3)) < (0.1, 0.2, 0.3)
    table = pa.table(dict(zip("abc", rows.T, strict=True)))
    sql = "SELECT COUNT(*) FILTER (WHERE a AND b), COUNT(*) FILTER (WHERE a AND b AND c), "
    sql += "COUNT(*) FILTER (WHERE a AND b AND NOT c) FROM app"
    gaps = {}
    for estimator in ("calm", "maxent"):
        with simulate(design(text), table, seed=2, estimator=estimator) as connection:
            both, with_c, without_c = connection.execute(sql).fetchone()
            gaps[estimator] = abs(both - with_c - without_c)
            if estimator == "calm":
                result = connection.execute(sql).result
                assert not result.intervals
                assert any("estimator calm is biased" in note for note in result.notes)
    assert gaps["calm"] < 0.5
    assert gaps["maxent"] > 5.0


def test_shuffled_marginals_are_chosen_at_the_budget_that_shuffling_allows() -> None:
    """A central epsilon of 0.2 allows a local one of more than 4, for which wide ones are best."""
    central = Central(Epsilon.parse("0.2"), Fraction(1, 50_000), 50_000)
    found = mechanism("srr-ss").design(domain_of(*(2,) * 8), central, {"ways": 0, "cover": 2})
    assert isinstance(found, CollectedMarginals)
    assert float(found.epsilon) > 3.0
    assert len(found.marginals[0]) > 2
    local = made("srr-ss", "0.2", (2,) * 8, ways=0, cover=2)
    assert len(local.marginals[0]) == 2
