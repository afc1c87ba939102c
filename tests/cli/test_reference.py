"""docs/cli.md says what the commands say."""

from __future__ import annotations

from pathlib import Path

import click
from click.testing import CliRunner

from ldpsql.cli.main import cli
from tools import command_reference as reference

DOCS = Path(__file__).parents[2] / "docs"


def test_every_command_and_option_is_documented():
    text = reference.reference()
    for name, command in cli.commands.items():
        assert f"## ldpsql {name}\n" in text
        options = [option for option in command.params if isinstance(option, click.Option)]
        assert all(name in text for option in options for name in option.opts)


def test_the_document_is_up_to_date(monkeypatch):
    """That of these tests: the package may be installed elsewhere."""
    monkeypatch.setattr(reference, "TARGET", DOCS / "cli.md")
    done = CliRunner().invoke(reference.main, ["--check"])
    assert done.exit_code == 0, done.stderr


def test_a_stale_document_fails_the_check(tmp_path, monkeypatch):
    monkeypatch.setattr(reference, "TARGET", tmp_path / "docs" / "cli.md")
    assert CliRunner().invoke(reference.main, ["--check"]).exit_code == 1
    assert CliRunner().invoke(reference.main, []).exit_code == 0
    assert CliRunner().invoke(reference.main, ["--check"]).exit_code == 0
    (tmp_path / "docs" / "cli.md").write_text("old")
    assert CliRunner().invoke(reference.main, ["--check"]).exit_code == 1
