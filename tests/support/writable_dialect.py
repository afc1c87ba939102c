"""The dialect over a driver that writes, for SQLAlchemy's test suite."""

from __future__ import annotations

from sqlalchemy.sql.compiler import DDLCompiler
from support import writable

from ldpsql.workbench.sqlalchemy import LdpsqlDialect


class WritableDDL(DDLCompiler):
    def visit_foreign_key_constraint(self, constraint, **kw):
        """Nothing: DuckDB would refuse to empty tables in the suite's order."""


class WritableDialect(LdpsqlDialect):
    driver = "writable"
    ddl_compiler = WritableDDL
    supports_statement_cache = True

    @classmethod
    def import_dbapi(cls):
        return writable

    def create_connect_args(self, url):
        return [], {}
