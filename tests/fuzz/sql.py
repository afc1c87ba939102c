"""SQL texts: golden and documented statements, changed, with words that reach for files."""

from __future__ import annotations

import random
import re
import tempfile
from contextlib import ExitStack
from math import isfinite, isnan
from pathlib import Path

import pyarrow as pa
from fuzz.harness import RAW, Case, Door, Finding
from sqlglot import exp, parse_one
from sqlglot.errors import SqlglotError
from support.golden_files import read_answers
from support.mutations import WORDS, mutate
from support.shoppers import shoppers, statements

from ldpsql.engine.result import Result

_SECONDS = 8.0
_PLACE = "/place/of/secret.csv"
"""Stands in a case for the file that no statement may read."""
_REACHING = (
    *("read_text", "read_csv", "read_csv_auto", "read_parquet", "read_json", "read_blob", "glob"),
    *("parquet_scan", "sniff_csv", "getenv", "current_setting", "duckdb_settings", "duckdb_tables"),
    *("pragma_table_info", "sqlite_master", "information_schema", "query", "query_table"),
    *("nextval", "DESCRIBE", "SHOW", "EXECUTE"),
    *("ATTACH", "COPY", "INSTALL", "LOAD", "SET", "PRAGMA", "CREATE", "INSERT", "UPDATE", "DELETE"),
    *("DROP", "EXPORT", "IMPORT", "CALL", "CHECKPOINT", "VACUUM"),
)
"""Words that no statement over reports needs, and that read or change what is elsewhere."""
_FORBIDDEN = {word.lower() for word in _REACHING} - {"query", "set"}
_QUESTIONS = (exp.Query, exp.Command, exp.Describe, exp.Show)


class Statements(Door):
    """Questions to a session over made-up shoppers.

    Whatever is answered is one query that calls none of `_REACHING`, has nothing of a file in it,
    and leaves the store as it was.
    """

    name = "sql"
    is_private = False

    def __init__(self) -> None:
        self._opened = ExitStack()
        folder = Path(self._opened.enter_context(tempfile.TemporaryDirectory()))
        self._secret = secret = folder / "secret.csv"
        secret.write_text(f"a,b\n{RAW},1\n")
        self._session = self._opened.enter_context(shoppers(people=200))
        self._session.seconds = _SECONDS
        self._statements = golden_statements()
        # Each reaching word as a call on the file, as a table and alone.
        calls = [f"{word}('{secret}')" for word in _REACHING]
        self._words = (*WORDS, *_REACHING, *calls, f"'{secret}'", f'"{secret}"', str(secret))
        self._before = self._look()

    def draw(self, chosen: random.Random) -> Case:
        sql = mutate(chosen, self._statements, self._words).replace(str(self._secret), _PLACE)
        parameters = None if chosen.random() < 0.95 else chosen.choice(([], [1], {"x": "CA"}, 5))
        return {"sql": sql, "parameters": parameters}

    def put(self, case: Case) -> str:
        sql = case["sql"].replace(_PLACE, str(self._secret))
        result = self._session.execute(sql, case["parameters"])
        self.require(sql, result.table)
        require_finite(result, sql)
        return "answered"

    def require(self, sql: str, answer: pa.Table) -> None:
        """Finding if a statement should not have been answered."""
        try:
            tree = parse_one(sql, dialect="duckdb")
        except SqlglotError:
            tree = None
        if tree is not None:
            calls = [
                node.name if isinstance(node, exp.Anonymous) else node.sql_name()
                for node in tree.find_all(exp.Func)
            ]
            tables = [node.name for node in tree.find_all(exp.Table)]
            reached = {name.lower() for name in (*calls, *tables)} & _FORBIDDEN
            if reached or not isinstance(tree, _QUESTIONS):
                raise Finding(f"answered {reached or type(tree)}: {sql}")
        if RAW in str(answer.to_pydict()).lower() and RAW not in sql.lower():
            raise Finding(f"tells what is in a file: {sql}")
        if self._look() != self._before:
            raise Finding(f"changed the store: {sql}")

    def _look(self) -> object:
        store = self._session.store
        return store.version("shoppers"), [each.name for each in store.lookups()]

    def close(self) -> None:
        self._opened.close()


def require_finite(result: Result, sql: str = "") -> None:
    """Finding for an estimate, or an end of its interval, that is no number; but what combines a
    mode with other estimates has no error bar."""
    for place, bars in result.intervals.items():
        values = result.table.column(place).to_pylist()
        for row, value in enumerate(values):
            shown = (value, bars.stderr[row], bars.low[row], bars.high[row])
            if "mode" in sql.lower() and all(map(isnan, shown[1:])):
                continue
            if value is not None and not all(map(isfinite, shown)):
                raise Finding(f"{result.table.column_names[place]} of row {row} is {shown}")


def golden_statements() -> list[str]:
    """The statements about shoppers, and those of the engine's golden answers, put to
    the same survey."""
    found = [sql for listed in statements().values() for sql in listed]
    renamed = {"app": "shoppers", "pay": "spend", "day": "sent"}
    for sql in read_answers():
        found.append(re.sub(r"\b(app|pay|day)\b", lambda word: renamed[word[0]], sql))
    return list(dict.fromkeys(found))
