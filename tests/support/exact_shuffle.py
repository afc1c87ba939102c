"""What a shuffled batch really tells, in exact fractions, for a handful of people."""

import itertools
import math
from collections import Counter
from fractions import Fraction

Channel = list[dict]
"""Per record, report -> probability."""


def randomized_response(size: int, odds: Fraction) -> Channel:
    other = 1 / (odds + size - 1)
    return [{y: odds * other if y == x else other for y in range(size)} for x in range(size)]


def mixture(sizes: tuple[int, ...], odds: Fraction) -> Channel:
    """A record holds one value per attribute; one attribute is asked, and named in the report."""
    channel = []
    for record in itertools.product(*map(range, sizes)):
        row = {}
        for j, (size, value) in enumerate(zip(sizes, record, strict=True)):
            for y, chance in randomized_response(size, odds)[value].items():
                row[j, y] = chance / len(sizes)
        channel.append(row)
    return channel


def unary_bits(size: int, one: Fraction, zero: Fraction) -> Channel:
    channel = []
    for x in range(size):
        row = {}
        for bits in itertools.product((0, 1), repeat=size):
            chances = [one if i == x else zero for i in range(size)]
            row[bits] = math.prod(c if b else 1 - c for b, c in zip(bits, chances, strict=True))
        channel.append(row)
    return channel


def batch_law(rows: list[dict]) -> dict:
    """The law of the multiset of reports."""
    law = {(): Fraction(1)}
    for row in rows:
        following: Counter = Counter()
        for seen, chance in law.items():
            for report, likely in row.items():
                following[tuple(sorted((*seen, report)))] += chance * likely
        law = following
    return law


def true_delta(channel: Channel, people: int, odds: Fraction) -> Fraction:
    """The delta of the shuffled batch at e^epsilon = odds, over all data sets of the others."""
    worst = Fraction(0)
    for others in itertools.combinations_with_replacement(channel, people - 1):
        rest = batch_law(list(others))
        laws = []
        for row in channel:
            law: Counter = Counter()
            for seen, chance in rest.items():
                for report, likely in row.items():
                    law[tuple(sorted((*seen, report)))] += chance * likely
            laws.append(law)
        for one, other in itertools.permutations(laws, 2):
            worst = max(worst, sum(max(p - odds * other[y], Fraction(0)) for y, p in one.items()))
    return worst


def blanket_delta(atoms, people: int, odds: Fraction) -> Fraction:
    """The blanket's expectation by counting, the larger of both directions."""
    return max(_one_way(rows, people, odds) for rows in (atoms, [(r, b, a) for r, a, b in atoms]))


def _one_way(atoms, people: int, odds: Fraction) -> Fraction:
    law = {Fraction(0): Fraction(1)}
    none = 1 - sum(r for r, _, _ in atoms)
    for _ in range(people):
        following: Counter = Counter()
        for total, chance in law.items():
            following[total] += chance * none
            for r, one, other in atoms:
                following[total + (one - odds * other) / r] += chance * r
        law = following
    return sum(max(total, Fraction(0)) * chance for total, chance in law.items()) / people
