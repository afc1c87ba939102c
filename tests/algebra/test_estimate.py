"""Estimates and their linear maps, normal quantiles, and Fieller's interval of a ratio."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from support import tiers
from support.significance import coverage_fits, variance_fits

from ldpsql.algebra.estimate import BARELY_ESTIMABLE, Estimates, Ratio, quantile

RUNS = tiers.runs(40_000)
TWO_SIGMA = math.erf(math.sqrt(2.0))
"""The level at which `quantile` is 2, so that intervals can be worked out by hand."""


def estimates() -> Estimates:
    """Two correlated estimates."""
    return Estimates(np.array([3.0, 5.0]), np.array([[4.0, 1.0], [1.0, 9.0]]))


# -- Estimates -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("values", "covariance"),
    [
        (np.zeros(2), np.zeros((3, 3))),
        (np.zeros(2), np.zeros((2, 3))),
        (np.zeros(2), np.zeros(2)),
        (np.zeros((2, 2)), np.zeros((2, 2))),
        (np.zeros((2, 1)), np.zeros((2, 2))),
    ],
)
def test_shapes_that_do_not_fit_are_refused_at_birth(
    values: np.ndarray, covariance: np.ndarray
) -> None:
    """k values need a k x k covariance."""
    with pytest.raises(ValueError, match="do not fit"):
        Estimates(values, covariance)


def test_sums_over_disjoint_people_add_values_and_covariances() -> None:
    """Independent, so the covariances add."""
    total = estimates() + Estimates(np.array([1.0, -2.0]), np.array([[1.0, 0.5], [0.5, 2.0]]))
    assert total.values.tolist() == [4.0, 3.0]
    assert total.covariance.tolist() == [[5.0, 1.5], [1.5, 11.0]]


def test_a_linear_map_carries_the_covariance() -> None:
    """Difference, sum and a multiple of the first, by hand."""
    mapped = estimates().map(np.array([[1.0, -1.0], [1.0, 1.0], [2.0, 0.0]]))
    assert mapped.values.tolist() == [-2.0, 8.0, 6.0]
    assert mapped.covariance.tolist() == [[11.0, -5.0, 6.0], [-5.0, 15.0, 10.0], [6.0, 10.0, 16.0]]
    assert len(mapped) == 3


def test_replicates_are_carried_along_where_both_have_them() -> None:
    """By sums and by linear maps; a sum with unbiased estimates has none."""
    first = replace(estimates(), replicates=np.array([[3.0, 6.0], [2.0, 4.0], [1.0, 5.0]]))
    second = replace(estimates(), replicates=np.ones((3, 2)))
    total = first + second
    assert total.replicates is not None
    assert total.replicates.tolist() == [[4.0, 7.0], [3.0, 5.0], [2.0, 6.0]]
    mapped = first.map(np.array([[1.0, -1.0]]))
    assert mapped.replicates is not None
    assert mapped.replicates.tolist() == [[-3.0], [-2.0], [-4.0]]
    assert (first + estimates()).replicates is None
    assert estimates().map(np.eye(2)).replicates is None


@pytest.mark.parametrize("shape", [(3,), (3, 1), (3, 2, 1)])
def test_replicates_that_do_not_fit_are_refused_at_birth(shape: tuple[int, ...]) -> None:
    """One column per value."""
    with pytest.raises(ValueError, match="do not fit"):
        replace(estimates(), replicates=np.zeros(shape))


def test_exact_numbers_have_no_error() -> None:
    """Known values; none at all is allowed too."""
    known = Estimates.exact([1, 2.5])
    assert known.values.tolist() == [1.0, 2.5]
    assert known.covariance.tolist() == [[0.0, 0.0], [0.0, 0.0]]
    assert len(Estimates.exact([])) == 0


def test_standard_errors_are_roots_of_the_diagonal() -> None:
    """Rounding below zero counts as zero, an unknown value has an infinite error."""
    assert estimates().stderr.tolist() == [2.0, 3.0]
    odd = Estimates(np.array([0.0, np.nan]), np.array([[-1e-18, 0.0], [0.0, np.inf]]))
    assert odd.stderr.tolist() == [0.0, np.inf]


# -- quantile ------------------------------------------------------------------------------------


def test_quantiles_are_those_of_the_normal_law() -> None:
    """Against a table, and against the error function."""
    assert quantile(0.95) == pytest.approx(1.959963984540054)
    assert quantile(0.99) == pytest.approx(2.5758293035489)
    for z in (0.1, 1.0, 2.0, 4.0):
        assert quantile(math.erf(z / math.sqrt(2.0))) == pytest.approx(z)


@pytest.mark.parametrize("level", [0.0, 1.0, -0.5, 95.0, math.nan])
def test_a_level_outside_zero_and_one_is_refused(level: float) -> None:
    """95 instead of 0.95 is a mistake, not an interval."""
    with pytest.raises(ValueError, match="between 0 and 1"):
        quantile(level)


# -- Ratio: by hand ------------------------------------------------------------------------------

BY_HAND = Ratio(6.0, 4.0, 1.0, 1.0, 0.5)
"""At z = 2: a = 16 - 4 = 12, b = 24 - 2 = 22, c = 36 - 4 = 32, root = sqrt(484 - 384) = 10, which
is raised by sqrt(1 + 0.07 / 4^2) because the denominator is twice what is needed to be told."""
ROOT = 10.0 * math.sqrt(1.0 + 0.07 / 16.0)


def test_a_ratio_worked_out_by_hand() -> None:
    """Value 6/4; ends (22 -+ root) / 12; variance (1 - 2 * 1.5 * 0.5 + 1.5^2) / 4^2 = 1.75 / 16."""
    assert BY_HAND.value == 1.5
    assert BY_HAND.stderr == pytest.approx(math.sqrt(1.75) / 4.0)
    ends = (22.0 - ROOT) / 12.0, (22.0 + ROOT) / 12.0
    assert BY_HAND.interval(TWO_SIGMA) == pytest.approx(ends)


def test_signs_of_numerator_and_denominator_mirror_the_interval() -> None:
    """(-x) / y, x / (-y) and (-x) / (-y) say what x / y says."""
    flipped = replace(BY_HAND, denominator=-4.0, covariance=-0.5)
    ends = (-22.0 - ROOT) / 12.0, (-22.0 + ROOT) / 12.0
    assert flipped.interval(TWO_SIGMA) == pytest.approx(ends)
    assert flipped.stderr == pytest.approx(BY_HAND.stderr)
    assert replace(flipped, numerator=-6.0, covariance=0.5).interval(TWO_SIGMA) == pytest.approx(
        BY_HAND.interval(TWO_SIGMA)
    )


def test_a_known_denominator_gives_the_normal_interval() -> None:
    """6 +- 2 * 1, divided by 4."""
    known = Ratio(6.0, 4.0, 1.0, 0.0, 0.0)
    assert known.interval(TWO_SIGMA) == pytest.approx((1.0, 2.0))
    assert known.stderr == 0.25


def test_known_numbers_give_a_point() -> None:
    """No error at all."""
    assert Ratio(6.0, 4.0, 0.0, 0.0, 0.0).interval(0.95) == pytest.approx((1.5, 1.5))
    assert Ratio(6.0, 4.0, 0.0, 0.0, 0.0).stderr == 0.0


# -- Ratio: denominators that cannot be told from zero -------------------------------------------


def is_untold(ends: tuple[float, float]) -> bool:
    """Whether both ends are NaN; a single one never is."""
    assert math.isnan(ends[0]) == math.isnan(ends[1])
    return math.isnan(ends[0])


def test_a_denominator_within_its_error_of_zero_has_no_interval() -> None:
    """Two standard errors away is not told at z = 2, a hair more is."""
    assert is_untold(Ratio(6.0, 2.0, 1.0, 1.0, 0.0).interval(TWO_SIGMA))
    assert is_untold(Ratio(6.0, -2.0, 1.0, 1.0, 0.0).interval(TWO_SIGMA))
    low, high = Ratio(6.0, 2.001, 1.0, 1.0, 0.0).interval(TWO_SIGMA)
    assert low < 3.0 < high
    assert not is_untold(Ratio(6.0, 2.0, 1.0, 1.0, 0.0).interval(0.9))


def test_what_is_zero_or_unknown_has_no_value() -> None:
    """0 / 0, x / 0, and a sum that no report could tell."""
    for top, bottom in ((0.0, 0.0), (6.0, 0.0), (6.0, math.nan)):
        ratio = Ratio(top, bottom, 1.0, math.inf if math.isnan(bottom) else 1.0, 0.0)
        assert math.isnan(ratio.value)
        assert math.isnan(ratio.stderr)
        assert is_untold(ratio.interval(0.95))
    unknown = Ratio(math.nan, 4.0, math.inf, 1.0, 0.0)
    assert math.isnan(unknown.value)
    assert is_untold(unknown.interval(0.95))


@pytest.mark.fast(1)
@pytest.mark.parametrize("standard_errors", [0.0, 1.0, 3.0])
def test_as_many_denominators_are_told_as_the_normal_law_says(standard_errors: float) -> None:
    """A true denominator of 0 is told in 5 % of the cases: those the level allows for."""
    pairs = draws(6.0, standard_errors, 1.0, 1.0, 0.5)
    told = sum(not is_untold(Ratio(x, y, 1.0, 1.0, 0.5).interval(0.95)) for x, y in pairs)
    z = quantile(0.95)
    share = sum(0.5 * math.erfc((z + sign * standard_errors) / math.sqrt(2)) for sign in (-1, 1))
    assert coverage_fits(told, RUNS, share)


# -- Ratio: coverage -----------------------------------------------------------------------------


def draws(
    top: float, bottom: float, var_top: float, var_bottom: float, covariance: float, seed: int = 5
) -> list[tuple[float, float]]:
    """RUNS correlated normal pairs."""
    matrix = np.array([[var_top, covariance], [covariance, var_bottom]])
    pairs = np.random.default_rng(seed).multivariate_normal([top, bottom], matrix, RUNS)
    return [(float(x), float(y)) for x, y in pairs]


# True numerator and denominator, their variances and covariance. The denominators lie 10, 5 and
# 5 standard errors from zero, so all but one in 800 are told.
RAISED = 0.01
"""What may be added at a level of 0.95 where the denominator is five standard errors from zero."""
LAWS = {
    "strong, positive": (30.0, 20.0, 9.0, 4.0, 4.0),
    "weak, positive": (30.0, 10.0, 9.0, 4.0, 4.0),
    "weak, negative": (-30.0, 10.0, 9.0, 4.0, 4.0),
    "weak, negative covariance": (30.0, 10.0, 9.0, 4.0, -4.0),
}


def covers(law: tuple[float, ...], level: float, scale: float = 1.0) -> bool:
    """Whether the told intervals contain the true ratio as often as they say, not less and, for
    the denominators of LAWS, at most RAISED more; nearly all must be told.

    scale: what the covariance is multiplied with before intervals are told.
    """
    top, bottom, *errors = law
    told_errors = (*errors[:2], scale * errors[2])
    truth, told, inside = top / bottom, 0, 0
    for x, y in draws(top, bottom, *errors):
        low, high = Ratio(x, y, *told_errors).interval(level)
        if not math.isnan(low):
            told += 1
            inside += low <= truth <= high
    assert told > 0.995 * RUNS
    return coverage_fits(inside, told, level) or level < inside / told <= level + RAISED


@pytest.mark.fast(2)
@pytest.mark.parametrize("level", [0.5, 0.8, 0.95])
@pytest.mark.parametrize("law", LAWS.values(), ids=LAWS)
def test_intervals_cover_as_often_as_they_say(law: tuple[float, ...], level: float) -> None:
    """Two-sided: too wide is as wrong as too narrow."""
    assert covers(law, level)


class Fieller(Ratio):
    """The interval as published."""

    def interval(self, level: float) -> tuple[float, float]:
        """Without what is added for being told."""
        low, high = super().interval(level)
        barely = quantile(level) ** 2 * self.variance_denominator / self.denominator**2
        middle, half = (low + high) / 2.0, (high - low) / 2.0
        half /= math.sqrt(1.0 + BARELY_ESTIMABLE * barely**2)
        return middle - half, middle + half


def told_share(kind: type[Ratio], truth: float) -> tuple[int, int]:
    """(how many told intervals hold the truth, how many are told) where the denominator is half a
    standard error from zero, and a quarter of its error is in the numerator less truth x it."""
    random = np.random.default_rng(12)
    own, other = random.standard_normal((2, tiers.runs(300_000)))
    bottoms = 0.5 + own
    tops = truth * bottoms + 0.25 * own + math.sqrt(1.0 - 0.25**2) * other
    inside = told = 0
    for top, bottom in zip(tops, bottoms, strict=True):
        if abs(bottom) > quantile(0.95):
            ratio = kind(top, bottom, truth**2 + 1.0 + 0.5 * truth, 1.0, truth + 0.25)
            low, high = ratio.interval(0.95)
            inside, told = inside + (low <= truth <= high), told + 1
    return inside, told


@pytest.mark.fast(1)
@pytest.mark.parametrize("truth", [0.0, 0.3])
def test_intervals_that_are_told_cover_where_few_are(truth: float) -> None:
    """Fieller's own cover 92.7 %: being told takes an unusual error, of both numbers."""
    inside, told = told_share(Ratio, truth)
    assert 1 / 15 < told / tiers.runs(300_000) < 1 / 10
    assert coverage_fits(inside, told)
    assert not coverage_fits(*told_share(Fieller, truth))


