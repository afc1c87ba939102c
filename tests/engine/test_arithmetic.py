"""Arithmetic over aggregates: value, slope, class and interval of every form.

Expressions are written in Python: n is COUNT(*), sx and sy are SUMs, ax and ay AVGs. Python's own
arithmetic says what they are worth, and its central differences what their slopes are.
"""

from __future__ import annotations

import ast
from collections.abc import Callable

import numpy as np
import pytest
from support.significance import coverage_fits, variance_fits

from ldpsql.algebra.estimate import BARELY_ESTIMABLE, quantile
from ldpsql.engine.arithmetic import Affine, Form, Sums, form_of
from ldpsql.errors import Place
from ldpsql.sql.aggregates import Aggregate, Arithmetic, Expression, Number, Target, expand
from ldpsql_device.schema import Measure, Schema

RUNS = 20_000
LEVEL = 0.9
_HERE = Place(1, 1)
_OPS = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/"}
_AGGREGATES = {
    "n": Aggregate("COUNT", None, _HERE),
    "sx": Aggregate("SUM", "x", _HERE),
    "sy": Aggregate("SUM", "y", _HERE),
    "ax": Aggregate("AVG", "x", _HERE),
    "ay": Aggregate("AVG", "y", _HERE),
}

VALUES = np.array([[900.0, 4000.0, -700.0], [50.0, 300.0, 80.0], [-40.0, 90.0, 75.0]])
"""Rows of n, sx, sy; a count may be estimated below zero."""


def covariance(scale: float = 1.0) -> np.ndarray:
    """Shape (3, 3, 3): correlated, per row."""
    random = np.random.default_rng(2)
    roots = random.normal(size=(3, 3, 3)) * np.abs(VALUES)[:, :, None] * 0.05 * scale
    return np.asarray(roots @ roots.transpose(0, 2, 1))


SUMS = Sums(VALUES, covariance(), LEVEL)


def expression(text: str) -> Expression:
    """The expression that a Python formula stands for; -x is 0 - x."""

    def walk(node: ast.expr) -> Expression:
        match node:
            case ast.Name(name):
                return _AGGREGATES[name]
            case ast.Constant(value):
                return Number(float(value))
            case ast.UnaryOp(ast.USub(), operand):
                return Arithmetic("-", Number(0.0), walk(operand))
            case ast.BinOp(left, op, right):
                return Arithmetic(_OPS[type(op)], walk(left), walk(right))
        raise AssertionError(ast.dump(node))

    return walk(ast.parse(text, mode="eval").body)


SCHEMA = Schema((), (Measure("x", (0, 1)), Measure("y", (0, 1))))
TARGETS = (Target(), Target(measure=0), Target(measure=1))


def form(text: str, sums: Sums = SUMS) -> Form:
    """The form of a formula."""
    return form_of(expand(expression(text), SCHEMA), TARGETS, sums)


def reference(text: str) -> Callable[[np.ndarray], np.ndarray]:
    """The formula as a function from (..., 3) sums to (...) values, by Python's arithmetic."""
    code = compile(text, "formula", "eval")

    def evaluate(values: np.ndarray) -> np.ndarray:
        n, sx, sy = np.moveaxis(values, -1, 0)
        names = {"n": n, "sx": sx, "sy": sy, "ax": sx / n, "ay": sy / n}
        return np.broadcast_to(eval(code, names), values.shape[:-1])

    return evaluate


def differences(text: str, values: np.ndarray = VALUES) -> np.ndarray:
    """Central differences of the reference, shape (R, 3)."""
    function, columns = reference(text), []
    for column in range(3):
        step = np.zeros_like(values)
        step[:, column] = 1e-5 * np.abs(values[:, column])
        rise = function(values + step) - function(values - step)
        columns.append(rise / (2.0 * step[:, column]))
    return np.stack(columns, axis=1)


