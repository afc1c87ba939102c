"""The exact law of the device code, found from outside by bisection over its random words.

`ldpsql_device.law` reads the integers that the interpreter compares with, and so would not see a
fault of the interpreter alone. Here it is nothing but functions from words to choices and reports:
word after word, it is found where they change.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from itertools import product

import numpy as np

from ldpsql_device.draw import flatten, halves_of, interpret, part_radices, symbols
from ldpsql_device.entropy import Entropy, Words
from ldpsql_device.law import Report, count_reports, law, part_law
from ldpsql_device.plan import BITS_PER_COLUMN, HALVES, WORDS, Bits, Choice, Integers, Plan

Law = dict[Report, Fraction]
MOST_ENUMERATED = 1 << 12
"""Reports of a plan that is compared report by report."""
MOST_CHOICES, MOST_ANSWERS, MOST_SAMPLED_ANSWERS = 1 << 13, 1 << 14, 1 << 15
SAMPLED_QUESTIONS, SAMPLED_BITS = 12, 8
"""What is looked at of a larger plan."""
_GRID = 64
_BATCH = 1 << 16
_OTHER = np.uint64(0x9E3779B97F4A7C15)
"""What words are before they are looked at."""


def law_by_bisection(
    plan: Plan, record: Sequence[int], words: Words, shares: Sequence[Fraction], free: range
) -> Law:
    """The exact law of what a device runs for a plan and an encoded record.

    words: all that it draws, shape (k, plan.words); those at the places `free` are uniform, the
    others as in a row, which has the probability in `shares`.  One free word after the other is
    bisected (`find_pieces`), at one setting of those behind it: each must show in the report
    whatever those are. About 60 reports are drawn for each one that there is.
    """
    masses = list(shares)
    for place in free:
        rows, starts, sizes = find_pieces(
            partial(_look, plan, record, words, place), len(words), 64
        )
        words = words[rows]
        words[:, place] = starts
        masses = [masses[row] * size for row, size in zip(rows.tolist(), sizes, strict=True)]
    found: Law = {}
    for report, mass in zip(_run(plan, record, words).tolist(), masses, strict=True):
        if mass:
            share = Fraction(mass, WORDS ** len(free))
            found[tuple(report)] = found.get(tuple(report), Fraction(0)) + share
    return found


def _look(
    plan: Plan, record: Sequence[int], words: Words, place: int, rows: Integers, values: Words
) -> Integers:
    """The reports of some rows of words with other values at a place."""
    changed = words[rows]
    changed[:, place] = values
    return _run(plan, record, changed)


def _run(plan: Plan, record: Sequence[int], words: Words) -> Integers:
    """Reports of one record by these words, shape (m, columns)."""
    codes = np.tile(np.array(record, dtype=np.int64), (len(words), 1))
    parts = (slice(start, start + _BATCH) for start in range(0, len(words), _BATCH))
    return np.concatenate([np.stack(interpret(plan, codes[p], words[p]), axis=1) for p in parts])


def find_pieces(
    look: Callable[[Integers, Words], Integers], count: int, bits: int
) -> tuple[Integers, Words, list[int]]:
    """Where functions of a number change: (row, first value, number of values) of every piece.

    look: what is seen, shape (m, columns), of the functions with these rows, below `count`, at
    these values, below 2^bits.  A grid of values is compared, and between neighbours that differ
    the border is bisected down to a single value. A piece that lies inside a cell of the grid,
    between two pieces that look alike, is missed.
    """
    largest = (1 << bits) - 1
    steps = min(_GRID, largest)
    grid = np.array([largest * step // steps for step in range(steps + 1)], np.uint64)
    rows, values = np.repeat(np.arange(count), len(grid)), np.tile(grid, count)
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


def law_of_interpreter(plan: Plan, record: Sequence[int]) -> Law:
    """The exact law of what a device runs for a plan and an encoded record.

    What is drawn blindly, secret choices too, is taken from the function that draws it, so that no
    report has to show it; the laws that follow are mixed by the exact shares of the choices.
    """
    # Of every combination of choices the lowest and the highest words stand for all others.
    blind, shares = [], []
    for face in _find_choices(plan.face_choice):
        steps = (_find_choices(step.choice) for step in plan.faces[face[0]].steps)
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
    return law_by_bisection(plan, record, words, shares, range(plan.blind_words, plan.words))


def _find_choices(choice: Choice) -> list[tuple[int, int, int]]:
    """(alternative, first half, number of halves) of every piece of what a device draws."""

    def find(halves: Words) -> Integers:
        return choice.find(halves.astype(np.uint32))

    _, starts, sizes = find_pieces(lambda _, halves: find(halves)[:, None], 1, 32)
    return list(zip(find(starts).tolist(), starts.tolist(), sizes, strict=True))


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
    found, left_out, looked = list(_check_choices(plan)), set(), 0
    count = SAMPLED_QUESTIONS if plan.questions > 1 or plan.coin_columns else 1
    for record in records:
        for words in entropy.words(count * plan.words).reshape(count, -1):
            if looked > MOST_SAMPLED_ANSWERS:
                break
            report = tuple(_run(plan, record, words[None])[0].tolist())
            for free, due in _due_laws(plan, record, words, report):
                if due is None:
                    left_out.add(report[0])
                    continue
                looked += len(due)
                if law_by_bisection(plan, record, words[None], [Fraction(1)], free) != due:
                    found.append(
                        f"the device does not answer question {report[0]} by its exact law"
                    )
                    break
    return DeviceCheck(tuple(dict.fromkeys(found)), False, len(left_out))


def _check_choices(plan: Plan) -> Iterator[str]:
    """What is wrong with the shares of faces, and of the choices of their steps."""
    names = [("faces of its plan", plan.face_choice)]
    for number, face in enumerate(plan.faces):
        names += [(f"choices of face {number}", step.choice) for step in face.steps]
    for name, choice in names:
        if len(choice.weights) <= MOST_CHOICES:
            shares = [0] * len(choice.weights)
            for alternative, _, size in _find_choices(choice):
                shares[alternative] += size
            if tuple(shares) != choice.preimages:
                yield f"the device does not draw the {name} by their shares"


def _due_laws(
    plan: Plan, record: Sequence[int], words: Words, report: Report
) -> Iterator[tuple[range, Law | None]]:
    """Which words answer which part of a question, and the law of the report over these words.

    words: all that are drawn, shape (plan.words,), of which the others are fixed; they give
    `report`.  None for a part with too many answers; of a part of bits, some are taken by
    themselves.
    """
    number = int(plan.face_choice.find(halves_of(words[None], 0))[0])
    face = plan.faces[number]
    choices = [
        step.choice.find(halves_of(words[None], 1 + place)) for place, step in enumerate(face.steps)
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
            for bit in sorted({own, *range(0, size, max(1, size // SAMPLED_BITS))}):
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
                yield range(place + bit, place + bit + 1), due
        elif size ** (1 + part.fakes) <= MOST_ANSWERS:
            answers = part_law(plan, part, symbol, choices).items()
            head, tail = (question, *report[1:column]), report[after:]
            due = {(*head, *answer, *tail): share for answer, share in answers}
            yield range(place, place + part.words), due
        else:
            yield range(place, place + part.words), None
        place, column = place + part.words, after
