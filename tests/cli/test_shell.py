"""The shell: statements until the input ends, whatever goes wrong in between."""

from __future__ import annotations

import re
import shutil

import pyarrow.parquet as pq
import pytest
from support.command_line import run, store_reports
from support.surveys import app

from ldpsql.engine.session import Session


@pytest.fixture(scope="module")
def database(tmp_path_factory):
    path = tmp_path_factory.mktemp("store") / "app.duckdb"
    store_reports(path, 1000)
    return path


def shell(database, text, *arguments):
    return run("shell", "--db", database, *arguments, text=text)


def test_dot_commands(database):
    done = shell(database, ".tables\n.schema\n.survey app\n.help\n.quit\nSELECT 1;\n")
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
    ):
        assert words in done.stdout
    assert done.stderr == ""


def test_look_up_tables_are_listed_with_the_surveys(database, tmp_path):
    database, file = shutil.copy(database, tmp_path), tmp_path / "regions.csv"
    file.write_text("state,region,people\nNY,east,3\n")
    assert run("lookup", "add", file, "--db", database).exit_code == 0
    assert shell(database, ".tables\n").stdout == "app\nregions (look-up table)\n"
    shown = shell(database, ".schema Regions\n").stdout.split()
    assert shown[:4] == ["regions", "(look-up", "table)", "state"]
    assert shown[-3:] == ["people", "lookup", "int"]
    assert "regions" not in shell(database, ".survey\n").stdout


COUNT, ANSWER = "SELECT COUNT(*) AS n FROM app;\n", "n\n1000\n"
SAID = [
    # What goes in, what comes out on stdout, and words of stderr; without them there is no error.
    ("SELECT COUNT(*) AS a\nFROM app; SELECT 2 b;\n\nSELECT 1 AS c", "a\n1000\nb\n2\nc\n1\n", ""),
    ("SELECT /* not; \n yet; */ COUNT(*) AS n FROM app;", ANSWER, ""),
    (f"-- one;\n{COUNT}/* two; */ ;\n-- three\n.tables\n-- four", f"{ANSWER}app\n", ""),
    (f"SELECT nonsense FROM app;\n{COUNT}", ANSWER, "no column 'nonsense'"),
    (b"SELECT '\xff' FROM app;\n.schema \xff\n.\xff\nSELECT 1 n;", "n\n1\n", "not valid UTF-8"),
]
FAILING = {
    ".schema nothing": "nothing",
    ".tabels": "no command '.tabels'; did you mean .tables? .help lists them",
    ".mode cvs": "no format 'cvs'; did you mean csv? there are table, csv,",
    ".timer yes": "no choice 'yes'; there are on, off",
    ".estimator smoth": "no estimator 'smoth'; ",
    ".confidence most": "'most' is not a number between 0 and 1",
    ".confidence 2": "confidence must lie between 0 and 1, not 2",
    ".open nothing.duckdb": "nothing.duckdb",
    ".read": ".read needs the name of a file",
    ".read nothing.sql": "nothing.sql: No such file or directory",
    ".output nowhere/x.csv": "nowhere: there is no such folder",
}


def test_statements_are_answered_in_turn_whatever_goes_wrong_in_between(database):
    for text, stdout, words in SAID:
        done = shell(database, text, "--format", "csv")
        assert (done.exit_code, done.stdout) == (1 if words else 0, stdout), text
        assert done.stderr.startswith("ldpsql: error: ") if words else not done.stderr, text
        assert words in done.stderr, text


def test_a_command_that_fails_changes_nothing_and_does_not_end_it(database):
    done = shell(database, "".join(f"{line}\n{COUNT}" for line in FAILING), "--format", "csv")
    assert (done.exit_code in (1, 2, 3), done.stdout) == (True, ANSWER * len(FAILING))
    for said, words in zip(done.stderr.splitlines(), FAILING.values(), strict=True):
        assert said.startswith("ldpsql: error: ")
        assert words in said


def test_help_and_quit_are_words_too(database):
    done = shell(database, "help\nSELECT 1 AS help;\nQUIT;\nSELECT 2;\n", "--format", "csv")
    assert done.exit_code == 0
    assert ".estimator [NAME]" in done.stdout
    assert done.stdout.endswith("\nhelp\n1\n")
    assert all(len(line) <= 80 for line in done.stdout.splitlines())


