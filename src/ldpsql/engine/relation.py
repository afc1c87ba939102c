"""From a plan to the relation of estimates of one base query.

A relation holds what every measurement of the query is estimated to be, row by row, with its error.
Outer SQL (ORDER BY, HAVING, CTEs) reads the relation and nothing else.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import inf

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ldpsql import limits
from ldpsql.algebra.boxes import Terms, meet
from ldpsql.algebra.estimate import Array
from ldpsql.engine.arithmetic import Form, Sums, form_of, replicate
from ldpsql.engine.sample import SumSource
from ldpsql.errors import QueryError
from ldpsql.parser.binder import list_relation_types
from ldpsql.planner.plan import QueryPlan
from ldpsql.sql.aggregates import (
    Aggregate,
    Arithmetic,
    Expression,
    Number,
    Ordering,
    Ranked,
    Target,
    ends_of_codes,
    expand,
    find_aggregate,
)
from ldpsql.sql.aggregates import leaves as sums_of
from ldpsql.sql.arrow_arrays import make_array
from ldpsql.sql.domains import find_public_column
from ldpsql_device.values import Value

EVERYTHING, SHARE = (-inf, inf), (0.0, 1.0)
_LARGEST_SUMS, _MOST_PAIRS = 40_000_000, 10_000


@dataclass(frozen=True)
class Relation:
    """Everything that reports say about a plan, at one confidence level.

    A row is a private row under a public key, public keys outermost; R rows of T sums.
    """

    source: SumSource
    level: float

    @property
    def plan(self) -> QueryPlan:
        """The plan of the base query."""
        return self.source.plan

    def __len__(self) -> int:
        return len(self.source.keys) * len(self.plan.private_rows)

    @cached_property
    def sums(self) -> Sums:
        """All sums of all rows, with the covariance within each row."""
        if len(self) > limits.MOST_ROWS:
            raise limits.too_many_rows()
        sums = len(self.plan.targets)
        if len(self) * sums**2 > _LARGEST_SUMS:
            raise QueryError(
                f"{len(self)} rows of {sums} sums each have too large a covariance",
                hint="ask for fewer groups, or about columns with fewer values",
            )
        values, covariance, replicates = self.source.sums()
        return Sums(values, covariance, self.level, replicates)

    def at(self, level: float) -> Relation:
        """The same estimates with intervals at another level."""
        if level == self.level:
            return self
        made = replace(self, level=level)
        vars(made).update(sums=replace(self.sums, level=level))
        return made

    @cached_property
    def _expressions(self) -> list[Expression]:
        """Each measurement as a function of the plan's targets."""
        columns, schema = self.plan.query.columns, self.plan.survey.schema
        return [expand(column.expression, schema) for column in columns]

    @property
    def is_plain(self) -> bool:
        """Whether every measurement is one of the plan's sums."""
        return all(isinstance(expression, Target) for expression in self._expressions)

    @cached_property
    def forms(self) -> tuple[Form, ...]:
        """The form of every measurement, each at its own level or the relation's."""
        levels = (column.level or self.level for column in self.plan.query.columns)
        return tuple(
            form_of(expression, self.plan.targets, replace(self.sums, level=level))
            for expression, level in zip(self._expressions, levels, strict=True)
        )

    @cached_property
    def bounds(self) -> tuple[tuple[float, float], ...]:
        """Between which values every measurement must lie."""
        return tuple(bounds_of(column.expression, self.plan) for column in self.plan.query.columns)

    def scales(self, index: int, people: int, *, is_alone: bool = True) -> Array:
        """What the intervals of a measurement are measured by, shape (R,).

        Half of the range of what can be averaged, or be a quantile; of a number of people or a sum
        its size, or if that is more the part of one row in all that these people can add up to;
        of anything else the sizes of the parts that it adds up. So a difference near zero, or a
        rare answer, is not weak for being small. is_alone: whether it is not a part itself, which
        counts with its size.
        """
        expression, sizes = self.plan.query.columns[index].expression, np.zeros(len(self))
        room = _half_range(expression, self.bounds[index], self.plan)
        if room is not None and is_alone:
            return sizes + room
        if isinstance(expression, Aggregate) and expression.function in ("COUNT", "SUM"):
            target = expand(expression, self.plan.survey.schema)
            if isinstance(target, Target) and target.weight is None:
                ends = ends_of(self.plan, self.plan.targets.index(target))
                sizes = sizes + max(map(abs, ends)) * people / max(len(self), 1)
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.maximum(sizes, self._size(expression))

    def _size(self, expression: Expression) -> Array:
        """The absolute value of an expression, or the sizes of its terms, added; constant terms
        are left out."""
        if not isinstance(expression, Arithmetic):
            own = expand(expression, self.plan.survey.schema)
            return np.abs(form_of(own, self.plan.targets, self.sums).value)
        sides = (expression.left, expression.right)
        left, right = map(self._size, sides)
        if expression.op == "*":
            return left * right
        if expression.op == "/":
            return left / right
        left, right = ((not isinstance(side, Number)) * self._size(side) for side in sides)
        return left + right

    @cached_property
    def _biases(self) -> NDArray[np.bool_]:
        """Which sums have no error, shape (R, T); see `SumSource.hide_biases`."""
        shape = (len(self), len(self.plan.targets))
        if not self.source.may_be_biased:
            return np.zeros(shape, dtype=bool)
        found = [self.source.hide_biases(key) for key in self.source.keys]
        return np.array(found, dtype=bool).reshape(shape)

    def hides_bias(self, index: int) -> NDArray[np.bool_]:
        """In which rows one measurement may have a bias that its error leaves out, shape (R,)."""
        return np.asarray((self._biases & (self.forms[index].slope != 0.0)).any(axis=1))

    def replicates(self, index: int) -> Array | None:
        """One measurement evaluated on every replicate, (r, R); None where there are none."""
        return replicate(self._expressions[index], self.plan.targets, self.sums)

    @cached_property
    def table(self) -> pa.Table:
        """As Arrow, NaN written as NULL; see `list_relation_types` for its columns."""
        columns: list[Sequence[Value | None] | Array] = [*self._keys()]
        measured = zip(self.forms, self.bounds, self.plan.query.columns, strict=True)
        for place, (form, bounds, column) in enumerate(measured):
            if column.what == "value":
                columns.append(form.value)
            else:
                bar = getattr(form.interval.within(*bounds), column.what)
                columns.append(np.where(self.hides_bias(place), np.nan, bar))
        columns.append(range(len(self)))
        types = list_relation_types(self.plan.query, self.plan.survey.schema)
        arrays = [_array(column, kind) for column, kind in zip(columns, types.types, strict=True)]
        table = pa.Table.from_arrays(arrays, names=types.names)
        is_group = self.source.is_group
        # Arrow's functions take as long to load as a short answer does.
        return table if is_group.all() else table.filter(make_array(is_group, pa.bool_()))

    def _keys(self) -> Iterator[list[Value | None]]:
        """The GROUP BY columns, in the order of the query."""
        schema = self.plan.survey.schema
        rows = [(key, private) for key in self.source.keys for private, _ in self.plan.private_rows]
        places = [0, 0]
        for key in self.plan.query.keys:
            is_private = key.is_private(schema)
            yield [row[is_private][places[is_private]] for row in rows]
            places[is_private] += 1

    @property
    def not_estimable(self) -> int:
        """How many values are NULL because the reports cannot tell them."""
        columns = zip(self.forms, self.plan.query.columns, strict=True)
        return sum(
            int(np.isnan(form.value[self.source.is_group]).sum())
            for form, column in columns
            if column.what == "value"
        )


