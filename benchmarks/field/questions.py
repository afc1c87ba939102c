"""What a person is asked, and how: enough to say what a report gives away, and how long it is.

Every mechanism here is a mixture. A person gets a question that does not depend on the record
(drawn, or dealt by the collector). It divides the values into cells, and a response says something
about the cell that holds the person's own value. From these pieces the attacks of `attacks` follow
exactly, whoever made the mechanism. `questions_of` breaks a plan of this project down into the same
pieces.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ldpsql_device.draw import answer, base_and_size, flatten, part_radices, symbols
from ldpsql_device.plan import (
    HALVES,
    WORDS,
    Arcs,
    Bits,
    Face,
    Hash,
    Keep,
    Parity,
    Part,
    Plan,
    Subset,
    subset_words,
    value_of,
)

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


class Response(ABC):
    """How a person answers who holds one of `size` cells."""

    size: int

    @property
    @abstractmethod
    def bits(self) -> float:
        """log2 of the number of different reports."""

    @abstractmethod
    def best(self, most: Floats) -> float:
        """The sum over reports of the largest most[cell] P(report | cell), shape (size,).

        With the probability of the likeliest value of every cell, this is how often the best guess
        of the value is right.
        """

    @abstractmethod
    def draw(self, own: Integers, random: np.random.Generator) -> Any:
        """Reports of people who hold these cells, shape (n,), as they travel: arrays."""

    @abstractmethod
    def count(self, reports: Any) -> Floats:
        """How many reports speak for each cell, or how many of each there are."""

    @abstractmethod
    def weigh(self, own: Integers, random: np.random.Generator) -> Floats:
        """Draw reports of people who hold these cells: the probability of each one's report for
        every cell, up to a factor per person, shape (n, size)."""


@dataclass(frozen=True)
class Unary(Response):
    """A bit per cell: one's own is set with probability 1/2, any other with 1/(e^epsilon + 1)."""

    size: int
    epsilon: float

    @property
    def other(self) -> float:
        """The probability that any other bit is set."""
        return 1.0 / (math.exp(self.epsilon) + 1.0)

    @property
    def bits(self) -> float:
        """See `Response`."""
        return float(self.size)

    def best(self, most: Floats) -> float:
        """Exact: in the order of `most`, the first set bit is guessed, unless the first cell of all
        is still the better guess although its bit is not set."""
        ranked, unset = np.sort(most)[::-1], 1.0 - self.other
        worth = ranked * math.exp(self.epsilon) >= ranked[0]
        # The first bit is the first set one unless it is not set.
        ranks = np.arange(len(ranked))
        first_set = ranked * 0.5 * unset**ranks
        guessed = first_set[worth].sum()
        return float(guessed + ranked[0] * 0.5 * unset ** (np.count_nonzero(worth) - 1))

    def draw(self, own: Integers, random: np.random.Generator) -> Any:
        """Eight bits a byte, shape (n, bytes)."""
        is_set = random.random((len(own), self.size)) < self.other
        is_set[np.arange(len(own)), own] = random.random(len(own)) < 0.5
        return np.packbits(is_set, axis=1)

    def count(self, reports: Any) -> Floats:
        """See `Response`."""
        bits = np.unpackbits(reports, axis=1, count=self.size)
        return bits.sum(axis=0, dtype=np.float64)

    def weigh(self, own: Integers, random: np.random.Generator) -> Floats:
        """See `Response`."""
        bits = np.unpackbits(self.draw(own, random), axis=1, count=self.size)
        return np.where(bits, math.exp(self.epsilon), 1.0)


def _hash(cells: Integers, seeds: Integers) -> Integers:
    """A hash of a cell and a seed, by multiplication and shifts."""
    mixed = (cells + 1) * 0x9E3779B1 ^ seeds
    mixed = (mixed ^ mixed >> 15) * 0x2C1B3C6D & 0xFFFFFFFF
    return mixed ^ mixed >> 13


