"""The exact law of a plan: every report of a record with its probability, for small plans.

It counts the words by the functions with which `draw` reads them.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import product

import numpy as np

from ldpsql_device.draw import answer, count_words, flatten, part_radices, rungs, symbols
from ldpsql_device.plan import (
    BITS_PER_COLUMN,
    HALVES,
    WORDS,
    Bits,
    Face,
    Integers,
    Keep,
    Part,
    Plan,
    product_of,
    value_of,
)

Report = tuple[int, ...]
_Known = dict[tuple[int, ...], list[tuple[Report, Fraction]]]
"""Reports of a face with their probabilities, by all that they depend on: the numbers of the face
and of the secret choice, and the symbols of the record."""
LARGEST_LAW = 1 << 22


def count_reports(plan: Plan) -> int:
    """How many different reports there are."""
    return sum(math.prod(row) for row in plan.limits.tolist())


def law(plan: Plan, record: Sequence[int]) -> dict[Report, Fraction]:
    """The exact probability of every report of a record, an encoded one: a code per attribute.

    Raises ValueError where there are more than LARGEST_LAW reports.
    """
    return laws(plan, [record])[0]


def laws(plan: Plan, records: Iterable[Sequence[int]]) -> list[dict[Report, Fraction]]:
    """The law of each record; what several of them share is found once."""
    if count_reports(plan) > LARGEST_LAW:
        raise ValueError("the reports of this plan are too many to enumerate")
    known: _Known = {}
    every: list[dict[Report, Fraction]] = []
    for record in records:
        codes, found = np.array([record], dtype=np.int64), dict[Report, Fraction]()
        for number, face in enumerate(plan.faces):
            for row, chance in _face_law(plan, number, face, codes, known):
                found[row] = found[row] + chance if row in found else chance
        every.append(found)
    return every


def _face_law(
    plan: Plan, number: int, face: Face, codes: Integers, known: _Known
) -> Iterator[tuple[Report, Fraction]]:
    """The reports of one face with their probabilities, one secret choice after the other."""
    for combination in range(face.choices):
        choices = [choice[combination : combination + 1] for choice in face.combinations]
        ranges = [int(np.asarray(value_of(coin, choices)).item()) for coin in face.coins]
        asked = {
            coins: [
                symbols(plan, part, codes, choices, [np.array([coin]) for coin in coins])
                for part in face.parts
            ]
            for coins in product(*map(range, ranges))
        }
        own = (int(digit[0]) for each in asked.values() for symbol in each for digit in symbol)
        key = (number, combination, *own)
        if key not in known:
            known[key] = list(_choice_law(plan, number, face, choices, ranges, asked))
        yield from known[key]


def _choice_law(
    plan: Plan,
    number: int,
    face: Face,
    choices: Sequence[Integers],
    ranges: Sequence[int],
    asked: Mapping[Report, Sequence[Sequence[Integers]]],
) -> Iterator[tuple[Report, Fraction]]:
    """The same after one secret choice.  asked: the symbols of all parts, by coins, of which there
    are as many as `ranges` says."""
    halves = plan.face_choice.preimages[number]
    for step, choice in zip(face.steps, choices, strict=True):
        halves *= step.preimages[int(choice[0])]
    question = plan.first_questions[number] + int(face.question_of(choices, 1)[0])
    blank = (0,) * (plan.coin_columns - len(ranges))
    for coins, parts in asked.items():
        words = math.prod(map(_coin_words, coins, ranges))
        everything = HALVES ** (1 + len(face.steps)) * WORDS ** len(coins)
        blind = Fraction(halves * words, everything)
        answered = [
            part_law(plan, part, symbol, choices).items()
            for part, symbol in zip(face.parts, parts, strict=True)
        ]
        for answers in product(*answered):
            row = (question, *coins, *blank, *(n for columns, _ in answers for n in columns))
            chance = math.prod((share for _, share in answers), start=blind)
            yield (*row, *(0,) * (len(plan.columns) - len(row))), chance


def _coin_words(coin: int, limit: int) -> int:
    """How many words mean a coin: those with floor(word limit / WORDS) equal to it."""
    return -(-(coin + 1) * WORDS // limit) + -coin * WORDS // limit


def part_law(
    plan: Plan, part: Part, symbol: Sequence[Integers], choices: Sequence[Integers]
) -> dict[Report, Fraction]:
    """The columns that answer one symbol (arrays of one entry), with exact probabilities."""
    flat = int(flatten(symbol, part_radices(part, choices))[0])
    size = int(np.asarray(product_of(part.radices, choices)).item())
    found: dict[Report, Fraction] = {}
    if isinstance(part.response, Bits):
        return _bits_law(part.response, size, flat)
    if isinstance(part.response, Keep):
        for drawn in product(range(size), repeat=part.fakes):
            sent = tuple(sorted((flat, *drawn)))
            words = math.prod(_coin_words(fake, size) for fake in drawn)
            found[sent] = found.get(sent, Fraction(0)) + Fraction(words, WORDS**part.fakes)
        return found
    own = rungs(plan, part, symbol, choices)
    for rung, points, width, last in count_words(own.table, int(np.max(own.kinds))):
        repeated = [np.repeat(digit, points) for digit in symbol]
        same = [np.repeat(choice, points) for choice in choices]
        answers = answer(part, repeated, same, np.full(points, rung), np.arange(points))
        for place, words in zip(answers.tolist(), [width] * (points - 1) + [last], strict=True):
            found[(place,)] = found.get((place,), Fraction(0)) + Fraction(words, WORDS)
    return found


def _bits_law(response: Bits, size: int, flat: int) -> dict[Report, Fraction]:
    """One bit after the other; 2^size rows."""
    found: dict[int, Fraction] = {0: Fraction(1)}
    for bit in range(size):
        own, other = (t[bit % len(t)] for t in (response.own, response.other))
        one = Fraction(own if bit == flat else other, WORDS)
        found = {
            row | (is_set << bit): chance * (one if is_set else 1 - one)
            for row, chance in found.items()
            for is_set in (0, 1)
        }
    columns, mask = -(-size // BITS_PER_COLUMN), (1 << BITS_PER_COLUMN) - 1
    return {
        tuple(row >> BITS_PER_COLUMN * place & mask for place in range(columns)): chance
        for row, chance in found.items()
        if chance
    }
