"""Moved to `ldpsql.simulation`."""

from ldpsql.simulation import histogram_of

__all__ = ["histogram_of"]
