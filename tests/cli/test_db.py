"""`ldpsql db`: what a database holds, and how long."""

from __future__ import annotations

import shutil
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


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("made") / "app.duckdb"
    survey = store_reports(path, 2_000)
    reports, _ = randomize_batch(survey, people(500, 1), SeededEntropy(2), policy=ANYTHING)
    with open_store(path, read_only=False) as store:
        store.ingest_table(reports, survey)
    return path


@pytest.fixture
def database(made: Path, tmp_path: Path) -> Path:
    """Two batches, of 2,000 and of 500 reports."""
    return Path(shutil.copy(made, tmp_path))


def listed(database: Path) -> list[list[str]]:
    head, *rows = run("--db", database, "db", "list").stdout.splitlines()
    assert head.split() == ["survey", "batch", "day", "reports", "skipped", "kept", "brought", "by"]
    return [row.split()[:6] for row in rows]


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


def test_check_says_what_is_wrong_on_stdout(database: Path) -> None:
    with duckdb.connect(str(database)) as store:
        store.execute("DELETE FROM reports_app WHERE rowid = 1")
    found = run("db", "check", "--db", database)
    assert found.exit_code == 1
    assert "survey app: batch 1 should have 2,000 reports, and there are 1,999\n" in found.stdout
    assert found.stderr == ""


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
