"""Surveys: written by a person, published with a fingerprint, refused when changed."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import date
from decimal import Decimal
from functools import cache
from hashlib import sha256

import pytest
from support.later_rounds import next_survey
from support.resealing import resealed
from support.surveys import dimension, integer, public, survey_toml

from ldpsql.designer import design
from ldpsql.survey import Survey, read_device_part
from ldpsql_device.epsilon import Epsilon
from ldpsql_device.errors import FingerprintError, SurveyError
from ldpsql_device.ledger import chain_of
from ldpsql_device.schema import Schema

TOML = survey_toml(
    integer("zip", 0, 99),
    integer("age", 18, 90),
    dimension("day", "date", range=[date(2026, 1, 1), date(2026, 1, 31)]),
    public("version", "text"),
    epsilon="0.7",
    mechanism="hio",
    options={"fanout": 3},
)


@cache
def published() -> Survey:
    """The survey of that file."""
    return design(TOML)


def test_the_published_survey_is_the_designed_one():
    survey = published()
    again = Survey.from_json(survey.to_json())
    assert again == survey
    assert again.fingerprint == survey.fingerprint
    assert again.to_json() == survey.to_json()
    assert [d.name for d in again.schema.dimensions] == ["zip", "age", "day"]


@pytest.mark.parametrize(
    "change",
    [
        ('"0.7"', '"0.70001"'),
        ('"hio"', '"hgrr"'),
        ("fanout = 3", "fanout = 4"),
        ('"app"', '"apps"'),
        ("[18, 90]", "[18, 91]"),
        ("version", "edition"),
        ("2026-01-31", "2026-01-30"),
    ],
)
def test_another_survey_has_another_fingerprint(change):
    assert design(TOML.replace(*change)).fingerprint != published().fingerprint


def test_what_a_store_kept_is_read_as_it_was_published():
    survey = published()
    text = survey.to_json()
    for written in (text, f" {text}"):
        kept = Survey.from_kept(written, survey.fingerprint)
        assert kept == survey
        assert (kept.to_json(), kept.fingerprint) == (text, survey.fingerprint)


def test_what_a_store_kept_of_another_survey_is_not_read():
    """Its reports would be read by another plan."""
    text = design(TOML.replace("fanout = 3", "fanout = 4")).to_json()
    with pytest.raises(SurveyError, match="its text is not the one that its fingerprint names"):
        Survey.from_kept(text, published().fingerprint)


@pytest.mark.parametrize("fingerprint", ["own", "0" * 64])
def test_what_a_store_kept_is_checked_like_every_survey(fingerprint):
    """Also where somebody wrote the right fingerprint beside a changed text."""
    survey = published()
    promise = survey.device_text.replace('"epsilon":"0.7"', '"epsilon":"0.6"')
    deep = survey.device_text.replace('"label"', "").replace("[", "[" * 9_000, 1)
    for device, collector in (
        (promise, survey.collector_text),
        (survey.device_text, survey.collector_text.replace("0.7", "0.8")),
        (survey.device_text[:-9], survey.collector_text),
        (deep, survey.collector_text),
    ):
        assert (device, collector) != (survey.device_text, survey.collector_text)
        written = sha256(device.encode()).hexdigest() if fingerprint == "own" else fingerprint
        with pytest.raises((SurveyError, FingerprintError)):
            Survey.from_kept(f'{{"collector":{collector},"survey":{device}}}', written)


def test_epsilon_is_kept_exactly():
    assert published().epsilon.value == Decimal("0.7")
    assert design(TOML, epsilon="0.1").epsilon.value == Decimal("0.1")
    as_float = TOML.replace('"0.7"', "0.7")
    assert design(as_float).fingerprint == published().fingerprint


def test_the_mechanism_can_be_overridden():
    assert design(TOML, mechanism="hgrr").design.name == "hgrr"


def test_files_are_read_and_missing_ones_named(tmp_path):
    path = tmp_path / "app.toml"
    path.write_text(TOML)
    survey = design(path)
    published = tmp_path / "app.json"
    published.write_text(survey.to_json())
    assert Survey.from_json(published) == survey
    with pytest.raises(SurveyError, match=r"cannot read the survey .*nothing\.toml"):
        design(tmp_path / "nothing.toml")


def without(text: str) -> str:
    return "\n".join(line for line in TOML.splitlines() if not line.startswith(text))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[survey\n", "not valid TOML"),
        (without("table"), r"\[survey\]: table is missing"),
        (without("epsilon"), r"\[survey\]: epsilon is missing"),
        (without("mechanism"), "belong to a mechanism: name it"),
        ("\n[dimension.x]\n", r"no \[survey\] table"),
        (TOML.replace("epsilon", "budget = 1\nepsilon"), "unknown key 'budget'"),
        (TOML + "[dimensions.x]\n", r"unknown table \[dimensions\]"),
        (TOML.replace('"app"', '"two words"'), "is not a table name"),
        (TOML.replace('"app"', "3"), "table must be a string"),
        (TOML.replace('"0.7"', '"much"'), "epsilon must be a number"),
        (TOML.replace('"0.7"', '"0"'), "epsilon must lie"),
        (TOML.replace('"hio"', '"magic"'), "unknown mechanism 'magic'"),
        (TOML.replace('"hio"', '"forier"'), "unknown mechanism 'forier'; did you mean fourier?"),
        (TOML.replace("domain", "domian"), "did you mean domain?"),
        (TOML.replace("[public.version]", "[publik.version]"), r"did you mean \[public\]\?"),
        (TOML.replace("fanout", "fan"), "has no option 'fan'"),
        (TOML.replace("domain = [18, 90]", ""), r"dimension age: domain must be \[low, high\]"),
    ],
)
def test_a_bad_survey_file_is_refused_in_one_line(text, message):
    with pytest.raises(SurveyError, match=message) as refusal:
        design(text)
    assert "\n" not in str(refusal.value)


def forged(**changes) -> str:
    """A survey with changed keys of the collector's part, under hashes that fit it."""
    return resealed(published(), lambda survey, collector: collector.update(changes))


