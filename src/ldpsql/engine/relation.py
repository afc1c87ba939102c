"""From a plan to the relation of estimates of one base query.

For each combination of public GROUP BY keys, every slice of the plan has its own histogram and
estimator; the slices are disjoint sets of people, so their estimates add. Rows are answered in
chunks: one call gives the values and the joint covariance of all sums of a chunk. Outer SQL (ORDER
BY, HAVING, CTEs) reads the relation and nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from operator import add

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ldpsql import limits
from ldpsql.aggregates import Expression, expand
from ldpsql.decoders.base import AnyEstimator, PlannedQuery
from ldpsql.engine.arithmetic import Form, Sums, form_of, replicate, typical_error
from ldpsql.engine.plan import Key, QueryPlan
from ldpsql.engine.where import Slice
from ldpsql.estimate import Array, Estimates
from ldpsql.parser.binder import relation_types
from ldpsql.store.base import Moment, Selection
from ldpsql_device.errors import NotSupportedError
from ldpsql_device.values import Value

_LARGEST_JOINT, _ROWS_AT_ONCE = 4000, 64


def selection(plan: QueryPlan, piece: Slice) -> Selection:
    """The reports of a slice, with the public sums that the plan's targets need."""
    weights = list(dict.fromkeys(t.weight for t in plan.targets if t.weight is not None))
    moments: list[Moment] = [(weight, None) for weight in weights]
    moments += [(left, right) for i, left in enumerate(weights) for right in weights[i:]]
    return Selection(piece.condition, plan.public_keys, tuple(moments))


