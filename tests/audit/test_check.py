"""The audit of the exact channel: what it says of sound designs, and which broken ones it sees."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction

import pytest
from support.broken_promises import (
    LINE,
    TrueAncestor,
    telling_group,
    with_odds,
    with_response,
)
from support.later_rounds import at_round

from ldpsql.audit import audit_design, check
from ldpsql.audit.exact import domain_of_codes, enumerate_channel, worst_odds
from ldpsql.mechanisms.registry import MECHANISMS, mechanism
from ldpsql.reports.channel import enumerate_law
from ldpsql_device.epsilon import Epsilon
from ldpsql_lab.mechanisms.ahead import AheadDesign

ONE = Epsilon.parse("1")
PRIVATE = [
    *("hgrr", "hio", "ahio", "ehio", "grr", "olh", "oue", "hrr"),
    *("hi", "hh", "haarhrr", "ahead", "lgrr-repaired"),
]
ABOVE = "the odds of some report are above e^1"


def made(name, domain="4", measures=0, epsilon=ONE, **options):
    return mechanism(name).design(domain_of_codes(domain, measures), epsilon, options)


@pytest.mark.parametrize("name", PRIVATE)
@pytest.mark.parametrize("epsilon", ["0.5", "1", "1.23456789012345"])
def test_a_small_design_is_enumerated_and_spends_exactly_its_epsilon(name, epsilon):
    nominal = Epsilon.parse(epsilon)
    found = audit_design(made(name, epsilon=nominal))
    assert (found.method, found.holds, found.problems) == ("enumeration", True, ())
    assert nominal.value - Decimal("1e-9") < found.epsilon <= nominal.value
    assert found.enumerated.asks_blindly
    assert found.witness is None
    assert found.design.guarantee.delta == 0


def test_every_registered_mechanism_is_audited_through_the_contract_alone():
    of_two = dict.fromkeys(("jurr", "jurr-g", "tdrr"), "4x3")
    small = {"ft": "2"} | of_two
    for name in MECHANISMS:
        domain = small.get(name, "8")
        found = audit_design(made(name, domain))
        assert found.holds == (found.design.guarantee.kind != "none"), (name, found.problems)
        assert found.holds != (found.witness is not None), name


@pytest.mark.fast(1)
@pytest.mark.parametrize(
    ("name", "domain", "measures", "options"),
    [
        ("hgrr", "300x40", 1, {}),
        ("hio", "1000", 0, {"oracle": "auto"}),
        ("ehio", "125x125", 2, {"oracle": "olh"}),
        ("oue", "30x30", 0, {}),
        pytest.param("ahio", "50x50x50", 1, {"root": True}, marks=pytest.mark.slow),
        ("lgrr-repaired", "50x50", 1, {}),
        ("ahead", "200x200", 0, {"oracle": "grr"}),
    ],
)
def test_a_large_design_states_its_odds_and_is_checked_on_a_smaller_one(
    name, domain, measures, options
):
    design = made(name, domain, measures, **options)
    found = audit_design(design, options)
    assert (found.method, found.holds) == ("integers", True)
    assert found.odds == worst_odds(design) > ONE.odds * (1 - Fraction(1, 10**9))
    small = found.enumerated.design.domain
    assert len(small.sizes) == len(design.domain.sizes) or name == "ahio"
    assert all(a <= b for a, b in zip(small.sizes, design.domain.sizes, strict=False))


@pytest.mark.fast(1)
@pytest.mark.parametrize("oracle", ["grr", "olh"])
def test_a_later_round_is_audited_on_its_own_grid(oracle):
    design = at_round(made("ahead", "64x64", oracle=oracle), 4)
    found = audit_design(design, {"oracle": oracle})
    assert (found.method, found.holds) == ("integers", True)
    assert found.odds == worst_odds(design) > ONE.odds * (1 - Fraction(1, 10**9))


def test_a_later_round_that_tells_the_truth_is_caught(monkeypatch):
    """Where its grid is fine, which the first round's never is."""
    design = at_round(made("ahead", "64x64", oracle="grr"), 4)
    assert len(design.partitions[0].leaves) >= 50
    right = AheadDesign.__dict__["plan"].func

    def likelier(self):
        plan, leaves = right(self), len(self.partitions[0].leaves)
        return replace(plan, odds=(2 * plan.odds[0],)) if leaves >= 50 else plan

    monkeypatch.setattr(AheadDesign, "plan", property(likelier))
    found = audit_design(replace(design), {"oracle": "grr"})
    assert ABOVE in found.problems
    assert audit_design(made("ahead", "64x64", oracle="grr"), {"oracle": "grr"}).holds


@pytest.mark.parametrize("name", ["lgrr", "lgrr-fd"])
def test_a_large_design_without_a_promise_states_that_its_odds_are_unbounded(name):
    found = audit_design(made(name, "3000"))
    assert (found.method, found.odds, found.holds) == ("integers", None, False)
    assert found.witness is not None


