"""Results in every format, from a result made by hand."""

from __future__ import annotations

import io
import json
import math
import os
from dataclasses import replace
from datetime import date, datetime
from decimal import Decimal
from itertools import product
from pathlib import Path

import click
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.surveys import app, unsound

from ldpsql.dbapi.asking import write_result
from ldpsql.engine.arithmetic import Interval
from ldpsql.engine.result import Result, make_distinct
from ldpsql.terminal import formats

NAN = math.nan


def result(notes=()):
    """Two groups: a strong and a weak count, an average that is lopsided or unknown."""
    columns = [
        ("state", pa.array(["CA", None])),
        ("n", pa.array([1234.5, 10.0])),
        ("avg", pa.array([41.3, None], pa.float64())),
        ("day", pa.array([date(2026, 1, 31), date(2026, 2, 1)])),
    ]
    return Result(
        pa.table(dict(columns)),
        {
            1: Interval(
                np.array([5.0, 50.0]), np.array([1224.5, -90.0]), np.array([1244.5, 110.0])
            ),
            2: Interval(np.array([1.0, NAN]), np.array([39.8, NAN]), np.array([44.9, NAN])),
        },
        notes=notes,
        surveys=(app(),),
        reports=1000,
    )


def written(capsysbinary, form, *, intervals=False, shown=None):
    write_result(shown or result(), form, None, intervals=intervals)
    captured = capsysbinary.readouterr()
    return captured.out, captured.err.decode()


def test_arrow_and_parquet_carry_the_table(capsysbinary):
    expected = result().distinct(intervals=True)
    out, _ = written(capsysbinary, "arrow", intervals=True)
    assert pa.ipc.open_stream(out).read_all().equals(expected)
    out, _ = written(capsysbinary, "parquet", intervals=True)
    assert pq.read_table(io.BytesIO(out)).equals(expected)
    assert expected.column("avg_low").to_pylist() == [39.8, None]


@pytest.mark.parametrize(
    ("name", "start"),
    [("a.csv", b"state,"), ("a.json", b"{\n"), ("a.md", b"| s"), ("a", b"state ")],
)
def test_the_suffix_of_the_file_gives_the_format(tmp_path, capsysbinary, name, start):
    write_result(result(), None, tmp_path / name, intervals=False)
    assert (tmp_path / name).read_bytes().startswith(start)
    assert capsysbinary.readouterr().out == b""
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_binary_formats_are_not_for_a_terminal(monkeypatch):
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    with pytest.raises(click.UsageError, match="name a file with -o"):
        write_result(result(), "parquet", None, intervals=False)


def smoothed():
    """The result again, with the typical errors of a second estimator."""
    return replace(
        result(),
        typical={1: np.array([4.26, 0.0]), 2: np.array([NAN, NAN])},
        estimators=("smooth",),
    )


def test_machines_get_typical_errors_with_the_intervals(capsysbinary):
    found = smoothed().distinct(intervals=True)
    names = [name for name in found.column_names if name.startswith("n")]
    assert names == ["n", "n_stderr", "n_low", "n_high", "n_typical"]
    assert found["n_typical"].to_pylist() == [4.26, 0.0]
    assert found["avg_typical"].to_pylist() == [None, None]
    assert not {"n_typical"} & set(smoothed().distinct(intervals=False).column_names)
    assert not {"n_typical"} & set(result().distinct(intervals=True).column_names)
    out, _ = written(capsysbinary, "json", shown=smoothed(), intervals=True)
    document = json.loads(out)
    assert document["estimator"] == "smooth"
    assert document["rows"][0]["n_typical"] == 4.26


@pytest.mark.parametrize("form", ["arrow", "parquet"])
def test_binary_formats_carry_the_guarantee(capsysbinary, form):
    both = replace(result(), surveys=(app(), unsound()))
    out, _ = written(capsysbinary, form, shown=both)
    read = pq.read_table if form == "parquet" else pa.ipc.open_stream
    assert read(io.BytesIO(out)).schema.metadata[b"ldpsql.guarantee"].decode() == (
        "app: 2-LDP (hgrr)\nsmall: not differentially private (lgrr-fd)"
    )


