"""Randomizing and ingesting on the command line."""

from __future__ import annotations

import json
import re
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
    partly_sensitive,
    people,
    survey_toml,
    unsound,
)

from ldpsql.designer import design
from ldpsql.store import open_store
from ldpsql.survey import Survey
from ldpsql_device.answer import respond
from ldpsql_device.errors import ReportError

RANDOMIZE = (
    *("randomize", "people.parquet", "--survey", "app.json"),
    *("--public", "day,version", "-o", "r.parquet"),
)


@pytest.fixture
def home(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    app().write(tmp_path / "app.json")
    pq.write_table(people(500), "people.parquet")
    return tmp_path


def replaced(column: str, values: pa.Array) -> pa.Table:
    table = people(len(values))
    return table.set_column(table.column_names.index(column), column, values)


def randomized(home, name="reports.parquet", data="people.parquet", *extra):
    done = run(
        "randomize", data, "--survey", "app.json", "--public", "day,version", "-o", name, *extra
    )
    assert done.exit_code == 0, done.stderr
    return done


def counted():
    asked = run("SELECT COUNT(*) AS n FROM app", "--format", "jsonl")
    return json.loads(asked.stdout)["n"]


def test_a_survey_end_to_end(home):
    done = randomized(home)
    assert (done.stdout, done.stderr.splitlines()[0]) == ("", "reports.parquet: 500 reports")
    states = "values of state .* were missing or unreadable: counted as missing"
    assert re.search(f"note: [0-9]+ of 500 {states}", done.stderr)
    taken = run("ingest", "reports.parquet")
    assert (taken.exit_code, taken.stdout) == (0, "")
    assert "500 reports" in taken.stderr
    assert counted() == 500


def test_the_same_file_twice_counts_once(home):
    randomized(home)
    run("ingest", "reports.parquet")
    assert "already there" in run("ingest", "reports.parquet").stderr
    assert counted() == 500


def test_many_files_and_counts_only(home):
    for name in ("a.parquet", "b.parquet"):
        randomized(home, name)
    taken = run("ingest", "a.parquet", "b.parquet", "--keep", "counts")
    assert taken.exit_code == 0, taken.stderr
    assert counted() == 1000


def test_reports_of_devices_need_the_survey(home):
    survey = Survey.from_json(home / "app.json")
    lines = [respond(survey, RECORD, policy=ANYTHING).to_json() + "\n" for _ in range(20)]
    (home / "phones.jsonl").write_text("".join(lines))
    taken = run("ingest", "phones.jsonl", "--survey", "app.json")
    assert taken.exit_code == 0, taken.stderr
    assert counted() == 20


def test_clamped_values_are_reported(home):
    pq.write_table(replaced("spent", pa.array([900.0, -1.0, 3.0])), "people.parquet")
    done = randomized(home)
    outside = "of 3 values of spent (66.67%) were outside its bounds: counted as the nearer bound"
    assert f"note: 2 {outside}" in done.stderr


def test_everybody_is_answered_whatever_their_values(home):
    pq.write_table(replaced("age", pa.array([30, 123, None])), "people.parquet")
    done = randomized(home)
    assert "3 reports" in done.stderr
    nearest = "of 3 values of age (33.33%) was outside its domain: counted as the nearest value"
    assert f"note: 1 {nearest}" in done.stderr
    drawn = "was missing or unreadable: counted as a value drawn evenly"
    assert f"note: 1 of 3 values of age (33.33%) {drawn}" in done.stderr


def test_a_column_of_which_nothing_fits_is_told_first(home):
    table = replaced("spent", pa.nulls(3, pa.float64())).drop_columns("age")
    pq.write_table(table.append_column("age", pa.array([30, 123, 12])), "people.parquet")
    notes = [line for line in randomized(home).stderr.splitlines() if "values of" in line]
    assert notes[0].startswith("note: 3 of 3 values of spent (100.00%) were missing or unreadable")
    assert notes[0].endswith("; answers about it say nothing of these people")
    assert [each for each in notes[1:] if "say nothing" in each] == []


def test_a_time_zone_is_left_out_with_a_note(home):
    moments = pa.array([datetime(2026, 1, 1, 2, tzinfo=UTC)] * 3, pa.timestamp("us", "-05:00"))
    pq.write_table(replaced("day", moments), "people.parquet")
    assert "note: day: read as the clocks of their time zone showed it" in randomized(home).stderr
    assert set(pq.read_table("reports.parquet")["day"].to_pylist()) == {date(2025, 12, 31)}


def test_a_truncated_file_of_people_is_exit_code_1(home):
    content = (home / "people.parquet").read_bytes()
    (home / "people.parquet").write_bytes(content[:-100])
    asked = run(*RANDOMIZE)
    assert "damaged or cut short" in refusal(asked, 1)


def test_a_truncated_file_of_reports_is_exit_code_1(home):
    randomized(home)
    content = (home / "reports.parquet").read_bytes()
    (home / "reports.parquet").write_bytes(content[:-100])
    assert "reports.parquet" in refusal(run("ingest", "reports.parquet"), 1)


def test_a_report_of_another_survey_is_exit_code_1(home):
    randomized(home)
    assert run("ingest", "reports.parquet").exit_code == 0
    (home / "app.json").write_text(design(TOML, epsilon="1").to_json())
    randomized(home, "other.parquet")
    refusal(run("ingest", "other.parquet"), 1)
    assert counted() == 500


def test_a_changed_survey_is_refused(home):
    text = (home / "app.collector.json").read_text().replace('"epsilon":"2"', '"epsilon":"8"')
    (home / "app.collector.json").write_text(text)
    asked = run("ingest", "reports.parquet", "--survey", "app.json")
    assert "not the one that the survey names" in refusal(asked, 1)


def test_what_is_missing_is_said(home):
    asked = run(
        "randomize",
        "nobody.parquet",
        "--survey",
        "app.json",
        "--public",
        "day,version",
        "-o",
        "r.parquet",
    )
    assert "there is no file nobody.parquet" in refusal(asked, 1)
    refusal(run("randomize", "people.parquet", "-o", "r.parquet"), 2)
    refusal(run("ingest", "nothing.parquet"), 1)


def test_no_database_is_made_for_a_file_that_is_not_there(home):
    why = refusal(run("ingest", "nothing.parquet", "--db", "new.duckdb"), 1)
    assert "there is no file nothing.parquet" in why
    assert not list(home.glob("new.duckdb*"))


def test_a_survey_without_a_guarantee_needs_its_flag(home):
    (home / "app.json").write_text(unsound().to_json())
    assert "--accept-no-guarantee" in refusal(run(*RANDOMIZE), 1)
    assert not (home / "r.parquet").exists()
    assert "500 reports" in run(*RANDOMIZE, "--accept-no-guarantee").stderr


def test_columns_in_clear_are_named_and_an_epsilon_may_be_the_most(home):
    asked = ("randomize", "people.parquet", "--survey", "app.json", "-o", "r.parquet")
    said = refusal(run(*asked), 1)
    assert said.startswith("survey app sends day, version in clear")
    assert "ldpsql randomize --public day,version" in said
    named = (*asked, "--public", "version, day")
    assert "epsilon 2 of every report" in refusal(run(*named, "--max-epsilon", "1.9"), 1)
    for nonsense in ("a lot", ""):
        assert "max_epsilon is a number" in refusal(run(*named, "--max-epsilon", nonsense), 1)
    assert not (home / "r.parquet").exists()
    assert "500 reports" in run(*named, "--max-epsilon", "2").stderr


def test_a_survey_that_gives_values_away_must_be_accepted_on_the_device_too(home):
    (home / "small.json").write_text(partly_sensitive("jurr").to_json())
    asked = ("randomize", "people.parquet", "--survey", "small.json", "-o", "r.parquet")
    refused = refusal(run(*asked), 1)
    assert "does not protect all values of age, state" in refused
    assert "--accept-disclosure" in refused
    assert "500 reports" in run(*asked, "--accept-disclosure").stderr


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


@pytest.mark.parametrize("command", ["randomize", "shuffle"])
def test_reports_are_written_where_they_can_be_read_again(home, command):
    said = refusal(run(command, "people.parquet", "--survey", "app.json", "-o", "out.csv"), 2)
    assert "a file of reports ends in .parquet" in said
    assert not (home / "out.csv").exists()


def test_a_survey_that_is_none_is_named(home):
    (home / "none.json").write_text("hello")
    (home / "bytes.json").write_bytes(b"\xff\xfe")
    for name, text in (
        ("none.json", "none.json: not a survey: it is not JSON (make one with `ldpsql design`)"),
        ("bytes.json", "cannot read the survey bytes.json: it is not UTF-8 text"),
    ):
        said = refusal(run("randomize", "people.parquet", "--survey", name, "-o", "r.parquet"), 1)
        assert said.startswith(text)


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
    said, _ = reports_of(visits, "--person", "nobody")
    assert "has no column 'nobody'" in refusal(said, 1)
    said, _ = reports_of(visits, "--person", "customer_id", "--keep-order")
    assert "has no place to keep" in refusal(said, 1)


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
