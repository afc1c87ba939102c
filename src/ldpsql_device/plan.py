"""The plan of a survey: whole numbers that say which questions there are and how each is answered.

A device draws a *question* without looking at the record, answers it, and reports the question's
number, the coins it drew for it, and the answers. A plan is nothing but data: `draw` interprets
it, `odds` computes from the same numbers what a report can tell, and neither trusts a statement
of whoever made it. The language is specified in docs/format.md#plan.

Words are 64 bits; there are WORDS = 2^64 of them. A *face* is a shape that many questions share:
its integers may vary with what was drawn in one of its steps (`Varying`), so that thousands of
questions are a few columns of numbers. Every object checks itself when it is made and raises
SurveyError; what depends on the rest of the plan is checked by `Plan`.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from itertools import accumulate, pairwise
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ldpsql_device.entropy import Words
from ldpsql_device.errors import SurveyError

WORDS, HALVES = 1 << 64, 1 << 32
LARGEST = 1 << 53
LARGEST_RADIX = 1 << 31
LARGEST_PRIME = 1 << 26
LARGEST_LISTED = 1 << 20
MOST_QUESTIONS, MOST_BITS, MOST_ENTRIES = 1 << 20, 1 << 10, 1 << 24
BITS_PER_COLUMN = 32

Integers = NDArray[np.int64]
Whole = int | Integers
"""A number that is the same for everybody, or one per person."""
Choices = Sequence[Integers]
"""Per step of a face what was drawn in it, one per person."""


def require(holds: bool, problem: str) -> None:
    """SurveyError that says what is wrong with a plan, unless it holds."""
    if not holds:
        raise SurveyError(f"the plan cannot be used: {problem}")


# -- integers -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Varying:
    """An integer of a face that depends on what was drawn in one of its steps: one per choice."""

    step: int
    values: tuple[int, ...]

    def __post_init__(self) -> None:
        require(len(self.values) > 0, "a column without numbers")
        require(max(self.values) <= LARGEST, "a number of a column is larger than 2^53")

    @cached_property
    def array(self) -> Integers:
        """The values, shape (choices,)."""
        return np.array(self.values, dtype=np.int64)


Integer = int | Varying


def varying(step: int, values: Sequence[int] | Integers) -> Integer:
    """An integer per choice of a step, or the one number that all choices share."""
    column = tuple(np.asarray(values).tolist())
    return column[0] if min(column) == max(column) else Varying(step, column)


def value_of(integer: Integer, choices: Choices) -> Whole:
    """An integer for what every person drew."""
    return integer if isinstance(integer, int) else integer.array.take(choices[integer.step])


def least(integer: Integer) -> int:
    """The smallest value that an integer can have."""
    return integer if isinstance(integer, int) else min(integer.values)


def largest(integer: Integer) -> int:
    """The largest value that an integer can have."""
    return integer if isinstance(integer, int) else max(integer.values)


def _check_range(integer: Integer, low: int, high: int, name: str) -> None:
    require(
        low <= least(integer) and largest(integer) <= high,
        f"{name} must lie between {low} and {high}",
    )


# -- symbols: what of the record a question is about ----------------------------------------------


@dataclass(frozen=True)
class Term:
    """coefficient * look(x) for the code x of an attribute.

    The look is x // divide; or tables[table][x]; or, of tables[cuts], which ascends, the number
    of entries that are at most x.
    """

    attribute: int
    coefficient: Integer = 1
    divide: Integer = 1
    table: int | None = None
    cuts: int | None = None

    def __post_init__(self) -> None:
        _check_range(self.coefficient, 0, LARGEST, "a coefficient")
        _check_range(self.divide, 1, LARGEST, "a divisor")
        looks = (self.divide != 1, self.table is not None, self.cuts is not None)
        require(sum(looks) <= 1, "a term is divided, looked up, or cut")


@dataclass(frozen=True)
class Digit:
    """plus + the sum of the terms; looked up in a table, reduced modulo radix, where it says so.

    Without `modulus` it must be below radix whatever the record.
    """

    terms: tuple[Term, ...]
    radix: Integer
    plus: Integer = 0
    table: int | None = None
    modulus: bool = False

    def __post_init__(self) -> None:
        _check_range(self.radix, 1, LARGEST_RADIX, "a radix")
        _check_range(self.plus, 0, LARGEST, "what a digit adds")

    def integers(self) -> Iterator[Integer]:
        """Every integer that may vary."""
        yield from (self.radix, self.plus)
        for term in self.terms:
            yield from (term.coefficient, term.divide)


@dataclass(frozen=True)
class Hash:
    """((a + 1) x^-1 + c mod prime) mod values, where coins a, c are drawn below prime - 1, prime.

    x^-1 is x^(prime - 2) modulo prime, and 0 for 0: neighbours would collide three at a time
    without the inverse (docs/spec/h4mda.md#1.6).
    """

    kind: ClassVar[str] = "hash"
    prime: Integer
    values: Integer
    slope: int
    shift: int

    def __post_init__(self) -> None:
        _check_range(self.prime, 2, LARGEST_PRIME, "the modulus of a hash")
        _check_range(self.values, 2, LARGEST_RADIX, "the number of hash values")
        primes = {self.prime} if isinstance(self.prime, int) else set(self.prime.values)
        require(len(primes) <= 1 << 12, "too many moduli of hashes")
        require(all(map(is_prime, primes)), "the modulus of a hash is not a prime number")


@dataclass(frozen=True)
class Parity:
    """The parity of the bits that (times * coin + plus) and the flat symbol have in common."""

    kind: ClassVar[str] = "parity"
    coin: int
    times: Integer = 1
    plus: Integer = 0

    def __post_init__(self) -> None:
        _check_range(self.times, 1, LARGEST_RADIX, "a factor")
        _check_range(self.plus, 0, LARGEST_RADIX, "what a row adds")


Then = Hash | Parity | None


def is_prime(number: int) -> bool:
    """Whether a number below 2^32 is prime: Miller and Rabin's test, certain for these bases."""
    if number < 8 or number % 2 == 0:
        return number in (2, 3, 5, 7)
    odd = (number - 1) >> (twos := ((number - 1) & -(number - 1)).bit_length() - 1)
    for base in (2, 3, 5, 7):
        power = pow(base, odd, number)
        powers = [pow(power, 1 << i, number) for i in range(twos)]
        if base % number and power != 1 and number - 1 not in powers:
            return False
    return number != 3215031751


# -- responses: how a symbol is answered ----------------------------------------------------------


@dataclass(frozen=True)
class Arcs:
    """A subset response whose base set is a product of intervals of offsets from 0.

    odds: number of the odds among the plan's.  counts: per digit, the length of its interval.
    """

    kind: ClassVar[str] = "arcs"
    odds: int
    counts: tuple[Integer, ...]


@dataclass(frozen=True)
class Comb:
    """A subset response on one digit of m values with a window and comb as its base set:

    {u < window, ((tooth (u - window // 2) mod m) // gcd + width // 2) mod (m / gcd) < width},
    where gcd is that of tooth and m (docs/spec/fourier.md#2.3).
    """

    kind: ClassVar[str] = "comb"
    odds: int
    tooth: Integer
    window: Integer
    width: Integer

    @property
    def numbers(self) -> tuple[Integer, ...]:
        """What determines the base set."""
        return (self.tooth, self.window, self.width)


@dataclass(frozen=True)
class Scrambled:
    """A subset response whose base set is scattered over all digits but the last.

    The elements of the first digits have ranks (`scrambled_ranks`). Where the last digit has one
    value, those with a rank below `length` are in the base set; else each turns an interval of
    `length` on the last digit by its rank (docs/spec/fourier.md#2.3).
    """

    kind: ClassVar[str] = "scrambled"
    odds: int
    length: Integer
    seed: Integer
    flips: Integer

    @property
    def numbers(self) -> tuple[Integer, ...]:
        """What determines the base set."""
        return (self.length, self.seed, self.flips)


_MOST_KEPT = 1 << 16


@lru_cache(maxsize=16)
def _ranks(size: int, seed: int) -> Integers:
    """Ranks of so many elements before any reflection (`scrambled_ranks`)."""
    prefix = b"ldpsql scrambled" + seed.to_bytes(8, "big")
    blocks = (hashlib.sha256(prefix + i.to_bytes(8, "big")).digest() for i in range(-(-size // 4)))
    words = np.frombuffer(b"".join(blocks), dtype=">u8")[:size]
    ranks = np.empty(size, dtype=np.int64)
    ranks[np.argsort(words, kind="stable")] = np.arange(size)
    ranks.setflags(write=False)
    return ranks


def scrambled_ranks(shape: tuple[int, ...], seed: int, flips: int) -> Integers:
    """A permutation of the elements of a product of circles that any language can make.

    Element i has word i mod 4 (64 bits, big-endian) of SHA-256("ldpsql scrambled" seed, i // 4),
    both numbers as 8 bytes, big-endian; its rank is that of its word. flips: bit j set where
    digit j is reflected (c to -c) afterwards.
    """
    size = math.prod(shape)
    ranks = _ranks(size, seed) if size <= _MOST_KEPT else _ranks.__wrapped__(size, seed)
    grid = ranks.reshape(shape)
    for axis in range(len(shape)):
        if flips >> axis & 1:
            grid = np.roll(np.flip(grid, axis), 1, axis)
    return np.asarray(grid.ravel())


def base_points(kind: str, radices: tuple[int, ...], numbers: tuple[int, ...]) -> Integers:
    """A listed base set as flat offsets, ascending, from the numbers of its rule."""
    if kind == "comb":
        (order,), (tooth, window, width) = radices, numbers
        offsets, shared = np.arange(order), math.gcd(tooth, order)
        place = (tooth * (offsets - window // 2) % order) // shared
        is_tooth = (place + width // 2) % (order // shared) < width
        return np.flatnonzero((offsets < window) & is_tooth)
    (*shape, circle), (length, seed, flips) = radices, numbers
    ranks = scrambled_ranks(tuple(shape), seed, flips)
    if circle == 1:
        return np.flatnonzero(ranks < length)
    turns = ranks * circle // len(ranks)
    return np.flatnonzero((np.arange(circle) + turns[:, None]) % circle < length)


Subset = Arcs | Comb | Scrambled


@dataclass(frozen=True)
class Rung:
    """`width` words for each combination of new values of the digits in `drawn`; others stay."""

    width: int
    drawn: tuple[int, ...] = ()


@dataclass(frozen=True)
class Ladder:
    """A response that depends on which digits are below `held`, their sensitive values.

    rungs: per class, a number whose bit j says that digit j is below held[j], the rungs of its
    ladder; the last one of each gets what is left of the words. A rung draws some digits anew
    from their sensitive values. Source: docs/spec/uldp.md#6.4.
    """

    kind: ClassVar[str] = "ladder"
    held: tuple[int, ...]
    rungs: tuple[tuple[Rung, ...], ...]

    def __post_init__(self) -> None:
        digits = len(self.held)
        require(1 <= digits <= 6 and len(self.rungs) == 1 << digits, "a ladder for every class")
        lengths = {len(ladder) for ladder in self.rungs}
        require(len(lengths) == 1 and 0 not in lengths, "ladders of one length")
        require(all(1 <= held <= LARGEST_RADIX for held in self.held), "sensitive values")
        for ladder in self.rungs:
            require(all(set(rung.drawn) <= set(range(digits)) for rung in ladder), "drawn digits")
            require(all(0 <= rung.width <= WORDS for rung in ladder), "the width of a rung")
            rest = WORDS - sum(rung.width * self.points(rung) for rung in ladder[:-1])
            require(rest >= 0 and ladder[0].width > 0, "the words of a ladder")
            is_kept = not ladder[-1].drawn and ladder[-1].width <= rest
            require(is_kept, "the last rung of a ladder keeps the symbol")

    def points(self, rung: Rung) -> int:
        """How many combinations a rung draws from; none where it has no words."""
        return math.prod(self.held[j] for j in rung.drawn) if rung.width else 0

    @cached_property
    def columns(self) -> tuple[list[Words], list[Words], list[Integers]]:
        """Rung by rung: the last word, words per point, and points (1 where it is empty) of every
        class, shape (classes,) each."""
        lasts, widths, points = [], [], []
        ends = [0] * len(self.rungs)
        for number in range(len(self.rungs[0])):
            ladder = [rungs[number] for rungs in self.rungs]
            is_last = number == len(self.rungs[0]) - 1
            ends = [
                WORDS if is_last else end + rung.width * self.points(rung)
                for end, rung in zip(ends, ladder, strict=True)
            ]
            lasts.append(np.array([end - 1 for end in ends], dtype=np.uint64))
            # A width of 2^64, that of the only point, does not fit; one less means the same.
            width = [min(max(rung.width, 1), WORDS - 1) for rung in ladder]
            widths.append(np.array(width, dtype=np.uint64))
            points.append(np.array([max(self.points(rung), 1) for rung in ladder]))
        return lasts, widths, points

    @cached_property
    def is_drawn(self) -> NDArray[np.bool_]:
        """Which digits are drawn anew, shape (classes, rungs, digits)."""
        digits = range(len(self.held))
        return np.array(
            [[[j in rung.drawn for j in digits] for rung in ladder] for ladder in self.rungs]
        )


@dataclass(frozen=True)
class Rows:
    """A row of words per symbol, one entry per answer; every row sums to WORDS."""

    kind: ClassVar[str] = "rows"
    rows: tuple[tuple[int, ...], ...]

    def __post_init__(self) -> None:
        lengths = {len(row) for row in self.rows}
        require(len(lengths) == 1 and 0 not in lengths, "rows of one length")
        require(all(min(row) >= 0 and sum(row) == WORDS for row in self.rows), "a row of words")

    @property
    def table(self) -> Rows:
        """Itself; see `Staircase`."""
        return self

    @cached_property
    def starts(self) -> tuple[Words, NDArray[np.bool_]]:
        """First word of every answer modulo WORDS, and whether it lies behind all words; both of
        shape (symbols, answers)."""
        first = [list(accumulate(row[:-1], initial=0)) for row in self.rows]
        is_beyond = np.array([[start == WORDS for start in row] for row in first])
        return np.array([[s % WORDS for s in row] for row in first], dtype=np.uint64), is_beyond


@dataclass(frozen=True)
class Staircase:
    """Rows by a rule: an answer has `weight` words, and a favoured symbol floor(weight favour /
    WORDS) of it. What is left of a symbol's words goes to answers that do not favour it, in their
    order, each up to the words of a favoured one (docs/spec/rr-optimum.md#2.2).

    favoured: per answer the symbols that it favours, a bit each, 32 to a number.
    """

    kind: ClassVar[str] = "staircase"
    symbols: int
    favour: int
    weights: tuple[int, ...]
    favoured: tuple[tuple[int, ...], ...]

    def __post_init__(self) -> None:
        require(self.symbols <= 1 << 12, "a staircase of too many symbols")
        require(self.symbols * len(self.weights) <= MOST_QUESTIONS, "too large a staircase")
        require(len(self.weights) == len(self.favoured), "symbols that every answer favours")
        enough = min(map(len, self.favoured), default=0) * 32 >= self.symbols > 0
        require(enough, "a bit for every symbol")
        require(min(self.weights) > 0 and self.favour >= WORDS, "the weights of a staircase")
        self.table  # noqa: B018  checks the sums

    @cached_property
    def table(self) -> Rows:
        """The rows."""
        return Rows(tuple(self._row(symbol) for symbol in range(self.symbols)))

    def _row(self, symbol: int) -> tuple[int, ...]:
        most = [weight * self.favour // WORDS for weight in self.weights]
        is_favoured = [bits[symbol // 32] >> symbol % 32 & 1 for bits in self.favoured]
        row = [m if f else w for m, f, w in zip(most, is_favoured, self.weights, strict=True)]
        left = WORDS - sum(row)
        for answer, favoured in enumerate(is_favoured):
            more = 0 if favoured else max(min(left, most[answer] - row[answer]), 0)
            row[answer], left = row[answer] + more, left - more
        require(left == 0, "the weights of a staircase do not sum to 2^64")
        return tuple(row)


@dataclass(frozen=True)
class Bits:
    """A bit per value of the symbol: set where its word is below `own` for the person's, else
    `other`. One threshold for all bits, or one per bit."""

    kind: ClassVar[str] = "bits"
    own: tuple[int, ...]
    other: tuple[int, ...]

    def __post_init__(self) -> None:
        for thresholds in (self.own, self.other):
            require(
                1 <= len(thresholds) <= MOST_BITS
                and all(0 <= threshold < WORDS for threshold in thresholds),
                "the threshold of a bit",
            )
        kinds = max(len(set(self.own)), len(set(self.other)))
        require(kinds <= 16, "too many different thresholds of bits")


@dataclass(frozen=True)
class Keep:
    """The symbol as it is. Nothing is promised."""

    kind: ClassVar[str] = "keep"


Response = Subset | Ladder | Rows | Staircase | Bits | Keep


@lru_cache(maxsize=1 << 16)
def subset_words(base: int, size: int, odds: int) -> tuple[int, int]:
    """Words for every point of a base set, and for every other of `size` points.

    odds: e^epsilon as n / WORDS. A point inside has at most e^epsilon times the words of one
    outside; what is left goes to the last one outside (inside, where there is no other), so that
    its own chance is at most `left` words higher. docs/format.md#subset derives the bounds.
    """
    if base == size:
        return WORDS // base, 0
    first = WORDS * WORDS // (base * odds + (size - base) * WORDS)
    inside = first * odds // WORDS
    return inside, (WORDS - base * inside) // (size - base)


# -- questions ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Part:
    """A symbol and the response to it.

    fakes: so many numbers are drawn evenly below the radix and sorted together with the answer.
    """

    digits: tuple[Digit, ...]
    response: Response
    then: Then = None
    fakes: int = 0

    def __post_init__(self) -> None:
        require(1 <= len(self.digits) <= 64, "a part has 1 to 64 digits")
        require(0 <= self.fakes <= 64, "a part has at most 64 fakes")
        radices, response = self.radices, self.response
        sizes = math.prod(map(largest, radices))
        require(sizes < LARGEST_RADIX, f"a part has {LARGEST_RADIX} values or more")
        if isinstance(response, Arcs):
            require(len(response.counts) == len(radices), "an interval for every digit")
            for count, radix in zip(response.counts, radices, strict=True):
                fits = compare(count, radix, lambda a, b: bool(((a >= 1) & (a <= b)).all()))
                require(fits, "an interval is longer than its circle")
        elif isinstance(response, Comb | Scrambled):
            require(not isinstance(response, Comb) or len(radices) == 1, "a comb has one digit")
            require(not isinstance(response, Scrambled) or len(radices) > 1, "a scrambled circle")
            require(sizes <= LARGEST_LISTED, "a listed base set is too large")
            for number in response.numbers:
                _check_range(number, 0, LARGEST_LISTED, "a number of a base set")
            if isinstance(response, Comb):
                _check_range(response.window, 1, LARGEST_LISTED, "a window")
                _check_range(response.width, 1, LARGEST_LISTED, "the width of a tooth")
        elif isinstance(response, Ladder):
            require(len(response.held) == len(radices), "sensitive values for every digit")
            fits = all(held <= least(r) for held, r in zip(response.held, radices, strict=True))
            require(fits, "more sensitive values than values")
        elif isinstance(response, Rows | Staircase):
            require(sizes <= len(response.table.rows), "a row for every symbol")
        elif isinstance(response, Bits):
            require(sizes <= MOST_BITS, f"at most {MOST_BITS} bits")
            lengths = {len(response.own), len(response.other)}
            require(lengths <= {1, sizes}, "a threshold for every bit, or one for all")
        require(not self.fakes or isinstance(response, Keep), "fakes go with answers that are kept")

    @cached_property
    def radices(self) -> tuple[Integer, ...]:
        """Values of every digit of the symbol that is answered."""
        if isinstance(self.then, Hash):
            return (self.then.values,)
        return (2,) if isinstance(self.then, Parity) else tuple(d.radix for d in self.digits)

    def integers(self) -> Iterator[Integer]:
        """The integers that the response depends on."""
        yield from self.radices
        if isinstance(self.response, Arcs):
            yield from self.response.counts
        if isinstance(self.response, Comb | Scrambled):
            yield from self.response.numbers

    @property
    def words(self) -> int:
        """Words of 64 bits that the answer takes."""
        if isinstance(self.response, Bits):
            return math.prod(map(largest, self.radices))
        return self.fakes + (0 if isinstance(self.response, Keep) else 1)

    @property
    def columns(self) -> int:
        """Columns of the report that the answer fills."""
        if isinstance(self.response, Bits):
            return -(-math.prod(map(largest, self.radices)) // BITS_PER_COLUMN)
        return 1 + self.fakes

    @property
    def attributes(self) -> frozenset[int]:
        """The attributes that the symbol depends on."""
        return frozenset(
            t.attribute for d in self.digits for t in d.terms if largest(t.coefficient)
        )


def compare(one: Integer, other: Integer, holds: Callable[[Integers, Integers], bool]) -> bool:
    """Whether something holds of two integers in all combinations of choices."""
    a, b = (
        np.array([integer]) if isinstance(integer, int) else integer.array
        for integer in (one, other)
    )
    if isinstance(one, Varying) and isinstance(other, Varying):
        if one.step != other.step:
            a = a[:, None]
        elif len(a) != len(b):
            return False
    return holds(a, b)


@dataclass(frozen=True)
class Step:
    """A table of weights, drawn from without looking at the record.

    mantissas, exponents: the weight of a choice is mantissa 2^exponent; all exponents are 0 where
    there are none.  secret: the choice is no part of the report.
    """

    mantissas: tuple[int, ...]
    exponents: tuple[int, ...] = ()
    secret: bool = False

    def __post_init__(self) -> None:
        require(1 <= len(self.mantissas) <= MOST_QUESTIONS, "a step has no choices, or too many")
        require(len(self.exponents) in (0, len(self.mantissas)), "an exponent for every weight")
        require(max(self.exponents, default=0) <= 64, "an exponent is at most 64")
        require(min(self.mantissas) > 0, "the weight of a choice is not positive")
        require(sum(self.weights) <= WORDS, "the weights of a step are too large")
        require(min(self.choice.preimages) > 0, "the weights of a step")

    @cached_property
    def weights(self) -> tuple[int, ...]:
        """The weight of every choice."""
        if not self.exponents:
            return self.mantissas
        return tuple(m << e for m, e in zip(self.mantissas, self.exponents, strict=True))

    @cached_property
    def choice(self) -> Choice:
        """How the halves of words mean the choices."""
        return Choice(self.weights)


@dataclass(frozen=True)
class Choice:
    """One of several alternatives by a half of a word, a number of 32 bits.

    With the partial sums C of the weights and their total W, alternative i begins at
    floor(C_i HALVES / W), where C_0 = 0.
    """

    weights: tuple[int, ...]

    def __post_init__(self) -> None:
        require(min(self.preimages) > 0, "a weight is less than 2^-32 of all")

    @cached_property
    def starts(self) -> tuple[int, ...]:
        """The first half that means each alternative, and HALVES."""
        total = sum(self.weights)
        return tuple(sums * HALVES // total for sums in accumulate(self.weights, initial=0))

    @cached_property
    def preimages(self) -> tuple[int, ...]:
        """How many halves mean each alternative; they sum to HALVES."""
        return tuple(end - start for start, end in pairwise(self.starts))

    @cached_property
    def cuts(self) -> NDArray[np.uint32]:
        """The first half of every alternative but the first, shape (alternatives - 1,)."""
        return np.array(self.starts[1:-1], dtype=np.uint32)

    @cached_property
    def _guide(self) -> tuple[Integers, NDArray[np.bool_]]:
        """By the upper 16 bits of a half: an alternative, and whether all such halves mean it."""
        low = np.arange(1 << 16, dtype=np.uint32) << np.uint32(16)
        first = np.searchsorted(self.cuts, low, side="right")
        last = np.searchsorted(self.cuts, low | np.uint32(0xFFFF), side="right")
        return first, first == last

    def find(self, halves: NDArray[np.uint32]) -> Integers:
        """The alternative of every half; a guide by their upper bits answers most of many."""
        if len(self.weights) == 1:
            return np.zeros(len(halves), dtype=np.int64)
        if len(halves) < 1 << 12:
            return np.searchsorted(self.cuts, halves, side="right")
        first, is_decided = self._guide
        bucket = halves >> np.uint32(16)
        found = first.take(bucket)
        open_ = np.flatnonzero(~is_decided.take(bucket))
        found[open_] = np.searchsorted(self.cuts, halves[open_], side="right")
        return found


@dataclass(frozen=True)
class Face:
    """Questions of one shape: one choice per step, coins drawn below their ranges, and parts."""

    weight: int
    parts: tuple[Part, ...]
    steps: tuple[Step, ...] = ()
    coins: tuple[Integer, ...] = ()

    def __post_init__(self) -> None:
        require(1 <= self.weight <= WORDS, "the weight of a face is not positive")
        require(len(self.parts) > 0, "a face without parts")
        require(len(self.steps) <= 64 and len(self.coins) <= 64, "too many steps or coins")
        require(self.choices <= MOST_QUESTIONS, "a face has too many questions")
        for coin in self.coins:
            _check_range(coin, 1, 1 << 32, "the range of a coin")
        for integer in self.integers():
            if isinstance(integer, Varying):
                require(0 <= integer.step < len(self.steps), "a column over an unknown step")
                fits = len(integer.values) == len(self.steps[integer.step].mantissas)
                require(fits, "a column has one number per choice of its step")
        for part in self.parts:
            self._check_then(part.then)

    def _check_then(self, then: Then) -> None:
        if isinstance(then, Parity):
            require(0 <= then.coin < len(self.coins), "a parity without its coin")
        if isinstance(then, Hash):
            known = range(len(self.coins))
            require(then.slope in known and then.shift in known, "a hash without its coins")
            slope, shift = self.coins[then.slope], self.coins[then.shift]
            one_less = compare(slope, then.prime, lambda a, b: bool((a == b - 1).all()))
            same = compare(shift, then.prime, lambda a, b: bool((a == b).all()))
            require(one_less and same, "the coins of a hash do not fit its prime")

    def integers(self) -> Iterator[Integer]:
        """Every integer that may vary."""
        yield from self.coins
        for part in self.parts:
            for digit in part.digits:
                yield from digit.integers()
            if isinstance(part.then, Hash):
                yield part.then.prime
            if isinstance(part.then, Parity):
                yield from (part.then.times, part.then.plus)
            yield from part.integers()

    @cached_property
    def choices(self) -> int:
        """Combinations of choices, those of secret steps included."""
        return math.prod(len(step.mantissas) for step in self.steps)

    @cached_property
    def questions(self) -> int:
        """Combinations of the choices that are reported."""
        return math.prod(len(step.mantissas) for step in self.steps if not step.secret)

    def combinations(self) -> list[Integers]:
        """Per step the choice in every combination, shape (choices,); first step slowest."""
        shape = tuple(len(step.mantissas) for step in self.steps)
        return list(np.unravel_index(np.arange(self.choices), shape)) if shape else []

    def question_of(self, choices: Choices, count: int) -> Integers:
        """Number within the face of every person's question, shape (count,)."""
        number = np.zeros(count, dtype=np.int64)
        for step, choice in zip(self.steps, choices, strict=True):
            if not step.secret:
                number = number * len(step.mantissas) + choice
        return number


@dataclass(frozen=True)
class Plan:
    """All that devices need to answer a survey.

    sizes: codes of every attribute of an encoded record: dimensions, then measures.  odds: the
    budgets' e^epsilon as n / WORDS.  tables: look-up tables.
    """

    sizes: tuple[int, ...]
    odds: tuple[int, ...]
    faces: tuple[Face, ...]
    tables: tuple[tuple[int, ...], ...] = field(default=())

    def __post_init__(self) -> None:
        require(len(self.sizes) > 0 and min(self.sizes) >= 1, "attributes without codes")
        require(all(WORDS <= odds <= WORDS << 30 for odds in self.odds), "odds below 1")
        require(0 < len(self.faces) <= 1 << 14, "no face, or too many")
        require(sum(face.weight for face in self.faces) <= WORDS, "the weights are too large")
        require(self.questions <= MOST_QUESTIONS, "too many questions")
        # Bounds of what checks, odds and limits take: entries of columns, and of listed sets.
        digits = ((f.choices, d) for f in self.faces for p in f.parts for d in p.digits)
        require(sum(n * (1 + len(d.terms)) for n, d in digits) <= MOST_ENTRIES, "too many digits")
        require(self.questions * len(self.columns) <= MOST_ENTRIES, "too many columns")
        combs = [(f.choices, math.prod(map(largest, p.radices))) for f, p in self._combs()]
        require(sum(n for n, _ in combs) <= 1 << 15, "too many combs")
        require(sum(n * size for n, size in combs) <= MOST_ENTRIES, "too many points of combs")
        require(min(self.face_choice.preimages) > 0, "the weights of faces")
        fits = all(table and max(table) < LARGEST for table in self.tables)
        require(fits, "a table of whole numbers below 2^53")
        parts = [(face, part) for face in self.faces for part in face.parts]
        require(len(parts) <= 1 << 15, "too many parts")
        steps = sum(face.choices * len(face.steps) for face in self.faces)
        require(steps <= MOST_ENTRIES >> 2, "too many steps")
        rows = [p.response.table.rows for _, p in parts if isinstance(p.response, Rows | Staircase)]
        require(sum(len(r) * len(r[0]) for r in rows) <= MOST_QUESTIONS, "too many rows of words")
        ladders = [part for _, part in parts if isinstance(part.response, Ladder)]
        require(len(ladders) <= 64, "too many ladders")
        for face, part in parts:
            self._check_part(face, part)

    def _combs(self) -> Iterator[tuple[Face, Part]]:
        return ((f, p) for f in self.faces for p in f.parts if isinstance(p.response, Comb))

    def _check_part(self, face: Face, part: Part) -> None:
        response = part.response
        if isinstance(response, Subset):
            require(0 <= response.odds < len(self.odds), "a response with unknown odds")
        if isinstance(response, Scrambled):
            # The base set is neither empty nor larger than what it is scattered over.
            circle, most = self._values(part.radices[-1], face), self._values(1, face)
            for radix in part.radices[:-1]:
                most = most * self._values(radix, face)
            length = self._values(response.length, face)
            fits = (length >= 1) & (length <= np.where(circle > 1, circle, most))
            require(bool(fits.all()), "the length of a scrambled interval")
        if isinstance(response, Comb):
            radix = self._values(part.radices[0], face)
            for number in (response.tooth, response.window):
                fits = self._values(number, face) <= radix
                require(bool(fits.all()), "a number of a comb is larger than its circle")
        for digit in part.digits:
            require(len(digit.terms) <= len(self.sizes), "a digit with too many terms")
            top = np.zeros(face.choices) + self._values(digit.plus, face)
            for term in digit.terms:
                top = top + self._values(term.coefficient, face) * self.most(term, face)
            require(bool((top < LARGEST).all()), "a digit exceeds 2^53")
            if digit.table is not None:
                table = self._table(digit.table)
                require(bool((top < len(table)).all()), "a table is shorter than its digit")
                top = top * 0 + self._tops[digit.table]
            fits = digit.modulus or bool((top < self._values(digit.radix, face)).all())
            require(fits, "a symbol can exceed its radix")
        flat = math.prod(largest(digit.radix) for digit in part.digits)
        require(flat <= LARGEST_RADIX, f"a symbol has more than {LARGEST_RADIX} values")
        if isinstance(part.then, Hash):
            sizes = self._values(1, face)
            for digit in part.digits:
                sizes = sizes * self._values(digit.radix, face)
            fits = bool((sizes <= self._values(part.then.prime, face)).all())
            require(fits, "a hash of more values than its prime")

    def _values(self, integer: Integer, face: Face) -> Any:
        """An integer per combination of choices, or one for all; floats, exact below 2^53."""
        if isinstance(integer, int):
            return np.float64(integer)
        shape = [1] * len(face.steps)
        shape[integer.step] = -1
        sizes = tuple(len(step.mantissas) for step in face.steps)
        return np.broadcast_to(integer.array.reshape(shape), sizes).astype(float).ravel()

    def most(self, term: Term, face: Face) -> Any:
        """The largest value of a term without its coefficient."""
        require(0 <= term.attribute < len(self.sizes), "a term about an unknown attribute")
        size = self.sizes[term.attribute]
        if term.table is not None:
            table = self._table(term.table)
            require(len(table) >= size, "a table is shorter than its attribute")
            return self._tops[term.table]
        if term.cuts is not None:
            table = self._table(term.cuts)
            require(self._ascends[term.cuts], "cuts must ascend")
            return len(table)
        return (size - 1) // self._values(term.divide, face)

    def _table(self, number: int) -> tuple[int, ...]:
        require(0 <= number < len(self.tables), "a table that is missing")
        return self.tables[number]

    @cached_property
    def _tops(self) -> tuple[int, ...]:
        """The largest entry of every table."""
        return tuple(map(max, self.tables))

    @cached_property
    def _ascends(self) -> tuple[bool, ...]:
        """Whether the entries of every table ascend."""
        return tuple(all(a < b for a, b in pairwise(table)) for table in self.tables)

    @cached_property
    def arrays(self) -> tuple[Integers, ...]:
        """The look-up tables as arrays."""
        return tuple(np.array(table, dtype=np.int64) for table in self.tables)

    @cached_property
    def face_choice(self) -> Choice:
        """How the first half of the first word means the faces."""
        return Choice(tuple(face.weight for face in self.faces))

    @cached_property
    def first_questions(self) -> tuple[int, ...]:
        """Number of the first question of every face, and how many there are."""
        return tuple(accumulate((face.questions for face in self.faces), initial=0))

    @property
    def questions(self) -> int:
        """How many questions there are."""
        return self.first_questions[-1]

    @cached_property
    def words(self) -> int:
        """Words of 64 bits that every device draws, whatever its question."""
        answers = max(sum(part.words for part in face.parts) for face in self.faces)
        return self.blind_words + self.coin_columns + answers

    @cached_property
    def blind_words(self) -> int:
        """Words whose halves choose the face and what is drawn in its steps."""
        return max(len(face.steps) for face in self.faces) // 2 + 1

    @cached_property
    def coin_columns(self) -> int:
        """Columns of a report that hold coins."""
        return max(len(face.coins) for face in self.faces)

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """Names of a report's columns: question, coins, answers."""
        answers = max(sum(part.columns for part in face.parts) for face in self.faces)
        coins = tuple(f"coin{number}" for number in range(self.coin_columns))
        return ("question", *coins, *(f"answer{number}" for number in range(answers)))

    @cached_property
    def limits(self) -> Integers:
        """Exclusive limit of every column but the first, shape (questions, columns - 1).

        Columns that a question does not fill hold 0.
        """
        limits = np.ones((self.questions, len(self.columns) - 1), dtype=np.int64)
        for first, face in zip(self.first_questions, self.faces, strict=False):
            rows = limits[first : first + face.questions]
            # Of combinations that differ in secret choices only, the largest limits stand.
            choices = face.combinations()
            place = face.question_of(choices, face.choices)
            for number, coin in enumerate(face.coins):
                np.maximum.at(rows[:, number], place, value_of(coin, choices))
            column = self.coin_columns
            for part in face.parts:
                size: Whole = 1
                for radix in part.radices:
                    size = size * value_of(radix, choices)
                if isinstance(part.response, Rows | Staircase):
                    size = len(part.response.table.rows[0])
                for number in range(part.columns):
                    if isinstance(part.response, Bits):
                        left = np.clip(size - BITS_PER_COLUMN * number, 0, BITS_PER_COLUMN)
                        np.maximum.at(rows[:, column + number], place, np.left_shift(1, left))
                    else:
                        np.maximum.at(rows[:, column + number], place, size)
                column += part.columns
        return limits
