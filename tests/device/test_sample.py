"""Surveys that ask a device in one of several periods: when it answers, and what it keeps."""

from __future__ import annotations

import sqlite3
from collections import Counter
from contextlib import closing
from dataclasses import replace
from datetime import date, timedelta

import pyarrow as pa
import pytest
from support.giving import PLENTY, scheduled
from support.surveys import ANYTHING, RECORD, app

from ldpsql.designer import design
from ldpsql.randomize.files import randomize_file
from ldpsql.randomize.table import randomize
from ldpsql_device.answer import respond
from ldpsql_device.description import describe, sum_of_year
from ldpsql_device.errors import NotAllowed, OperationalError, StoreError, SurveyError
from ldpsql_device.ledger import Ledger
from ldpsql_device.survey import PERIODS, Schedule, Survey

MONDAY = date(2026, 1, 5)
WEEK = timedelta(days=7)
ELSEWHERE = "asks this device in one of"


def weekly(**more):
    return scheduled(app(), period="week", sample=13, replay_window=7, **more)


def answers(asked, ledger, weeks=range(52)):
    """By number of the week, the reports that leave when the device is asked on two of its days."""
    given = {}
    for number in weeks:
        for day in (0, 6):
            today = MONDAY + number * WEEK + timedelta(days=day)
            try:
                report = respond(asked, RECORD, policy=ANYTHING, ledger=ledger, today=today)
            except OperationalError as refusal:
                assert ELSEWHERE in str(refusal) or "round or version" in str(refusal)
            else:
                given.setdefault(number, set()).add(report.to_json())
    return given


@pytest.fixture
def path(memory_folder):
    return memory_folder / "ledger"


def test_a_device_answers_four_weeks_of_fifty_two(path):
    given = answers(weekly(), Ledger(path, **PLENTY))
    first, *_ = given
    assert list(given) == [first + 13 * turn for turn in range(4)]
    assert all(len(reports) == 1 for reports in given.values())
    assert Ledger(path, **PLENTY).spent() == 8


def test_a_later_version_has_the_same_weeks_and_another_table_its_own(memory_folder):
    """Of twelve devices, whose offsets differ."""
    offsets = []
    for number in range(12):
        ledger = Ledger(memory_folder / str(number), **PLENTY)
        later = replace(weekly(), label="the second version")
        other = replace(weekly(), table="other")
        versions = [
            min(answers(each, ledger, range(13 * n, 13 * n + 13))) % 13
            for n, each in enumerate((weekly(), later, other, weekly()))
        ]
        assert versions[0] == versions[1] == versions[3]
        offsets.append((versions[0], versions[2]))
    assert len({first for first, _ in offsets}) > 4
    assert any(first != second for first, second in offsets)


def test_a_week_is_answered_once_over_all_versions(memory_folder):
    """Or an author could have four answers of each of any number of versions."""
    ledger = Ledger(memory_folder / "ledger", **PLENTY)
    given = [
        week
        for number in range(4)
        for week in answers(replace(weekly(), label=f"version {number}"), ledger, range(26))
    ]
    assert len(given) == 2


def test_offsets_are_drawn_evenly_and_also_from_periods_that_are_past(memory_folder):
    """Asked in the twelfth of thirteen weeks only, a thirteenth of the devices answers: were the
    offset one of the weeks to come, half of them would."""
    asked, turns = weekly(), Counter()
    people = 260
    for number in range(people):
        ledger = Ledger(memory_folder / str(number), **PLENTY)
        week = 12 + (asked.schedule.turn_of(MONDAY) == 0)
        answers(asked, ledger, [week])
        with closing(sqlite3.connect(ledger.path)) as database:
            turns.update(offset for (offset,) in database.execute("SELECT number FROM offsets"))
    assert sum(turns.values()) == people
    assert set(turns) <= set(range(13))
    expected = people / 13
    statistic = sum((turns[turn] - expected) ** 2 / expected for turn in range(13))
    assert statistic < 56.6  # chi-square of 12 degrees of freedom, alpha 1e-7
    halves = sum((turns[turn] - people / 2) ** 2 / (people / 2) for turn in (11, 12))
    assert halves > 56.6  # the negative control: drawn among the weeks to come


def test_without_a_ledger_it_is_refused(memory_folder):
    with pytest.raises(NotAllowed, match="takes a ledger to keep which"):
        respond(weekly(), RECORD, policy=ANYTHING, today=MONDAY)
    with pytest.raises(NotAllowed, match="takes a ledger to keep which"):
        randomize(weekly(), pa.table({}), policy=ANYTHING)
    people = memory_folder / "people.csv"
    people.write_text("age\n3\n")
    with pytest.raises(NotAllowed, match="takes a ledger to keep which"):
        randomize_file(weekly(), people, memory_folder / "reports.parquet", policy=ANYTHING)


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE offsets SET number = (number + 1) % 13",
        "DELETE FROM offsets",
        "DROP TABLE offsets",
        "INSERT INTO offsets VALUES (':other:13', 0)",
    ],
)
def test_an_offset_that_was_lost_or_changed_is_damage(path, damage):
    """And no ledger without one: the device would draw anew, and answer twice."""
    answers(weekly(), Ledger(path, **PLENTY), range(13))
    with closing(sqlite3.connect(path)) as database:
        database.execute(damage)
        database.commit()
    with pytest.raises(StoreError, match="is damaged"):
        respond(app(), RECORD, policy=ANYTHING, ledger=Ledger(path, **PLENTY), today=MONDAY)


def test_a_ledger_of_before_takes_an_offset(path):
    ledger = Ledger(path, **PLENTY)
    first = respond(app(), RECORD, policy=ANYTHING, ledger=ledger, today=MONDAY)
    assert len(answers(weekly(), ledger)) == 4
    with pytest.raises(OperationalError, match="not sent again"):
        respond(app(), RECORD, policy=ANYTHING, ledger=ledger, today=MONDAY + 60 * WEEK)
    assert first.id


@pytest.mark.parametrize("period", list(PERIODS))
def test_of_so_many_periods_in_a_row_every_offset_has_one(period):
    schedule = Schedule(period=period, sample=5)
    day, turns = date(2027, 12, 31), dict[date, int]()
    while len(turns) < 15:
        day += timedelta(days=1)
        turns.setdefault(schedule.period_of(day), schedule.turn_of(day))
    found = list(turns.values())
    assert found == [(found[0] + number) % 5 for number in range(15)]
    assert all(first.weekday() == 0 for first in turns if period == "week")


def test_what_a_year_costs_is_stated():
    survey = Survey.from_json(weekly().device_text)
    assert sum_of_year(survey) == "4 in any 52 weeks in a row have epsilon 8 together"
    text = " ".join(describe(survey).split())
    assert "once in 13 weeks. This device draws once in which of them, and keeps to it" in text
    assert "4 in any 52 weeks in a row have epsilon 8 together" in text


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('sample = "1/13"', "sample is for a survey with a period"),
        ('period = "week"\nsample = "2/13"', "as \"1/13\", not '2/13'"),
        ('period = "week"\nsample = "1/1"', "sample is one of 2 to 366 periods"),
        ('period = "week"\nsample = 13', 'sample must be a share: "1/13"'),
        ('period = "week"\nsample = "1/4"\npopulation = "census"', "a part of the people"),
    ],
)
def test_a_file_states_a_share_of_its_periods(line, message):
    text = f'[survey]\ntable = "t"\nepsilon = "1"\nmechanism = "grr"\n{line}\n'
    with pytest.raises(SurveyError, match=message):
        design(f'{text}[dimension.a]\ntype = "bool"\n')
