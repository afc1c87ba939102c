"""The mechanism `graded`: every value keeps its own epsilon, exactly, and what that costs."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from fractions import Fraction
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from support.fourier_designs import domain_of
from support.repeated_surveys import Repeated
from support.significance import coverage_fits

from ldpsql.algebra.boxes import Box, LinearQuery, codes
from ldpsql.algebra.record_domain import RecordDomain
from ldpsql.algebra.workload import Workload
from ldpsql.audit import audit_design
from ldpsql.designer import design
from ldpsql.estimators.base import make_estimator
from ldpsql.estimators.cells import TableEstimator
from ldpsql.mechanisms.registry import mechanism
from ldpsql.reports.channel import enumerate_law
from ldpsql.reports.report import Histogram
from ldpsql_device.epsilon import Epsilon
from ldpsql_device.errors import SurveyError
from ldpsql_device.plan import RowsOfWords
from ldpsql_lab.mechanisms.graded import GradedDesign

FIVE = ["0.5", "1", "2", "4", "4"]
_ALMOST = Fraction(1, 10**9)


def made(epsilons, epsilon="4", sizes=(5,)) -> GradedDesign:
    options = {"epsilons": epsilons}
    return mechanism("graded").design(domain_of(sizes), Epsilon.parse(epsilon), options)


@pytest.mark.parametrize(
    ("epsilons", "epsilon", "sizes"),
    [
        (FIVE, "4", (5,)),
        (["0.001", "20"], "20", (2,)),
        (["1"] * 7, "1", (7,)),
        ("0.3, 0.3, 0.31", "0.31", (3,)),
        ({"x": ["0.5", "1", "2"], "y": ["2", "0.7"]}, "2", (3, 2)),
        ({"y": ["2", "0.7"]}, "2", (3, 2)),
    ],
    ids=str,
)
def test_every_record_keeps_its_own_epsilon_exactly(epsilons, epsilon, sizes):
    """In fractions, over the whole channel; and spends it to the last billionth."""
    design = made(epsilons, epsilon, sizes)
    law = enumerate_law(design.plan)
    assert law.inputs == tuple(product(*map(range, sizes)))
    least = [min(column) for column in zip(*law.probabilities, strict=True)]
    for row, limit in zip(law.probabilities, design.limits, strict=True):
        assert sum(row) == 1
        odds = max(own / low for own, low in zip(row, least, strict=True))
        assert limit.odds * (1 - _ALMOST) < odds <= limit.odds
    assert audit_design(design).holds


def test_a_record_is_as_sensitive_as_its_most_sensitive_value():
    design = made({"x": ["0.5", "1", "2"], "y": ["2", "0.7"]}, "2", (3, 2))
    assert [str(limit) for limit in design.limits] == ["0.5", "0.5", "1", "0.7", "2", "0.7"]


def test_ten_words_too_many_break_the_promise(monkeypatch):
    """The negative control: the first value is named by ten words more of 2^64."""
    design = made(FIVE)
    first, *others = design.response.rows
    moved = (first[0] + 10, first[1] - 10, *first[2:])
    monkeypatch.setitem(vars(design), "response", RowsOfWords((moved, *others)))
    found = audit_design(design)
    assert "(0,) by more than the epsilon of its own" in " ".join(found.problems)
    assert found.epsilon <= design.epsilon.value  # plain LDP does not notice it


def test_an_audit_says_who_is_safe():
    rows = audit_design(made(FIVE)).exposures
    assert [row.owner for row in rows] == [
        *("epsilon 0.5 (1 of 5)", "epsilon 1 (1 of 5)", "epsilon 2 (1 of 5)", "epsilon 4 (2 of 5)")
    ]
    assert [row.epsilon for row in rows] == pytest.approx([0.5, 1, 2, 4], abs=1e-12)


def test_one_epsilon_for_all_is_randomized_response():
    grr = mechanism("grr").design(domain_of((6,)), Epsilon.parse("1"), {})
    for same in (made(["1"] * 6, "1", (6,)), made(None, "1", (6,))):
        found = np.array(enumerate_law(same.plan).probabilities, dtype=float)
        assert found == pytest.approx(
            np.array(enumerate_law(grr.plan).probabilities, dtype=float), abs=1e-15
        )
        assert same.guarantee == grr.guarantee


def test_large_epsilons_are_those_of_values_that_are_not_sensitive():
    """At 20 the channel is urr's, to what e^-20 leaves."""
    domain = RecordDomain(("x",), (5,), (), (), (), (), ((0, 1),))
    urr = mechanism("urr").design(domain, Epsilon.parse("1"), {})
    found = np.array(
        enumerate_law(made(["1", "1", "20", "20", "20"], "20").plan).probabilities, dtype=float
    )
    assert found == pytest.approx(
        np.array(enumerate_law(urr.plan).probabilities, dtype=float), abs=1e-8
    )


