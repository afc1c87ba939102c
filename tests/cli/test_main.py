"""What a shell is offered to complete a command line."""

from __future__ import annotations

import pytest
from click.shell_completion import ShellComplete

from ldpsql.cli.main import cli


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
