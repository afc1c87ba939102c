"""Sees what its commands see. `python -m ldpsql` is the console script `ldpsql`."""

from __future__ import annotations

from ldpsql.cli.main import main

if __name__ == "__main__":
    main()
