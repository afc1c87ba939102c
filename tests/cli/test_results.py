"""Results in every format, from a result made by hand."""

from __future__ import annotations

import io
import json
import math
import os
from dataclasses import replace
from datetime import date, datetime
from decimal import Decimal

import click
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.surveys import app, unsound

from ldpsql.engine.arithmetic import Interval
from ldpsql.engine.result import Result, make_distinct
from ldpsql.terminal import formats
from ldpsql.terminal.results import write_result

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


def test_a_table_shows_error_bars_and_marks_weak_numbers(capsysbinary):
    out, err = written(capsysbinary, None)
    assert out.decode().splitlines() == [
        "state            n                avg  day",
        "-----  -----------  -----------------  ----------",
        "CA     1234 ± 10    41.3 [39.8, 44.9]  2026-01-31",
        "NULL    10 ± 100 ~               NULL  2026-02-01",
    ]
    assert err == (
        "note: ± is half the width of the 95 % interval\n"
        "note: 1 of 3 numbers weak (~): standard error above a fifth of the value; about 630,000 "
        "reports would make it strong (there are 1,000)\n"
    )


def test_a_table_may_have_errors_as_columns(capsysbinary):
    out, err = written(capsysbinary, "markdown", intervals=True)
    head, _, first, _ = out.decode().splitlines()
    assert head.startswith("| state | n | n_stderr | n_low | n_high | avg | avg_stderr |")
    assert first.startswith("| CA | 1234.5 | 5 | 1224.5 | 1244.5 |")
    assert "±" not in out.decode() + err


def test_markdown_is_a_table_too(capsysbinary):
    out, _ = written(capsysbinary, "markdown")
    assert out.decode().splitlines() == [
        "| state | n | avg | day |",
        "| :--- | ---: | ---: | :--- |",
        "| CA | 1234 ± 10 | 41.3 [39.8, 44.9] | 2026-01-31 |",
        "| NULL | 10 ± 100 ~ | NULL | 2026-02-01 |",
    ]


@pytest.mark.parametrize(("form", "mark"), [("csv", ","), ("tsv", "\t")])
def test_separated_values_keep_all_digits(capsysbinary, form, mark):
    out, _ = written(capsysbinary, form, intervals=True)
    lines = [line.split(mark) for line in out.decode().splitlines()]
    assert lines[0][:6] == ["state", "n", "n_stderr", "n_low", "n_high", "avg"]
    assert lines[1][:5] == ["CA", "1234.5", "5.0", "1224.5", "1244.5"]
    assert lines[2] == ["", "10.0", "50.0", "-90.0", "110.0", "", "", "", "", "2026-02-01"]


def test_json_says_what_was_promised(capsysbinary):
    out, _ = written(capsysbinary, "json")
    document = json.loads(out)
    assert document["columns"] == ["state", "n", "avg", "day"]
    assert document["rows"][1] == {"state": None, "n": 10.0, "avg": None, "day": "2026-02-01"}
    facts = {key: document[key] for key in ("mechanism", "epsilon", "guarantee", "n_reports")}
    assert facts == {"mechanism": "hgrr", "epsilon": 2.0, "guarantee": "2-LDP", "n_reports": 1000}


def test_json_lines_are_rows(capsysbinary):
    out, _ = written(capsysbinary, "jsonl", intervals=True)
    rows = [json.loads(line) for line in out.splitlines()]
    assert (rows[0]["n_low"], rows[1]["avg_stderr"]) == (1224.5, None)


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


def test_a_table_shows_typical_errors_beside_the_bars(capsysbinary):
    out, _ = written(capsysbinary, None, shown=smoothed())
    assert out.decode().splitlines()[2:] == [
        "CA     1234 ± 10 (typ. 4.3)    41.3 [39.8, 44.9] (typ. ?)  2026-01-31",
        "NULL      10 ± 100 (typ. 0) ~                        NULL  2026-02-01",
    ]


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


def test_json_gives_no_epsilon_where_none_holds(capsysbinary):
    out, _ = written(capsysbinary, "json", shown=replace(result(), surveys=(unsound(),)))
    document = json.loads(out)
    assert (document["epsilon"], document["nominal_epsilon"]) == (None, 1.0)
    assert document["guarantee"] == "not differentially private"
    sound = json.loads(written(capsysbinary, "json")[0])
    assert (sound["epsilon"], sound["nominal_epsilon"]) == (2.0, 2.0)


