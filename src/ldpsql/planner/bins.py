"""Conditions that cut bins without telling their values apart: `age < 20 AND age > 60`.

Codes that stand for several values are divided where literals cut them, a condition is worked out
over those, and what comes out is an answer where it takes whole codes again.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from ldpsql.algebra.boxes import Box, CodeSet, codes
from ldpsql.errors import QueryError
from ldpsql.parser.query import Atom, Comparison, Membership
from ldpsql.planner.disjoin import cut
from ldpsql.sql import domains
from ldpsql_device.schema import Dimension, Schema
from ldpsql_device.values import Listed, Value


@dataclass(frozen=True)
class Divided:
    """A survey's dimensions in smaller bins.

    schema: with these.  owners: per dimension, the own code of each of its codes.
    """

    schema: Schema
    owners: tuple[NDArray[np.int64], ...]

    @classmethod
    def of(cls, schema: Schema, asked: Iterable[Atom]) -> Divided | None:
        """In bins that the literals of some comparisons do not cut; None where nothing is divided.
        QueryError for a literal of another type than its column."""
        literals: dict[int, list[Value]] = {}
        for atom in asked:
            if isinstance(atom, Comparison | Membership):
                index = domains.find_dimension(schema, atom.column)
                own = (atom.literal,) if isinstance(atom, Comparison) else atom.literals
                if index is not None:
                    literals.setdefault(index, []).extend(v for v in own if v is not None)
        finer = {
            index: replace(own, domain=domains.divide(own.domain, literals[index]), sensitive=())
            for index, own in enumerate(schema.dimensions)
            if index in literals
        }
        dimensions = [finer.get(i, own) for i, own in enumerate(schema.dimensions)]
        if all(a.size == b.size for a, b in zip(dimensions, schema.dimensions, strict=True)):
            return None
        owners = map(_find_owners, dimensions, schema.dimensions)
        return cls(replace(schema, dimensions=tuple(dimensions)), tuple(owners))

    def gather(self, boxes: Sequence[Box]) -> tuple[Box, ...]:
        """Disjoint boxes of the own codes; QueryError where these boxes hold a part of one, and
        UnsupportedSQL where they are too many."""
        sizes = [len(own) for own in self.owners]
        return tuple(
            Box(
                tuple(
                    None if side is None else _gather(side, own)
                    for side, own in zip(box.sides, self.owners, strict=True)
                )
            )
            for box in cut(boxes, sizes)
        )


def _find_owners(finer: Dimension, own: Dimension) -> NDArray[np.int64]:
    """The code of every smaller bin; that of NULL is the last of both."""
    if isinstance(own.domain, Listed):
        found = np.array(own.domain.codes)
    else:
        assert not isinstance(finer.domain, Listed)
        points = finer.domain.edge_array[:-1]
        found = np.searchsorted(own.domain.edge_array, points, side="right") - 1
    return np.append(found, own.domain.size) if own.has_null else found


def _gather(side: CodeSet, owners: NDArray[np.int64]) -> CodeSet:
    inside = np.fromiter(chain.from_iterable(range(*pair) for pair in side), dtype=np.int64)
    held = np.bincount(owners[inside], minlength=int(owners.max()) + 1)
    if ((held > 0) & (held < np.bincount(owners))).any():
        raise QueryError("this has no exact answer: it tells apart values that share one code")
    return codes(np.flatnonzero(held).tolist())
