"""Runs on the device: it encodes a record, draws a report, and remembers what was given.

    from ldpsql_device import Ledger, Policy, Survey, check, describe, respond

It imports the standard library and numpy, and nothing of `ldpsql`, which depends on it. Names are
loaded when they are first used, so that a device loads what it needs alone.
"""

from __future__ import annotations

from importlib import import_module

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ldpsql_device.answer import respond
    from ldpsql_device.counters import Counters
    from ldpsql_device.description import describe
    from ldpsql_device.errors import Error
    from ldpsql_device.events import preview, report
    from ldpsql_device.ledger import Ledger
    from ldpsql_device.misfits import check
    from ldpsql_device.policy import Policy
    from ldpsql_device.reports import Report
    from ldpsql_device.survey import Survey

_HOMES = {
    "Counters": "counters",
    "Error": "errors",
    "Ledger": "ledger",
    "Policy": "policy",
    "Report": "reports",
    "Survey": "survey",
    "check": "misfits",
    "describe": "description",
    "preview": "events",
    "report": "events",
    "respond": "answer",
}

__all__ = [
    "Counters",
    "Error",
    "Ledger",
    "Policy",
    "Report",
    "Survey",
    "check",
    "describe",
    "preview",
    "report",
    "respond",
]


def __getattr__(name: str) -> Any:
    """Load a public name from the module that defines it."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    globals()[name] = value
    return value
