"""`answer` and `sent`: a program's events on the command line, and what was given."""

from __future__ import annotations

import json
from datetime import timedelta

import pytest
from device.test_collector import answering
from device.test_counters import Clock
from device.test_events import TODAY, Service, survey
from support.command_line import refusal, run
from support.surveys import ANYTHING

from ldpsql_device.answer import respond
from ldpsql_device.counters import Counters
from ldpsql_device.description import describe
from ldpsql_device.ledger import Ledger
from ldpsql_device.reports import read_report
from ldpsql_device.survey import utc_today


@pytest.fixture
def counters(tmp_path):
    """A file in which counting began three days ago."""
    found = Counters(tmp_path / "counters", clock=Clock())
    found.add("runs", 3)
    found.set("version", "2.1")
    with found.open() as (database, state):
        state["born"] = int(utc_today().toordinal() - TODAY.toordinal()) + 20_780 - 3
        database.execute("UPDATE days SET day = ?", (state["born"],))
    found.close()
    return found.path


def asked(url, counters, *more):
    return run("answer", url, "app", "--counters", counters, "--max-epsilon", 1, *more)


def test_ended_periods_are_answered_and_listed(tmp_path, counters):
    service, ledger = Service(survey()), tmp_path / "ledger"
    own = ("--public", "version", "--ledger", ledger, "--total", 9)
    with answering(service) as url:
        assert "3 reports taken" in asked(url, counters, *own).stderr
        assert "nothing is due" in asked(url, counters, *own).stderr
    given = [each.report for each in Ledger(ledger, total=0, per_attribute=0).history()]
    assert sorted(given) == sorted(service.lines)
    lines = [line.strip() for line in run("sent", ledger).stdout.splitlines()]
    assert [line for line in lines if line.startswith("{")] == given
    assert f"A survey without a description here, {survey().fingerprint}" in lines
    path = tmp_path / "app.survey.json"
    path.write_text(survey().device_text)
    for more in (["--counters", counters], [path]):
        assert run("sent", ledger, *more).stdout.startswith(describe(survey()))
        rows = [
            json.loads(line) for line in run("sent", ledger, *more, "--json").stdout.splitlines()
        ]
        assert [row["report"] for row in rows] == given
        assert {row["epsilon"] for row in rows} == {"1"}
        assert {row["words"] for row in rows} == {describe(survey())}
        days = [(utc_today() - timedelta(days=n)).isoformat() for n in (3, 2, 1)]
        assert [row["period"] for row in rows] == days


def test_a_dry_run_sends_and_remembers_nothing(tmp_path, counters):
    service = Service(survey())
    with answering(service) as url:
        done = asked(url, counters, "--public", "version", "--dry-run")
    read_report(done.stdout.strip(), survey())
    assert json.loads(done.stdout)["public"]["version"] == "2.1"
    assert describe(survey()) in done.stderr
    assert service.lines == []
    assert not any(path.endswith("/reports") for path in service.requests)
    with Counters(counters).open() as (_, state):
        assert (state["closed"], state["next"], state["answered"]) == (0, {}, {})


def test_what_is_not_allowed_is_refused(tmp_path, counters):
    with answering(Service(survey())) as url:
        assert "version" in refusal(asked(url, counters, "--dry-run"), 1)
        pinned = ("--public", "version", "--author", "ab" * 32)
        said = refusal(asked(url, counters, "--dry-run", *pinned), 1)
        assert "not a statement signed by an author" in said  # of which there is none
        assert "64 lower-case" in refusal(asked(url, counters, "--author", "me", "--dry-run"), 1)
        assert "--ledger" in asked(url, counters, "--public", "version").stderr


def test_an_empty_ledger_and_a_report_without_period(tmp_path):
    path = tmp_path / "ledger"
    ledger = Ledger(path, total=9, per_attribute=9)
    assert ledger.history() == ()
    assert run("sent", path).stdout == "nothing was given\n"
    respond(survey(), {}, policy=ANYTHING, ledger=ledger, today=TODAY)
    [given] = ledger.history()
    assert (given.author, given.period, given.day, given.delta) == (None, TODAY, TODAY, "0")
    assert f"{TODAY}, about the period from {TODAY} on: epsilon 1" in run("sent", path).stdout
