"""Which frequency oracle each group uses, and the faces of a plan that ask groups by oracles.

`oracle = "grr" | "olh" | "oue" | "hrr"` uses one throughout; "auto" takes GRR for groups of at most
3 e^epsilon + 2 nodes, where its variance is the lower one, and OLH for the rest. All groups of one
oracle are one face, a column per group. Specification: docs/spec/h4mda.md#1.6.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

from ldpsql.algebra.record_domain import RecordDomain
from ldpsql.estimators.groups import GroupTable
from ldpsql.estimators.oracles import Oracle, oracle_of, power_from, prime_from
from ldpsql.reports.survey_file import vary
from ldpsql_device.epsilon import Epsilon
from ldpsql_device.errors import SurveyError
from ldpsql_device.plan import (
    WORDS,
    Arcs,
    Bits,
    Digit,
    Face,
    Hash,
    Integer,
    Parity,
    Part,
    Plan,
    Step,
)

LARGEST = {"olh": 1 << 22, "hrr": 1 << 22, "oue": 1024}
"""Most nodes of a group, per oracle."""


def odds_words(epsilon: Epsilon) -> int:
    """e^epsilon as a plan writes it: in parts of 2^64, rounded down."""
    return int(epsilon.odds * WORDS)


def choose_oracle(oracle: str, size: int, epsilon: Epsilon) -> str:
    """The oracle of a group of so many nodes; SurveyError for one that cannot serve them."""
    if oracle == "auto":
        oracle = "grr" if size <= 3 * epsilon.odds + 2 else "olh"
    if size > LARGEST.get(oracle, size):
        if oracle == "oue":
            raise SurveyError(
                f"a level combination has {size} nodes, and OUE sends a bit for each; at most "
                f'{LARGEST["oue"]} are allowed (oracle = "olh" has the same variance)'
            )
        raise SurveyError(
            f"a level combination has {size} nodes, more than {oracle.upper()}'s {LARGEST[oracle]};"
            " use coarser bins or fewer dimensions"
        )
    return oracle


def hash_values(epsilon: Epsilon) -> int:
    """g = round(e^epsilon) + 1, at least 2: the hash values with the least variance."""
    return max(2, math.floor(epsilon.odds + Fraction(3, 2)))


def other_bit(epsilon: Epsilon) -> int:
    """The least t with (2^64 - t) / t <= e^epsilon: words that set the bit of another node."""
    return math.ceil(WORDS / (1 + epsilon.odds))


def ask(
    kind: str, digit: Digit, sizes: Sequence[int], epsilon: Epsilon, odds: int = 0, first: int = 0
) -> tuple[Part, tuple[Integer, ...]]:
    """A part of a face that asks for a digit by an oracle, and the coins that it needs.

    sizes: nodes per choice of the face's one step.  odds: number of the budget among the plan's.
    first: number of the first coin.
    """
    named = Arcs(odds, (1,))
    if kind == "grr":
        return Part((digit,), named), ()
    if kind == "oue":
        return Part((digit,), Bits((WORDS // 2,), (other_bit(epsilon),))), ()
    if kind == "hrr":
        orders = vary(0, [power_from(size) for size in sizes])
        return Part((digit,), named, Parity(first)), (orders,)
    primes = [prime_from(size) for size in sizes]
    prime, slopes = vary(0, primes), vary(0, [prime - 1 for prime in primes])
    hashed = Hash(prime, hash_values(epsilon), first, first + 1)
    return Part((digit,), named, hashed), (slopes, prime)


def make_oracle(kind: str, size: int, epsilon: Epsilon) -> Oracle:
    """An oracle over so many nodes, as the collector will know it."""
    part, _ = ask(kind, Digit((), size), [size], epsilon)
    return oracle_of((odds_words(epsilon),), part)


def sort_by_oracle(table: GroupTable, oracle: str, epsilon: Epsilon) -> GroupTable:
    """The groups of one oracle after the other, so that they are numbered as questions are."""
    kinds = [choose_oracle(oracle, size, epsilon) for size in table.sizes]
    order = list(dict.fromkeys(kinds))
    return table.sort([order.index(kind) for kind in kinds]) if len(order) > 1 else table


def plan_of_groups(domain: RecordDomain, table: GroupTable, oracle: str, epsilon: Epsilon) -> Plan:
    """Everybody answers one group, drawn by the weights, with all of epsilon.

    The groups of `table` are sorted by oracle.
    """
    kinds = [choose_oracle(oracle, size, epsilon) for size in table.sizes]
    faces = []
    for kind in dict.fromkeys(kinds):
        members = [number for number, other in enumerate(kinds) if other == kind]
        weights = tuple(table.groups[number].weight for number in members)
        sizes = [table.sizes[number] for number in members]
        part, coins = ask(kind, table.digit(members), sizes, epsilon)
        steps = (Step(weights),) if len(members) > 1 else ()
        faces.append(Face(sum(weights), (part,), steps, coins))
    return Plan(domain.record_sizes, (odds_words(epsilon),), tuple(faces))
