"""Questions on the command line: the default command, parameters, errors and exit codes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from click.testing import CliRunner
from support.command_line import refusal, run, store_reports
from support.surveys import ANYTHING, unsound
from support.two_estimators import known, stored, survey_of_two

from ldpsql.cli import ask
from ldpsql.cli.main import cli
from ldpsql.randomize.table import randomize_batch
from ldpsql.reports.atomic import replace_file
from ldpsql.store import open_store
from ldpsql.terminal.options import read_parameters
from ldpsql_lab.simulation import SeededEntropy

COUNT = "SELECT COUNT(*) AS n FROM app WHERE age BETWEEN 30 AND 45"


@pytest.fixture(scope="module")
def database(tmp_path_factory):
    path = tmp_path_factory.mktemp("store") / "app.duckdb"
    store_reports(path)
    return path


@pytest.fixture(autouse=True)
def environment(monkeypatch, database):
    monkeypatch.setenv("LDPSQL_DB", str(database))


def rows(result):
    assert result.exit_code == 0, result.stderr
    return [json.loads(line) for line in result.stdout.splitlines()]


def test_sql_alone_is_a_query():
    shown = run(COUNT)
    assert shown.exit_code == 0
    header, rule, row = shown.stdout.splitlines()
    assert header.strip() == "n"
    assert set(rule) == {"-"}
    assert " ± " in row


def test_every_way_to_say_it_gives_the_same_answer(database):
    expected = rows(run("query", COUNT, "--format", "jsonl"))
    assert 0 < expected[0]["n"] < 20_000
    for way in (
        run(COUNT, "--format", "jsonl"),
        run("--format", "jsonl", COUNT),
        run("--db", database, "--format=jsonl", COUNT),
        run("--format", "jsonl", "--db", database, "query", COUNT),
        run("--format", "jsonl", text=COUNT),
        run("--format", "jsonl", "-", text=COUNT),
        run("query", "--format", "jsonl", "-", text=COUNT),
        run(COUNT, "--format", "jsonl", "--estimator", "unbiased"),
    ):
        assert rows(way) == expected


def test_the_interval_widens_with_the_confidence():
    def width(level):
        asked = run(COUNT, "--format", "jsonl", "--intervals", "--confidence", level)
        found = rows(asked)[0]
        return found["n_high"] - found["n_low"]

    assert width(0.5) < width(0.95) < width(0.999)


def test_parameters_fill_the_placeholders():
    expected = rows(run(COUNT, "--format", "jsonl"))
    question = "SELECT COUNT(*) AS n FROM app WHERE age BETWEEN ? AND ?"
    asked = run(question, "--param", "30", "--param", "45", "--format", "jsonl")
    assert rows(asked) == expected
    question = "SELECT COUNT(*) AS n FROM app WHERE age BETWEEN :low AND :high"
    asked = run(question, "--param", "high=45", "--param", "low=30", "--format", "jsonl")
    assert rows(asked) == expected


def test_parameters_read_as_what_they_look_like():
    assert read_parameters(["1", "1.5", "true", "'7'", "2026-01-31", "x=1", ""][:5]) == [
        1,
        1.5,
        True,
        "7",
        "2026-01-31",
    ]
    assert read_parameters(["a=1", "b='x=y'"]) == {"a": 1, "b": "x=y"}
    assert read_parameters([]) is None


def test_the_answer_can_go_to_a_file(tmp_path):
    target = tmp_path / "answer.csv"
    asked = run(COUNT, "-o", target)
    assert (asked.exit_code, asked.stdout) == (0, "")
    assert target.read_text().startswith("n\n")


def test_explain_prints_the_plan(tmp_path):
    plan = run("explain", COUNT)
    assert plan.exit_code == 0
    assert "2" in plan.stdout
    verbose = run("explain", "--verbose", COUNT)
    assert len(verbose.stdout) > len(plan.stdout)
    assert run("EXPLAIN " + COUNT).stdout == plan.stdout


def test_a_question_that_is_too_deep_is_one_line_and_exit_code_1():
    deep = "(" * 10_000 + "age > 3" + ")" * 10_000
    assert refusal(run(f"SELECT COUNT(*) FROM app WHERE {deep}"), 1)


def test_a_bug_is_said_to_be_one_and_quotes_nothing(monkeypatch):
    def broken(*_, **__):
        raise ValueError("secret 42")

    monkeypatch.setattr(ask, "answer", broken)
    shown = CliRunner().invoke(cli, [COUNT])
    assert shown.exit_code == 1
    assert shown.stderr.startswith("ldpsql: error: this is a bug in ldpsql (ValueError in test_ask")
    assert len(shown.stderr.splitlines()) == 1
    assert "secret" not in shown.stderr
    monkeypatch.setenv("LDPSQL_DEBUG", "1")
    assert "Traceback" in CliRunner().invoke(cli, [COUNT]).stderr


def test_too_little_memory_is_no_bug(monkeypatch):
    def full(*_, **__):
        raise MemoryError

    monkeypatch.setattr(ask, "answer", full)
    assert "not enough memory" in refusal(run(COUNT), 1)


def test_help_and_version_are_not_queries():
    for words in (("--help",), ("-h",), ("query", "--help")):
        shown = run(*words)
        assert shown.exit_code == 0
        assert shown.stdout.startswith("Usage: ldpsql")


PROGRAM = [sys.executable, "-m", "ldpsql"]


def ended(command, **settings):
    return subprocess.run(command, check=False, **settings)


def test_a_reader_that_stops_reading_is_no_error():
    reading, writing = os.pipe()
    os.close(reading)
    done = ended([*PROGRAM, COUNT], stdout=writing, stderr=subprocess.PIPE)
    os.close(writing)
    assert done.returncode == 0
    assert b"error" not in done.stderr


def test_an_interruption_is_exit_code_130():
    # A shell that runs the tests in the background ignores interruptions, and so would the program.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        waiting = subprocess.Popen([*PROGRAM, "-"], stdin=subprocess.PIPE, stderr=subprocess.PIPE)
    finally:
        signal.signal(signal.SIGINT, before)
    time.sleep(2.0)  # imports are over by then, on a busy machine too
    waiting.send_signal(signal.SIGINT)
    _, err = waiting.communicate(timeout=20)
    assert waiting.returncode == 130
    assert b"Traceback" not in err


@pytest.mark.fast(1)
@pytest.mark.parametrize(("form", "loaded"), [("table", ["rich"]), ("csv", []), ("json", [])])
def test_a_real_process_loads_little_and_answers_in_the_encoding_of_its_terminal(form, loaded):
    """Rich for tables alone, and no pandas or masked arrays."""
    program = (
        "import sys; from ldpsql.cli import main\n"
        "heavy = {'rich', 'pandas', 'scipy', 'numpy.ma'}\n"
        "def leave(code): print(code, sorted(heavy & set(sys.modules)))\n"
        "main.os._exit = leave; main.main()\n"
    )
    command = [sys.executable, "-c", program, COUNT, "--format", form]
    settings = {**os.environ, "PYTHONIOENCODING": "ascii"}
    done = ended(command, capture_output=True, text=True, env=settings)
    assert done.stdout.splitlines()[-1] == f"0 {loaded}"
    assert (" +/- " in done.stdout) == (form == "table")
    assert all(line.startswith("note: ") for line in done.stderr.splitlines())


def test_a_full_disk_is_an_error():
    with Path("/dev/full").open("w") as full:
        done = ended([*PROGRAM, COUNT], stdout=full, stderr=subprocess.PIPE)
    assert done.returncode == 1
    assert done.stderr.startswith(b"ldpsql: error: the output: No space left on device")


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["SELECT '\udcff' FROM app"], None),
        (["-"], b"SELECT '\xff' FROM app"),
        (["SELECT COUNT(*) FROM app WHERE state = ?", "--param", "\udcff"], None),
        (["SELECT COUNT(*) FROM app WHERE state = :s", "--param", "s=\udcff"], None),
        (["explain", "SELECT '\udcff' FROM app"], None),
    ],
)
def test_bytes_that_are_no_utf8_are_refused(arguments, text):
    assert "not valid UTF-8" in refusal(run(*arguments, text=text), 1)


def test_the_title_of_a_column_is_its_text():
    item = "(SELECT COUNT(*) FROM app) + COUNT(*)"
    assert list(rows(run(f"SELECT {item} FROM app", "--format", "jsonl"))[0]) == [item]


def test_a_file_that_cannot_be_written_is_named_as_it_was_given(tmp_path):
    for target, reason in ((tmp_path / "no" / "out.csv", "No such file"), (tmp_path / "d", "Is a")):
        (tmp_path / "d").mkdir(exist_ok=True)
        with pytest.raises(OSError, match=reason) as failure, replace_file(target):
            pass
        assert failure.value.filename == str(target)
    said = refusal(run(COUNT, "-o", tmp_path / "no" / "out.csv"), 1)
    assert said == f"{tmp_path}/no/out.csv: No such file or directory"


@pytest.mark.parametrize(
    "arguments", [[COUNT], ["explain", COUNT], ["shell"], ["-"], ["schema", __file__]]
)
def test_an_interruption_anywhere_ends_with_130_and_says_nothing(monkeypatch, arguments):
    def interrupt(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("ldpsql.engine.session.Session.execute", interrupt)
    monkeypatch.setattr("ldpsql.cli.design.column_types", interrupt)
    done = run(*arguments, text=f"{COUNT};\n{COUNT};\n")
    assert (done.exit_code, done.stdout, done.stderr.strip()) == (130, "", "")


def test_every_estimator_of_a_mechanism_can_be_named(tmp_path):
    survey = unsound()
    table = pa.table({"age": np.random.default_rng(1).integers(18, 91, 2_000)})
    reports, _ = randomize_batch(survey, table, SeededEntropy(1), policy=ANYTHING)
    with open_store(tmp_path / "small.duckdb", read_only=False) as store:
        store.ingest_table(reports, survey)
    asked = ("SELECT COUNT(*) AS n FROM small WHERE age < 40", "--db", tmp_path / "small.duckdb")
    answers = {
        name: json.loads(run(*asked, "--format", "json", "--estimator", name).stdout)
        for name in survey.design.estimators
    }
    assert set(answers) == {"unbiased", "published"}
    assert {name: answer["estimator"] for name, answer in answers.items()} == {
        name: name for name in answers
    }
    assert len({answer["rows"][0]["n"] for answer in answers.values()}) == 2
    assert "no epsilon holds" in run("explain", *asked).stdout


def test_a_second_estimator_answers_with_its_typical_error(tmp_path, monkeypatch):
    survey = survey_of_two()
    with known(survey):
        stored(survey, tmp_path / "two.duckdb").close()
        monkeypatch.setenv("LDPSQL_DB", str(tmp_path / "two.duckdb"))
        sql = "SELECT COUNT(*) AS n FROM app WHERE age < 4"
        table = run(sql, "--estimator", "smooth")
        assert "(typ. " in table.stdout
        assert "note: app: values are post-processed" in table.stderr
        document = json.loads(
            run(sql, "--estimator", "smooth", "--format", "json", "--intervals").stdout
        )
        assert document["estimator"] == "smooth"
        assert document["rows"][0]["n_typical"] > 0
        asked = run("shell", "--estimator", "smooth", "--format", "jsonl", text=f"{sql};")
        assert json.loads(asked.stdout)["n"] == document["rows"][0]["n"]
        assert "(typ. " not in run(sql).stdout


def test_weights_are_files_of_margins(tmp_path):
    margins = tmp_path / "margins.csv"
    margins.write_text("age,people\n18..29,100\n30+,200\n")
    sql = "SELECT COUNT(*) AS n, COUNT(*) FILTER (WHERE age < 30) AS young FROM app"
    shown = run("query", "--weights", margins, sql, "--format", "jsonl")
    assert rows(shown) == [{"n": 300, "young": 100}]
    assert f"note: answers about 300 people, post-stratified by age ({margins})" in shown.stderr
    shown = run("shell", "--weights", margins, "--format", "jsonl", text=sql)
    assert rows(shown) == [{"n": 300, "young": 100}]
    margins.write_text("age,people\n18..29,100\n")
    assert "no stratum of age holds 30.." in refusal(run("--weights", margins, sql), 1)
