"""The largest odds that a report can give, from a plan's own integers.

Nobody's statement is trusted: a device computes `odds` (and `excess`, for promises with a delta)
before it answers, and refuses a plan that exceeds its promise.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import product

import numpy as np

from ldpsql_device.draw import (
    base_and_size,
    classes_of,
    count_words,
    flatten,
    part_radices,
    subset_table,
    symbols,
)
from ldpsql_device.plan import (
    HALVES,
    MOST_ENTRIES,
    WORDS,
    Arcs,
    Bits,
    Face,
    Integers,
    Ladder,
    Part,
    Plan,
    RowsOfWords,
    Subset,
    extent,
    find_columns,
    require,
)

_MOST_RECORDS, _MOST_SIZES = 1 << 18, 1 << 16
_MOST_ODDS = 1 << 1000
"""Far beyond all promises; larger ones count as unbounded."""
_LARGEST_EXACT = 1 << 4096
"""Denominators of products of bounds."""
Bound = Fraction | float
"""Odds; infinite where a report is possible for some records only."""
OwnBit = tuple[int, int, int]
"""The bit of a record's symbol: its threshold, its threshold for other records, its number."""


@dataclass(frozen=True)
class Definition:
    """The comparison that a guarantee makes; the kinds are those of `guarantee.KINDS`.

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

    Questions are drawn blindly and reported, so it is the worst question's. Within one, the odds of
    parts multiply: a bound for parts about the same attributes too, which is refined where a ladder
    and bits are about the same ones. It is attained where every symbol is some record's.
    """
    bounds = _Bounds(plan, definition)
    worst = max(map(bounds.of_face, plan.faces))
    return worst if isinstance(worst, Fraction) else None


