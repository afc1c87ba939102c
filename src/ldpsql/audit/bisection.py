"""The exact law of a sampler, found from outside by bisection over its random words.

`ldpsql_device.law` reads the integers that the interpreter compares with, and so would not see a
fault of the interpreter alone. `law_by_bisection` knows nothing but a function from words to a
report: word after word, it finds where the report changes. `check_device` compares what it finds
with the law of the plan.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from ldpsql_device.draw import flatten, interpret, part_radices, symbols
from ldpsql_device.entropy import Entropy
from ldpsql_device.law import count_reports, law, part_law
from ldpsql_device.plan import (
    BITS_PER_COLUMN,
    HALVES,
    WORDS,
    Bits,
    Choices,
    Face,
    Plan,
)

Words = NDArray[np.uint64]
Integers = NDArray[np.int64]
Sampler = Callable[[Words], Integers]
"""From random numbers, shape (m, inputs), to reports, shape (m, columns); row by row."""

MOST_ENUMERATED = 1 << 12
"""Reports of a plan that is compared report by report."""
MOST_CHOICES, MOST_ANSWERS, MOST_SAMPLED_ANSWERS = 1 << 13, 1 << 14, 1 << 15
SAMPLED_QUESTIONS, SAMPLED_BITS = 12, 8
"""What is looked at of a larger plan."""
_GRID = 64
_SETTINGS = 2
_BATCH = 1 << 16


def law_by_bisection(sampler: Sampler, bits: Sequence[int]) -> dict[tuple[int, ...], Fraction]:
    """The exact probability of every report of a sampler that takes uniform random numbers.

    bits: of every number, at most 64.  For one number after the other, with those before it fixed,
    the reports of a grid of its values are compared, the numbers after it at two settings, and
    between neighbours that differ the border is bisected down to a single value. About 60 reports
    are drawn for each one that there is. A piece that lies inside a cell of the grid, between two
    pieces of one report, is missed.
    """
    prefixes, masses = np.zeros((1, len(bits)), dtype=np.uint64), [1]
    random, most = np.random.Generator(np.random.Philox(1)), [(1 << width) - 1 for width in bits]
    settings = random.integers(
        0, np.array(most, dtype=np.uint64), (_SETTINGS, len(bits)), dtype=np.uint64, endpoint=True
    )
    for position, width in enumerate(bits):
        rows, starts = _borders(sampler, prefixes, settings, position, width)
        ends = np.append(starts[1:], np.uint64(0))
        last = np.append(rows[1:] != rows[:-1], True)
        masses = [
            masses[row] * (((1 << width) if is_last else end) - start)
            for row, start, end, is_last in zip(
                rows.tolist(), starts.tolist(), ends.tolist(), last.tolist(), strict=True
            )
        ]
        prefixes = prefixes[rows]
        prefixes[:, position] = starts
    totals: dict[tuple[int, ...], int] = {}
    for report, mass in zip(_evaluate(sampler, prefixes).tolist(), masses, strict=True):
        totals[tuple(report)] = totals.get(tuple(report), 0) + mass
    return {report: Fraction(mass, 1 << sum(bits)) for report, mass in totals.items()}


def _evaluate(sampler: Sampler, words: Words) -> Integers:
    batches = [sampler(words[start : start + _BATCH]) for start in range(0, len(words), _BATCH)]
    return np.concatenate(batches)


def _borders(
    sampler: Sampler, prefixes: Words, settings: Words, position: int, width: int
) -> tuple[Integers, Words]:
    """Where the report changes with one number: (prefix, first value) of every piece, in order."""

    def look(rows: Integers, values: Words) -> Integers:
        """What is seen of values of the word, at all settings of those behind it."""
        seen = []
        for setting in settings:
            words = prefixes[rows]
            words[:, position] = values
            words[:, position + 1 :] = setting[position + 1 :]
            seen.append(_evaluate(sampler, words))
        return np.concatenate(seen, axis=1)

    count = len(prefixes)
    steps = min(_GRID, (1 << width) - 1)
    grid = np.array([((1 << width) - 1) * step // steps for step in range(steps + 1)], np.uint64)
    rows, values = np.repeat(np.arange(count), len(grid)), np.tile(grid, count)
    seen = look(rows, values)
    apart = (seen[1:] != seen[:-1]).any(axis=1) & (rows[1:] == rows[:-1])
    row, low, high = rows[:-1][apart], values[:-1][apart], values[1:][apart]
    below, above = seen[:-1][apart], seen[1:][apart]
    border_rows, borders = [np.arange(count)], [np.zeros(count, dtype=np.uint64)]
    while len(row):
        is_border = high - low == 1
        border_rows.append(row[is_border])
        borders.append(high[is_border])
        row, low, high = row[~is_border], low[~is_border], high[~is_border]
        below, above = below[~is_border], above[~is_border]
        middle = low + (high - low) // np.uint64(2)
        between = look(row, middle) if len(row) else below
        left = (between != below).any(axis=1)
        right = (between != above).any(axis=1)
        row = np.concatenate([row[left], row[right]])
        low, high = (
            np.concatenate([low[left], middle[right]]),
            np.concatenate([middle[left], high[right]]),
        )
        below, above = (
            np.concatenate([below[left], between[right]]),
            np.concatenate([between[left], above[right]]),
        )
    rows, starts = np.concatenate(border_rows), np.concatenate(borders)
    order = np.lexsort((starts, rows))
    return rows[order], starts[order]


def law_of_interpreter(plan: Plan, record: Sequence[int]) -> dict[tuple[int, ...], Fraction]:
    """The exact law of what a device runs for a plan and an encoded record."""
    return law_by_bisection(lambda numbers: _run(plan, record, numbers), number_bits(plan))


def number_bits(plan: Plan) -> list[int]:
    """Bits of every number that a device draws: blind choices take a half of a word each."""
    return [32] * (2 * plan.blind_words) + [64] * (plan.words - plan.blind_words)


def pack_words(plan: Plan, numbers: Words) -> Words:
    """The words that hold these numbers, shape (m, plan.words)."""
    blind = 2 * plan.blind_words
    halves = numbers[:, :blind:2] << np.uint64(32) | numbers[:, 1:blind:2]
    return np.concatenate([halves, numbers[:, blind:]], axis=1)


# -- the device against the law of its plan -------------------------------------------------------


@dataclass(frozen=True)
class DeviceCheck:
    """How what a device runs for a plan compares with the plan's exact law.

    problems: where it differs.  is_whole: whether every report was looked at, for every record.
    left_out: questions looked at whose answers were too many.
    """

    problems: tuple[str, ...]
    is_whole: bool
    left_out: int = 0


def check_device(plan: Plan, records: Sequence[Sequence[int]], entropy: Entropy) -> DeviceCheck:
    """Compare the interpreter with the law of a plan.

    Small plans are compared report by report. Of large ones: how every face and step is drawn, up
    to MOST_CHOICES of each, and for some questions and coins the law of the answers, part by part,
    up to MOST_ANSWERS in a part, or that of some of their bits.

    records: encoded, a code per attribute.  entropy: chooses what is looked at of a large plan.
    """
    if count_reports(plan) <= MOST_ENUMERATED:
        problems = (
            f"the device does not follow the law of its plan for the record {tuple(record)}"
            for record in records
            if law_of_interpreter(plan, record) != law(plan, record)
        )
        return DeviceCheck(tuple(problems), True)
    glance = _Glance(plan, entropy)
    glance.at_choices(records[0])
    for record in records:
        glance.at_answers(record)
    return DeviceCheck(tuple(dict.fromkeys(glance.problems)), False, len(glance.left_out))


def _run(plan: Plan, record: Sequence[int], numbers: Words) -> Integers:
    """Reports of one record by these numbers, shape (m, columns)."""
    codes = np.tile(np.array(record, dtype=np.int64), (len(numbers), 1))
    return np.stack(interpret(plan, codes, pack_words(plan, numbers)), axis=1)


class _Glance:
    """Looks at some of what a large plan can do, and keeps what is wrong."""

    def __init__(self, plan: Plan, entropy: Entropy) -> None:
        self.plan, self.entropy = plan, entropy
        self.problems: list[str] = []
        self.left_out: set[int] = set()
        self._answers = 0

    def at_choices(self, record: Sequence[int]) -> None:
        """Whether every face, and every reported choice of its steps, has its exact share."""
        plan, (numbers,) = self.plan, self._draw_numbers(1)
        starts = plan.face_choice.starts
        faces: dict[int, Fraction] = {}
        for report, share in self._law(record, numbers, 0, 1).items():
            number = bisect_right(plan.first_questions, report[0]) - 1
            faces[number] = faces.get(number, Fraction(0)) + share
        if faces != _shares_between(starts):
            self.problems.append("the device does not draw the faces of its plan by their shares")
        for number, face in enumerate(plan.faces):
            numbers[0] = starts[number]
            reported = [place for place, step in enumerate(face.steps) if not step.secret]
            shape = [len(face.steps[place].mantissas) for place in reported]
            for digit, place in enumerate(reported):
                if not 1 < shape[digit] <= MOST_CHOICES:
                    continue
                choices: dict[int, Fraction] = {}
                for report, share in self._law(record, numbers, 1 + place, 1).items():
                    question = report[0] - plan.first_questions[number]
                    choice = question // math.prod(shape[digit + 1 :]) % shape[digit]
                    choices[choice] = choices.get(choice, Fraction(0)) + share
                if choices != _shares_between(face.steps[place].choice.starts):
                    self.problems.append(
                        f"the device does not draw the choices of face {number} by their shares"
                    )

    def at_answers(self, record: Sequence[int]) -> None:
        """Whether the answers to some questions follow their exact law."""
        plan = self.plan
        count = SAMPLED_QUESTIONS if plan.questions > 1 or plan.coin_columns else 1
        for numbers in self._draw_numbers(count):
            if self._answers > MOST_SAMPLED_ANSWERS:
                return
            report = tuple(_run(plan, record, numbers[None])[0].tolist())
            number = bisect_right(plan.first_questions, report[0]) - 1
            face, first = plan.faces[number], plan.first_questions[number]
            chosen = face.combinations()
            places = np.flatnonzero(face.question_of(chosen, face.choices) == report[0] - first)
            # A secret choice is not reported: the law must be that of one of them.
            alternatives = ([choice[place : place + 1] for choice in chosen] for place in places)
            if not any(self._holds(face, record, numbers, report, c) for c in alternatives):
                self.problems.append(
                    f"the device does not answer question {report[0]} by its exact law"
                )

    def _holds(
        self,
        face: Face,
        record: Sequence[int],
        numbers: Words,
        report: tuple[int, ...],
        choices: Choices,
    ) -> bool:
        """Whether each part is answered by its exact law, the numbers of all others being fixed.

        report: what these numbers give.
        """
        plan = self.plan
        codes = np.array([record], dtype=np.int64)
        coins = [np.array([coin]) for coin in report[1 : 1 + len(face.coins)]]
        place, column = 2 * plan.blind_words + plan.coin_columns, 1 + plan.coin_columns
        for part in face.parts:
            symbol, after = symbols(plan, part, codes, choices, coins), column + part.columns
            radices = part_radices(part, choices)
            size = math.prod(int(np.asarray(radix).item()) for radix in radices)
            looks: list[tuple[int, int, dict[tuple[int, ...], Fraction]]] = []
            if isinstance(part.response, Bits):
                own = int(flatten(symbol, radices)[0])
                for bit in {own, *range(0, size, max(1, size // SAMPLED_BITS))}:
                    due = _law_of_bit(part.response, bit, own, report, column)
                    looks.append((place + bit, 1, due))
            elif size ** (1 + part.fakes) <= MOST_ANSWERS:
                due = {
                    (*report[:column], *answer, *report[after:]): share
                    for answer, share in part_law(plan, part, symbol, choices).items()
                }
                looks.append((place, part.words, due))
            else:
                self.left_out.add(report[0])
            for start, count, due in looks:
                self._answers += len(due)
                if self._law(record, numbers, start, count) != due:
                    return False
            place, column = place + part.words, after
        return True

    def _draw_numbers(self, count: int) -> Words:
        """Uniform numbers of the widths that a device draws, shape (count, numbers)."""
        bits = np.array(number_bits(self.plan), dtype=np.uint64)
        words = self.entropy.words(count * len(bits)).reshape(count, len(bits))
        return words >> (np.uint64(64) - bits)

    def _law(
        self, record: Sequence[int], numbers: Words, start: int, count: int
    ) -> dict[tuple[int, ...], Fraction]:
        """The law of the report where so many numbers are uniform and all others fixed."""

        def report(values: Words) -> Integers:
            rows = np.tile(numbers, (len(values), 1))
            rows[:, start : start + count] = values
            return _run(self.plan, record, rows)

        return law_by_bisection(report, number_bits(self.plan)[start : start + count])


def _shares_between(starts: Sequence[int]) -> dict[int, Fraction]:
    """The share of the halves of a word from each start on, up to the next."""
    return {n: Fraction(end - start, HALVES) for n, (start, end) in enumerate(pairwise(starts))}


def _law_of_bit(
    response: Bits, bit: int, own: int, report: tuple[int, ...], column: int
) -> dict[tuple[int, ...], Fraction]:
    """The law of a report of which one bit is drawn; its first bits are in this column."""
    thresholds = response.own if bit == own else response.other
    chance = Fraction(thresholds[bit % len(thresholds)], WORDS)
    more, place = divmod(bit, BITS_PER_COLUMN)
    bits = report[column + more] & ~(1 << place)
    before, after = report[: column + more], report[column + more + 1 :]
    both = {(*before, bits | 1 << place, *after): chance, (*before, bits, *after): 1 - chance}
    return {row: share for row, share in both.items() if share}
