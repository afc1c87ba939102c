"""The vectors of the format, which every implementation runs: see vectors/ and docs/format.md."""

from __future__ import annotations

import json
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from support import reference_client
from support.surveys import ANYTHING
from support.vectors import (
    DRAWN,
    FOLDER,
    Given,
    answer,
    code_of,
    is_open,
    levels_of,
    read_record,
    schema_of_sizes,
    threshold_of,
)

from ldpsql.mechanisms.registry import MECHANISMS
from ldpsql.reports.report import ReportFormat
from ldpsql_device.answer import respond
from ldpsql_device.encode import encode, public_values
from ldpsql_device.errors import BudgetSpent, NotAllowed, ReportError, SurveyError
from ldpsql_device.hpke import seal
from ldpsql_device.ledger import Ledger, chain_of
from ldpsql_device.pledge import INFO, Pledge, Sealed
from ldpsql_device.policy import Policy
from ldpsql_device.reports import Report, numbers_of, read_report
from ldpsql_device.schema import Schema
from ldpsql_device.statement import Statement
from ldpsql_device.survey import Survey, canonical, parse_json, sha256, signed_text

RECIPES = sorted(FOLDER.glob("recipe_*.json"))


def load(path: Path) -> Any:
    """The content of a file of vectors."""
    return json.loads(path.read_text(encoding="utf-8"))


def test_every_recipe_has_vectors_of_two_surveys():
    """Made by `python -m support.vectors`."""
    named = {path.stem.removeprefix("recipe_") for path in RECIPES}
    assert named == {*MECHANISMS, "fourier_product", "fourier_nullable", "hgrr_nullable"}
    assert all(len(load(path)["surveys"]) >= 2 for path in RECIPES)


@pytest.mark.parametrize("path", RECIPES, ids=lambda path: path.stem)
def test_records_and_words_give_the_reports(path):
    for vector in load(path)["surveys"]:
        survey = Survey.from_json(json.dumps(vector["survey"]))
        assert survey.fingerprint == vector["fingerprint"]
        assert list(survey.plan.columns) == vector["report_columns"]
        assert list(survey.report_widths) == vector["report_widths"]
        for case in vector["cases"]:
            record = read_record(survey.schema, case["record"])
            assert answer(survey, record, list(map(int, case["words"]))) == case["report"]
            line = Report("0" * 32, case["report"], public_values(survey.schema, record)).to_json()
            assert json.loads(line)["public"] == case["public"]
            numbers = numbers_of(read_report(line, survey), survey)
            assert len(numbers) == len(survey.plan.columns)


@pytest.mark.parametrize("path", RECIPES, ids=lambda path: path.stem)
def test_a_client_written_from_the_format_gives_the_same_reports(path):
    for vector in load(path)["surveys"]:
        for case in vector["cases"]:
            words = list(map(int, case["words"]))
            report = reference_client.answer(vector["survey"], case["record"], words)
            assert report == case["report"]


def test_a_client_written_from_the_format_encodes_alike():
    vectors = load(FOLDER / "encoding.json")
    for vector in vectors["dimensions"]:
        for case in vector["cases"]:
            code = reference_client.code_of(vector["dimension"], case["value"], DRAWN)
            assert code == case["code"], (vector, case)
    for vector in vectors["measures"]:
        for case in vector["cases"]:
            threshold = reference_client.threshold_of(vector["measure"], case["value"])
            assert str(threshold) == case["threshold"], (vector, case)
            for word, level in case["levels"]:
                found = reference_client.code_of_number(vector["measure"], case["value"], int(word))
                assert found == level, (vector, case, word)
    for vector in vectors["draws"]:
        dimensions = [{"type": "int", "domain": [1, size]} for size in vector["sizes"]]
        codes, words = reference_client.drawn_codes(dimensions, list(map(int, vector["words"])))
        assert (codes, words) == (vector["codes"], []), vector


@pytest.mark.parametrize("vector", load(FOLDER / "encoding.json")["dimensions"])
def test_values_have_their_codes(vector):
    schema = {"dimension": [vector["dimension"]], "measure": [], "public": []}
    [dimension] = Schema.from_json(schema).dimensions
    for case in vector["cases"]:
        assert code_of(dimension, case["value"]) == case["code"], case


