"""Public. Sees parameters. A line on standard error that says what takes so long.

On a terminal it is rewritten in place and gone at the end. Elsewhere, where nothing can be taken
back, it comes late and once a minute, as a line of its own.
"""

from __future__ import annotations

import threading
import time
from types import TracebackType
from typing import Self, TextIO

PATIENCE, EVERY = 1.0, 0.5
"""Seconds before the first line on a terminal, and between two of them."""
LONG_PATIENCE, SELDOM = 10.0, 60.0
"""The same elsewhere."""
_ERASE = "\r\x1b[K"


class Progress:
    """Shows `work`, what of it is being done, and for how long, while a block runs."""

    def __init__(self, work: str, stream: TextIO) -> None:
        self._work, self._stream = work, stream
        self._is_terminal = stream.isatty()
        self._part = ""
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._is_shown = False

    def now(self, part: str) -> None:
        """From now on this part of the work is being done."""
        self._part = part

    def __enter__(self) -> Self:
        self._start = time.monotonic()
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._done.set()
        self._thread.join()
        if self._is_shown and self._is_terminal:
            self._write(_ERASE)

    def _run(self) -> None:
        patience, pause = (PATIENCE, EVERY) if self._is_terminal else (LONG_PATIENCE, SELDOM)
        while not self._done.wait(patience):
            patience, self._is_shown = pause, True
            self._write(f"{_ERASE}{self._line()}" if self._is_terminal else f"{self._line()}\n")

    def _line(self) -> str:
        part = f": {self._part}" if self._part else ""
        return f"{self._work}{part} ({time.monotonic() - self._start:.0f} s)"

    def _write(self, text: str) -> None:
        try:
            self._stream.write(text)
            self._stream.flush()
        except (OSError, ValueError):  # whoever reads standard error has left
            self._done.set()
