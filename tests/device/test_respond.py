"""One person's answer: what it holds, and what it refuses."""

from __future__ import annotations

import json
from dataclasses import FrozenInstanceError

import pyarrow.parquet as pq
import pytest
from support.surveys import (
    ANYTHING,
    RECORD,
    app,
    mostly_in_clear,
    partly_sensitive,
    people,
    unsound,
)

from ldpsql.randomize.files import randomize_file
from ldpsql.randomize.table import randomize, randomize_batch
from ldpsql_device.answer import respond
from ldpsql_device.errors import NotAllowed, ReportError
from ldpsql_device.policy import Policy
from ldpsql_device.reports import read_report
from ldpsql_lab.simulation import SeededEntropy


def test_json_is_the_row_that_ingest_reads():
    survey = app()
    report = respond(survey, RECORD, policy=ANYTHING)
    row = json.loads(report.to_json())
    assert "\n" not in report.to_json()
    assert list(row) == ["id", "report", "public"]
    assert len(bytes.fromhex(row["id"])) == 16
    assert row["public"] == {"day": "2026-01-31", "version": "1.2"}
    assert read_report(report.to_json(), survey) == report


def test_all_reports_have_one_length_and_ids_of_their_own():
    reports = [respond(app(), {**RECORD, "age": 18 + i}, policy=ANYTHING) for i in range(60)]
    assert len({len(report.report) for report in reports}) == 1
    assert len({report.id for report in reports}) == 60


def test_a_report_cannot_be_changed():
    with pytest.raises(FrozenInstanceError):
        respond(app(), RECORD, policy=ANYTHING).report = "x"


@pytest.mark.parametrize(
    "change",
    [{"id": None}, {"public": []}, {"public": {"day": "yesterday", "version": "1.2"}}],
    ids=str,
)
def test_reading_back_something_else_is_refused(change):
    """What the vectors of bad reports do not hold."""
    row = {**json.loads(respond(app(), RECORD, policy=ANYTHING).to_json()), **change}
    with pytest.raises(ReportError):
        read_report(json.dumps(row), app())


DEVICES = {
    "respond": lambda survey, path, policy: respond(survey, RECORD, policy=policy),
    "randomize": lambda survey, path, policy: randomize(survey, people(9), policy=policy),
    "randomize_batch": lambda survey, path, policy: randomize_batch(
        survey, people(9), SeededEntropy(0), policy=policy
    ),
    "randomize_file": lambda survey, path, policy: randomize_file(
        survey, path / "people.parquet", path / "reports.parquet", policy=policy
    ),
}


@pytest.mark.parametrize("name", DEVICES)
@pytest.mark.parametrize(
    ("survey", "allowed"),
    [
        (app, {"public": {"day", "version"}}),
        (unsound, {"no_guarantee": True}),
        (lambda: partly_sensitive("cprr"), {"disclosure": True}),
        (mostly_in_clear, {"max_delta": "0.9"}),
    ],
    ids=["public columns", "no guarantee", "sensitive values", "delta"],
)
def test_every_way_to_answer_asks_the_policy_first(name, survey, allowed, tmp_path):
    """Whoever answers decides, whatever the survey's designer accepted."""
    pq.write_table(people(9), tmp_path / "people.parquet")
    with pytest.raises(NotAllowed, match="nothing was sent"):
        DEVICES[name](survey(), tmp_path, Policy(2))
    assert not (tmp_path / "reports.parquet").exists()
    assert DEVICES[name](survey(), tmp_path, Policy(2, **allowed))
