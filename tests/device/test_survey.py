"""The survey file that devices fetch: what it holds, and everything that is refused."""

from __future__ import annotations

import hashlib
import json

import pytest
from support.executed_lines import lines_run
from support.surveys import ANYTHING

from ldpsql.algebra.record_domain import RecordDomain
from ldpsql.reports.survey_file import schema_to_json, write_survey
from ldpsql_device.answer import respond
from ldpsql_device.description import Edges
from ldpsql_device.encode import encode
from ldpsql_device.entropy import OsEntropy
from ldpsql_device.epsilon import Epsilon
from ldpsql_device.errors import SurveyError
from ldpsql_device.guarantee import Guarantee
from ldpsql_device.ledger import chain_of
from ldpsql_device.plan import WORDS, Arcs, Digit, Face, Part, Plan, Term
from ldpsql_device.reports import numbers_of
from ldpsql_device.schema import Schema
from ldpsql_device.shuffled import Shuffled
from ldpsql_device.survey import Survey, canonical, parse_json

SCHEMA = Schema.from_keys(
    {
        "dimension": {
            "age": {"type": "int", "domain": [18, 90], "missing": "code"},
            "price": {"type": "float", "edges": [0, 0.1, 1e300 / 2]},
            "state": {"type": "category", "values": ["CA", "NY", "ä\u2028\x7f\x1f\U0001f600"]},
            "far": {"type": "int", "domain": [2**60, 2**60 + 3], "sensitive": [2**60 + 1]},
            "day": {"type": "date", "range": ["2026-01-01", "2026-01-31"], "unit": "week"},
        },
        "measure": {"spent": {"bounds": [0, 0.1]}},
        "public": {"version": {"type": "text"}},
    }
)
ONE = Epsilon.parse("1")
FULL = Guarantee("local", ONE)


def plan_of(schema: Schema, epsilon: Epsilon = ONE) -> Plan:
    """Randomized response over the first attribute."""
    domain = RecordDomain.of(schema)
    sizes = (*domain.sizes, *(2 for _ in domain.measure_names))
    part = Part((Digit((Term(0),), sizes[0]),), Arcs(0, (1,)))
    return Plan(sizes, (int(epsilon.odds * WORDS),), (Face(1, (part,)),))


def text(schema: Schema = SCHEMA, **changes: object) -> str:
    """A survey, some of whose parts are replaced."""
    parts = {"guarantee": FULL, "plan": plan_of(schema), "collector": "0" * 64, **changes}
    return write_survey("app", schema, **parts)  # type: ignore[arg-type]


def changed(**changes: object) -> str:
    """A survey's JSON with some keys replaced."""
    return json.dumps({**json.loads(text()), **changes})


def test_a_device_reads_what_was_written():
    survey = Survey.from_json(text())
    assert (survey.table, survey.schema, survey.plan) == ("app", SCHEMA, plan_of(SCHEMA))
    assert (survey.guarantee, chain_of(survey)) == (FULL, f":{survey.fingerprint}")
    assert survey.to_json() == text()


def test_the_fingerprint_is_the_hash_of_the_file(tmp_path):
    path = tmp_path / "people.survey.json"
    path.write_text(text(), encoding="utf-8")
    survey = Survey.from_json(path)
    assert survey.fingerprint == hashlib.sha256(path.read_bytes()).hexdigest()
    path.write_text(json.dumps(json.loads(text()), indent=2), encoding="utf-8")
    assert Survey.from_json(path).fingerprint == survey.fingerprint


def test_no_number_of_a_survey_is_a_fraction_or_large():
    def numbers(data):
        if isinstance(data, dict):
            data = list(data.values())
        if isinstance(data, list):
            return [number for entry in data for number in numbers(entry)]
        return [data] if isinstance(data, int | float) else []

    assert all(type(n) in (int, bool) and abs(n) <= 2**53 for n in numbers(json.loads(text())))
    [price] = [d for d in json.loads(text())["schema"]["dimension"] if d["name"] == "price"]
    assert price["edges"] == ["0", "0.1", "5e+299"]