AFFINE = [
    "n",
    "sx",
    "n + sx",
    "n - sx",
    "2 * n - sx / 4",
    "(n + sy) * 3 - (sx - 7) / 2 + 1",
    "-sx + 1",
    "3 - (n - (sx - 2))",
    "0 * n + sx",
    "n * (6 / 3)",
    "(2 + 3) * 4 - 1 / 8",
    "n - n",
]
# With numerator and denominator.
QUOTIENTS = {
    "ax": ("sx", "n"),
    "ax * 12 - 3": ("12 * sx - 3 * n", "n"),
    "12 * ax": ("12 * sx", "n"),
    "5 + ax / 4": ("sx / 4 + 5 * n", "n"),
    "7 - ay": ("7 * n - sy", "n"),
    "-(ay * 2) / 5": ("-2 * sy / 5", "n"),
    "sx / n": ("sx", "n"),
    "sx / sy": ("sx", "sy"),
    "5 / n": ("5 + 0 * n", "n"),
    "(sx - 3 * n + 1) / (n + sy + 2)": ("sx - 3 * n + 1", "n + sy + 2"),
    "((sx + sy) / n - 1) * 2": ("2 * (sx + sy - n)", "n"),
    "ax / ay": ("ax", "ay"),
    "ax / sy": ("ax", "sy"),
    "3 - sy / ax": ("3 * ax - sy", "ax"),
    "5 / ax": ("5 + 0 * n", "ax"),
    "1 / (ax * ay)": ("1 + 0 * n", "ax * ay"),
    "(ax + sy) / (n * sx)": ("ax + sy", "n * sx"),
    "(sx - sy * sy / n) / n": ("sx - sy * sy / n", "n"),
}
SMOOTH = [
    "ax - ay",
    "ax + ay",
    "ay + sx",
    "sx - ay",
    "ax * ay",
    "n * sx",
    "sx * sx",
    "(n + sy) * (sx - 3)",
    "(ax - ay) * 3",
    "3 - (ax - ay) / 2",
    "ax * n + sy",
]
EVERY = [*AFFINE, *QUOTIENTS, *SMOOTH]


# -- value, slope, class -------------------------------------------------------------------------


@pytest.mark.parametrize("text", EVERY)
def test_values_and_slopes_are_those_of_the_formula(text: str) -> None:
    """Wherever the denominators are told from zero; slopes against central differences, relative
    to the largest contribution of a sum. Of no rows there are none."""
    assert form(text).value == pytest.approx(reference(text)(VALUES))
    slope, numeric = form(text).slope, differences(text)
    assert slope.shape == VALUES.shape
    scale = np.abs(numeric * VALUES).max(axis=1, keepdims=True) + 1e-12
    assert np.abs((slope - numeric) * VALUES / scale).max() < 1e-7
    assert is_null(text, Sums(np.zeros((0, 3)), np.zeros((0, 3, 3)), LEVEL)) == []


@pytest.mark.parametrize(
    ("texts", "kind", "has_ends"),
    [(AFFINE, Affine, False), (QUOTIENTS, Form, True), (SMOOTH, Form, False)],
)
def test_an_expression_stays_in_the_simplest_form(
    texts: list[str], kind: type, has_ends: bool
) -> None:
    """Its interval is exact, Fieller's, or that of the delta method."""
    found = {text: form(text) for text in texts}
    assert {text: type(each) for text, each in found.items()} == dict.fromkeys(texts, kind)
    assert all((each.ends is not None) == has_ends for each in found.values())


def test_a_form_without_sums_is_constant() -> None:
    """Then dividing and multiplying by it changes no form."""
    assert form("n - n").constant == 0.0
    assert form("3 * 4").constant == 12.0
    assert form("n").constant is None


# -- intervals -----------------------------------------------------------------------------------


def spread(left: str, right: str) -> np.ndarray:
    """Covariance of two affine formulas, shape (R,)."""
    a, b = differences(left), differences(right)
    return np.array([x @ c @ y for x, c, y in zip(a, SUMS.covariance, b, strict=True)])


