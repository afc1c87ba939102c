"""From events to reports: columns of surveys, periods that have ended, and what is sent when."""

from __future__ import annotations

import json
import subprocess
import sys
from datetime import date, timedelta
from functools import cache

import pytest
from device.test_collector import answering
from device.test_counters import DAY, VECTORS, Clock
from support.surveys import (
    ANYTHING,
    boolean,
    category,
    dimension,
    integer,
    measure,
    public,
    survey_toml,
)

from ldpsql.designer import design
from ldpsql_device.answer import respond
from ldpsql_device.counters import Counters
from ldpsql_device.description import describe
from ldpsql_device.errors import InterfaceError, NotAllowed, OperationalError, SurveyError
from ldpsql_device.events import (
    LATEST,
    answer_periods,
    days_of,
    periods_due,
    preview,
    record_of,
    report,
)
from ldpsql_device.ledger import Ledger
from ldpsql_device.reports import read_report
from ldpsql_device.survey import PERIODS, Schedule, Survey

EPOCH = date(1970, 1, 1).toordinal()
TODAY = date.fromordinal(DAY + EPOCH)  # a Monday in November
COLUMNS = (
    dimension("runs", "int", edges=[0, 1, 10, 1000], event="count", missing="code"),
    dimension("latency", "float", edges=[0.0, 10.0, 100.0], event="p95 of request", missing="code"),
    boolean("dark_mode", event="seen"),
    integer("active", 0, 31, event="days of runs"),
    category("theme", "dark", "light", event="last", outside="other", missing="code"),
    measure("size", 0, 100, event="largest", required=False),
    public("version", "text", event="last"),
)


@cache
def survey(**keys: object) -> Survey:
    toml = survey_toml(*COLUMNS, mechanism="grr", **{"period": "day", **keys})
    return Survey.from_json(design(toml).device_text)


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def counters(tmp_path, clock):
    found = Counters(tmp_path / "counters", clock=clock)
    yield found
    found.close()


@pytest.fixture
def ledger(tmp_path):
    return Ledger(tmp_path / "ledger", total=1000, per_attribute=1000)


@pytest.mark.parametrize("case", VECTORS["due"], ids=lambda case: case["says"])
def test_periods_that_are_to_be_answered(case):
    if case["period"] not in PERIODS:
        pytest.skip("no such period")
    days = [date.fromisoformat(case[key]) if key in case else None for key in ("from", "until")]
    schedule, today = Schedule(*days, 30, case["period"]), date.fromisoformat(case["today"])
    due = periods_due(schedule, case["born"], case["answered"], today)
    assert [[each.start, each.stop] for each in due] == case["due"]


def test_events_become_a_record(counters):
    for _ in range(20):
        counters.observe("request", 12)
    counters.observe("request", 900)
    counters.add("runs", 7)
    counters.seen("dark_mode")
    counters.set("theme", "dark")
    counters.set("size", 40)
    counters.set("size", 30)
    counters.set("version", "2.1")
    schema = survey().record_schema
    found = record_of(schema, counters, range(DAY, DAY + 1), closes=False)
    assert found == {
        "runs": 7,
        "latency": 11.776,
        "dark_mode": True,
        "active": 1,
        "theme": "dark",
        "size": 40,
        "version": "2.1",
    }
    idle = record_of(schema, counters, range(DAY + 1, DAY + 2), closes=False)
    assert idle == {
        "runs": 0,
        "latency": None,
        "dark_mode": False,
        "active": 0,
        "theme": "dark",
        "size": None,
        "version": "2.1",
    }


def answered(counters, ledger, today, asked=None, **more):
    return [
        *answer_periods(
            asked or survey(), counters, policy=ANYTHING, ledger=ledger, today=today, **more
        )
    ]


def test_every_period_is_answered_once_empty_or_not(counters, ledger, clock):
    counters.set("version", "2.1")
    counters.add("runs")
    assert answered(counters, ledger, TODAY) == []
    given = answered(counters, ledger, TODAY + timedelta(days=5))
    assert [period for period, _ in given] == [TODAY + timedelta(days=n) for n in range(5)]
    assert {each.public["version"] for _, each in given} == {"2.1"}
    assert [each.public["period"] for _, each in given] == [period for period, _ in given]
    assert answered(counters, ledger, TODAY + timedelta(days=5)) == given
    assert len(ledger.history()) == 5
    assert ledger.spent() == 5