def _array(column: Sequence[Value | None] | Array, kind: pa.DataType) -> pa.Array:
    """A column of a relation, NaN as NULL; a number of people that is not whole stays a float."""
    if isinstance(column, np.ndarray):
        is_whole = np.isfinite(column) & (column == np.rint(column))
        kind = pa.float64() if pa.types.is_int64(kind) and not is_whole.all() else kind
    try:
        return make_array(column, kind)
    except TypeError:  # DuckDB gives dates that Python has not as texts
        hint = "group by its parts: EXTRACT(year FROM ...)"
        raise QueryError("a GROUP BY key is before the year 1, or after 9999", hint=hint) from None


# -- bounds ---------------------------------------------------------------------------------------
# An average is a quotient of estimates, and may lie anywhere. What is averaged has public bounds,
# and the average of people cannot be outside of them.


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
        [each for each in sums_of(part) if isinstance(each, Target)]
        for part in (quotient.left, quotient.right)
    )
    counted = sum(_volume(amounts[each], plan) for each in people)
    low, high = 0.0, 0.0
    for target in total:
        ends = target.bounds(plan.schema)
        if target.weight is not None:
            column = find_public_column(plan.survey.schema, target.weight.column)
            if column is None or column.bounds is None or target.weight.kind != "value":
                return EVERYTHING
            ends = column.bounds
        each = [amount * end for amount, _ in amounts[target] for end in ends]
        if target.present or _volume(amounts[target], plan) < counted:
            each.append(0.0)  # somebody who counts may add nothing
        low, high = low + min(each, default=0.0), high + max(each, default=0.0)
    return low, high


def _half_range(
    expression: Expression, bounds: tuple[float, float], plan: QueryPlan
) -> float | None:
    """Half of the range of a bounded average, a share, a quantile or a mode; None for others."""
    low, high = bounds
    kind = find_aggregate(expression.function) if isinstance(expression, Aggregate) else None
    if kind is not None and kind.takes in ("order", "share"):
        assert isinstance(expression, Aggregate)
        column = expression.column
        ordered = column.column if isinstance(column, Ranked) else column
        assert isinstance(ordered, str | Ordering)
        _, lowest, highest = ends_of_codes(plan.survey.schema, ordered)
        low, high = lowest[0], highest[-1]
    return (high - low) / 2 if high - low < inf else None


def ends_of(plan: QueryPlan, place: int) -> tuple[float, float]:
    """The least and the most that one person may add to a sum without public weights."""
    target = plan.targets[place]
    bounds = target.bounds(plan.schema)
    factors = [plan.pairs * amount for amount, _ in plan.amounts[place]] or [0.0]
    if target.is_square:
        bounds = 0.0, ((bounds[1] - bounds[0]) / 2.0) ** 2
    each = [end * factor for end in bounds for factor in (min(factors), max(factors))]
    return min(0.0, *each), max(0.0, *each)


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
