"""The blanket of a plan, from the integers that devices compare: one derivation for all mechanisms.

Let r(y) be the least probability of an answer y over all records, a(y) how many times that a record
has, and E the largest of these ratios. What the accountant needs of the a of two records is bounded
by three numbers (`_corners`):

    covered   the sum of r(y)
    odds      E
    alike     at most the sum of r(y) over the answers that both records favour

It takes the mean of a convex function of a sum of independent L = a - e^epsilon a'. Moving every a
to 1 or to E without changing its mean, for each record on its own, spreads L. Then the answers that
a record favours have r = (1 - covered) / (E - 1) together, and of all ways to pair those of two
records the one that lets both favour as few as possible, `alike`, spreads L most. Nothing else of
the pair matters, neither which records it is nor the shape of base sets. Where every answer is E
times likelier or not at all, as in subset responses and staircases, and two records favour no more
than `alike` together, nothing is lost. Several parts multiply, since L is linear in the ratios of
each; what is linear in `covered` and `alike` is added up over questions. A choice that is secret is
taken as reported, which tells no less. Source: docs/spec/shuffle.md#2.5.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache, reduce
from itertools import product

import numpy as np

from ldpsql.shuffle.accountant import Blanket, clones, largest_local, unary
from ldpsql_device import draw
from ldpsql_device.epsilon import LARGEST_EPSILON, Epsilon
from ldpsql_device.odds import Definition, odds
from ldpsql_device.plan import (
    HALVES,
    WORDS,
    Bits,
    Face,
    Hash,
    Integers,
    Ladder,
    Parity,
    Part,
    Plan,
    RowsOfWords,
    Subset,
    find_columns,
    product_of,
    value_of,
)
from ldpsql_device.shuffled import Central

Law = Mapping[tuple[Fraction, Fraction], Fraction]
"""By the ratios a, a' of two records, the probability under the blanket of answers with them."""
_ONE = Fraction(1)
_NOTHING: Law = {(_ONE, _ONE): _ONE}
"""Of an answer that is the same for everybody."""
_UNBOUNDED = Blanket(((Fraction(0), _ONE, Fraction(0)), (Fraction(0), Fraction(0), _ONE)))
_EVEN = 1 - Fraction(1, 1 << 30)
"""Coins drawn by 64-bit words are even up to 2^-32, those of a hash up to 2^-37."""
_FAVOURED = 1e-9
"""A ratio within this share of E - 1 below E counts as favoured, and `alike` is lowered by more."""
_ROUNDS, _NARROWER = 3, Decimal("0.8")
_MOST_KINDS, _LARGEST_LADDER, _LARGEST_PARITY = 1 << 8, 1 << 9, 1 << 22


def find_blanket(plan: Plan, agreement: Fraction = Fraction(0)) -> Blanket:
    """The blanket of a plan for the worst pair of records; that of its odds alone where it has
    responses whose blanket is not known, and one that hides nothing where they have no bound.

    agreement: the least chance that a question has one symbol for two records, where that is known
    of a plan whose questions have subset responses of one shape.
    """
    total: defaultdict[tuple[Fraction, Fraction], Fraction] = defaultdict(Fraction)
    for face, halves in zip(plan.faces, plan.face_choice.preimages, strict=True):
        law = _face_law(plan, face, agreement)
        if law is None:
            worst = odds(plan, Definition("local"))
            return _UNBOUNDED if worst is None else clones(worst)
        for ratios, chance in law.items():
            total[ratios] += chance * Fraction(halves, HALVES)
    return _blanket_of(total)


def _blanket_of(law: Law) -> Blanket:
    atoms = ((r, a * r, b * r) for (a, b), r in law.items() if r)
    return Blanket(tuple(atoms), uneven=Fraction(0))


def _face_law(plan: Plan, face: Face, agreement: Fraction) -> Law | None:
    """The law of the reports of a face, None where it is not known."""
    parts = [p for p in face.parts if any(plan.sizes[a] > 1 for a in p.attributes)]
    if not parts:
        return _NOTHING
    kinds = _count_kinds(face, tuple(parts))
    coins = [coin for part in parts for coin in _coins(part)]
    # Products over several parts are worked out one by one, and only where no two share a coin.
    if len(parts) > 1 and (len(kinds) > _MOST_KINDS or len(coins) > len({*coins})):
        return None
    total: defaultdict[tuple[Fraction, Fraction], Fraction] = defaultdict(Fraction)
    for chance, numbers in kinds:
        law: Law = _NOTHING
        for part, own in zip(parts, numbers, strict=True):
            found = _answer_law(plan, part, own, agreement)
            if found is None:
                return None
            law = _multiply(law, found)
        for ratios, own_chance in law.items():
            total[ratios] += chance * own_chance
    return total


def _coins(part: Part) -> tuple[int, ...]:
    """The coins that a part's symbol depends on."""
    then = part.then
    return (then.slope, then.shift) if isinstance(then, Hash) else (then.coin,) if then else ()