@pytest.mark.parametrize("vector", load(FOLDER / "encoding.json")["measures"])
def test_values_have_their_thresholds_and_levels(vector):
    schema = {"dimension": [], "measure": [vector["measure"]], "public": []}
    [measure] = Schema.from_json(schema).measures
    for case in vector["cases"]:
        assert threshold_of(measure, case["value"]) == case["threshold"], case
        assert levels_of(measure, case["value"]) == [*map(tuple, case["levels"])], case


@pytest.mark.parametrize("vector", load(FOLDER / "encoding.json")["draws"])
def test_words_give_drawn_codes(vector):
    schema, words = schema_of_sizes(vector["sizes"]), list(map(int, vector["words"]))
    assert encode(schema, {}, Given(words)).tolist() == [vector["codes"]]


@pytest.mark.parametrize("vector", load(FOLDER / "canonical.json"))
def test_canonical_json_has_its_hash(vector):
    assert canonical(parse_json(vector["json"])) == vector["canonical"]
    assert sha256(vector["canonical"]) == vector["sha256"]


@pytest.mark.parametrize("vector", load(FOLDER / "surveys.json"))
def test_surveys_have_days_and_authors(vector):
    survey = Survey.from_json(json.dumps(vector["survey"]))
    assert (survey.fingerprint, chain_of(survey)) == (vector["fingerprint"], vector["chain"])
    if vector["signed_sha256"] is not None:
        survey.verify()
        assert sha256(signed_text(vector["survey"])) == vector["signed_sha256"]
        assert reference_client.is_signed(vector["survey"])
        assert not reference_client.is_signed({**vector["survey"], "replay_window": 29})
    for case in vector["days"]:
        day = date.fromisoformat(case["day"])
        assert is_open(survey, day) == case["open"]
        assert reference_client.is_open(vector["survey"], case["day"]) == case["open"]
        if case["open"]:
            schedule = survey.schedule
            period, last = schedule.period_of(day), schedule.last_sending_day(day).isoformat()
            assert (period and period.isoformat(), last) == (
                case["period"],
                case["last_sending_day"],
            )
            assert reference_client.period_of(vector["survey"], case["day"]) == case["period"]
            assert reference_client.last_sending_day(vector["survey"], case["day"]) == last
            if schedule.sample is not None:
                assert schedule.turn_of(day) == case["turn"]
                assert reference_client.turn_of(vector["survey"], case["day"]) == case["turn"]


def test_bad_surveys_are_refused_in_one_line_that_says_why(golden):
    lines = []
    for bad in load(FOLDER / "bad_surveys.json"):
        with pytest.raises(SurveyError) as refusal:
            Survey.from_json(bad["text"])
            pytest.fail(bad["reason"])
        lines.append(f"{bad['reason']}: {refusal.value}")
    assert len("\n".join(lines).splitlines()) == len(lines)
    golden(Path(__file__).with_name("bad_surveys.txt"), "\n".join(lines) + "\n")


STATEMENTS = load(FOLDER / "statements.json")


def believe(text, survey, day, **options):
    """What a device does with a collector's answer."""
    statement = Statement.from_json(text)
    return respond(survey, {}, policy=ANYTHING, statement=statement, today=day, **options)


def test_a_statement_is_believed():
    data, day, said = STATEMENTS["survey"], STATEMENTS["day"], json.loads(STATEMENTS["good"])
    survey = Survey.from_json(json.dumps(data))
    believe(STATEMENTS["good"], survey, date.fromisoformat(day))
    assert sha256(signed_text(said)) == STATEMENTS["signed_sha256"]
    assert reference_client.is_believed(said, data, day, {})


@pytest.mark.parametrize("bad", STATEMENTS["bad"], ids=lambda bad: bad["reason"])
def test_other_answers_of_a_collector_are_not(bad):
    data, day = STATEMENTS["survey"], STATEMENTS["day"]
    with pytest.raises((SurveyError, NotAllowed)):
        believe(bad["text"], Survey.from_json(json.dumps(data)), date.fromisoformat(day))
    if bad["reason"] not in ("not JSON", "a key twice"):  # the reference reads JSON as Python does
        assert not reference_client.is_believed(json.loads(bad["text"]), data, day, {})