def test_where_nothing_can_be_enumerated_the_integers_remain():
    found = audit_design(made("hgrr", "300x40"), {"no such option": 1})
    assert (found.method, found.holds, found.enumerated) == ("integers", True, None)


def test_too_many_reports_leave_the_stated_odds():
    """OLH at epsilon 20 has half a billion hash values."""
    found = audit_design(made("hio", "16", epsilon=Epsilon.parse("20")), reports=2000)
    assert (found.method, found.holds, found.enumerated) == ("integers", True, None)
    assert Decimal("19.999999") < found.epsilon <= 20
    assert found.empirical.pairs == 0


def test_one_code_tells_nothing():
    found = audit_design(made("hgrr", "1"), reports=2000)
    assert (found.holds, found.epsilon, found.empirical.epsilon_at_least) == (True, 0, 0.0)


@pytest.mark.parametrize("kind", ["none", "local"])
def test_unbounded_odds_come_with_a_witness(kind):
    """Whatever the design says of itself."""
    design = TrueAncestor(kind)
    found = audit_design(design)
    assert (found.holds, found.odds, found.epsilon) == (False, None, None)
    assert "the odds of some report are unbounded" in found.problems
    assert ("the mechanism promises nothing" in found.problems) == (kind == "none")
    witness, law = found.witness, enumerate_law(design.plan)
    column = law.outputs.index(witness.report)
    chance = {
        record: row[column] for record, row in zip(law.inputs, law.probabilities, strict=True)
    }
    assert chance[witness.record] == witness.likely == Fraction(1, 2)
    assert chance[witness.other] == witness.unlikely == 0


def test_the_result_is_plain_data():
    for design in (made("hgrr"), TrueAncestor()):
        data = json.loads(json.dumps(audit_design(design, reports=2000).to_json()))
        assert data["holds"] == (data["witness"] is None) == (data["guarantee"] == "local")
    sound = audit_design(made("hgrr")).to_json()
    assert Fraction(sound["odds"]) <= ONE.odds
    assert sound["epsilon"] == "1.000000000000"


def one_bit_less(design):
    return with_response(design, lambda bits: replace(bits, other=(bits.other[0] - 1,)))


@pytest.mark.parametrize(
    ("name", "domain"),
    [
        *(("hgrr", "4"), ("hgrr", "30x30"), ("hio", "4"), ("oue", "4"), ("oue", "30x30")),
        pytest.param("hio", "30x30", marks=pytest.mark.slow),
    ],
)
def test_odds_rounded_the_wrong_way_are_caught(name, domain):
    """By one part of 2^54, and bits by one of 2^64."""
    design = made(name, domain)
    more = 1 + Fraction(1, 1 << 54)
    found = audit_design(one_bit_less(design) if name == "oue" else with_odds(design, more))
    assert ABOVE in found.problems
    assert found.epsilon > 1


@pytest.mark.fast(1)
@pytest.mark.parametrize("domain", ["4", "30x30"])
def test_a_coarsest_combination_that_is_counted_exactly_is_caught(domain):
    """The combination of roots, with the sign of a measure, must be randomized like any other."""
    design = made("hgrr", domain, 1)
    coarsest = design.table.sizes.index(min(design.table.sizes))
    assert audit_design(design).holds
    assert ABOVE in audit_design(telling_group(design, coarsest)).problems


def test_a_combination_of_roots_without_a_sign_tells_nothing():
    """Its one node is everybody's, so that its group costs reports and no privacy."""
    found = audit_design(made("hio", root=True))
    assert (found.holds, found.epsilon) == (True, 1)


def test_a_design_that_understates_its_odds_is_caught(monkeypatch):
    monkeypatch.setattr(check, "worst_odds", lambda design: ONE.odds / 2)
    for domain in ("4", "30x30"):
        assert "the odds from the design's integers are below those of its enumerated channel" in (
            audit_design(made("hgrr", domain)).problems
        )


def test_a_question_that_depends_on_the_record_is_seen():
    """The half of the code is the question here."""
    channel = enumerate_channel(TrueAncestor(domain=LINE), {})
    assert channel.asks_blindly
    law = channel.law
    turned = type(law)(
        law.inputs, tuple((node, level) for level, node in law.outputs), law.probabilities
    )
    assert not type(channel)(channel.design, turned).asks_blindly


def test_an_audit_says_what_it_did_not_look_at():
    quick = audit_design(made("grr", "40"))
    assert quick.not_established == ("anything about the code of a device, which was not run",)
    whole = " / ".join(audit_design(made("grr", "40"), device=True).not_established)
    assert "without a survey there are only codes" in whole
    assert "that a person's device runs this code" in whole
    assert "questions, which did not come up" not in whole
    assert "made-up records, which were only seen" not in whole


@pytest.mark.slow
def test_an_audit_says_how_many_codes_it_tried():
    large = " / ".join(audit_design(made("grr", "9000"), device=True).not_established)
    assert "anything about 808 of 9,000 codes, which were not tried" in large
    assert re.search(r"the exact law of [\d,]+ of 8,19\d made-up records", large)
