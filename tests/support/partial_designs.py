"""Designs and recipes that implement as much of their contract as a test needs."""

from __future__ import annotations

from typing import Any

from ldpsql.estimators.base import Design
from ldpsql.mechanisms.base import Recipe


class PartialDesign(Design[Any]):
    """A design whose missing methods are missed when they are called, not at birth."""

    def __new__(cls, *given: Any, **named: Any) -> PartialDesign:
        cls.__abstractmethods__ = frozenset()
        return super().__new__(cls)


class PartialRecipe(Recipe[Any]):
    """A recipe that overrides the public entries themselves."""
