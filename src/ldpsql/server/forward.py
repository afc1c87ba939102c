"""A shuffler's batches on their way to the collector."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Self

from ldpsql.remote import RemoteStore
from ldpsql_device.errors import Error

SECONDS = 10.0
"""How often it is looked for new batches, and how soon one is tried again."""
LAST_SECONDS = 1.5
"""How long the end waits for one that is under way; the next run hands it over again."""


class Forwarder:
    """Hands the files of a directory over to a collector, each until the collector has it; then it
    is removed. One that is sent twice is known to the collector by its id."""

    def __init__(self, folder: Path, collector: RemoteStore, tell: Callable[[str], None]) -> None:
        """tell: called with what keeps a batch here."""
        self._folder, self._collector, self._tell = folder, collector, tell
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name="ldpsql-forwarder", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Look once more, and end."""
        self._ended.set()
        self._thread.join(LAST_SECONDS)

    def _run(self) -> None:
        said = ""
        while True:
            is_last = self._ended.is_set()
            try:
                for path in sorted(self._folder.glob("*.parquet")):
                    self._collector.ingest([path])
                    path.unlink()
                said = ""
            except (Error, OSError) as error:
                if str(error) != said:  # once, not every few seconds
                    said = str(error)
                    self._tell(said)
            if is_last:
                return
            self._ended.wait(SECONDS)
