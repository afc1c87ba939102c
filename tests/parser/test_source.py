from __future__ import annotations

import pytest
from support.sql_survey import base_of, marked, parsed, refusal

from ldpsql.errors import QueryError
from ldpsql.parser.source import (
    MAX_DEPTH,
    MAX_LENGTH,
    is_blank,
    parse_query,
    read,
    split_statements,
)


@pytest.mark.parametrize(
    ("sql", "mode"),
    [
        ("SELECT COUNT(*) FROM app", "answer"),
        ("  -- a comment\n/* another */ SELECT COUNT(*) FROM app -- end", "answer"),
        (";;SELECT COUNT(*) FROM app;;", "answer"),
        ("explain SELECT COUNT(*) FROM app;", "explain"),
        ("-- why\nEXPLAIN\n VERBOSE\nSELECT COUNT(*) FROM app", "explain verbose"),
        ("EXPLAIN (SELECT COUNT(*) FROM app)", "explain"),
    ],
)
def test_comments_semicolons_and_explain_are_taken_off(sql: str, mode: str) -> None:
    statement = parsed(sql)
    assert statement.mode == mode
    assert statement.sql == sql
    assert len(statement.bases) == 1


def test_places_count_from_the_start_of_the_text_with_explain() -> None:
    error = refusal("EXPLAIN VERBOSE\nSELECT COUNT(*) FROM app\r\nWHERE 'é' < state AND agee > 3")
    assert (error.place.line, error.place.column) == (3, 23)
    assert marked(error) == "agee"


@pytest.mark.parametrize("sql", ["", "   ", ";", "-- nothing", "EXPLAIN"])
def test_an_empty_text_is_refused(sql: str) -> None:
    assert "empty" in refusal(sql).reason


def test_a_message_of_the_parser_carries_no_terminal_codes_or_python() -> None:
    for sql in ("SELECT FROM WHERE", "SELECT COUNT(*) FROM app WHERE age IN (1", "SELECT a b c d"):
        message = str(refusal(sql))
        assert "\x1b" not in message
        assert "Token" not in message
        assert "<class" not in message


def test_nothing_is_printed(capfd: pytest.CaptureFixture[str]) -> None:
    parsed("EXPLAIN SELECT COUNT(*) FROM app")
    refusal("CALL f()")
    refusal("WITH a AS (SELECT 1) INSERT INTO b SELECT 1")
    refusal("WITH t AS (\nEXPLAIN\n VERBOSE SELECT 1 AS x) SELECT x FROM t")
    refusal("SELECT COUNT(*) FROM app MATCH_RECOGNIZE (x)")
    assert capfd.readouterr() == ("", "")


def test_a_text_that_is_too_long_is_refused() -> None:
    assert "limit" in refusal("SELECT COUNT(*) FROM app" + " " * MAX_LENGTH).reason


@pytest.mark.parametrize(
    "condition",
    [
        "(" * 3_000 + "age = 20" + ")" * 3_000,
        "NOT (" * 3_000 + "age = 20" + ")" * 3_000,
        "NOT " * 3_000 + "active",
        "age = " + "- " * 3_000 + "1",
        "age = " + "f(" * 3_000 + "1" + ")" * 3_000,
        "age = " + "[" * 3_000 + "1" + "]" * 3_000,
        "age = " + "CASE WHEN TRUE THEN " * 1_000 + "1" + " END" * 1_000,
        "age = 1" + " + 1" * 3_000,
        "age = " + "INTERVAL " * 3_000 + "1",
        "age = 1" + "::INT" * 3_000,
    ],
)
def test_deep_nesting_is_refused_plainly(condition: str) -> None:
    error = refusal(f"SELECT COUNT(*) FROM app WHERE {condition}")
    assert "deep" in error.reason or "syntax" in error.reason


