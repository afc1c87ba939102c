"""SQLAlchemy's dialect (`ldpsql[sqlalchemy]`), by which pandas, Superset and JupySQL ask.

    create_engine("ldpsql:///people.duckdb")                      a file in the current folder
    create_engine("ldpsql:////srv/people.duckdb?confidence=0.9")  with settings of `connect`
    create_engine("ldpsql+https://:TOKEN@collect.example")        a collector; or LDPSQL_TOKEN

An engine asks and never writes: what makes tables or rows is refused as in SQL.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import ModuleType
from typing import TYPE_CHECKING, Any

try:
    from sqlalchemy import exc, types
except ImportError:
    needed = "the dialect needs SQLAlchemy: pip install ldpsql[sqlalchemy]"
    raise ImportError(needed, name="sqlalchemy") from None
from sqlalchemy.engine import URL, Connection, default
from sqlalchemy.pool import Pool, QueuePool, SingletonThreadPool
from sqlalchemy.sql import compiler

from ldpsql.dbapi import connection as driver

if TYPE_CHECKING:
    from sqlalchemy.engine.interfaces import (
        ReflectedColumn,
        ReflectedPrimaryKeyConstraint,
        ReflectedTableComment,
    )

_SCHEMA = "main"
_TYPES: Mapping[str, type[types.TypeEngine[Any]]] = {
    "BIGINT": types.BigInteger,
    "BOOLEAN": types.Boolean,
    "DATE": types.Date,
    "DOUBLE": getattr(types, "Double", types.Float),  # SQLAlchemy 1.4 has no Double
    "TIMESTAMP": types.DateTime,
    "VARCHAR": types.String,
}
_COLUMNS = """
SELECT column_name, data_type, is_nullable, label, role, type, domain, bins, epsilon
FROM information_schema.columns WHERE table_name = ? ORDER BY ordinal_position
"""
_TABLE = "SELECT label, guarantee, mechanism FROM information_schema.tables WHERE table_name = ?"
_NAMES = "SELECT table_name FROM information_schema.tables ORDER BY table_name"


def _truth(value: str) -> bool:
    words = {"true": True, "1": True, "false": False, "0": False}
    return words[value.lower()]


_SETTINGS: Mapping[str, Callable[[str], object]] = {
    "confidence": float,
    "estimator": str,
    "timeout": float,
    "weights": str,
    "one_population": _truth,
    "census": _truth,
    "token": str,
}
"""What the query of a URL may say, of the arguments of `ldpsql.connect`."""


class LdpsqlCompiler(compiler.SQLCompiler):
    """SQL as DuckDB spells it, where SQLAlchemy's own differs."""

    def limit_clause(self, select: Any, **kw: Any) -> str:
        """OFFSET stands alone, too."""
        parts = (("LIMIT", select._limit_clause), ("OFFSET", select._offset_clause))
        given = (f"\n {word} {self.process(n, **kw)}" for word, n in parts if n is not None)
        return "".join(given)

    def visit_floordiv_binary(self, binary: Any, operator: Any, **kw: Any) -> str:
        """Whole numbers stay whole."""
        sides = [self.process(side, **kw) for side in (binary.left, binary.right)]
        if all(s.type._type_affinity is types.Integer for s in (binary.left, binary.right)):
            return " // ".join(sides)
        return f"FLOOR({' / '.join(sides)})"

    def visit_date_trunc_func(self, fn: Any, **kw: Any) -> str:
        """The unit is a word of SQL, which no parameter stands for."""
        unit, *others = fn.clauses
        texts = [self.process(unit, literal_execute=True, **kw)]
        texts += [self.process(other, **kw) for other in others]
        return f"date_trunc({', '.join(texts)})"

    def visit_empty_set_expr(self, element_types: Sequence[Any], **kw: Any) -> str:
        """No rows, for IN of an empty list."""
        return f"SELECT {', '.join(['1'] * max(1, len(element_types)))} WHERE 1 <> 1"


class LdpsqlTypeCompiler(compiler.GenericTypeCompiler):
    """Names of types."""

    def visit_float(self, type_: Any, **kw: Any) -> str:
        """Estimates are of double precision; FLOAT would be half of it."""
        return "DOUBLE"

    visit_FLOAT = visit_REAL = visit_float  # noqa: N815

    def visit_DATETIME(self, type_: Any, **kw: Any) -> str:  # noqa: N802
        """Without a time zone."""
        return "TIMESTAMP"


class LdpsqlIdentifierPreparer(compiler.IdentifierPreparer):
    """Which names are quoted."""

    reserved_words = compiler.RESERVED_WORDS | {
        *("describe", "lateral", "pivot", "qualify", "show", "summarize", "unpivot", "window")
    }


