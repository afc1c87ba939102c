"""Mechanisms over marginals: their channels, budgets, variances and refusals."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from support.histograms import histogram_of
from support.marginals import CENTRAL, NAMES, count, domain_of

from ldpsql.algebra.record_domain import RecordDomain
from ldpsql.algebra.workload import DeclaredQuery, Workload
from ldpsql.errors import UnsupportedSQL
from ldpsql.estimators.base import AnyDesign as Design
from ldpsql.estimators.base import make_estimator
from ldpsql.marginals.recipes import local_budget
from ldpsql.mechanisms.registry import mechanism
from ldpsql.reports.channel import enumerate_law
from ldpsql_device.epsilon import Epsilon
from ldpsql_device.errors import SurveyError
from ldpsql_device.shuffled import Central
from ldpsql_lab.simulation import SeededEntropy

SIZES = (3, 2, 4)
MIXED, BINARY = domain_of(*SIZES), domain_of(2, 2, 2)


def made(name: str, epsilon: str = "2", domain: RecordDomain | None = None, **options) -> Design:
    """A local design on 3 x 2 x 4 codes, or 2 x 2 x 2 for ft."""
    chosen = domain or (BINARY if name == "ft" else MIXED)
    return mechanism(name).design(chosen, Epsilon.parse(epsilon), options)


class TestBudgets:
    @pytest.mark.parametrize(
        ("answered", "attributes", "local"),
        [("1", 2, 0.6201), ("2", 2, 1.4338), ("3", 2, 2.3554)],
    )
    def test_a_secret_attribute_takes_odds_from_randomized_response(
        self, answered: str, attributes: int, local: float
    ) -> None:
        """Vectors of the specification, from the formula and from the channel of the design."""
        assert float(local_budget(Epsilon.parse(answered), attributes)) == pytest.approx(
            local, abs=5e-5
        )
        law = enumerate_law(made("arr-ss", answered, domain_of(2, 3), calibration="published").plan)
        assert math.log(law.worst().odds) == pytest.approx(local, abs=5e-5)

    def test_a_tight_arr_ss_is_the_channel_of_psrr_ss(self) -> None:
        """For attributes of one size: cell 3 j + y of one is the report (j, y) of the other."""
        domain = domain_of(3, 3)
        one, other = (
            enumerate_law(made(name, "1.5", domain).plan) for name in ("arr-ss", "psrr-ss")
        )
        rows = {(0, 3 * j + y): (j, y) for j, y in other.outputs}
        order = [other.outputs.index(rows[row]) for row in one.outputs]
        for left, right in zip(one.probabilities, other.probabilities, strict=True):
            for place, chance in zip(order, left, strict=True):
                assert abs(right[place] - chance) < Fraction(1, 2**60)

    @pytest.mark.parametrize(("epsilon", "local"), [("0.2", 4.89), ("0.6", 6.82)])
    def test_local_budgets_of_the_specification(self, epsilon: str, local: float) -> None:
        """Section 3.5: 65,536 people with eight binary attributes."""
        central = Central(Epsilon.parse(epsilon), Fraction(1, 65_536), 65_536)
        for name in ("srr-ss", "psrr-ss", "arr-ss"):
            found = mechanism(name).design(domain_of(*[2] * 8), central, {})
            assert float(found.epsilon) == pytest.approx(local, abs=6e-3)

    def test_every_marginal_of_srr_ms_has_a_budget_of_its_own(self) -> None:
        """By its size; the design's epsilon is the largest."""
        found = mechanism("srr-ms").design(domain_of(2, 4, 2), CENTRAL, {})
        assert found.budgets[0] == found.budgets[2] != found.budgets[1]
        assert found.epsilon == max(found.budgets, key=lambda budget: budget.value)

    @pytest.mark.parametrize("name", ["sue-ms", "srr-ms"])
    def test_marginals_of_unlike_budgets_and_sizes_are_told_apart(self, name: str) -> None:
        """Also where one needs one word of bits, and the other two."""
        design = mechanism(name).design(domain_of(2, 40), CENTRAL, {})
        codes = np.stack([np.arange(20_000) % 2, np.arange(20_000) % 7 * 6], axis=1)
        reports = design.randomize(codes.astype(np.int64), SeededEntropy(1))
        asked = [count(2, a0=((1, 2),)), *(count(2, a1=((c, c + 1),)) for c in (0, 5, 36))]
        planned = [design.prepare(query) for query in asked]
        answer = make_estimator(design, histogram_of(reports)).answer(planned)
        truth = np.array([10_000, 20_000 / 7, 0, 20_000 / 7])
        assert (np.abs(answer.values - truth) < 5.0 * answer.stderr).all()

    @pytest.mark.parametrize("name", ["srr-ms", "psrr-ss", "arr-ss"])
    def test_published_budgets_are_smaller(self, name: str) -> None:
        """And never below the central epsilon in what the device's response spends."""
        central = replace(CENTRAL, people=100_000, delta=Fraction(1, 100_000))
        tight = mechanism(name).design(MIXED, central, {})
        published = mechanism(name).design(MIXED, central, {"calibration": "published"})
        assert published.epsilon.value < tight.epsilon.value
        few = mechanism(name).design(
            MIXED, replace(central, people=50), {"calibration": "published"}
        )
        floor = local_budget(central.epsilon, 3) if name == "arr-ss" else central.epsilon
        assert few.epsilon == floor

    def test_hash_values_are_those_of_the_least_variance(self) -> None:
        """Half or twice as many are no better."""
        domain = domain_of(6, 5)
        best = mechanism("solh").design(domain, CENTRAL, {})
        query = [best.prepare(count(2, a0=((3, 4),)))]
        for values in (best.values // 2, best.values * 2):
            other = mechanism("solh").design(domain, CENTRAL, {"values": values})
            assert other.variance(query, 1000) >= best.variance(query, 1000) * (1 - 1e-9)


def exact_variance(design: Design, cell: tuple[int, int]) -> float:
    """Variance of one person's contribution to the estimated frequency of attribute = code, for
    evenly spread records, from the exact channel alone, over the people who are asked."""
    law = enumerate_law(design.plan)
    axis, code = cell
    holds = np.array([row[axis] == code for row in law.inputs])
    channel = np.array([[float(chance) for chance in row] for row in law.probabilities])
    if design.name == "arr-ss":
        asked = np.ones(len(law.outputs), dtype=bool)
        own = sum(SIZES[:axis]) + code
    else:
        asked, own = np.array([row[0] == axis for row in law.outputs]), code
    named = np.array([row[1] == own for row in law.outputs]) & asked
    given = channel[:, asked].sum()
    rate = [channel[holds == inside][:, named].mean(0).sum() for inside in (True, False)]
    rate = [r * len(channel) / given for r in rate]
    seen = channel[:, named].sum() / given
    return seen * (1.0 - seen) / (rate[0] - rate[1]) ** 2


@pytest.mark.parametrize("name", ["srr-ss", "psrr-ss", "srr-ms", "arr-ss"])
def test_predicted_variances_are_those_of_the_channel(name: str) -> None:
    """The sampling of attributes and of people included (docs/spec/shuffle.md#3)."""
    design, people = made(name, "3"), 1200
    asked = people if name == "arr-ss" else people / 3
    for axis, size in enumerate(SIZES):
        for code in range(size):
            query = design.prepare(count(3, **{f"a{axis}": ((code, code + 1),)}))
            expected = people**2 * exact_variance(design, (axis, code)) / asked
            assert design.variance([query], people)[0] == pytest.approx(expected, rel=1e-9)


class TestMarginals:
    def test_marginals_of_the_workload(self) -> None:
        """ways = 0: the largest sets that it asks about together."""
        workload = Workload(
            MIXED, (), (DeclaredQuery(1.0, ((1.0, (((0, 1),), None, ((1, 3),))),)),)
        )
        design = mechanism("srr-ss").design(MIXED, Epsilon.parse("1"), {"ways": 0}, workload)
        assert design.marginals == ((0, 2),)

    @pytest.mark.parametrize("name", NAMES)
    def test_what_was_not_collected_is_refused_with_what_would_have_to_be(self, name: str) -> None:
        """By name, with the option that collects it."""
        design = made(name, ways=1)
        with pytest.raises(UnsupportedSQL, match=r"a0 and a2 together.*ways = 2") as caught:
            design.prepare(count(3, a0=((0, 1),), a2=((0, 1),)))
        assert name in caught.value.hint

    def test_a_full_side_constrains_nothing(self) -> None:
        """So a question on one attribute and all values of another needs no conjunction."""
        design = made("srr-ss")
        one, other = (
            design.prepare(count(3, a0=((0, 1),))),
            design.prepare(count(3, a0=((0, 1),), a2=((0, 4),))),
        )
        assert [c.group for a in one.alternatives for c in a] == [0]
        assert [c.group for a in other.alternatives for c in a] == [0]

    def test_attributes_of_one_code_are_not_collected(self) -> None:
        """They tell nothing."""
        assert made("srr-ss", domain=domain_of(1, 3)).marginals == ((1,),)

    @pytest.mark.parametrize(
        ("name", "options", "reason"),
        [
            ("srr-ss", {"ways": 4}, "ways must lie between"),
            ("srr-ss", {"ways": -1}, "ways must lie between"),
            ("srr-ss", {"calibration": "published"}, "no published calibration"),
            ("solh", {"calibration": "published"}, "no published calibration"),
            ("sue-ms", {"calibration": "published"}, "real delta is 0.48"),
            ("arr-ss", {"calibration": "loose"}, "calibration must be one of"),
            ("solh", {"values": 1}, "at least 2 values"),
            ("srr-ss", {"values": 3}, "no option"),
        ],
    )
    def test_options_that_cannot_be_are_refused(
        self, name: str, options: dict, reason: str
    ) -> None:
        """Under local trust as with a shuffler."""
        with pytest.raises(SurveyError, match=reason):
            mechanism(name).design(MIXED, Epsilon.parse("1"), options)
        with pytest.raises(SurveyError, match=reason):
            mechanism(name).design(MIXED, CENTRAL, options)

    def test_ft_is_for_two_codes(self) -> None:
        """Others are refused by name."""
        with pytest.raises(SurveyError, match="a0 has 3: use srr-ss"):
            made("ft", domain=domain_of(3, 2))

    @pytest.mark.parametrize("name", NAMES)
    def test_private_measures_are_refused(self, name: str) -> None:
        """There is no place for their signs."""
        domain = RecordDomain(("a0",), (2,), ("pay",), ((0.0, 1.0),), (None,))
        with pytest.raises(SurveyError, match="takes no private measure"):
            made(name, domain=domain)
        with pytest.raises(SurveyError, match="takes no private measure"):
            mechanism(name).design(domain, CENTRAL, {})

    @pytest.mark.parametrize(
        ("name", "change"),
        [
            ("srr-ss", {"oracle": "sue"}),
            ("srr-ss", {"budgets": ["1", "1"]}),
            ("srr-ss", {"budgets": ["3", "1", "1"]}),
            ("psrr-ss", {"values": 3}),
            ("arr-ss", {"sum_to_one": 1}),
            ("ft", {"budgets": ["1"]}),
            ("srr-ss", {"marginals": [[0], [1], [3]]}),
            ("srr-ss", {"marginals": [[0], [1], [2, 1]]}),
            ("srr-ss", {"weights": [1, 0, 1]}),
            ("arr-ss", {"weights": [1, 1]}),
        ],
    )
    def test_changed_designs_are_refused(self, name: str, change: dict) -> None:
        """A design from elsewhere must be one that the mechanism makes."""
        design = made(name, "1")
        with pytest.raises(SurveyError):
            mechanism(name).restore(design.domain, design.epsilon, {**design.to_json(), **change})