@dataclass(frozen=True)
class Relation:
    """Everything that the reports say about a plan, at one confidence level.

    public: the combinations of public keys, in ascending order.  estimators: per slice of the
    plan, by public key.  A row is a private row under a public key, public keys outermost; R rows
    of T sums.
    """

    plan: QueryPlan
    level: float
    public: tuple[Key, ...]
    estimators: tuple[Mapping[Key, AnyEstimator], ...]

    @classmethod
    def of(
        cls,
        plan: QueryPlan,
        level: float,
        estimators_of: Callable[[Selection], Mapping[Key, AnyEstimator]],
    ) -> Relation:
        """Fetch what the plan's slices need."""
        estimators = tuple(estimators_of(selection(plan, piece)) for piece in plan.slices)
        keys = dict.fromkeys(key for by_key in estimators for key in by_key)
        # NULL comes last; None and a value are never compared.
        ordered = sorted(keys, key=lambda key: tuple((part is None, part) for part in key))
        return cls(plan, level, tuple(ordered) if plan.public_keys else ((),), estimators)

    def __len__(self) -> int:
        return len(self.public) * len(self.plan.private_rows)

    @cached_property
    def sums(self) -> Sums:
        """All sums of all rows, with the covariance within each row."""
        if len(self) > limits.MOST_ROWS:
            raise limits.too_many_rows()
        rows: list[Estimates] = []
        nothing = [self._nothing(1)] * len(self.plan.private_rows)
        for key in self.public if nothing else ():
            parts = [_answer_rows(estimator, planned) for planned, estimator in self._asked(key)]
            rows += [reduce(add, row) for row in zip(*(parts or [nothing]), strict=True)]
        shape = (len(rows), len(self.plan.targets))
        drawn = [row.replicates for row in rows if row.replicates is not None]
        return Sums(
            np.array([row.values for row in rows]).reshape(shape),
            np.array([row.covariance for row in rows]).reshape(*shape, shape[1]),
            self.level,
            np.stack(drawn, axis=1) if rows and len(drawn) == len(rows) else None,
        )

    def _asked(self, key: Key) -> list[tuple[Sequence[Sequence[PlannedQuery]], AnyEstimator]]:
        """The planned queries of every slice that has people under a public key, and who answers
        them."""
        slices = zip(self.plan.planned, self.estimators, strict=True)
        return [(planned, by_key[key]) for planned, by_key in slices if key in by_key]

    def _nothing(self, rows: int) -> Estimates:
        """The sums of some rows where nobody is."""
        return Estimates.exact([0.0] * (rows * len(self.plan.targets)))

    @cached_property
    def _expressions(self) -> list[Expression]:
        """What each measurement is of the plan's targets."""
        columns, schema = self.plan.query.columns, self.plan.survey.schema
        return [expand(column.expression, schema) for column in columns]

    @cached_property
    def forms(self) -> tuple[Form, ...]:
        """The form of every measurement, each at its own level or the relation's."""
        levels = (column.level or self.level for column in self.plan.query.columns)
        return tuple(
            form_of(expression, self.plan.targets, replace(self.sums, level=level))
            for expression, level in zip(self._expressions, levels, strict=True)
        )

    def _replicates(self, index: int) -> Array | None:
        """One measurement evaluated on every replicate, (r, R); None where there are none."""
        return replicate(self._expressions[index], self.plan.targets, self.sums)

    def typical(self, index: int) -> Array | None:
        """Typical error of one measurement, (R,); None where nothing was post-processed."""
        drawn = self._replicates(index)
        return None if drawn is None else typical_error(drawn, self.forms[index].value)

    @cached_property
    def table(self) -> pa.Table:
        """As Arrow, NaN written as NULL; see `relation_types` for its columns."""
        columns: list[Sequence[Value | None] | Array] = [*self._keys()]
        for form, column in zip(self.forms, self.plan.query.columns, strict=True):
            bars = form.interval
            shown = {"value": form.value, "stderr": bars.stderr, "low": bars.low, "high": bars.high}
            columns += shown.values() if column.what == "value" else [shown[column.what]]
        columns.append(range(len(self)))
        types = relation_types(self.plan.query, self.plan.survey.schema)
        arrays = [_array(column, kind) for column, kind in zip(columns, types.types, strict=True)]
        return pa.Table.from_arrays(arrays, names=types.names).filter(pa.array(self._is_group))

    @cached_property
    def _is_group(self) -> NDArray[np.bool_]:
        """Whether somebody may be in a row: some slice has people under its public key, and boxes
        that meet its private one; shape (R,)."""
        plan, keys = self.plan, self.public
        if not plan.query.keys or all(piece.condition is None for piece in plan.slices):
            return np.ones(len(self), dtype=bool)
        shape = len(keys), len(plan.slices), len(plan.private_rows)
        has_people = [[key in by_key for by_key in self.estimators] for key in keys]
        meets = [[piece.meets(box) for _, box in plan.private_rows] for piece in plan.slices]
        possible = np.array(has_people, bool).reshape(*shape[:2], 1) & np.array(meets, bool)
        return np.asarray(possible.any(axis=1).ravel())

    def _keys(self) -> Iterator[list[Value | None]]:
        """The GROUP BY columns, in the order of the query."""
        schema = self.plan.survey.schema
        rows = [(key, private) for key in self.public for private, _ in self.plan.private_rows]
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
            int(np.isnan(form.value[self._is_group]).sum())
            for form, column in columns
            if column.what == "value"
        )

    def joint(self, rows: Sequence[int], columns: Sequence[int]) -> Estimates:
        """Chosen measurements of chosen rows, row by row, with their full covariance.

        Rows under different public keys are disjoint sets of people, hence independent.
        NotSupportedError where the covariance would be too large.
        """
        from scipy.linalg import block_diag  # noqa: PLC0415  (slow to import)

        per_key, targets = len(self.plan.private_rows), len(self.plan.targets)
        if len(rows) * targets > _LARGEST_JOINT:
            raise NotSupportedError(
                f"the covariance of {len(rows) * targets} sums is too large; ask for fewer rows"
            )
        slopes = np.array([self.forms[column].slope[list(rows)] for column in columns])
        values = np.array([self.forms[column].value[list(rows)] for column in columns])
        width, size = len(columns), len(rows) * len(columns)
        covariance = np.zeros((size, size))
        for number, key in enumerate(self.public):
            inside = [place for place, row in enumerate(rows) if row // per_key == number]
            if not inside:
                continue
            # The measurements of these rows are a linear map of their sums: one block of slopes,
            # (columns, targets), per row.
            gradient = block_diag(*(slopes[:, place, :] for place in inside))
            chosen = [rows[place] % per_key for place in inside]
            parts = [
                estimator.answer([query for row in chosen for query in planned[row]])
                for planned, estimator in self._asked(key)
            ]
            joint = reduce(add, parts or [self._nothing(len(chosen))]).map(gradient)
            where = (np.array(inside)[:, None] * width + np.arange(width)).ravel()
            covariance[np.ix_(where, where)] = joint.covariance
        drawn = [self._replicates(column) for column in columns]
        known = [part[:, list(rows)] for part in drawn if part is not None]
        replicates = np.stack(known, axis=2).reshape(-1, size) if known else None
        return Estimates(values.T.ravel(), covariance, replicates)


def _answer_rows(
    estimator: AnyEstimator, rows: Sequence[Sequence[PlannedQuery]]
) -> list[Estimates]:
    """One joint answer per row, some rows at a time, while there is time."""
    answers: list[Estimates] = []
    for first in range(0, len(rows), _ROWS_AT_ONCE):
        limits.check()
        answers += estimator.answer_rows(rows[first : first + _ROWS_AT_ONCE])
    return answers


def _array(column: Sequence[Value | None] | Array, kind: pa.DataType) -> pa.Array:
    """A column of a relation, NaN as NULL; a number of people that is not whole stays a float."""
    if pa.types.is_int64(kind) and isinstance(column, np.ndarray):
        is_whole = np.isfinite(column) & (column == np.rint(column))
        kind = kind if is_whole.all() else pa.float64()
    return pa.array(column, type=kind, from_pandas=True)