@dataclass(frozen=True)
class LocalHash(Response):
    """Cells are thrown at random into `values` classes, anew for everybody; one's own class is
    reported with odds e^epsilon against any other.

    `functions` is how many different hash functions a report names. The attack is computed for
    functions that throw every cell independently.
    """

    size: int
    epsilon: float
    values: int
    functions: float

    @classmethod
    def optimal(cls, size: int, epsilon: float) -> LocalHash:
        """OLH of Wang et al.: e^epsilon + 1 classes, rounded; a function is a seed of 32 bits."""
        return cls(size, epsilon, round(math.exp(epsilon)) + 1, 2.0**32)

    @property
    def bits(self) -> float:
        """See `Response`."""
        return math.log2(self.functions) + math.log2(self.values)

    def best(self, most: Floats) -> float:
        """Exact for independent cells: see `Unary.best`, with a class in place of the set bits."""
        ranked, odds = np.sort(most)[::-1], math.exp(self.epsilon)
        outside, ranks = 1.0 - 1.0 / self.values, np.arange(len(most))
        is_first = outside**ranks / self.values
        expected = (is_first * np.maximum(ranked * odds, ranked[0])).sum()
        expected += outside ** len(ranked) * ranked[0]
        return float(expected * self.values / (odds + self.values - 1.0))

    def draw(self, own: Integers, random: np.random.Generator) -> Any:
        """Seeds, and the classes that are reported."""
        odds, seeds = math.exp(self.epsilon), random.integers(0, 1 << 32, len(own))
        said = _hash(own, seeds) % self.values
        is_kept = random.random(len(own)) < odds / (odds + self.values - 1.0)
        other = (said + random.integers(1, self.values, len(own))) % self.values
        return seeds, np.where(is_kept, said, other)

    def count(self, reports: Any) -> Floats:
        """See `Response`: every cell is hashed by every report's function."""
        seeds, said = reports
        cells = np.arange(self.size)
        return np.array([(_hash(cell, seeds) % self.values == said).sum() for cell in cells], float)

    def weigh(self, own: Integers, random: np.random.Generator) -> Floats:
        """See `Response`."""
        odds, people = math.exp(self.epsilon), np.arange(len(own))
        thrown = random.integers(0, self.values, (len(own), self.size))
        is_kept = random.random(len(own)) < odds / (odds + self.values - 1.0)
        said = thrown[people, own]
        said = np.where(is_kept, said, (said + random.integers(1, self.values, len(own))))
        return np.where(thrown == (said % self.values)[:, None], odds, 1.0)


@dataclass(frozen=True)
class Choice(Response):
    """`chosen` of the cells: a set that holds one's own cell is e^epsilon times as likely as one
    that does not. This is GRR for one cell, subset selection for more."""

    size: int
    epsilon: float
    chosen: int = 1

    @property
    def inside(self) -> float:
        """The probability that the set holds one's own cell."""
        odds = math.exp(self.epsilon) * self.chosen
        return odds / (odds + self.size - self.chosen)

    @property
    def bits(self) -> float:
        """See `Response`."""
        parts = (self.size, self.chosen, self.size - self.chosen)
        first, *rest = (math.lgamma(part + 1) for part in parts)
        return (first - sum(rest)) / math.log(2.0)

    def best(self, most: Floats) -> float:
        """Exact: a sum over which of the cells, in the order of `most`, is the first one in the
        set."""
        ranked, odds = np.sort(most)[::-1], math.exp(self.epsilon)
        # Among all sets of so many cells; the mechanism's law is a multiple of e^epsilon or 1.
        ranks = np.arange(self.size - 1)
        falls = (self.size - ranks - self.chosen) / (self.size - 1 - ranks)
        is_first = np.cumprod([self.chosen / self.size, *np.maximum(falls, 0.0)])
        unit = self.size / (odds * self.chosen + self.size - self.chosen)
        return float((is_first * np.maximum(ranked * odds, ranked[0])).sum() * unit)

    def draw(self, own: Integers, random: np.random.Generator) -> Any:
        """The cells of the sets, shape (n, chosen)."""
        is_inside = random.random(len(own)) < self.inside
        if self.chosen == 1:
            steps = random.integers(1, self.size, len(own)) if self.size > 1 else 0
            other = (own + steps) % self.size
            return np.where(is_inside, own, other)[:, None]
        ranks = random.random((len(own), self.size))
        ranks[np.arange(len(own)), own] = np.where(is_inside, -1.0, 2.0)
        return np.argpartition(ranks, self.chosen - 1, axis=1)[:, : self.chosen]

    def count(self, reports: Any) -> Floats:
        """See `Response`."""
        return np.bincount(reports.ravel(), minlength=self.size).astype(float)

    def weigh(self, own: Integers, random: np.random.Generator) -> Floats:
        """See `Response`."""
        found = np.ones((len(own), self.size))
        np.put_along_axis(found, self.draw(own, random), math.exp(self.epsilon), axis=1)
        return found