def variances(epsilons, shares) -> np.ndarray:
    """Of the estimated shares, times people, for these people and no others; in closed form."""
    beside = 1.0 / np.expm1(np.array(epsilons, dtype=float))
    truth = 1.0 / (1.0 + beside.sum())
    q = truth * beside
    p = q + truth
    return (shares * p * (1 - p) + (1 - shares) * q * (1 - q)) / truth**2


def test_the_variance_is_the_closed_form():
    design, shares = made(FIVE), np.array([0.1, 0.2, 0.3, 0.15, 0.25])
    cells = np.eye(5)
    found = np.diag(design.channel.second(shares, cells, cells)) - shares
    assert found == pytest.approx(variances(FIVE, shares), rel=1e-9)


@pytest.mark.fast(1)
@pytest.mark.parametrize("epsilon", ["2", "4", "8"])
def test_intervals_hold_of_few_people_who_hardly_name_a_value(epsilon: str) -> None:
    """A tenth tells the truth beside the epsilon 0.1, so that of 30 people one names the second
    value; without pseudo-reports, the negative control, too few intervals hold the truth."""
    design = made(["0.1", epsilon, epsilon], epsilon, (3,))
    without = replace(design.channel, rare=0.0)
    cells = [LinearQuery.count(Box((codes((code,)),))) for code in range(3)]
    planned, people, runs = [design.prepare(cell) for cell in cells], 30, 400
    shares = np.array([0.05, 0.35, 0.6])

    def draw(seed: int) -> np.ndarray:
        return np.random.default_rng([seed, 5]).choice(3, (people, 1), p=shares)

    def make_bare(histogram: Histogram) -> TableEstimator:
        return TableEstimator(make_estimator(design, histogram).source, without)

    usual, bare = (
        Repeated.of(design, planned, draw, runs, make).shares_inside(people * shares).min()
        for make in (None, make_bare)
    )
    # Those of some values are wider than they need be.
    assert coverage_fits(round(usual * runs), runs)
    assert not coverage_fits(round(bare * runs), runs)


def test_the_promise_says_what_it_leaves_out():
    promise = made(FIVE).guarantee
    assert (promise.kind, str(promise.epsilon)) == ("local", "4")
    assert "x 0.5, 1, 2, 4, 4" in promise.protects
    assert "speaks against it" in promise.not_protected[0]


@pytest.mark.parametrize(
    ("epsilons", "problem"),
    [
        (["1"] * 4, "lists 5 epsilons for x"),
        ([1, 1, 1, 1, "much"], "for x: epsilon must be a number"),
        ([1, 1, 1, 1, 0], "between 0.001 and 20"),
        (["1"] * 5, "largest epsilon of a record is 1, and that of a report 4"),
        ([8] * 5, "largest epsilon of a record is 8"),
        ({"z": [4] * 5}, "names 'z', which is not a dimension"),
        ({"x": "4"}, "lists 5 epsilons"),
        (4, "is a list for every column"),
    ],
    ids=str,
)
def test_epsilons_that_do_not_fit_are_refused(epsilons, problem):
    with pytest.raises(SurveyError, match=re.escape(problem)):
        made(epsilons)


def test_values_that_are_not_declared_come_last():
    """First those of their own, then the missing ones: the order in which epsilons are listed."""
    column = """
[dimension.job]
type = "category"
values = ["clerk", "guard"]
outside = "other"
missing = "code"
[survey.options.epsilons]
job = ["1", "2", "3", "4"]
"""
    survey = design('[survey]\ntable = "t"\nepsilon = "4"\nmechanism = "graded"\n' + column)
    (job,) = survey.schema.dimensions
    found = [job.code(value, 0)[0] for value in ("clerk", "guard", "cook", None)]
    assert [str(survey.design.limits[code]) for code in found] == ["1", "2", "3", "4"]


def test_auto_leaves_it_out():
    assert "by name" in mechanism("graded").reserved(Workload.everyday(domain_of((5,))))


def test_the_page_says_what_it_costs():
    """The table of docs/papers/beyond.md: variances of shares, times people, spread evenly."""
    page = (Path(__file__).parents[2] / "docs/papers/beyond.md").read_text("utf-8")
    rows = re.findall(r"^\| ([\d., x]+) \| ([\d., ]+) \| ([\d.]+) \| ([\d.]+) \|$", page, re.M)
    assert len(rows) == 4
    for row in rows:
        epsilons = []
        for part in row[0].split(", "):
            times, _, one = part.rpartition(" x ")
            epsilons += [float(one)] * int(times or 1)
        size = len(epsilons)
        own = variances(epsilons, np.full(size, 1 / size))
        distinct = [own[epsilons.index(one)] for one in dict.fromkeys(epsilons)]
        odds = math.exp(min(epsilons))
        grr = variances([min(epsilons)] * size, np.full(size, 1 / size))[0]
        oue = 4 * odds / (odds - 1) ** 2 + 1 / size
        told = [*row[1].split(", "), *row[2:]]
        assert [f"{value:.2f}" for value in (*distinct, grr, oue)] == told
