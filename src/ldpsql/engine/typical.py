"""Public. Sees parameters. The typical error of post-processed answers.

A post-processing estimator has no standard error that could be computed, so it is run again on
simulated summaries, and an expression is evaluated on every one of them. The root mean square of
what comes out about the answer, with a small surcharge, is the typical error. It is a measured
habit, not a promise: the interval beside it is. Specification: fourier, section 8.5.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from ldpsql.estimate import Array
from ldpsql.parser.query import Aggregate, Expression, Number

SURCHARGE = 1.15


def typical_error(replicates: Array, values: Array) -> Array:
    """1.15 x root mean square of replicates (r, R) about values (R,); NaN where one is unknown."""
    with np.errstate(invalid="ignore"):
        square = np.square(replicates - values).mean(axis=0)
    return np.where(np.isfinite(square), SURCHARGE * np.sqrt(square), np.nan)


def evaluate(expression: Expression, leaf: Callable[[Aggregate], Array]) -> Array:
    """The value of an expression where `leaf` gives that of every aggregate; same shape."""
    if isinstance(expression, Aggregate):
        return leaf(expression)
    if isinstance(expression, Number):
        return np.asarray(expression.value)
    left, right = evaluate(expression.left, leaf), evaluate(expression.right, leaf)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        return _OPERATIONS[expression.op](left, right)


_OPERATIONS: Mapping[str, Callable[[Array, Array], Array]] = {
    "+": np.add,
    "-": np.subtract,
    "*": np.multiply,
    "/": np.divide,
}
