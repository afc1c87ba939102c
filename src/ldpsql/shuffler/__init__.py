"""Runs at the shuffler. Sees reports, never keeps order or identity."""

from __future__ import annotations

from ldpsql.shuffler.shuffle import shuffle_reports, shuffle_table

__all__ = ["shuffle_reports", "shuffle_table"]
