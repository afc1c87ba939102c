"""What a report can tell at most, from a plan's own integers.

Nobody's statement is trusted: a device computes `odds` (and `excess`, for promises with a delta)
before it answers, and refuses a plan that exceeds its promise.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import permutations, product

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
    Subset,
    find_columns,
    largest,
    require,
    subset_words,
    value_of,
)

_MOST_RECORDS, _MOST_SIZES = 1 << 18, 1 << 16
_TOO_MANY = "too many different sizes of subset responses"
Bound = Fraction | float
"""Odds; infinite where a report is possible for some records only."""


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
    bounds = _Bounds(plan, definition)
    worst = max(map(bounds.of_face, plan.faces))
    return worst if isinstance(worst, Fraction) else None


@dataclass(frozen=True)
class _Bounds:
    """Upper bounds of the odds of a plan's faces.

    known: bounds of subset responses by (points inside, points, odds), each worked out once.
    """

    plan: Plan
    definition: Definition
    known: dict[tuple[int, int, int], Fraction] = field(default_factory=dict)

    def of_face(self, face: Face) -> Bound:
        """The worst odds over all questions of a face."""
        if any(step.secret for step in face.steps):
            return self._secret(face)
        total: Bound = Fraction(1)
        for group in _by_attributes(face.parts):
            if len(group) > 1 and any(isinstance(part.response, Ladder) for part in group):
                total *= self._paired(group)
            else:
                for part in group:
                    total *= self._of_part(face, part)
        return total

    def _of_part(self, face: Face, part: Part) -> Bound:
        response = part.response
        if all(self.plan.sizes[attribute] == 1 for attribute in part.attributes):
            return Fraction(1)  # everybody has the same symbol
        if isinstance(response, Subset):
            budget = self.plan.odds[response.odds]
            # Questions with one symbol tell nothing.
            sizes = {(*pair, budget) for pair in _sizes(face, part) if pair[1] > 1}
            new = {size for size in sizes if size not in self.known}
            require(len(self.known) + len(new) <= _MOST_SIZES, _TOO_MANY)
            for size in new:
                self.known[size] = Fraction(*subset_extremes(*size))
            return max((self.known[size] for size in sizes), default=Fraction(1))
        if isinstance(response, Ladder):
            return self._of_ladder(part, response)
        if isinstance(response, Rows):
            # The likeliest and the least likely sender of every answer.
            return max(_ratio(max(words), min(words)) for words in zip(*response.rows, strict=True))
        if isinstance(response, Bits):
            return _bits_odds(response, part.size)
        return Fraction(1) if part.size == 1 else math.inf

    def _secret(self, face: Face) -> Bound:
        """Of answers that hide which choice of a secret step they are about.

        An answer y is the symbol of at most one choice, where the choices' ranges of symbols do not
        overlap: P(y) <= p likeliest + (1 - p) (likeliest of those outside), P(y) >= least likely.
        Nothing is said of faces of another form: one part of one digit without tables, whose steps
        are all secret, and one number of symbols whatever was drawn.
        """
        part, digit, response = face.parts[0], face.parts[0].digits[0], face.parts[0].response
        is_alone = (
            len(face.parts) == len(part.digits) == 1 and not part.then and digit.table is None
        )
        sizes = _sizes(face, part) if isinstance(response, Arcs) and is_alone else set()
        if len(sizes) != 1 or not all(step.secret for step in face.steps):
            return math.inf
        ((base, size),) = sizes
        if base != 1 or size == 1:
            return Fraction(1) if size == 1 else math.inf
        assert isinstance(response, Arcs)
        inside, outside = subset_words(1, size, self.plan.odds[response.odds])
        others = max(WORDS - inside - outside * (size - 2), outside)
        chance = self._largest_choice(face, part)
        most = chance * max(inside, others) + (1 - chance) * others
        return Fraction(max(most, Fraction(others)), min(inside, outside))

    def _largest_choice(self, face: Face, part: Part) -> Fraction:
        """The largest probability of a secret choice; 1 where two can have the same symbol."""
        digit = part.digits[0]
        low = np.broadcast_to(value_of(digit.plus, face.combinations), face.choices)
        high, order = self.plan.largest_sum(digit, face), np.argsort(low)
        if digit.modulus or (high[order][:-1] >= low[order][1:]).any():
            return Fraction(1)
        most = math.prod(max(step.choice.preimages) for step in face.steps)
        return Fraction(most, HALVES ** len(face.steps))

    def _of_ladder(self, part: Part, response: Ladder) -> Bound:
        """By classes of digits: which are sensitive in the answer, the record, and equal in both.

        An answer of class T compares the records that agree with it outside T. One of class S, a
        subset of T, that has the same values as the answer in the digits Q of S, gives it the words
        of every rung that draws all other digits of T.
        """
        self._check_classes(part, response)
        if self.definition.kind == "uldp" and len(response.held) > 1:
            return math.inf
        held, radices = response.held, [largest(radix) for radix in part.radices]
        digits, everything = range(len(held)), (1 << len(held)) - 1
        exists = [
            all(held[j] if kind >> j & 1 else radices[j] > held[j] for j in digits)
            for kind in range(everything + 1)
        ]
        worst: Bound = Fraction(1)
        for kind in filter(exists.__getitem__, range(everything + 1)):
            if self.definition.kind in ("local", "none") and kind != everything:
                return math.inf
            words = [
                _words_of(response, kind, own, same)
                for own in filter(exists.__getitem__, _subsets(kind))
                for same in _subsets(own)
                if all(held[j] > 1 or same >> j & 1 for j in digits if own >> j & 1)
            ]
            if kind and words:
                worst = max(worst, _ratio(max(words), min(words)))
        return worst

    def _check_classes(self, part: Part, response: Ladder) -> None:
        """SurveyError unless every sensitive value is one that the ladder protects."""
        plan, definition = self.plan, self.definition
        varies = any(find_columns(part.digits))
        require(part.then is None and not varies, "the symbol of a ladder depends on the question")
        attributes = sorted(part.attributes)
        sizes = [plan.sizes[attribute] for attribute in attributes]
        require(math.prod(sizes) <= _MOST_RECORDS, "a ladder over too many combinations of codes")
        records = np.zeros((math.prod(sizes), len(plan.sizes)), dtype=np.int64)
        records[:, attributes] = np.indices(sizes).reshape(len(sizes), -1).T
        grid = records[:, attributes].T
        sensitive = np.zeros(grid.shape, dtype=bool)
        for row, attribute, size in zip(range(len(sizes)), attributes, sizes, strict=True):
            sensitive[row] = np.isin(grid[row], [*definition.sensitive_codes(attribute, size)])
        digits = np.stack(symbols(plan, part, records, [], []))
        protected = digits < np.array(response.held)[:, None]
        # A report is left unlimited because one record alone can send it: so a symbol that is not
        # protected has to be one record's, or in one digit one value's.
        if definition.kind == "uldp-joint":
            require(len(digits) == len(attributes), "a ladder has one digit per attribute")
            own = [sorted({term.attribute for term in digit.terms}) for digit in part.digits]
            require(own == [[a] for a in attributes], "a ladder has its digits in order")
            holds = bool((protected | ~sensitive).all())
            pairs = (
                np.unique(np.stack([digit, codes])[:, ~is_safe], axis=1)
                for digit, codes, is_safe in zip(digits, grid, protected, strict=True)
            )
            apart = all(len(np.unique(pair[0])) == pair.shape[1] for pair in pairs)
        else:
            holds = bool((protected.any(axis=0) | ~sensitive.any(axis=0)).all())
            rest = digits[:, ~protected.any(axis=0)]
            reads_all = all(size == 1 or a in attributes for a, size in enumerate(plan.sizes))
            is_told_apart = reads_all and np.unique(rest, axis=1).shape == rest.shape
            apart = bool(protected.all()) or is_told_apart
        require(holds, "a ladder does not protect a value that the survey calls sensitive")
        require(apart, "a ladder answers several records alike that it does not protect")

    def _paired(self, parts: Sequence[Part]) -> Bound:
        """Of a ladder and bits about one attribute, as in uRAP, by pairs of codes.

        Answers of the ladder that only their own sender gives are not limited (`Definition`), and
        the bits' odds against them do not count. Codes that neither treats differently stand for
        others.
        """
        plan, one, two = self.plan, *sorted(parts, key=lambda p: isinstance(p.response, Bits))[:2]
        names, bits = one.response, two.response
        if len(parts) > 2 or not isinstance(names, Ladder) or not isinstance(bits, Bits):
            return math.inf
        self._check_classes(one, names)
        is_simple = len(one.attributes) == len(names.held) == 1 and one.attributes == two.attributes
        if not is_simple or any(find_columns(two.digits[0])):
            return math.inf
        (attribute,), (held,) = one.attributes, names.held
        records = np.zeros((plan.sizes[attribute], len(plan.sizes)), dtype=np.int64)
        records[:, attribute] = np.arange(len(records))
        name = symbols(plan, one, records, [], [])[0].tolist()
        bit = flatten(symbols(plan, two, records, [], []), part_radices(two, [])).tolist()
        thresholds = [(bits.own[b % len(bits.own)], bits.other[b % len(bits.other)]) for b in bit]
        kinds: dict[tuple[int, tuple[int, int]], list[int]] = {}
        for code, n in enumerate(name):
            kinds.setdefault((min(n, held), thresholds[code]), []).append(code)
        few = [code for codes in kinds.values() for code in codes[:2]]

        def bound(i: int, j: int) -> Bound:
            by_bits = Fraction(1) if bit[i] == bit[j] else _bit_odds(thresholds[i], thresholds[j])
            answers = {*range(min(held, 3)), *(n for n in (name[i], name[j]) if n < held)}
            words = (
                [_words_of(names, 1, int(name[k] < held), int(name[k] == y)) for k in (i, j)]
                for y in answers
            )
            return by_bits * max(_ratio(*pair) for pair in words)

        return max((bound(i, j) for i, j in permutations(few, 2)), default=Fraction(1))


def _by_attributes(parts: Sequence[Part]) -> list[list[Part]]:
    """Parts that read attributes in common, together."""
    groups: list[tuple[set[int], list[Part]]] = []
    for part in parts:
        joined = [group for group in groups if group[0] & part.attributes]
        if len(joined) != 1:
            groups = [group for group in groups if not group[0] & part.attributes]
            members = [member for group in joined for member in group[1]]
            groups.append((set().union(*(known for known, _ in joined)), members))
            joined = groups[-1:]
        joined[0][0].update(part.attributes)
        joined[0][1].append(part)
    return [members for _, members in groups]


def _sizes(face: Face, part: Part) -> set[tuple[int, int]]:
    """(points inside, points) of a subset response over the questions of a face."""
    base, size = (np.asarray(n, dtype=np.int64) for n in base_and_size(part, face.combinations))
    pairs = np.sort(np.ravel((base << 31) + size))  # a part has fewer than 2^31 points
    pairs = pairs[np.flatnonzero(np.diff(pairs, prepend=-1))]
    require(len(pairs) <= _MOST_SIZES, _TOO_MANY)
    return {divmod(pair, 1 << 31) for pair in pairs.tolist()}


def subset_extremes(base: int, size: int, budget: int) -> tuple[int, int]:
    """Words of the likeliest and of the least likely point of a subset response."""
    inside, outside = subset_words(base, size, budget)
    if base == size:
        return WORDS - inside * (base - 1), inside
    last = WORDS - base * inside - outside * (size - base - 1)
    return max(inside, last), min(inside, outside)


def _bits_odds(response: Bits, size: int) -> Bound:
    """Two symbols differ in two bits: that of the one, and that of the other."""
    own, other = (t * (size if len(t) == 1 else 1) for t in (response.own, response.other))
    kinds = Counter(zip(own[:size], other[:size], strict=True))
    pairs = ((a, b) for a, b in product(kinds, repeat=2) if a != b or kinds[a] > 1)
    return max((_bit_odds(a, b) for a, b in pairs), default=Fraction(1))


def _bit_odds(one: tuple[int, int], other: tuple[int, int]) -> Bound:
    """The largest odds of a symbol against another one, by the thresholds of their two bits."""
    total: Bound = Fraction(1)
    for here, there in (one, other[::-1]):
        total *= max(Fraction(1), _ratio(here, there), _ratio(WORDS - here, WORDS - there))
    return total


def _ratio(likely: int, unlikely: int) -> Bound:
    """likely / unlikely, at least 1; infinite where only the first is possible, 1 where neither."""
    if not unlikely:
        return math.inf if likely else Fraction(1)
    return max(Fraction(likely, unlikely), Fraction(1))


def _subsets(kind: int) -> Iterator[int]:
    """Every set of bits within another."""
    return (bits for bits in range(kind + 1) if bits & kind == bits)


def _words_of(response: Ladder, kind: int, own: int, same: int) -> int:
    """Words of an answer of class `kind` from a record of class `own`, equal in digits `same`."""
    ladder = response.rungs[own]
    widths = [*(rung.width for rung in ladder[:-1]), response.left(ladder)]
    drawn = [sum(1 << j for j in rung.drawn) for rung in ladder]
    return sum(
        w for w, d in zip(widths, drawn, strict=True) if d & kind == d and not kind & ~d & ~same
    )


# -- promises with a delta ------------------------------------------------------------------------


def excess(plan: Plan, allowed: Fraction) -> Fraction:
    """The least delta for which the plan keeps (epsilon, delta), where e^epsilon is `allowed`.

    An upper bound over pairs of records of the sum of (P - allowed P')+ over all reports; exact
    for plans with one table of words. 1 for a face that is neither a table nor within `allowed`.
    """
    total, bounds = Fraction(0), _Bounds(plan, Definition("local"))
    for face, halves in zip(plan.faces, plan.face_choice.preimages, strict=True):
        if bounds.of_face(face) <= allowed:
            continue
        response = face.parts[0].response
        if len(face.parts) > 1 or not isinstance(response, Rows):
            return Fraction(1)
        rows = response.rows
        size = len(rows) ** 2 * len(rows[0])
        require(size <= MOST_ENTRIES >> 2, "a table with a delta is too large")
        top, bottom = allowed.numerator, allowed.denominator
        worst = max(
            sum(max(a * bottom - b * top, 0) for a, b in zip(*pair, strict=True))
            for pair in product(rows, repeat=2)
        )
        total += Fraction(halves * worst, HALVES * WORDS * bottom)
    return total