def test_repeated_names_are_told_apart():
    assert make_distinct(["n", "n", "x", "n_2", "n"]) == ["n", "n_3", "x", "n_2", "n_4"]
    assert make_distinct(["a", "b"]) == ["a", "b"]


@pytest.mark.parametrize(("columns", "is_upright"), [(49, False), (48, True)])
def test_a_row_too_wide_for_the_terminal_stands_upright(
    monkeypatch, capsysbinary, columns, is_upright
):
    """Name and value per line; as a table while it fits, and in a file or pipe in any case."""
    size = os.terminal_size((columns, 24))
    monkeypatch.setattr(formats.shutil, "get_terminal_size", lambda: size)
    assert written(capsysbinary, "table")[0].startswith(b"state  ")
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    lines = written(capsysbinary, "table")[0].decode().splitlines()
    if is_upright:
        assert lines[:3] == ["-- row 1", "state     CA", "n         1234 ± 10"]
        assert len(lines) == 10
    else:
        assert lines[0].split() == ["state", "n", "avg", "day"]
        assert len(lines) == 4


def counted(*values: float) -> Result:
    """Counts with a standard error of 10."""
    estimates, errors = np.array(values), np.full(len(values), 10.0)
    bars = Interval(errors, estimates - 20, estimates + 20)
    return Result(pa.table({"n": estimates}), {0: bars}, reports=1000)


def every_type() -> Result:
    values = [None, True, "a,b", date(2026, 1, 31), datetime(2026, 1, 31, 5), 0.1, NAN, 7]
    arrays = [pa.array([value]) for value in (*values, Decimal("2.50"))]
    return Result(pa.table(arrays, names=[f"c{place}" for place in range(len(arrays))]))


def named(names: list[str], *values: object) -> Result:
    return Result(pa.Table.from_arrays([pa.array([value]) for value in values], names=names))


LINES = ["box: all", "  group 1"]
EVERY = ("table", "markdown", "csv", "tsv", "json", "jsonl")
SHOWN = {
    "two groups": (result(), EVERY),
    "with a note": (result(notes=("mind the gap",)), ("csv",)),
    "with typical errors": (smoothed(), ("table", "json")),
    "of a survey without a guarantee": (replace(result(), surveys=(unsound(),)), ("json",)),
    "an estimate of 0": (counted(0.0), ("csv",)),
    "one of 0 and a weak one": (counted(0.0, 10.0), ("csv",)),
    "a weak one": (counted(10.0), ("csv",)),
    "a strong one": (counted(1234.5), ("csv",)),
    "an explanation": (Result(pa.table({}), explain="\n".join(LINES)), ("table", "markdown")),
    "an explanation for machines": (
        Result(pa.table({"plan": LINES}), explain="\n".join(LINES), notes=("a batch was smaller",)),
        ("json",),
    ),
    "repeated names": (named(["n", "n"], 1, 2), ("jsonl",)),
    "no rows": (Result(pa.table({"n": pa.array([], pa.int64())})), ("table", "csv")),
    "cells that could break a table": (named(["a\nb"], "x\x1b[31m\ny|z"), ("table", "markdown")),
    "values of every type": (every_type(), ("csv", "jsonl")),
}


def test_results_are_written_as_they_were(capsysbinary, golden):
    """Tables mark weak numbers and show error bars, machines get all digits, and notes go to
    stderr; with intervals, errors are columns. A document of JSON is written in one line here."""
    parts = []
    for name, (shown, forms) in SHOWN.items():
        for form, intervals in product(forms, (False, True) if shown.intervals else (False,)):
            out, err = written(capsysbinary, form, shown=shown, intervals=intervals)
            text = json.dumps(json.loads(out)) if form == "json" else out.decode().rstrip("\n")
            parts.append(f"=== {name}, {form}{', with intervals' if intervals else ''}\n{text}")
            parts += [f"! {line}" for line in err.splitlines()]
    golden(Path(__file__).with_name("results.txt"), "\n".join(parts) + "\n")
