"""The commands of `ldpsql`: those of this room, and those that join by an entry point.

A package offers a command as `name = "module:command"` in the group `ldpsql.commands`. Listing the
commands reads names alone: a command is imported when it is asked for.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import import_module

import click

from ldpsql import extensions
from ldpsql_device.errors import NotSupportedError

GROUP = "ldpsql.commands"

_OWN = {
    "design": "design",
    "audit": "audit",
    "describe": "audit",
    "answer": "device",
    "sent": "device",
    "ingest": "collect",
    "query": "ask",
    "explain": "ask",
    "schema": "design",
    "db": "db",
    "lookup": "lookup",
    "keygen": "design",
    "sign": "design",
    "statement": "design",
}
"""The modules of this room's commands."""

_HELP = {
    "design": "Design a survey and publish it as JSON.",
    "audit": "Check what a survey promises to each person.",
    "describe": "Say in plain words what a survey asks and promises.",
    "randomize": "Turn people's records into reports (device side).",
    "answer": "Answer a survey from a program's events (device side).",
    "sent": "List what a person has given so far (device side).",
    "shuffle": "Mix many people's reports into one batch (shuffler side).",
    "ingest": "Store reports.",
    "serve": "Take reports and answer questions over HTTP.",
    "token": "Say who may ask `serve`.",
    "query": "Answer a SELECT (the default command).",
    "explain": "Show how a SELECT would be answered, and how well.",
    "shell": "Ask questions one after another.",
    "report": "Draw a survey over its periods, as a page to publish.",
    "publish": "Write answers as ordinary tables, for BI tools.",
    "schema": "Write a starter survey file for a data file.",
    "db": "List, check, copy and forget what a database holds.",
    "lookup": "Keep public tables that questions may join.",
    "keygen": "Make a key for signing surveys, or a shuffler's batches.",
    "sign": "Sign a survey.",
    "statement": "Sign that a survey is the one that is asked now.",
    "synthesize": "Draw a table of made-up people.",
    "bench": "Compare mechanisms on a table of your own, against the truth.",
    "demo": "Run a whole survey of made-up people.",
}
"""One-line help of everything that `ldpsql[all]` brings: first the life of a survey, then the rest.

It stands here and not at the commands, because an entry point has no room for it and --help should
import none of them. It also tells a command that is not installed from a misspelt one.
"""


class Commands(Mapping[str, click.Command]):
    """The installed commands by name. Each is imported when it is asked for."""

    def __getitem__(self, name: str) -> click.Command:
        """KeyError for an unknown name, UsageError for a command that is not installed,
        NotSupportedError for one that cannot be loaded."""
        if name in _OWN:
            command: click.Command = getattr(import_module(f"ldpsql.cli.{_OWN[name]}"), name)
            return command
        joined = extensions.load(GROUP, name)
        if isinstance(joined, click.Command):
            return joined
        if joined is not None:
            raise NotSupportedError(
                f"command {name}: what {extensions.installed(GROUP)[name]} brings is no command; "
                "update or uninstall it"
            )
        if name in _HELP:
            raise click.UsageError(
                f"the command {name} is not installed; `pip install 'ldpsql[all]'` brings it"
            )
        raise KeyError(name)

    def __contains__(self, name: object) -> bool:
        """Whether there is such a command, installed or not."""
        return name in _HELP or name in self.help_lines()

    def __iter__(self) -> Iterator[str]:
        return iter(self.help_lines())

    def __len__(self) -> int:
        return len(self.help_lines())

    def help_lines(self) -> dict[str, str]:
        """A line on each installed command; other packages' commands say whose they
        are."""
        joined = extensions.installed(GROUP)
        lines = {name: text for name, text in _HELP.items() if name in _OWN or name in joined}
        for name, package in joined.items():
            lines.setdefault(name, f"From {package}." if package else "")
        return lines
