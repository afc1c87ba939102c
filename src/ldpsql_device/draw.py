"""The interpreter of plans: from an encoded record and random words to a report.

Nothing is compared but whole numbers, and no number of words or steps depends on the record. Tables
of words (`Rungs`) say which words give which answer: `draw` looks words up, `law` and `odds` count
them.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

from ldpsql_device.entropy import Entropy, Words
from ldpsql_device.plan import (
    BITS_PER_COLUMN,
    WORDS,
    Arcs,
    Bits,
    Choices,
    Digit,
    Integers,
    Keep,
    Ladder,
    ListedSubset,
    Parity,
    Part,
    Plan,
    RowsOfWords,
    Scrambled,
    Subset,
    Whole,
    base_points,
    find_columns,
    product_of,
    subset_words,
    value_of,
)

_ONE, _LAST = np.uint64(1), np.uint64(WORDS - 1)
_HALF, _LOW = np.uint64(32), np.uint64(0xFFFFFFFF)
_BLOCK_WORDS = 1 << 19


def draw(plan: Plan, codes: Integers, entropy: Entropy) -> list[Integers]:
    """The reports of people with these codes, shape (n, attributes): (n,) each of `plan.types`."""
    count = len(codes)
    columns = [np.empty(count, dtype=kind) for kind in plan.types]
    block = max(1, _BLOCK_WORDS // plan.words)
    for start in range(0, count, block):
        part = slice(start, min(start + block, count))
        people = part.stop - start
        words = entropy.words(people * plan.words).reshape(people, plan.words)
        for column, drawn in zip(columns, interpret(plan, codes[part], words), strict=True):
            column[part] = drawn
    return columns


def interpret(plan: Plan, codes: Integers, words: Words) -> list[Integers]:
    """The reports that these words mean, shape (n, plan.words): columns of shape (n,) each."""
    count = len(codes)
    face_of = plan.face_choice.find(halves_of(words, 0))
    if len(plan.faces) == 1:
        return _answer_face(plan, 0, codes, words)
    # People of one face are answered together.
    order = np.argsort(face_of.astype(np.uint16), kind="stable")
    ends = np.cumsum(np.bincount(face_of, minlength=len(plan.faces)))
    codes, words = codes.take(order, axis=0), words.take(order, axis=0)
    columns = [np.empty(count, dtype=np.int64) for _ in plan.columns]
    for number in np.flatnonzero(np.diff(ends, prepend=0)).tolist():
        rows = slice(ends[number - 1] if number else 0, ends[number])
        for column, answer in zip(
            columns, _answer_face(plan, number, codes[rows], words[rows]), strict=True
        ):
            column[order[rows]] = answer
    return columns


def halves_of(words: Words, number: int) -> NDArray[np.uint32]:
    """A half of the words of blind choices: 0 is the upper one of the first, 1 its lower one."""
    word = words[:, number // 2]
    return (word & _LOW if number % 2 else word >> _HALF).astype(np.uint32)


def _answer_face(plan: Plan, number: int, codes: Integers, words: Words) -> list[Integers]:
    """The columns of the reports of people who drew this face."""
    face, count = plan.faces[number], len(codes)
    choices = [step.find(halves_of(words, 1 + s)) for s, step in enumerate(face.steps)]
    place = plan.blind_words
    coins = [scale(words[:, place + c], value_of(r, choices)) for c, r in enumerate(face.coins)]
    place += plan.coin_columns
    nothing = np.zeros(count, dtype=np.int64)
    columns = [plan.first_questions[number] + face.question_of(choices, count), *coins]
    columns += [nothing] * (1 + plan.coin_columns - len(columns))
    for part in face.parts:
        symbol = symbols(plan, part, codes, choices, coins)
        columns += _respond(plan, part, symbol, choices, words[:, place : place + part.words])
        place += part.words
    return columns + [nothing] * (len(plan.columns) - len(columns))


def scale(words: Words, ranges: Whole) -> Integers:
    """floor(word * range / 2^64) for ranges up to 2^32, from two halves of the word."""
    bound = np.asarray(ranges).astype(np.uint64)
    low = ((words & _LOW) * bound) >> _HALF
    return (((words >> _HALF) * bound + low) >> _HALF).astype(np.int64)


# -- symbols --------------------------------------------------------------------------------------


def symbols(
    plan: Plan, part: Part, codes: Integers, choices: Choices, coins: Sequence[Integers]
) -> list[Integers]:
    """The digits that a part answers about, one array of shape (n,) each."""
    digits = [_digit(plan, digit, codes, choices) for digit in part.digits]
    then = part.then
    if then is None:
        return digits
    flat = flatten(digits, [value_of(digit.radix, choices) for digit in part.digits])
    if isinstance(then, Parity):
        row = value_of(then.times, choices) * coins[then.coin] + value_of(then.plus, choices)
        return [(np.bitwise_count(row & flat) & 1).astype(np.int64)]
    prime, values = value_of(then.prime, choices), value_of(then.values, choices)
    slope, shift = coins[then.slope] + 1, coins[then.shift]
    return [(slope * invert(flat, prime) + shift) % prime % values]


def _digit(plan: Plan, digit: Digit, codes: Integers, choices: Choices) -> Integers:
    total: Integers = np.zeros(len(codes), dtype=np.int64)
    total += value_of(digit.plus, choices)
    for term in digit.terms:
        values: Integers = codes[:, term.attribute]
        if term.table is not None:
            values = plan.arrays[term.table].take(values)
        elif term.cuts is not None:
            cuts = plan.arrays[term.cuts]
            values = np.searchsorted(cuts, values, side="right").astype(np.int64)
        elif term.divide != 1:
            values = values // value_of(term.divide, choices)
        total += values * value_of(term.coefficient, choices)
    if digit.table is not None:
        total = plan.arrays[digit.table].take(total)
    return total % value_of(digit.radix, choices) if digit.modulus else total


def flatten(digits: Sequence[Integers], radices: Sequence[Whole]) -> Integers:
    """Mixed radix, last digit fastest."""
    flat = digits[0]
    for digit, radix in zip(digits[1:], radices[1:], strict=True):
        flat = flat * radix + digit
    return flat


def invert(numbers: Integers, prime: Whole) -> Integers:
    """x^(prime - 2) modulo a prime, by squaring: the number of steps is that of the largest."""
    exponent = np.broadcast_to(np.asarray(prime) - 2, numbers.shape)
    power: Integers = numbers % prime
    result: Integers = np.ones_like(numbers)
    for _ in range(int(exponent.max(initial=0)).bit_length()):
        result = np.where(exponent & 1, result * power % prime, result)
        power = power * power % prime
        exponent = exponent >> 1
    # 0^0 is 1 for the prime 2; everywhere else 0 comes out by itself.
    return np.where(numbers == 0, 0, result % prime)


# -- responses ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Rungs:
    """Which words mean what: rung after rung, each with points of one number of words.

    table: last word, words per point, and points, at least 1, of every rung, for all kinds of
    people, shape (3, rungs, kinds).  kinds: everybody's.  The first rung is never empty, and the
    last one ends with the last word. The last point of a rung also has the words that are left up
    to the next rung.
    """

    table: Words
    kinds: Whole

    def locate(self, words: Words) -> tuple[Integers, Integers]:
        """The rung of every word, and the point in it, shape (n,) each; in a fixed number of
        steps."""
        lasts, widths, points = self.table.reshape(3, -1)
        _, rungs, count = self.table.shape
        # The last word before each rung; before the first ones 2^64 - 1, which stands for -1.
        before = np.concatenate([lasts[-count:], lasts[:-count]])
        place: Whole = self.kinds
        top = place + (rungs - 1) * count
        for bit in reversed(range((rungs - 1).bit_length())):
            candidate = np.minimum(place + (count << bit), top)
            place = np.where(words > before.take(candidate), candidate, place)
        beyond = words - (before + _ONE).take(place)
        # Limited before it is signed: up to 2^64 words may lie behind the last point.
        index = np.minimum(beyond // widths.take(place), (points - _ONE).take(place))
        rung = np.broadcast_to(place // count, words.shape)
        return rung, index.astype(np.int64)


def count_words(table: Words, kind: int) -> Iterator[tuple[int, int, int, int]]:
    """Of the rungs of a kind of people (`Rungs`) that have words: their number, points, words per
    point, and words of the last point."""
    start = 0
    for number, (last, width, points) in enumerate(table[:, :, kind].T.tolist()):
        if last >= start:
            yield number, points, width, last + 1 - start - width * (points - 1)
        start = last + 1


def rungs(plan: Plan, part: Part, symbol: Sequence[Integers], choices: Choices) -> Rungs:
    """The rungs by which these people answer a part with one word."""
    response = part.response
    if isinstance(response, Ladder):
        return Rungs(response.table, classes_of(response, symbol))
    if isinstance(response, RowsOfWords):
        return Rungs(response.table, flatten(symbol, part_radices(part, choices)))
    assert isinstance(response, Subset)
    distinct, place = _distinct(part, choices)
    base, size = map(np.atleast_1d, base_and_size(part, distinct))
    # Few of many questions differ in these two numbers, both below 2^31.
    both, kinds = np.unique(base << 31 | size, return_inverse=True)
    pairs = np.stack([both >> 31, both & 0x7FFFFFFF], axis=1).tolist()
    # Where only characters or seeds vary, all questions have the same numbers of points.
    everybody: Whole = kinds.take(place) if len(pairs) > 1 else 0
    return Rungs(subset_table(pairs, plan.odds[response.odds]), everybody)


def subset_table(pairs: Sequence[Sequence[int]], odds: int) -> Words:
    """The table of the rungs inside and outside, by points of base sets and of all; see `Rungs`."""
    base, size = np.array(pairs, dtype=np.int64).reshape(-1, 2).T
    words = [subset_words(*pair, odds) for pair in pairs]
    # A width of 2^64, that of the only point, does not fit; one less gives the same index.
    inside = np.array([min(one, WORDS - 1) for one, _ in words], dtype=np.uint64)
    outside = np.array([max(other, 1) for _, other in words], dtype=np.uint64)
    # Where everything is inside, the last word of that rung is the last word of all.
    ends = np.where(base < size, base.astype(np.uint64) * inside - _ONE, _LAST)
    points = (base.astype(np.uint64), np.maximum(size - base, 1).astype(np.uint64))
    return np.array([(ends, np.full_like(ends, _LAST)), (inside, outside), points])


def _respond(
    plan: Plan, part: Part, symbol: list[Integers], choices: Choices, words: Words
) -> list[Integers]:
    """The columns that answer a part."""
    response = part.response
    if not isinstance(response, Bits | Keep):
        rung, index = rungs(plan, part, symbol, choices).locate(words[:, 0])
        return [answer(part, symbol, choices, rung, index)]
    flat, size = flatten(symbol, part_radices(part, choices)), product_of(part.radices, choices)
    if isinstance(response, Keep):
        fakes = [scale(words[:, number], size) for number in range(part.fakes)]
        return list(np.sort(np.stack([flat, *fakes]), axis=0))
    return _respond_bits(response, flat, size, words)


def _respond_bits(response: Bits, flat: Integers, size: Whole, words: Words) -> list[Integers]:
    place = np.arange(words.shape[1])
    own, other = (np.array(t, dtype=np.uint64) for t in (response.own, response.other))
    bits = words < np.where(place == flat[:, None], own, other)
    bits &= place < np.reshape(size, (-1, 1))
    chunks = (bits[:, i : i + BITS_PER_COLUMN] for i in range(0, len(place), BITS_PER_COLUMN))
    return [chunk @ (1 << np.arange(chunk.shape[1], dtype=np.int64)) for chunk in chunks]


def part_radices(part: Part, choices: Choices) -> list[Whole]:
    """Values of every digit that a part answers about."""
    return [value_of(radix, choices) for radix in part.radices]


def _distinct(part: Part, choices: Choices) -> tuple[Choices, Whole]:
    """Choices with all numbers of a part's response that these people drew, each about once, and
    the place of everybody's among them. What costs time is then done once each."""
    columns = {c.step: len(c.values) for c in find_columns((part.radices, part.response))}
    if not columns:
        return choices, 0
    counts = (*columns.values(),)
    place, total = flatten([choices[step] for step in columns], counts), math.prod(counts)
    distinct: Integers
    if total <= len(place):
        distinct = np.arange(total)
    else:
        distinct, place = np.unique(place, return_inverse=True)
    return dict(zip(columns, np.unravel_index(distinct, counts), strict=True)), place


