"""Runs at the collector. Sees reports. Results as text and files.

stdout carries the result and nothing else; what is to be said about it goes to stderr.
"""

from __future__ import annotations

import csv
import io
import json
import math
import shutil
import sys
from collections.abc import Callable, Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import Any

import click
import pyarrow as pa

from ldpsql.cli.figures import Figure, about, plain
from ldpsql.engine.result import GUARANTEE_KEY, Result
from ldpsql.survey import Survey

SUFFIXES = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".json": "json",
    ".jsonl": "jsonl",
    ".md": "markdown",
    ".arrow": "arrow",
    ".parquet": "parquet",
}


def write(result: Result, form: str | None, target: Path | None, *, intervals: bool) -> None:
    """Write a result to a file or stdout; its notes, and what is weak in it, to stderr."""
    if form is None:
        form = SUFFIXES.get(target.suffix.lower(), "table") if target else "table"
    if form in ("arrow", "parquet") and target is None and sys.stdout.isatty():
        raise click.UsageError(f"{form} is not for a terminal; name a file with -o")
    render = _FOR_PEOPLE.get(form)
    if result.explain is not None and form not in _FOR_MACHINES:
        content = (result.explain + "\n").encode()
    elif render is not None:
        content = render(*_cells(result)).encode()
    else:
        content = _FOR_MACHINES[form](result, machine_table(result, intervals=intervals))
    _deliver(content, target)
    for note in (*result.notes, *weak_notes(result)):
        click.echo(f"note: {note}", err=True)


def figures(result: Result, index: int) -> list[Figure | None]:
    """The estimates of one output column, row by row; None for NULL."""
    interval = result.intervals[index]
    values = result.table.column(index).to_pylist()
    rows = zip(values, interval.stderr, interval.low, interval.high, strict=True)
    typical = result.typical.get(index)
    return [
        None
        if value is None or math.isnan(value)
        else Figure(
            float(value),
            float(stderr),
            float(low),
            float(high),
            None if typical is None else float(typical[place]),
        )
        for place, (value, stderr, low, high) in enumerate(rows)
    ]


def weak_notes(result: Result) -> list[str]:
    """At most one note: how many numbers are weak, and what would make them strong."""
    found = [figure for index in result.intervals for figure in figures(result, index) if figure]
    weak = [figure for figure in found if figure.is_weak]
    if not weak:
        return []
    said = (
        f"{len(weak)} of {len(found)} numbers weak (~): standard error above a fifth of the value"
    )
    needed = sorted(figure.needed(result.reports) for figure in weak if figure.value)
    if not needed:
        return [f"{said}; an estimate of 0 stays weak with any number of reports"]
    counts = " to ".join(dict.fromkeys(about(count) for count in (needed[0], needed[-1])))
    which = "it" if len(weak) == 1 else "them" if len(needed) == len(weak) else "those not 0"
    return [
        f"{said}; about {counts} reports would make {which} strong (there are {result.reports})"
    ]


def machine_table(result: Result, *, intervals: bool) -> pa.Table:
    """The result with distinct column names, and with error columns if asked for."""
    names: list[str] = []
    columns: list[Any] = []
    for index, column in enumerate(result.columns):
        names.append(column.name)
        columns.append(result.table.column(index))
        if intervals and index in result.intervals:
            spread = result.intervals[index]
            for suffix in ("stderr", "low", "high"):
                names.append(f"{column.name}_{suffix}")
                columns.append(pa.array(getattr(spread, suffix), from_pandas=True))
            if index in result.typical:
                names.append(f"{column.name}_typical")
                columns.append(pa.array(result.typical[index], from_pandas=True))
    return pa.table(columns, names=distinct(names))


def distinct(names: Sequence[str]) -> list[str]:
    """The names, a repeated one with the first free number: n, n_2, n_3."""
    taken: set[str] = set()
    result = []
    for name in names:
        number, unique = 1, name
        while unique in taken or (unique != name and unique in names):
            number += 1
            unique = f"{name}_{number}"
        taken.add(unique)
        result.append(unique)
    return result


def _cells(result: Result) -> tuple[list[str], list[list[str]], list[bool]]:
    """Header, rows of text, and which columns stand at the right."""
    texts: list[list[str]] = []
    for index in range(len(result.columns)):
        if index in result.intervals:
            texts.append(_estimate_cells(figures(result, index)))
        else:
            texts.append([plain(value) for value in result.table.column(index).to_pylist()])
    numeric = [
        pa.types.is_integer(c.type) or pa.types.is_floating(c.type) or pa.types.is_decimal(c.type)
        for c in result.columns
    ]
    rows = [list(row) for row in zip(*texts, strict=True)]
    return [column.name for column in result.columns], rows, numeric


def _estimate_cells(column: list[Figure | None]) -> list[str]:
    """Numbers with error bars; a weak one ends in ~, and the others make room for it."""
    room = "  " if any(figure and figure.is_weak for figure in column) else ""
    return [
        "NULL" + room if figure is None else f"{figure}{' ~' if figure.is_weak else room}"
        for figure in column
    ]


def _table(header: list[str], rows: list[list[str]], numeric: list[bool]) -> str:
    """One line per row; on a terminal too narrow for that, one line per value."""
    shown = [[_one_line(cell) for cell in row] for row in (header, *rows)]
    needed = sum(max(map(len, column)) + 2 for column in zip(*shown, strict=True)) - 2
    if sys.stdout.isatty() and needed > shutil.get_terminal_size().columns and len(header) > 1:
        return _upright(shown[0], shown[1:])
    widths = [max(map(len, column)) for column in zip(*shown, strict=True)]
    shown.insert(1, ["-" * width for width in widths])
    lines = []
    for row in shown:
        cells = [
            cell.rjust(width) if right else cell.ljust(width)
            for cell, width, right in zip(row, widths, numeric, strict=True)
        ]
        lines.append("  ".join(cells).rstrip() + "\n")
    return "".join(lines)


