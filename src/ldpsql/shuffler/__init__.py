"""Run by the shuffler, who must not work with the collector; sees reports, keeps no order."""

from __future__ import annotations

from ldpsql.shuffler.shuffle import shuffle_reports, shuffle_table

__all__ = ["shuffle_reports", "shuffle_table"]
