"""The plan of a survey: whole numbers that say which questions there are and how each is answered.

A device draws a *question* without looking at the record, answers it, and reports its number, the
coins drawn for it, and the answers. The language is specified in docs/format.md#plan. Every object
checks itself when it is made, its fields by the limits in their types, and raises SurveyError.
"""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields
from functools import cached_property, lru_cache
from itertools import accumulate
from operator import lshift, sub
from types import NoneType
from typing import Annotated, Any, ClassVar, NamedTuple, get_args, get_origin, get_type_hints

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
MOST_NUMBERS, MOST_PIECES = 1 << 22, 1 << 18
BITS_PER_COLUMN = 32

Integers = NDArray[np.int64]
Whole = int | Integers
"""A number that is the same for everybody, or one per person."""
Choices = Sequence[Integers] | Mapping[int, Integers]
"""By step of a face what was drawn in it, one per person."""


def require(holds: bool | NDArray[np.bool_], problem: str) -> None:
    """SurveyError that says what is wrong with a plan, unless it holds, or all of it does."""
    if not (holds if isinstance(holds, bool) else holds.all()):
        raise SurveyError(f"the plan cannot be used: {problem}")


# -- integers -------------------------------------------------------------------------------------


class Piece:
    """An object of the language: a dataclass whose fields say by their types what they hold."""

    def __post_init__(self) -> None:
        for name, declared in declared_fields(type(self)).items():
            if declared.limits and (numbers := getattr(self, name)) != ():
                (low, high), (least, most) = declared.limits, extent(numbers)
                what = f"the {name} of a {type(self).__name__.lower()}"
                require(low <= least and most <= high, f"{what} must lie between {low} and {high}")
        self._check()

    def _check(self) -> None:
        """SurveyError unless the fields go together; finds those that are to `derive`."""


def derive() -> Any:
    """A field that its object finds from the others when it is made."""
    return field(init=False, repr=False, compare=False)


class Declared(NamedTuple):
    """A field: its type, the least and the largest number that it may hold, its default."""

    type: Any
    limits: tuple[int, int] | tuple[()]
    default: Any


def _declare_fields(kind: Any) -> Mapping[str, Declared]:
    """The fields of a class of the language that its constructor takes, by name."""
    plain, hints = get_type_hints(kind), get_type_hints(kind, include_extras=True)
    limits = {name: getattr(hint, "__metadata__", ((),))[0] for name, hint in hints.items()}
    taken = (field for field in fields(kind) if field.init)
    return {f.name: Declared(plain[f.name], limits[f.name], f.default) for f in taken}


declared_fields: Callable[[Any], Mapping[str, Declared]] = lru_cache(maxsize=64)(_declare_fields)


@dataclass(frozen=True)
class Varying(Piece):
    """An integer of a face that depends on what was drawn in one of its steps: one per choice.

    array: the values, shape (choices,).  extent: the smallest and the largest of them.
    """

    step: int
    values: tuple[int, ...]
    array: Integers = derive()
    extent: tuple[int, int] = derive()

    def _check(self) -> None:
        low, high = (min(self.values), max(self.values)) if self.values else (-1, 0)
        require(low >= 0 and high <= LARGEST, f"a column without numbers from 0 to {LARGEST}")
        vars(self).update(array=np.array(self.values, dtype=np.int64), extent=(low, high))


Integer = int | Varying


def value_of(integer: Integer, choices: Choices) -> Whole:
    """An integer for what every person drew."""
    return integer if isinstance(integer, int) else integer.array.take(choices[integer.step])


def product_of(integers: Iterable[Integer], choices: Choices) -> Whole:
    """The product of integers for what every person drew."""
    product: Whole = 1
    for integer in integers:
        product = product * value_of(integer, choices)
    return product


def extent(integers: Integer | tuple[Integer, ...]) -> tuple[int, int]:
    """The smallest and the largest value that an integer, or any of several, can have."""
    if isinstance(integers, int | Varying):
        return (integers, integers) if isinstance(integers, int) else integers.extent
    if set(map(type, integers)) == {int}:  # long columns of plain numbers at once
        return min(integers), max(integers)  # type: ignore[type-var, return-value]
    lows, highs = zip(*map(extent, integers), strict=True)
    return min(lows), max(highs)


def find_columns(value: Any) -> Iterator[Varying]:
    """Every column within objects of a plan."""
    if isinstance(value, Varying):
        yield value
    elif isinstance(value, Piece):
        for name in declared_fields(type(value)):
            yield from find_columns(getattr(value, name))
    elif isinstance(value, tuple):
        for entry in (each for each in value if not isinstance(each, int)):  # most are
            yield from find_columns(entry)


