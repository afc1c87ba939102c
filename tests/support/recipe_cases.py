"""Cases of every recipe of the registry: domains, epsilons and options that it says it takes.

There are no lists of names here: what a recipe takes, and its options, it declares itself. Designs
are built when a test first needs them, and the law of each is enumerated once.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, fields
from fractions import Fraction
from functools import cache
from typing import Any, Literal, get_args, get_origin, get_type_hints

import pytest
from support.later_rounds import at_round

from ldpsql.algebra.boxes import Box, LinearQuery
from ldpsql.algebra.record_domain import RecordDomain
from ldpsql.estimators.base import AnyDesign
from ldpsql.mechanisms.base import AnyRecipe
from ldpsql.mechanisms.registry import MECHANISMS, mechanism
from ldpsql.reports.channel import Law, enumerate_law
from ldpsql_device.epsilon import Epsilon
from ldpsql_device.errors import SurveyError
from ldpsql_device.shuffled import Central

DOMAINS = {
    "5": RecordDomain(("x",), (5,), (), (), ()),
    "3x3": RecordDomain(("x", "y"), (3, 3), (), (), ()),
    "2x2x2": RecordDomain(("x", "y", "z"), (2, 2, 2), (), (), ()),
    "4-signed": RecordDomain(("x",), (4,), ("x",), ((0.0, 3.0),), (0,)),
    "2x3-signed": RecordDomain(
        ("x", "y"), (2, 3), ("y", "pay"), ((0.0, 2.0), (-1.0, 5.0)), (1, None)
    ),
    "3-nullable": RecordDomain(
        ("x", "pay"), (3, 3), (), (), (), (0, 3), nullable=((0.0, 2.0, 2, "linear"),)
    ),
    "nullable-squared-signed": RecordDomain(
        *(("pay",), (4,), ("age",), ((-1.0, 5.0),), (None,), (4,)),
        nullable=((0.0, 2.0, 3, "quadratic"),),
    ),
    "2-nullable-twice": RecordDomain(
        *(("x", "pay", "age"), (2, 3, 3), (), (), (), (0, 3, 3)),
        nullable=((0.0, 2.0, 2, "linear"), (-1.0, 5.0, 2, "linear")),
    ),
    "1": RecordDomain(("x",), (1,), (), (), ()),
    "measure": RecordDomain((), (), ("pay",), ((0.0, 1.0),), (None,)),
    "5-sensitive": RecordDomain(("x",), (5,), (), (), (), (), ((1, 3),)),
    "3x4-sensitive": RecordDomain(("x", "y"), (3, 4), (), (), (), (), ((0, 2), (3,))),
    "2x4-sensitive": RecordDomain(("x", "y"), (2, 4), (), (), (), (), ((), (1, 2))),
    "3x2x2-sensitive": RecordDomain(("x", "y", "z"), (3, 2, 2), (), (), (), (), ((2,), (0,), (1,))),
}
EPSILONS = ("0.5", "2")


@dataclass(frozen=True)
class Case:
    """A recipe with options, for a domain and an epsilon; central: for shuffled reports."""

    name: str
    domain: str
    epsilon: str
    options: str = "{}"
    central: bool = False
    round: int = 1

    def __str__(self) -> str:
        chosen = ",".join(f"{key}={value}" for key, value in json.loads(self.options).items())
        shuffled = "-shuffled" if self.central else ""
        later = f"-round{self.round}" if self.round > 1 else ""
        return (
            f"{self.name}-{self.domain}-eps{self.epsilon}-{chosen or 'defaults'}{shuffled}{later}"
        )


def option_sets(recipe: AnyRecipe) -> Iterator[dict[str, Any]]:
    """The defaults, and every other value of each option that has a few; small trees."""
    hints = get_type_hints(recipe.options)
    names = [field.name for field in fields(recipe.options)]
    base = {"fanout": 2} if "fanout" in names else {}
    yield base
    for name in names:
        default = getattr(recipe.options(), name)
        if get_origin(hints[name]) is Literal:
            others = [value for value in get_args(hints[name]) if value != default]
        elif isinstance(default, bool):
            others = [not default]
        else:
            others = [0, 3] if isinstance(default, int) else []
        yield from ({**base, name: other} for other in others)
    if {"inference", "allocation"} <= set(names):
        yield {**base, "inference": "consistent", "allocation": "optimal"}


def cases() -> Iterator[Case]:
    """Every recipe on every domain that it says it takes."""
    for name, recipe in MECHANISMS.items():
        for label, domain in DOMAINS.items():
            uses_sensitive = recipe.takes.sensitive
            if recipe.refusal(domain) or not (domain.is_all_sensitive or uses_sensitive):
                continue
            for place, options in enumerate(option_sets(recipe)):
                if place and len(domain.sizes) > 2:
                    continue
                for epsilon in EPSILONS if not place else EPSILONS[1:]:
                    yield Case(name, label, epsilon, json.dumps(options))
        if recipe.calibrates and not recipe.refusal(DOMAINS["2x2x2"]):
            yield Case(name, "2x2x2", "0.5", central=True)


def features(case: Case) -> set[tuple[str, ...]]:
    """What a case tries of its recipe.

    A domain decides how a design is put together: from how many dimensions, whether over measures.
    So every set of options meets every number of dimensions, and measures or none; and the recipe
    meets every domain, and every epsilon with measures and without.
    """
    domain = DOMAINS[case.domain]
    dimensions, measures = f"{len(domain.sizes)} dimensions", f"measures: {bool(domain.bounds)}"
    return {
        (case.name, case.domain),
        (case.name, case.epsilon, measures),
        (case.name, case.options, dimensions),
        (case.name, case.options, measures),
        (case.name, f"shuffled: {case.central}"),
    }


def cover(every: Collection[Case], chosen: Iterable[Case]) -> list[Case]:
    """Cases, those chosen first, that have each feature of all cases at least once.

    The next one is always the one with most features that no other has yet.
    """
    found = list(chosen)
    left = set().union(*map(features, every)).difference(*map(features, found))
    while left:
        found.append(max(every, key=lambda case: len(features(case) & left)))
        left -= features(found[-1])
    return found


EVERY = list(cases())
FIRST = {c.name: c for c in reversed(EVERY) if (c.epsilon, c.central) == ("2", False)}
QUICK = set(FIRST.values())
ALL = [
    case
    for name, first in FIRST.items()
    for case in cover([case for case in EVERY if case.name == name], [first])
]
"""One case of every recipe; the others are slow for being many."""
CASES = [
    pytest.param(case, id=str(case), marks=[] if case in QUICK else [pytest.mark.slow])
    for case in ALL
]
LATER = [
    pytest.param(Case("ahead", domain, "0.5", json.dumps({"oracle": oracle}), round=2), id=oracle)
    for domain, oracle in (("5", "grr"), ("3x3", "olh"), ("5", "oue"))
]


@cache
def design_for(case: Case) -> AnyDesign | str:
    """The design of a case, or why there is none: some budgets and options do not go together."""
    recipe, domain = mechanism(case.name), DOMAINS[case.domain]
    options, epsilon = json.loads(case.options), Epsilon.parse(case.epsilon)
    try:
        if case.central:
            central = Central(epsilon, Fraction(1, 1000), 300)
            return recipe.design(domain, central, options)
        design = recipe.design(domain, epsilon, options)
        return at_round(design, case.round, 20_000) if case.round > 1 else design
    except SurveyError as error:
        return str(error)


def design_of(case: Case) -> AnyDesign:
    """The design; the test is skipped where there is none."""
    design = design_for(case)
    if isinstance(design, str):
        pytest.skip(design)
    return design


@cache
def law_for(case: Case) -> Law | None:
    """The exact channel; None where it is too large."""
    design = design_of(case)
    if design.report_format.bits_per_report > 17 or max(design.report_format.bits or [0]) > 12:
        return None
    try:
        return enumerate_law(design.plan)
    except ValueError:
        return None


def law_of(case: Case) -> Law:
    """The exact channel; the test is skipped where it is too large."""
    law = law_for(case)
    if law is None:
        pytest.skip("the channel is too large to enumerate")
    return law


def questions(domain: RecordDomain) -> list[LinearQuery]:
    """A code, a range, and a difference of ranges per dimension; corners, of a single measure that
    may be missing; sums of measures."""
    d, boxes = len(domain.sizes), list[tuple[tuple[float, Box], ...]]()
    for axis, size in enumerate(domain.sizes):
        sides = [((0, 1),), ((size // 2, size),)]
        one, other = (Box(tuple(s if a == axis else None for a in range(d))) for s in sides)
        boxes += [((1.0, one),), ((1.0, other),), ((1.0, one), (-0.5, other))]
    if d > 1:
        most = domain.first_level_axis + 1
        boxes.append(((1.0, Box(tuple(((0, 1),) if a < most else None for a in range(d)))),))
    whole = ((1.0, Box.whole(d)),)
    queries = [LinearQuery(terms) for terms in (*boxes, whole)]
    for measure in range(len(domain.bounds)):
        queries += [LinearQuery(terms, measure) for terms in (*boxes[:2], whole)]
    return queries