def republished(**changes) -> str:
    """A survey with changed keys of the devices' part."""
    return resealed(published(), lambda survey, collector: survey.update(changes))


def redesigned(**changes) -> dict[str, object]:
    """The decoder's data of the survey with some of them replaced."""
    return {**json.loads(published().collector_text)["decoder"], **changes}


def test_it_is_published_in_two_files(tmp_path):
    survey, path = published(), tmp_path / "app.survey.json"
    assert survey.write(path) == tmp_path / "app.collector.json"
    assert sha256(path.read_bytes()).hexdigest() == survey.fingerprint
    assert Survey.from_json(path) == survey
    (tmp_path / "app.collector.json").unlink()
    with pytest.raises(SurveyError, match=r"app\.survey\.json: its collector's part is missing"):
        Survey.from_json(path)
    (tmp_path / "app.collector.json").write_text("{")
    with pytest.raises(SurveyError, match=r"its collector's part .*app\.collector\.json: not a"):
        Survey.from_json(path)
    design(TOML, mechanism="hgrr").write(tmp_path / "other.survey.json")
    (tmp_path / "other.collector.json").rename(tmp_path / "app.collector.json")
    with pytest.raises(FingerprintError, match="not the one that the survey names"):
        Survey.from_json(path)


def test_a_file_that_is_no_survey_is_blamed_itself(tmp_path):
    """Not the collector's part, which is looked for beside it."""
    path = tmp_path / "app.survey.json"
    for text in ("[1]", '{"dimension": {}}', published().collector_text):
        path.write_text(text)
        with pytest.raises(SurveyError, match=r"app\.survey\.json: not a survey: no key ldpsql"):
            Survey.from_json(path)


def test_a_changed_collectors_part_is_refused():
    content = json.loads(published().to_json())
    content["collector"]["epsilon"] = "7"
    with pytest.raises(FingerprintError, match="not the one that the survey names"):
        Survey.from_json(json.dumps(content))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "not a survey"),
        ("/etc/passwd", "not a survey"),
        ("{}", "no key ldpsql_survey"),
        ("[" + "9" * 5_000 + "]", "not a survey"),
        (published().device_text, "with its collector's part"),
        (forged(ldpsql_collector=99), "unknown version"),
        (forged(extra=1), "unknown key 'extra'"),
        (forged(epsilon="0.8"), "its promise is not that of its mechanism"),
        (forged(decoder={}), "not a survey|design"),
        (forged(mechanism="magic"), "unknown mechanism"),
        (forged(options=[1]), "options must be an object"),
        (published().to_json().replace("0.7", "NaN").replace('"NaN"', "NaN"), "NaN is not"),
        (forged(decoder=redesigned(fanouts=[[5.0, 2.0], [2]])), "whole numbers|not a survey"),
        (forged(decoder=redesigned(fanouts=[[2] * 70, [2]])), "fan-outs|not a survey"),
        (republished(schema={}), "schema must have the keys"),
        (republished(promise={"kind": "local", "epsilon": "0.6"}), "does not keep its promise"),
    ],
)
def test_what_is_not_a_survey_is_refused(text, message):
    with pytest.raises(SurveyError, match=message):
        Survey.from_json(text)


