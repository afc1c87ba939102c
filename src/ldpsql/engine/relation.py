"""Runs at the collector. Sees reports. The relation of estimates of one base query.

Outer SQL (ORDER BY, HAVING, CTEs) reads this relation and nothing else.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa

from ldpsql.engine.answers import Answers
from ldpsql.engine.arithmetic import Affine, Form, Interval, Quotient, form_of
from ldpsql.engine.rewrite.targets import targets_of
from ldpsql.engine.typical import evaluate, typical_error
from ldpsql.estimate import Array, Estimates
from ldpsql.parser.query import ROW, Aggregate, Measurement
from ldpsql_device.columns import ARROW_TYPES, arrow_type
from ldpsql_device.errors import NotSupportedError

_LARGEST_JOINT = 4000


@dataclass(frozen=True)
class Relation:
    """The relation of estimates of one base query.

    table: the keys, then every measurement; beside each plain value x also x_stderr, x_low and
    x_high; last the row number `ldpsql_row`.
    """

    answers: Answers
    level: float

    @cached_property
    def forms(self) -> tuple[Form, ...]:
        """The form of every measurement, in order."""
        plan, sums = self.answers.plan, self.answers.sums
        positions = {target: index for index, target in enumerate(plan.targets)}

        def unit(index: int) -> Affine:
            gradient = np.zeros(len(plan.targets))
            gradient[index] = 1.0
            return Affine(0.0, gradient)

        def leaf(aggregate: Aggregate) -> Form:
            parts = [unit(positions[t]) for t in targets_of(aggregate, plan.survey.schema)]
            return parts[0] if len(parts) == 1 else Quotient(parts[0], parts[1])

        return tuple(form_of(column.expression, leaf, sums) for column in plan.query.columns)

    def replicates(self, index: int) -> Array | None:
        """One measurement evaluated on every replicate, (r, R); None where there are none."""
        plan, sums = self.answers.plan, self.answers.sums
        drawn = sums.replicates
        if drawn is None:
            return None
        positions = {target: place for place, target in enumerate(plan.targets)}

        def leaf(aggregate: Aggregate) -> Array:
            targets = targets_of(aggregate, plan.survey.schema)
            parts = [drawn[:, :, positions[target]] for target in targets]
            with np.errstate(divide="ignore", invalid="ignore"):
                return parts[0] if len(parts) == 1 else parts[0] / parts[1]

        found = evaluate(plan.query.columns[index].expression, leaf)
        return np.broadcast_to(found, drawn.shape[:2])

    def typical(self, index: int) -> Array | None:
        """Typical error of one measurement, (R,); None where nothing was post-processed."""
        found = self.replicates(index)
        if found is None:
            return None
        return typical_error(found, self.forms[index].value(self.answers.sums))

    def interval(self, index: int, level: float | None) -> Interval:
        """Error bars of one measurement, at a level of its own or the relation's."""
        return self.forms[index].interval(self.answers.sums, level or self.level)

    @cached_property
    def table(self) -> pa.Table:
        """As Arrow, NaN written as NULL."""
        names, arrays = self._key_columns()
        for index, column in enumerate(self.answers.plan.query.columns):
            for name, values in self._columns(index, column).items():
                names.append(name)
                arrays.append(pa.array(values, type=pa.float64(), mask=np.isnan(values)))
        names.append(ROW)
        arrays.append(pa.array(np.arange(len(self.answers.sums.values)), type=pa.int64()))
        return pa.Table.from_arrays(arrays, names=names)

    def _columns(self, index: int, column: Measurement) -> dict[str, Array]:
        if column.what == "value":
            bars = self.interval(index, None)
            return {
                column.name: self.forms[index].value(self.answers.sums),
                f"{column.name}_stderr": bars.stderr,
                f"{column.name}_low": bars.low,
                f"{column.name}_high": bars.high,
            }
        return {column.name: getattr(self.interval(index, column.level), column.what)}

    def _key_columns(self) -> tuple[list[str], list[pa.Array]]:
        plan = self.answers.plan
        rows = [
            (public, private) for public in self.answers.public for private, _ in plan.private_rows
        ]
        names, arrays, seen_public, seen_private = [], [], 0, 0
        for key in plan.query.keys:
            column = plan.survey.schema.public_column(key.column)
            if column is not None:
                position, seen_public = seen_public, seen_public + 1
                values = [public[position] for public, _ in rows]
                kind = ARROW_TYPES[column.type]
            else:
                position, seen_private = seen_private, seen_private + 1
                values = [private[position] for _, private in rows]
                kind = self._dimension_type(key.column)
            names.append(key.name)
            arrays.append(pa.array(values, type=kind))
        return names, arrays

    def _dimension_type(self, name: str) -> pa.DataType:
        index = self.answers.plan.survey.schema.dimension(name)
        assert index is not None
        return arrow_type(self.answers.plan.survey.schema.dimensions[index])

    @property
    def undetermined(self) -> int:
        """How many values are NULL because the reports cannot tell them."""
        columns = self.answers.plan.query.columns
        plain = [f for f, column in zip(self.forms, columns, strict=True) if column.what == "value"]
        return int(sum(np.isnan(form.value(self.answers.sums)).sum() for form in plain))

    def joint(self, rows: Sequence[int], columns: Sequence[int]) -> Estimates:
        """Chosen measurements of chosen rows, row by row, with their full covariance.

        Rows under different public keys are disjoint sets of people, hence independent.
        """
        plan, sums = self.answers.plan, self.answers.sums
        per_key, targets = len(plan.private_rows), len(plan.targets)
        if len(rows) * targets > _LARGEST_JOINT:
            raise NotSupportedError(
                f"the covariance of {len(rows) * targets} sums is too large; ask for fewer rows"
            )
        slopes = np.array([self.forms[column].slope(sums)[list(rows)] for column in columns])
        values = np.array([self.forms[column].value(sums)[list(rows)] for column in columns])
        size = len(rows) * len(columns)
        covariance = np.zeros((size, size))
        for number, key in enumerate(self.answers.public):
            inside = [place for place, row in enumerate(rows) if row // per_key == number]
            if not inside:
                continue
            joint = self.answers.joint(key, [rows[place] % per_key for place in inside])
            gradient = np.zeros((len(inside) * len(columns), len(inside) * targets))
            for position, place in enumerate(inside):
                block = slopes[:, place, :]
                gradient[
                    position * len(columns) : (position + 1) * len(columns),
                    position * targets : (position + 1) * targets,
                ] = block
            where = np.concatenate(
                [np.arange(len(columns)) + place * len(columns) for place in inside]
            )
            covariance[np.ix_(where, where)] = joint.map(gradient).covariance
        drawn = [self.replicates(column) for column in columns]
        known = [part[:, list(rows)] for part in drawn if part is not None]
        replicates = np.stack(known, axis=2).reshape(-1, size) if known else None
        return Estimates(values.T.ravel(), covariance, replicates)
