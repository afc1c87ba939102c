"""A rigorous upper bound of E[(X_1 + ... + X_n)_+], X_i independent and alike with few values.

Let S be the sum. Five steps, each of which can only make the figure larger or is exact:

0. Floor.  Very negative values are raised to where one of them still outweighs what is positive.
1. Noise.  U is normal with mean 0, independent of S, and added to S unless all X_i are the
   absent value 0 (where (.)_+ is 0 in any case). Given S the mean of S + U is S, and x -> x_+ is
   convex, so E[S_+] <= E[(S + U)_+] (convex order, Jensen). The noise makes the density smooth.
2. Tilt.  Under the law with density e^{tx} / M(t), t chosen so that its mean is about 0, the
   event S > 0 is typical, so its relative precision does not suffer from its being rare.
3. Window.  On [-B, B] the density, wrapped around, is a Fourier series whose coefficients are
   the characteristic function at multiples of pi / B, in closed form; so are the integrals of
   x e^{-tx} against its terms over [0, B]. Mass from outside that is wrapped into the window
   only adds. What lies above B is bounded by Chernoff's inequality and added.
4. Allowances.  The terms of the series that are left out are bounded by the characteristic function
   of the noise and added. So is what rounding may have lost: term by term for the series
   (`_PER_OPERATION` units of 2^-53 times the condition of the term), and a factor
   exp(n * units) for the n rounded probabilities, since the law of S is a sum of products of n of
   them.

Splitting every value between two grid points and a fast Fourier transform, the usual way, also
goes up in convex order, but adds a variance that grows with n; this noise is some 10^-6 of the
variance at any n. Source: docs/spec/shuffle.md#2.1, for the expectation and the argument.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

Reals = NDArray[np.float64]

TERMS, FEW_TERMS = 1 << 15, 1 << 12
"""Terms of the Fourier series; and so few that the bound is up to .1 % larger, in a thirtieth of
the time."""
_DAMPING = 9.5
"""Standard deviation of the noise times the first frequency that is left out."""
_UNIT = 2.0**-53
_PER_OPERATION = 16.0
_WINDOW, _JUMPS = 10.0, 20.0
"""The window: so many standard deviations of the sum, and so many of its largest jumps."""
_WIDER, _MOST_WIDENINGS = 1.5, 24
_NEGLIGIBLE = 1e-9
"""The window is widened until what lies beyond is bounded by this share of what lies inside."""
_LEAST = 1e-300
_NEARLY_ZERO = 1e-15
"""Below which the squared size of a characteristic function is not told from 0."""
_CHERNOFF = np.geomspace(0.25, 64.0, 48)


@dataclass(frozen=True)
class Jumps:
    """The law of one X: values (J,), their probabilities (J,), and how many X there are.

    X is 0, absent, with the remaining probability `absent`.
    """

    values: Reals
    chances: Reals
    absent: float
    count: int

    def log_moment(self, t: float) -> float:
        """log E[e^{t X}], accurate also where it is nearly 0: log1p of E[e^{t X} - 1]."""
        with np.errstate(over="ignore"):
            excess = float(self.chances @ np.expm1(t * self.values))
        return math.log1p(max(excess, -1.0 + 1e-16))

    def tilt(self, t: float) -> Jumps:
        """The law with density e^{tx} / E[e^{tX}]."""
        scale = self.log_moment(t)
        chances = self.chances * np.exp(t * self.values - scale)
        return replace(self, chances=chances, absent=self.absent * math.exp(-scale))


@dataclass(frozen=True)
class Series:
    """The Fourier sum for a smoothed and tilted law, and what must be added to it.

    value: as computed.  left_out: bounds the terms beyond the last.  rounding: bounds the error of
    floating-point arithmetic in `value`.
    """

    value: float
    left_out: float
    rounding: float


def positive_part(jumps: Jumps, terms: int = TERMS) -> float:
    """An upper bound of E[(X_1 + ... + X_n)_+]; 0 where no X is ever positive.

    It is never above n E[X_+], which a sum of positive parts gives.  terms: of the series; with
    fewer the noise is larger, and so is the bound.
    """
    largest = float(jumps.values.max(initial=0.0))
    if largest <= 0.0:
        return 0.0
    # (x + y)_+ <= x_+ + y_+; the factor is far above what a sum of a few products may lose.
    simple = jumps.count * float(jumps.chances @ np.maximum(jumps.values, 0.0)) * (1.0 + 1e-12)
    # Very negative values are raised to where one of them still outweighs all positive ones.
    # Raising a value raises the sum, so any floor is right. This one keeps the window, and with it
    # the spacing of the frequencies, to the scale of the positive values.
    positive = float(jumps.chances @ np.maximum(jumps.values, 0.0) ** 2)
    least = -min(jumps.count * largest, _JUMPS * (largest + math.sqrt(jumps.count * positive)))
    log = _log_bound(replace(jumps, values=np.maximum(jumps.values, least)), largest, terms)
    return simple if log >= math.log(simple) else max(math.exp(log), _LEAST)


def _log_bound(jumps: Jumps, largest: float, terms: int = TERMS) -> float:
    """The logarithm of the bound, by steps 1 to 4."""
    reach = float(np.abs(jumps.values).max())
    t = _balance(jumps)
    tilted = jumps.tilt(t)
    spread = math.sqrt(jumps.count * float(tilted.chances @ tilted.values**2))
    window = min(_WINDOW * spread + _JUMPS * largest, 1.01 * jumps.count * reach)
    for _ in range(_MOST_WIDENINGS):
        noise = _DAMPING * window / (math.pi * terms)
        part = series(tilted, t, window, noise, terms)
        inside = math.log(max(part.value + part.left_out + part.rounding, _LEAST))
        # Back from the tilted law: E[g(S)] = M(t)^n E_t[g(S) e^{-tS}], and the same for the noise,
        # whose log moment is (t noise)^2 / 2.
        inside += jumps.count * jumps.log_moment(t) + (t * noise) ** 2 / 2.0
        beyond = _log_tail(jumps, t, window, noise, spread)
        if beyond < inside + math.log(_NEGLIGIBLE):
            break
        window *= _WIDER
    # By how much the log of products of n rounded, tilted probabilities may be too small.
    per_person = _UNIT * _PER_OPERATION * (1.0 + t * reach + abs(jumps.log_moment(t)))
    return float(np.logaddexp(inside, beyond)) + jumps.count * per_person


def _balance(jumps: Jumps) -> float:
    """The tilt t >= 0 at which the mean is about 0; any t is right, this one is accurate."""
    values, chances = jumps.values, jumps.chances
    if float(chances @ values) >= 0.0:
        return 0.0

    def rises(t: float) -> bool:
        """Whether log M grows at t, that is whether the tilted mean is above 0."""
        weights = chances * np.exp(t * (values - values.max()))
        return float(weights @ values) > 0.0

    # log M is convex and falls at 0: double until it rises, then halve.
    low, high = 0.0, 1.0 / float(np.abs(values).max())
    for _ in range(80):
        if rises(high):
            break
        low, high = high, 2.0 * high
    for _ in range(50):
        middle = (low + high) / 2.0
        low, high = (low, middle) if rises(middle) else (middle, high)
    return high


def series(tilted: Jumps, t: float, window: float, noise: float, terms: int = TERMS) -> Series:
    """The integral of x e^{-tx} over [0, window] against the wrapped density of the sum, tilted by
    t and with normal noise of standard deviation `noise`, apart from the case that all are absent.
    """
    count, frequencies = tilted.count, np.arange(terms, dtype=np.float64) * (math.pi / window)
    # The characteristic function of one X, less 1, so that nothing cancels where it is nearly 1:
    #   phi(f) - 1 = sum p (e^{i f v} - 1) = lost + i turned,   lost = -2 sum p sin(f v / 2)^2.
    # moved = sum p |e^{i f v} - 1| and phase = sum p |f v| measure how its errors propagate.
    lost, turned, moved, phase = (np.zeros(terms) for _ in range(4))
    for value, chance in zip(tilted.values, tilted.chances, strict=True):
        angle = frequencies * value
        half = np.sin(angle / 2.0)
        lost -= 2.0 * chance * half * half
        turned += chance * np.sin(angle)
        moved += 2.0 * chance * np.abs(half)
        phase += chance * np.abs(angle)
    # log |phi| from |phi|^2 = 1 + 2 lost + lost^2 + turned^2. Where that is below _NEARLY_ZERO its
    # relative error is unknown: it is raised to that, and `unseen` allows for the difference.
    size = 0.5 * np.log1p(
        np.maximum(2.0 * lost + lost * lost + turned * turned, _NEARLY_ZERO - 1.0)
    )
    angle = count * np.arctan2(turned, 1.0 + lost)
    # The noise, tilted too, is normal with mean t noise^2. `empty` is the case that all are absent.
    damping = -0.5 * (noise * frequencies) ** 2
    shift = frequencies * (t * noise * noise)
    power = np.exp(count * size + damping)
    empty = np.exp(count * math.log(tilted.absent) + damping) if tilted.absent > 0.0 else 0.0
    coefficients = (power * np.exp(1j * angle) - empty) * np.exp(1j * shift)
    integrals = _integrals(t, frequencies, window)
    summands = (coefficients * integrals).real
    # Terms of frequencies f and -f are conjugate: twice the real part, but for f = 0.
    doubled = np.full(terms, 2.0)
    doubled[0] = 1.0
    # Relative error of a term, in units of _PER_OPERATION 2^-53: the power n multiplies that of
    # log phi, whose condition is (moved + phase) / |phi|; exp and the phases add their arguments.
    weight = np.abs(integrals) * doubled
    loss = 20.0 + np.abs(angle) + np.abs(damping) + shift
    loss += count * (np.abs(size) + (moved + phase) * np.exp(-size))
    faults = weight * (power * loss + empty * (20.0 + count * tilted.chances.sum()))
    unseen = _NEARLY_ZERO ** (count / 2.0) * float(weight.sum())
    period = 2.0 * window
    return Series(
        float(summands @ doubled) / period,
        _left_out(t, window, noise, terms) / period,
        (_PER_OPERATION * _UNIT * float(faults.sum()) + unseen) / period,
    )


def _integrals(t: float, frequencies: Reals, window: float) -> NDArray[np.complex128]:
    """The integrals of x e^{-(t + i f) x} over [0, window]; f multiples of pi / window."""
    rates = t + 1j * frequencies
    signs = 1.0 - 2.0 * (np.arange(len(frequencies)) % 2)
    edge = math.exp(-t * window) * signs * (1.0 + rates * window)
    # By parts: (1 - e^{-z w} (1 + z w)) / z^2 with z = t + i f; e^{-i f w} is 1 or -1 (signs).
    integrals = np.empty(len(frequencies), dtype=np.complex128)
    integrals[1:] = (1.0 - edge[1:]) / rates[1:] ** 2
    steepness = t * window
    if steepness < 1.0:  # the closed form cancels: the first terms of the series of e^-x
        powers = [(-steepness) ** k / math.factorial(k) / (k + 2) for k in range(24)]
        integrals[0] = window**2 * math.fsum(powers)
    else:
        integrals[0] = (1.0 - edge[0].real) / t**2
    return integrals


def _left_out(t: float, window: float, noise: float, terms: int) -> float:
    """Bounds twice the sum of all terms from the first that is left out: the characteristic
    function by that of the noise, whose decay is at least geometric; the integrals by that at 0."""
    if noise == 0.0:
        return math.inf
    # Term k is at most exp(-(noise k step)^2 / 2) times the integral. From one to the next that
    # falls by the factor exp(-(noise step)^2 (2 k + 1) / 2), at most `ratio` for k >= terms.
    step = math.pi / window
    ratio = math.exp(-(noise**2) * terms * step * step)
    integral = min(window**2 / 2.0, 1.0 / t**2 if t > 0.0 else math.inf)
    first = math.exp(-0.5 * (noise * terms * step) ** 2)
    # Twice once more: the case that all are absent is taken away, and is no larger.
    return 4.0 * integral * first / (1.0 - ratio)


def _log_tail(jumps: Jumps, t: float, window: float, noise: float, spread: float) -> float:
    """Log of a bound of E[X; X > window] for the smoothed sum X, by Chernoff's inequality:
    P(X > x) <= e^{-ux} E[e^{uX}] for every u > 0, so that
    E[X; X > w] = w P(X > w) + integral of P(X > x) from w on <= e^{-uw} E[e^{uX}] (w + 1/u)."""
    best = math.inf
    for u in t + _CHERNOFF / spread:
        steps = jumps.count * jumps.log_moment(float(u))
        exponent = steps + (u * noise) ** 2 / 2.0 - u * window
        # What rounding may have taken from the exponent, most of all where its parts cancel.
        slack = 1e-9 + _PER_OPERATION * _UNIT * (abs(steps) + u * window)
        best = min(best, exponent + slack + math.log(window + 1.0 / u))
    return best
