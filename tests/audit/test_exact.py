"""The definitions of the guarantees in exact fractions, on channels that meet them or do not."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from functools import cache

import pytest
from support.sensitive_domains import made, names_strangers, sensitive_domain

from ldpsql.algebra.record_domain import RecordDomain
from ldpsql.audit import audit_design
from ldpsql.audit.exact import (
    LARGEST_RECORDS,
    Criterion,
    count_records,
    domain_of_codes,
    find_exposures,
    smaller,
    worst_odds,
)
from ldpsql.reports.channel import Law, enumerate_law
from ldpsql.reports.report import Reports
from ldpsql.sensitive import recipes as uldp
from ldpsql.sensitive.decoder import Response
from ldpsql.sensitive.recipes import CellDesign
from ldpsql_device.draw import draw
from ldpsql_device.epsilon import Epsilon
from ldpsql_device.errors import SurveyError
from ldpsql_device.plan import WORDS

PLANE = ((3, 5), (2, 2))


@cache
def designed(name):
    """Of one attribute where a mechanism is for one, or of two, at epsilon 1.5."""
    shape = ((5,), (2,)) if name in ("urr", "urap") else PLANE
    return made(name, *shape, "1.5")


def meets(design, kind, epsilon=None):
    """Whether its channel meets a definition at its epsilon."""
    odds = Criterion(kind, design.domain).worst(enumerate_law(design.plan)).odds
    holds = odds is not None and odds <= (epsilon or design.epsilon).odds
    return holds and not (kind == "uldp-joint" and names_strangers(design))


@pytest.mark.parametrize(
    ("name", "local", "product", "each"),
    [
        ("jd-grr", True, True, False),
        ("cprr", False, True, False),
        ("jurr", False, False, True),
        ("jurr-g", False, False, True),
        ("tdrr", False, False, True),
    ],
)
def test_which_mechanism_meets_which_definition(name, local, product, each):
    """CPRR does not meet Definition 3 (erratum E8): anybody can send its reports of a value that is
    not sensitive. JuRR does not meet product ULDP; neither is plain LDP, at any epsilon."""
    design = designed(name)
    found = [meets(design, kind) for kind in ("local", "uldp", "uldp-joint")]
    assert found == [local, product, each]
    twenty = Epsilon.parse("20")
    assert meets(design, "local", twenty) == local
    assert meets(design, "uldp", twenty) == product
    assert meets(design, "uldp-joint", twenty) == each


def test_the_definition_of_two_attributes_condition_by_condition():
    """Two values each, the first sensitive; the report names a cell, row by row."""
    domain = sensitive_domain((2, 2), (1, 1))
    cells = ((0, 0), (0, 1), (1, 0), (1, 1))
    design = made("jurr", (2, 2), (1, 1), "1")
    law = enumerate_law(design.plan)
    rows = [list(row) for row in law.probabilities]

    def holds(changes):
        changed = [list(row) for row in rows]
        for record, report, chance in changes:
            changed[cells.index(record)][cells.index(report)] += Fraction(chance)
        channel = Law(law.inputs, law.outputs, tuple(map(tuple, changed)))
        odds = Criterion("uldp-joint", domain).worst(channel).odds
        return odds is not None and odds <= design.epsilon.odds

    assert holds([])
    assert not holds([((0, 0), (0, 0), "1/10")])
    assert not holds([((0, 0), (0, 1), "1/1000")])
    assert not holds([((1, 0), (0, 1), "1/1000")])
    assert not holds([((0, 1), (0, 1), "1/10")])
    assert not holds([((0, 1), (1, 1), "1/1000")])
    assert not holds([((0, 0), (1, 1), "1/1000")])


def with_words(design, **changes):
    """The design with some words of its response multiplied."""
    (response,) = design.responses
    words = {
        pair: int(word * Fraction(changes.get(f"w{pair[0]}{pair[1]}", 1)))
        for pair, word in response.words.items()
    }
    return replace(design, responses=(Response(response.shape, words),))


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("urr", {"w11": "0.99"}),
        ("urr", {"w01": "0.95"}),
        ("cprr", {"w01": "0.999"}),
        ("jurr", {"w33": "0.999"}),
        ("jurr", {"w13": "0.9"}),
        ("jurr", {"w22": "0.99"}),
        ("jurr", {"w02": "0.999"}),
        ("jurr-g", {"w13": "0.9"}),
    ],
)
def test_mutants_are_caught(name, change):
    """By enumeration, and by the odds that they state."""
    design = with_words(designed(name), **change)
    found = audit_design(design)
    assert f"the odds of some report are above e^{design.epsilon}" in found.problems
    assert worst_odds(design) > design.epsilon.odds
    assert worst_odds(design) == found.odds


def test_a_share_rounded_the_wrong_way_is_caught(monkeypatch):
    """By one part of 2^64, on a table of any size."""
    right = uldp._share
    monkeypatch.setattr(uldp, "_share", lambda *args: right(*args) - 1)
    for sizes, held in (PLANE, ((60, 60), (3, 3))):
        found = audit_design(made("jurr", sizes, held, "3"))
        assert "the odds of some report are above e^3" in found.problems
        assert found.epsilon > 3


def test_a_threshold_of_urap_rounded_the_wrong_way_is_caught(monkeypatch):
    right = uldp._round_up
    assert audit_design(made("urap", (5,), (2,), "1")).holds
    monkeypatch.setattr(uldp, "_round_up", lambda chance: right(chance) - 1)
    assert not audit_design(made("urap", (5,), (2,), "1")).holds


def test_a_value_that_others_name_is_caught(monkeypatch):
    """Definition 3 is about every attribute by itself, so its ladder has a digit for each."""
    monkeypatch.setattr(CellDesign, "disclosures", (0.5, 0.5))
    stray = replace(made("jd-grr", *PLANE, "1.5"), kind="uldp-joint")
    assert enumerate_law(stray.plan).worst().odds <= stray.epsilon.odds
    with pytest.raises(SurveyError, match="a ladder has one digit per attribute"):
        worst_odds(stray)


def test_a_sensitive_value_that_is_named_is_caught():
    """A report that one sensitive record can send alone has unbounded odds."""
    design = made("urr", (3,), (2,), "1")
    law = enumerate_law(design.plan)
    assert Criterion("uldp", design.domain).worst(law).odds is not None
    turned = replace(design.domain, sensitive=((2,),))
    worst = Criterion("uldp", turned).worst(law)
    assert worst.odds is None
    assert (worst.record, worst.unlikely) == ((2,), 0)


@pytest.mark.parametrize("name", ["urr", "urap", "cprr", "jurr", "jurr-g", "tdrr"])
def test_the_device_code_keeps_to_it(name):
    """What is disclosed is not held against it, what is protected is found out."""
    found = audit_design(designed(name), reports=20_000)
    assert found.holds, found.problems
    assert 0.8 < found.empirical.epsilon_at_least <= 1.5


def test_device_code_that_tells_the_truth_too_often_is_caught(monkeypatch):
    """The plan says 1.5, and what runs is that of 3."""
    design, other = (made("cprr", *PLANE, epsilon) for epsilon in ("1.5", "3"))

    def randomize(self, codes, entropy):
        return Reports.pack(self.report_format, draw(other.plan, codes, entropy))

    monkeypatch.setattr(CellDesign, "randomize", randomize)
    found = audit_design(design, reports=20_000)
    assert any("does not keep epsilon" in problem for problem in found.problems)


def test_a_large_table_is_audited_by_its_integers():
    found = audit_design(made("jurr", (100, 100), (3, 3), "2.5"))
    assert (found.method, found.holds) == ("integers", True)
    assert found.odds > Epsilon.parse("2.5").odds * (1 - Fraction(1, 10**9))
    assert found.enumerated.design.domain.sensitive == ((0, 1, 2), (0, 1, 2))


def test_who_is_protected_against_whom():
    """The table of docs/spec/uldp.md#1.2, and what CPRR protects besides."""
    law, domain = (
        enumerate_law(made("jurr", (3, 4), (2, 2), "2").plan),
        sensitive_domain((3, 4), (2, 2)),
    )
    rows = {(row.owner, row.differs): row for row in find_exposures(law, domain)}
    half = "x sensitive, y not"
    assert rows["x sensitive, y sensitive", "x and y"].epsilon == pytest.approx(2.0)
    assert rows[half, "x"].epsilon == pytest.approx(2.0)
    assert rows[half, "y"].epsilon is None
    assert rows[half, "y"].given_away == pytest.approx(0.615, abs=5e-4)
    assert rows[half, "y"].promised == "ULDP"
    assert rows[half, "x"].promised == "ULDP, ULDP per attribute"
    assert rows["x not, y not", "x"].promised == "none"
    other = find_exposures(enumerate_law(made("cprr", (3, 4), (2, 2), "2").plan), domain)
    kept = {(row.owner, row.differs) for row in other if row.epsilon is not None}
    assert (half, "y") in kept
    assert all(row.epsilon <= 2.0 + 1e-9 for row in other if "ULDP" in row.promised)
    assert list(find_exposures(law, sensitive_domain((3, 4), (3, 4)))) == []


