"""What the tests of the mechanisms over marginals share."""

from __future__ import annotations

from fractions import Fraction

from ldpsql.algebra.boxes import Box, CodeSet, LinearQuery
from ldpsql.algebra.record_domain import RecordDomain
from ldpsql_device.epsilon import Epsilon
from ldpsql_device.shuffled import Central

NAMES = ("srr-ss", "psrr-ss", "arr-ss", "srr-ms", "sue-ms", "oue-ms", "solh", "ft")
CENTRAL = Central(Epsilon.parse("0.5"), Fraction(1, 10_000), 10_000)


def domain_of(*sizes: int) -> RecordDomain:
    """Attributes a0, a1, ... of so many codes, no measures."""
    return RecordDomain(tuple(f"a{i}" for i in range(len(sizes))), sizes, (), (), ())


def count(dimensions: int, **sides: CodeSet) -> LinearQuery:
    """COUNT of a box: count(3, a1=((0, 2),))."""
    return LinearQuery.count(Box(tuple(sides.get(f"a{i}") for i in range(dimensions))))
