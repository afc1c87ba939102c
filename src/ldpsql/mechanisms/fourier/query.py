"""Public. Sees parameters. A linear query in the form that Fourier designs answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ldpsql.boxes import Side, Weight
from ldpsql.mechanisms.fourier.demand import box_transform
from ldpsql.mechanisms.fourier.group import Axes, Group, add, face_slices, parts_of
from ldpsql.mechanisms.fourier.transforms import Complexes
from ldpsql_device.errors import UnsupportedSQL

NO_ENERGY = 1e-20


_FAR = 100.0


@dataclass(frozen=True)
class Term:
    """coefficient x box, whose sides constrain the given dimensions and no others."""

    coefficient: float
    axes: Axes
    sides: tuple[Side, ...]


@dataclass(frozen=True, eq=False)
class Spectrum:
    """q^(f) / N of a query, the zero frequency apart (`whole`), by face."""

    faces: Mapping[Axes, Complexes]
    whole: float


@dataclass(frozen=True)
class BoxQuery:
    """level x (people in the terms) + contrast x (their upper minus lower signs).

    known: coefficient of the number of people (or total weight) known without asking.
    measure: whose sign, or None; then contrast is 0.
    """

    known: float
    terms: tuple[Term, ...]
    measure: int | None
    level: float
    contrast: float
    weight: Weight | None

    @property
    def is_far(self) -> bool:
        """Whether a measure's bounds are far from 0, as seen from their distance."""
        return self.measure is not None and abs(self.level) > _FAR * abs(self.contrast)

    def whole(self, group: Group) -> float:
        """q^(0) / N: the mean of the query over the group, sign apart."""
        total = 0.0
        for term in self.terms:
            share = term.coefficient
            for side, axis in zip(term.sides, term.axes, strict=True):
                share *= float(group.bin_weights(side, axis).sum()) / group.orders[axis]
            total += share
        return self.level * total

    def spectrum(self, group: Group) -> Spectrum:
        """The query as it is; 0 on padding."""
        return Spectrum(self.faces(group), self.whole(group))

    def faces(self, group: Group) -> dict[Axes, Complexes]:
        """q^(f) / N of every face that the query touches, the zero frequency apart."""
        found: dict[Axes, Complexes] = {}
        for term in self.terms:
            dense = term.coefficient * box_transform(term.sides, term.axes, group)
            for part in parts_of((term.axes,)):
                piece = dense[face_slices(part, term.axes)]
                if self.level:
                    add(found, part, self.level * piece)
                if self.measure is not None:
                    # The character of a sign axis is -1 at the upper bound.
                    signed = (*part, group.dimensions + self.measure)
                    add(found, signed, -self.contrast * piece[..., None])
            if self.measure is not None:
                alone = (group.dimensions + self.measure,)
                corner = dense[(0,) * dense.ndim]
                add(found, alone, np.array([-self.contrast * corner]))
        return found


def unsupported(dimensions: Sequence[str], measure: str | None) -> UnsupportedSQL:
    """The error for a query that the design does not collect, by what it asks about."""
    constrained = " and ".join(dimensions) or "everybody"
    asked = constrained if measure is None else f"{measure} by {constrained}"
    needed = f"whose queries ask about {asked}"
    if dimensions:
        needed = f"whose max_predicates is at least {len(dimensions)}, or {needed}"
    return UnsupportedSQL(
        f"this survey was not designed for questions about {asked}",
        hint=f"design it with a [workload] {needed}",
    )
