"""Runs at the collector. Sees estimates. Evaluates outer SQL over relations of estimates."""

from __future__ import annotations

from collections.abc import Mapping

import duckdb
import pyarrow as pa

from ldpsql.engine.backends.duckdb.opening import Connection
from ldpsql.errors import QueryError

_CONFIG = {
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "enable_external_access": "false",
    "python_enable_replacements": "false",
    "lock_configuration": "true",
}


class Sandbox:
    """An empty database in memory that reaches no file, no network and no Python variable."""

    def __init__(self) -> None:
        self._database: Connection | None = None

    def evaluate(self, sql: str, relations: Mapping[str, pa.Table]) -> pa.Table:
        """The result of one SELECT over the relations, by their names.

        Sums come as int64 or float64, never as decimals. Raises QueryError for anything that
        is not one SELECT, and for what DuckDB refuses.
        """
        if self._database is None:
            self._database = duckdb.connect(":memory:", config=dict(_CONFIG))
        with self._database.cursor() as cursor:
            try:
                _require_select(cursor, sql)
                for name, table in relations.items():
                    cursor.register(name, table)
                return _plain(cursor.sql(sql).to_arrow_table())
            except duckdb.Error as error:
                raise QueryError(_reason(error)) from None

    def close(self) -> None:
        """Forget the database."""
        if self._database is not None:
            self._database.close()
            self._database = None


def _require_select(cursor: Connection, sql: str) -> None:
    statements = cursor.extract_statements(sql)
    if [statement.type for statement in statements] != [duckdb.StatementType.SELECT]:
        raise QueryError("only a single SELECT can be evaluated over estimates")


def _plain(table: pa.Table) -> pa.Table:
    """The table with decimals as int64 where they are whole and fit, else as float64."""
    arrays = [_plain_column(column) for column in table.columns]
    return pa.Table.from_arrays(arrays, names=table.column_names)


def _plain_column(column: pa.ChunkedArray) -> pa.ChunkedArray:
    if pa.types.is_dictionary(column.type):
        return column.cast(column.type.value_type)
    if not pa.types.is_decimal(column.type):
        return column
    if column.type.scale == 0:
        try:
            return column.cast(pa.int64())
        except pa.ArrowInvalid:
            return column.cast(pa.float64())
    return column.cast(pa.float64())


def _reason(error: duckdb.Error) -> str:
    """DuckDB's reason on one line, without its drawing of the place in rewritten SQL."""
    line = str(error).splitlines()[0] if str(error) else "DuckDB gave no reason"
    return line.removeprefix(f"{line.split(':', 1)[0]}: ") if " Error: " in line else line