def test_canonical_json_is_that_of_rfc_8785():
    """Section 3.2.2.2 of the RFC, without its floating-point numbers."""
    data = {"b": '\u20ac$\x0f\nA\'B"\\\\"/', "a": [56, True, None, {}], "\x80"[:0]: "\x7f\u2028"}
    expected = '{"":"\x7f\u2028","a":[56,true,null,{}],"b":"\u20ac$\\u000f\\nA\'B\\"\\\\\\\\\\"/"}'
    assert canonical(data) == expected


def test_a_survey_may_promise_besides_and_be_a_later_round():
    shuffled = Shuffled.parse("0.5", "1e-6", 10_000, "0.9")
    survey = Survey.from_json(text(shuffled=shuffled, previous="1" * 64, first="2" * 64))
    assert (survey.shuffled, chain_of(survey)) == (shuffled, f":{'2' * 64}")
    assert survey.guarantee.central == shuffled.central
    nothing = Survey.from_json(text(guarantee=Guarantee("none", None)))
    assert nothing.guarantee.epsilon is None


def test_a_device_answers_from_the_survey_file_alone():
    survey = Survey.from_json(text())
    record = {"age": None, "price": 0.5, "state": "CA", "far": 2**60, "spent": 0.05}
    day = Edges(survey.schema.dimensions[4].domain)[1]
    report = respond(survey, {**record, "day": day, "version": "1"}, policy=ANYTHING)
    assert 0 <= numbers_of(report, survey)[1] < 74
    codes = encode(survey.schema, {**record, "day": day}, OsEntropy())
    assert codes[0, :5].tolist() == [73, 1, 0, 0, 1]


def test_labels_are_part_of_the_survey_and_its_fingerprint():
    plain = Survey.from_json(text())
    labelled = Survey.from_json(text(label="L\u00e4nder"))
    assert (plain.label, labelled.label) == (None, "L\u00e4nder")
    assert plain.fingerprint != labelled.fingerprint
    column = Survey.from_json(changed(schema=schema_with(label="How old are you?")))
    assert column.schema.labels == {"age": "How old are you?"}
    assert column.fingerprint != plain.fingerprint
    assert "label" not in plain.device_text


def schema_with(**changes: object) -> dict[str, object]:
    """The schema with the first dimension changed."""
    data = schema_to_json(SCHEMA)
    return {**data, "dimension": [{**data["dimension"][0], **changes}, *data["dimension"][1:]]}


PLAN = json.loads(text())["plan"]
PROMISE = {"kind": "local", "epsilon": "1"}


@pytest.mark.parametrize(
    ("source", "message"),
    [
        (changed(ldpsql_survey=True), "not a survey of version 1"),
        (changed(author="0" * 63, signature="0" * 128), "author must be 64 hexadecimal digits"),
        (changed(validity={"until": 3}), "a day is written as 2026-01-31"),
        (changed(period=[]), "period must be one of day, week, month"),
        (changed(table=3), "3 is not a table name"),
        (changed(previous="0" * 64), "names the one before and the first one"),
        (changed(schema=[]), "schema must have the keys"),
        (changed(schema=schema_with(domain=["18", "x"])), "domain: write a whole number, not 'x'"),
        (changed(schema=schema_with(bins=3)), "dimension age: unknown key 'bins'"),
        (changed(schema=schema_with(name=["age"])), "objects with a name"),
        (changed(promise={**PROMISE, "sigma": "1"}), "promise has the unknown key 'sigma'"),
        (changed(promise={"kind": "local"}), "has an epsilon exactly when"),
        (changed(promise={"kind": "local", "epsilon": "99"}), "epsilon must lie between"),
        (changed(promise={**PROMISE, "delta": "1"}), "promise.delta must be"),
        (changed(promise={**PROMISE, "shuffle": {}}), "promise.shuffle has no epsilon"),
        (changed(plan={}), "plan lacks"),
        (changed(plan={**PLAN, "code": "x"}), "plan has the unknown key 'code'"),
        (changed(plan={**PLAN, "odds": ["1"]}), "plan.odds.0. must be a whole number"),
        (text().replace('"ldpsql_survey":1', '"ldpsql_survey":-0'), "numbers are whole"),
        (text().replace('"ldpsql_survey":1', '"ldpsql_survey":NaN'), "NaN is not a number"),
    ],
)
def test_what_is_not_a_survey_is_refused_in_one_line(source, message):
    """What `vectors/bad_surveys.json` does not hold."""
    with pytest.raises(SurveyError, match=message) as refusal:
        Survey.from_json(source)
    assert "\n" not in str(refusal.value)


