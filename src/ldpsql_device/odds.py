"""What a report can tell at most, from a plan's own integers.

Nobody's statement is trusted: a device computes `odds` (and `excess`, for promises with a delta)
before it answers, and refuses a plan that exceeds its promise.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product

import numpy as np

from ldpsql_device.draw import base_and_size, flatten, part_radices, symbols
from ldpsql_device.plan import (
    HALVES,
    MOST_ENTRIES,
    WORDS,
    Arcs,
    Bits,
    Face,
    Ladder,
    Part,
    Plan,
    Rows,
    Staircase,
    Subset,
    Varying,
    largest,
    require,
    subset_words,
    value_of,
)

_MOST_RECORDS = 1 << 18


@dataclass(frozen=True)
class Definition:
    """What a guarantee compares; the kinds are those of `guarantee.KINDS`.

    * "local" and "none": every report limits all pairs of records.
    * "uldp": all reports, but those that only one record can send, which has no sensitive value. A
      record is sensitive if any of its values is (docs/spec/uldp.md#1.1, 1.3).
    * "uldp-joint": a report compares the records that agree with its senders where these have one
      common value that is not sensitive (docs/spec/uldp.md#1.2).

    sensitive: per dimension its sensitive codes; empty where all are.
    """

    kind: str
    sensitive: tuple[tuple[int, ...], ...] = ()

    def sensitive_codes(self, attribute: int, size: int) -> frozenset[int]:
        """The sensitive codes of an attribute: all of them unless some are declared."""
        is_partial = self.kind in ("uldp", "uldp-joint") and attribute < len(self.sensitive)
        return frozenset((self.sensitive[attribute] if is_partial else ()) or range(size))


def odds(plan: Plan, definition: Definition) -> Fraction | None:
    """An upper bound of the largest odds that the definition limits; None where unbounded.

    Questions are drawn blindly and reported, so it is the worst question's. Within one, parts
    about different attributes multiply; for parts about the same attributes the product of their
    worst odds is a bound too, which is refined by going through pairs of records where a part
    tells some records apart for certain. The bound is attained where every symbol is some
    record's.
    """
    return _largest(_face_odds(plan, face, definition) for face in plan.faces)


def _face_odds(plan: Plan, face: Face, definition: Definition) -> Fraction | None:
    if any(step.secret for step in face.steps):
        return _secret_odds(plan, face)
    total = Fraction(1)
    for group in _by_attributes(face.parts):
        mixed = len(group) > 1 and any(isinstance(p.response, Ladder) for p in group)
        bounds = (
            [_paired_odds(plan, group, definition)]
            if mixed
            else [_part_odds(plan, face, part, definition) for part in group]
        )
        for bound in bounds:
            if bound is None:
                return None
            total *= bound
    return total


def _by_attributes(parts: Sequence[Part]) -> list[list[Part]]:
    """Parts that read attributes in common, together."""
    groups: list[tuple[frozenset[int], list[Part]]] = []
    for part in parts:
        apart = [group for group in groups if not group[0] & part.attributes]
        joined = [group for group in groups if group[0] & part.attributes]
        attributes = part.attributes.union(*(known for known, _ in joined))
        groups = [*apart, (attributes, [p for _, members in joined for p in members] + [part])]
    return [members for _, members in groups]


def _part_odds(plan: Plan, face: Face, part: Part, definition: Definition) -> Fraction | None:
    """The worst odds of one part's answers over all questions of a face."""
    response = part.response
    if all(plan.sizes[attribute] == 1 for attribute in part.attributes):
        return Fraction(1)  # everybody has the same symbol
    if isinstance(response, Subset):
        budget = plan.odds[response.odds]
        extremes = (subset_extremes(*sizes, budget) for sizes in _sizes(face, part))
        return _largest(Fraction(most, few) for most, few in extremes)
    if isinstance(response, Ladder):
        return _ladder_odds(plan, part, response, definition)
    if isinstance(response, Rows | Staircase):
        # The likeliest and the least likely sender of every answer.
        columns = zip(*response.table.rows, strict=True)
        return _largest(_ratio(max(column), min(column)) for column in columns)
    if isinstance(response, Bits):
        return _bits_odds(response, math.prod(map(largest, part.radices)))
    return Fraction(1) if math.prod(map(largest, part.radices)) == 1 else None


def _largest(bounds: Iterable[Fraction | None]) -> Fraction | None:
    """The largest of several odds; None if one of them is unbounded."""
    worst = Fraction(1)
    for bound in bounds:
        if bound is None:
            return None
        worst = max(worst, bound)
    return worst


def subset_extremes(base: int, size: int, budget: int) -> tuple[int, int]:
    """Words of the likeliest and of the least likely point of a subset response."""
    inside, outside = subset_words(base, size, budget)
    if base == size:
        return WORDS - inside * (base - 1), inside
    last = WORDS - base * inside - outside * (size - base - 1)
    return max(inside, last), min(inside, outside)


def _sizes(face: Face, part: Part) -> set[tuple[int, int]]:
    """(points inside, points) of a subset response over the questions of a face.

    Questions with one symbol are left out: they tell nothing.
    """
    base, size = base_and_size(part, face.combinations())
    count = face.choices
    pairs = zip(
        np.broadcast_to(base, count).tolist(), np.broadcast_to(size, count).tolist(), strict=True
    )
    return {(int(inside), int(whole)) for inside, whole in pairs if whole > 1}


def _secret_odds(plan: Plan, face: Face) -> Fraction | None:
    """Of answers that hide which choice of a secret step they are about.

    An answer y is the symbol of at most one choice, where the choices' ranges of symbols do not
    overlap: P(y) <= p likeliest + (1 - p) (likeliest of those outside), P(y) >= least likely.
    Nothing is said of faces of another form: one part of one digit without tables, whose steps are
    all secret, and one number of symbols whatever was drawn.
    """
    part, choices = face.parts[0], face.combinations()
    if not isinstance(part.response, Arcs) or len(face.parts) > 1 or len(part.digits) > 1:
        return None
    if not all(step.secret for step in face.steps) or part.then or part.digits[0].table is not None:
        return None
    base, size = (np.unique(whole).tolist() for whole in base_and_size(part, choices))
    if base != [1] or len(size) > 1:
        return None
    if size == [1]:
        return Fraction(1)
    inside, outside = subset_words(1, size[0], plan.odds[part.response.odds])
    last = WORDS - inside - outside * (size[0] - 2)
    chance = _largest_choice(plan, face, part)
    others = max(last, outside)
    most = chance * max(inside, others) + (1 - chance) * others
    return Fraction(max(most, Fraction(others)), min(inside, outside))


def _largest_choice(plan: Plan, face: Face, part: Part) -> Fraction:
    """The largest probability of a secret choice; 1 where two can have the same symbol."""
    choices = face.combinations()
    low = np.broadcast_to(value_of(part.digits[0].plus, choices), face.choices)
    high = low.astype(np.float64)
    for term in part.digits[0].terms:
        values = np.broadcast_to(value_of(term.coefficient, choices), face.choices)
        high = high + values * np.array([plan.most(term, face)]).ravel()
    order = np.argsort(low)
    if part.digits[0].modulus or part.then or (high[order][:-1] >= low[order][1:]).any():
        return Fraction(1)
    halves = [
        math.prod(step.choice.preimages[int(c)] for step, c in zip(face.steps, row, strict=True))
        for row in zip(*choices, strict=True)
    ]
    return Fraction(max(halves), HALVES ** len(face.steps))


def _bits_odds(response: Bits, size: int) -> Fraction | None:
    """Two symbols differ in two bits: that of the one, and that of the other."""
    kinds: dict[tuple[int, int], int] = {}
    for bit in range(size):
        pair = (response.own[bit % len(response.own)], response.other[bit % len(response.other)])
        kinds[pair] = kinds.get(pair, 0) + 1
    pairs = product(kinds, repeat=2)
    return _largest(_bit_odds(a, b) for a, b in pairs if a != b or kinds[a] > 1)


def _bit_odds(one: tuple[int, int], other: tuple[int, int]) -> Fraction | None:
    """The largest odds of a symbol against another one, by the thresholds of their two bits."""
    total = Fraction(1)
    for here, there in (one, other[::-1]):
        bound = _largest([_ratio(here, there), _ratio(WORDS - here, WORDS - there)])
        if bound is None:
            return None
        total *= bound
    return total


def _ratio(likely: int, unlikely: int) -> Fraction | None:
    """likely / unlikely; None where only the first is possible, 1 where neither is."""
    if not unlikely:
        return None if likely else Fraction(1)
    return Fraction(likely, unlikely)


def _ladder_odds(
    plan: Plan, part: Part, response: Ladder, definition: Definition
) -> Fraction | None:
    """By classes of digits: which are sensitive in the answer, the record, and equal in both.

    An answer of class T compares the records that agree with it outside T. One of class S, a
    subset of T, that has the same values as the answer in the digits Q of S, gives it the words of
    every rung that draws all other digits of T.
    """
    _check_classes(plan, part, definition)
    if definition.kind == "uldp" and len(response.held) > 1:
        return None
    held, radices = response.held, [largest(radix) for radix in part.radices]
    digits = range(len(held))
    exists = [
        all(held[j] if kind >> j & 1 else radices[j] > held[j] for j in digits)
        for kind in range(1 << len(held))
    ]
    worst = Fraction(1)
    for kind in filter(exists.__getitem__, range(1 << len(held))):
        if definition.kind in ("local", "none") and kind != (1 << len(held)) - 1:
            return None
        words = [
            _words_of(response, kind, own, same)
            for own in filter(exists.__getitem__, _subsets(kind))
            for same in _subsets(own)
            if all(held[j] > 1 or same >> j & 1 for j in digits if own >> j & 1)
        ]
        if kind and words:
            bound = _ratio(max(words), min(words))
            if bound is None:
                return None
            worst = max(worst, bound)
    return worst


def _subsets(kind: int) -> Iterator[int]:
    """Every set of bits within another."""
    return (bits for bits in range(kind + 1) if bits & kind == bits)


def _words_of(response: Ladder, kind: int, own: int, same: int) -> int:
    """Words of an answer of class `kind` from a record of class `own`, equal in digits `same`."""
    ladder, total = response.rungs[own], 0
    last = WORDS - sum(rung.width * response.points(rung) for rung in ladder[:-1])
    for number, rung in enumerate(ladder):
        drawn = sum(1 << j for j in rung.drawn)
        if drawn & kind == drawn and (kind & ~drawn) & ~same == 0:
            total += last if number == len(ladder) - 1 else rung.width
    return total


def _check_classes(plan: Plan, part: Part, definition: Definition) -> None:
    """SurveyError unless every sensitive value is one that the ladder protects."""
    response = part.response
    assert isinstance(response, Ladder)
    varies = any(isinstance(integer, Varying) for d in part.digits for integer in d.integers())
    require(part.then is None and not varies, "the symbol of a ladder depends on the question")
    attributes = sorted(part.attributes)
    sizes = [plan.sizes[attribute] for attribute in attributes]
    require(math.prod(sizes) <= _MOST_RECORDS, "a ladder over too many combinations of codes")
    records = np.zeros((math.prod(sizes), len(plan.sizes)), dtype=np.int64)
    grid = np.unravel_index(np.arange(len(records)), sizes) if sizes else ()
    sensitive = np.zeros((len(records), len(attributes)), dtype=bool)
    for place, (attribute, codes) in enumerate(zip(attributes, grid, strict=True)):
        records[:, attribute] = codes
        declared = definition.sensitive_codes(attribute, plan.sizes[attribute])
        sensitive[:, place] = np.isin(codes, list(declared))
    digits = symbols(plan, part, records, [], [])
    protected = np.stack([d < h for d, h in zip(digits, response.held, strict=True)], axis=1)
    if definition.kind == "uldp-joint":
        require(len(digits) == len(attributes), "a ladder has one digit per attribute")
        own = [sorted({term.attribute for term in digit.terms}) for digit in part.digits]
        require(own == [[a] for a in attributes], "a ladder has its digits in order")
        holds = bool((protected | ~sensitive).all())
    else:
        holds = bool((protected.any(axis=1) | ~sensitive.any(axis=1)).all())
    require(holds, "a ladder does not protect a value that the survey calls sensitive")
    # A report is left unlimited because one record alone can send it: so a symbol that is not
    # protected has to be one record's, or in one digit one value's.
    apart = True
    if definition.kind == "uldp-joint":
        for digit, is_safe, codes in zip(digits, protected.T, grid, strict=True):
            pairs = np.unique(np.stack([digit[~is_safe], codes[~is_safe]]), axis=1)
            apart = apart and len(np.unique(pairs[0])) == pairs.shape[1]
    elif not protected.all():
        rest = np.stack(digits)[:, ~protected.any(axis=1)]
        reads_all = all(size == 1 or a in attributes for a, size in enumerate(plan.sizes))
        apart = reads_all and np.unique(rest, axis=1).shape[1] == rest.shape[1]
    require(apart, "a ladder answers several records alike that it does not protect")


def _paired_odds(plan: Plan, parts: Sequence[Part], definition: Definition) -> Fraction | None:
    """Of a ladder and bits about one attribute, as in uRAP, by pairs of codes.

    Answers of the ladder that only their own sender gives are not limited (`Definition`), and the
    bits' odds against them do not count. Codes that neither treats differently stand for others.
    """
    ladder = next((part for part in parts if isinstance(part.response, Ladder)), None)
    bits = next((part for part in parts if isinstance(part.response, Bits)), None)
    if ladder is None or bits is None or len(parts) > 2 or ladder.attributes != bits.attributes:
        return None
    names, thresholds = ladder.response, bits.response
    assert isinstance(names, Ladder)
    assert isinstance(thresholds, Bits)
    _check_classes(plan, ladder, definition)
    (attribute,) = ladder.attributes if len(ladder.attributes) == 1 else (None,)
    if (
        attribute is None
        or len(names.held) > 1
        or any(isinstance(i, Varying) for i in bits.digits[0].integers())
    ):
        return None
    records = np.zeros((plan.sizes[attribute], len(plan.sizes)), dtype=np.int64)
    records[:, attribute] = np.arange(len(records))
    name = symbols(plan, ladder, records, [], [])[0].tolist()
    bit = flatten(symbols(plan, bits, records, [], []), part_radices(bits, [])).tolist()
    own, other, (held,) = thresholds.own, thresholds.other, names.held
    kinds: dict[tuple[int, int, int], list[int]] = {}
    for code, (n, b) in enumerate(zip(name, bit, strict=True)):
        key = (min(n, held), own[b % len(own)], other[b % len(other)])
        kinds.setdefault(key, []).append(code)
    few = [code for codes in kinds.values() for code in codes[:2]]
    answers = range(min(held, 3))

    def bound(i: int, j: int) -> Fraction | None:
        seen = (own[bit[i] % len(own)], other[bit[i] % len(other)])
        rest = (own[bit[j] % len(own)], other[bit[j] % len(other)])
        by_bits = Fraction(1) if bit[i] == bit[j] else _bit_odds(seen, rest)
        by_name = _largest(
            _ratio(
                _words_of(names, 1, int(name[i] < held), int(name[i] == y)),
                _words_of(names, 1, int(name[j] < held), int(name[j] == y)),
            )
            for y in {*answers, *(n for n in (name[i], name[j]) if n < held)}
        )
        return None if by_bits is None or by_name is None else by_bits * by_name

    return _largest(bound(i, j) for i, j in product(few, repeat=2) if i != j)


# -- promises with a delta ------------------------------------------------------------------------


def excess(plan: Plan, allowed: Fraction) -> Fraction:
    """The least delta for which the plan keeps (epsilon, delta), where e^epsilon is `allowed`.

    An upper bound over pairs of records of the sum of (P - allowed P')+ over all reports; exact
    for plans with one table of words. 1 for a face that is neither a table nor within `allowed`.
    """
    total = Fraction(0)
    for face, halves in zip(plan.faces, plan.face_choice.preimages, strict=True):
        bound = _face_odds(plan, face, Definition("local"))
        if bound is not None and bound <= allowed:
            continue
        response = face.parts[0].response
        if len(face.parts) > 1 or not isinstance(response, Rows | Staircase):
            return Fraction(1)
        rows = response.table.rows
        require(
            len(rows) ** 2 * len(rows[0]) <= MOST_ENTRIES >> 2, "a table with a delta is too large"
        )
        top, bottom = allowed.numerator, allowed.denominator
        worst = max(
            sum(max(a * bottom - b * top, 0) for a, b in zip(*pair, strict=True))
            for pair in product(rows, repeat=2)
        )
        total += Fraction(halves * worst, HALVES * WORDS * bottom)
    return total
