"""The exact law of a sampler, found from outside by bisection over its random words.

`ldpsql_device.odds.law` reads the integers that the interpreter compares with, so a fault that
both share, or one of the interpreter alone, could escape it. This module knows nothing but a
function from words to a report: word after word, it finds where the report changes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from ldpsql_device.draw import interpret
from ldpsql_device.plan import Plan

Words = NDArray[np.uint64]
Integers = NDArray[np.int64]
Sampler = Callable[[Words], Integers]
"""From random numbers, shape (m, inputs), to reports, shape (m, columns); row by row."""

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
    found: dict[tuple[int, ...], int] = {}
    for report, mass in zip(_evaluate(sampler, prefixes).tolist(), masses, strict=True):
        found[tuple(report)] = found.get(tuple(report), 0) + mass
    return {report: Fraction(mass, 1 << sum(bits)) for report, mass in found.items()}


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
    found_rows, found = [np.arange(count)], [np.zeros(count, dtype=np.uint64)]
    while len(row):
        is_border = high - low == 1
        found_rows.append(row[is_border])
        found.append(high[is_border])
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
    rows, starts = np.concatenate(found_rows), np.concatenate(found)
    order = np.lexsort((starts, rows))
    return rows[order], starts[order]


def law_of_interpreter(plan: Plan, record: Sequence[int]) -> dict[tuple[int, ...], Fraction]:
    """The exact law of what a device runs for a plan and an encoded record."""

    def report(numbers: Words) -> Integers:
        codes = np.tile(np.array(record, dtype=np.int64), (len(numbers), 1))
        return np.stack(interpret(plan, codes, pack_words(plan, numbers)), axis=1)

    return law_by_bisection(report, number_bits(plan))


def number_bits(plan: Plan) -> list[int]:
    """Bits of every number that a device draws: blind choices take a half of a word each."""
    return [32] * (2 * plan.blind_words) + [64] * (plan.words - plan.blind_words)


def pack_words(plan: Plan, numbers: Words) -> Words:
    """The words that hold these numbers, shape (m, plan.words)."""
    blind = 2 * plan.blind_words
    halves = numbers[:, :blind:2] << np.uint64(32) | numbers[:, 1:blind:2]
    return np.concatenate([halves, numbers[:, blind:]], axis=1)