@dataclass(frozen=True, eq=False)
class Table(Response):
    """matrix: probabilities of reports (rows) by cells (columns)."""

    matrix: Floats

    @property
    def size(self) -> int:  # type: ignore[override]
        """Cells."""
        return self.matrix.shape[1]

    @property
    def bits(self) -> float:
        """See `Response`."""
        return math.log2(len(self.matrix))

    @cached_property
    def _sums(self) -> Floats:
        """Partial sums over the reports of every cell, shape (cells, reports)."""
        return np.ascontiguousarray(np.cumsum(self.matrix, axis=0).T)

    def best(self, most: Floats) -> float:
        """See `Response`."""
        return float((self.matrix * most).max(axis=1).sum())

    def draw(self, own: Integers, random: np.random.Generator) -> Any:
        """A row for everybody."""
        drawn, reports = random.random(len(own)), np.empty(len(own), dtype=np.int64)
        for cell in np.unique(own):
            mine = own == cell
            reports[mine] = np.searchsorted(self._sums[cell, :-1], drawn[mine], side="right")
        return reports

    def count(self, reports: Any) -> Floats:
        """See `Response`."""
        return np.bincount(reports, minlength=len(self.matrix)).astype(float)

    def weigh(self, own: Integers, random: np.random.Generator) -> Floats:
        """See `Response`."""
        return self.matrix[self.draw(own, random)]


@lru_cache(maxsize=64)
def _likely(radices: tuple[int, ...], base: bytes) -> Integers:
    """The cells that each report is likely for, shape (reports, points of the base set)."""
    reports = np.unravel_index(np.arange(math.prod(radices)), radices)
    points = np.unravel_index(np.frombuffer(base, dtype=np.int64), radices)
    digits = [
        np.subtract.outer(report, point) % radix
        for report, point, radix in zip(reports, points, radices, strict=True)
    ]
    return np.ravel_multi_index(tuple(digits), radices)


@dataclass(frozen=True, eq=False)
class Translates(Response):
    """Cells and reports are the elements of a product of circles; those of the base set, moved by
    one's own cell, are reported with probability `inside` each, the others with `outside`."""

    radices: tuple[int, ...]
    base: Integers
    inside: float
    outside: float

    @property
    def size(self) -> int:  # type: ignore[override]
        """Cells."""
        return math.prod(self.radices)

    @property
    def bits(self) -> float:
        """See `Response`."""
        return math.log2(self.size)

    @property
    def likely(self) -> Integers:
        """See `_likely`."""
        return _likely(self.radices, self.base.tobytes())

    def best(self, most: Floats) -> float:
        """See `Response`."""
        near = most[self.likely].max(axis=1)
        return float(np.maximum(self.inside * near, self.outside * most.max()).sum())

    def draw(self, own: Integers, random: np.random.Generator) -> Any:
        """See `Response`."""
        return self._table.draw(own, random)

    def count(self, reports: Any) -> Floats:
        """See `Response`."""
        return self._table.count(reports)

    def weigh(self, own: Integers, random: np.random.Generator) -> Floats:
        """See `Response`."""
        return self._table.weigh(own, random)

    @cached_property
    def _table(self) -> Table:
        is_likely = np.zeros((self.size, self.size), dtype=bool)
        np.put_along_axis(is_likely, self.likely, True, axis=1)
        return Table(np.where(is_likely, self.inside, self.outside))


