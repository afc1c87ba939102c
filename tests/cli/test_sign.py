"""Keys, signed surveys and schedules on the command line."""

from __future__ import annotations

import os
import re
import stat
from datetime import date

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.command_line import refusal, run, words_of
from support.shuffled_survey import shuffled_survey
from support.surveys import integer, public, survey_toml

from ldpsql.designer import design
from ldpsql.shuffler.opener import Opener
from ldpsql.survey import Survey
from ldpsql_device.errors import SurveyError
from ldpsql_device.ledger import chain_of
from ldpsql_device.pledge import Pledge
from ldpsql_device.signature import SigningKey
from ldpsql_device.statement import Statement
from ldpsql_device.survey import Survey as DeviceSurvey
from ldpsql_device.survey import utc_today

DAYS = {"from": date(2026, 1, 1), "until": date(2226, 12, 31), "replay_window": 7}
MONTHLY = survey_toml(integer("age", 0, 9), mechanism="grr", epsilon="5", period="month", **DAYS)
STAGED = survey_toml(integer("age", 0, 7), mechanism="ahead", epsilon="3")


@pytest.fixture
def key(tmp_path):
    path = tmp_path / "author.key"
    run("keygen", path)
    return path


@pytest.fixture
def other(tmp_path):
    path = tmp_path / "other.key"
    run("keygen", path)
    return path


def designed(tmp_path, toml, *options):
    source, target = tmp_path / "app.toml", tmp_path / "app.survey.json"
    source.write_text(toml)
    return target, run("design", source, "-o", target, *options)


def test_keygen_prints_the_public_key_and_keeps_the_other_one(tmp_path):
    path = tmp_path / "author.key"
    shown = run("keygen", path)
    assert (shown.exit_code, shown.stderr) == (0, "")
    assert re.fullmatch("[0-9a-f]{64}\n", shown.stdout)
    if os.name == "posix":
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
    before = path.read_bytes()
    assert "no key is overwritten" in refusal(run("keygen", path), 1)
    assert path.read_bytes() == before


def test_a_signed_survey_says_who_signed_it(tmp_path, key):
    target, shown = designed(tmp_path, MONTHLY, "--sign", key)
    survey = DeviceSurvey.from_json(target)
    survey.verify()
    assert f"author       {survey.author}" in shown.stdout
    answered = (
        "once a month from 2026-01-01 until 2226-12-31; a report may be sent again for 7 days"
    )
    assert f"answered {answered}" in words_of(shown.stdout)
    assert Survey.from_json(target).author == survey.author


def test_a_survey_that_is_there_already_can_be_signed(tmp_path, key, other):
    """By somebody who did not design it; the collector's part goes with it."""
    target, _ = designed(tmp_path, MONTHLY)
    plain, mine = DeviceSurvey.from_json(target), tmp_path / "mine.survey.json"
    shown = run("sign", target, "--key", key, "-o", mine)
    signed = Survey.from_json(mine)
    signed.verify()
    assert (signed.plan, signed.schedule, signed.guarantee.kind) == (
        plain.plan,
        plain.schedule,
        plain.guarantee.kind,
    )
    assert signed.fingerprint != plain.fingerprint
    assert f"author       {signed.author}" in shown.stdout and "note" not in shown.stdout
    again = run("sign", mine, "--key", other, "-o", tmp_path / "other.survey.json")
    assert f"{signed.author} had signed it before" in words_of(again.stdout)
    assert "-o would replace the input" in refusal(run("sign", mine, "--key", key, "-o", mine), 2)
    mine.write_text(mine.read_text().replace('"replay_window":7', '"replay_window":8'))
    bad = tmp_path / "bad.survey.json"
    words = refusal(run("sign", mine, "--key", key, "-o", bad), 1)
    assert "somebody has changed the survey" in words and not bad.exists()


def test_describe_says_what_a_person_is_asked(tmp_path, key):
    target, _ = designed(tmp_path, MONTHLY, "--sign", key)
    shown = run("describe", target)
    assert shown.exit_code == 0
    words = words_of(shown.stdout)
    assert "a belief of 50 % about your answers can rise to 99.4 % at most" in words
    assert "12 in a year have epsilon 60 together" in words
    assert f"the owner of the key {DeviceSurvey.from_json(target).author}" in words


