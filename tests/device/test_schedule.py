"""When a survey is answered, and what a device says of the day in clear."""

from __future__ import annotations

import json
from datetime import date
from functools import cache

import pyarrow as pa
import pytest
from support.surveys import ANYTHING
from support.vectors import scheduled_survey

from ldpsql.randomize.files import randomize_file
from ldpsql.randomize.table import randomize
from ldpsql_device.answer import respond
from ldpsql_device.errors import NotAllowed
from ldpsql_device.survey import Survey

RECORD = {"age": 3, "member": True, "spent": 1.5, "version": "2"}
LIE = {**RECORD, "period": date(1999, 1, 1)}
FIRST, INSIDE, LAST = date(2026, 1, 30), date(2026, 2, 14), date(2026, 3, 1)


@pytest.fixture
def at(monkeypatch):
    """Sets the day that it is."""

    def set_day(day: date) -> None:
        for module in ("ldpsql_device.answer", "ldpsql.randomize.table", "ldpsql.randomize.files"):
            monkeypatch.setattr(f"{module}.utc_today", lambda: day)

    return set_day


@cache
def survey(period: str | None) -> Survey:
    return Survey.from_json(scheduled_survey(period).device_text)


@pytest.mark.parametrize(("period", "first"), [("day", INSIDE), ("month", date(2026, 2, 1))])
def test_the_period_is_the_devices_and_not_the_records(at, tmp_path, period, first):
    at(INSIDE)
    asked = survey(period)
    public = json.loads(respond(asked, LIE, policy=ANYTHING).to_json())["public"]
    assert public == {"period": first.isoformat(), "version": "2"}
    people = pa.table({name: [value] * 3 for name, value in LIE.items()})
    for table in (people, people.drop_columns("period")):
        reports = randomize(asked, table, policy=ANYTHING)
        assert reports["period"].to_pylist() == [first] * 3
    path = tmp_path / "people.csv"
    path.write_text("age,member,spent,version\n3,true,1.5,2\n")
    assert randomize_file(asked, path, tmp_path / "reports.parquet", policy=ANYTHING).people == 1


def test_a_survey_without_periods_says_nothing_of_the_day(at):
    at(INSIDE)
    assert set(respond(survey(None), LIE, policy=ANYTHING).public) == {"version"}


@pytest.mark.parametrize("day", [FIRST, LAST])
def test_both_ends_are_answered(at, day):
    at(day)
    assert respond(survey(None), RECORD, policy=ANYTHING)


@pytest.mark.parametrize(
    ("day", "message"),
    [
        (date(2026, 1, 29), "survey app is not answered before 2026-01-30"),
        (date(2026, 3, 2), "survey app ended on 2026-03-01: nothing is sent any more"),
    ],
)
def test_nothing_is_sent_before_and_after(at, tmp_path, day, message):
    at(day)
    path = tmp_path / "people.csv"
    path.write_text("age,member,spent,version\n3,true,1.5,2\n")
    with pytest.raises(NotAllowed, match=message):
        respond(survey("day"), {}, policy=ANYTHING)  # whatever the record
    with pytest.raises(NotAllowed, match=message):
        randomize_file(survey("day"), path, tmp_path / "reports.parquet", policy=ANYTHING)
    assert not (tmp_path / "reports.parquet").exists()
    with pytest.raises(NotAllowed, match=message):
        randomize(survey("day"), pa.table({}), policy=ANYTHING)
