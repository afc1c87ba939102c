"""Superset's engine specification, which it finds by the entry point `superset.db_engine_specs`.

Superset is not needed to import this: without it the class has the same attributes and no base.
"""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any, ClassVar

if TYPE_CHECKING:

    class BaseEngineSpec:
        """Superset's, where it is installed."""
else:
    try:
        from superset.db_engine_specs.base import BaseEngineSpec
    except ImportError:
        BaseEngineSpec = object


class LdpsqlEngineSpec(BaseEngineSpec):
    """Facts about the engine that Superset cannot learn from its dialect."""

    engine = "ldpsql"
    engine_name = "ldpsql"
    default_driver = "file"
    drivers: ClassVar = {
        "file": "a store in a file",
        "https": "a collector (token as the password)",
        "http": "a collector on this machine",
    }
    sqlalchemy_uri_placeholder = "ldpsql+https://:token@collector"
    supports_file_upload = False
    supports_dynamic_schema = False
    allows_alias_to_source_column = True
    max_column_name_length = 63

    # An aggregate of estimates over time: the first moment of the period. Hours are the finest
    # that are told of a timestamp.
    _time_grain_expressions: ClassVar[dict[str | None, str]] = {
        None: "{col}",
        "PT1H": "DATE_TRUNC('hour', {col})",
        "P1D": "DATE_TRUNC('day', {col})",
        "P1W": "DATE_TRUNC('week', {col})",
        "P1M": "DATE_TRUNC('month', {col})",
        "P3M": "DATE_TRUNC('quarter', {col})",
        "P1Y": "DATE_TRUNC('year', {col})",
    }

    @classmethod
    def epoch_to_dttm(cls) -> str:
        """Seconds since 1970 as a time."""
        return "TIMESTAMP '1970-01-01' + {col} * INTERVAL 1 SECOND"

    @classmethod
    def convert_dttm(
        cls, target_type: str, dttm: datetime, db_extra: dict[str, Any] | None = None
    ) -> str | None:
        """A time as a literal of a column's type; None for a type without one."""
        kind = target_type.upper()
        if kind == "DATE":
            return f"DATE '{dttm.date().isoformat()}'"
        if kind.startswith(("TIMESTAMP", "DATETIME")):
            return f"TIMESTAMP '{dttm.replace(tzinfo=None).isoformat(' ', 'seconds')}'"
        return None
