"""Answers to questions as documents: numbers with error bars for people, columns for machines."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import click
import numpy as np
import pyarrow as pa

from ldpsql.cli.formats import Document, write_document
from ldpsql.cli.text import Figure, about, plain
from ldpsql.engine.result import Result


def write_result(result: Result, form: str | None, target: Path | None, *, intervals: bool) -> None:
    """Write a result to a file or stdout; its notes, and what is weak in it, to stderr.

    form: of `formats.FORMATS`, None for what the suffix of the file says.  intervals: whether the
    errors stand in columns of their own, in tables for people too.
    """
    notes = [*result.notes, *weak_notes(result)]
    table = result.distinct(intervals=intervals)
    designs = [survey.design for survey in result.surveys]
    promised = [design.guarantee.epsilon for design in designs]
    of_surveys: dict[str, list[Any]] = {
        "survey": [survey.table for survey in result.surveys],
        "mechanism": [design.name for design in designs],
        # What the survey promises; None where no epsilon holds.
        "epsilon": [None if epsilon is None else float(epsilon) for epsilon in promised],
        "nominal_epsilon": [float(survey.epsilon) for survey in result.surveys],
        "guarantee": [str(guarantee) for guarantee in result.promised],
        "estimator": list(result.estimators),
    }
    facts = {
        **{name: own[0] if len(own) == 1 else own for name, own in of_surveys.items()},
        "n_reports": result.reports,
        "notes": notes,
    }
    shown = (lambda: _plain_cells(table)) if intervals else (lambda: _cells(result))
    document = Document(result.explain, shown, table.schema, [table], facts)
    write_document(document, form, target)
    is_shown = target is None and form in (None, "table", "markdown") and not intervals
    if is_shown and any(np.any(bars.stderr > 0) for bars in result.intervals.values()):
        notes = [f"± is half the width of the {100 * result.level:g} % interval", *notes]
    for note in notes:
        click.echo(f"note: {note}", err=True)


def figures(result: Result, index: int) -> list[Figure | None]:
    """The estimates of one output column, row by row; None for NULL."""
    bars, typical = result.intervals[index], result.typical.get(index)
    columns = [bars.stderr, bars.low, bars.high, *([] if typical is None else [typical])]
    rows = zip(result.table.column(index).to_pylist(), *columns, strict=True)
    return [
        None if value is None or math.isnan(value) else Figure(float(value), *map(float, errors))
        for value, *errors in rows
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
    if any(figure.is_impossible for figure in weak):
        said += ", or nothing that is possible in the interval"
    usual = [figure for figure in weak if not figure.is_impossible]
    if not usual:
        return [said]
    needed = sorted(figure.count_needed(result.reports) for figure in usual if figure.value)
    if not needed:
        return [f"{said}; an estimate of 0 stays weak with any number of reports"]
    counts = " to ".join(dict.fromkeys(about(count) for count in (needed[0], needed[-1])))
    which = "it" if len(weak) == 1 else "them" if len(needed) == len(weak) else "those not 0"
    return [
        f"{said}; about {counts} reports would make {which} strong (there are {result.reports})"
    ]


def _cells(result: Result) -> tuple[list[str], list[list[str]], list[bool]]:
    """Header, rows of text, and which columns stand at the right."""
    texts: list[list[str]] = []
    for index in range(len(result.columns)):
        if index in result.intervals:
            # A weak number ends in ~, and the others make room for it.
            shown = figures(result, index)
            room = "  " if any(figure and figure.is_weak for figure in shown) else ""
            texts.append([f"{f or 'NULL'}{' ~' if f and f.is_weak else room}" for f in shown])
        else:
            texts.append([plain(value) for value in result.table.column(index).to_pylist()])
    rows = [list(row) for row in zip(*texts, strict=True)]
    return [column.name for column in result.columns], rows, _are_numbers(result.table)


def _plain_cells(table: pa.Table) -> tuple[list[str], list[list[str]], list[bool]]:
    """The same of a table that holds the errors as columns."""
    texts = [[plain(value) for value in column.to_pylist()] for column in table.columns]
    return table.column_names, [list(row) for row in zip(*texts, strict=True)], _are_numbers(table)


def _are_numbers(table: pa.Table) -> list[bool]:
    return [
        pa.types.is_integer(c.type) or pa.types.is_floating(c.type) or pa.types.is_decimal(c.type)
        for c in table.schema
    ]
