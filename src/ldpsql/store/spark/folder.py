"""A folder of report files, and what is kept beside them, through Spark alone: it may be in a
bucket that this process cannot reach.

    reports/                        the files as they came, in folders of any depth
    reports/_ldpsql/state/a, b      the last two states of the store, each a DuckDB database
    reports/_ldpsql/counts/<name>   counts of equal reports, of the files of one refresh
    reports/_ldpsql/ids/<name>      their ids, apart from them

A state names the folders of counts and ids that belong to it; these are written before it and never
changed, so whoever is killed leaves at most folders that no state names.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ldpsql.store.incoming import SUFFIXES
from ldpsql.store.spark.session import explain
from ldpsql_device.errors import StoreError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_BESIDE = "_ldpsql"  # Spark passes over what starts with _
_SLOTS = ("a", "b")
_STATE = "number BIGINT, token STRING, content BINARY"
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


class Folder:
    """A folder that Spark reads and writes; StoreError where it cannot."""

    def __init__(self, session: SparkSession, reports: str) -> None:
        self.session, self.reports = session, reports.rstrip("/") or "/"

    # -- files of reports ------------------------------------------------------------------------

    def list_all(self) -> tuple[list[File], frozenset[str]]:
        """The report files, in order of their paths, and what tells the states there are apart."""
        with explain(f"list {self.reports}"):
            files = self._list([self.reports, self._beside("state")])
            if files is None:
                files = self._list([self.reports])
        if files is None:
            raise StoreError(f"there is no folder {self.reports}; check the name")
        inside = f"/{_BESIDE}/"
        states = frozenset(f.path for f in files if f"{inside}state/" in f.path)
        given = [f for f in files if inside not in f.path and f.path.lower().endswith(SUFFIXES)]
        return sorted(given, key=lambda file: file.path), states

    def list_files(self, paths: Sequence[str]) -> list[File]:
        """Files by their paths on this machine, in this order."""
        with explain(f"read {paths[0]}"):
            found = self._list([self._escape(path) for path in paths])
        if found is None or len(found) != len(paths):
            raise StoreError(
                f"Spark does not see {paths[0]}; give files that its executors can read"
            )
        order = {path: place for place, path in enumerate(paths)}
        return sorted(found, key=lambda file: order[_local(file.path)])

    def _list(self, places: Sequence[str]) -> list[File] | None:
        """All files in folders and their folders; None where a place is missing."""
        from pyspark.errors import AnalysisException  # noqa: PLC0415

        reader = self.session.read.format("binaryFile").option("recursiveFileLookup", True)
        try:
            found = reader.load(list(places)).selectExpr(
                "path", "length", "unix_millis(modificationTime) AS modified"
            )
            return [File(**row) for row in found.toArrow().to_pylist()]
        except AnalysisException as error:
            if error.getCondition() == _MISSING:
                return None
            raise

    def read_files(self, files: Sequence[File]) -> DataFrame:
        """Paths and contents of files."""
        reader = self.session.read.format("binaryFile")
        return reader.load([self._escape(file.path) for file in files]).select("path", "content")

    @staticmethod
    def _escape(path: str) -> str:
        """A path of which no character stands for others."""
        return path.translate(_SPECIAL)

    # -- what is kept beside them ------------------------------------------------------------------

    def _beside(self, *names: str) -> str:
        return "/".join((self.reports, _BESIDE, *names))

    def write(self, kind: str, name: str, rows: DataFrame) -> None:
        """Keep rows of counts or ids under a new name."""
        with explain(f"write beside {self.reports}"):
            rows.write.parquet(self._beside(kind, name))

    def read(self, kind: str, names: Sequence[str], schema: str) -> DataFrame:
        """The rows that were kept under some names."""
        if not names:
            return self.session.createDataFrame([], schema)
        reader = self.session.read.schema(schema)
        return reader.parquet(*(self._beside(kind, name) for name in names))

    def read_state(self, known: tuple[int, str]) -> tuple[int, str, bytes] | None:
        """The last state: its number, a token of its own, and its content; None for the known
        one, and where there is none."""
        from pyspark.sql.functions import col  # noqa: PLC0415  (an extra)

        with explain(f"read the state of {self.reports}"):
            states = (
                self.session.read.schema(_STATE)
                .option("recursiveFileLookup", True)
                .option("ignoreMissingFiles", True)  # one that another process replaces meanwhile
                .parquet(self._beside("state"))
            )
            there = states.select("number", "token").toArrow().to_pylist()
            last = max([(row["number"], row["token"]) for row in there], default=known)
            if last == known:
                return None
            found = states.where(col("token") == last[1]).select("content").toArrow().to_pylist()
        if not found:
            raise StoreError(f"the state of {self.reports} was replaced meanwhile; ask again")
        return *last, found[0]["content"]

    def write_state(self, number: int, token: str, content: bytes) -> None:
        """Put a state in the place of the last but one."""
        rows: list[Any] = [(number, token, content)]
        with explain(f"write beside {self.reports}"):
            state = self.session.createDataFrame(rows, _STATE).coalesce(1)
            state.write.mode("overwrite").parquet(self._beside("state", _SLOTS[number % 2]))


def _local(path: str) -> str:
    """The path of a file of this machine as it is without a scheme."""
    return path.removeprefix("file://").removeprefix("file:")
