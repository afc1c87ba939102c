"""The tables of information_schema, filled: what SHOW TABLES and DESCRIBE select from."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pyarrow as pa

from ldpsql.parser import catalog
from ldpsql.sql.lookups import PublicTable
from ldpsql.sql.quoting import DUCKDB_TYPES
from ldpsql.survey import Survey


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