def test_a_word_space_is_never_exceeded():
    """The truth gets what the others leave."""
    (response,) = made("jurr", *PLANE, "1.5").channel.responses
    for kind in response.shape.kinds:
        given = sum(
            response.words[kind, mask] * response.shape.cells(mask)
            for mask in response.targets(kind)
        )
        assert given + response.extra[kind] == WORDS


# -- domains to audit on -------------------------------------------------------------------------

WIDE = RecordDomain(("a", "b"), (100, 3), ("b", "c"), ((0.0, 2.0), (0.0, 1.0)), (1, None))


def test_a_domain_from_its_sizes():
    domain = domain_of_codes("4x10", 2)
    assert (domain.sizes, len(domain.bounds), count_records(domain)) == ((4, 10), 2, 160)
    assert domain_of_codes("7", 0).names == ("x0",)


@pytest.mark.parametrize("text", ["", "4x", "x4", "0x2", "4*4", "-1", "4.5", "²"])
def test_anything_else_is_refused(text):
    with pytest.raises(SurveyError, match="codes per dimension"):
        domain_of_codes(text, 0)


def test_smaller_domains_keep_what_they_can():
    domains = list(smaller(WIDE))
    assert domains[0].sizes == (8, 3)
    assert domains[0].measured == (1, None)
    whole = [domain for domain in domains if len(domain.sizes) == 2 and len(domain.bounds) == 2]
    assert domains[: len(whole)] == whole
    assert [domain.sizes for domain in whole] == [(8, 3), (6, 3), (5, 3), (4, 3), (3, 3), (2, 2)]
    assert len(set(domains)) == len(domains)
    assert WIDE not in domains


def test_a_measure_forgets_a_dimension_that_was_left_out():
    for domain in smaller(WIDE):
        assert all(index is None or index < len(domain.sizes) for index in domain.measured)
        assert domain.sizes or domain.bounds


def test_many_dimensions_are_left_out_in_time():
    domain = domain_of_codes("x".join(["9"] * 40), 0)
    found = list(smaller(domain))
    assert found
    assert all(count_records(small) <= LARGEST_RECORDS for small in found)


def test_the_first_codes_are_sensitive():
    assert domain_of_codes("3x5", 0, "2x5").sensitive == ((0, 1), ())
    assert domain_of_codes("3x5", 0, "3x5") == domain_of_codes("3x5", 0)


def test_smaller_domains_keep_values_of_both_kinds():
    """As far as there were any."""
    domain = RecordDomain(("a", "b"), (90, 4), (), (), (), (), (tuple(range(5, 75)), ()))
    for small in smaller(domain):
        if small.sizes:
            assert 1 <= len(small.sensitive_codes(0)) < small.sizes[0]
        if len(small.sizes) == 2:
            assert len(small.sensitive_codes(1)) == small.sizes[1]