@pytest.mark.parametrize("text", AFFINE)
def test_affine_forms_have_normal_intervals(text: str) -> None:
    """From the exact covariance of the sums."""
    bars = form(text).interval
    stderr = np.sqrt(np.maximum(spread(text, text), 0.0))
    assert bars.stderr == pytest.approx(stderr, rel=1e-6, abs=1e-9)
    half = quantile(LEVEL) * stderr
    assert bars.low == pytest.approx(reference(text)(VALUES) - half, rel=1e-6)
    assert bars.high == pytest.approx(reference(text)(VALUES) + half, rel=1e-6)


@pytest.mark.parametrize(("text", "parts"), QUOTIENTS.items(), ids=QUOTIENTS)
def test_quotients_have_fiellers_interval(text: str, parts: tuple[str, str]) -> None:
    """At either end r of Fieller's, top - r * bottom lies just z standard errors from zero; the
    square of its half-width is raised where the denominator is barely told from zero."""
    top, bottom = parts
    x, y = reference(top)(VALUES), reference(bottom)(VALUES)
    bars = form(text).interval
    assert (bars.low < reference(text)(VALUES)).all()
    assert (reference(text)(VALUES) < bars.high).all()
    barely = quantile(LEVEL) ** 2 * spread(bottom, bottom) / y**2
    raised = np.sqrt(1.0 + BARELY_ESTIMABLE * barely**2)
    middle, half = (bars.low + bars.high) / 2.0, (bars.high - bars.low) / 2.0 / raised
    for end in (middle - half, middle + half):
        variance = (
            spread(top, top) - 2.0 * end * spread(top, bottom) + end**2 * spread(bottom, bottom)
        )
        assert (x - end * y) ** 2 == pytest.approx(quantile(LEVEL) ** 2 * variance, rel=1e-5)


@pytest.mark.parametrize("text", [*QUOTIENTS, *SMOOTH])
def test_the_delta_method_follows_the_slope(text: str) -> None:
    """Standard error of what is not affine: slope' covariance slope; without a denominator the
    interval is that of a normal estimate."""
    slopes = differences(text)
    variance = [g @ c @ g for g, c in zip(slopes, SUMS.covariance, strict=True)]
    bars, half = form(text).interval, quantile(LEVEL) * np.sqrt(variance)
    assert bars.stderr == pytest.approx(np.sqrt(variance), rel=1e-6)
    if text in SMOOTH:
        assert bars.low == pytest.approx(reference(text)(VALUES) - half)
        assert bars.high == pytest.approx(reference(text)(VALUES) + half)


# -- intervals against a simulation --------------------------------------------------------------

MOVING = [text for text in EVERY if text not in ("n - n", "(2 + 3) * 4 - 1 / 8")]


@pytest.mark.parametrize("text", MOVING)
def test_intervals_agree_with_the_spread_of_draws(text: str) -> None:
    """The standard error at the truth is the spread of the formula over draws, and the intervals
    of the draws contain the truth as often as they say, neither less nor more."""
    matrix = covariance(0.1)[0]
    drawn = np.random.default_rng(9).multivariate_normal(VALUES[0], matrix, RUNS)
    at_truth = Sums(VALUES[:1], matrix[None], LEVEL)
    stderr = form(text, at_truth).interval.stderr[0]
    assert variance_fits(reference(text)(drawn), stderr**2)
    sums = Sums(drawn, np.broadcast_to(matrix, (RUNS, 3, 3)), LEVEL)
    bars = form(text, sums).interval
    truth = reference(text)(VALUES[:1])[0]
    assert coverage_fits(int(((bars.low <= truth) & (truth <= bars.high)).sum()), RUNS, LEVEL)


