"""Runs on the device. Sees raw values. Imports numpy and nothing heavier.

`respond` answers a survey for one person; `randomize` and `randomize_file` do so for a table of
many people, the simulation of a fleet, and are the only place here that loads Arrow.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ldpsql.client.entropy import OsEntropy
from ldpsql.client.ledger import Ledger
from ldpsql.client.respond import Report, respond

if TYPE_CHECKING:
    from ldpsql.client.files import randomize_file
    from ldpsql.client.table import Tally, randomize

__all__ = ["Ledger", "OsEntropy", "Report", "Tally", "randomize", "randomize_file", "respond"]

_NEED_ARROW = {
    "Tally": "ldpsql.client.table",
    "randomize": "ldpsql.client.table",
    "randomize_file": "ldpsql.client.files",
}


def __getattr__(name: str) -> Any:
    if name not in _NEED_ARROW:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module  # noqa: PLC0415

    return getattr(import_module(_NEED_ARROW[name]), name)
