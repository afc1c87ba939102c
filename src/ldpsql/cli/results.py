"""Answers to questions as documents: numbers with error bars for people, columns for machines."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
import numpy as np
import pyarrow as pa

from ldpsql.cli.formats import Document, write_document
from ldpsql.cli.text import one_line
from ldpsql.engine.result import Result
from ldpsql.figures import plain


def write_result(result: Result, form: str | None, target: Path | None, *, intervals: bool) -> None:
    """Write a result to a file or stdout; its notes, and what is weak in it, to stderr.

    form: of `formats.FORMATS`, None for what the suffix of the file says.  intervals: whether the
    errors stand in columns of their own, in tables for people too.
    """
    notes = [*result.notes, *result.weak_notes()]
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
        click.echo(f"note: {one_line(note)}", err=True)


def _cells(result: Result) -> tuple[list[str], list[list[str]], list[bool]]:
    """Header, rows of text, and which columns stand at the right."""
    texts = map(result.texts, range(len(result.columns)))
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