def test_a_design_made_for_another_schema_is_refused():
    survey = published()
    other = Schema.from_keys({"dimension": {"x": {"type": "bool"}}})
    with pytest.raises(SurveyError, match="made for another schema"):
        Survey("app", other, survey.design)


def test_a_survey_can_be_made_from_a_schema():
    schema = Schema.from_keys({"dimension": {"x": {"type": "int", "domain": [0, 9]}}})
    assert Survey.of("t", schema, "1", "hgrr") == Survey.of("t", schema, Epsilon.parse(1), "hgrr")


def naming(estimator):
    """TOML that names an estimator."""
    return TOML.replace('epsilon = "0.7"', f'epsilon = "0.7"\nestimator = {estimator}')


def test_a_survey_may_name_its_estimator():
    """Kept in the JSON only where it is given, so that other fingerprints stay as they were."""
    plain, named = published(), design(naming('"unbiased"'))
    assert named.estimator == "unbiased"
    assert Survey.from_json(named.to_json()) == named
    assert json.loads(named.collector_text)["estimator"] == "unbiased"
    assert plain.estimator is None
    assert "estimator" not in json.loads(plain.collector_text)
    assert named.fingerprint != plain.fingerprint


@pytest.mark.parametrize("value", ['"em"', "3"])
def test_an_estimator_that_the_mechanism_has_not_is_refused(value):
    known = "estimator must be one of unbiased, which hio"
    with pytest.raises(SurveyError, match=known):
        design(naming(value))


STAGED = survey_toml(integer("age", 0, 7), epsilon="3", mechanism="ahead")


def test_a_round_names_the_one_before_and_the_first():
    """In the JSON only where there is one."""
    first = design(STAGED)
    second = next_survey(first)
    third = next_survey(second)
    assert not {"previous", "first"} & set(json.loads(first.device_text))
    assert (second.previous, second.first) == (first.fingerprint, first.fingerprint)
    assert (third.previous, third.first) == (second.fingerprint, first.fingerprint)
    assert {chain_of(survey) for survey in (first, second, third)} == {f":{first.fingerprint}"}
    assert Survey.from_json(third.to_json()) == third
    assert chain_of(published()) == f":{published().fingerprint}"


@pytest.mark.parametrize("key", ["previous", "first"])
@pytest.mark.parametrize("value", [5, {"a": 1}, [], "nonsense", "", "A" * 64, "0" * 63, "0" * 65])
def test_an_earlier_round_is_named_by_a_fingerprint(key, value):
    third = next_survey(next_survey(design(STAGED)))
    assert Survey.from_json(resealed(third, lambda survey, _: survey.update({key: "0" * 64})))
    with pytest.raises(SurveyError, match="named by its SHA-256"):
        Survey.from_json(resealed(third, lambda survey, _: survey.update({key: value})))


@pytest.mark.parametrize(
    ("number", "names", "message"),
    [
        (1, {"previous": "0" * 64, "first": "0" * 64}, "a later round, and no other"),
        (1, {"first": "0" * 64}, "a later round, and no other"),
        (2, {"previous": None}, "a later round, and no other"),
        (2, {"first": None}, "a later round, and no other"),
        (2, {"first": "0" * 64}, "the one before the second, and no other"),
        (3, {"first": "0" * 64, "previous": "0" * 64}, "the one before the second, and no other"),
    ],
)
def test_rounds_that_do_not_follow_each_other_are_refused(number, names, message):
    """Else a device could be asked twice under the name of another chain."""
    survey = design(STAGED)
    for _ in range(number - 1):
        survey = next_survey(survey)
    with pytest.raises(SurveyError, match=message):
        replace(survey, **names)
    with pytest.raises(SurveyError, match="does not ask in rounds"):
        replace(published(), first="0" * 64)


def test_devices_need_their_part_alone(tmp_path):
    """Of a design with a plan."""
    schema = Schema.from_keys({"dimension": {"age": {"type": "int", "domain": [0, 9]}}})
    survey = Survey.of("app", schema, "1", "fourier")
    path = tmp_path / "app.survey.json"
    beside = survey.write(path)
    both = tmp_path / "both.json"
    both.write_text(survey.to_json())
    beside.unlink()
    assert read_device_part(path).fingerprint == survey.fingerprint
    assert read_device_part(both).fingerprint == survey.fingerprint
    path.write_text(survey.device_text.replace('"epsilon":"1"', '"epsilon":"0.5"'))
    with pytest.raises(SurveyError, match=r"app\.survey\.json: .*its odds are"):
        read_device_part(path)