def test_a_device_that_was_off_for_long_answers_what_ended_last(counters, ledger):
    counters.flush()
    with counters.open():
        pass
    given = answered(counters, ledger, TODAY + timedelta(days=300))
    assert [period for period, _ in given] == [
        TODAY + timedelta(days=300 - n) for n in range(LATEST + 1, 0, -1)
    ]


def test_a_survey_that_asks_in_some_periods_is_answered_in_one_of_so_many(counters, ledger, clock):
    sampled = survey(period="week", sample="1/13")
    given = {}
    for week in range(40):
        clock.day += 7
        if week % 3 == 0:
            counters.add("runs")
        given.update(answer_periods(sampled, counters, policy=ANYTHING, ledger=ledger))
    weeks = [(period - min(given)).days // 7 for period in given]
    assert weeks == [0, 13, 26][: len(weeks)]
    assert len(weeks) in (3, 4)


def test_which_periods_are_answered_does_not_depend_on_what_was_counted(tmp_path, clock):
    given = []
    for name in ("idle", "busy"):
        clock.day = DAY
        counters = Counters(tmp_path / name, clock=clock)
        ledger = Ledger(tmp_path / f"{name}.ledger", total=1000, per_attribute=1000)
        with counters.open():  # as the program starts
            pass
        if name == "busy":
            for day in range(DAY, DAY + 6):
                clock.day = day
                counters.add("runs", 1000)
                counters.observe("request", 1e9)
                counters.flush()
        own = answered(counters, ledger, TODAY + timedelta(days=6))
        given.append([(period, len(each.report), len(each.id)) for period, each in own])
    assert given[0] == given[1]


def test_late_events_of_a_closed_period_are_counted_later(counters, ledger, clock):
    counters.add("runs", 3)
    counters.flush()
    counters.add("runs", 4)  # of a process that sleeps with this in memory
    sleeping, counters._pending = counters._pending, {}
    clock.day = DAY + 1
    answered(counters, ledger, TODAY + timedelta(days=1))
    counters._pending = sleeping
    counters.flush()
    counts = [
        record_of(survey().record_schema, counters, range(day, day + 1), closes=False)["runs"]
        for day in (DAY, DAY + 1)
    ]
    assert counts == [3, 4]


def test_the_report_of_a_closed_record_stays_the_same_one(counters, ledger, clock, monkeypatch):
    """A device that is killed once the ledger has the report, and before that is marked."""
    counters.add("runs", 3)
    [(_, first)] = answered(counters, ledger, TODAY + timedelta(days=1))
    counters.add("runs", 900)
    [(_, second)] = answered(counters, ledger, TODAY + timedelta(days=1))
    assert first.to_json() == second.to_json()
    assert ledger.spent() == 1


def test_a_period_that_has_not_ended_is_refused(ledger):
    for period in (TODAY + timedelta(days=1), TODAY + timedelta(days=400)):
        with pytest.raises(InterfaceError, match="has ended"):
            respond(survey(), {}, policy=ANYTHING, ledger=ledger, today=TODAY, period=period)
    monthly = survey(period="month")
    with pytest.raises(InterfaceError, match="first day"):
        respond(monthly, {}, policy=ANYTHING, ledger=ledger, today=TODAY, period=date(2026, 10, 2))
    assert ledger.history() == ()


def test_a_survey_without_periods_has_no_events(counters, ledger):
    plain = Survey.from_json(design(survey_toml(boolean("a"), mechanism="grr")).device_text)
    with pytest.raises(InterfaceError, match="with a period"):
        answered(counters, ledger, TODAY, plain)


@pytest.mark.parametrize("period", PERIODS)
def test_the_days_of_a_period(period):
    schedule = Schedule(period=period)
    for number in range(500):
        day = date(2027, 11, 1) + timedelta(days=number)
        days = days_of(schedule, day)
        assert days.start == schedule.period_of(day).toordinal() - EPOCH
        after = date.fromordinal(days.stop + EPOCH)
        assert day < after == schedule.period_of(after)


def test_columns_that_are_no_events_come_from_the_program(counters, ledger):
    columns = (integer("runs", 0, 9, event="count"), public("system", "text"))
    asked = Survey.from_json(
        design(survey_toml(*columns, mechanism="grr", period="day")).device_text
    )
    counters.add("runs")
    policy = type(ANYTHING)(20, public={"system"})
    for record in ({"system": "linux", "runs": 9}, None):
        given = answer_periods(
            asked,
            counters,
            policy=policy,
            ledger=ledger,
            record=record,
            today=TODAY + timedelta(days=1 if record else 2),
        )
        [*_, (_, each)] = given
        assert each.public["system"] == (record or {}).get("system")


class Service:
    """A collector that has one survey, and takes reports or does not."""

    def __init__(self, asked: Survey) -> None:
        self.survey, self.requests, self.lines, self.is_up = asked, [], [], True

    def __call__(self, path: str, body: bytes) -> tuple[int, bytes, dict[str, str]]:
        self.requests.append(path)
        if path.endswith("/reports"):
            self.lines += body.decode().splitlines() if self.is_up else []
            return (200, b"", {}) if self.is_up else (503, b"", {})
        named = json.dumps({"fingerprint": self.survey.fingerprint})
        text = named if "tables" in path else self.survey.device_text
        return 200, text.encode(), {}


def send(counters, url, ledger, today):
    return report(counters, url, "app", policy=ANYTHING, ledger=ledger, today=today)


def test_a_program_reports_as_it_starts(counters, ledger):
    service = Service(survey())
    day = [TODAY + timedelta(days=n) for n in range(9)]
    with answering(service) as url:
        counters.add("runs", 3)
        assert send(counters, url, ledger, day[0]).settled == 0
        asked = len(service.requests)
        assert send(counters, url, ledger, day[0]) is None
        assert len(service.requests) == asked  # not even a question

        assert send(counters, url, ledger, day[1]).settled == 1
        assert send(counters, url, ledger, day[1]) is None
        assert send(counters, url, ledger, day[4]).settled == 3
        assert len(service.lines) == 4

        service.is_up = False
        assert len(send(counters, url, ledger, day[5]).waiting) == 1
        asked = len(service.requests)
        assert send(counters, url, ledger, day[5]) is None  # tried once a day
        assert len(service.requests) == asked
        service.is_up = True
        assert send(counters, url, ledger, day[6]).settled == 2
    history = ledger.history()
    assert [each.report for each in history] == sorted(
        service.lines, key=[each.report for each in history].index
    )
    assert [each.period for each in history] == day[:6]
    assert {(each.epsilon, each.survey) for each in history} == {("1", survey().fingerprint)}
    for line in service.lines:
        read_report(line, survey())
    with counters.open() as (database, _):
        assert database.execute("SELECT * FROM surveys").fetchall() == [
            (survey().fingerprint, describe(survey()))
        ]


def test_a_period_is_answered_once_over_the_versions_of_a_survey(counters, ledger):
    service = Service(survey())
    with answering(service) as url:
        send(counters, url, ledger, TODAY)
        send(counters, url, ledger, TODAY + timedelta(days=2))
        service.survey = survey(label="A later version")
        assert send(counters, url, ledger, TODAY + timedelta(days=3)).settled == 1
    assert len(service.lines) == 3 == len(ledger.history())


def test_what_was_answered_before_a_refusal_is_sent(counters, tmp_path):
    ledger = Ledger(tmp_path / "ledger", total=2, per_attribute=2)
    service = Service(survey())
    with answering(service) as url:
        send(counters, url, ledger, TODAY)
        with pytest.raises(OperationalError, match="budget"):
            send(counters, url, ledger, TODAY + timedelta(days=5))
        assert len(service.lines) == 2
        assert send(counters, url, ledger, TODAY + timedelta(days=5)) is None


def test_a_report_that_is_too_old_to_be_sent_stops_no_later_one(counters, ledger):
    service = Service(survey(replay_window=2))
    day = [TODAY + timedelta(days=n) for n in range(8)]
    with answering(service) as url:
        send(counters, url, ledger, day[0])
        service.is_up = False
        for today in day[1:4]:
            assert send(counters, url, ledger, today).waiting
        service.is_up = True
        with pytest.raises(NotAllowed, match="more than 2 days ago"):
            send(counters, url, ledger, day[5])
        periods = [json.loads(line)["public"]["period"] for line in service.lines]
        assert sorted(periods) == [str(each) for each in day[2:5]]  # the first is too old
        assert send(counters, url, ledger, day[6]).settled == 1


def test_what_was_refused_for_a_while_is_answered_before_the_next_period(counters, tmp_path):
    """Another process may use the ledger for longer than one waits."""
    service, place = Service(survey(period="month")), tmp_path / "ledger"
    first = TODAY.replace(day=1)
    ended = (first + timedelta(days=31)).replace(day=1)
    place.mkdir()
    with answering(service) as url:
        send(counters, url, Ledger(place, total=9, per_attribute=9), first)
        with pytest.raises(OperationalError, match="is not a file"):
            send(counters, url, Ledger(place, total=9, per_attribute=9), ended)
        place.rmdir()
        ledger = Ledger(place, total=9, per_attribute=9)
        assert send(counters, url, ledger, ended) is None  # once a day
        assert send(counters, url, ledger, ended + timedelta(days=1)).settled == 1
        assert send(counters, url, ledger, ended + timedelta(days=2)) is None


def test_a_wrong_clock_stops_no_later_report(counters, ledger):
    service = Service(survey())
    with answering(service) as url:
        send(counters, url, ledger, TODAY)
        assert send(counters, url, ledger, TODAY + timedelta(days=1)).settled == 1
        with pytest.raises(OperationalError, match="the clock says"):
            send(counters, url, ledger, TODAY + timedelta(days=5000))
        counters.add("runs", 7)
        assert send(counters, url, ledger, TODAY + timedelta(days=2)).settled == 1
    found = record_of(survey().record_schema, counters, range(DAY, DAY + 1), closes=False)
    assert found["runs"] == 7


def test_a_survey_beyond_the_policy_closes_nothing(counters, ledger):
    counters.add("runs")
    strict = type(ANYTHING)("0.5")
    with pytest.raises(NotAllowed):
        [
            *answer_periods(
                survey(), counters, policy=strict, ledger=ledger, today=TODAY + timedelta(2)
            )
        ]
    with counters.open() as (_, state):
        assert state["closed"] == 0


def test_a_preview_is_drawn_and_remembered_by_nobody(counters, ledger):
    counters.set("version", "2.1")
    own = [preview(survey(), counters, policy=ANYTHING, today=TODAY) for _ in range(3)]
    assert len({each.id for each in own}) == 3
    assert all(each.public == {"period": TODAY, "version": "2.1"} for each in own)
    for each in own:
        read_report(each.to_json(), survey())
    with counters.open() as (_, state):
        assert state["closed"] == 0
    with pytest.raises(NotAllowed):
        preview(survey(), counters, policy=type(ANYTHING)("0.5"), today=TODAY)


def test_a_program_that_has_nothing_to_report_loads_no_numpy(tmp_path):
    code = """
import sys
from ldpsql_device import Counters, Ledger, Policy, report
counters = Counters(sys.argv[1] + "/counters")
counters.add("runs")
with counters.open() as (_, state):
    state["next"]["app"] = int(counters.clock() // 86400) + 3
ledger = Ledger(sys.argv[1] + "/ledger", total=9, per_attribute=9)
print(report(counters, "http://127.0.0.1:9", "app", policy=Policy(1), ledger=ledger))
print("numpy" in sys.modules, "urllib.request" in sys.modules)
"""
    command = [sys.executable, "-c", code, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout == "None\nFalse False\n"


@pytest.mark.parametrize(
    ("column", "says"),
    [
        (integer("a", 0, 9, event="p95"), "type = .float., not"),
        (boolean("a", event="count"), "not .bool."),
        (category("a", "x", "y", event="seen"), "not .category."),
        (public("a", "int", event="count"), "can travel in clear"),
        (integer("a", 0, 9, event="p0"), "from p1 to p99"),
        (integer("a", 0, 9, event="count of Runs"), "from p1 to p99"),
        (integer("a", 0, 9, event=3), "from p1 to p99"),
        (integer("a", 0, 9, event="count") + measure("a", 0, 9), "write its event for both"),
        (dimension("a", "date", range=["2026-01-01", "2026-01-09"], event="last"), "not .date."),
    ],
)
def test_columns_whose_events_make_no_sense_are_refused(column, says):
    with pytest.raises(SurveyError, match=says):
        design(survey_toml(boolean("b"), column, mechanism="grr", period="day"))


def test_events_need_a_period():
    with pytest.raises(SurveyError, match="period"):
        design(survey_toml(integer("runs", 0, 9, event="count"), mechanism="grr"))


def test_a_published_survey_says_what_becomes_of_events():
    schema = json.loads(survey().device_text)["schema"]
    events = {
        each["name"]: each["event"] for role in schema.values() for each in role if "event" in each
    }
    assert events["latency"] == "p95 of request"
    assert Survey.from_json(survey().device_text).schema == survey().schema
    assert "latency (from events, p95 of request: one of 2 bins" in " ".join(
        describe(survey()).split()
    )
