"""The store in a DuckDB file."""

from ldpsql.store.duckdb.store import DuckDBStore

__all__ = ["DuckDBStore"]
