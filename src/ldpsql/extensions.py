"""Side rooms, the lab and other distributions join the core by entry points.

The core imports none of them: it asks for what a group of entry points has under a name. Groups are
`ldpsql.audits`, `ldpsql.commands`, `ldpsql.demos`, `ldpsql.mechanisms`, `ldpsql.pictures`,
`ldpsql.receivers`, `ldpsql.sources`, `ldpsql.stores` and `ldpsql.synthesizers`. Metadata is read
only where a name is not one of the core's own, because that takes longer than a small answer.
"""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, Any

from ldpsql_device.errors import Error, NotSupportedError

if TYPE_CHECKING:
    from importlib.metadata import EntryPoints

_NAME = re.compile(r"[a-z][a-z0-9-]*")


def _find(group: str) -> EntryPoints:
    from importlib.metadata import entry_points  # noqa: PLC0415  (slow to import, rarely needed)

    return entry_points(group=group)


def refused(group: str) -> list[str]:
    """The entry points whose names are no words, each with the distribution that brings it; they
    are never listed or loaded, so that no name can draw on a terminal."""
    return [
        f"{entry.name!a:.60} of {entry.dist.name if entry.dist else '?'!a:.60}"
        for entry in _find(group)
        if not _NAME.fullmatch(entry.name)
    ]


@cache
def installed(group: str) -> dict[str, str]:
    """The names in a group of entry points, sorted, with the distribution that brings each; "" for
    one that does not say its name."""
    named = (entry for entry in _find(group) if _NAME.fullmatch(entry.name))
    entries = sorted(named, key=lambda entry: entry.name)
    return {entry.name: entry.dist.name if entry.dist else "" for entry in entries}


@cache
def load(group: str, name: str, error: type[Error] = NotSupportedError) -> Any | None:
    """The object that an entry point names, imported when first asked for.

    None where no distribution brings one of this name; `error` where several do, or where it cannot
    be imported.
    """
    kind = group.rpartition(".")[2].removesuffix("s")
    if not _NAME.fullmatch(name):
        return None
    entries = [entry for entry in _find(group) if entry.name == name]
    if not entries:
        return None
    if len(entries) > 1:
        owners = ", ".join(sorted(entry.dist.name if entry.dist else "?" for entry in entries))
        raise error(f"several packages bring a {kind} {name}: {owners}; keep one of them")
    (entry,) = entries
    try:
        return entry.load()
    except (Exception, SystemExit) as problem:  # others' code, which may fail in any way
        said = " ".join(f"{type(problem).__name__}: {problem}".split())
        raise error(
            f"{kind} {name} cannot be loaded from {entry.value} ({said:.200}); "
            "update or uninstall the package that brings it"
        ) from problem


def require(group: str, name: str, what: str) -> Any:
    """As `load`, of what `ldpsql[all]` brings; NotSupportedError where it is not installed.

    what: that which needs it, in words.
    """
    found = load(group, name)
    if found is None:
        raise NotSupportedError(f"{what} is not installed; `pip install 'ldpsql[all]'` brings it")
    return found
