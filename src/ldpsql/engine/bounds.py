"""Between which declared values an average lies.

An average is a quotient of estimates, and may lie anywhere. What is averaged has public bounds, and
the average of people cannot be outside of them.
"""

from __future__ import annotations

from math import inf

from ldpsql.algebra.boxes import Terms, meet
from ldpsql.planner.plan import QueryPlan
from ldpsql.sql.aggregates import Aggregate, Arithmetic, Expression, Target, expand, find_aggregate
from ldpsql.sql.aggregates import leaves as sums
from ldpsql.sql.domains import find_public_column

EVERYTHING, SHARE = (-inf, inf), (0.0, 1.0)
_MOST_PAIRS = 10_000


def bounds_of(expression: Expression, plan: QueryPlan) -> tuple[float, float]:
    """The least and the most that an average of what it averages can be, or a share of people,
    which is the average of a condition; EVERYTHING of any other expression, and of public columns
    without declared bounds."""
    if _is_share(expression, plan):
        return SHARE
    kind = find_aggregate(expression.function) if isinstance(expression, Aggregate) else None
    if kind is None or not kind.is_average:
        return EVERYTHING
    quotient = expand(expression, plan.schema)
    assert isinstance(quotient, Arithmetic)
    amounts = dict(zip(plan.targets, plan.amounts, strict=True))
    total, people = (
        [each for each in sums(part) if isinstance(each, Target)]
        for part in (quotient.left, quotient.right)
    )
    counted = sum(_volume(amounts[each], plan) for each in people)
    low, high = 0.0, 0.0
    for target in total:
        measures = plan.survey.design.domain.bounds
        ends = (1.0,) if target.measure is None else measures[target.measure]
        if target.weight is not None:
            column = find_public_column(plan.survey.schema, target.weight.column)
            if column is None or column.bounds is None or target.weight.kind != "value":
                return EVERYTHING
            ends = column.bounds
        each = [amount * end for amount, _ in amounts[target] for end in ends]
        if _volume(amounts[target], plan) < counted:
            each.append(0.0)  # somebody who counts may add nothing
        low, high = low + min(each, default=0.0), high + max(each, default=0.0)
    return low, high


def _is_share(expression: Expression, plan: QueryPlan) -> bool:
    """Whether it is how many people satisfy a condition, over how many satisfy another one that
    it implies."""
    if not isinstance(expression, Arithmetic) or expression.op != "/":
        return False
    part, whole = expression.left, expression.right
    if not (isinstance(part, Aggregate) and isinstance(whole, Aggregate)):
        return False
    is_count = part.function == whole.function == "COUNT" and part.column == whole.column
    if not is_count or part.filter is None or part.over != whole.over:
        return False
    for piece in plan.slices:
        inside = piece.filtered[part.filter]
        around = piece.boxes if whole.filter is None else piece.filtered[whole.filter]
        if len(inside) * len(around) > _MOST_PAIRS:
            return False
        both = sum(box.volume(plan.sizes) for box in meet(inside, around))
        if both < sum(box.volume(plan.sizes) for box in inside):
            return False
    return True


def _volume(terms: Terms, plan: QueryPlan) -> int:
    """How many combinations of codes there are in disjoint boxes."""
    return sum(box.volume(plan.sizes) for _, box in terms)
