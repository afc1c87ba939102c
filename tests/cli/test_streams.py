"""Commands whose standard streams are closed, full or absent."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.command_line import run
from support.surveys import integer, survey_toml

from ldpsql.cli.commands import Commands

MAIN = "from ldpsql.cli.main import main; main()"
STREAMS = {
    "output closed": "</dev/null >&-",
    "output full": "</dev/null >/dev/full",
    "messages closed": "</dev/null 2>&-",
    "messages full": "</dev/null 2>/dev/full",
    "input closed": "<&-",
    "all closed": "<&- >&- 2>&-",
}
ASKED = {
    "query": ["query", "--db", "p.duckdb", "SELECT COUNT(*) FROM app"],
    "a wrong query": ["query", "--db", "p.duckdb", "SELECT nope FROM app"],
    "no query": ["query", "--db", "p.duckdb"],
    "shell": ["shell", "--db", "p.duckdb"],
    "help": ["--help"],
}
EVERY = {
    **{f"help of {name}": [name, "--help"] for name in Commands().help_lines()},
    "design": ["design", "s.toml", "-o", "t.json"],
    "randomize": ["randomize", "d.parquet", "--survey", "s.json", "-o", "q.parquet"],
    "ingest": ["ingest", "r.parquet", "--db", "q.duckdb"],
    "db list": ["db", "list", "--db", "p.duckdb"],
    "audit": ["audit", "s.json"],
    "describe": ["describe", "s.json"],
    "explain": ["explain", "--db", "p.duckdb", "SELECT COUNT(*) FROM app"],
    "schema": ["schema", "d.parquet"],
    "synthesize": ["synthesize", "--db", "p.duckdb", "-o", "made.csv"],
    "publish": ["publish", "--db", "p.duckdb", "-o", "tables"],
}


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("streams")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        Path("s.toml").write_text(survey_toml(integer("age", 0, 9), epsilon="6", mechanism="grr"))
        pq.write_table(pa.table({"age": [i % 10 for i in range(100)]}), "d.parquet")
        assert run("design", "s.toml", "-o", "s.json").exit_code == 0
        assert run("randomize", "d.parquet", "--survey", "s.json", "-o", "r.parquet").exit_code == 0
        assert run("ingest", "r.parquet", "--db", "p.duckdb").exit_code == 0
    return folder


def check(home: Path, words: list[str], streams: str) -> None:
    """A command ends as it does with all streams, but for output that cannot be written."""

    def ended(redirected: str) -> subprocess.CompletedProcess[str]:
        for made in ("t.json", "t.collector.json", "q.parquet", "q.duckdb", "made.csv"):
            (home / made).unlink(missing_ok=True)
        command = ["bash", "-c", f'"$@" {redirected}', "bash", sys.executable, "-c", MAIN, *words]
        return subprocess.run(
            command, cwd=home, capture_output=True, text=True, check=False, timeout=100
        )

    usual, found = ended("</dev/null"), ended(STREAMS[streams])
    is_lost = bool(usual.stdout) and streams in ("output closed", "output full", "all closed")
    assert found.returncode == (max(usual.returncode, 1) if is_lost else usual.returncode)
    for said in (usual.stderr, found.stderr):
        assert "Traceback" not in said
        assert "bug in ldpsql" not in said
    if streams.startswith("output"):
        assert ("error: the output: " in found.stderr) is is_lost
    elif not is_lost:
        assert found.stdout == usual.stdout


@pytest.mark.parametrize("streams", STREAMS)
@pytest.mark.parametrize("words", ASKED.values(), ids=ASKED)
def test_questions_end_as_ever_without_a_stream(home: Path, words: list[str], streams: str) -> None:
    check(home, words, streams)


@pytest.mark.slow
@pytest.mark.parametrize("streams", STREAMS)
@pytest.mark.parametrize("words", EVERY.values(), ids=EVERY)
def test_every_command_ends_as_ever_without_a_stream(
    home: Path, words: list[str], streams: str
) -> None:
    check(home, words, streams)


def test_a_file_never_takes_the_place_of_a_closed_stream(home: Path) -> None:
    """No message goes into a database that is opened meanwhile."""
    code = "import os; from ldpsql.cli.main import open_streams; open_streams()"
    code += "; print(os.open('p.duckdb', os.O_RDONLY), file=open('number', 'w'))"
    command = ["bash", "-c", '"$@" <&- >&- 2>&-', "bash", sys.executable, "-c", code]
    subprocess.run(command, cwd=home, check=True, timeout=100)
    assert int((home / "number").read_text()) > 2
