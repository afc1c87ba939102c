"""Run by the collector; sees reports. Where reports are kept and counted."""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote

from ldpsql.intake import Intake
from ldpsql.store.base import Selection, Store
from ldpsql.store.rules import Batch, Imported, StoredBatch
from ldpsql_device.errors import StoreError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from ldpsql.survey import Survey

__all__ = [
    "Batch",
    "Imported",
    "Selection",
    "Store",
    "StoredBatch",
    "is_spark_address",
    "merge_stores",
    "open_folder",
    "open_store",
    "read_store",
    "vacuum_store",
]

PATIENCE = 5.0
"""Seconds to wait for a file that another process holds."""
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):/+")


def open_store(
    url: str | Path | None,
    *,
    read_only: bool,
    patience: float = PATIENCE,
    memory: int | None = None,
) -> Store:
    """Open the store behind a URL or path; close it after use (it is a context manager).

    url: a DuckDB file, by its path or as file:///path; None or ":memory:" for a new store in
    memory; or spark:///path/to/reports/?survey=FILE for a folder of report files that Spark reads.
    A file that does not exist is made, unless `read_only`. A file that another process
    holds is tried again for `patience` seconds.  memory: how many MB DuckDB may take for the file,
    whoever has it open in this process; None for four fifths of the machine's. Raises StoreError
    for a file that is missing (read-only), locked, damaged or not a store, and for a kind of store
    that ldpsql does not know.
    """
    if is_spark_address(url):
        return _open_spark(str(url), read_only=read_only, memory=memory)
    from ldpsql.store.duckdb import DuckDBStore  # noqa: PLC0415  (DuckDB is loaded when needed)

    return DuckDBStore(_find_file(url), read_only=read_only, patience=patience, memory=memory)


def read_store(url: str | Path, *, patience: float = PATIENCE, memory: int | None = None) -> Store:
    """Open the store in a file for questions, and let others write to it meanwhile.

    Every statement is answered from what was committed when it began, or says of when it is (see
    `Store.lag`). The file is open only while a statement needs what its snapshot does not hold.
    Of a folder of reports, new files are counted first. Everything else as for `open_store`.
    """
    if is_spark_address(url):
        store = _open_spark(str(url), read_only=False, memory=memory)
        store.catch_up()
        return store
    from ldpsql.store.duckdb.reader import DuckDBReader  # noqa: PLC0415

    return DuckDBReader(Path(str(_find_file(url))), patience=patience, memory=memory)


def is_spark_address(url: str | Path | None) -> bool:
    """Whether a store is a folder of reports that Spark reads."""
    return str(url)[: len("spark:")].lower() == "spark:"


def open_folder(
    session: SparkSession,
    reports: str,
    survey: Survey | Intake | None,
    *,
    read_only: bool,
    memory: int | None = None,
) -> Store:
    """Open the store of a folder of report files.

    session: which Spark reads it.  survey: whose reports they are; None for the one that is known
    there.  read_only: count no new files. Raises StoreError for a folder that Spark does not see,
    and where no survey is known; FingerprintError and IntegrityError where another one is.
    """
    from ldpsql.store.spark import SparkStore  # noqa: PLC0415  (DuckDB is loaded when needed)

    return SparkStore(session, reports, survey, read_only=read_only, memory=memory)


def _open_spark(url: str, *, read_only: bool, memory: int | None) -> Store:
    from ldpsql.store.spark.session import Address, start  # noqa: PLC0415

    address = Address.parse(url)
    survey = None if address.survey is None else Intake.read(address.survey)
    return open_folder(start(), address.reports, survey, read_only=read_only, memory=memory)


def merge_stores(sources: Sequence[str | Path], target: Path) -> list[Imported]:
    """Write what is in several stores to a new one, which appears whole or not at all; see
    `Store.import_surveys`. StoreError for a file that is there, and as `open_store`."""
    from ldpsql.store.duckdb import companion  # noqa: PLC0415
    from ldpsql.store.duckdb.copying import put_in_place, write_beside  # noqa: PLC0415

    if target.exists():
        raise StoreError(f"{target} already exists; name another file")
    done = list[Imported]()
    with write_beside(target) as unfinished:
        try:
            with open_store(unfinished, read_only=False) as store:
                for source in sources:
                    done += store.import_surveys(Path(str(_find_file(source))))
        finally:
            companion.remove(unfinished)
        if unfinished.with_name(f"{unfinished.name}.wal").exists():
            # DuckDB closes a file in silence whose log it could not write into it.
            raise StoreError(
                f"{target} cannot be written: what was merged did not get into the file"
            )
    put_in_place(unfinished, target)
    return done


def vacuum_store(url: str | Path, *, patience: float = PATIENCE) -> None:
    """Write a store's file anew, without what was deleted, and bring it up to this version.

    Nobody may have it open. Whoever is killed leaves it as it was. Raises StoreError as
    `open_store`, and where there is no room for the copy.
    """
    from ldpsql.store.duckdb.copying import vacuum  # noqa: PLC0415

    path = Path(str(_find_file(url)))
    if not path.exists():
        raise StoreError(f"there is no store {path}; name another file")
    vacuum(path, patience)
    with suppress(StoreError):  # somebody else writes to it, and publishes it
        open_store(path, read_only=False, patience=patience).close()


def _find_file(url: str | Path | None) -> str | Path | None:
    """The file behind a URL or path; StoreError for a kind of store that ldpsql does not know."""
    scheme = _SCHEME.match(str(url))  # of a Path too, in which a URL keeps one of its slashes
    if scheme is not None:
        if scheme[1].lower() != "file":
            raise StoreError(
                f"{url} is not a store that ldpsql can open: {scheme[1]}:// is not supported; "
                "give the path of a DuckDB file"
            )
        url = "/" + unquote(str(url)[scheme.end() :])
    return url
