"""For evaluation only. Sees nothing. Worker processes that do not outlive their parent."""

from __future__ import annotations

import atexit
import os
import threading
from multiprocessing import Pipe, parent_process
from multiprocessing.connection import Connection, wait


def end_with_parent() -> None:
    """Have this process end when its parent does.

    A worker whose parent was killed would wait for work, with the raw table, for ever.
    """
    parent = parent_process()
    if parent is None:
        return
    ending, end = Pipe(duplex=False)
    watch = threading.Thread(target=_watch, args=(parent.sentinel, ending), daemon=True)
    watch.start()

    def stop() -> None:
        end.close()
        watch.join()  # what a thread still holds when Python ends is complained about as leaked

    atexit.register(stop)


def _watch(parent: int, ending: Connection) -> None:
    """Wait for the end of the parent, or of this process."""
    if parent in wait([parent, ending]):
        os._exit(1)