def test_no_statement_is_believed_after_a_later_one(tmp_path):
    ledger, seen = Ledger(tmp_path / "l", total=20, per_attribute=20), {}
    surveys = [Survey.from_json(json.dumps(data)) for data in STATEMENTS["surveys"]]
    latest = ""
    for case in STATEMENTS["answers"]:
        latest = max(latest, case["day"])
        survey, day = surveys[case["survey"]], date.fromisoformat(case["day"])
        data, said = STATEMENTS["surveys"][case["survey"]], json.loads(case["text"])
        try:
            believe(case["text"], survey, day, ledger=ledger)
            is_believed = True
        except (NotAllowed, BudgetSpent):
            is_believed = False
        assert is_believed == case["believed"], case["what"]
        found = reference_client.is_believed(said, data, latest, seen)
        assert found == case["believed"], case["what"]


PLEDGES = load(FOLDER / "pledges.json")


def give(text, data, day, shufflers, **options):
    """What a device does with what a shuffler says, or without it."""
    policy = Policy(20, shufflers=shufflers)
    pledge = None if text is None else Pledge.from_json(text)
    asked, today = Survey.from_json(json.dumps(data)), date.fromisoformat(day)
    return respond(asked, {}, policy=policy, pledge=pledge, today=today, **options)


def test_a_pledge_is_believed_and_a_report_is_sealed_as_it_says():
    data, day, said = PLEDGES["survey"], PLEDGES["day"], json.loads(PLEDGES["good"])
    give(PLEDGES["good"], data, day, PLEDGES["shufflers"])
    assert sha256(signed_text(said)) == PLEDGES["signed_sha256"]
    assert reference_client.is_pledged(said, data, day, PLEDGES["shufflers"])
    assert not reference_client.is_pledged(said, data, day, [])

    sealed, survey = PLEDGES["sealed"], Survey.from_json(json.dumps(data))
    own = X25519PrivateKey.from_private_bytes(bytes.fromhex(sealed["own"]))
    associated, line = survey.fingerprint.encode(), sealed["report"].encode()
    assert read_report(sealed["report"], survey)
    message = seal(line, said["encryption"], INFO, associated, own)
    assert sealed["line"] == json.dumps({"sealed": message.hex()}, separators=(",", ":"))
    private = bytes.fromhex(sealed["private"])
    key, nonce, text = reference_client.key_of_sealed(sealed["line"], private)
    assert AESGCM(key).decrypt(nonce, text, associated) == line


@pytest.mark.parametrize("bad", PLEDGES["bad"], ids=lambda bad: bad["reason"])
def test_what_else_a_shuffler_says_is_not_believed(bad):
    asked = (PLEDGES["survey"], PLEDGES["day"], PLEDGES["shufflers"])
    with pytest.raises((SurveyError, NotAllowed)):
        give(bad["text"], *asked)
    if bad["reason"] not in ("not JSON", "a key twice"):  # the reference reads JSON as Python does
        assert not reference_client.is_pledged(json.loads(bad["text"]), *asked)


def test_a_report_is_given_again_to_its_first_recipient_alone(tmp_path):
    ledger = Ledger(tmp_path / "l", total=20, per_attribute=20)
    for case in PLEDGES["answers"]:
        data, named = PLEDGES["surveys"][case["survey"]], PLEDGES["named"]
        try:
            given = give(case["pledge"], data, case["day"], named, ledger=ledger)
            assert isinstance(given, Sealed) == (case["pledge"] is not None)
            is_given = True
        except (NotAllowed, BudgetSpent):
            is_given = False
        assert is_given == case["given"], case["what"]


def test_bad_reports_are_refused():
    """By their form, and one by the limits of its columns."""
    vectors = load(FOLDER / "bad_reports.json")
    survey = Survey.from_json(json.dumps(vectors["survey"]))
    assert read_report(vectors["good"], survey)
    for bad in vectors["bad"]:
        with pytest.raises(ReportError):
            read_report(bad["line"], survey)
            pytest.fail(bad["reason"])
    assert ReportFormat.of(survey.plan).columns == survey.plan.columns
