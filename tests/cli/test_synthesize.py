"""Synthetic tables on the command line."""

from __future__ import annotations

import csv
import json

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from support.command_line import refusal, run, store_reports

from ldpsql.store import open_store
from ldpsql.synthesis import Synthesizer
from ldpsql.terminal.formats import TABLE_SUFFIXES


@pytest.fixture(scope="module")
def database(tmp_path_factory):
    path = tmp_path_factory.mktemp("synthesize") / "app.duckdb"
    store_reports(path, 5000)
    return path


def test_a_parquet_file_with_its_promise_and_notes(database, tmp_path):
    target = tmp_path / "out.parquet"
    done = run("synthesize", "--db", database, "-n", 1234, "-o", target, "--seed", 1)
    assert (done.exit_code, done.stdout) == (0, "")
    notes = done.stderr.splitlines()
    assert all(note.startswith("note: ") for note in notes)
    assert "5000 reports" in notes[0]
    assert "2-LDP" in notes[0]
    table = pq.read_table(target)
    assert table.num_rows == 1234
    assert table.column_names == ["age", "state", "spent", "day", "version"]
    assert table.schema.metadata[b"ldpsql.guarantee"] == b"app: 2-LDP (hgrr)"
    said = table.schema.metadata[b"ldpsql.notes"].decode().splitlines()
    assert [f"note: {note}" for note in said] == notes
    ages = table["age"].to_numpy()
    assert 18 <= ages.min() < ages.max() <= 90
    assert set(table["state"].to_pylist()) == {"CA", "NY", "WA", None}
    assert np.isfinite(table["spent"].to_numpy()).all()


def test_the_same_seed_the_same_file_and_csv(database, tmp_path):
    tables = []
    for name in ("one.csv", "two.CSV"):
        done = run("synthesize", "--db", database, "-n", 300, "-o", tmp_path / name, "--seed", 7)
        assert done.exit_code == 0
        tables.append(pa.csv.read_csv(tmp_path / name))
    assert tables[0].equals(tables[1])
    assert tables[0].num_rows == 300
    run("synthesize", "--db", database, "-n", 300, "-o", tmp_path / "three.csv", "--seed", 8)
    assert not tables[0].equals(pa.csv.read_csv(tmp_path / "three.csv"))


@pytest.mark.fast(1)
@pytest.mark.parametrize("suffix", TABLE_SUFFIXES)
def test_every_format_of_tables_holds_the_same_rows(database, tmp_path, suffix):
    target = tmp_path / f"out{suffix}"
    done = run("synthesize", "--db", database, "-n", 200, "-o", target, "--seed", 7)
    assert done.exit_code == 0, done.stderr
    if suffix in (".csv", ".tsv"):
        rows = list(
            csv.DictReader(
                target.read_text().splitlines(), delimiter="," if suffix == ".csv" else "\t"
            )
        )
        ages = [int(row["age"]) for row in rows]
    elif suffix == ".jsonl":
        ages = [json.loads(line)["age"] for line in target.read_text().splitlines()]
    elif suffix == ".arrow":
        ages = pa.ipc.open_stream(target.read_bytes()).read_all()["age"].to_pylist()
    else:
        ages = pq.read_table(target)["age"].to_pylist()
    with open_store(database, read_only=True) as store:
        assert ages == Synthesizer.of(store).table(200, 7)["age"].to_pylist()


def test_as_many_rows_as_reports_unless_told(database, tmp_path):
    target = tmp_path / "out.parquet"
    assert run("synthesize", "--db", database, "-o", target).exit_code == 0
    assert pq.read_metadata(target).num_rows == 5000


def test_a_failure_leaves_the_old_file_as_it_was(database, tmp_path, monkeypatch):
    target = tmp_path / "out.parquet"
    target.write_text("old")

    def full(*_):
        raise OSError(28, "No space left on device", str(target))

    monkeypatch.setattr(pq.ParquetWriter, "write_table", full)
    assert "No space left" in refusal(run("synthesize", "--db", database, "-o", target), 1)
    assert target.read_text() == "old"
    assert list(tmp_path.iterdir()) == [target]
