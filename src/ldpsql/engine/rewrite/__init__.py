"""The passes that turn a question into linear queries.

    Query --boxes--> QueryPlan, then every pass of PASSES in turn, QueryPlan --> QueryPlan

`disjoin` before `cells`, because a person in two boxes would be counted twice.
"""

from __future__ import annotations

from collections.abc import Callable

from ldpsql.engine.plan import QueryPlan
from ldpsql.engine.rewrite.cells import cells
from ldpsql.engine.rewrite.disjoin import disjoin

Pass = Callable[[QueryPlan], QueryPlan]

PASSES: tuple[tuple[str, Pass], ...] = (("disjoin", disjoin), ("cells", cells))
