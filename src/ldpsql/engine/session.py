"""A session: one SQL text after the other, over the surveys of one store."""

from __future__ import annotations

from collections.abc import Iterable
from numbers import Real
from typing import Any

import numpy as np
import pyarrow as pa

from ldpsql import limits
from ldpsql.algebra.estimate import CONFIDENCE
from ldpsql.engine.answer import Draft, answer
from ldpsql.engine.evidence import Evidence
from ldpsql.engine.explain import explain_statement
from ldpsql.engine.result import Result
from ldpsql.engine.sources import RESPONDENTS, Sources
from ldpsql.parser import Parameters, catalog, parse
from ldpsql.parser.query import ParsedSQL
from ldpsql.sql.lookups import PublicTable
from ldpsql.sql.quoting import DUCKDB_TYPES
from ldpsql.store.base import ReportSource
from ldpsql.survey import Survey
from ldpsql_device.errors import IntegrityError, InterfaceError


def require_settings(confidence: float, seconds: float) -> None:
    """InterfaceError for settings of a `Session` that make no sense."""
    level, limit = _read_number("confidence", confidence), _read_number("timeout", seconds)
    if not 0.0 < level < 1.0:
        raise InterfaceError(f"confidence must lie between 0 and 1, not {level:g}")
    if not limit >= 0.0:
        raise InterfaceError(f"a timeout is a number of seconds from 0 on, not {limit:g}")


def _read_number(name: str, value: object) -> float:
    kind = type(value).__name__
    is_number = isinstance(value, Real) and not isinstance(value, bool)
    if not is_number or isinstance(value, np.timedelta64):  # which NumPy calls an integer
        raise InterfaceError(f"{name} must be a number, not a value of type {kind}")
    try:
        return float(value)  # type: ignore[arg-type]
    except OverflowError:
        raise InterfaceError(f"{name} must be a number that a double can hold") from None


class Session:
    """Answers questions about the surveys of one store. Not to be shared between threads."""

    def __init__(
        self,
        store: ReportSource,
        *,
        confidence: float = CONFIDENCE,
        estimator: str | None = None,
        seconds: float = limits.SECONDS,
        sources: Sources = RESPONDENTS,
    ) -> None:
        """Ask a store.

        confidence: level of the intervals, between 0 and 1 (InterfaceError otherwise).
        estimator: which of a design's estimators answers; None for the survey's own choice.
        seconds: how long one statement may take.  sources: whom answers are about.
        """
        require_settings(confidence, seconds)
        self.store = store
        self.estimator = estimator
        self.seconds = seconds
        self.sources = sources
        self.evidence = Evidence(store, confidence, sources)
        self._registered: dict[str, PublicTable] = {}

    def survey(self, table: str) -> Survey:
        """One survey of the store; QueryError if there is none of that name."""
        return self.store.survey(table)

    def register(self, table: PublicTable) -> None:
        """Let questions join a table that the store does not keep; a later one of the same name
        takes its place.

        IntegrityError for the name of a survey, or of a look-up table of the store.
        """
        surveys = {survey.table for survey in self.store.surveys()}
        if table.name in surveys or self.store.lookup(table.name):
            kind = "survey" if table.name in surveys else "look-up table"
            raise IntegrityError(f"the store has a {kind} {table.name}; give another name")
        self._registered[table.name] = table

    def unregister(self, name: str) -> None:
        """Forget a registered table; InterfaceError if there is none of that name."""
        if self._registered.pop(name.lower(), None) is None:
            raise InterfaceError(f"no table {name!r:.60} is registered; register it first")

    def lookups(self) -> list[PublicTable]:
        """The tables that questions may join, those of the store and registered ones, by name."""
        found = {table.name: table for table in self.store.lookups()} | self._registered
        return [found[name] for name in sorted(found)]

    def _lookup(self, name: str) -> PublicTable | None:
        return self._registered.get(name.lower()) or self.store.lookup(name)

    def execute(
        self, sql: str, parameters: Parameters = None, confidence: float | None = None
    ) -> Result:
        """Answer one SQL text, from the reports that there are now.

        confidence: level of the intervals, where it is not the session's.  Raises errors under
        `ldpsql.Error` only.
        """
        evidence = self.evidence
        if confidence is not None:
            require_settings(confidence, self.seconds)
            evidence = evidence.at(confidence)
        with limits.deadline(self.seconds), self.store.snapshot():
            draft = self.draft(parse(sql, parameters, self.store.survey, self._lookup))
            make = answer if draft.statement.mode == "answer" else explain_statement
            return make(draft, evidence)

    def draft(self, statement: ParsedSQL) -> Draft:
        """A statement with the surveys and other tables that it asks, and no answer yet."""
        names = sorted({table for base in statement.bases for table in base.tables})
        subjects = {name: self.evidence.subject(name, self.estimator) for name in names}
        tables: dict[str, pa.Table] = {}
        if statement.asks_catalog:
            tables |= list_tables(self.store.surveys(), self.lookups())
        tables |= {table.relation: table.rows for table in statement.tables}
        return Draft(statement, subjects, tables)


def list_tables(surveys: Iterable[Survey], lookups: Iterable[PublicTable]) -> dict[str, pa.Table]:
    """Surveys and look-up tables, and their columns, by the names of their relations."""
    rows: dict[str, list[dict[str, Any]]] = {"tables": [], "columns": []}
    for survey in surveys:
        head = dict(zip(catalog.HEAD, (*catalog.MAIN, survey.table), strict=True))
        promised = survey.design.guarantee.epsilon
        epsilon = None if promised is None else float(promised)
        rows["tables"].append(
            {
                **head,
                "table_type": "BASE TABLE",
                "mechanism": survey.design.name,
                "epsilon": epsilon,
                "guarantee": str(survey.guarantee),
                "label": survey.label,
            }
        )
        for position, column in enumerate(catalog.describe(survey.schema), start=1):
            own = {"epsilon": None if column["role"] == "public" else epsilon}
            rows["columns"].append({**head, "ordinal_position": position, **column, **own})
    for table in lookups:
        head = dict(zip(catalog.HEAD, (*catalog.MAIN, table.name), strict=True))
        rows["tables"].append({**head, "table_type": "LOOKUP TABLE"})
        for position, (name, kind) in enumerate(catalog.describe_lookup(table), start=1):
            rows["columns"].append(
                {
                    **head,
                    "ordinal_position": position,
                    "column_name": name,
                    "is_nullable": "YES" if table.rows.column(name).null_count else "NO",
                    "data_type": DUCKDB_TYPES[kind],
                    "role": "lookup",
                    "type": kind,
                }
            )
    return catalog.relations(rows)
