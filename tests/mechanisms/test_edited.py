"""Published designs that somebody has edited: refused, or answered without a guess."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from support.histograms import histogram_of

from ldpsql.algebra.boxes import Box, LinearQuery
from ldpsql.algebra.record_domain import RecordDomain
from ldpsql.estimators.base import AnyDesign as Design
from ldpsql.estimators.base import make_estimator
from ldpsql.mechanisms.registry import mechanism
from ldpsql_device.epsilon import Epsilon
from ldpsql_device.errors import SurveyError
from ldpsql_lab.simulation import SeededEntropy

PLAIN = RecordDomain(("x",), (10,), (), (), ())
SIGNED = RecordDomain(("x",), (10,), ("x", "pay"), ((0.0, 9.0), (2.0, 10.0)), (0, None))
ONE = Epsilon.parse("1")
Change = Callable[[dict[str, Any]], None]


def edited(name: str, domain: RecordDomain, options: dict[str, Any], change: Change) -> Design:
    """A design whose JSON was changed."""
    data = json.loads(json.dumps(mechanism(name).design(domain, ONE, options).to_json()))
    change(data)
    return mechanism(name).restore(domain, ONE, data)


def unchanged(data: dict[str, Any]) -> None:
    """Nothing."""


def without_fanouts(data: dict[str, Any]) -> None:
    """One group of all codes."""
    data.pop("fanouts", None)
    data["groups"] = [[[0], None, 0, 1]]


def without_leaves(data: dict[str, Any]) -> None:
    """The last level is not asked for."""
    del data["groups"][-1], data["budgets"][-1]


@pytest.mark.parametrize(
    ("name", "options", "change", "words"),
    [
        ("hio", {"inference": "consistent"}, without_fanouts, "needs trees"),
        ("grr", {}, lambda data: data.update(inference="consistent"), "does not fit"),
        ("hi", {"fanout": 4}, without_leaves, "single records"),
        ("hi", {"fanout": 4, "inference": "consistent"}, without_leaves, "single records"),
        ("hh", {}, lambda data: data.update(oracle="grr"), "oracle must be one of oue, hrr"),
    ],
)
def test_what_a_mechanism_never_designs_is_refused(
    name: str, options: dict[str, Any], change: Change, words: str
) -> None:
    """When it is read, not at the first question."""
    edited(name, PLAIN, options, unchanged)
    with pytest.raises(SurveyError, match=words):
        edited(name, PLAIN, options, change)


@pytest.mark.parametrize("inference", ["direct", "consistent"])
@pytest.mark.parametrize("measure", [0, 1])
def test_the_sum_of_a_measure_that_nobody_is_asked_about_is_unknown(
    measure: int, inference: str
) -> None:
    """The groups with its sign are gone; the other measure is answered."""

    def forget(data: dict[str, Any]) -> None:
        data["groups"] = [group for group in data["groups"] if group[1] != measure]

    design = edited("ehio", SIGNED, {"inference": inference}, forget)
    random = np.random.default_rng(1)
    codes = np.column_stack([random.integers(0, 10, 2_000), random.integers(0, 2, (2_000, 2))])
    histogram = histogram_of(design.randomize(codes, SeededEntropy(1)))
    box = Box((((1, 3),),))
    planned = [design.prepare(LinearQuery.sum(number, box)) for number in (measure, 1 - measure)]
    answer = make_estimator(design, histogram).answer(planned)
    assert np.isnan(answer.values).tolist() == [True, False]
    assert np.isinf(np.diagonal(answer.covariance)).tolist() == [True, False]