@pytest.mark.fast(3)
@pytest.mark.parametrize(
    "write",
    [
        lambda: "[" * 10_000_000,
        lambda: "[" + "[]," * 3_000_000 + "0]",
        lambda: "[" + "1," * 5_000_000 + "1]",
        lambda: '{"ldpsql_survey":1,"x":"' + "x" * 10_000_000 + '"}',
        lambda: '{"ldpsql_survey":1,"x":"' + "\\n" * 5_000_000,
        lambda: '"\\' * 5_000_000,
        lambda: '\\"' * 5_000_000,
        lambda: '{"ldpsql_survey"' * 600_000 + " " * 1_000_000,
        lambda: "9" * 10_000_000,
        lambda: "123456789012345 " * 600_000,
        lambda: "[" + '"",' * 3_000_000 + '""]',
        lambda: changed(plan={**PLAN, "tables": [[*range(1_300_000), -1]]}),
        lambda: changed(schema=schema_with(type="category", domain=[*map(str, range(10**6))])),
    ],
    ids=[
        *("deep", "lists", "numbers", "text", "escapes", "quotes", "unclosed", "kinds"),
        *("digits", "words", "strings", "table", "values"),
    ],
)
def test_ten_megabytes_are_refused_quickly(write):
    """By passes of the standard library over all of it: no line is run per character or value."""
    source, refusals = write(), []

    def read():
        with pytest.raises(SurveyError) as refusal:
            Survey.from_json(source)
        refusals.append(str(refusal.value))

    assert lines_run(read) < 10_000
    assert len(refusals[0]) < 300


def test_work_per_value_is_caught():
    """The negative control of the measure."""

    def check_each():
        for number in range(20_000):
            assert number >= 0

    assert lines_run(check_each) > 10_000


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ('{"ldpsql_collector":1,"options":{"share":0.5}}', "it is the collector's part"),
        (
            f'{{"collector":{{"ldpsql_collector":1,"share":0.5}},"survey":{text()}}}',
            "it holds both parts",
        ),
        (changed(ldpsql_survey=2, plan=0.5, extra=1), "not a survey of version 1"),
    ],
)
def test_what_it_is_comes_before_what_is_wrong_in_it(source, message):
    with pytest.raises(SurveyError, match=message):
        Survey.from_json(source)


def test_text_is_never_taken_for_a_path(tmp_path):
    path = tmp_path / "people.survey.json"
    path.write_text(text(), encoding="utf-8")
    with pytest.raises(SurveyError, match="not a survey"):
        Survey.from_json(str(path))
    with pytest.raises(SurveyError, match=r"cannot read the survey .*nothing\.json"):
        Survey.from_json(tmp_path / "nothing.json")
    path.write_bytes(b"\xff")
    with pytest.raises(SurveyError, match="not UTF-8"):
        Survey.from_json(path)


def test_the_part_of_the_collector_may_hold_fractions():
    assert parse_json('{"share": 0.25, "n": -1e3}', floats=True) == {"share": 0.25, "n": -1000.0}
