"""A folder of report files, and what is kept beside them, through Spark alone: it may be in a
bucket that this process cannot reach.

    reports/                        the files as they came, in folders of any depth
    reports/_ldpsql/state/<slot>/number=<n>/token=<t>
                                    states of the store, each a DuckDB database
    reports/_ldpsql/counts/<name>   counts of equal reports, of the files of one refresh
    reports/_ldpsql/ids/<name>      their ids, apart from them

A state names the folders of counts and ids that belong to it; these are written before it and never
changed while it does, so whoever is killed leaves at most folders that no state names. The state of
the largest number holds, of several the one of the largest token. A state is written into a slot
without the last one, so that there is a whole one at every moment, and slots are few.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ldpsql.spark.session import explain
from ldpsql.store.incoming import SUFFIXES
from ldpsql_device.errors import StoreError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

_BESIDE = "_ldpsql"  # Spark passes over what starts with _
_STATE = "number BIGINT, token STRING, content BINARY"
_STATE_PATH = re.compile(rf"/{_BESIDE}/state/[^/]+/number=(\d+)/token=([0-9a-f]+)/[^/]+$")
_MISSING = "PATH_NOT_FOUND"
_SPECIAL = str.maketrans({character: f"\\{character}" for character in r"\*?[]{}"})


@dataclass(frozen=True)
class File:
    """A file as Spark lists it.

    path: what Spark calls it.  length: in bytes.  modified: milliseconds since 1970.
    """

    path: str
    length: int
    modified: int

    def name_in(self, folder: str) -> str:
        """Its name within a folder."""
        return self.path.rpartition(f"{folder}/")[2]


@dataclass(frozen=True, order=True)
class State:
    """A state of the store as Spark lists it; a later one is larger.

    number: of changes before it.  token: of who wrote it, and when.  path: of its file.
    """

    number: int
    token: str
    path: str = field(default="", compare=False)

    @property
    def slot(self) -> str:
        """The folder of its file. Those who write at once seldom have the same."""
        return f"{self.number % 2}{self.token[:1]}"


NOTHING = State(0, "")
"""Of a folder that no state is kept of."""


class Folder:
    """A folder that Spark reads and writes; StoreError where it cannot."""

    def __init__(self, session: SparkSession, reports: str) -> None:
        self.session, self.reports = session, reports.rstrip("/") or "/"

    # -- files of reports ------------------------------------------------------------------------

    def list_all(self) -> tuple[list[File], State]:
        """The report files, in order of their paths, and the last state."""
        with explain(f"list {self.reports}"):
            files = self._list([self.reports, self._beside("state")])
            if files is None:
                files = self._list([self.reports])
        if files is None:
            raise StoreError(f"there is no folder {self.reports}; check the name")
        inside = f"/{_BESIDE}/"
        given = [f for f in files if inside not in f.path and f.path.lower().endswith(SUFFIXES)]
        return sorted(given, key=lambda file: file.path), _find_last(files)

    def list_files(self, paths: Sequence[str]) -> list[File]:
        """Files by their paths on this machine, in this order."""
        with explain(f"read {paths[0]}"):
            found = self._list(paths)
        if found is None or len(found) != len(paths):
            raise StoreError(
                f"Spark does not see {paths[0]}; give files that its executors can read"
            )
        order = {path: place for place, path in enumerate(paths)}
        return sorted(found, key=lambda file: order[_local(file.path)])

    def _list(self, places: Sequence[str]) -> list[File] | None:
        """All files in folders and their folders; None where a place is missing."""
        from pyspark.errors import AnalysisException  # noqa: PLC0415

        # Others may remove files and replace states meanwhile.
        reader = self.session.read.format("binaryFile").option("recursiveFileLookup", True)
        reader = reader.option("ignoreMissingFiles", True)
        try:
            found = reader.load([_escape(place) for place in places]).selectExpr(
                "path", "length", "unix_millis(modificationTime) AS modified"
            )
            return [File(**row) for row in found.toArrow().to_pylist()]
        except AnalysisException as error:
            if error.getCondition() == _MISSING:
                return None
            raise

    def read_files(self, files: Sequence[File]) -> DataFrame:
        """Paths and contents of files, but for those that are gone."""
        reader = self.session.read.format("binaryFile").option("ignoreMissingFiles", True)
        return reader.load([_escape(file.path) for file in files]).select("path", "content")

    # -- what is kept beside them ------------------------------------------------------------------

    def _beside(self, *names: str) -> str:
        return "/".join((self.reports, _BESIDE, *names))

    def write(self, kind: str, name: str, rows: DataFrame) -> None:
        """Keep rows of counts or ids under a new name."""
        with explain(f"write beside {self.reports}"):
            rows.write.parquet(self._beside(kind, name))

    def read(self, kind: str, names: Sequence[str], schema: StructType | str) -> DataFrame:
        """The rows that were kept under some names."""
        if not names:
            return self.session.createDataFrame([], schema)
        reader = self.session.read.schema(schema)
        return reader.parquet(*(_escape(self._beside(kind, name)) for name in names))

    def empty(self, kind: str, name: str, schema: str) -> None:
        """Delete the rows that were kept under a name."""
        with explain(f"write beside {self.reports}"):
            nothing = self.session.createDataFrame([], schema)
            nothing.write.mode("overwrite").parquet(self._beside(kind, name))

    def find_state(self) -> State:
        """The last state."""
        with explain(f"read the state of {self.reports}"):
            return _find_last(self._list([self._beside("state")]) or ())

    def read_state(self, state: State) -> bytes | None:
        """The content of a state; None where another process has replaced it."""
        with explain(f"read the state of {self.reports}"):
            reader = self.session.read.schema("content BINARY").option("ignoreMissingFiles", True)
            found = reader.parquet(_escape(state.path)).toArrow()["content"].to_pylist()
        return found[0] if found else None

    def write_state(self, state: State, content: bytes) -> None:
        """Keep a state in the place of those that were in its slot."""
        rows: list[Any] = [(state.number, state.token, content)]
        with explain(f"write beside {self.reports}"):
            kept = self.session.createDataFrame(rows, _STATE).coalesce(1)
            writer = kept.write.mode("overwrite").option("partitionOverwriteMode", "static")
            writer.partitionBy("number", "token").parquet(self._beside("state", state.slot))


def _find_last(files: Iterable[File]) -> State:
    """The last of the states among files."""
    found = ((_STATE_PATH.search(file.path), file.path) for file in files)
    states = (State(int(match[1]), match[2], path) for match, path in found if match)
    return max(states, default=NOTHING)


def _escape(path: str) -> str:
    """A path of which no character stands for others."""
    return path.translate(_SPECIAL)


def _local(path: str) -> str:
    """The path of a file of this machine as it is without a scheme."""
    return path.removeprefix("file://").removeprefix("file:")