def test_settings_hold_from_then_on_and_are_told(database):
    question = "SELECT COUNT(*) AS n FROM app WHERE age < 40;"
    text = f".confidence\n{question}\n.confidence 0.5\n.confidence\n{question}\n.estimator\n"
    done = shell(database, f"{text}.mode\n.mode csv\n.mode\n.timer\n")
    told = [line for line in done.stdout.splitlines() if "±" not in line]
    assert [each for each in told if each.strip(" n-")] == [
        *("0.95", "0.5", "default", "table", "csv", "off")
    ]
    wide, narrow = (
        float(line.split("±")[1].strip(" ~")) for line in done.stdout.splitlines() if "±" in line
    )
    assert wide == pytest.approx(narrow * 1.95996 / 0.67449, rel=0.1)
    assert "the 95 % interval" in done.stderr
    assert "the 50 % interval" in done.stderr


def test_the_estimators_are_those_of_the_surveys(database):
    other = list(app().design.estimators)[-1]
    done = shell(database, f".estimator {other}\n.estimator\n.estimator default\n.estimator\n")
    assert done.stdout.split() == [other, "default"]


def test_another_database_is_asked_after_open(database, tmp_path):
    other = tmp_path / "other.duckdb"
    store_reports(other, 100)
    text = "SELECT COUNT(*) AS n FROM app;\n"
    done = shell(database, f"{text}.open {other}\n.open\n{text}", "--format", "csv")
    assert done.stdout == f"n\n1000\n{other}\nn\n100\n"


def test_answers_go_to_a_file_until_they_no_longer_do(database, tmp_path):
    file, text = tmp_path / "a.csv", "SELECT COUNT(*) AS n FROM app;\n"
    file.write_text("of before\n")
    done = shell(database, f".output {file}\n{text}{text}.output\n{text}", "--format", "csv")
    assert (done.exit_code, done.stdout) == (0, "n\n1000\n")
    assert file.read_text().splitlines() == ["n", "1000", "n", "1000"]


def test_a_file_that_holds_one_answer_takes_no_second(database, tmp_path):
    file, text = tmp_path / "a.parquet", "SELECT COUNT(*) AS n FROM app;\n"
    done = shell(database, f".output {file}\n{text}SELECT 2 AS n;\n")
    assert done.exit_code > 0
    assert "holds one answer as parquet; name another file" in done.stderr
    assert pq.read_table(file).to_pydict() == {"n": [1000]}


def test_the_database_is_no_file_for_answers(database):
    before = database.read_bytes()
    assert shell(database, f".output {database}\nSELECT 1;\n").exit_code > 0
    assert database.read_bytes() == before


def test_a_file_is_read_and_may_read_others_but_not_without_end(database, tmp_path):
    first, second = tmp_path / "first.sql", tmp_path / "second.sql"
    first.write_text(f"SELECT 1 AS a;\n.read {second}\nSELECT 3 AS c")
    second.write_text("SELECT nonsense FROM app;\nSELECT 2 AS b;")
    done = shell(database, f".read {first}\nSELECT 4 AS d;", "--format", "csv")
    assert (done.exit_code, done.stdout) == (1, "a\n1\nb\n2\nc\n3\nd\n4\n")
    second.write_text(f".read {second}\nSELECT 5 AS e;")
    done = shell(database, f".read {second}\n.mode csv\nSELECT 6 AS f;")
    assert "may read one another" in done.stderr
    assert done.stdout.endswith("f\n6\n")
    first.write_text("quit\nSELECT 7;")
    assert shell(database, f".read {first}\nSELECT 8;").stdout == ""


def test_times_are_told_on_stderr(database):
    done = shell(database, ".timer on\nSELECT 1 AS a;\n.timer off\nSELECT 2;", "--format", "csv")
    [said] = done.stderr.splitlines()
    assert re.fullmatch(r"time: \d+\.\d{3} s", said)


def test_a_database_in_front_opens_it_or_is_asked(database):
    text = "SELECT COUNT(*) AS n FROM app;"
    opened = run(database, "--format", "csv", text=text)
    assert (opened.exit_code, opened.stdout) == (0, "n\n1000\n")
    for arguments in ((database, text), (database, "query", text)):
        asked = run(*arguments, "--format", "csv")
        assert (asked.exit_code, asked.stdout) == (0, "n\n1000\n")
    assert "one forged report" in run(database, "explain", text).stdout
    assert "app" in run(database, "db", "list").stdout


def test_ctrl_c_in_a_pipe_ends_it(database, monkeypatch):
    monkeypatch.setattr(Session, "execute", interrupt)
    assert shell(database, "SELECT 1;\nSELECT 2;").exit_code == 130


def interrupt(*_):
    raise KeyboardInterrupt
