"""Run by the shuffler, who must not work with the collector: many people's reports into batches.

`files` mixes files of reports into one batch; `arrivals` keeps reports that devices send one by one
until there are enough for the next.
"""

from __future__ import annotations

from ldpsql.shuffler.files import shuffle_reports, shuffle_table

__all__ = ["shuffle_reports", "shuffle_table"]
