"""Public. Sees parameters. Makes the program start and end fast."""

from __future__ import annotations

import gc
import os
import sys
from contextlib import suppress
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from typing import Any, NoReturn


class _NoPandas(MetaPathFinder):
    """Lets no module find pandas."""

    def find_spec(self, fullname: str, *_: Any) -> ModuleSpec | None:
        """Nothing, except for pandas, which is reported as not installed."""
        if fullname == "pandas":
            raise ModuleNotFoundError("the command line does not use pandas", name=fullname)
        return None


def leave_out_pandas() -> None:
    """Keep this process from importing pandas.

    Arrow does so with the first array that it makes, to recognize a data frame if it is given
    one: half a second for something that no command uses.
    """
    sys.meta_path.insert(0, _NoPandas())


def collect_garbage_rarely() -> None:
    """Let the collector wait: what imports create lives on, so looking through it is waste."""
    gc.set_threshold(200_000, 20, 20)


def leave(code: int) -> NoReturn:
    """End the process at once; memory goes with it.

    The interpreter's own way out looks through every object first, which takes a fifth of the
    time of a question. Everything that must be closed is closed by then.
    """
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError):  # what could not be written has been said before
            stream.flush()
    os._exit(code)