def _upright(header: list[str], rows: list[list[str]]) -> str:
    """Row by row, name and value on a line of their own."""
    width = max(map(len, header))
    blocks = []
    for number, row in enumerate(rows, start=1):
        pairs = zip(header, row, strict=True)
        lines = [f"{name:<{width}}  {cell.strip()}".rstrip() + "\n" for name, cell in pairs]
        blocks.append(f"-- row {number}\n" + "".join(lines))
    return "".join(blocks)


def _markdown(header: list[str], rows: list[list[str]], numeric: list[bool]) -> str:
    rule = ["---:" if right else ":---" for right in numeric]
    lines = [[_one_line(cell).replace("|", "\\|").strip() for cell in r] for r in (header, *rows)]
    lines.insert(1, rule)
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def _one_line(text: str) -> str:
    return "".join(character if character.isprintable() else " " for character in text)


def _separated(delimiter: str) -> Callable[[Result, pa.Table], bytes]:
    def render(_: Result, table: pa.Table) -> bytes:
        text = io.StringIO()
        writer = csv.writer(text, delimiter=delimiter, lineterminator="\n")
        writer.writerow(table.column_names)
        columns = [column.to_pylist() for column in table.columns]
        for row in zip(*columns, strict=True):
            writer.writerow(["" if _json_value(value) is None else _text(value) for value in row])
        return text.getvalue().encode()

    return render


def _text(value: Any) -> str:
    return repr(value) if isinstance(value, float) else plain(value)


def _json(result: Result, table: pa.Table) -> bytes:
    surveys = result.surveys
    document = {
        "columns": table.column_names,
        "rows": _json_rows(table),
        "survey": _one_or_list([survey.table for survey in surveys]),
        "mechanism": _one_or_list([survey.design.name for survey in surveys]),
        "epsilon": _one_or_list([_epsilon(survey) for survey in surveys]),
        "nominal_epsilon": _one_or_list([float(survey.epsilon) for survey in surveys]),
        "guarantee": _one_or_list([str(guarantee) for guarantee in result.promised]),
        "estimator": _one_or_list(list(result.estimators)),
        "n_reports": result.reports,
        "notes": [*result.notes, *weak_notes(result)],
    }
    return (json.dumps(document, indent=1, ensure_ascii=False, allow_nan=False) + "\n").encode()


def _epsilon(survey: Survey) -> float | None:
    """What the survey promises; None where no epsilon holds."""
    promised = survey.design.guarantee.epsilon
    return None if promised is None else float(promised)


def _json_lines(_: Result, table: pa.Table) -> bytes:
    rows = (json.dumps(row, ensure_ascii=False, allow_nan=False) for row in _json_rows(table))
    return "".join(f"{row}\n" for row in rows).encode()


def _json_rows(table: pa.Table) -> list[dict[str, Any]]:
    return [{name: _json_value(value) for name, value in row.items()} for row in table.to_pylist()]


def _json_value(value: Any) -> Any:
    """A value as JSON holds it: no NaN, dates as text, decimals as numbers."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if value is None or isinstance(value, bool | int | str):
        return value
    return value.isoformat() if isinstance(value, date) else float(value)


def _one_or_list(values: list[Any]) -> Any:
    return values[0] if len(values) == 1 else values


def _with_guarantee(result: Result, table: pa.Table) -> pa.Table:
    """The table with a line for each survey that was asked in the metadata of its schema."""
    lines = [
        f"{survey.table}: {guarantee} ({survey.design.name})"
        for survey, guarantee in zip(result.surveys, result.promised, strict=True)
    ]
    return table.replace_schema_metadata({GUARANTEE_KEY: "\n".join(lines)})


def _arrow(result: Result, table: pa.Table) -> bytes:
    table = _with_guarantee(result, table)
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    content: bytes = sink.getvalue().to_pybytes()
    return content


def _parquet(result: Result, table: pa.Table) -> bytes:
    import pyarrow.parquet as pq  # noqa: PLC0415

    sink = pa.BufferOutputStream()
    pq.write_table(_with_guarantee(result, table), sink)
    content: bytes = sink.getvalue().to_pybytes()
    return content


_FOR_PEOPLE: Mapping[str, Callable[[list[str], list[list[str]], list[bool]], str]] = {
    "table": _table,
    "markdown": _markdown,
}
_FOR_MACHINES: Mapping[str, Callable[[Result, pa.Table], bytes]] = {
    "csv": _separated(","),
    "tsv": _separated("\t"),
    "json": _json,
    "jsonl": _json_lines,
    "arrow": _arrow,
    "parquet": _parquet,
}


def _deliver(content: bytes, target: Path | None) -> None:
    if target is not None:
        from ldpsql_device.atomic import replace_file  # noqa: PLC0415

        with replace_file(target) as temporary:
            temporary.write_bytes(content)
        return
    try:
        "±".encode(sys.stdout.encoding or "ascii")
    except UnicodeEncodeError:
        content = content.replace("±".encode(), b"+/-")
    sys.stdout.flush()
    sys.stdout.buffer.write(content)
    sys.stdout.buffer.flush()
