"""Asking from commands: a store or a collector, a session of it, and answers as
documents, with error bars for people and columns for machines."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from ldpsql.engine.collector import Answering, AnsweringStore, open_collector, open_session
from ldpsql.engine.result import Result, are_numbers
from ldpsql.engine.sources import choose_sources
from ldpsql.store import read_store
from ldpsql.terminal.formats import Document, json_value, write_document
from ldpsql.terminal.notes import show_notes
from ldpsql.wording.numbers import plain

if TYPE_CHECKING:
    from ldpsql.store.store import Store  # DuckDB is loaded when needed


def open_to_ask(database: Path | str) -> Store | AnsweringStore:
    """The store in a file, or a collector."""
    return open_collector(database) or read_store(database)


def make_session(
    store: Store | AnsweringStore,
    weights: tuple[Path, ...],
    *,
    one_population: bool = False,
    census: bool = False,
    **settings: Any,
) -> Answering:
    """A session that answers questions; settings: as of `connect`, and others of a `Session`."""
    sources = choose_sources(weights, one_population=one_population, census=census)
    return open_session(store, sources=sources, **settings)


def write_result(
    result: Result,
    form: str | None,
    target: Path | None,
    *,
    intervals: bool,
    append: bool = False,
) -> None:
    """Write a result to a file or stdout; its notes, and what is weak in it, to stderr.

    form: of `formats.FORMATS`, None for what the suffix of the file says.  intervals: whether the
    errors stand in columns of their own, in tables for people too.  append: to what the file
    holds.
    """
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
    notes = [*result.notes, *result.weak_notes()]

    def facts() -> dict[str, Any]:
        names = result.distinct(intervals=False).column_names
        return {
            **{name: own[0] if len(own) == 1 else own for name, own in of_surveys.items()},
            "n_reports": result.reports,
            "forged": {
                names[place]: dict(zip(("least", "most"), map(json_value, ends), strict=True))
                for place, ends in result.forged().items()
                if not math.isnan(ends[0])
            },
            "notes": notes,
        }

    shown = (lambda: _plain_cells(table)) if intervals else result.cells
    document = Document(result.explain, shown, table.schema, [table], facts)
    write_document(document, form, target, append=append)
    is_shown = target is None and form in (None, "table", "markdown") and not intervals
    show_notes(result.notes_for_readers() if is_shown else notes)


def _plain_cells(table: pa.Table) -> tuple[list[str], list[list[str]], list[bool]]:
    """Headings, rows and sides of a table that holds the errors as columns."""
    texts = [[plain(value) for value in column.to_pylist()] for column in table.columns]
    return table.column_names, [list(row) for row in zip(*texts, strict=True)], are_numbers(table)