@pytest.mark.parametrize("level", [0.5, 0.8, 0.95, 0.99])
def test_what_is_added_is_the_same_part_at_every_level(level: float) -> None:
    """At most 3.5 % of the width, however little a low level needs to be told."""
    bottom = 1.001 * quantile(level)
    raised, plain = (kind(1.0, bottom, 1.0, 1.0, 0.2).interval(level) for kind in (Ratio, Fieller))
    assert 1.03 < (raised[1] - raised[0]) / (plain[1] - plain[0]) < 1.035


@pytest.mark.fast(1)
@pytest.mark.parametrize("scale", [-1.0, 0.0])
@pytest.mark.parametrize("law", LAWS.values(), ids=LAWS)
def test_a_wrong_covariance_is_caught(scale: float, law: tuple[float, ...]) -> None:
    """The negative controls of the test above, on the same draws."""
    assert not covers(law, 0.95, scale)


def test_the_standard_error_is_the_spread_of_the_ratio() -> None:
    """The delta method, where it holds: a denominator 100 standard errors from zero."""
    law = (300.0, 100.0, 9.0, 1.0, 2.0)
    ratios = np.array([x / y for x, y in draws(*law)])
    stderr = Ratio(*law).stderr
    assert variance_fits(ratios, stderr**2)
    assert not variance_fits(ratios, Ratio(*law[:4], -2.0).stderr ** 2)
