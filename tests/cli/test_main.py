"""Which commands there are, and what a shell is offered to complete a command line."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib import metadata

import click
import pytest
from click.shell_completion import ShellComplete
from click.testing import CliRunner
from support.command_line import refusal, run, words_of

from ldpsql import extensions
from ldpsql.cli import commands
from ldpsql.cli.main import cli
from ldpsql.terminal import options


@pytest.mark.parametrize(
    ("before", "begun", "offered"),
    [
        ([], "de", {"design", "describe", "demo"}),
        ([], "qu", {"query"}),
        ([], "x", set()),
        (["design"], "--us", {"--users"}),
        (["db"], "va", {"vacuum"}),
    ],
)
def test_a_shell_completes_commands_and_their_options(
    before: list[str], begun: str, offered: set[str]
) -> None:
    found = ShellComplete(cli, {}, "ldpsql", "_LDPSQL_COMPLETE").get_completions(before, begun)
    assert {each.value for each in found} >= offered
    assert all(each.value.startswith(begun) for each in found)
    assert bool(found) is bool(offered)


LOADED = """
import json, sys
from ldpsql.cli.main import cli
for words in (["--help"], ["--version"], ["SELECT x", "--db", "x.duckdb"]):
    cli.run(words)
print(json.dumps(sorted(sys.modules)), file=sys.stderr)
"""


def test_no_other_command_is_imported(tmp_path):
    command = [sys.executable, "-c", LOADED]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=tmp_path)
    loaded = set(json.loads(done.stderr.splitlines()[-1]))
    assert "ldpsql.cli.ask" in loaded
    others = {"ldpsql.cli.design", "ldpsql_lab.bench.command", "ldpsql.server.command"}
    assert loaded.isdisjoint(others)


def test_a_question_and_an_own_command_look_for_no_entry_points(monkeypatch, tmp_path):
    def fail(**_):
        raise AssertionError

    monkeypatch.setattr(metadata, "entry_points", fail)
    store = tmp_path / "no.duckdb"
    for words in (["SELECT 1", "--db", store], [store, "SELECT 1"], ["query", "--db", store, "x"]):
        assert "this is a bug" not in run(*words).stderr


def forget():
    """Have entry points be looked for anew."""
    extensions.installed.cache_clear()
    extensions.load.cache_clear()


@pytest.fixture
def joined(monkeypatch):
    """Has these entry points and no others."""

    def join(**values):
        entries = [metadata.EntryPoint(n, value, commands.GROUP) for n, value in values.items()]

        monkeypatch.setattr(metadata, "entry_points", lambda **_: entries)
        forget()

    yield join
    forget()


def test_any_package_may_bring_a_command(joined, monkeypatch, tmp_path):
    (tmp_path / "weather.py").write_text(
        "import click\n\n@click.command()\ndef rain():\n    click.echo('it rains')\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    joined(rain="weather:rain")
    assert " rain " in run("--help").stdout.replace("\n", " ")
    assert "weather" not in sys.modules
    assert run("rain").stdout == "it rains\n"


@pytest.mark.parametrize("name", ["\x1b[2Jx", "-x", "Rain", "a b", "x" * 300 + "!", "ä", "9"])
def test_a_name_that_is_no_word_is_refused_and_shown_as_text(joined, name):
    """It is neither listed nor run, and draws nothing on a terminal."""
    joined(**{name: "os:getcwd"})
    said = run("--help").stdout
    assert "Left out, for a name is a-z, 0-9 and -:" in words_of(said)
    assert said.isascii() and "\x1b" not in said
    assert max(map(len, said.splitlines())) <= 100
    assert name not in commands.Commands()
    assert extensions.load(commands.GROUP, name) is None
    assert extensions.refused("ldpsql.commands") == [f"{name!a:.60} of '?'"]


def test_a_command_that_is_not_installed_is_named(joined):
    joined()
    assert "publish Write answers" not in words_of(run("--help").stdout)
    for name in ("bench", "publish"):
        said = refusal(run(name), 2)
        assert said.startswith(f"the command {name} is not installed; `pip install 'ldpsql[all]'`")


def test_a_command_that_cannot_be_loaded_is_one_line(joined):
    joined(bench="ldpsql.cli.elsewhere:bench")
    said = refusal(run("bench"), 1)
    assert said.startswith("command bench cannot be loaded from ldpsql.cli.elsewhere:bench (Module")


def test_every_command_is_listed_with_its_help():
    assert {*commands._HELP} == {*cli.commands}
    assert {*commands._OWN} < {*commands._HELP}


@click.command()
@click.argument("source", metavar="[FILE.toml]", required=False)
@options.option("--next", "later", excludes=["FILE.toml", "--quick"])
@options.option("--quick", "is_quick", is_flag=True)
@options.option("--key", needs=["FILE.toml", "--many"])
@click.option("--many", multiple=True, type=int)
def choose(**_):
    """Has options that exclude and need others."""


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        ("a.toml --next b", "--next and FILE.toml exclude each other; give one"),
        ("--quick --next b", "--next and --quick exclude each other; give one"),
        ("--key k", "--key needs FILE.toml; give both"),
        ("a.toml --key k", "--key needs --many; give both"),
        ("a.toml --key k --many 0", None),
        ("--next b", None),
        ("--quick a.toml", None),
        ("", None),
    ],
)
def test_options_exclude_and_need_others(words, reason):
    done = CliRunner().invoke(choose, words.split())
    assert done.exit_code == (2 if reason else 0), done.output
    assert reason is None or reason in done.output
