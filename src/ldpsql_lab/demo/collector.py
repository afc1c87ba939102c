"""`ldpsql` for as long as standard input is open: `python -m ldpsql_lab.demo.collector serve ...`.

A pipe closes when the process behind it ends, however it ends; so the demonstration, which holds
the other end, leaves no collector behind, not even when it is killed.
"""

from __future__ import annotations

import os
import runpy
import signal
from threading import Thread


def _end_with_stdin() -> None:
    try:
        while os.read(0, 1 << 16):
            pass  # nothing is asked of who started this
    finally:  # also where it cannot be read
        os.kill(os.getpid(), signal.SIGTERM)


if __name__ == "__main__":
    Thread(target=_end_with_stdin, daemon=True).start()
    runpy.run_module("ldpsql", run_name="__main__", alter_sys=True)
