import itertools
import math
from dataclasses import replace
from decimal import Context, Decimal, localcontext

import numpy as np
import pytest

from ldpsql.shuffle import expectation
from ldpsql.shuffle.expectation import FEW_TERMS, Jumps, Series, positive_part, series


def exactly(jumps: Jumps) -> float:
    """By counting how often each value comes."""
    places = range(jumps.count + 1)
    total = []
    for counts in itertools.product(places, repeat=len(jumps.values)):
        none = jumps.count - sum(counts)
        if none < 0:
            continue
        ways = math.factorial(jumps.count) // math.prod(map(math.factorial, (*counts, none)))
        chance = math.prod(p**c for p, c in zip(jumps.chances, counts, strict=True))
        value = math.fsum(v * c for v, c in zip(jumps.values, counts, strict=True))
        total.append(max(value, 0.0) * ways * chance * jumps.absent**none)
    return math.fsum(total)


CASES = [
    Jumps(np.array([3.0, -4.0]), np.array([0.1, 0.1]), 0.8, 30),
    Jumps(np.array([3.0, -4.0, -0.2]), np.array([0.1, 0.1, 0.5]), 0.3, 20),
    Jumps(np.array([1.0, -1.0]), np.array([0.25, 0.25]), 0.5, 40),
    Jumps(np.array([1.0, -1.0]), np.array([0.5, 0.5]), 0.0, 9),
    Jumps(np.array([50.0, -900.0, -0.5]), np.array([1e-4, 1e-4, 0.3]), 0.6998, 25),
    Jumps(np.array([0.1, -0.29]), np.array([0.1, 0.9]), 0.0, 60),
    Jumps(np.array([2.0, 1.0]), np.array([0.1, 0.2]), 0.7, 8),
]


@pytest.mark.parametrize("jumps", CASES)
def test_an_upper_bound_and_a_close_one(jumps):
    exact = exactly(jumps)
    found = positive_part(jumps)
    assert exact * (1 - 1e-12) <= found <= exact * (1 + 2e-3)


@pytest.mark.parametrize("jumps", CASES)
def test_few_terms_give_a_bound_that_is_hardly_larger(jumps):
    few, many = positive_part(jumps, FEW_TERMS), positive_part(jumps)
    assert many * (1 - 1e-9) <= few <= many * (1 + 2e-2)


def test_the_noise_is_what_makes_it_an_upper_bound():
    """Without noise the series is cut off where it still says something, and what is left out can
    be on either side: it falls below the truth, and the allowance says that nothing is known."""
    jumps = CASES[3]
    noise = 0.01 * math.sqrt(jumps.count)
    window, exact = 1.01 * jumps.count, exactly(jumps)
    smooth, bare = (series(jumps, 0.0, window, size, 1 << 9) for size in (40 * noise, 0.0))
    assert smooth.left_out < 1e-3 * exact
    assert smooth.value + smooth.left_out + smooth.rounding >= exact
    assert bare.value < exact * (1 - 1e-9)
    assert math.isinf(bare.left_out)


def test_the_allowance_for_rounding_is_small_but_there():
    for people in (10**3, 10**6, 10**9):
        step = 1 / math.sqrt(people)
        jumps = Jumps(np.array([step, -step]), np.array([0.25, 0.25]), 0.5, people)
        window = 10.0
        found = series(jumps, 0.0, window, 0.001)
        assert 0 < found.rounding < 1e-6 * found.value
        # The central limit: standard deviation 1 / sqrt(2).
        assert found.value == pytest.approx(1 / math.sqrt(4 * math.pi), rel=1e-2)


def test_large_numbers_agree_with_the_normal_law():
    people = 10**8
    jumps = Jumps(np.array([1.0, -1.0003]), np.array([0.3, 0.3]), 0.4, people)
    spread = math.sqrt(people * (jumps.chances @ jumps.values**2))
    far = -people * (jumps.chances @ jumps.values) / spread
    tail = math.exp(-(far**2) / 2) / math.sqrt(2 * math.pi) - far * math.erfc(far / 2**0.5) / 2
    assert positive_part(jumps) == pytest.approx(spread * tail, rel=0.01)


def test_nothing_positive_is_nothing():
    assert positive_part(Jumps(np.array([-1.0, -2.0]), np.array([0.3, 0.3]), 0.4, 100)) == 0.0


def beyond(jumps: Jumps, window: float) -> float:
    """E[S; S > window] exactly, for X that is 1 or -1 with equal chances."""
    n = jumps.count
    return sum((2 * k - n) * math.comb(n, k) / 2**n for k in range(n + 1) if 2 * k - n > window)


