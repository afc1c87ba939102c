"""Counts of each of very many values: published oracles for one attribute of k values.

Every report of these mechanisms stands for a set of values, which holds a person's own value with
probability p and any other with probability q. So the unbiased estimate of a share f has the
variance (f p (1 - p) + (1 - f) q (1 - q)) / (n (p - q)^2), exactly.

Subset selection: Ye and Barg (IEEE Trans. Inf. Theory 2018), Wang et al. (2016). Projective
geometry response (PGR): Feldman, Nelson, Nguyen, Talwar (ICML 2022). Modular subset selection
(MSS): Arcolezi (AAAI 2026, arXiv 2511.11569), of which only the abstract and the introduction were
available; they do not say how the moduli are chosen. `spread` was among the best of 38 ways that
were tried.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.linalg import LinearOperator, lsmr

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
_TOLERANCE, _PROBES, _MODULI = 1e-8, 4, 8


class Oracle(ABC):
    """A mechanism for one attribute of k values, on its two sides."""

    name: str
    k: int
    epsilon: float

    @property
    def odds(self) -> float:
        """e^epsilon."""
        return math.exp(self.epsilon)

    @property
    @abstractmethod
    def bits(self) -> float:
        """log2 of the number of different reports."""

    @property
    @abstractmethod
    def reconstruction(self) -> float:
        """How often the best guess of a value from one report is right, if all values are equally
        likely."""

    @abstractmethod
    def draw(self, values: Integers, random: np.random.Generator) -> Integers:
        """A report per person: a number, or a row of them."""

    @abstractmethod
    def estimate(self, reports: Integers) -> Floats:
        """Unbiased shares of the k values."""


class Sets(Oracle):
    """Reports that are sets of values; all pairs of values are treated alike."""

    @property
    @abstractmethod
    def inside(self) -> float:
        """p, the probability that the set holds one's own value."""

    @property
    @abstractmethod
    def beside(self) -> float:
        """q, the same of any other value."""

    def variance(self, shares: Floats) -> Floats:
        """Of the estimates, times people."""
        p, q = self.inside, self.beside
        own = shares * p * (1.0 - p) + (1.0 - shares) * q * (1.0 - q)
        return np.asarray(own / (p - q) ** 2)

    def shares(self, held: Floats) -> Floats:
        """Unbiased shares from how many reports, of all, hold each value."""
        return np.asarray((held - self.beside) / (self.inside - self.beside))


@dataclass(frozen=True)
class SubsetSelection(Sets):
    """A set of k / (e^epsilon + 1) values, rounded."""

    k: int
    epsilon: float
    name: str = "subset selection"

    @property
    def size(self) -> int:
        """Values in a report."""
        return max(1, round(self.k / (self.odds + 1.0)))

    @property
    def inside(self) -> float:
        """See `Sets`."""
        return self.odds * self.size / (self.odds * self.size + self.k - self.size)

    @property
    def beside(self) -> float:
        """See `Sets`."""
        p, others = self.inside, self.k - 1
        return p * (self.size - 1) / others + (1.0 - p) * self.size / others

    @property
    def bits(self) -> float:
        """See `Oracle`."""
        logs = (math.lgamma(n + 1) for n in (self.k, self.size, self.k - self.size))
        first, *rest = logs
        return (first - sum(rest)) / math.log(2.0)

    @property
    def reconstruction(self) -> float:
        """See `Oracle`: any value of the set is as good a guess as any other."""
        return self.inside / self.size

    def draw(self, values: Integers, random: np.random.Generator) -> Integers:
        """Sets as rows of `size` values, in any order."""
        people = np.arange(len(values))
        ranks = random.random((len(values), self.k))
        ranks[people, values] = np.where(random.random(len(values)) < self.inside, -1.0, 2.0)
        return np.argpartition(ranks, self.size - 1, axis=1)[:, : self.size]

    def estimate(self, reports: Integers) -> Floats:
        """See `Oracle`."""
        return self.shares(np.bincount(reports.ravel(), minlength=self.k) / len(reports))


