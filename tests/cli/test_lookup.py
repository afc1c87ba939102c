"""`ldpsql lookup`: from a file to a join."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.command_line import refusal, run, store_reports


@pytest.fixture
def database(tmp_path: Path) -> Path:
    store_reports(tmp_path / "app.duckdb", 2_000)
    (tmp_path / "regions.csv").write_text("state,region\nNY,east\nCA,west\n")
    return tmp_path / "app.duckdb"


def test_a_file_is_added_listed_joined_and_removed(database: Path, tmp_path: Path) -> None:
    added = run("lookup", "add", tmp_path / "regions.csv", "--db", database)
    assert added.stderr == "regions: 2 rows of state, region\n"
    assert added.stdout == ""
    assert run("--db", database, "lookup", "list").stdout.split()[-4:] == [
        *("regions", "2", "state,", "region")
    ]
    joined = run(
        "--db",
        database,
        "SELECT region, COUNT(*) FROM app JOIN regions USING (state) GROUP BY region",
    )
    assert "east" in joined.stdout
    assert "±" in joined.stdout
    assert "regions" in run("SHOW TABLES", "--db", database).stdout
    assert "region" in run("DESCRIBE regions", "--db", database).stdout
    assert run("lookup", "remove", "regions", "--db", database).exit_code == 0
    assert run("lookup", "list", "--db", database).stdout == "no look-up tables\n"


def test_what_cannot_be_added_is_refused(database: Path, tmp_path: Path) -> None:
    file = tmp_path / "regions.csv"
    taken = refusal(run("lookup", "add", file, "--db", database, "--name", "app"), 1)
    assert taken == "there is a survey app; give another name"
    assert run("lookup", "add", file, "--db", database).exit_code == 0
    assert "remove it" in refusal(run("lookup", "add", file, "--db", database), 1)
    assert run("lookup", "add", file, "--db", database, "--replace").exit_code == 0
    assert "no file" in refusal(run("lookup", "add", tmp_path / "x.csv", "--db", database), 1)
    assert "no look-up table" in refusal(run("lookup", "remove", "x", "--db", database), 1)
