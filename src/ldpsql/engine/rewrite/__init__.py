"""The passes that turn a question into linear queries.

    Query --boxes--> Plan, then every pass of PASSES in turn, Plan --> Plan

`disjoin` before `cells`, because a person in two boxes would be counted twice.
"""

from __future__ import annotations

from collections.abc import Callable

from ldpsql.engine.plan import Plan
from ldpsql.engine.rewrite.cells import cells
from ldpsql.engine.rewrite.disjoin import disjoin

Pass = Callable[[Plan], Plan]

PASSES: tuple[tuple[str, Pass], ...] = (("disjoin", disjoin), ("cells", cells))
