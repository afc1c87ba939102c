"""`ldpsql db`: what a database holds, and how long."""

from __future__ import annotations

import subprocess
import sys
import time
from datetime import timedelta
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest
from support.command_line import refusal, run, store_reports
from support.surveys import ANYTHING, integer, people, survey_toml

from ldpsql.designer import design
from ldpsql.randomize.table import randomize_batch
from ldpsql.store import open_store
from ldpsql_device.survey import utc_today
from ldpsql_lab.simulation import SeededEntropy


@pytest.fixture
def database(tmp_path: Path) -> Path:
    """Two batches, of 2,000 and of 500 reports."""
    path = tmp_path / "app.duckdb"
    survey = store_reports(path, 2_000)
    reports, _ = randomize_batch(survey, people(500, 1), SeededEntropy(2), policy=ANYTHING)
    with open_store(path, read_only=False) as store:
        store.ingest_table(reports, survey)
    return path


def listed(database: Path) -> list[list[str]]:
    head, *rows = run("--db", database, "db", "list").stdout.splitlines()
    assert head.split() == ["survey", "batch", "day", "reports", "skipped", "kept", "brought", "by"]
    return [row.split()[:6] for row in rows]


def test_batches_are_listed_withdrawn_and_their_reports_deleted(database: Path) -> None:
    today = utc_today().isoformat()
    assert listed(database) == [
        ["app", "1", today, "2,000", "0", "reports"],
        ["app", "2", today, "500", "0", "reports"],
    ]
    done = run("db", "forget", "app", "--batch", 2, "--db", database)
    assert (done.exit_code, done.stdout, done.stderr) == (0, "", "app: 500 reports withdrawn\n")
    done = run("db", "forget", "app", "--batch", 1, "--keep", "counts", "--db", database)
    assert done.stderr == "app: 2000 reports deleted, their counts kept\n"
    assert [row[5] for row in listed(database)] == ["counts", "withdrawn"]
    why = refusal(run("db", "forget", "app", "--batch", 1, "--db", database), 1)
    assert "batch 1 of app: its reports were deleted once counted" in why
    assert run("db", "check", "--db", database).stderr.endswith("1 survey, nothing is wrong\n")


def test_a_database_named_as_a_survey_is_refused_with_the_option(database: Path) -> None:
    folder = database.parent
    for place, what in ((database, "file"), (folder, "folder")):
        assert f"{place} is a {what} and not a survey: write --db {place}" in refusal(
            run("db", "list", place, "--db", database), 2
        )


@pytest.mark.parametrize("keep", ["reports", "counts"])
def test_a_file_of_repeats_alone_is_listed_as_empty(tmp_path: Path, keep: str) -> None:
    """It is known, so that it is not read again; `check` finds nothing wrong."""
    survey = design(survey_toml(integer("age", 0, 8), epsilon="2", mechanism="grr"))
    reports, _ = randomize_batch(
        survey, pa.table({"age": [1, 2, 3]}), SeededEntropy(1), policy=ANYTHING
    )
    database = tmp_path / "repeats.duckdb"
    with open_store(database, read_only=False) as store:
        store.ingest_table(reports, survey, keep=keep)
        store.ingest_table(reports.take([2, 0, 1]), survey, keep=keep)
    assert [row[3:6] for row in listed(database)] == [["3", "0", keep], ["0", "0", "empty"]]
    assert run("db", "check", "--db", database).stderr.endswith("1 survey, nothing is wrong\n")


def test_only_the_decoded_state_is_kept(database: Path, tmp_path: Path) -> None:
    none = run("db", "forget", "app", "--db", database, "--keep", "state", "--batch", 1)
    assert "no decoded sums of them are kept; nothing was changed" in refusal(none, 1)
    database = tmp_path / "decoded.duckdb"
    survey = design(survey_toml(integer("age", 0, 8), epsilon="2", mechanism="fourier"))
    with open_store(database, read_only=False) as store:
        for size in (300, 500):
            ages = pa.table({"age": [row % 9 for row in range(size)]})
            reports, _ = randomize_batch(survey, ages, SeededEntropy(size), policy=ANYTHING)
            store.ingest_table(reports, survey)
    command = ("db", "forget", "app", "--db", database, "--keep", "state", "--batch")
    done = run(*command, 2)
    assert done.stderr == "app: 500 reports deleted, their state kept\n"
    assert [row[5] for row in listed(database)] == ["reports", "state"]
    checked = run("db", "check", "--db", database)
    assert (checked.exit_code, checked.stdout) == (0, "")
    assert checked.stderr.startswith(
        "note: app: of 500 reports only the state is there, of which the number was verified"
    )
    why = refusal(run("db", "forget", "app", "--batch", 1, "--db", database), 1)
    assert "from which no batch can be taken out; nothing was changed" in why