@dataclass(frozen=True)
class _Bounds:
    """Upper bounds of the odds of a plan's faces.

    known: of subset responses by (points inside, points, odds), each worked out once: words of the
    likeliest point inside, of the likeliest one outside, and of the least likely one.
    """

    plan: Plan
    definition: Definition
    known: dict[tuple[int, int, int], tuple[int, int, int]] = field(default_factory=dict)

    def of_face(self, face: Face) -> Bound:
        """The worst odds over all questions of a face.

        A choice that is secret tells no more than one that is reported.
        """
        # Of an attribute with one code everybody has the same symbol.
        parts = [p for p in face.parts if any(self.plan.sizes[a] > 1 for a in p.attributes)]
        others = [part for part in parts if not isinstance(part.response, Ladder)]
        bounds: list[Bound] = []
        for part in parts:
            if isinstance(part.response, Ladder):
                beside = [other for other in others if _is_beside(part, other)]
                others = [other for other in others if not _is_beside(part, other)] + beside[1:]
                bounds.append(self._of_ladder(part, part.response, beside[:1]))
        for part, count in Counter(others).items():
            bounds += [self._of_part(face, part)] * count
        return _multiply(bounds)

    def _of_part(self, face: Face, part: Part) -> Bound:
        response = part.response
        if isinstance(response, Subset):
            return self._of_subset(face, part, self.plan.odds[response.odds])
        if isinstance(response, RowsOfWords):
            # The likeliest and the least likely sender of every answer.
            return max(_ratio(max(words), min(words)) for words in zip(*response.rows, strict=True))
        if isinstance(response, Bits):
            return _worst((1, bit) for bit in _represent(_own_bits(response, range(part.size))))
        return Fraction(1) if part.size == 1 else math.inf

    def _of_subset(self, face: Face, part: Part, budget: int) -> Bound:
        """Of the likeliest and the least likely point, over the questions of a face.

        If an answer is the symbol of one secret choice at most, of probability p, it is sent with
        at most p (likeliest inside) + (1 - p) (likeliest outside).
        """
        base, size = (np.asarray(n, dtype=np.int64) for n in base_and_size(part, face.combinations))
        pairs = np.sort(np.ravel((base << 31) + size))  # a part has fewer than 2^31 points
        pairs = pairs[np.flatnonzero(np.diff(pairs, prepend=-1))][: _MOST_SIZES + 1]
        sizes = [(*divmod(pair, 1 << 31), budget) for pair in pairs.tolist()]
        new = [size for size in sizes if size not in self.known]
        is_few = len(self.known) + len(new) <= _MOST_SIZES
        require(is_few, "too many different sizes of subset responses")
        table = subset_table([pair[:2] for pair in new], budget)
        for kind, pair in enumerate(new):
            # A point has `width` words, and the last one of its rung `last`.
            rungs = count_words(table, kind)
            words = [(last, width if points > 1 else last) for _, points, width, last in rungs]
            self.known[pair] = max(words[0]), max(words[-1]), min(map(min, words))
        chance, worst = self._largest_choice(face, part), Fraction(1)
        # Questions with one symbol tell nothing.
        for inside, outside, least in (self.known[pair] for pair in sizes if pair[1] > 1):
            most = max(chance * inside + (1 - chance) * outside, outside)
            worst = max(worst, Fraction(most, least))
        return worst

    def _largest_choice(self, face: Face, part: Part) -> Fraction | int:
        """The largest probability of a secret choice; 1 where two can have the same symbol.

        It is looked for in one form only: one part of one digit without tables, whose steps are
        all secret, with one favoured symbol and one number of symbols whatever was drawn.
        """
        digit, response = part.digits[0], part.response
        is_alone = (
            len(face.parts) == len(part.digits) == 1 and not part.then and digit.table is None
        )
        is_simple = is_alone and not digit.modulus and isinstance(digit.radix, int)
        is_secret = is_simple and all(step.secret for step in face.steps)
        if not is_secret or not isinstance(response, Arcs) or response.counts != (1,):
            return 1
        low = np.zeros(face.choices) + face.every(digit.plus)
        high, order = self.plan.largest_sum(digit, face), np.argsort(low)
        if (high[order][:-1] >= low[order][1:]).any():
            return 1
        most = math.prod(max(step.preimages) for step in face.steps)
        return Fraction(most, HALVES ** len(face.steps))

    def _of_ladder(self, part: Part, response: Ladder, beside: Sequence[Part]) -> Bound:
        """The worst odds of the answers, by which of their digits are sensitive.

        An answer compares the records that have the same values in its other digits. Of sensitive
        values the answer's own and any other one stand for all.  beside: bits about the same
        attributes, or none. They do not count against answers that only their own sender gives,
        which are not limited (`Definition`).
        """
        self._check_ladder(part, response)
        own_bits: dict[int, list[OwnBit | None]] = {}
        for bits in beside:
            assert isinstance(bits.response, Bits)
            records = self._records(sorted(part.attributes))
            classes = classes_of(response, symbols(self.plan, part, records, [], []))
            flat = flatten(symbols(self.plan, bits, records, [], []), part_radices(bits, []))
            for own in (0, 1):
                numbers = set(flat[classes == own].tolist())
                own_bits[own] = [*_represent(_own_bits(bits.response, numbers))]
        worst: Bound = Fraction(1)
        pairs = [*zip(response.held, (extent(radix)[1] for radix in part.radices), strict=True)]
        for answer in product(*([0, held][: 1 + (held < radix)] for held, radix in pairs)):
            # Its own value, another sensitive one, and one that is not.
            values = (
                [0, *[1] * (held > 1), *[held] * (held < radix)] if digit == 0 else [digit]
                for digit, (held, radix) in zip(answer, pairs, strict=True)
            )
            words = [_words_of(response, answer, record) for record in product(*values)]
            views = ((count, bit) for own, count in words for bit in own_bits.get(own, [None]))
            worst = max(worst, _worst(views)) if 0 in answer else worst
        return worst

    def _check_ladder(self, part: Part, response: Ladder) -> None:
        """SurveyError unless every sensitive value is one that the ladder protects.

        A report is left unlimited because one record alone can send it: so a symbol that is not
        protected has to be one record's, or in one digit one value's.
        """
        kind, every = self.definition.kind, range(len(self.plan.sizes))
        varies = any(find_columns(part.digits))
        require(part.then is None and not varies, "the symbol of a ladder depends on the question")
        read = [sorted({term.attribute for term in digit.terms}) for digit in part.digits]
        if kind == "uldp-joint":
            is_in_order = read == [[attribute] for attribute in sorted(part.attributes)]
            require(is_in_order, "a ladder has one digit per attribute, in order")
        elif kind == "uldp":
            require(len(read) == 1, "a ladder has one digit")
        for digit, (attributes, held) in enumerate(zip(read, response.held, strict=True)):
            records = self._records(attributes)
            symbol = symbols(self.plan, part, records, [], [])[digit]
            is_safe, is_sensitive = symbol < held, np.zeros(len(records), dtype=bool)
            for a in attributes:
                codes = self.definition.sensitive_codes(a, self.plan.sizes[a])
                is_sensitive |= np.isin(records[:, a], [*codes])
            if kind in ("local", "none"):
                is_sensitive[:] = True
            problem = "a ladder does not protect a value that the survey calls sensitive"
            require(is_safe | ~is_sensitive, problem)
            is_one = len(set(symbol[~is_safe].tolist())) == np.count_nonzero(~is_safe)
            is_one &= kind == "uldp-joint" or attributes == [*every] or bool(is_safe.all())
            require(is_one, "a ladder answers several records alike that it does not protect")

    def _records(self, attributes: Sequence[int]) -> Integers:
        """Records with all combinations of codes of some attributes, a row each."""
        sizes = [self.plan.sizes[attribute] for attribute in attributes]
        require(math.prod(sizes) <= _MOST_RECORDS, "a ladder over too many combinations of codes")
        records = np.zeros((math.prod(sizes), len(self.plan.sizes)), dtype=np.int64)
        records[:, [*attributes]] = np.indices(sizes).reshape(len(sizes), len(records)).T
        return records


