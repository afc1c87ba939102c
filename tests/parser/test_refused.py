"""What is refused: the class of the error, its place, and what it says, from one table."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from support.sql_survey import marked, refusal

TABLE = Path(__file__).with_name("refused.sql")


def told(sql: str) -> str:
    """The class of a statement's error, the marked text, the reason, and the way out."""
    error = refusal(sql)
    place = f" [{marked(error)}]" if error.place else ""
    return f"{type(error).__name__}{place}: {error.reason}; {error.hint}".removesuffix("; ")


def refused() -> Iterator[tuple[str, str]]:
    """Statements, and what is said of them."""
    for line in TABLE.read_text(encoding="utf-8").splitlines():
        sql, _, expected = line.rpartition("  -- ")
        if sql:
            yield sql.replace("\\n", "\n"), expected


def test_what_is_refused_is_refused_at_its_place() -> None:
    wrong = {}
    for sql, expected in refused():
        pattern = ".*".join(map(re.escape, expected.split("...")))
        if not re.fullmatch(pattern, found := told(sql)):
            wrong[sql] = found, expected
    assert wrong == {}
