"""Surveys of shuffled reports: both promises are kept, stored and checked."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from support.resealing import resealed
from support.surveys import boolean, integer, survey_toml

from ldpsql.algebra.record_domain import RecordDomain
from ldpsql.designer import design, design_survey
from ldpsql.mechanisms.base import check_promise
from ldpsql.mechanisms.registry import mechanism
from ldpsql.shuffle.accountant import clones, largest_local
from ldpsql.survey import Survey
from ldpsql_device.epsilon import Epsilon
from ldpsql_device.errors import SurveyError
from ldpsql_device.schema import Schema
from ldpsql_device.shuffled import Shuffled

TOML = survey_toml(
    *(integer("age", 18, 41), boolean("member")),
    epsilon="0.5",
    mechanism="hio",
    trust="shuffle",
    delta="1e-6",
    users=20_000,
)
TRUST = Shuffled.parse("0.5", "1e-6", 20_000)
ALONE = largest_local(lambda local: (clones(local.odds),), TRUST.central)
"""The most that the local epsilon of a mechanism allows by itself."""


def test_both_promises_are_in_the_survey():
    survey = design(TOML)
    assert survey.shuffled == TRUST
    assert survey.epsilon == survey.design.epsilon
    assert survey.epsilon.value > ALONE.value
    assert survey.guarantee.epsilon == survey.epsilon
    assert survey.guarantee.central == TRUST.central
    shown = str(survey.guarantee)
    assert f"{survey.epsilon}-LDP" in shown
    assert "(0.5, 1e-06)-DP once shuffled among at least 20,000 honest people" in shown
    assert any("shuffler" in item for item in survey.guarantee.not_protected)


def test_published_and_read_again():
    survey = design(TOML)
    assert Survey.from_json(survey.to_json()) == survey
    assert json.loads(survey.device_text)["promise"]["shuffle"]["epsilon"] == "0.5"


def test_a_local_survey_says_nothing_of_shuffling():
    """So surveys published before keep their fingerprints."""
    lines = [x for x in TOML.splitlines() if x.split(" ")[0] not in ("trust", "delta")]
    survey = design("\n".join(lines))
    assert (survey.shuffled, survey.guarantee) == (None, survey.design.guarantee)
    assert "shuffle" not in json.loads(survey.device_text)["promise"]
    assert design("\n".join([*lines]).replace("[survey]", '[survey]\ntrust = "local"')) == survey


@pytest.mark.parametrize(
    "change",
    [
        {"epsilon": "0.1"},
        {"delta": "1e-9"},
        {"users": 15_000},
        {"honest": "0.5"},
        {"model": "hope"},
        {"delta": None},
        {"users": "20000"},
    ],
)
def test_a_promise_that_does_not_hold_is_refused_when_read(change):
    """With the right hashes: what is checked is the promise."""
    with pytest.raises(SurveyError):
        Survey.from_json(
            resealed(design(TOML), lambda s, _: s["promise"]["shuffle"].update(change))
        )
    with pytest.raises(SurveyError, match="says in its trust"):
        Survey.from_json(
            resealed(design(TOML), lambda _, collector: collector.update(users=20_000))
        )
    Survey.from_json(resealed(design(TOML), lambda survey, collector: None))


@pytest.mark.fast(1)
@pytest.mark.parametrize("name", ["ft", "srr-ms", "oue-ms"])
def test_marginals_asked_more_often_than_the_promise_allows_are_refused(name):
    """Whoever publishes a survey by hand may write any chances: what counts is what they tell."""
    schema = Schema.from_keys({"dimension": {f"m{i}": {"type": "bool"} for i in range(4)}})
    survey = Survey.of("app", schema, TRUST, name)

    def asks_the_last(survey, collector):
        *others, _ = collector["decoder"]["weights"]
        weights = [*(1 for _ in others), 1 << 24]
        collector["decoder"]["weights"] = weights
        (face,) = survey["plan"]["faces"]
        face["weight"], face["steps"][0]["mantissas"] = sum(weights), weights

    with pytest.raises(SurveyError, match="does not keep epsilon"):
        Survey.from_json(resealed(survey, asks_the_last))
    Survey.from_json(resealed(survey, lambda survey, collector: None))


def test_public_columns_would_split_the_crowd():
    with pytest.raises(SurveyError, match="public"):
        design(TOML + '[public.day]\ntype = "date"\n')


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('trust = "shuffle"', 'trust = "local"', "delta is for trust"),
        ('trust = "shuffle"', "", "delta is for trust"),
        ('trust = "shuffle"\ndelta = "1e-6"', "honest = 0.9", "honest is for trust"),
        ('trust = "shuffle"', 'trust = "hope"', "trust must be one of local, shuffle"),
        ('trust = "shuffle"', "trust = 1", "trust must be"),
        ('delta = "1e-6"', "", "delta is missing"),
        ("users = 20000", "", "users is missing"),
        ('"hio"', '"ahead"', "rounds"),
        ('"hio"', '"lgrr"', "not differentially private"),
    ],
)
def test_half_a_promise_in_a_file_is_refused(old, new, words):
    assert old in TOML
    with pytest.raises(SurveyError, match=words):
        design(TOML.replace(old, new))


def test_a_trust_that_belongs_to_another_survey_is_refused():
    survey = design(TOML)
    with pytest.raises(SurveyError, match="does not keep"):
        replace(survey, shuffled=Shuffled.parse("0.05", "1e-6", 20_000))
    plain = Survey.of("app", survey.schema, "1", "hio")
    with pytest.raises(SurveyError, match="says in its trust"):
        replace(plain, shuffled=Shuffled.parse("1", "1e-6", 20_000), users=20_000)


@pytest.fixture(scope="module")
def tried():
    """The choice of `auto` for a small survey."""
    return design_survey(TOML.replace('"hio"', '"auto"').replace("41]", "21]"))


def test_auto_ranks_at_derived_local_epsilons(tried):
    chosen = tried
    designs = [candidate.forecast.design for candidate in chosen.ranking.ranked]
    assert all(d.epsilon.value > ALONE.value for d in designs)
    for design_ in designs:
        check_promise(design_, TRUST)
    assert chosen.people == 20_000
    assert chosen.survey.chosen == "auto"
    assert chosen.survey.guarantee.central == TRUST.central
    assert chosen.bound is None
    assert "ahead" in chosen.ranking.left_out


def test_epsilon_given_beside_the_file_is_the_central_one():
    stricter = design(TOML, epsilon="0.1")
    assert stricter.shuffled == Shuffled.parse("0.1", "1e-6", 20_000)
    assert stricter.epsilon.value < design(TOML).epsilon.value


def test_the_epsilon_that_a_precision_takes_is_the_central_one():
    found = design_survey(TOML)
    smaller = found.epsilon_for(2 * found.forecast.half_width)
    assert smaller is not None
    assert smaller.value < Epsilon.parse("0.5").value


def test_shuffled_trust_without_a_file():
    schema = Schema.from_keys({"dimension": {"a": {"type": "int", "domain": [0, 4]}}})
    survey = Survey.of("app", schema, TRUST, "grr")
    assert survey.shuffled == TRUST
    assert mechanism("grr").design(RecordDomain.of(schema), survey.epsilon, {}) == survey.design


def test_auto_lets_mechanisms_over_marginals_collect_attributes_together(tried):
    """By default predicates on both dimensions are wished for, which one-way marginals cannot
    answer."""
    ranked = {candidate.name: candidate for candidate in tried.ranking.ranked}
    assert ranked["srr-ss"].options == {"ways": 0}
    assert ranked["srr-ss"].forecast.design.marginals == ((0, 1),)