def _is_beside(ladder: Part, other: Part) -> bool:
    """Whether these are bits about what a ladder of one digit is about, whatever the question."""
    is_fixed = len(ladder.digits) == 1 and other.then is None and not any(find_columns(other))
    return is_fixed and isinstance(other.response, Bits) and other.attributes <= ladder.attributes


def _multiply(bounds: Iterable[Bound]) -> Bound:
    """Their product; rounded up where there are very many, whose denominators would grow."""
    total = Fraction(1)
    for bound in bounds:
        if not isinstance(bound, Fraction) or total > _MOST_ODDS:
            return math.inf
        total *= bound
        if total.denominator > _LARGEST_EXACT:
            total = Fraction(-(-total.numerator * WORDS**4 // total.denominator), WORDS**4)
    return total


def _own_bits(response: Bits, numbers: Iterable[int]) -> Iterator[OwnBit]:
    """Thresholds of bits by their numbers: for the record whose own bit it is, and for others."""
    own, other = response.own, response.other
    return ((own[n % len(own)], other[n % len(other)], n) for n in numbers)


def _represent(bits: Iterable[OwnBit]) -> Iterator[OwnBit]:
    """Two bits of each pair of thresholds: one of them differs from any other bit."""
    kinds: Counter[tuple[int, int]] = Counter()
    for bit in bits:
        kinds[bit[:2]] += 1
        if kinds[bit[:2]] <= 2:
            yield bit


def _worst(views: Iterable[tuple[int, OwnBit | None]]) -> Bound:
    """The worst odds among records that give an answer so many words and have these bits."""
    words = defaultdict(set)
    for count, bit in views:
        words[bit].add(count)
    pairs = product(words.items(), repeat=2)
    bounds = (_ratio(max(a), min(b)) * _bit_odds(one, other) for (one, a), (other, b) in pairs)
    return max(bounds, default=Fraction(1))


def _bit_odds(one: OwnBit | None, other: OwnBit | None) -> Bound:
    """The largest odds of one record's bits against another's, which differ in two of them."""
    total: Bound = Fraction(1)
    if one is not None and other is not None and one != other:
        for here, there in (one[:2], other[1::-1]):
            total *= max(_ratio(here, there), _ratio(WORDS - here, WORDS - there))
    return total


def _ratio(likely: int, unlikely: int) -> Bound:
    """likely / unlikely, at least 1; infinite where only the first is possible, 1 where neither."""
    if not unlikely:
        return math.inf if likely else Fraction(1)
    return max(Fraction(likely, unlikely), Fraction(1))


def _words_of(response: Ladder, answer: Sequence[int], record: Sequence[int]) -> tuple[int, int]:
    """The class of a record, and its words for an answer, by their digits."""
    digits = [*zip(answer, record, response.held, strict=True)]
    own = sum((digit < held) << place for place, (_, digit, held) in enumerate(digits))
    words = 0
    for rung, _, _, last in count_words(response.table, own):
        is_drawn = zip(response.is_drawn[own, rung], digits, strict=True)
        if all(a < held if anew else a == digit for anew, (a, digit, held) in is_drawn):
            words += last
    return own, words


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
        if len(face.parts) > 1 or not isinstance(response, RowsOfWords):
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
