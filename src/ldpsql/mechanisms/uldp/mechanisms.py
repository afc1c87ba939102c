"""Public. Sees parameters. The mechanisms whose reports name a cell, by their responses.

urr      one attribute: utility-optimised randomized response
cprr     urr over the combinations of all attributes (product ULDP)
jurr     several attributes, each protected by itself (Definition 3)
jurr-g   jurr of two attributes at every epsilon
tdrr     a urr for each attribute, each with a part of epsilon
jd-grr   randomized response over all combinations, for comparison: plain LDP

Specification: uldp, sections 2, 4, 5 and 6.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import ROUND_FLOOR, Context
from fractions import Fraction
from typing import Any

import numpy as np

from ldpsql.mechanisms.options import take, whole
from ldpsql.mechanisms.uldp.design import CellDesign, check_table
from ldpsql.mechanisms.uldp.layout import (
    Axis,
    Layout,
    sensitive_cells,
    separate_axes,
    shape_of,
)
from ldpsql.mechanisms.uldp.levels import best_levels
from ldpsql.mechanisms.uldp.promise import by_name
from ldpsql.mechanisms.uldp.response import Response
from ldpsql.mechanisms.uldp.tables import joint_response, least_epsilon, levelled_response
from ldpsql.recipes.base import NoOptions, Recipe
from ldpsql.workload import Workload
from ldpsql_device.epsilon import LARGEST_PRECISION, SMALLEST_EPSILON, Epsilon
from ldpsql_device.errors import SurveyError
from ldpsql_device.schema import RecordDomain

_MOST_JOINT = 6
_JOINT = "uldp-joint"


class Cprr(Recipe[NoOptions]):
    """One response over the combinations of all attributes.

    kind: of its guarantee; "local" treats every combination as sensitive.  most: attributes that
    it takes, any number where None.
    """

    can_be_reserved = True

    def __init__(self, name: str, kind: str = "uldp", most: int | None = None) -> None:
        self.name, self.kind, self.most = name, kind, most

    def reserved(self, domain: RecordDomain) -> str | None:
        """See `Recipe.reserved`."""
        return by_name(self.kind, domain)

    def design(
        self,
        domain: RecordDomain,
        epsilon: Epsilon,
        options: Mapping[str, Any],
        workload: Workload | None = None,
    ) -> CellDesign:
        """No options."""
        take(options, {}, self.name)
        return self.restore(domain, epsilon, {})

    def restore(
        self, domain: RecordDomain, epsilon: Epsilon, data: Mapping[str, Any]
    ) -> CellDesign:
        """Everything follows from domain and epsilon."""
        check_table(self.name, domain)
        if self.most is not None and len(domain.sizes) > self.most:
            raise SurveyError(
                f"{self.name} is for one dimension, not {len(domain.sizes)}; use cprr"
            )
        cells = sensitive_cells(domain).ravel()
        axis = Axis(np.ones_like(cells) if self.kind == "local" else cells)
        response = _single(axis, epsilon.odds)
        return CellDesign(self.name, domain, epsilon, Layout((axis,), (response,)), self.kind, {})


class _Joint(Recipe[NoOptions]):
    """What mechanisms have in common that protect every attribute by itself."""

    can_be_reserved = True

    def reserved(self, domain: RecordDomain) -> str | None:
        """See `Recipe.reserved`."""
        return by_name(_JOINT, domain)


class Jurr(_Joint):
    """One response in which every attribute is protected by itself."""

    name = "jurr"

    def design(
        self,
        domain: RecordDomain,
        epsilon: Epsilon,
        options: Mapping[str, Any],
        workload: Workload | None = None,
    ) -> CellDesign:
        """No options."""
        take(options, {}, self.name)
        return self.restore(domain, epsilon, {})

    def restore(
        self, domain: RecordDomain, epsilon: Epsilon, data: Mapping[str, Any]
    ) -> CellDesign:
        """SurveyError where epsilon is too small for it."""
        axes = _joint_axes(self.name, domain, _MOST_JOINT)
        shape = shape_of(axes)
        response = joint_response(shape, epsilon.odds)
        if response is None:
            advice = (
                "jurr-g works at every epsilon" if len(axes) == 2 else "cprr works at every one"
            )
            raise SurveyError(
                f"jurr needs epsilon {least_epsilon(shape)} or more for "
                f"{'x'.join(map(str, shape.held))} sensitive values, not {epsilon}; {advice}"
            )
        return CellDesign(self.name, domain, epsilon, Layout(axes, (response,)), _JOINT, {})


class JurrG(_Joint):
    """JuRR with levels of their own for records that are sensitive in one of two attributes."""

    name = "jurr-g"

    def design(
        self,
        domain: RecordDomain,
        epsilon: Epsilon,
        options: Mapping[str, Any],
        workload: Workload | None = None,
    ) -> CellDesign:
        """The levels with the least total variance for records spread evenly."""
        take(options, {}, self.name)
        axes = _joint_axes(self.name, domain, 2)
        own = best_levels(shape_of(axes), epsilon.odds)
        return self.restore(domain, epsilon, {"levels": list(own)})

    def restore(
        self, domain: RecordDomain, epsilon: Epsilon, data: Mapping[str, Any]
    ) -> CellDesign:
        """SurveyError for levels that epsilon does not allow."""
        axes = _joint_axes(self.name, domain, 2)
        first, second = map(whole, data["levels"])
        response = levelled_response(shape_of(axes), epsilon.odds, (first, second))
        if response is None:
            raise SurveyError("the levels of the design leave no room for the truth")
        data = {"levels": [first, second]}
        return CellDesign(self.name, domain, epsilon, Layout(axes, (response,)), _JOINT, data)


class Tdrr(_Joint):
    """Independent responses, each attribute with its part of epsilon."""

    name = "tdrr"

    def design(
        self,
        domain: RecordDomain,
        epsilon: Epsilon,
        options: Mapping[str, Any],
        workload: Workload | None = None,
    ) -> CellDesign:
        """Option `split`: a whole number per dimension, in proportion to its part; even if []."""
        chosen = take(options, {"split": []}, self.name)["split"] or [1] * len(domain.sizes)
        if not all(type(part) is int and 1 <= part <= 1000 for part in chosen):
            raise SurveyError("split is a whole number from 1 to 1000 per dimension, like [1, 2]")
        return self.restore(domain, epsilon, {"split": chosen})

    def restore(
        self, domain: RecordDomain, epsilon: Epsilon, data: Mapping[str, Any]
    ) -> CellDesign:
        """SurveyError unless there is a part for each dimension."""
        axes = _joint_axes(self.name, domain, _MOST_JOINT)
        split = tuple(map(whole, data["split"]))
        if len(split) != len(axes) or min(split) < 1:
            raise SurveyError(f"split has {len(split)} parts, and there are {len(axes)} dimensions")
        parts = _parts(epsilon, split)
        responses = tuple(_single(axis, odds) for axis, odds in zip(axes, parts, strict=True))
        data = {"split": list(split)}
        return CellDesign(self.name, domain, epsilon, Layout(axes, responses), _JOINT, data)


def _single(axis: Axis, odds: Fraction) -> Response:
    """uRR over one axis."""
    response = joint_response(shape_of((axis,)), odds)
    assert response is not None, "one attribute leaves room for the truth at every epsilon"
    return response


def _joint_axes(name: str, domain: RecordDomain, most: int) -> tuple[Axis, ...]:
    check_table(name, domain)
    count = len(domain.sizes)
    if not 2 <= count <= most:
        instead = "urr" if count == 1 else "cprr"
        wanted = "two dimensions" if most == 2 else f"2 to {most} dimensions"
        raise SurveyError(f"{name} is for {wanted}, not {count}; use {instead}")
    return separate_axes(domain)


def _parts(epsilon: Epsilon, split: Sequence[int]) -> list[Fraction]:
    """The odds of each part; their product is at most that of epsilon."""
    floor = Context(prec=LARGEST_PRECISION, rounding=ROUND_FLOOR)
    whole_ = sum(split)
    shares = [floor.divide(floor.multiply(epsilon.value, part), whole_) for part in split]
    if min(shares) < SMALLEST_EPSILON:
        raise SurveyError(
            f"the parts of tdrr leave an attribute less than epsilon {SMALLEST_EPSILON} of "
            f"{epsilon}; take a larger epsilon or more even parts"
        )
    budgets = list(map(Epsilon, shares))
    odds = [budget.odds for budget in budgets]
    product = Fraction(1)
    for one in odds:
        product *= one
    return [*odds[:-1], min(odds[-1], odds[-1] * epsilon.odds / product)]
