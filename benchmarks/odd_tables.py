"""Ten populations that are hard on intervals, each by a rule that nothing else in the repository
shares: skew, spikes, empty codes, groups of hardly anybody, constants, and what depends on what.

Every one has a whole number `code` from 0 to 15, a category `kind` of four, and a number `pay`
between 0 and 100 that may be missing; "many columns" has six columns more. `kind` = 'd' is the
small group: a tenth of the people unless the population says otherwise.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

CODES, KINDS = 16, ("a", "b", "c", "d")
MORE = tuple(f"more{number}" for number in range(6))
_KIND_SHARES = (0.5, 0.25, 0.15, 0.1)

Columns = tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.floating]]
"""Codes, kinds as numbers, and pay, NaN where it is missing."""


@dataclass(frozen=True)
class OddTable:
    """A population to draw people from.

    draw: so many people.  more: whether there are six columns more, which copy `code` modulo 3.
    """

    draw: Callable[[np.random.Generator, int], Columns]
    more: bool = False

    def people(self, random: np.random.Generator, count: int) -> pa.Table:
        """So many people as a table."""
        code, kind, pay = self.draw(random, count)
        columns = {
            "code": pa.array(code),
            "kind": pa.array(KINDS).take(pa.array(kind)),
            "pay": pa.array(pay, mask=np.isnan(pay)),
        }
        more = {name: pa.array((code + place) % 3) for place, name in enumerate(MORE)}
        return pa.table({**columns, **(more if self.more else {})})


def _kinds(random: np.random.Generator, count: int) -> NDArray[np.int64]:
    return random.choice(4, count, p=_KIND_SHARES)


def _skewed(random: np.random.Generator, count: int) -> Columns:
    """Half of the people have code 0, and few earn nearly everything."""
    code = np.minimum(random.geometric(0.5, count) - 1, CODES - 1)
    pay = np.minimum(random.pareto(1.1, count), 100.0)
    return code, _kinds(random, count), pay


def _in_one_code(random: np.random.Generator, count: int) -> Columns:
    """Everybody has the same code."""
    return np.full(count, 5), _kinds(random, count), random.uniform(0.0, 100.0, count)


def _at_the_bounds(random: np.random.Generator, count: int) -> Columns:
    """Codes and pay at their bounds alone."""
    code = (CODES - 1) * (random.random(count) < 0.5).astype(np.int64)
    return code, _kinds(random, count), 100.0 * (random.random(count) < 0.5)


def _with_gaps(random: np.random.Generator, count: int) -> Columns:
    """Three codes of sixteen have somebody, with unlike shares."""
    code = random.choice([2, 7, 13], count, p=(0.1, 0.3, 0.6))
    return code, _kinds(random, count), 10.0 * random.integers(0, 2, count) + 45.0


def _lonely(random: np.random.Generator, count: int) -> Columns:
    """About one person in five hundred is of the kind 'd', and of each of the last codes."""
    kind = random.choice(4, count, p=(0.9, 0.05, 0.048, 0.002))
    shares = np.array([1.0] * 4 + [0.008] * 12)
    code = random.choice(CODES, count, p=shares / shares.sum())
    return code, kind, random.beta(2.0, 5.0, count) * 100.0


def _dependent(random: np.random.Generator, count: int) -> Columns:
    """Kind and pay follow from the code, but for a little."""
    code = random.integers(0, CODES, count)
    kind = np.digitize(code, (8, 12, 14))
    return code, kind, np.clip(6.0 * code + random.normal(0.0, 1.0, count), 0.0, 100.0)


def _constant(random: np.random.Generator, count: int) -> Columns:
    """Pay is the same for all, and the kind too but for the small group."""
    kind = 3 * (random.random(count) < 0.05).astype(np.int64)
    return random.integers(0, CODES, count), kind, np.full(count, 37.0)


def _many_columns(random: np.random.Generator, count: int) -> Columns:
    """Two hills of codes."""
    code = np.where(random.random(count) < 0.5, 3, 12) + random.integers(-2, 3, count)
    return code, _kinds(random, count), random.uniform(0.0, 100.0, count)


def _left_out(random: np.random.Generator, count: int) -> Columns:
    """Three in five leave pay out, rather those who earn much."""
    code, pay = random.integers(0, CODES, count), random.uniform(0.0, 100.0, count)
    pay[random.random(count) < 0.2 + 0.8 * pay / 100.0] = np.nan
    return code, _kinds(random, count), pay


def _rare(random: np.random.Generator, count: int) -> Columns:
    """One in a hundred has the last code and all the pay."""
    is_rare = random.random(count) < 0.01
    code = np.where(is_rare, CODES - 1, random.integers(0, 4, count))
    return code, _kinds(random, count), 100.0 * is_rare


ODD_TABLES = {
    "skewed": OddTable(_skewed),
    "one code": OddTable(_in_one_code),
    "at the bounds": OddTable(_at_the_bounds),
    "with gaps": OddTable(_with_gaps),
    "lonely": OddTable(_lonely),
    "dependent": OddTable(_dependent),
    "constant": OddTable(_constant),
    "many columns": OddTable(_many_columns, more=True),
    "left out": OddTable(_left_out),
    "rare": OddTable(_rare),
}