def test_describe_says_what_a_shuffler_pledges(tmp_path, key):
    survey = shuffled_survey()
    target, said = tmp_path / "app.survey.json", tmp_path / "app.pledge.json"
    target.write_text(survey.device_text)
    opener, until = Opener.create(), date(2026, 12, 31)
    pledge = Pledge.sign(survey, SigningKey.read(key), survey.shuffled, opener.public, until)
    said.write_text(pledge.text)
    shown = run("describe", target, "--pledge", said)
    assert (shown.exit_code, shown.stderr) == (0, "")
    assert f"Only a shuffler can read it, the owner of the key {pledge.shuffler}." in words_of(
        shown.stdout
    )
    said.write_text(pledge.text.replace("2026-12-31", "2027-12-31"))
    assert "signature" in refusal(run("describe", target, "--pledge", said), 1)


def test_an_author_says_which_survey_is_asked(tmp_path, key, other):
    target, _ = designed(tmp_path, MONTHLY, "--sign", key)
    said = tmp_path / "app.statement.json"
    made = run("statement", target, "--key", key, "--until", "2999-01-31", "-o", said)
    assert (made.exit_code, made.stdout) == (0, "")
    statement, survey = Statement.from_json(said.read_text()), DeviceSurvey.from_json(target)
    assert (statement.fingerprint, statement.author) == (survey.fingerprint, survey.author)
    assert (statement.issued, statement.until) == (utc_today(), date(2999, 1, 31))
    shown = run("statement", target, "--key", key, "--until", "2999-01-31").stdout
    assert Statement.from_json(shown) == statement
    for options, words in (
        (("--key", other, "--until", "2999-01-31"), "was not signed with this key"),
        (("--key", key, "--until", "1999-01-31"), "a day to end on"),
    ):
        assert words in refusal(run("statement", target, *options, "-o", tmp_path / "bad"), 1)
    assert not (tmp_path / "bad").exists()


def test_what_was_edited_afterwards_is_refused_by_every_command(tmp_path, key):
    target, _ = designed(tmp_path, MONTHLY, "--sign", key)
    target.write_text(target.read_text().replace('"replay_window":7', '"replay_window":8'))
    for command in (
        ("audit", target),
        ("randomize", target, "--survey", target, "-o", "x.parquet"),
    ):
        assert "somebody has changed the survey" in refusal(run(*command), 1)


def test_a_survey_in_rounds_that_nobody_signs_is_noted(tmp_path, key):
    words = "devices with a ledger answer no later round unless all are signed"
    assert words in designed(tmp_path, STAGED)[1].stdout
    assert words not in designed(tmp_path, STAGED, "--sign", key)[1].stdout


@pytest.mark.fast(1)
@pytest.mark.parametrize("sign", [(), ("--sign", "author.key"), ("--sign", "other.key")])
def test_all_rounds_are_signed_with_the_key_of_the_first(tmp_path, key, other, sign, monkeypatch):
    monkeypatch.chdir(tmp_path)
    target, _ = designed(tmp_path, STAGED, "--sign", key)
    people = pa.table({"age": [i % 8 for i in range(400)]})
    pq.write_table(people, "people.parquet")
    run("randomize", "people.parquet", "--survey", target, "-o", "r.parquet")
    run("ingest", "r.parquet", "--survey", target, "--db", "one.duckdb")
    made = run("design", "--next", "one.duckdb", "-o", "two.survey.json", *sign)
    if sign == ("--sign", "author.key"):
        first, second = (DeviceSurvey.from_json(p) for p in (target, tmp_path / "two.survey.json"))
        assert (second.author, chain_of(second)) == (first.author, chain_of(first))
    else:
        assert f"{Survey.from_json(target).author} has signed the first" in refusal(made, 1)
        assert not (tmp_path / "two.survey.json").exists()


def test_reports_of_a_period_are_told_apart_in_sql(tmp_path, monkeypatch):
    """The column is a device's, not the table's."""
    monkeypatch.chdir(tmp_path)
    target, _ = designed(tmp_path, MONTHLY)
    years = {"period": [date(1999, 1, 1)] * 300}
    pq.write_table(pa.table({"age": [3] * 300, **years}), "people.parquet")
    for number, day in enumerate((date(2026, 1, 31), date(2026, 2, 1))):
        for module in ("table", "files"):
            monkeypatch.setattr(f"ldpsql.randomize.{module}.utc_today", lambda day=day: day)
        assert run("randomize", "people.parquet", "--survey", target, "-o", f"{number}.parquet")
        assert run("ingest", f"{number}.parquet", "--survey", target, "--db", "app.duckdb")
    query = "SELECT period, COUNT(*) FROM app GROUP BY period ORDER BY period"
    shown = run(query, "--db", "app.duckdb", "--format", "csv")
    counts = [line.split(",")[:2] for line in shown.stdout.splitlines()[1:]]
    assert [(day, float(count)) for day, count in counts] == [
        ("2026-01-01", 300),
        ("2026-02-01", 300),
    ]
    note = "app is answered once a month, and a person counts in each of them"
    one = "SELECT COUNT(*) FROM app WHERE Period = '2026-02-01'"
    for asked, told in ((query, False), (one, False), ("SELECT COUNT(*) FROM app", True)):
        assert (note in run(asked, "--db", "app.duckdb").stderr) == told


