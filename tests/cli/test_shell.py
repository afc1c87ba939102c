"""The shell: statements until the input ends, whatever goes wrong in between."""

from __future__ import annotations

import pytest
from support.command_line import run, store_reports


@pytest.fixture(scope="module")
def database(tmp_path_factory):
    path = tmp_path_factory.mktemp("store") / "app.duckdb"
    store_reports(path, 1000)
    return path


def shell(database, text, *arguments):
    return run("shell", "--db", database, *arguments, text=text)


def test_statements_are_answered_in_turn(database):
    first = "SELECT COUNT(*) AS a\nFROM app; SELECT COUNT(*) AS b FROM app;\n\n"
    text = first + "SELECT COUNT(*) AS c FROM app"
    done = shell(database, text, "--format", "csv")
    assert (done.exit_code, done.stdout) == (0, "a\n1000\nb\n1000\nc\n1000\n")


def test_an_error_does_not_end_it(database):
    text = "SELECT nonsense FROM app;\nSELECT COUNT(*) AS n FROM app;\n"
    done = shell(database, text, "--format", "csv")
    assert done.exit_code == 1
    assert done.stdout == "n\n1000\n"
    assert done.stderr.startswith("ldpsql: error: ")


def test_dot_commands(database):
    done = shell(database, ".tables\n.schema\n.survey app\n.help\n.bogus\n.quit\nSELECT 1;\n")
    assert done.exit_code == 0
    for words in (
        "app\n",
        "[18, 90]",
        "'CA', 'NY'",
        "measure",
        "day",
        "2-LDP",
        "fingerprint",
        ".quit",
        "no command",
    ):
        assert words in done.stdout
    assert done.stderr == ""


def test_look_up_tables_are_listed_with_the_surveys(tmp_path):
    database, file = tmp_path / "app.duckdb", tmp_path / "regions.csv"
    store_reports(database, 100)
    file.write_text("state,region,people\nNY,east,3\n")
    assert run("lookup", "add", file, "--db", database).exit_code == 0
    assert shell(database, ".tables\n").stdout == "app\nregions (look-up table)\n"
    shown = shell(database, ".schema Regions\n").stdout.split()
    assert shown[:4] == ["regions", "(look-up", "table)", "state"]
    assert shown[-3:] == ["people", "lookup", "int"]
    assert "regions" not in shell(database, ".survey\n").stdout


def test_an_unknown_table_is_an_error(database):
    assert shell(database, ".schema nothing\n").exit_code == 1


def test_a_comment_may_span_lines_and_hold_a_semicolon(database):
    done = shell(database, "SELECT /* not; \n yet; */ COUNT(*) AS n FROM app;", "--format", "csv")
    assert (done.exit_code, done.stdout) == (0, "n\n1000\n")


def test_bytes_that_are_no_utf8_are_refused_and_do_not_end_it(database):
    text = b"SELECT '\xff' FROM app;\n.schema \xff\n.\xff\nSELECT COUNT(*) AS n FROM app;\n"
    done = shell(database, text, "--format", "csv")
    assert done.exit_code == 1
    assert done.stdout.endswith("n\n1000\n")
    assert "not valid UTF-8" in done.stderr


def test_comments_between_statements_are_no_questions(database):
    text = "-- one;\nSELECT COUNT(*) AS n FROM app;\n/* two; */ ;\n-- three\n.tables\n-- four"
    done = shell(database, text)
    assert done.exit_code == 0
    assert done.stdout.endswith("\napp\n")
    assert done.stderr == ""


def test_a_query_without_estimates_has_no_note_about_them(database):
    done = shell(database, "SELECT 1 AS one;", "--format", "csv")
    assert (done.exit_code, done.stdout, done.stderr) == (0, "one\n1\n", "")
