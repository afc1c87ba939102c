"""Running commands in this process, and a database to ask."""

from __future__ import annotations

from click.testing import CliRunner, Result
from support.surveys import ANYTHING, TOML, app, people

from ldpsql.cli.main import cli
from ldpsql.designer import design
from ldpsql.randomize.table import randomize_batch
from ldpsql.store import open_store
from ldpsql.survey import Survey
from ldpsql_lab.simulation import SeededEntropy


def run(*arguments: object, text: str | bytes | None = None) -> Result:
    """Run `ldpsql` with arguments, and text on stdin."""
    result = CliRunner().invoke(cli, [str(argument) for argument in arguments], input=text)
    assert "Traceback" not in result.output
    assert "this is a bug" not in result.stderr
    return result


def refusal(result: Result, code: int) -> str:
    """The one line that a failed command said; the exit code must be `code`."""
    assert result.exit_code == code, result.output
    assert result.stdout == ""
    first, *rest = result.stderr.splitlines()
    assert first.startswith("ldpsql: error: ")
    assert len(rest) in (0, 2)
    return first.removeprefix("ldpsql: error: ")


def store_reports(path, n: int = 20_000, toml: str = TOML) -> Survey:
    """A database at `path` with the seeded reports of n generated people."""
    survey = app() if toml == TOML else design(toml)
    reports, _ = randomize_batch(survey, people(n), SeededEntropy(1), policy=ANYTHING)
    store = open_store(path, read_only=False)
    store.ingest_table(reports, survey)
    store.close()
    return survey


def words_of(text: str) -> str:
    """A text without its line breaks and columns."""
    return " ".join(text.split())
