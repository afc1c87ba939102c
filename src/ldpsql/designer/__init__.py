"""Public. Sees parameters. From a survey file to a designed survey.

    file --wishes, questions--> Workload --auto--> Design --> Survey

`wishes` reads the table [workload], `questions` the SQL in it; `probes` are examples of its
queries, `forecast` the expected error of a design on them, `auto` the choice of a mechanism by it,
`planning` the people or the epsilon that a wanted precision takes.
"""

from __future__ import annotations

from ldpsql.designer.file import Designed, design, designed

__all__ = ["Designed", "design", "designed"]