def _multiply(one: Law, other: Law) -> Law:
    found: defaultdict[tuple[Fraction, Fraction], Fraction] = defaultdict(Fraction)
    for ((a, b), r), ((c, d), s) in product(one.items(), other.items()):
        found[a * c, b * d] += r * s
    return found


@lru_cache(maxsize=64)
def choose_widths(central: Central) -> Epsilon:
    """The epsilon for whose local promise questions are to be made, so that they are best with the
    odds that a central promise allows them.

    Alone a report is best where base sets have a share of 1 / (1 + E) of all points. Many reports
    hide each other better the narrower base sets are, which may then have larger odds, until they
    say too little of their own frequency (docs/spec/shuffle.md#2.5). Of 0.2, 0.8 and 1.5 more than
    the local epsilon 0.8 was best on the whole over nine designs (docs/benchmarks.md#crowds).
    """
    made = local = central.epsilon
    for _ in range(_ROUNDS):
        share = 1 / (1 + made.odds)

        def blankets_at(epsilon: Epsilon, share: Fraction = share) -> tuple[Blanket]:
            covered = 1 / (share * epsilon.odds + 1 - share)
            return (_blanket_of(_corners(covered, Fraction(0), epsilon.odds)),)

        made = local = largest_local(blankets_at, central)
    if local.value <= central.epsilon.value:
        return local
    return Epsilon(min(local.value + _NARROWER, LARGEST_EPSILON))


# -- questions ------------------------------------------------------------------------------------


@lru_cache(maxsize=64)
def _count_kinds(
    face: Face, parts: tuple[Part, ...]
) -> list[tuple[Fraction, list[tuple[int, ...]]]]:
    """The questions of a face by the numbers on which the answer of each part depends (`_numbers`):
    the probability of each kind, and its numbers."""
    numbers = [_numbers(face, part) for part in parts]
    columns = [np.broadcast_to(column, face.choices) for own in numbers for column in own]
    kinds, place = np.unique(np.stack(columns), axis=1, return_inverse=True)
    # Exact, and beyond 64 bits from the second step on.
    preimages = (np.array(step.preimages, dtype=object) for step in face.steps)
    chances = np.ravel(reduce(np.multiply.outer, preimages, np.array(1, dtype=object)))
    total = np.zeros(kinds.shape[1], dtype=object)
    np.add.at(total, place.ravel(), chances)
    ends = np.cumsum([len(own) for own in numbers])[:-1]
    return [
        (Fraction(chance, HALVES ** len(face.steps)), [tuple(own) for own in np.split(row, ends)])
        for chance, row in zip(total, kinds.T.astype(object), strict=True)
    ]


def _numbers(face: Face, part: Part) -> list[Integers]:
    """The numbers that fix the law of an answer, for every question of a face: points inside and
    points of a subset response, then what its symbol depends on; of others how many symbols there
    are."""
    choices, then = face.combinations, part.then
    if not isinstance(part.response, Subset):
        return [np.asarray(product_of(part.radices, choices))]
    found = [*map(np.asarray, draw.base_and_size(part, choices))]
    if isinstance(then, Hash):
        found.append(np.asarray(value_of(then.prime, choices)))
    elif isinstance(then, Parity):
        symbols = product_of((digit.radix for digit in part.digits), choices)
        own = (face.coins[then.coin], then.times, then.plus)
        found += [np.asarray(symbols), *(np.asarray(value_of(each, choices)) for each in own)]
    return found


# -- answers --------------------------------------------------------------------------------------


def _answer_law(plan: Plan, part: Part, numbers: Sequence[int], agreement: Fraction) -> Law | None:
    """The law of the answer to a question with these numbers, None where it is not known."""
    response = part.response
    if isinstance(response, Subset):
        return _subset_law(plan.odds[response.odds], part, agreement, *numbers)
    (size,) = numbers
    if size == 1:
        return _NOTHING
    if isinstance(response, Bits):
        return _bits_law(response, size)
    if isinstance(response, RowsOfWords):
        return _table_law(response.rows[: part.size])
    is_fixed = part.then is None and not any(find_columns(part.radices))
    if isinstance(response, Ladder) and is_fixed and size <= _LARGEST_LADDER:
        return _table_law(_list_ladder(plan, part, size))
    return None


def _list_ladder(plan: Plan, part: Part, size: int) -> tuple[tuple[int, ...], ...]:
    """The words of every answer, a row per symbol; as `part_law`, for all symbols at once."""
    digits = draw.split(np.arange(size), draw.part_radices(part, ()))
    own, rows = draw.rungs(plan, part, digits, ()), np.zeros((size, size), dtype=object)
    for kind in range(own.table.shape[2]):
        members = np.flatnonzero(own.kinds == kind)
        for rung, points, width, last in draw.count_words(own.table, kind):
            places, index = np.repeat(members, points), np.tile(np.arange(points), len(members))
            symbols, which = [digit[places] for digit in digits], np.full(len(places), rung)
            words = np.array([*[width] * (points - 1), last], dtype=object)
            rows[places, draw.answer(part, symbols, (), which, index)] += words[index]
    return tuple(map(tuple, rows.tolist()))