@dataclass(frozen=True)
class ProjectiveGeometry(Sets):
    """Values are points of a projective space over a prime field of about e^epsilon + 1 elements;
    a report is a point too, likelier by e^epsilon where its hyperplane holds one's own.

    The estimator is the paper's; the sums over hyperplanes are by a Fourier transform of the
    space instead of its dynamic programming.
    """

    k: int
    epsilon: float
    name: str = "PGR"

    @cached_property
    def field(self) -> int:
        """The prime that is nearest to e^epsilon + 1."""
        wanted = self.odds + 1.0
        return min(_primes(2, math.ceil(2.0 * wanted) + 2), key=lambda prime: abs(prime - wanted))

    @cached_property
    def places(self) -> int:
        """Coordinates: the least number with enough points."""
        places = 2
        while self.points_of(places) < self.k:
            places += 1
        return places

    def points_of(self, places: int) -> int:
        """Points of a space of so many coordinates."""
        return int((self.field**places - 1) // (self.field - 1))

    @property
    def points(self) -> int:
        """Points of the space, as many as there are reports."""
        return self.points_of(self.places)

    @property
    def plane(self) -> int:
        """Points of a hyperplane."""
        return self.points_of(self.places - 1)

    @property
    def inside(self) -> float:
        """See `Sets`."""
        return self.odds * self.plane / (self.odds * self.plane + self.points - self.plane)

    @property
    def beside(self) -> float:
        """See `Sets`: two hyperplanes share `points_of(places - 2)` points."""
        common = self.points_of(self.places - 2)
        unit = self.inside / (self.odds * self.plane)
        return unit * (self.odds * common + self.plane - common)

    @property
    def bits(self) -> float:
        """See `Oracle`."""
        return math.log2(self.points)

    @property
    def reconstruction(self) -> float:
        """See `Oracle`; at most so, for a hyperplane may hold no value."""
        return self.points * self.inside / self.plane / self.k

    @cached_property
    def vectors(self) -> Integers:
        """A vector per value, shape (k, places): its first coordinate that is not 0 is 1."""
        found = []
        for lead in reversed(range(self.places)):
            free = self.places - lead - 1
            digits = np.arange(min(self.field**free, self.k - sum(map(len, found))))
            if len(digits) == 0:
                break
            rows = np.zeros((len(digits), self.places), dtype=np.int64)
            rows[:, lead] = 1
            for place in range(free):
                rows[:, self.places - 1 - place] = digits // self.field**place % self.field
            found.append(rows)
        return np.concatenate(found)

    def draw(self, values: Integers, random: np.random.Generator) -> Integers:
        """Points as numbers below field^places, that of the vector whose first digit is 1."""
        own = self.vectors[values]
        is_inside = random.random(len(values)) < self.inside
        product = np.where(is_inside, 0, random.integers(1, self.field, len(values)))
        # Any vector with this inner product: all coordinates but the one that then follows.
        drawn = random.integers(0, self.field, own.shape)
        self._solve(drawn, own, product)
        while (left := np.flatnonzero(~drawn.any(axis=1))).size:
            again = random.integers(0, self.field, (left.size, self.places))
            self._solve(again, own[left], product[left])
            drawn[left] = again
        first = np.take_along_axis(drawn, (drawn != 0).argmax(axis=1)[:, None], axis=1)
        inverses = np.array([0, *(pow(n, -1, self.field) for n in range(1, self.field))])
        canonical = drawn * inverses[first] % self.field
        return np.ravel_multi_index(tuple(canonical.T), (self.field,) * self.places)

    def _solve(self, drawn: Integers, own: Integers, product: Integers) -> None:
        people, lead = np.arange(len(own)), (own != 0).argmax(axis=1)
        drawn[people, lead] = 0
        drawn[people, lead] = (product - (drawn * own).sum(axis=1)) % self.field

    def estimate(self, reports: Integers) -> Floats:
        """See `Oracle`. Reports u with <u, x> = 0 number (1 / field) times the sum over a of the
        transform at a x."""
        shape = (self.field,) * self.places
        counts = np.bincount(reports, minlength=math.prod(shape)).reshape(shape)
        spectrum = np.fft.fftn(counts)
        held = sum(
            spectrum[tuple((self.vectors * a % self.field).T)].real for a in range(self.field)
        )
        return self.shares(np.asarray(held) / self.field / len(reports))


@dataclass(frozen=True)
class ModularSubsetSelection(Oracle):
    """A person draws one of a few moduli and answers about the residue by subset selection; the
    shares of values are those that fit the shares of residues best (least squares)."""

    k: int
    epsilon: float
    moduli: tuple[int, ...]
    name: str = "MSS"

    @classmethod
    def spread(cls, k: int, epsilon: float) -> ModularSubsetSelection:
        """Eight moduli from k / 2 up, k / 20 apart or a little more so that no two share a factor.

        Moduli that are close, or all odd, leave some sums of values nearly unseen.
        """
        moduli = [k // 2 + k // 2 % 2]
        while len(moduli) < _MODULI:
            further = moduli[-1] + max(1, k // 20)
            while any(math.gcd(further, one) > 1 for one in moduli):
                further += 1
            moduli.append(further)
        return cls(k, epsilon, tuple(moduli))

    @cached_property
    def parts(self) -> tuple[SubsetSelection, ...]:
        """The mechanism for the residues of each modulus."""
        return tuple(SubsetSelection(modulus, self.epsilon) for modulus in self.moduli)

    @property
    def bits(self) -> float:
        """See `Oracle`."""
        logs = [part.bits for part in self.parts]
        return max(logs) + math.log2(math.fsum(2.0 ** (one - max(logs)) for one in logs))

    @property
    def reconstruction(self) -> float:
        """See `Oracle`."""
        rates = [m * part.reconstruction for m, part in zip(self.moduli, self.parts, strict=True)]
        return math.fsum(rates) / len(rates) / self.k

    @cached_property
    def expected_variance(self) -> float:
        """Of an estimate, in the mean over values spread evenly, times people; by random probes."""
        random = np.random.default_rng(3)
        found = []
        for _ in range(_PROBES):
            noise = [
                random.standard_normal(part.k)
                * math.sqrt(len(self.parts) * float(part.variance(np.array([1.0 / part.k]))[0]))
                for part in self.parts
            ]
            found.append(np.mean(self._fit(np.concatenate(noise)) ** 2))
        return float(np.mean(found))

    def draw(self, values: Integers, random: np.random.Generator) -> Integers:
        """Rows: the number of the modulus, then the residues of the set, -1 where it has fewer."""
        chosen = random.integers(0, len(self.moduli), len(values))
        rows = np.full((len(values), 1 + max(part.size for part in self.parts)), -1)
        rows[:, 0] = chosen
        for number, part in enumerate(self.parts):
            people = np.flatnonzero(chosen == number)
            sets = part.draw(values[people] % part.k, random)
            rows[people[:, None], 1 + np.arange(part.size)] = sets
        return rows

    def estimate(self, reports: Integers) -> Floats:
        """See `Oracle`."""
        residues = [
            part.estimate(reports[reports[:, 0] == number, 1 : 1 + part.size])
            for number, part in enumerate(self.parts)
        ]
        return self._fit(np.concatenate(residues))

    def _fit(self, residues: Floats) -> Floats:
        places = [np.arange(self.k) % modulus for modulus in self.moduli]
        starts = np.cumsum([0, *self.moduli])

        def forward(shares: Floats) -> Floats:
            return np.concatenate(
                [np.bincount(p, shares, m) for p, m in zip(places, self.moduli, strict=True)]
            )

        def backward(found: Floats) -> Floats:
            return np.sum(
                [found[s : s + m][p] for s, m, p in zip(starts, self.moduli, places, strict=False)],
                axis=0,
            )

        operator = LinearOperator(
            (int(starts[-1]), self.k), matvec=forward, rmatvec=backward, dtype=np.float64
        )
        return np.asarray(lsmr(operator, residues, atol=_TOLERANCE, btol=_TOLERANCE)[0])


def _primes(start: int, stop: int) -> list[int]:
    return [n for n in range(start, stop) if all(n % d for d in range(2, math.isqrt(n) + 1))]