def test_a_survey_that_is_over_takes_no_more_records_and_no_more_reports(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    over = MONTHLY.replace("2226-12-31", "2026-01-31")
    target, _ = designed(tmp_path, over)
    pq.write_table(pa.table({"age": [3] * 300}), "people.parquet")
    arguments = ("randomize", "people.parquet", "--survey", target, "-o", "r.parquet")
    for module in ("table", "files"):
        monkeypatch.setattr(f"ldpsql.randomize.{module}.utc_today", lambda: date(2026, 1, 31))
    assert run(*arguments).exit_code == 0
    monkeypatch.setattr("ldpsql.randomize.files.utc_today", lambda: date(2026, 2, 1))
    assert "survey app ended on 2026-01-31" in refusal(run(*arguments), 1)
    ingest = ("ingest", "r.parquet", "--survey", target, "--db", "app.duckdb")
    monkeypatch.setattr("ldpsql.store.store.utc_today", lambda: date(2026, 2, 1))
    assert "ended on 2026-01-31, after which no report is taken" in refusal(run(*ingest), 1)
    monkeypatch.setattr("ldpsql.store.store.utc_today", lambda: date(2026, 1, 31))
    assert run(*ingest).exit_code == 0


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("from = 2026-01-01", 'from = "1 January"', "[survey]: from: a day is written as"),
        ("from = 2026-01-01", "from = 2026", "[survey]: from must be a day"),
        ("from = 2026-01-01", "from = 2026-01-01T00:00:00", "are dates"),
        ("from = 2026-01-01", "from = 2227-01-01", "ends on 2226-12-31, before it starts"),
        ("replay_window = 7", "replay_window = 0", "a number of days from 1 to 366"),
        ("replay_window = 7", "replay_window = true", "replay_window must be a number of days"),
        ('period = "month"', 'period = "year"', "one of day, week, month, not 'year'"),
        ('"grr"', '"ahead"', "leave them and the period out"),
    ],
)
def test_a_schedule_that_is_none_is_refused(tmp_path, old, new, message):
    assert old in MONTHLY
    _, shown = designed(tmp_path, MONTHLY.replace(old, new))
    assert message in refusal(shown, 1)


@pytest.mark.fast(1)
@pytest.mark.parametrize("first", [date(1999, 1, 1), date(2026, 1, 2), date(2227, 1, 1), None])
def test_a_report_of_a_period_that_the_survey_has_not_is_refused(tmp_path, monkeypatch, first):
    monkeypatch.chdir(tmp_path)
    target, _ = designed(tmp_path, MONTHLY)
    monkeypatch.setattr("ldpsql.randomize.files.utc_today", lambda: date(2026, 1, 31))
    pq.write_table(pa.table({"age": [3] * 9}), "people.parquet")
    assert run("randomize", "people.parquet", "--survey", target, "-o", "reports.parquet")
    reports = pq.read_table("reports.parquet")
    place = reports.schema.get_field_index("period")
    forged = pa.array([first] + [date(2026, 1, 1)] * 8, pa.date32())
    pq.write_table(reports.set_column(place, reports.schema.field(place), forged), "forged.parquet")
    said = refusal(run("ingest", "forged.parquet", "--survey", target, "--db", "app.duckdb"), 1)
    assert "row 1: period is not the first day of a period of the survey" in said
    assert run("ingest", "reports.parquet", "--survey", target, "--db", "app.duckdb").exit_code == 0


def test_days_may_be_texts_and_a_declared_period_is_refused(tmp_path):
    texts = MONTHLY.replace("2026-01-01", '"2026-01-01"')
    assert design(texts).schedule == design(MONTHLY).schedule
    for toml in (MONTHLY, MONTHLY.replace('period = "month"\n', "")):
        with pytest.raises(SurveyError, match="no column is called period"):
            design(toml + public("period", "date"))


def test_a_shuffled_survey_has_no_period(tmp_path):
    trust = {"trust": "shuffle", "delta": "1e-6", "users": 10_000}
    toml = survey_toml(integer("age", 0, 9), mechanism="grr", epsilon="0.5", period="day", **trust)
    _, shown = designed(tmp_path, toml)
    assert "allows no [public] columns and no period" in refusal(shown, 1)
