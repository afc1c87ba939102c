"""Run by the collector; sees reports. Where reports are kept and counted."""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from ldpsql import extensions
from ldpsql.store.base import Selection
from ldpsql.store.rules import Batch, Imported, StoredBatch
from ldpsql_device.errors import StoreError

if TYPE_CHECKING:
    from ldpsql.store.store import Store  # DuckDB is loaded when needed

__all__ = [
    "Batch",
    "Imported",
    "Selection",
    "StoredBatch",
    "find_file",
    "find_kind",
    "merge_stores",
    "open_store",
    "read_store",
    "vacuum_store",
]

KINDS = "ldpsql.stores"
"""The group of entry points that names kinds of stores by the schemes of their addresses. Each is a
subclass of `Store`, or of `engine.collector.AnsweringStore`."""
PATIENCE = 5.0
"""Seconds to wait for a file that another process holds."""
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):/+")


def find_kind(url: str | Path | None) -> type[Any] | None:
    """The kind of store that an address is of, which opens it by `open_address`; None for a file,
    for one in memory, and for a scheme of which nothing is installed; StoreError for a
    kind that cannot be loaded."""
    scheme = _SCHEME.match(str(url))  # of a Path too, in which a URL keeps one of its slashes
    if scheme is None:
        return None
    name = scheme[1].lower()
    found: type[Any] | None = extensions.load(KINDS, name, StoreError)
    if found is not None and not callable(getattr(found, "open_address", None)):
        owner = extensions.installed(KINDS)[name]
        raise StoreError(f"store {name}: what {owner} brings is no store; update or uninstall it")
    return found


def open_store(
    url: str | Path | None,
    *,
    read_only: bool,
    patience: float = PATIENCE,
    memory: int | None = None,
) -> Store:
    """Open the store behind a URL or path; close it after use (it is a context manager).

    url: a DuckDB file, by its path or as file:///path; None or ":memory:" for a new store in
    memory; or an address of a kind of store that is installed, such as
    spark:///path/to/reports/?survey=FILE for a folder of report files that Spark reads.
    A file that does not exist is made, unless `read_only`. A file that another process
    holds is tried again for `patience` seconds.  memory: how many MB DuckDB may take for the file,
    whoever has it open in this process; None for four fifths of the machine's. Raises StoreError
    for a file that is missing (read-only), locked, damaged or not a store, and for a kind of store
    that ldpsql does not know.
    """
    from ldpsql.store.store import Store  # noqa: PLC0415  (DuckDB is loaded when needed)

    kind = find_kind(url)
    if kind is not None and issubclass(kind, Store):
        return kind.open_address(str(url), read_only=read_only, memory=memory)
    return Store(find_file(url), read_only=read_only, patience=patience, memory=memory)


def read_store(url: str | Path, *, patience: float = PATIENCE, memory: int | None = None) -> Store:
    """Open the store in a file for questions, and let others write to it meanwhile.

    Every statement is answered from what was committed when it began, or says of when it is (see
    `Store.lag`). The file is open only while a statement needs what its snapshot does not hold.
    Of a folder of reports, new files are counted first. Everything else as for `open_store`.
    """
    if find_kind(url) is not None:
        store = open_store(url, read_only=False, memory=memory)
        store.catch_up()
        return store
    from ldpsql.store.reader import Reader  # noqa: PLC0415

    return Reader(Path(str(find_file(url))), patience=patience, memory=memory)


def merge_stores(sources: Sequence[str | Path], target: Path) -> list[Imported]:
    """Write what is in several stores to a new one, which appears whole or not at all; see
    `Store.import_surveys`. StoreError for a file that is there, and as `open_store`."""
    from ldpsql.store import companion  # noqa: PLC0415
    from ldpsql.store.opening import write_whole  # noqa: PLC0415

    if target.exists():
        raise StoreError(f"{target} already exists; name another file")
    done = list[Imported]()
    with write_whole(target) as unfinished:
        try:
            with open_store(unfinished, read_only=False) as store:
                for source in sources:
                    done += store.import_surveys(Path(str(find_file(source))))
        finally:
            companion.remove(unfinished)
        if unfinished.with_name(f"{unfinished.name}.wal").exists():
            # DuckDB closes a file in silence whose log it could not write into it.
            raise StoreError(
                f"{target} cannot be written: what was merged did not get into the file"
            )
    return done


def vacuum_store(url: str | Path, *, patience: float = PATIENCE) -> None:
    """Write a store's file anew, without what was deleted, and bring it up to this version.

    Nobody may have it open. Whoever is killed leaves it as it was. Raises StoreError as
    `open_store`, and where there is no room for the copy.
    """
    from ldpsql.store.copying import vacuum  # noqa: PLC0415

    path = Path(str(find_file(url)))
    if not path.exists():
        raise StoreError(f"there is no store {path}; name another file")
    vacuum(path, patience)
    with suppress(StoreError):  # somebody else writes to it, and publishes it
        open_store(path, read_only=False, patience=patience).close()


def find_file(url: str | Path | None) -> str | Path | None:
    """The file behind a URL or path; StoreError for a kind of store that ldpsql does not know."""
    scheme = _SCHEME.match(str(url))
    if scheme is not None:
        if scheme[1].lower() != "file":
            raise StoreError(
                f"{url} is not a store that ldpsql can open: {scheme[1]}:// is not supported; "
                "give the path of a DuckDB file"
            )
        url = "/" + unquote(str(url)[scheme.end() :])
    return url
