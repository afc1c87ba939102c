"""A contract has one reader, and so few members that one can hold them in mind."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from abc import ABC
from collections.abc import Iterator
from typing import Protocol

import pytest

import ldpsql.estimators
import ldpsql.mechanisms
from ldpsql.engine import collector
from ldpsql.estimators.base import Auditor, Decoder, Design, Designer
from ldpsql.mechanisms.base import Candidate, Maker, Recipe, Restorer
from ldpsql.mechanisms.registry import MECHANISMS
from ldpsql.store import base

MOST = 6
ROOMS = [ldpsql.estimators, ldpsql.mechanisms]


def modules() -> Iterator[str]:
    """Those that hold contracts."""
    yield from (base.__name__, collector.__name__)
    for room in ROOMS:
        found = pkgutil.walk_packages(room.__path__, f"{room.__name__}.")
        yield from (module.name for module in found)


def is_contract(kind: type) -> bool:
    """Whether a class leaves something for others to write, or is written to be joined."""
    return Protocol in kind.__bases__ or ABC in kind.__bases__ or inspect.isabstract(kind)


def own_names(kind: type) -> set[str]:
    """The public names that a class declares: methods, properties and annotated values."""
    declared = {*vars(kind), *inspect.get_annotations(kind)}
    return {name for name in declared if not name.startswith("_")}


def members(kind: type) -> set[str]:
    """What a class asks beyond the contracts that it joins."""
    return own_names(kind) - set().union(*map(own_names, kind.__mro__[1:]))


CONTRACTS = [
    kind
    for name in modules()
    for kind in vars(importlib.import_module(name)).values()
    if inspect.isclass(kind) and kind.__module__ == name and is_contract(kind)
]


def test_every_contract_is_as_wide_as_is_known() -> None:
    """So that one that grows is seen, and one that is new; the plan is a sixth of `DesignValue`,
    which some designs compute."""
    widths = {kind.__name__: len(members(kind)) for kind in CONTRACTS}
    assert max(widths.values()) <= MOST
    assert widths == {
        "Catalog": 4,
        "Counts": 6,
        "ReportSource": 4,
        "Answering": 5,
        "Filled": 6,
        "AnsweringStore": 6,
        "Estimator": 4,
        "JointEstimator": 0,
        "SmoothingEstimator": 3,
        "DesignValue": 5,
        "Designer": 6,
        "Decoder": 6,
        "Auditor": 4,
        "Design": 0,
        "SetChooser": 1,
        "Channel": 6,
        "TableDesign": 1,
        "RowsDesign": 2,
        "CodeDecoder": 2,
        "GroupAnswer": 5,
        "Source": 5,
        "LinearDesign": 5,
        "GroupDesign": 5,
        "Oracle": 5,
        "Requirements": 4,
        "Maker": 5,
        "Candidate": 6,
        "Retuner": 1,
        "Restorer": 4,
        "Questions": 6,
        "SampledReports": 5,
        "Spectral": 2,
        "Rounds": 4,
    }


@pytest.mark.parametrize(("whole", "parts"), [(Design, 3), (Recipe, 3)])
def test_a_whole_adds_nothing_to_its_parts(whole: type, parts: int) -> None:
    readers = [Designer, Decoder, Auditor, Maker, Candidate, Restorer]
    assert sum(issubclass(whole, reader) for reader in readers) == parts
    assert members(whole) == set()


def test_a_wide_contract_is_seen() -> None:
    class Wide(ABC):
        one: int
        two: int
        three: int
        four: int

        def five(self) -> int:
            return 5

        def six(self) -> int:
            return 6

        @property
        def seven(self) -> int:
            return 7

    assert is_contract(Wide)
    assert len(members(Wide)) == MOST + 1


def test_estimators_know_no_mechanism() -> None:
    """Not for types either: there is no circle between the two rooms."""
    for found in pkgutil.walk_packages(ldpsql.estimators.__path__, "ldpsql.estimators."):
        source = inspect.getsource(importlib.import_module(found.name))
        assert "ldpsql.mechanisms" not in source


def test_every_recipe_has_all_parts() -> None:
    for recipe in MECHANISMS.values():
        assert isinstance(recipe, Maker)
        assert isinstance(recipe, Candidate)
        assert isinstance(recipe, Restorer)