@pytest.mark.parametrize(
    "condition",
    [
        "(" * (MAX_DEPTH - 1) + "age = 20" + ")" * (MAX_DEPTH - 1),
        "NOT (" * (MAX_DEPTH - 2) + "age = 20" + ")" * (MAX_DEPTH - 2),
        "(hours = 1 OR (age = 20 AND " * 45 + "active" + "))" * 45,
    ],
)
def test_nesting_below_the_limit_works(condition: str) -> None:
    assert base_of(f"SELECT COUNT(*) FROM app WHERE {condition}").predicate is not None


def test_a_long_chain_of_queries_is_told_what_is_too_long() -> None:
    error = refusal("SELECT COUNT(*) FROM app" + " UNION ALL SELECT COUNT(*) FROM app" * 1_000)
    assert error.hint is not None
    assert "shorter chains of UNION" in error.hint


@pytest.mark.parametrize("word", ["AND", "OR"])
def test_chains_of_thousands_are_one_node(word: str) -> None:
    terms = f" {word} ".join(f"age <> {i}" for i in range(2_000))
    predicate = base_of(f"SELECT COUNT(*) FROM app WHERE {terms}").predicate
    assert len(predicate.operands) == 2_000  # type: ignore[union-attr]


@pytest.mark.parametrize(
    "items",
    [
        ["(SELECT COUNT(*) FROM app) + COUNT(*)"],
        ["COUNT(*)", "(SELECT COUNT(*) FROM app) + COUNT( * )", "AVG( spent )"],
        ["(SELECT COUNT(*) FROM app WHERE age > 30) / (SELECT COUNT(*) FROM app)"],
        ["AVG( spent )", "(SELECT COUNT(*) FROM app)"],
    ],
)
def test_titles_are_the_items_as_written_around_scalar_queries(items: list[str]) -> None:
    sql = f"SELECT {', '.join(items)} FROM app"
    _, source = read(sql)
    tree = parse_query(source, source.tokens)
    assert [source.text(item) for item in tree.selects] == items


@pytest.mark.parametrize("sql", ["SELECT '\udcff' FROM app", "\ud83d", "SELECT 1 -- \udc80"])
def test_what_is_no_unicode_is_refused(sql: str) -> None:
    error = refusal(sql)
    assert isinstance(error, QueryError)
    assert "not valid UTF-8" in str(error)
    assert marked(error) == "?"
    assert error.caret().encode("utf-8")


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("a; b", ["a", " b"]),
        ("a;", ["a", ""]),
        ("a ';' b; c", ["a ';' b", " c"]),
        ("a '' ; b", ["a '' ", " b"]),
        ("a 'it''s;' ; b", ["a 'it''s;' ", " b"]),
        ('a "x;y" ; b', ['a "x;y" ', " b"]),
        ("a -- b;\nc; d", ["a -- b;\nc", " d"]),
        ("a -- b;", ["a -- b;"]),
        ("a '", ["a '"]),
        ("a; b 'c;", ["a; b 'c;"]),
        ("a /* b; */ c; d", ["a /* b; */ c", " d"]),
        ("a /* x /* y; */ ; */ b; c", ["a /* x /* y; */ ; */ b", " c"]),
        ("a /* -- ; */; b", ["a /* -- ; */", " b"]),
        ("a -- /* ;\n; b", ["a -- /* ;\n", " b"]),
        ("a '/*'; b", ["a '/*'", " b"]),
        ("a /* it's */; b", ["a /* it's */", " b"]),
        ("a /* b;", ["a /* b;"]),
        (r"a E'\';'; b", [r"a E'\';'", " b"]),
        ("a $$;'$$; b", ["a $$;'$$", " b"]),
        ("", [""]),
    ],
)
def test_statements_end_at_semicolons_outside_of_quotes_and_comments(text, parts):
    assert split_statements(text) == parts


@pytest.mark.parametrize(
    ("text", "blank"), [(" -- x\n/* ; */", True), ("", True), ("a", False), ("'", False)]
)
def test_a_text_of_comments_is_blank(text, blank):
    assert is_blank(text) is blank
