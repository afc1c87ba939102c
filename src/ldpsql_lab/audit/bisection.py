"""The exact law of the device code, found from outside by bisection over its random words.

`ldpsql_device.law` reads the integers that the interpreter compares with, and so would not see a
fault of the interpreter alone. Here a device is nothing but a function from codes and words to
reports: word after word, it is found where the reports change.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import partial
from itertools import product
from operator import itemgetter

import numpy as np

from ldpsql.algebra.numerics import Array, bound_probability
from ldpsql.audit.exact import Criterion
from ldpsql.audit.outside import DeviceCheck
from ldpsql.estimators.base import AnyDesign as Design
from ldpsql.reports.channel import Outcome
from ldpsql_device.draw import draw, flatten, halves_of, part_radices, symbols
from ldpsql_device.entropy import Entropy, Words
from ldpsql_device.law import Report, count_reports, law, part_law
from ldpsql_device.plan import BITS_PER_COLUMN, HALVES, WORDS, Bits, Integers, Plan, Step
from ldpsql_lab.audit.sampling import check_words, make_records_of_every_code, row_keys

Law = dict[Report, Fraction]
Borders = tuple[Integers, Words]
"""Rows, and the values at which something changes in each."""
MOST_ENUMERATED = 1 << 12
"""Reports of a plan that is compared report by report."""
MOST_CHOICES, MOST_ANSWERS, MOST_COMPARED = 1 << 13, 1 << 14, 1 << 18
"""Alternatives of a choice, answers of a part, and answers of all records that are compared."""
SAMPLED_QUESTIONS, SAMPLED_BITS, _MORE_QUESTIONS = 16, 8, 96
"""What is looked at of a larger plan."""
_GRID = 64
_BATCH = 1 << 16
_ALWAYS, _ALIGNED, _PAIRED = 4, 4, 64
"""Records whose answers are compared for every question; whose bits are, for all records; and whose
laws are compared with one another."""
_TOGETHER, _BLIND_TRIES, _TRIES = 64, 64, 256
_ALPHA = 1e-6
_OTHER = np.uint64(0x9E3779B97F4A7C15)
"""What words are before they are looked at."""


class Given:
    """Words that were chosen before, for one draw.

    left: how many of them nobody asked for.  is_short: whether more were asked for; zeros stand for
    these.
    """

    def __init__(self, words: Words) -> None:
        self._words, self.is_short = words.ravel(), False

    def words(self, count: int) -> Words:
        """The next of them."""
        taken, self._words = self._words[:count], self._words[count:]
        self.is_short |= len(taken) < count
        return np.pad(taken, (0, count - len(taken)))

    @property
    def left(self) -> int:
        """How many words are left."""
        return len(self._words)


def bisect_law(
    plan: Plan,
    record: Sequence[int],
    words: Words,
    shares: Sequence[Fraction],
    free: range,
    known: Borders | None = None,
) -> tuple[Law, Borders]:
    """The exact law of what a device runs for a plan and an encoded record; and where the reports
    change in the first free word, row by row.

    words: all that it draws, shape (k, plan.words); those at the places `free` are uniform, the
    others as in a row, which has the probability in `shares`.  One free word after the other is
    bisected (`find_pieces`), at one setting of those behind it: each must show in the report
    whatever those are. About 60 reports are drawn for each one that there is, and two where
    another record's borders, `known`, are the same.
    """
    whole = math.lcm(*(share.denominator for share in shares))
    masses = [int(share * whole) for share in shares]
    borders = known
    for place in free:
        rows, starts, sizes = find_pieces(
            partial(_look, plan, record, words, place), len(words), 64, known
        )
        if place == free.start:
            borders, known = (rows, starts), None
        words = words[rows]
        words[:, place] = starts
        masses = [masses[row] * size for row, size in zip(rows.tolist(), sizes, strict=True)]
    sums: dict[Report, int] = {}
    for row, mass in zip(_run(plan, record, words).tolist(), masses, strict=True):
        sums[tuple(row)] = sums.get(tuple(row), 0) + mass
    whole *= WORDS ** len(free)
    found = {report: Fraction(mass, whole) for report, mass in sums.items() if mass}
    return found, borders or (np.zeros(0, np.int64), np.zeros(0, np.uint64))


def _look(
    plan: Plan, record: Sequence[int], words: Words, place: int, rows: Integers, values: Words
) -> Integers:
    """The reports of some rows of words with other values at a place."""
    changed = words[rows]
    changed[:, place] = values
    return _run(plan, record, changed)


def _run(plan: Plan, records: Sequence[int] | Integers, words: Words) -> Integers:
    """Reports of one record, or of one per row, by these words, shape (m, columns)."""
    codes = np.broadcast_to(np.asarray(records, dtype=np.int64), (len(words), len(plan.sizes)))
    found = []
    for start in range(0, max(1, len(words)), _BATCH):
        part = slice(start, start + _BATCH)
        given = Given(words[part])
        found.append(np.stack(draw(plan, np.array(codes[part]), given), axis=1))
        if given.left or given.is_short:
            raise DeviceFaultError("the device does not draw as many random words as its plan says")
    return np.concatenate(found)


class DeviceFaultError(Exception):
    """A device did something that cannot be compared with a law."""


def find_pieces(
    look: Callable[[Integers, Words], Integers],
    count: int,
    bits: int,
    known: Borders | None = None,
) -> tuple[Integers, Words, list[int]]:
    """Where functions of a number change: (row, first value, number of values) of every piece.

    look: what is seen, shape (m, columns), of the functions with these rows, below `count`, at
    these values, below 2^bits.  A grid of values is compared, with both sides of the borders that
    are `known` from another function, and between neighbours that differ the border is bisected
    down to a single value. A piece that lies inside a cell of the grid, between two pieces that
    look alike, is missed.
    """
    largest = (1 << bits) - 1
    steps = min(_GRID, largest)
    grid = np.array([largest * step // steps for step in range(steps + 1)], np.uint64)
    rows, values = np.repeat(np.arange(count), len(grid)), np.tile(grid, count)
    if known is not None:
        is_inner = known[1] > 0
        extra, after = known[0][is_inner], known[1][is_inner]
        rows = np.concatenate([rows, extra, extra])
        values = np.concatenate([values, after, after - np.uint64(1)])
        order = np.lexsort((values, rows))
        rows, values = rows[order], values[order]
        is_new = np.append(True, (np.diff(rows) > 0) | (values[1:] != values[:-1]))
        rows, values = rows[is_new], values[is_new]
    seen = look(rows, values)
    while True:
        same_row = rows[1:] == rows[:-1]
        is_start = np.append(True, (seen[1:] != seen[:-1]).any(axis=1) | ~same_row)
        wide = np.flatnonzero(is_start[1:] & same_row & (values[1:] - values[:-1] > 1))
        if not len(wide):
            break
        middle = values[wide] + (values[wide + 1] - values[wide]) // np.uint64(2)
        between = look(rows[wide], middle)
        # Values inside a piece have said what they had to; only its first and last are kept.
        kept = is_start | np.append(is_start[1:], True)
        places = np.cumsum(kept)[wide]
        rows = np.insert(rows[kept], places, rows[wide])
        values = np.insert(values[kept], places, middle)
        seen = np.insert(seen[kept], places, between, axis=0)
    rows, starts = rows[is_start], values[is_start]
    # A piece ends where the next one of its row starts; the last one of a row, where numbers end.
    ends = [*starts[1:].tolist(), 0]
    sizes = [(end or 1 << bits) - start for start, end in zip(starts.tolist(), ends, strict=True)]
    return rows, starts, sizes


def law_of_interpreter(
    plan: Plan, record: Sequence[int], known: Borders | None = None
) -> tuple[Law, Borders]:
    """The exact law of what a device runs for a plan and an encoded record; and the borders of its
    first free word, which are those of most other records too.

    What is drawn blindly, secret choices too, is taken from the function that draws it, so that no
    report has to show it; the laws that follow are mixed by the exact shares of the choices.
    """
    # Of every combination of choices the lowest and the highest words stand for all others.
    blind, shares = [], []
    for face in _find_choices(plan.face_choice):
        steps = (_find_choices(step) for step in plan.faces[face[0]].steps)
        for pieces in product([face], *steps):
            count = math.prod(size for _, _, size in pieces)
            lowest = [start for _, start, _ in pieces]
            highest = [start + size - 1 for _, start, size in pieces]
            for halves, number in ((lowest, 1), (highest, count - 1)):
                padded = halves + [0] * (2 * plan.blind_words - len(halves))
                blind.append([a << 32 | b for a, b in zip(padded[::2], padded[1::2], strict=True)])
                shares.append(Fraction(number, HALVES ** len(pieces)))
    words = np.full((len(blind), plan.words), _OTHER)
    words[:, : plan.blind_words] = np.array(blind, dtype=np.uint64)
    free = range(plan.blind_words, plan.words)
    return bisect_law(plan, record, words, shares, free, known)


def _find_choices(choice: Step) -> list[tuple[int, int, int]]:
    """(alternative, first half, number of halves) of every piece of what a device draws."""

    def find(halves: Words) -> Integers:
        return choice.find(halves.astype(np.uint32))

    _, starts, sizes = find_pieces(lambda _, halves: find(halves)[:, None], 1, 32)
    return list(zip(find(starts).tolist(), starts.tolist(), sizes, strict=True))


# -- the device against the law of its plan -------------------------------------------------------


def check_device_of(design: Design, entropy: Entropy) -> DeviceCheck:
    """Compare the interpreter with the law of a design's plan, for made-up records of every code;
    and whether the words it draws are random."""
    definition = Criterion(design.guarantee.kind, design.domain)
    records = make_records_of_every_code(design.domain, entropy)
    check = check_device(design.plan, records, entropy, definition.protects)
    problem = check_words(entropy)
    return replace(check, problems=(*check.problems, problem)) if problem else check


def check_device(
    plan: Plan,
    records: Sequence[Sequence[int]],
    entropy: Entropy,
    protects: Callable[[Outcome], bool] = lambda record: True,
) -> DeviceCheck:
    """Compare the interpreter with the law of a plan, for made-up records.

    For all of them: that questions do not depend on the record, and that everybody is answered by
    words of their own. Of small plans the law is compared report by report. Of large ones: how
    every face and step is drawn, up to MOST_CHOICES of each, and for some questions and coins the
    law of the answers, part by part, up to MOST_ANSWERS in a part, or that of some of their bits.
    Where all records together have more than MOST_COMPARED answers, the last ones are only shown
    not to repeat a report more often than the law of the others allows.

    records: encoded, a code per attribute, those that matter most first.  entropy: chooses what is
    looked at.  protects: whether the odds of a record's owner are limited against every other one.
    """
    check = _Comparison(plan, list(dict.fromkeys(map(tuple, records))), entropy, protects)
    is_whole = count_reports(plan) <= MOST_ENUMERATED
    try:
        check.try_all()
        if is_whole:
            check.compare_whole()
        else:
            check.problems += _check_choices(plan)
            check.compare_parts()
    except DeviceFaultError as fault:
        check.problems.append(str(fault))
    compared = len(check.compared)
    return DeviceCheck(
        tuple(dict.fromkeys(check.problems)),
        is_whole and compared == len(check.records),
        len(check.records),
        compared,
        plan.questions if is_whole else len(check.questions),
        len(check.left_out),
        check.epsilon,
    )


@dataclass
class _Comparison:
    """The findings of `check_device` so far: what was compared, and what is wrong."""

    plan: Plan
    records: Sequence[Outcome]
    entropy: Entropy
    protects: Callable[[Outcome], bool]
    problems: list[str] = field(default_factory=list)
    compared: set[Outcome] = field(default_factory=set)
    questions: set[int] = field(default_factory=set)
    left_out: set[int] = field(default_factory=set)
    epsilon: float = 0.0
    answers: int = 0

    def draw_words(self, count: int) -> Words:
        """The words that so many people draw, shape (count, plan.words)."""
        return self.entropy.words(count * self.plan.words).reshape(count, self.plan.words)

    def try_all(self) -> None:
        """Whether questions are blind, and whether people who are randomized together send what
        each of them would have sent alone."""
        plan, codes = self.plan, np.array(self.records, dtype=np.int64)
        for words in self.draw_words(_BLIND_TRIES):
            drawn = _run(plan, codes, np.tile(words, (len(codes), 1)))[:, : 1 + plan.coin_columns]
            for row in np.flatnonzero((drawn != drawn[0]).any(axis=1))[:1].tolist():
                self.problems.append(
                    f"the question depends on the record: by the same words {self.records[row]} "
                    f"and {self.records[0]} answer different ones"
                )
        people, words = codes[np.arange(_TOGETHER) % len(codes)], self.draw_words(_TOGETHER)
        alone = [_run(plan, people[i : i + 1], words[i : i + 1]) for i in range(_TOGETHER)]
        if (_run(plan, people, words) != np.concatenate(alone)).any():
            self.problems.append("people who are randomized together share random words")

    def compare_whole(self) -> None:
        """Every report of a small plan."""
        known, laws = None, {}
        for place, record in enumerate(self.records):
            if place >= _ALWAYS and self.answers > MOST_COMPARED:
                break
            due = law(self.plan, record)
            self.answers += len(due)
            laws[record], known = law_of_interpreter(self.plan, record, known)
            if laws[record] != due:
                self.problems.append(
                    f"the device does not follow the law of its plan for the record {record}"
                )
        self.compared.update(laws)
        self._take_odds([laws])
        most = max(float(max(found.values())) for found in laws.values())
        words = np.zeros(self.plan.words, np.uint64)
        self._try_rest(self.records[len(laws) :], words, range(self.plan.words), most)

    def compare_parts(self) -> None:
        """Some questions of a large plan, part by part. The first records answer all of them, every
        other one answers one."""
        count = SAMPLED_QUESTIONS if self.plan.questions > 1 or self.plan.coin_columns else 1
        first, rest = self.records[:_ALWAYS], self.records[_ALWAYS:]
        for number, words in enumerate(self.draw_words(count)):
            self._ask(words, [*first, *rest[number::count]], MOST_COMPARED // count)
        for words in self.draw_words(_MORE_QUESTIONS if count > 1 else 0):
            if self.answers < MOST_COMPARED:
                self._ask(words, first, 0)

    def _ask(self, words: Words, records: Sequence[Outcome], budget: int) -> None:
        """One question, as these words ask it, up to so many answers of all records together."""
        plan, most, before = self.plan, 0.0, self.answers
        laws: dict[int, dict[Outcome, Law]] = {}
        known: dict[int, Borders] = {}
        first = np.array(records[:_ALIGNED], dtype=np.int64)
        for place, record in enumerate(records):
            if place >= _ALWAYS and self.answers > before + budget:
                free = range(plan.blind_words + plan.coin_columns, plan.words)
                self._try_rest(records[place:], words, free, most)
                break
            report = tuple(_run(plan, record, words[None])[0].tolist())
            self.questions.add(report[0])
            self.compared.add(record)
            likeliest = 1.0
            for free, due, own in _due_laws(plan, record, first, words, report):
                if due is None:
                    self.left_out.add(report[0])
                    continue
                self.answers += len(due)
                found, known[free.start] = bisect_law(
                    plan, record, words[None], [Fraction(1)], free, known.get(free.start)
                )
                if found != due:
                    self.problems.append(
                        f"the device does not answer question {report[0]} by its exact law"
                    )
                    break
                likeliest *= float(max(due.values()))
                laws.setdefault(free.start, {})[record] = {own(r): p for r, p in due.items()}
            most = max(most, likeliest)
        # What a secret choice hides shows only in the law over all of its alternatives.
        if not any(step.secret for face in plan.faces for step in face.steps):
            aligned = set(records[:_ALIGNED])
            self._take_odds([part for part in laws.values() if aligned <= part.keys()])

    def _take_odds(self, parts: Sequence[Mapping[Outcome, Law]]) -> None:
        """The largest odds of two records over all parts of a question, whose laws are given."""
        both = [record for record in self.compared if all(record in laws for laws in parts)]
        records = sorted(both, key=self.records.index)[:_PAIRED]
        protected = [row for row, record in enumerate(records) if self.protects(record)]
        total: Array = np.zeros((len(records), len(records)))
        for laws in parts:
            answers = sorted({answer for record in records for answer in laws[record]})
            column = {answer: number for number, answer in enumerate(answers)}
            logs = np.full((len(records), len(answers)), -np.inf)
            for row, record in enumerate(records):
                places = [column[answer] for answer in laws[record]]
                logs[row, places] = np.log(np.array([*map(float, laws[record].values())]))
            for row, own in enumerate(logs):
                sent = np.isfinite(own)
                total[row] += (own[sent] - logs[:, sent]).max(axis=1)
        if parts and protected:
            self.epsilon = max(self.epsilon, float(total[protected].max()))

    def _try_rest(self, records: Sequence[Outcome], words: Words, free: range, most: float) -> None:
        """Whether none of these records sends one report more often, by words that are free at
        these places, than its largest probability `most` explains."""
        level = _ALPHA / len(self.records)
        counts = range(2, _TRIES + 1)
        bounds = ((n, bound_probability(n, _TRIES, level)[0]) for n in counts)
        often = next((n for n, bound in bounds if bound > most), None)
        if often is None:
            return
        for start in range(0, len(records), _TOGETHER):
            some = np.repeat(np.array(records[start : start + _TOGETHER]), _TRIES, axis=0)
            tries = np.tile(words, (len(some), 1))
            tries[:, free.start :] = self.draw_words(len(some))[:, free.start :]
            keys = np.sort(
                row_keys(_run(self.plan, some, tries).astype(np.uint64)).reshape(-1, _TRIES), axis=1
            )
            repeats = (keys[:, often - 1 :] == keys[:, : 1 - often]).any(axis=1)
            for place in np.flatnonzero(repeats).tolist():
                self.problems.append(
                    f"the record {records[start + place]} sends one report {often} times out of "
                    f"{_TRIES} or more, though its probability is {most:.3g} at most"
                )


def _check_choices(plan: Plan) -> Iterator[str]:
    """Faults in the shares of faces, and of the choices of their steps."""
    names = [("faces of its plan", plan.face_choice)]
    for number, face in enumerate(plan.faces):
        names += [(f"choices of face {number}", step) for step in face.steps]
    for name, choice in names:
        if len(choice.weights) <= MOST_CHOICES:
            shares = [0] * len(choice.weights)
            for alternative, _, size in _find_choices(choice):
                shares[alternative] += size
            if tuple(shares) != choice.preimages:
                yield f"the device does not draw the {name} by their shares"


def _due_laws(
    plan: Plan, record: Outcome, others: Integers, words: Words, report: Report
) -> Iterator[tuple[range, Law | None, Callable[[Report], Report]]]:
    """Which words answer which part of a question; the law of the report over these words; and what
    in a report is the answer of the part.

    words: all that are drawn, shape (plan.words,), of which the others are fixed; they give
    `report`.  None for a part with too many answers; of a part of bits, some are taken by
    themselves, those of some `others`, shape (k, attributes), among them.
    """
    number = int(plan.face_choice.find(halves_of(words[None], 0))[0])
    face = plan.faces[number]
    choices = [
        step.find(halves_of(words[None], 1 + place)) for place, step in enumerate(face.steps)
    ]
    question = plan.first_questions[number] + int(face.question_of(choices, 1)[0])
    codes = np.array([record], dtype=np.int64)
    coins = [np.array([coin]) for coin in report[1 : 1 + len(face.coins)]]
    place, column = plan.blind_words + plan.coin_columns, 1 + plan.coin_columns
    for part in face.parts:
        symbol, after = symbols(plan, part, codes, choices, coins), column + part.columns
        radices = part_radices(part, choices)
        size = math.prod(int(np.asarray(radix).item()) for radix in radices)
        if isinstance(part.response, Bits):
            own = int(flatten(symbol, radices)[0])
            theirs = flatten(symbols(plan, part, others, choices, coins), radices).tolist()
            for bit in sorted({own, *theirs, *range(0, size, max(1, size // SAMPLED_BITS))}):
                thresholds = part.response.own if bit == own else part.response.other
                chance = Fraction(thresholds[bit % len(thresholds)], WORDS)
                held, mask = column + bit // BITS_PER_COLUMN, 1 << bit % BITS_PER_COLUMN
                due: Law = {}
                for value, share in (
                    (report[held] | mask, chance),
                    (report[held] & ~mask, 1 - chance),
                ):
                    if share:
                        due[(question, *report[1:held], value, *report[held + 1 :])] = share
                yield range(place + bit, place + bit + 1), due, partial(_bit_of, held, mask)
        else:
            free, due_or_none = range(place, place + part.words), None
            if size ** (1 + part.fakes) <= MOST_ANSWERS:
                answers = part_law(plan, part, symbol, choices).items()
                head, tail = (question, *report[1:column]), report[after:]
                due_or_none = {(*head, *answer, *tail): share for answer, share in answers}
            yield free, due_or_none, itemgetter(slice(column, after))
        place, column = place + part.words, after


def _bit_of(column: int, mask: int, report: Report) -> Report:
    return (report[column] & mask,)