def _bits_law(response: Bits, size: int) -> Law | None:
    """Of bits with the same two thresholds throughout."""
    own, other = {*response.own}, {*response.other}
    if len(own) > 1 or len(other) > 1 or not 0 < min(other) < min(own):
        return None
    law: defaultdict[tuple[Fraction, Fraction], Fraction] = defaultdict(Fraction)
    for r, one, two in unary(Fraction(max(own), WORDS), Fraction(max(other), WORDS), size).atoms:
        law[one / r, two / r] += r
    return law


def _corners(covered: Fraction, alike: Fraction, worst: Fraction) -> Law:
    """The law that bounds all with these three numbers.

    alike: raised to what two records favour together in any case.
    """
    if worst == 1:
        return _NOTHING
    inside = (1 - covered) / (worst - 1)
    both = max(alike, 2 * inside - covered)
    one = inside - both
    return {
        (worst, worst): both,
        (worst, _ONE): one,
        (_ONE, worst): one,
        (_ONE, _ONE): covered - both - 2 * one,
    }


def _subset_law(
    budget: int, part: Part, collide: Fraction, base: int, size: int, *symbol: int
) -> Law:
    """Of a subset response.  collide: the chance that two records have one symbol, and so favour
    the same answers; for hashes and parities it is found here."""
    rungs = [*draw.count_words(draw.subset_table([(base, size)], budget), 0)]
    words = [(last, width if points > 1 else last) for _, points, width, last in rungs]
    most, least = max(map(max, words)), min(map(min, words))
    # Nominal odds where they hold, as nearly always: all questions then have the same ratios.
    worst = max(Fraction(most, least), Fraction(budget, WORDS))
    covered, blank = Fraction(size * least, WORDS), Fraction(0)
    if isinstance(part.then, Hash):
        collide = _least_collision(size, *symbol)
    elif part.then is not None:
        blank, collide = _least_agreement(*symbol)
    # A question to which all symbols are alike tells nothing: its blanket is the whole answer.
    covered += blank * (1 - covered)
    inside = (1 - covered) / (worst - 1) if worst > 1 else Fraction(0)
    apart = max(2 * inside + (blank - 1) * Fraction(size * least, WORDS), Fraction(0))
    return _corners(covered, collide * inside + (1 - collide) * apart, worst)


def _least_collision(values: int, prime: int) -> Fraction:
    """Least probability that two different symbols have one hash value."""
    # For two nodes x and y the pair (a x + c, a y + c) mod P takes every ordered pair of different
    # residues once as (a, c) runs through all, and g divides P residues into classes of P // g or
    # one more: so it collides for as many (a, c) as there are such pairs within the classes.
    size, larger = divmod(prime, values)
    pairs = (values - larger) * size * (size - 1) + larger * (size + 1) * size
    return Fraction(pairs, prime * (prime - 1)) * _EVEN


@lru_cache(maxsize=256)
def _least_agreement(symbols: int, coins: int, times: int, plus: int) -> tuple[Fraction, Fraction]:
    """The chance of a row without bits, under which all symbols have one parity; and the least
    one that two different symbols have the same parity under any other row.

    By the Walsh transform of the rows that are drawn; 0 both where they are too many.
    """
    size = 1 << max(symbols - 1, 1).bit_length()
    if max(size, coins) > _LARGEST_PARITY:
        return Fraction(0), Fraction(0)
    rows = np.bincount((times * np.arange(coins) + plus) % size, minlength=size)
    blank, rows[0] = int(rows[0]), 0
    for bit in range(size.bit_length() - 1):
        pairs = rows.reshape(-1, 2, 1 << bit)
        rows = np.stack([pairs[:, 0] + pairs[:, 1], pairs[:, 0] - pairs[:, 1]], axis=1)
    # Entry d: the rows that have evenly many bits in common with d, less the others.
    others = coins - blank
    alike = Fraction(others + int(rows.ravel()[1:].min()), 2 * others) if others else Fraction(0)
    return Fraction(blank, coins) * _EVEN, alike * _EVEN


@lru_cache(maxsize=256)
def _table_law(rows: tuple[tuple[int, ...], ...]) -> Law | None:
    """Of a table of words per symbol and answer; None where a symbol excludes an answer."""
    columns = [*zip(*rows, strict=True)]
    least = [min(column) for column in columns]
    if not all(least):
        return None
    covered = Fraction(sum(least), WORDS)
    worst = max(Fraction(max(c), low) for c, low in zip(columns, least, strict=True))
    ratios = np.array(rows, dtype=np.float64) / np.array(least, dtype=np.float64)
    is_favoured = ratios - 1.0 >= (float(worst) - 1.0) * (1.0 - _FAVOURED)
    weights = np.array([low / WORDS for low in least])
    together = (is_favoured * weights) @ is_favoured.T.astype(np.float64)
    together[np.diag_indices(len(rows))] = np.inf
    alike = float(together.min()) * (1.0 - 4.0 * _FAVOURED) if len(rows) > 1 else 0.0
    inside = (1 - covered) / (worst - 1) if worst > 1 else Fraction(0)
    return _corners(covered, min(Fraction(alike), inside), worst)
