"""Side rooms, the lab and other distributions join the core by entry points.

The core imports none of them: it asks for what a group of entry points has under a name. Groups are
`ldpsql.mechanisms`, `ldpsql.stores`, `ldpsql.sources`, `ldpsql.commands`, `ldpsql.audits` and
`ldpsql.pictures`. Metadata is read only where a name is not one of the core's own, because that
takes longer than a small answer.
"""

from __future__ import annotations

from functools import cache
from importlib.metadata import entry_points
from typing import Any

from ldpsql_device.errors import Error, NotSupportedError


@cache
def installed(group: str) -> tuple[str, ...]:
    """The names in a group of entry points, sorted."""
    return tuple(sorted(entry_points(group=group).names))


@cache
def load(group: str, name: str, error: type[Error] = NotSupportedError) -> Any | None:
    """The object that an entry point names, imported when first asked for.

    None where no distribution brings one of this name; `error` where several do, or where it cannot
    be imported.
    """
    kind = group.rpartition(".")[2].removesuffix("s")
    entries = tuple(entry_points(group=group, name=name))
    if not entries:
        return None
    if len(entries) > 1:
        owners = ", ".join(sorted(entry.dist.name if entry.dist else "?" for entry in entries))
        raise error(f"several packages bring a {kind} {name}: {owners}; keep one of them")
    (entry,) = entries
    try:
        return entry.load()
    except Exception as problem:  # somebody else's code, which may fail in any way
        said = " ".join(f"{type(problem).__name__}: {problem}".split())
        raise error(
            f"{kind} {name} cannot be loaded from {entry.value} ({said:.200}); "
            "update or uninstall the package that brings it"
        ) from problem
