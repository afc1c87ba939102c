"""Answers to questions as documents: numbers with error bars for people, columns for machines."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import chain, count
from pathlib import Path
from typing import Any

import click
import numpy as np
import pyarrow as pa

from ldpsql.cli.formats import Document, write_document
from ldpsql.cli.text import Figure, about, plain
from ldpsql.engine.result import GUARANTEE_KEY, Result


def write_result(result: Result, form: str | None, target: Path | None, *, intervals: bool) -> None:
    """Write a result to a file or stdout; its notes, and what is weak in it, to stderr.

    form: of `formats.FORMATS`, None for what the suffix of the file says.  intervals: whether
    machines get the errors too, as columns of their own.
    """
    notes = [*result.notes, *weak_notes(result)]
    table = machine_table(result, intervals=intervals)
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
    document = Document(result.explain, lambda: _cells(result), table.schema, [table], facts)
    write_document(document, form, target)
    is_shown = target is None and form in (None, "table", "markdown")
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
    columns: list[tuple[str, Any]] = []
    for index, column in enumerate(result.columns):
        columns.append((column.name, result.table.column(index)))
        if intervals and index in result.intervals:
            bars = result.intervals[index]
            errors = {"stderr": bars.stderr, "low": bars.low, "high": bars.high}
            if index in result.typical:
                errors["typical"] = result.typical[index]
            columns += [
                (f"{column.name}_{suffix}", pa.array(values, from_pandas=True))
                for suffix, values in errors.items()
            ]
    names = distinct([name for name, _ in columns])
    promises = "\n".join(
        f"{survey.table}: {guarantee} ({survey.design.name})"
        for survey, guarantee in zip(result.surveys, result.promised, strict=True)
    )
    return pa.table([values for _, values in columns], names, metadata={GUARANTEE_KEY: promises})


def distinct(names: Sequence[str]) -> list[str]:
    """The names, a repeated one with the first free number: n, n_2, n_3."""
    result: list[str] = []
    for name in names:
        numbered = (f"{name}_{number}" for number in count(2))
        others = (other for other in numbered if other not in names)
        result.append(next(free for free in chain([name], others) if free not in result))
    return result


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
    numeric = [
        pa.types.is_integer(c.type) or pa.types.is_floating(c.type) or pa.types.is_decimal(c.type)
        for c in result.columns
    ]
    return [column.name for column in result.columns], rows, numeric