@pytest.mark.parametrize("text", ["n + sx", "ax", "ax * ay"])
def test_a_covariance_taken_for_its_half_is_caught(text: str) -> None:
    """The negative control of the test above, for a form of each class."""
    matrix = covariance(0.1)[0]
    drawn = np.random.default_rng(9).multivariate_normal(VALUES[0], matrix, RUNS)
    at_truth = Sums(VALUES[:1], matrix[None] / 2.0, LEVEL)
    stderr = form(text, at_truth).interval.stderr[0]
    assert not variance_fits(reference(text)(drawn), stderr**2)


# -- what cannot be told -------------------------------------------------------------------------


def is_null(text: str, sums: Sums) -> list[bool]:
    """Per row, whether value, standard error and both ends are NaN; all of them or none."""
    found = form(text, sums)
    bars = found.interval
    columns = np.isnan([found.value, bars.stderr, bars.low, bars.high])
    assert (columns == columns[0]).all()
    return [bool(null) for null in columns[0]]


@pytest.mark.parametrize(
    "text",
    ["n / 0", "ax / 0", "(ax - ay) / 0", "n / (sx - sx)", "1 / 0", "2 + ax / 0", "ax * ay / (3-3)"],
)
def test_division_by_a_constant_zero_is_null(text: str) -> None:
    """In every row, without a warning."""
    assert is_null(text, SUMS) == [True] * 3
    assert np.isnan(form(f"n + {text}").value).all()


@pytest.mark.parametrize(
    "text", ["sx / n", "ax", "ax * 2 + 1", "sx * sx / n", "ay / ax", "n / (ax - ay)", "ax * sy"]
)
def test_division_by_an_estimate_of_zero_is_null_in_its_row(text: str) -> None:
    """Nobody in the second row, and that is known."""
    values, spreads = VALUES.copy(), SUMS.covariance.copy()
    values[1], spreads[1] = 0.0, 0.0
    assert is_null(text, Sums(values, spreads, LEVEL)) == [False, True, False]


@pytest.mark.parametrize("text", ["ax", "12 * ax - 3", "ax - sy", "sx / n", "ax * sy", "2 / ax"])
def test_a_denominator_within_its_error_of_zero_is_null(text: str) -> None:
    """At the level that is asked for: an answer without an interval is not shown."""
    values, spreads = VALUES.copy(), SUMS.covariance.copy()
    for level in (0.5, 0.95, 0.999):
        values[2, 0] = 0.99 * quantile(level) * np.sqrt(spreads[2, 0, 0])
        assert is_null(text, Sums(values, spreads, level)) == [False, False, True]
        values[2, 0] = 1.01 * quantile(level) * np.sqrt(spreads[2, 0, 0])
        assert is_null(text, Sums(values, spreads, level)) == [False, False, False]


def with_unknown_sx() -> Sums:
    """No report could tell sx in the first row."""
    values, spreads = VALUES.copy(), SUMS.covariance.copy()
    values[0, 1] = np.nan
    spreads[0, 1, :] = spreads[0, :, 1] = 0.0
    spreads[0, 1, 1] = np.inf
    return Sums(values, spreads, LEVEL)


@pytest.mark.parametrize(
    "text", ["sx", "n + sx", "sx / n", "n / sx", "ax", "ax * 2 - 1", "ax - ay", "n * sx", "ay / ax"]
)
def test_what_uses_an_unknown_sum_is_null(text: str) -> None:
    """In the row where it is unknown, and only there."""
    assert is_null(text, with_unknown_sx()) == [True, False, False]


@pytest.mark.parametrize("text", ["n", "n + sy", "ay", "12 * ay - 3", "n * sy", "ay * n", "0 * sx"])
def test_what_does_not_use_the_unknown_sum_is_answered(text: str) -> None:
    """With the same values and error bars as if it were known."""
    sums = with_unknown_sx()
    assert is_null(text, sums) == [False] * 3
    assert form(text, sums).value == pytest.approx(reference(text)(VALUES))
    bars, usual = form(text, sums).interval, form(text).interval
    assert bars.stderr == pytest.approx(usual.stderr)
    assert bars.low == pytest.approx(usual.low)
    assert bars.high == pytest.approx(usual.high)
