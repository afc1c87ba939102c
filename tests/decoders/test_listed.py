"""Reports one by one: their numbers, what they contribute, and what amounts are on average."""

from __future__ import annotations

import numpy as np
import pytest
from support.laws import probabilities

from ldpsql.decoders.listed import OracleReports, list_reports
from ldpsql.decoders.nodes import FlatDesign
from ldpsql.recipes.registry import mechanism
from ldpsql.record_domain import RecordDomain
from ldpsql_device.epsilon import Epsilon


def listed(name: str, size: int, epsilon: str) -> tuple[FlatDesign, OracleReports]:
    domain = RecordDomain(("x",), (size,), (), (), ())
    made = mechanism(name).design(domain, Epsilon.parse(epsilon), {})
    assert isinstance(made, FlatDesign)
    (answer,) = made.answers
    found = list_reports(answer.oracle, size, answer.coins, answer.column)
    assert found is not None
    return made, found


@pytest.mark.parametrize("epsilon", ["0.5", "1", "4"])
@pytest.mark.parametrize("size", [2, 5, 7])
@pytest.mark.parametrize("name", ["grr", "hrr", "olh"])
def test_lists_are_those_of_the_law(name: str, size: int, epsilon: str) -> None:
    """At epsilon 4 there are more hash values than nodes."""
    made, own = listed(name, size, epsilon)
    law, chances = made.law(), probabilities(made)
    columns = list(np.array(law.outputs)[:, 1:].T)
    numbers = own.number(columns)
    assert numbers.min() >= 0 and numbers.max() < own.count
    by_number = np.array([np.bincount(numbers, row, own.count) for row in chances])
    random = np.random.default_rng(1)
    weights, amounts = random.normal(size=size), random.normal(size=own.count)
    shares = random.dirichlet(np.ones(size))
    assert own.average(amounts) == pytest.approx(by_number @ amounts, abs=1e-9)
    assert own.chances(shares) == pytest.approx(shares @ by_number, abs=1e-12)
    scale = np.abs(own.contribute(weights)).max()
    assert own.average(own.contribute(weights)) == pytest.approx(weights, abs=1e-9 * scale)
    given = made.answers[0].oracle.contributions(
        [columns[place] for place in own.coins],
        columns[own.column],
        np.arange(size),
        weights[None],
    )[0]
    assert own.contribute(weights)[numbers] == pytest.approx(given, abs=1e-9 * scale)


def test_reports_that_are_counted_bit_by_bit_are_not_listed() -> None:
    domain = RecordDomain(("x",), (4,), (), (), ())
    (answer,) = mechanism("oue").design(domain, Epsilon.parse("1"), {}).answers
    assert list_reports(answer.oracle, 4, (), 0) is None
