"""Finished cases of a long run, kept in files, so that a run which was stopped goes on.

They also tell how long the rest will take: what a case costs is taken to grow with its people and
its runs, at the rate of finished ones, with other parameters or versions, too.
"""

from __future__ import annotations

import functools
import hashlib
import json
import math
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import ldpsql
from ldpsql.reports.atomic import replace_file

Row = dict[str, Any]
HERE = Path(__file__).parent


class Cases:
    """Rows of finished cases of one figure, one file each.

    A file's name is the hash of the case's key and of the source of `ldpsql` and of `measured_by`,
    a folder of modules (this one by default): other parameters or another version are another case.
    """

    def __init__(self, folder: Path, figure: str, measured_by: Path = HERE) -> None:
        self._folder, self._figure, self._source = folder, figure, source_hash(measured_by)

    def rows(self, key: Mapping[str, Any], work: Callable[[], list[Row]]) -> list[Row]:
        """What `work` gives, or gave when it was done before. Rows hold numbers and strings."""
        path = self._path(key)
        if path.exists():
            return list(json.loads(path.read_text())["rows"])
        started = time.process_time()
        rows = [{name: _plain(value) for name, value in row.items()} for row in work()]
        kept = {"figure": self._figure, "key": dict(key), "rows": rows}
        kept["seconds"] = time.process_time() - started
        self._folder.mkdir(parents=True, exist_ok=True)
        with replace_file(path) as temporary:
            temporary.write_text(json.dumps(kept, default=str))
        return rows

    def _path(self, key: Mapping[str, Any]) -> Path:
        text = json.dumps([self._figure, dict(key), self._source], sort_keys=True, default=str)
        return self._folder / f"{hashlib.sha256(text.encode()).hexdigest()[:20]}.json"


class Listing(Cases):
    """Runs nothing, and remembers which cases would be run: `missing`, and how many are `kept`."""

    def __init__(self, folder: Path, figure: str, measured_by: Path = HERE) -> None:
        super().__init__(folder, figure, measured_by)
        self.missing: list[Mapping[str, Any]] = []
        self.kept = 0

    def rows(self, key: Mapping[str, Any], work: Callable[[], list[Row]]) -> list[Row]:
        """No rows."""
        if self._path(key).exists():
            self.kept += 1
        else:
            self.missing.append(key)
        return []

    def seconds(self) -> float | None:
        """About how many seconds of a processor the missing cases take; None where no case of the
        figure has been finished yet."""
        finished = [json.loads(path.read_text()) for path in self._folder.glob("*.json")]
        own = [case for case in finished if case.get("figure") == self._figure]
        if not own:
            return None
        return math.fsum(_seconds(key, own) for key in self.missing)


def _seconds(key: Mapping[str, Any], finished: Sequence[Mapping[str, Any]]) -> float:
    """Of one case, by the finished ones that are most like it."""

    def likeness(case: Mapping[str, Any]) -> int:
        return sum(str(case["key"].get(name)) == str(value) for name, value in key.items())

    most = max(map(likeness, finished))
    alike = [case for case in finished if likeness(case) == most]
    rates = [case["seconds"] / _size(case["key"]) for case in alike]
    return _size(key) * math.fsum(rates) / len(rates)


def _size(key: Mapping[str, Any]) -> float:
    return float(key.get("runs") or 1) * float(key.get("people") or 1)


def _plain(value: Any) -> Any:
    """A number of numpy's as Python's."""
    return value.item() if hasattr(value, "item") else value


@functools.cache
def source_hash(measured_by: Path) -> str:
    """Hash of every line that could change a result."""
    found = hashlib.sha256()
    for root in (Path(ldpsql.__file__).parent, HERE, measured_by):
        for path in sorted(root.rglob("*.py")):
            found.update(path.relative_to(root).as_posix().encode() + path.read_bytes())
    return found.hexdigest()