class LdpsqlDialect(default.DefaultDialect):
    """A store in a file, or one in memory, which is empty."""

    name = "ldpsql"
    driver = "file"
    statement_compiler = LdpsqlCompiler
    type_compiler_cls = type_compiler = LdpsqlTypeCompiler
    preparer = LdpsqlIdentifierPreparer
    default_paramstyle = "qmark"
    supports_statement_cache = True
    supports_native_boolean = True
    supports_native_decimal = False
    supports_alter = False
    supports_comments = True
    supports_default_values = False
    supports_sane_multi_rowcount = False
    postfetch_lastrowid = False
    div_is_floordiv = False
    tuple_in_values = True

    @classmethod
    def import_dbapi(cls) -> ModuleType:
        """The driver."""
        return driver

    if not hasattr(default.DefaultDialect, "import_dbapi"):
        dbapi: Any = import_dbapi  # its name in SQLAlchemy 1.4, which Superset has

    @classmethod
    def get_pool_class(cls, url: URL) -> type[Pool]:
        """Who asks holds nothing; what is in memory belongs to its thread."""
        return QueuePool if url.database or url.host else SingletonThreadPool

    def create_connect_args(self, url: URL) -> tuple[Any, dict[str, Any]]:
        """The arguments of `ldpsql.connect`; ArgumentError for a setting that it does not have."""
        place, fixed = self._place(url)
        return [place], {**fixed, **_settings(url)}

    def _place(self, url: URL) -> tuple[str | None, dict[str, object]]:
        """The address to connect to, and the arguments that every connection takes."""
        if url.host:
            raise exc.ArgumentError(
                f"ldpsql://{url.host} names no file; write ldpsql:///file, or ldpsql+https:// for "
                "a collector"
            )
        return url.database, {"read_only": True} if url.database else {}

    def get_schema_names(self, connection: Connection, **kw: Any) -> list[str]:
        """The one schema."""
        return [_SCHEMA]

    def _get_default_schema_name(self, connection: Connection) -> str:
        return _SCHEMA

    def has_table(
        self, connection: Connection, table_name: str, schema: str | None = None, **kw: Any
    ) -> bool:
        """Whether there is a survey or a look-up table of that name."""
        return table_name in self.get_table_names(connection, schema, **kw)

    def get_table_names(
        self, connection: Connection, schema: str | None = None, **kw: Any
    ) -> list[str]:
        """Surveys and look-up tables."""
        if schema not in (None, _SCHEMA):
            return []
        # By hand: SQLAlchemy 1.4 cannot decorate a method with such annotations.
        kept: dict[object, list[str]] = kw.get("info_cache", {})
        if _NAMES not in kept:
            kept[_NAMES] = [name for (name,) in connection.exec_driver_sql(_NAMES)]
        return [*kept[_NAMES]]

    def get_view_names(
        self, connection: Connection, schema: str | None = None, **kw: Any
    ) -> list[str]:
        """None."""
        return []

    def get_columns(
        self, connection: Connection, table_name: str, schema: str | None = None, **kw: Any
    ) -> list[ReflectedColumn]:
        """Names, types, and comments with the role, the declared domain, bins and epsilon."""
        self._require_table(connection, table_name, schema, **kw)
        return [
            {
                "name": name,
                "type": _TYPES[data_type](),
                "nullable": nullable == "YES",
                "default": None,
                "comment": _comment(
                    label,
                    role,
                    domain,
                    bins and f"{bins} bins",
                    epsilon is not None and f"epsilon {epsilon:g}",
                ),
            }
            for name, data_type, nullable, label, role, _, domain, bins, epsilon in (
                connection.exec_driver_sql(_COLUMNS, (table_name,))
            )
        ]

    def get_table_comment(
        self, connection: Connection, table_name: str, schema: str | None = None, **kw: Any
    ) -> ReflectedTableComment:
        """The label of a survey, what it promises, and its mechanism."""
        self._require_table(connection, table_name, schema, **kw)
        ((label, guarantee, mechanism),) = connection.exec_driver_sql(_TABLE, (table_name,))
        return {"text": _comment(label, guarantee, mechanism) or None}

    def get_pk_constraint(
        self, connection: Connection, table_name: str, schema: str | None = None, **kw: Any
    ) -> ReflectedPrimaryKeyConstraint:
        """None: people have no key."""
        self._require_table(connection, table_name, schema, **kw)
        return {"constrained_columns": [], "name": None}

    def _get_none(
        self, connection: Connection, table_name: str, schema: str | None = None, **kw: Any
    ) -> list[Any]:
        """None."""
        self._require_table(connection, table_name, schema, **kw)
        return []

    get_foreign_keys = get_indexes = get_unique_constraints = get_check_constraints = _get_none

    def _require_table(
        self, connection: Connection, table_name: str, schema: str | None, **kw: Any
    ) -> None:
        if not self.has_table(connection, table_name, schema, **kw):
            raise exc.NoSuchTableError(f"{schema}.{table_name}" if schema else table_name)


class HttpsDialect(LdpsqlDialect):
    """A collector; the token is the URL's password, `token` in its query, or LDPSQL_TOKEN."""

    driver = "https"
    supports_statement_cache = True

    def _place(self, url: URL) -> tuple[str | None, dict[str, object]]:
        port = f":{url.port}" if url.port else ""
        path = f"/{url.database}" if url.database else ""
        token: dict[str, object] = {"token": url.password} if url.password else {}
        return f"{self.driver}://{url.host or ''}{port}{path}", token


class HttpDialect(HttpsDialect):
    """The same without TLS, on this machine."""

    driver = "http"
    supports_statement_cache = True


def _settings(url: URL) -> dict[str, object]:
    """Settings of `ldpsql.connect` from the query of a URL."""
    settings: dict[str, object] = {}
    for name, value in url.query.items():
        try:
            settings[name] = _SETTINGS[name](str(value))
        except (LookupError, ValueError, AttributeError, TypeError):
            known = ", ".join(_SETTINGS)
            raise exc.ArgumentError(
                f"{name}={value!r:.60} is no setting of ldpsql.connect; a URL may give {known}"
            ) from None
    return settings


def _comment(*parts: object) -> str:
    """A comment of one line."""
    return "; ".join(str(part) for part in parts if part)
