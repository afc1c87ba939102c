"""Runs at the collector. Sees reports. The store in a DuckDB file."""

from ldpsql.store.duckdb.store import DuckDBStore

__all__ = ["DuckDBStore"]
