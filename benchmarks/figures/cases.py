"""Finished cases of a long run, kept in files, so that a run which was stopped goes on."""

from __future__ import annotations

import functools
import hashlib
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import ldpsql
from ldpsql_device.atomic import replace_file

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
        text = json.dumps([self._figure, dict(key), self._source], sort_keys=True, default=str)
        path = self._folder / f"{hashlib.sha256(text.encode()).hexdigest()[:20]}.json"
        if path.exists():
            return list(json.loads(path.read_text())["rows"])
        rows = [{name: _plain(value) for name, value in row.items()} for row in work()]
        self._folder.mkdir(parents=True, exist_ok=True)
        with replace_file(path) as temporary:
            temporary.write_text(json.dumps({"key": dict(key), "rows": rows}, default=str))
        return rows


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