# -- symbols: what of the record a question is about ----------------------------------------------


@dataclass(frozen=True)
class Term(Piece):
    """coefficient * look(x) for the code x of an attribute.

    The look is x // divide; or tables[table][x]; or, of tables[cuts], which ascends, the number
    of entries that are at most x.
    """

    attribute: int
    coefficient: Annotated[Integer, (0, LARGEST)] = 1
    divide: Annotated[Integer, (1, LARGEST)] = 1
    table: int | None = None
    cuts: int | None = None

    def _check(self) -> None:
        looks = (self.divide != 1, self.table is not None, self.cuts is not None)
        require(sum(looks) <= 1, "a term is divided, looked up, or cut")


@dataclass(frozen=True)
class Digit(Piece):
    """plus + the sum of the terms; looked up in a table, reduced modulo radix, where it says so.

    Without `modulus` it must be below radix whatever the record.
    """

    terms: tuple[Term, ...]
    radix: Annotated[Integer, (1, LARGEST_RADIX)]
    plus: Annotated[Integer, (0, LARGEST)] = 0
    table: int | None = None
    modulus: bool = False


@dataclass(frozen=True)
class Hash(Piece):
    """((a + 1) x^-1 + c mod prime) mod values, where coins a, c are drawn below prime - 1, prime.

    x^-1 is x^(prime - 2) modulo prime, and 0 for 0: neighbours would collide three at a time
    without the inverse (docs/spec/h4mda.md#1.6).
    """

    kind: ClassVar[str] = "hash"
    prime: Annotated[Integer, (2, LARGEST_PRIME)]
    values: Annotated[Integer, (2, LARGEST_RADIX)]
    slope: int
    shift: int

    def _check(self) -> None:
        primes = {self.prime} if isinstance(self.prime, int) else set(self.prime.values)
        require(len(primes) <= 1 << 12, "too many moduli of hashes")
        require(all(map(is_prime, primes)), "the modulus of a hash is not a prime number")


@dataclass(frozen=True)
class Parity(Piece):
    """The parity of the bits that (times * coin + plus) and the flat symbol have in common."""

    kind: ClassVar[str] = "parity"
    coin: int
    times: Annotated[Integer, (1, LARGEST_RADIX)] = 1
    plus: Annotated[Integer, (0, LARGEST_RADIX)] = 0


Then = Hash | Parity | None


def is_prime(number: int) -> bool:
    """Whether a number below 2^26 is prime, by division."""
    return number > 1 and bool((number % np.arange(2, math.isqrt(number) + 1)).all())


# -- responses: how a symbol is answered ----------------------------------------------------------


@dataclass(frozen=True)
class Subset(Piece):
    """A response that favours a base set of offsets; odds: number of the odds among the plan's."""

    odds: int


@dataclass(frozen=True)
class Arcs(Subset):
    """The base set is a product of intervals of offsets from 0: `counts` are their lengths."""

    kind: ClassVar[str] = "arcs"
    counts: tuple[Integer, ...]


class ListedSubset(Subset):
    """A base set that is listed by a rule, `base_points`, from its numbers."""

    kind: ClassVar[str]

    @property
    def numbers(self) -> tuple[Integer, ...]:
        """The numbers that determine the base set."""
        return tuple(getattr(self, name) for name in declared_fields(type(self)) if name != "odds")


SetNumber = Annotated[Integer, (0, LARGEST_LISTED)]


@dataclass(frozen=True)
class Comb(ListedSubset):
    """A window and comb on one digit of m values:

    {u < window, ((tooth (u - window // 2) mod m) // gcd + width // 2) mod (m / gcd) < width},
    where gcd is that of tooth and m (docs/spec/fourier.md#2.3).
    """

    kind: ClassVar[str] = "comb"
    tooth: SetNumber
    window: SetNumber
    width: SetNumber


@dataclass(frozen=True)
class Scrambled(ListedSubset):
    """A base set that is scattered over all digits but the last.

    The elements of the first digits have ranks (`scrambled_ranks`). Where the last digit has one
    value, those with a rank below `length` are in the base set; else each turns an interval of
    `length` on the last digit by its rank (docs/spec/fourier.md#2.3).
    """

    kind: ClassVar[str] = "scrambled"
    length: SetNumber
    seed: SetNumber
    flips: SetNumber


