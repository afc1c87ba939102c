"""Sees what its commands see. `python -m ldpsql` is the console script `ldpsql`."""

from __future__ import annotations

import os
import signal
from typing import NoReturn


def main() -> NoReturn:
    """Run a command. While it is loaded nothing is open, so that Ctrl-C ends it at once."""
    handler = signal.getsignal(signal.SIGINT)
    if handler is signal.default_int_handler:
        signal.signal(signal.SIGINT, lambda *_: os._exit(130))
    from ldpsql.cli.main import main as run  # noqa: PLC0415  (some .5 s)

    signal.signal(signal.SIGINT, handler)
    run()


if __name__ == "__main__":
    main()