def base_and_size(part: Part, choices: Choices) -> tuple[Whole, Whole]:
    """How many points the base set has, and how many there are."""
    response, size = part.response, product_of(part.radices, choices)
    if isinstance(response, Arcs):
        return product_of(response.counts, choices), size
    if isinstance(response, Scrambled):
        circle = np.asarray(value_of(part.radices[-1], choices))
        others = np.where(circle > 1, size // circle, 1)
        return value_of(response.length, choices) * others, size
    return _lists(part, choices)[2], size


def answer(
    part: Part, symbol: Sequence[Integers], choices: Choices, rung: Integers, index: Integers
) -> Integers:
    """The flat answer that point `index` of a rung means, shape (n,)."""
    radices, response = part_radices(part, choices), part.response
    if isinstance(response, RowsOfWords):
        return response.order[flatten(symbol, radices), rung]
    if isinstance(response, Ladder):
        is_drawn = response.is_drawn[classes_of(response, symbol), rung].T
        spans = [np.where(d, held, 1) for d, held in zip(is_drawn, response.held, strict=True)]
        # The first digit takes what is left, which is below its span.
        drawn = zip(is_drawn, split(index, spans), symbol, strict=True)
        return flatten([np.where(d, anew, digit) for d, anew, digit in drawn], radices)
    if isinstance(response, Arcs):
        counts = [value_of(count, choices) for count in response.counts]
        offsets = _arc_offsets(radices, counts, rung == 0, index)
    else:
        points, start, base = _lists(part, choices)
        offsets = split(points.take(start + np.where(rung == 0, index, index + base)), radices)
    turned = []
    for digit, offset, radix in zip(symbol, offsets, radices, strict=True):
        # digit - offset lies above -radix, so that one addition reduces it.
        difference = digit - offset
        turned.append(difference + radix * (difference < 0))
    return flatten(turned, radices)


def _arc_offsets(
    radices: Sequence[Whole],
    counts: Sequence[Whole],
    is_inside: NDArray[np.bool_],
    index: Integers,
) -> list[Integers]:
    """The offsets of a point of a product of intervals, or of its complement.

    Piece p of the complement holds the offsets of which digit p is the first one outside its
    interval; the product itself counts as the piece behind the last digit.
    """
    digits = len(radices)
    # A part has fewer than 2^31 points, and narrow numbers are divided twice as fast.
    index = index.astype(np.int32)
    radices = [np.asarray(radix).astype(np.int32) for radix in radices]
    counts = [np.asarray(count).astype(np.int32) for count in counts]
    piece = np.where(is_inside, np.int8(digits), np.int8(0))
    for p in range(digits - 1):
        points = (radices[p] - counts[p]) * math.prod(counts[:p]) * math.prod(radices[p + 1 :])
        beyond = (piece == p) & (index >= points)
        index, piece = index - points * beyond, piece + beyond
    firsts = [piece == p for p in range(digits)]
    # Before the piece an offset has the interval's values, in it the others, behind it all.
    spans = [
        radix - first * count + (count - radix) * (piece > p)
        for p, (radix, count, first) in enumerate(zip(radices, counts, firsts, strict=True))
    ]
    offsets = split(index, spans)
    return [o + first * count for o, first, count in zip(offsets, firsts, counts, strict=True)]


def split(flat: Integers, radices: Sequence[Whole]) -> list[Integers]:
    """The digits of numbers in mixed radix, last one fastest; the first takes what is left."""
    digits = []
    for radix in reversed(radices[1:]):
        rest = flat // radix
        digits.append(flat - rest * radix)
        flat = rest
    return [flat, *digits[::-1]]


@lru_cache(maxsize=1 << 12)
def _list_points(
    kind: str, radices: tuple[int, ...], numbers: tuple[int, ...]
) -> tuple[Integers, int]:
    """All points of a listed base set: first those in it, so many, then the others."""
    inside = base_points(kind, radices, numbers)
    rest = np.ones(math.prod(radices), dtype=bool)
    rest[inside] = False
    return np.concatenate([inside, np.flatnonzero(rest)]), len(inside)


def _lists(part: Part, choices: Choices) -> tuple[Integers, Integers, Integers]:
    """The points of all listed base sets that people drew, one set after the other; where
    everybody's starts, and how many points are in its base set."""
    response = part.response
    assert isinstance(response, ListedSubset)
    distinct, place = _distinct(part, choices)
    columns = [value_of(number, distinct) for number in (*part.radices, *response.numbers)]
    table = np.stack(np.broadcast_arrays(*map(np.atleast_1d, columns)), axis=1)
    rows, digits = [tuple(row) for row in table.tolist()], len(part.radices)
    lists = {row: _list_points(response.kind, row[:digits], row[digits:]) for row in rows}
    ends = accumulate(len(points) for points, _ in lists.values())
    starts = {row: end - len(lists[row][0]) for row, end in zip(lists, ends, strict=True)}
    numbers = np.array([(starts[row], lists[row][1]) for row in rows]).T.take(place, axis=1)
    return np.concatenate([points for points, _ in lists.values()]), numbers[0], numbers[1]


def classes_of(response: Ladder, symbol: Sequence[Integers] | Integers) -> Integers:
    """The class of every symbol: bit j says that digit j is below held[j]."""
    number = np.zeros(len(symbol[0]), dtype=np.int64)
    for place, (digit, held) in enumerate(zip(symbol, response.held, strict=True)):
        number |= (digit < held).astype(np.int64) << place
    return number