def test_what_came_before_a_day_is_forgotten(database: Path) -> None:
    today, tomorrow = utc_today(), utc_today() + timedelta(1)
    command = ("db", "forget", "app", "--db", database, "--before")
    assert run(*command, today).stderr == "app: 0 reports withdrawn\n"
    assert run(*command, tomorrow, "--keep", "counts").stderr.startswith("app: 2500 reports del")
    assert run(*command, tomorrow, "--keep", "counts").stderr.startswith("app: 0 reports")
    with duckdb.connect(str(database)) as store:
        store.execute("UPDATE batches SET taken = NULL WHERE number = 2")
    note = run(*command, tomorrow, "--keep", "counts").stderr.splitlines()[0]
    assert note.startswith("note: an earlier version took 1 more and wrote no day down")


def test_a_survey_is_copied_deleted_and_vacuumed_away(database: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy.duckdb"
    assert run("db", "export", "app", "-o", copy, "--db", database).exit_code == 0
    assert "already exists" in refusal(run("db", "export", "-o", copy, "--db", database), 3)
    assert run("db", "forget", "app", "--all", "--db", database).stderr == "app: removed\n"
    assert run("db", "list", "--db", database).stdout == "no batches\n"
    assert " MB, before " in run("db", "vacuum", "--db", database).stderr
    assert listed(copy)[0][3] == "2,000"


def test_check_says_what_is_wrong_on_stdout(database: Path) -> None:
    with duckdb.connect(str(database)) as store:
        store.execute("DELETE FROM reports_app WHERE rowid = 1")
    found = run("db", "check", "--db", database)
    assert found.exit_code == 1
    assert "survey app: batch 1 should have 2,000 reports, and there are 1,999\n" in found.stdout
    assert found.stderr == ""


def test_what_to_forget_must_be_said(database: Path) -> None:
    for some in ((), ("--all", "--batch", "1"), ("--before", "2026-01-01", "--batch", "1")):
        found = run("db", "forget", "app", *some, "--db", database)
        assert found.exit_code == 2
        assert "say what to forget: --batch, --before or --all" in found.stderr
    missing = refusal(run("db", "forget", "shop", "--all", "--db", database), 1)
    assert "no survey 'shop'" in missing
    assert len(listed(database)) == 2


@pytest.mark.fast(1)
@pytest.mark.parametrize("command", [("ingest", __file__), ("db", "vacuum")])
def test_a_command_waits_as_long_as_it_is_told(database: Path, command: tuple[str, ...]) -> None:
    script = (
        "import sys; from ldpsql.store import open_store; "
        "s = open_store(sys.argv[1], read_only=True); print('open', flush=True); sys.stdin.read()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", script, str(database)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as reader:
        assert reader.stdout.readline() == "open\n"
        for patience in (0.0, 1.0):
            started = time.monotonic()
            why = refusal(run(*command, "--db", database, "--wait", patience), 3)
            assert time.monotonic() - started >= patience
            assert f"locked by process {reader.pid}" in why
        reader.stdin.close()
    waited = run("db", "vacuum", "--db", database, "--wait", 30)
    assert waited.exit_code == 0


def test_a_copy_is_imported_and_databases_are_merged(database: Path, tmp_path: Path) -> None:
    copy, other, merged = (tmp_path / f"{name}.duckdb" for name in ("copy", "other", "merged"))
    assert run("db", "export", "-o", copy, "--db", database).exit_code == 0
    done = run("db", "import", copy, "--db", other)
    assert (done.exit_code, done.stdout) == (0, "")
    assert done.stderr == "app: 2500 reports in 2 batches\n"
    assert [row[3] for row in listed(other)] == ["2,000", "500"]
    why = refusal(run("db", "import", copy, "app", "--db", other), 1)
    assert "500 reports of app came to both stores in different batches" in why
    done = run("db", "merge", database, "-o", merged)
    assert done.stderr == "app: 2500 reports in 2 batches\n"
    assert run("db", "check", "--db", merged).exit_code == 0
    assert "already exists" in refusal(run("db", "merge", copy, "-o", merged), 3)