def test_notes_go_to_stderr(capsysbinary):
    out, err = written(capsysbinary, "csv", shown=result(notes=("mind the gap",)))
    assert b"mind" not in out
    assert err.startswith("note: mind the gap\nnote: 1 of 3")


def test_an_explanation_is_printed_as_it_is(capsysbinary):
    shown = Result(pa.table({}), explain="box: all\n  group 1")
    for form in ("table", "markdown", None):
        assert written(capsysbinary, form, shown=shown) == (b"box: all\n  group 1\n", "")


def test_an_explanation_for_machines_is_a_table_of_lines(capsysbinary):
    lines = ["box: all", "  group 1"]
    plan = pa.table({"plan": lines})
    shown = Result(plan, explain="\n".join(lines), notes=("a batch was smaller",))
    out, err = written(capsysbinary, "json", shown=shown)
    assert json.loads(out)["rows"] == [{"plan": line} for line in lines]
    assert err == "note: a batch was smaller\n"
    assert pa.ipc.open_stream(written(capsysbinary, "arrow", shown=shown)[0]).read_all() == plan


@pytest.mark.parametrize(
    ("values", "text"),
    [
        ((0.0,), "an estimate of 0 stays weak with any number of reports"),
        ((0.0, 10.0), "about 25,000 reports would make those not 0 strong (there are 1,000)"),
        ((10.0,), "about 25,000 reports would make it strong (there are 1,000)"),
    ],
)
def test_a_note_says_what_would_make_weak_numbers_strong(capsysbinary, values, text):
    errors = np.full(len(values), 10.0)
    estimates = np.array(values)
    shown = Result(
        pa.table({"n": estimates}),
        {0: Interval(errors, estimates - 20, estimates + 20)},
        reports=1000,
    )
    assert text in written(capsysbinary, "csv", shown=shown)[1]


def test_a_strong_result_needs_no_note():
    strong = result()
    only = Result(
        strong.table.select([0, 1]).slice(0, 1),
        {1: Interval(np.array([5.0]), np.array([1224.5]), np.array([1244.5]))},
        reports=1000,
    )
    assert only.weak_notes() == []


def test_repeated_names_are_told_apart():
    assert make_distinct(["n", "n", "x", "n_2", "n"]) == ["n", "n_3", "x", "n_2", "n_4"]
    assert make_distinct(["a", "b"]) == ["a", "b"]


def test_a_table_with_repeated_names_can_be_written(capsysbinary):
    table = pa.Table.from_arrays([pa.array([1]), pa.array([2])], names=["n", "n"])
    out, _ = written(capsysbinary, "jsonl", shown=Result(table))
    assert json.loads(out) == {"n": 1, "n_2": 2}


def test_an_empty_result_is_a_header(capsysbinary):
    shown = Result(pa.table({"n": pa.array([], pa.int64())}))
    assert written(capsysbinary, "table", shown=shown)[0] == b"n\n-\n"
    assert written(capsysbinary, "csv", shown=shown)[0] == b"n\n"


def test_cells_never_break_the_table(capsysbinary):
    table = pa.Table.from_arrays([pa.array(["x\x1b[31m\ny|z"])], names=["a\nb"])
    out, _ = written(capsysbinary, "table", shown=Result(table))
    assert out.decode().splitlines()[0] == "a b"
    assert b"\x1b" not in out
    out, _ = written(capsysbinary, "markdown", shown=Result(table))
    assert out.decode().splitlines()[2] == "| x [31m y\\|z |"


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


@pytest.mark.parametrize("form", ["csv", "jsonl"])
def test_values_of_every_type_are_written_in_full(capsysbinary, form):
    values = [None, True, "a,b", date(2026, 1, 31), datetime(2026, 1, 31, 5), 0.1, NAN, 7]
    arrays = [pa.array([value]) for value in (*values, Decimal("2.50"))]
    names = [f"c{place}" for place in range(len(arrays))]
    shown = Result(pa.table(arrays, names=names))
    text = written(capsysbinary, form, shown=shown)[0].decode().splitlines()[-1]
    if form == "csv":
        assert text == ',true,"a,b",2026-01-31,2026-01-31 05:00:00,0.1,,7,2.50'
    else:
        found = list(json.loads(text).values())
        expected = [None, True, "a,b", "2026-01-31", "2026-01-31T05:00:00", 0.1, None, 7, 2.5]
        assert found == expected
