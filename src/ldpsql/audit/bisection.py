"""The exact law of a sampler, found from outside by bisection over its random words.

`ldpsql_device.law` reads the integers that the interpreter compares with, and so would not see a
fault of the interpreter alone. `law_by_bisection` knows nothing but a function from words to a
report: word after word, it finds where the report changes. `check_device` compares what it finds
with the law of the plan.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from ldpsql_device.draw import Entropy, flatten, interpret, part_radices, symbols
from ldpsql_device.law import answers_law, count_reports, law
from ldpsql_device.plan import (
    BITS_PER_COLUMN,
    HALVES,
    WORDS,
    Bits,
    Choices,
    Face,
    Part,
    Plan,
    Rows,
    value_of,
)

Words = NDArray[np.uint64]
Integers = NDArray[np.int64]
Sampler = Callable[[Words], Integers]
"""From random numbers, shape (m, inputs), to reports, shape (m, columns); row by row."""

MOST_ENUMERATED = 1 << 12
"""Reports of a plan that is compared report by report."""
MOST_ANSWERS, MOST_CHOICES, SAMPLED_QUESTIONS, SAMPLED_BITS = 1 << 12, 1 << 13, 12, 16
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


def check_device(plan: Plan, records: Sequence[Sequence[int]], entropy: Entropy) -> tuple[str, ...]:
    """Where what a device runs for a plan differs from the plan's exact law; nothing if nowhere.

    Small plans are compared report by report, for every record. Of large ones: how every face and
    step is drawn, up to MOST_CHOICES of each, and for some questions and coins the law of the
    answers, up to MOST_ANSWERS, or that of some of their bits.

    records: encoded, a code per attribute.  entropy: chooses what is looked at of a large plan.
    """
    if count_reports(plan) <= MOST_ENUMERATED:
        return tuple(
            f"the device does not follow the law of its plan for the record {tuple(record)}"
            for record in records
            if law_of_interpreter(plan, record) != law(plan, record)
        )
    problems = list(_check_choices(plan, records[0], entropy))
    for record in records:
        problems += _check_answers(plan, record, entropy)
    return tuple(dict.fromkeys(problems))


def _run(plan: Plan, record: Sequence[int], numbers: Words) -> Integers:
    """Reports of one record by these numbers, shape (m, columns)."""
    codes = np.tile(np.array(record, dtype=np.int64), (len(numbers), 1))
    return np.stack(interpret(plan, codes, pack_words(plan, numbers)), axis=1)


def _random_numbers(plan: Plan, count: int, entropy: Entropy) -> Words:
    """Uniform numbers of the widths that a device draws, shape (count, numbers)."""
    bits = np.array(number_bits(plan), dtype=np.uint64)
    words = entropy.words(count * len(bits)).reshape(count, len(bits))
    return words >> (np.uint64(64) - bits)


def _law_of_number(
    plan: Plan, record: Sequence[int], numbers: Words, place: int
) -> dict[tuple[int, ...], Fraction]:
    """The law of the report where one number is uniform and all others are these."""

    def report(values: Words) -> Integers:
        rows = np.tile(numbers, (len(values), 1))
        rows[:, place] = values[:, 0]
        return _run(plan, record, rows)

    return law_by_bisection(report, number_bits(plan)[place : place + 1])


def _check_choices(plan: Plan, record: Sequence[int], entropy: Entropy) -> Iterator[str]:
    """Whether every face, and every reported choice of its steps, has its exact share."""
    (numbers,) = _random_numbers(plan, 1, entropy)
    starts = plan.face_choice.starts
    faces: dict[int, Fraction] = {}
    for report, share in _law_of_number(plan, record, numbers, 0).items():
        asked = bisect_right(plan.first_questions, report[0]) - 1
        faces[asked] = faces.get(asked, Fraction(0)) + share
    if faces != _shares_between(starts):
        yield "the device does not draw the faces of its plan with their shares"
    for number, face in enumerate(plan.faces):
        numbers[0] = starts[number]
        reported = [place for place, step in enumerate(face.steps) if not step.secret]
        shape = [len(face.steps[place].mantissas) for place in reported]
        for digit, place in enumerate(reported):
            if not 1 < shape[digit] <= MOST_CHOICES:
                continue
            choices: dict[int, Fraction] = {}
            for report, share in _law_of_number(plan, record, numbers, 1 + place).items():
                question = report[0] - plan.first_questions[number]
                choice = question // math.prod(shape[digit + 1 :]) % shape[digit]
                choices[choice] = choices.get(choice, Fraction(0)) + share
            if choices != _shares_between(face.steps[place].choice.starts):
                yield f"the device does not draw the choices of face {number} with their shares"


def _shares_between(starts: Sequence[int]) -> dict[int, Fraction]:
    """The share of the halves of a word from each start on, up to the next."""
    return {n: Fraction(end - start, HALVES) for n, (start, end) in enumerate(pairwise(starts))}


def _check_answers(plan: Plan, record: Sequence[int], entropy: Entropy) -> Iterator[str]:
    """Whether the answers of some questions follow their exact law, coins and choices fixed."""
    first = 2 * plan.blind_words + plan.coin_columns
    for numbers in _random_numbers(plan, SAMPLED_QUESTIONS, entropy):
        question, *columns = _run(plan, record, numbers[None])[0].tolist()
        number = bisect_right(plan.first_questions, question) - 1
        face = plan.faces[number]
        coins, chosen = columns[: len(face.coins)], face.combinations()
        places = face.question_of(chosen, face.choices) == question - plan.first_questions[number]
        combinations = [[c[place : place + 1] for c in chosen] for place in np.flatnonzero(places)]
        if _count_answers(face, combinations[0]) > MOST_ANSWERS:
            holds = _bits_hold(plan, face, record, numbers, combinations[0])
        else:

            def answer(values: Words, numbers: Words = numbers) -> Integers:
                fixed = np.tile(numbers[:first], (len(values), 1))
                reports = _run(plan, record, np.concatenate([fixed, values], axis=1))
                return reports[:, 1 + plan.coin_columns :]

            seen = law_by_bisection(answer, number_bits(plan)[first:])
            # A secret choice is not reported: the law must be that of one of them.
            holds = any(
                seen == _padded_law(plan, face, record, choices, coins) for choices in combinations
            )
        if not holds:
            yield f"the device does not answer question {question} by its exact law"


def _padded_law(
    plan: Plan, face: Face, record: Sequence[int], choices: Choices, coins: Sequence[int]
) -> dict[tuple[int, ...], Fraction]:
    """The law of all answer columns, those that the face does not fill included."""
    width = len(plan.columns) - 1 - plan.coin_columns
    return {
        (*row, *(0,) * (width - len(row))): chance
        for row, chance in answers_law(plan, face, record, choices, coins)
    }


def _count_answers(face: Face, choices: Choices) -> int:
    """How many answers there are to a question."""
    total = 1
    for part in face.parts:
        size = _count_symbols(part, choices)
        if isinstance(part.response, Bits):
            total <<= size
        elif isinstance(part.response, Rows):
            total *= len(part.response.rows[0])
        else:
            total *= size ** (1 + part.fakes)
    return total


def _count_symbols(part: Part, choices: Choices) -> int:
    return math.prod(int(np.asarray(value_of(radix, choices)).item()) for radix in part.radices)


def _bits_hold(
    plan: Plan, face: Face, record: Sequence[int], numbers: Words, choices: Choices
) -> bool:
    """Whether bits of the first part are set with their exact chances, one at a time; True for
    other responses, of which there are too many answers to look at."""
    part = face.parts[0]
    if not isinstance(part.response, Bits):
        return True
    codes = np.array([record], dtype=np.int64)
    coins: list[Integers] = []  # a part with bits has no use for coins
    own = int(flatten(symbols(plan, part, codes, choices, coins), part_radices(part, choices))[0])
    first = 2 * plan.blind_words + plan.coin_columns
    size = _count_symbols(part, choices)
    for bit in {own, *range(0, size, max(1, size // SAMPLED_BITS))}:
        column, place = divmod(bit, BITS_PER_COLUMN)
        is_set = sum(
            share
            for report, share in _law_of_number(plan, record, numbers, first + bit).items()
            if report[1 + plan.coin_columns + column] >> place & 1
        )
        thresholds = part.response.own if bit == own else part.response.other
        if is_set != Fraction(thresholds[bit % len(thresholds)], WORDS):
            return False
    return True