@pytest.mark.parametrize("count", [1, 9, 100])
@pytest.mark.parametrize("share", [0.2, 0.5, 0.99])
def test_what_lies_beyond_the_window_is_bounded(count, share):
    """By Chernoff's inequality: above the truth, and not by orders of magnitude."""
    jumps = Jumps(np.array([1.0, -1.0]), np.array([0.5, 0.5]), 0.0, count)
    window = share * count
    bound = math.exp(expectation._log_tail(jumps, 0.0, window, 0.0, math.sqrt(count)))
    # Chernoff's bound of a binomial tail is at most some sqrt(n) above it; 1/u adds to the window.
    assert beyond(jumps, window) <= bound <= 20 * math.sqrt(count) * beyond(jumps, window)


@pytest.mark.parametrize("unit", [1e-3, 1.0, 1e3])
def test_the_bound_of_what_lies_beyond_has_the_unit_of_the_sum(unit):
    """Whatever the unit: a bound that lost its factor would be right for small values only."""
    jumps = Jumps(np.array([unit, -unit]), np.array([0.5, 0.5]), 0.0, 25)
    bound = expectation._log_tail(jumps, 0.0, 10 * unit, 0.0, 5 * unit)
    one = Jumps(np.array([1.0, -1.0]), np.array([0.5, 0.5]), 0.0, 25)
    assert bound == pytest.approx(
        math.log(unit) + expectation._log_tail(one, 0.0, 10.0, 0.0, 5.0), abs=1e-6
    )


def exact_log_tail(jumps: Jumps, window: float, spread: float) -> tuple[Decimal, Decimal]:
    """The same bound with 60 digits, and how large what cancels in it is."""
    with localcontext(Context(prec=60)):
        found = []
        for u in map(Decimal, (expectation._CHERNOFF / spread).tolist()):
            pairs = zip(map(Decimal, jumps.chances), map(Decimal, jumps.values), strict=True)
            moment = 1 + sum(chance * ((u * value).exp() - 1) for chance, value in pairs)
            steps, far = jumps.count * moment.ln(), u * Decimal(window)
            found.append((steps - far + (Decimal(window) + 1 / u).ln(), abs(steps) + far))
        return min(found)


@pytest.mark.parametrize("count", [10, 10**6, 10**9, 10**12])
@pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
def test_rounding_takes_nothing_from_the_bound_of_what_lies_beyond(count, share):
    """Neither where the exponent is small, nor where parts of 10^12 cancel in it."""
    jumps = Jumps(np.array([1.0, -0.7]), np.array([0.3, 0.3]), 0.4, count)
    for spread in (7.0, math.sqrt(count)):
        exact, size = exact_log_tail(jumps, share * count, spread)
        bound = Decimal(expectation._log_tail(jumps, 0.0, share * count, 0.0, spread))
        # The allowance is a few times what rounding can lose, and never nothing.
        assert 0 < bound - exact < Decimal("2e-9") + size * Decimal(64 * 2.0**-53)


def test_an_allowance_is_made_for_every_persons_rounded_probabilities(monkeypatch):
    """The law of the sum is one of products of so many of them, so it grows with the people."""
    people = 10**9
    jumps = Jumps(np.array([1.0, -1.0]), np.array([0.3, 0.3]), 0.4, people)
    found = series(jumps, 0.0, 10.0 * math.sqrt(people), 1.0)
    monkeypatch.setattr(expectation, "series", lambda *_: replace(found, rounding=0.0))
    allowed = expectation._log_bound(jumps, 1.0)
    monkeypatch.setattr(expectation, "_PER_OPERATION", 0.0)
    bare = expectation._log_bound(jumps, 1.0)
    # By 2^-53 a person, and some operations each.
    assert people * 2.0**-53 < allowed - bare < people * 100 * 2.0**-53


def test_what_is_left_out_and_what_rounding_lost_are_added(monkeypatch):
    jumps = CASES[0]
    monkeypatch.setattr(expectation, "_log_tail", lambda *_: -math.inf)
    bounds = []
    for given in (Series(1.0, 0.0, 0.0), Series(1.0, 0.5, 0.0), Series(1.0, 0.5, 0.25)):
        monkeypatch.setattr(expectation, "series", lambda *_, given=given: given)
        bounds.append(expectation._log_bound(jumps, 3.0))
    assert np.exp(np.array(bounds) - bounds[0]) == pytest.approx([1.0, 1.5, 1.75])
