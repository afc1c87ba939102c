"""Answers to questions as documents: numbers with error bars for people, columns for machines."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click
import pyarrow as pa

from ldpsql.cli.figures import Figure, about, plain
from ldpsql.cli.formats import Document, write_document
from ldpsql.engine.result import GUARANTEE_KEY, Result


def write_result(result: Result, form: str | None, target: Path | None, *, intervals: bool) -> None:
    """Write a result to a file or stdout; its notes, and what is weak in it, to stderr.

    form: of `formats.FORMATS`, None for what the suffix of the file says.  intervals: whether
    machines get the errors too, as columns of their own.
    """
    notes = [*result.notes, *weak_notes(result)]
    table = machine_table(result, intervals=intervals)
    surveys = result.surveys
    promised = [survey.design.guarantee.epsilon for survey in surveys]
    facts = {
        "survey": _one_or_list([survey.table for survey in surveys]),
        "mechanism": _one_or_list([survey.design.name for survey in surveys]),
        # What the survey promises; None where no epsilon holds.
        "epsilon": _one_or_list([None if e is None else float(e) for e in promised]),
        "nominal_epsilon": _one_or_list([float(survey.epsilon) for survey in surveys]),
        "guarantee": _one_or_list([str(guarantee) for guarantee in result.promised]),
        "estimator": _one_or_list(list(result.estimators)),
        "n_reports": result.reports,
        "notes": notes,
    }
    document = Document(result.explain, lambda: _cells(result), table.schema, [table], facts)
    write_document(document, form, target)
    for note in notes:
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
    known = [figure for index in result.intervals for figure in figures(result, index) if figure]
    weak = [figure for figure in known if figure.is_weak]
    if not weak:
        return []
    said = (
        f"{len(weak)} of {len(known)} numbers weak (~): standard error above a fifth of the value"
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
    """The result with distinct column names, and with error columns if asked for.

    The metadata of its schema hold a line for each survey that was asked: what it promises.
    """
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
    promises = "\n".join(
        f"{survey.table}: {guarantee} ({survey.design.name})"
        for survey, guarantee in zip(result.surveys, result.promised, strict=True)
    )
    return pa.table(columns, names=distinct(names), metadata={GUARANTEE_KEY: promises})


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


def _one_or_list(values: list[Any]) -> Any:
    return values[0] if len(values) == 1 else values
