"""The examples in docstrings are run."""

from __future__ import annotations

import doctest
from importlib import import_module

import pytest


@pytest.mark.parametrize(
    "name",
    [
        "ldpsql.algebra.boxes",
        "ldpsql.sql.quoting",
        "ldpsql.estimators.trees",
        "ldpsql_device.epsilon",
    ],
)
def test_examples_hold(name: str) -> None:
    """At least one example in each, none of them wrong."""
    found = doctest.testmod(import_module(name))
    assert found.attempted > 0
    assert found.failed == 0