def scrambled_ranks(shape: tuple[int, ...], seed: int, flips: int) -> Integers:
    """A permutation of the elements of a product of circles that any language can make.

    Element i has word i mod 4 (64 bits, big-endian) of SHA-256("ldpsql scrambled" seed, i // 4),
    both numbers as 8 bytes, big-endian; its rank is that of its word. flips: bit j set where
    digit j is reflected (c to -c) afterwards.
    """
    size, prefix = math.prod(shape), b"ldpsql scrambled" + seed.to_bytes(8, "big")
    blocks = (hashlib.sha256(prefix + i.to_bytes(8, "big")).digest() for i in range(-(-size // 4)))
    words = np.frombuffer(b"".join(blocks), dtype=">u8")[:size]
    grid = np.argsort(np.argsort(words, kind="stable")).reshape(shape)
    for axis in range(len(shape)):
        if flips >> axis & 1:
            grid = np.roll(np.flip(grid, axis), 1, axis)
    return grid.ravel()


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


def _word_table(kinds: Iterable[Sequence[tuple[int, int]]]) -> Words:
    """The table of `draw.Rungs` from (words per point, points) of every rung, for all kinds of
    people; the last rung of each takes what is left."""
    columns = []
    for rungs in kinds:
        ends = accumulate(width * points for width, points in rungs[:-1])
        lasts = [*(end - 1 for end in ends), WORDS - 1]
        # A width of 2^64, that of the only point, does not fit; one less means the same.
        widths = [min(max(width, 1), WORDS - 1) for width, _ in rungs]
        columns.append((lasts, widths, [max(points, 1) for _, points in rungs]))
    return np.array(columns, dtype=np.uint64).transpose(1, 2, 0)


@dataclass(frozen=True)
class Rung(Piece):
    """`width` words for each combination of new values of the digits in `drawn`; others stay."""

    width: Annotated[int, (0, WORDS)]
    drawn: tuple[int, ...] = ()


@dataclass(frozen=True)
class Ladder(Piece):
    """A response that depends on which digits are below `held`, their sensitive values.

    rungs: per class, a number whose bit j says that digit j is below held[j], the rungs of its
    ladder; the last one of each gets what is left of the words. A rung draws some digits anew
    from their sensitive values. Source: docs/spec/uldp.md#6.4.
    """

    kind: ClassVar[str] = "ladder"
    held: Annotated[tuple[int, ...], (1, LARGEST_RADIX)]
    rungs: tuple[tuple[Rung, ...], ...]

    def _check(self) -> None:
        digits = len(self.held)
        require(1 <= digits <= 6 and len(self.rungs) == 1 << digits, "a ladder for every class")
        lengths = {len(ladder) for ladder in self.rungs}
        require(len(lengths) == 1 and 0 not in lengths, "ladders of one length")
        for ladder in self.rungs:
            require(all(set(rung.drawn) <= set(range(digits)) for rung in ladder), "drawn digits")
            left = WORDS - sum(width * points for width, points in self._points(ladder[:-1]))
            require(left >= 0 and ladder[0].width > 0, "the words of a ladder")
            is_kept = not ladder[-1].drawn and ladder[-1].width <= left
            require(is_kept, "the last rung of a ladder keeps the symbol")

    def _points(self, ladder: Sequence[Rung]) -> list[tuple[int, int]]:
        """Words per point, and how many combinations every rung draws from; none without words."""
        counts = (math.prod(self.held[j] for j in rung.drawn) for rung in ladder)
        return [(r.width, count if r.width else 0) for r, count in zip(ladder, counts, strict=True)]

    @cached_property
    def table(self) -> Words:
        """The integers of `draw.Rungs` for every class, shape (3, rungs, classes)."""
        return _word_table(map(self._points, self.rungs))

    @cached_property
    def is_drawn(self) -> NDArray[np.bool_]:
        """Which digits are drawn anew, shape (classes, rungs, digits)."""
        digits = range(len(self.held))
        return np.array(
            [[[j in rung.drawn for j in digits] for rung in ladder] for ladder in self.rungs]
        )


@dataclass(frozen=True)
class RowsOfWords(Piece):
    """A row of words per symbol, one entry per answer; every row sums to WORDS."""

    kind: ClassVar[str] = "rows"
    rows: tuple[tuple[int, ...], ...]

    def _check(self) -> None:
        lengths = {len(row) for row in self.rows}
        require(len(lengths) == 1 and 0 not in lengths, "rows of one length")
        require(all(min(row) >= 0 and sum(row) == WORDS for row in self.rows), "a row of words")

    @cached_property
    def order(self) -> Integers:
        """The answers that the rungs of a symbol mean, those without words last, shape (symbols,
        answers)."""
        is_empty = np.array([[words == 0 for words in row] for row in self.rows])
        return np.argsort(is_empty, axis=1, kind="stable")

    @cached_property
    def table(self) -> Words:
        """The integers of `draw.Rungs` for every symbol: an answer is a rung of one point."""
        kinds = zip(self.rows, self.order.tolist(), strict=True)
        return _word_table([(row[answer], 1) for answer in order] for row, order in kinds)


@dataclass(frozen=True)
class Staircase(RowsOfWords):
    """Rows by a rule: an answer has `weight` words, and a favoured symbol floor(weight favour /
    WORDS) of it. What is left of a symbol's words goes to answers that do not favour it, in their
    order, each up to the words of a favoured one (docs/spec/rr-optimum.md#2.2).

    favoured: per answer the symbols that it favours, a bit each, 32 to a number.
    """

    kind: ClassVar[str] = "staircase"
    rows: tuple[tuple[int, ...], ...] = field(init=False)
    symbols: Annotated[int, (1, 1 << 12)]
    favour: Annotated[int, (WORDS, WORDS << 30)]
    weights: Annotated[tuple[int, ...], (1, WORDS << 30)]
    favoured: tuple[tuple[int, ...], ...]

    def _check(self) -> None:
        require(self.symbols * len(self.weights) <= MOST_QUESTIONS, "too large a staircase")
        require(len(self.weights) == len(self.favoured), "symbols that every answer favours")
        enough = min(map(len, self.favoured), default=0) * 32 >= self.symbols
        require(enough, "a bit for every symbol")
        largest = max(map(max, self.favoured), default=0)
        require(largest < 1 << 32, "32 symbols that an answer favours to a number")
        most = [weight * self.favour // WORDS for weight in self.weights]
        vars(self).update(rows=tuple(self._row(symbol, most) for symbol in range(self.symbols)))
        super()._check()

    def _row(self, symbol: int, most: Sequence[int]) -> tuple[int, ...]:
        is_favoured = [bits[symbol // 32] >> symbol % 32 & 1 for bits in self.favoured]
        row = [m if f else w for m, f, w in zip(most, is_favoured, self.weights, strict=True)]
        left = WORDS - sum(row)
        for answer in (answer for answer, f in enumerate(is_favoured) if not f and left > 0):
            more = min(left, most[answer] - row[answer])
            row[answer], left = row[answer] + more, left - more
        require(left == 0, "the weights of a staircase do not sum to 2^64")
        return tuple(row)


Thresholds = Annotated[tuple[int, ...], (0, WORDS - 1)]


@dataclass(frozen=True)
class Bits(Piece):
    """A bit per value of the symbol: set where its word is below `own` for the person's, else
    `other`. One threshold for all bits, or one per bit."""

    kind: ClassVar[str] = "bits"
    own: Thresholds
    other: Thresholds

    def _check(self) -> None:
        for thresholds in (self.own, self.other):
            require(1 <= len(thresholds) <= MOST_BITS, "the thresholds of bits")
            require(len(set(thresholds)) <= 16, "too many different thresholds of bits")


@dataclass(frozen=True)
class Keep(Piece):
    """The symbol as it is. Nothing is promised."""

    kind: ClassVar[str] = "keep"


Response = Arcs | Comb | Scrambled | Ladder | RowsOfWords | Staircase | Bits | Keep


# -- questions ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Part(Piece):
    """A symbol and the response to it.

    fakes: so many numbers are drawn evenly below the radix and sorted together with the answer.
    radices: values of every digit of the symbol that is answered.  size: values of the largest
    symbol.  words: words of 64 bits that the answer takes.  columns: those of the report that it
    fills.  attributes: those that the symbol depends on.
    """

    digits: tuple[Digit, ...]
    response: Response
    then: Then = None
    fakes: Annotated[int, (0, 64)] = 0
    radices: tuple[Integer, ...] = derive()
    size: int = derive()
    words: int = derive()
    columns: int = derive()
    attributes: frozenset[int] = derive()

    def _check(self) -> None:
        require(1 <= len(self.digits) <= 64, "a part has 1 to 64 digits")
        response, radices = self.response, tuple(digit.radix for digit in self.digits)
        if self.then is not None:
            radices = (self.then.values if isinstance(self.then, Hash) else 2,)
        size = math.prod(extent(radix)[1] for radix in radices)
        words, columns = self.fakes + (not isinstance(response, Keep)), 1 + self.fakes
        if isinstance(response, Bits):
            words, columns = size, -(-size // BITS_PER_COLUMN)
        terms = (term for digit in self.digits for term in digit.terms)
        read = frozenset(term.attribute for term in terms if extent(term.coefficient)[1])
        vars(self).update(radices=radices, size=size, words=words, columns=columns, attributes=read)
        require(size < LARGEST_RADIX, f"a part has {LARGEST_RADIX} values or more")
        require(not self.fakes or isinstance(response, Keep), "fakes go with answers that are kept")
        if isinstance(response, Arcs):
            require(len(response.counts) == len(radices), "an interval for every digit")
        elif isinstance(response, ListedSubset):
            is_comb = isinstance(response, Comb)
            require((len(radices) == 1) == is_comb, "a comb has one digit, a scrambled set more")
            require(size <= LARGEST_LISTED, "a listed base set is too large")
        elif isinstance(response, Ladder):
            require(len(response.held) == len(radices), "sensitive values for every digit")
            pairs = zip(response.held, radices, strict=True)
            fits = all(held <= extent(radix)[0] for held, radix in pairs)
            require(fits, "more sensitive values than values")
        elif isinstance(response, RowsOfWords):
            require(size <= len(response.rows), "a row for every symbol")
        elif isinstance(response, Bits):
            require(size <= MOST_BITS, f"at most {MOST_BITS} bits")
            lengths = {len(response.own), len(response.other)}
            require(lengths <= {1, size}, "a threshold for every bit, or one for all")

    def limits(self, choices: Choices) -> list[Whole]:
        """The exclusive limit of each of these columns."""
        size = product_of(self.radices, choices)
        if isinstance(self.response, RowsOfWords):
            size = len(self.response.rows[0])
        if not isinstance(self.response, Bits):
            return [size] * self.columns
        starts = range(0, self.size, BITS_PER_COLUMN)
        return [np.left_shift(1, np.clip(size - start, 0, BITS_PER_COLUMN)) for start in starts]


@dataclass(frozen=True)
class Step(Piece):
    """A table of weights, drawn from by a half of a word without looking at the record.

    mantissas, exponents: the weight of a choice is mantissa 2^exponent; all exponents are 0 where
    there are none.  secret: the choice is no part of the report.

    A half is a number of 32 bits. With the partial sums C of the weights and their total W, choice
    i begins at floor(C_i HALVES / W), where C_0 = 0.  preimages: how many halves mean each choice;
    they sum to HALVES.  cuts: the first half of each but the first, shape (choices - 1,).
    """

    mantissas: Annotated[tuple[int, ...], (1, WORDS)]
    exponents: Annotated[tuple[int, ...], (0, 64)] = ()
    secret: bool = False
    weights: tuple[int, ...] = derive()
    preimages: tuple[int, ...] = derive()
    cuts: NDArray[np.uint32] = field(init=False, repr=False, compare=False)

    def _check(self) -> None:
        require(1 <= len(self.mantissas) <= MOST_QUESTIONS, "a step has no choices, or too many")
        require(len(self.exponents) in (0, len(self.mantissas)), "an exponent for every weight")
        exponents = self.exponents or (0,) * len(self.mantissas)
        weights = tuple(map(lshift, self.mantissas, exponents))
        total = sum(weights)
        require(total <= WORDS, "the weights are too large")
        starts = [sums * HALVES // total for sums in accumulate(weights, initial=0)]
        preimages = tuple(map(sub, starts[1:], starts))
        require(min(preimages) > 0, "a weight is less than 2^-32 of all")
        cuts = np.array(starts[1:-1], dtype=np.uint32)
        vars(self).update(weights=weights, preimages=preimages, cuts=cuts)

    @cached_property
    def _guide(self) -> NDArray[np.int32]:
        """By the upper 16 bits of a half: the choice that all such halves mean, or -1."""
        low = np.arange(1 << 16, dtype=np.uint32) << np.uint32(16)
        first = np.searchsorted(self.cuts, low, side="right")
        last = np.searchsorted(self.cuts, low | np.uint32(0xFFFF), side="right")
        return np.where(first == last, first, -1).astype(np.int32)

    def find(self, halves: NDArray[np.uint32]) -> Integers:
        """The choice of every half; a guide by their upper bits answers most of many."""
        if len(halves) < 1 << 12 or not len(self.cuts):
            return np.searchsorted(self.cuts, halves, side="right")
        found = self._guide.take(halves >> np.uint32(16)).astype(np.int64)
        open_ = np.flatnonzero(found < 0)
        found[open_] = np.searchsorted(self.cuts, halves[open_], side="right")
        return found


@dataclass(frozen=True)
class Face(Piece):
    """Questions of one shape: one choice per step, coins drawn below their ranges, and parts.

    Its integers may vary with what was drawn in a step (`Varying`), so that thousands of questions
    are a few columns of numbers.

    shape: choices of every step.  choices: combinations of them, those of secret steps included.
    questions: combinations of the choices that are reported.
    """

    weight: Annotated[int, (1, WORDS)]
    parts: tuple[Part, ...]
    steps: tuple[Step, ...] = ()
    coins: Annotated[tuple[Integer, ...], (1, 1 << 32)] = ()
    shape: tuple[int, ...] = derive()
    choices: int = derive()
    questions: int = derive()

    def _check(self) -> None:
        require(len(self.parts) > 0, "a face without parts")
        require(len(self.steps) <= 64 and len(self.coins) <= 64, "too many steps or coins")
        shape = tuple(len(step.mantissas) for step in self.steps)
        questions = math.prod(len(step.mantissas) for step in self.steps if not step.secret)
        vars(self).update(shape=shape, choices=math.prod(shape), questions=questions)
        require(self.choices <= MOST_QUESTIONS, "a face has too many questions")
        for column in find_columns((self.coins, self.parts)):
            require(column.step < len(self.steps), "a column over an unknown step")
            fits = len(column.values) == self.shape[column.step]
            require(fits, "a column has one number per choice of its step")

    @cached_property
    def combinations(self) -> list[Integers]:
        """Per step the choice in every combination, shape (choices,); first step slowest."""
        return list(np.unravel_index(np.arange(self.choices), self.shape)) if self.shape else []

    def every(self, integer: Integer) -> Any:
        """An integer per combination of choices, or one for all; floats, exact below 2^53."""
        return np.asarray(value_of(integer, self.combinations), dtype=np.float64)

    def question_of(self, choices: Sequence[Integers], count: int) -> Integers:
        """Number within the face of every person's question, shape (count,)."""
        number = np.zeros(count, dtype=np.int64)
        for step, choice in zip(self.steps, choices, strict=True):
            if not step.secret:
                number = number * len(step.mantissas) + choice
        return number


@dataclass(frozen=True)
class Plan(Piece):
    """All that devices need to answer a survey.

    sizes: codes of every attribute of an encoded record: dimensions, then measures.  odds: the
    budgets' e^epsilon as n / WORDS.  tables: look-up tables.

    face_choice: how the first half of the first word means the faces.  first_questions: number of
    the first question of every face, and how many there are, `questions`.  words: words of 64 bits
    that every device draws, whatever its question: first `blind_words`, whose halves choose the
    face and what is drawn in its steps, then one per coin, then those of the parts in their order.
    columns: names of a report's columns: question, coins (`coin_columns` of them), answers.
    arrays: the tables.
    """

    sizes: Annotated[tuple[int, ...], (1, LARGEST)]
    odds: tuple[int, ...]
    faces: tuple[Face, ...]
    tables: tuple[tuple[int, ...], ...] = ()
    face_choice: Step = field(init=False, repr=False, compare=False)
    first_questions: tuple[int, ...] = derive()
    questions: int = derive()
    words: int = derive()
    blind_words: int = derive()
    coin_columns: int = derive()
    columns: tuple[str, ...] = derive()
    arrays: tuple[Integers, ...] = derive()
    _tops: tuple[int, ...] = derive()
    _ascends: tuple[bool, ...] = derive()

    def _check(self) -> None:
        require(len(self.sizes) > 0, "attributes without codes")
        require(all(WORDS <= odds <= WORDS << 30 for odds in self.odds), "odds below 1")
        require(0 < len(self.faces) <= 1 << 14, "no face, or too many")
        firsts = tuple(accumulate((face.questions for face in self.faces), initial=0))
        require(firsts[-1] <= MOST_QUESTIONS, "too many questions")
        fits = all(table and max(table) < LARGEST for table in self.tables)
        require(fits, "a table of whole numbers below 2^53")
        blind = max(len(face.steps) for face in self.faces) // 2 + 1
        coins = max(len(face.coins) for face in self.faces)
        words = max(sum(part.words for part in face.parts) for face in self.faces)
        answers = max(sum(part.columns for part in face.parts) for face in self.faces)
        size = sum(map(_size, self.faces)) + firsts[-1] * (1 + coins + answers)
        require(size <= MOST_ENTRIES, "too many columns, steps, digits, combs, ladders or rows")
        names = (*(f"coin{number}" for number in range(coins)),)
        arrays = tuple(np.array(table, dtype=np.int64) for table in self.tables)
        vars(self).update(
            face_choice=Step(tuple(face.weight for face in self.faces)),
            first_questions=firsts,
            questions=firsts[-1],
            words=blind + coins + words,
            blind_words=blind,
            coin_columns=coins,
            columns=("question", *names, *(f"answer{number}" for number in range(answers))),
            arrays=arrays,
            _tops=tuple(int(array.max()) for array in arrays),
            _ascends=tuple(bool((np.diff(array) > 0).all()) for array in arrays),
        )
        for face in self.faces:
            for part in face.parts:
                self._check_symbol(face, part)
                self._check_response(face, part.response, list(map(face.every, part.radices)))

    def _check_symbol(self, face: Face, part: Part) -> None:
        sizes = face.every(1)
        for digit in part.digits:
            require(len(digit.terms) <= len(self.sizes), "a digit with too many terms")
            top, radix = self.largest_sum(digit, face), face.every(digit.radix)
            require(top < LARGEST, "a digit exceeds 2^53")
            if digit.table is not None:
                table = self._table(digit.table)
                require(top < len(table), "a table is shorter than its digit")
                top = np.float64(self._tops[digit.table])
            require(digit.modulus or top < radix, "a symbol can exceed its radix")
            sizes = sizes * radix
        flat = math.prod(extent(digit.radix)[1] for digit in part.digits)
        require(flat <= LARGEST_RADIX, f"a symbol has more than {LARGEST_RADIX} values")
        coins = dict(enumerate(map(face.every, face.coins)))
        if isinstance(part.then, Parity):
            require(part.then.coin in coins, "a parity without its coin")
        if isinstance(part.then, Hash):
            require({part.then.slope, part.then.shift} <= {*coins}, "a hash without its coins")
            prime = face.every(part.then.prime)
            fits = (coins[part.then.slope] == prime - 1) & (coins[part.then.shift] == prime)
            require(fits, "the coins of a hash do not fit its prime")
            require(sizes <= prime, "a hash of more values than its prime")

    def _check_response(self, face: Face, response: Response, radices: list[Any]) -> None:
        if isinstance(response, Subset):
            require(0 <= response.odds < len(self.odds), "a response with unknown odds")
        if isinstance(response, Arcs):
            for count, radix in zip(map(face.every, response.counts), radices, strict=True):
                require((count >= 1) & (count <= radix), "an interval is longer than its circle")
        elif isinstance(response, Scrambled):
            # The base set is neither empty nor larger than what it is scattered over.
            most = np.where(radices[-1] > 1, radices[-1], math.prod(radices[:-1]))
            length = face.every(response.length)
            require((length >= 1) & (length <= most), "the length of a scrambled interval")
        elif isinstance(response, Comb):
            tooth, window, width = map(face.every, response.numbers)
            fits = (tooth <= radices[0]) & (window >= 1) & (window <= radices[0]) & (width >= 1)
            require(fits, "the numbers of a comb do not fit its circle")

    def largest_sum(self, digit: Digit, face: Face) -> Any:
        """The largest value of a digit before its table and modulus, per combination of choices."""
        top = np.zeros(face.choices) + face.every(digit.plus)
        for term in digit.terms:
            known = 0 <= term.attribute < len(self.sizes)
            require(known, "a term about an unknown attribute")
            size = self.sizes[term.attribute]
            look: Any = (size - 1) // face.every(term.divide)
            if term.table is not None:
                enough = len(self._table(term.table)) >= size
                require(enough, "a table is shorter than its attribute")
                look = self._tops[term.table]
            elif term.cuts is not None:
                look = len(self._table(term.cuts))
                require(self._ascends[term.cuts], "cuts must ascend")
            top = top + face.every(term.coefficient) * look
        return top

    def _table(self, number: int) -> tuple[int, ...]:
        require(0 <= number < len(self.tables), "a table that is missing")
        return self.tables[number]

    @cached_property
    def limits(self) -> Integers:
        """Exclusive limit of every column but the first, shape (questions, columns - 1).

        Columns that a question does not fill hold 0.
        """
        limits = np.ones((self.questions, len(self.columns) - 1), dtype=np.int64)
        for first, face in zip(self.first_questions, self.faces, strict=False):
            rows, choices = limits[first : first + face.questions], face.combinations
            # Of combinations that differ in secret choices only, the largest limits stand.
            place = face.question_of(choices, face.choices)
            coins = [value_of(coin, choices) for coin in face.coins]
            answers = [limit for part in face.parts for limit in part.limits(choices)]
            columns = (*range(len(coins)), *range(self.coin_columns, len(self.columns) - 1))
            for column, limit in zip(columns, [*coins, *answers], strict=False):
                np.maximum.at(rows[:, column], place, limit)
        return limits

    @cached_property
    def types(self) -> tuple[np.dtype[Any], ...]:
        """The narrowest type of every column: whole numbers of 8, 16, 32 or 64 bits."""
        largest = (self.questions, *self.limits.max(axis=0).tolist())
        return tuple(np.min_scalar_type(limit - 1) for limit in largest)


def _size(face: Face) -> int:
    """The work that a face adds to reading a plan (docs/format.md#limits)."""
    size = 4 * face.choices * len(face.steps)
    for part in face.parts:
        size += 512 + face.choices * sum(1 + len(digit.terms) for digit in part.digits)
        if isinstance(part.response, Comb):
            size += face.choices * max(512, part.size)
        elif isinstance(part.response, Ladder):
            size += 1 << 18
        elif isinstance(part.response, RowsOfWords):
            size += 16 * len(part.response.rows) * len(part.response.rows[0])
    return size


# -- JSON -----------------------------------------------------------------------------------------


def plan_from_json(data: Any) -> Plan:
    """The inverse of `publish.plan_to_json`, whose form is the only one: nothing is repaired.

    SurveyError names the place of what is unknown, missing, or of another type.
    """
    plan: Plan = _read(Plan, data, "plan")
    return plan


def _expect_at(holds: bool, where: str, problem: str) -> None:
    if not holds:
        raise SurveyError(f"not a survey: {where} {problem}")


def _read(declared: Any, data: Any, where: str) -> Any:
    """A value of a declared type, read from JSON data."""
    if declared is int:
        return _whole(data, where)
    if declared is bool:
        _expect_at(data is True, where, "must be true where it is said")
        return True
    kinds = get_args(declared)
    if get_origin(declared) is tuple:
        _expect_at(isinstance(data, list), where, "must be an array")
        most = MOST_NUMBERS if kinds[0] is int else MOST_PIECES
        _expect_at(len(data) <= most, where, f"has more than {most} entries")
        # Long columns of plain numbers are checked at once.
        if kinds[0] is int and data and set(map(type, data)) == {int}:
            _expect_at(min(data) >= 0 and max(data) <= LARGEST, where, "must hold whole numbers")
            return tuple(data)
        return tuple(_read(kinds[0], entry, f"{where}[{i}]") for i, entry in enumerate(data))
    if int in kinds:
        return _read(Varying if isinstance(data, dict) else int, data, where)
    if kinds:
        # One of several classes: the one that the key `kind` names.
        known = {kind.kind: kind for kind in kinds if kind is not NoneType}
        is_named = isinstance(data, dict) and isinstance(data.get("kind"), str)
        _expect_at(is_named, where, "must be an object with a kind")
        _expect_at(data["kind"] in known, where, f"must be of one of the kinds {', '.join(known)}")
        declared = known[data["kind"]]
        data = {key: value for key, value in data.items() if key != "kind"}
    return _read_object(declared, data, where)


def _whole(data: Any, where: str) -> int:
    """A whole number from 0: as such up to 2^53, and above it, up to 2^94, as decimal digits."""
    if type(data) is int and 0 <= data <= LARGEST:
        return data
    is_text = isinstance(data, str) and re.fullmatch("[1-9][0-9]{,28}", data) is not None
    _expect_at(is_text and LARGEST < int(data) <= WORDS << 30, where, "must be a whole number")
    return int(data)


def _read_object(kind: Any, data: Any, where: str) -> Any:
    known, values = declared_fields(kind), {}
    _expect_at(isinstance(data, dict), where, "must be an object")
    for key, value in data.items():
        _expect_at(key in known, where, f"has the unknown key {key[:40]!r}")
        values[key] = _read(known[key].type, value, f"{where}.{key}")
        is_said = values[key] != known[key].default
        _expect_at(is_said, where, f"says {key} where it is left out: a plan is written in one way")
    for key, declared in known.items():
        _expect_at(key in data or declared.default is not MISSING, where, f"lacks {key}")
    return kind(**values)
