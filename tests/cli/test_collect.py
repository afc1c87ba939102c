"""Randomizing and ingesting on the command line."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.command_line import refusal, run
from support.surveys import (
    ANYTHING,
    RECORD,
    TOML,
    app,
    integer,
    people,
    survey_toml,
)

from ldpsql.designer import design
from ldpsql.store import open_store
from ldpsql.survey import Survey
from ldpsql_device.answer import respond
from ldpsql_device.errors import ReportError


@pytest.fixture
def home(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    app().write(tmp_path / "app.json")
    pq.write_table(people(500), "people.parquet")
    return tmp_path


def replaced(column: str, values: pa.Array) -> pa.Table:
    table = people(len(values))
    return table.set_column(table.column_names.index(column), column, values)


def randomized(home, name="reports.parquet"):
    allowed = ("--public", "day,version")
    done = run("randomize", "people.parquet", "--survey", "app.json", *allowed, "-o", name)
    assert done.exit_code == 0, done.stderr
    return done


def counted():
    asked = run("SELECT COUNT(*) AS n FROM app", "--format", "jsonl")
    return json.loads(asked.stdout)["n"]


def test_reports_of_devices_need_the_survey(home):
    survey = Survey.from_json(home / "app.json")
    lines = [respond(survey, RECORD, policy=ANYTHING).to_json() + "\n" for _ in range(20)]
    (home / "phones.jsonl").write_text("".join(lines))
    taken = run("ingest", "phones.jsonl", "--survey", "app.json")
    assert taken.exit_code == 0, taken.stderr
    assert counted() == 20


def test_a_time_zone_is_left_out_with_a_note(home):
    moments = pa.array([datetime(2026, 1, 1, 2, tzinfo=UTC)] * 3, pa.timestamp("us", "-05:00"))
    pq.write_table(replaced("day", moments), "people.parquet")
    assert "note: day: read as the clocks of their time zone showed it" in randomized(home).stderr
    assert set(pq.read_table("reports.parquet")["day"].to_pylist()) == {date(2025, 12, 31)}


SHUFFLED = survey_toml(
    integer("age", 18, 41), mechanism="hio", trust="shuffle", delta="1e-6", users=1000
)


@pytest.fixture
def fleet(tmp_path):
    """A published survey of shuffled reports, and the reports of 1,200 devices in two spools."""
    (tmp_path / "app.toml").write_text(SHUFFLED)
    survey = tmp_path / "app.json"
    assert run("design", tmp_path / "app.toml", "-o", survey).exit_code == 0
    (tmp_path / "spools").mkdir()
    for name, count in (("one", 500), ("two", 700)):
        ages = pa.table({"age": [18 + i % 24 for i in range(count)]})
        pq.write_table(ages, tmp_path / "people.parquet")
        spool = tmp_path / "spools" / f"{name}.parquet"
        done = run("randomize", tmp_path / "people.parquet", "--survey", survey, "-o", spool)
        assert done.exit_code == 0, done.stderr
    return tmp_path


def test_from_devices_through_a_shuffler_to_an_answer(fleet):
    survey, batch, store = (fleet / name for name in ("app.json", "batch.parquet", "s.duckdb"))
    refused = run("ingest", fleet / "spools", "--db", store, "--survey", survey)
    assert "was not shuffled" in refusal(refused, 1)
    done = run("shuffle", fleet / "spools", "--survey", survey, "-o", batch)
    assert (done.exit_code, done.stdout) == (0, "")
    assert done.stderr == f"{batch}: 1200 reports, shuffled\n"
    assert run("ingest", batch, "--db", store).exit_code == 0
    shown = run("SELECT COUNT(*) FROM app WHERE age < 30", "--db", store, "--format", "json")
    found = json.loads(shown.stdout)
    assert found["guarantee"].endswith(
        "-LDP; (1, 1e-06)-DP once shuffled among at least 1,000 honest people"
    )
    assert not any("smaller" in note for note in found["notes"])


def test_too_few_reports_are_not_shuffled(fleet):
    target = fleet / "batch.parquet"
    one = fleet / "spools" / "one.parquet"
    done = run("shuffle", one, "--survey", fleet / "app.json", "-o", target)
    assert "500 reports are fewer than the 1,000" in refusal(done, 1)
    assert not target.exists()


@pytest.mark.parametrize(
    "command",
    [
        ("design", "app.toml", "-o", "app.toml"),
        ("schema", "people.parquet", "-o", "people.parquet"),
        ("randomize", "people.parquet", "--survey", "app.parquet", "-o", "app.parquet"),
        ("shuffle", "reports.parquet", "--survey", "app.parquet", "-o", "app.parquet"),
        ("query", "SELECT COUNT(*) FROM app", "-o", "ldpsql.duckdb"),
        ("explain", "SELECT COUNT(*) FROM app", "-o", "ldpsql.duckdb"),
        ("synthesize", "--db", "db.csv", "-o", "db.csv"),
        ("bench", "people.csv", "--survey", "app.toml", "-o", "people.csv"),
    ],
    ids=lambda command: command[0],
)
def test_no_command_replaces_a_file_that_it_reads(home, command):
    place = command[command.index("-o") + 1]
    for name in ("app.toml", "app.parquet", "ldpsql.duckdb", "db.csv", "people.csv"):
        (home / name).write_bytes(b"what must stay")
    (home / "link").symlink_to(place)
    said = [refusal(run(*command), 2)]
    if place == "ldpsql.duckdb":
        said.append(refusal(run(*command[:-1], "link"), 2))
    assert all(text.startswith("-o would replace") for text in said)
    if place != "people.parquet":
        assert (home / place).read_bytes() == b"what must stay"


def test_what_was_taken_before_a_bad_file_is_said(home):
    randomized(home, "a.parquet")
    (home / "b.parquet").write_text("hello")
    done = run("ingest", "a.parquet", "b.parquet")
    first, second = done.stderr.splitlines()
    assert first == "a.parquet: 500 reports"
    assert second.startswith("ldpsql: error: b.parquet cannot be read")
    assert (done.exit_code, counted()) == (1, 500)


def test_a_file_of_another_survey_is_named(home):
    randomized(home, "a.parquet")
    assert run("ingest", "a.parquet").exit_code == 0
    design(TOML, epsilon="1").write(home / "app.json")
    randomized(home, "b.parquet")
    done = run("ingest", "a.parquet", "b.parquet")
    assert "error: b.parquet: the store knows another survey app" in done.stderr
    assert (done.exit_code, counted()) == (1, 500)


VISITS = survey_toml(integer("age", 18, 90), epsilon="1", mechanism="hio")


@pytest.fixture
def visits(tmp_path, monkeypatch):
    """A table of 300 visits by 100 customers, and a survey file."""
    monkeypatch.chdir(tmp_path)
    customers = [f"c{number % 100}" for number in range(299)] + [None]
    pq.write_table(
        pa.table({"customer_id": customers, "age": [18 + n % 70 for n in range(300)]}),
        "visits.parquet",
    )
    return VISITS


def reports_of(toml, *more):
    design(toml).write("app.json")
    done = run("randomize", "visits.parquet", "--survey", "app.json", "-o", "r.parquet", *more)
    return done, done.exit_code or pq.read_table("r.parquet").num_rows


def test_a_column_that_looks_like_an_identifier_is_named(visits):
    done, count = reports_of(visits)
    assert count == 300
    assert done.stderr.splitlines()[1] == (
        "note: every row of visits.parquet counts as a person; if customer_id tells persons apart, "
        'say person = "customer_id" under [survey]'
    )


def test_one_report_per_person(visits):
    toml = visits.replace("[survey]", '[survey]\nperson = "customer_id"')
    done, count = reports_of(toml)
    assert count == 101
    assert done.stderr.splitlines() == [
        "r.parquet: 101 reports",
        "note: one report per customer_id: one row, drawn evenly; there were 300 rows",
        "note: 1 row has no customer_id: taken for one person's",
    ]
    assert "customer_id" not in pq.read_schema("r.parquet").names
    assert run("ingest", "r.parquet").exit_code == 0


def test_who_has_the_devices_part_alone_names_the_column(visits):
    done, count = reports_of(visits, "--person", "customer_id")
    assert (done.exit_code, count) == (0, 101)
    said, _ = reports_of(visits.replace("[survey]", '[survey]\nperson = "x"'), "--person", "y")
    assert "the survey tells persons apart by x, not y" in refusal(said, 1)
    said, _ = reports_of(visits, "--person", "age")
    assert "age is a column of the survey" in refusal(said, 1)


def test_ingestion_says_how_far_it_is(visits):
    """Rows read of all rows, in order; a file that is refused stops none before it."""
    reports_of(visits)
    seen: list[tuple[int | None, ...]] = []

    def tell(*of: int | None) -> None:
        seen.append(of)

    with open_store(Path("new.duckdb"), read_only=False) as store:
        store.ingest(["r.parquet"], progress=tell)
        assert seen == [(0, 300), (300, 300)]
        seen.clear()
        Path("damaged.parquet").write_text("nothing")
        reports_of(visits)
        with pytest.raises(ReportError, match="damaged"):
            store.ingest(["r.parquet", "damaged.parquet"], progress=tell)
        assert seen == [(0, None), (300, None)]
        assert store.surveys()
