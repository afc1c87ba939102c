"""A shuffler's batches on their way to the collector."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Self

from ldpsql.server.remote import RemoteStore
from ldpsql_device.errors import Error, StoreError

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
        said = set[str]()
        while True:
            is_last = self._ended.is_set()
            problems = list(self._hand_over())
            for problem in problems:
                if problem not in said:  # once, not every few seconds
                    self._tell(problem)
            said = set(problems)
            if is_last:
                return
            self._ended.wait(SECONDS)

    def _hand_over(self) -> Iterator[str]:
        """Hand over what is there; yields what keeps batches here. One that the collector refuses
        holds up no other."""
        for path in sorted(self._folder.glob("*.parquet")):
            try:
                self._collector.ingest([path])
                path.unlink()
            except (Error, OSError) as error:
                yield str(error)
                if isinstance(error, StoreError | OSError):  # it would be said of the others, too
                    return