@dataclass(frozen=True, eq=False)
class Question:
    """weight: how likely it is asked. cells: the cell of every value, shape (values,)."""

    weight: float
    cells: Integers
    response: Response


def mean_bits(questions: Sequence[Question]) -> float:
    """log2 of the number of different reports, the number of the question included."""
    bits = [question.response.bits for question in questions]
    return max(bits) + math.log2(math.fsum(2.0 ** (one - max(bits)) for one in bits))


def alone(response: Response) -> list[Question]:
    """A single question: which value one has."""
    return [Question(1.0, np.arange(response.size), response)]


# -- plans of this project -------------------------------------------------------------------------


def questions_of(plan: Plan, epsilon: float) -> Iterator[Question]:
    """All questions of a plan, one after the other.

    Every value of a Hadamard coin is a question of its own; a hash is taken as one that throws
    its cells independently. ValueError for faces with several parts or secret steps.
    """
    axes = np.unravel_index(np.arange(math.prod(plan.sizes)), plan.sizes)
    codes = np.stack(axes, axis=1).astype(np.int64)
    for number, face in enumerate(plan.faces):
        if len(face.parts) > 1 or any(step.secret for step in face.steps):
            raise ValueError("a question of several parts, or with a secret step")
        for combination in range(face.choices):
            choices = [choice[combination : combination + 1] for choice in face.combinations]
            weight = plan.face_choice.preimages[number] / HALVES
            for step, choice in zip(face.steps, choices, strict=True):
                weight *= step.preimages[int(choice[0])] / HALVES
            yield from _with_coins(plan, face, choices, codes, weight, epsilon)


def _with_coins(
    plan: Plan,
    face: Face,
    choices: Sequence[Integers],
    codes: Integers,
    weight: float,
    epsilon: float,
) -> Iterator[Question]:
    (part,) = face.parts
    everybody = [np.broadcast_to(choice, (len(codes),)) for choice in choices]
    ranges = [int(np.asarray(value_of(coin, choices)).item()) for coin in face.coins]
    if isinstance(part.then, Hash):
        plain = Part(part.digits, Keep())
        digits = symbols(plan, plain, codes, everybody, [])
        own = flatten(digits, part_radices(plain, everybody))
        (classes,) = (int(np.asarray(radix).item()) for radix in part_radices(part, choices))
        size = int(own.max()) + 1
        yield Question(weight, own, LocalHash(size, epsilon, classes, float(math.prod(ranges))))
        return
    rows = range(ranges[0]) if isinstance(part.then, Parity) else (0,)
    table: Response | None = None
    for row in rows:
        coins = [np.full(len(codes), row)] * len(ranges)
        digits = symbols(plan, part, codes, everybody, coins)
        own = flatten(digits, part_radices(part, everybody))
        table = table or _response_of(plan, part, choices, epsilon)
        yield Question(weight / len(rows), own, table)


def _response_of(plan: Plan, part: Part, choices: Sequence[Integers], epsilon: float) -> Response:
    radices = [int(np.asarray(radix).item()) for radix in part_radices(part, choices)]
    size = math.prod(radices)
    if isinstance(part.response, Bits):
        return Unary(size, epsilon)
    if isinstance(part.response, Arcs) and all(count == 1 for count in part.response.counts):
        return Choice(size, epsilon)
    if not isinstance(part.response, Subset):
        raise ValueError("a response that is neither bits nor a subset")
    base, _ = base_and_size(part, choices)
    count = int(np.asarray(base).item())
    zero = [np.zeros(count, dtype=np.int64)] * len(radices)
    same = [np.broadcast_to(choice, (count,)) for choice in choices]
    points = answer(part, zero, same, np.zeros(count, dtype=np.int64), np.arange(count))
    inside, outside = subset_words(count, size, plan.odds[part.response.odds])
    return Translates(tuple(radices), points, inside / WORDS, outside / WORDS)
