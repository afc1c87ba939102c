"""Aggregates: which there are, what each is computed from, and arithmetic over them.

An aggregate is one entry of `AGGREGATES` and nothing else, which the parser, EXPLAIN, the answers,
their error bars and their notes read. It says which function of sums over people it is:

- The sums (`Target`) become the linear queries that reports answer.
- The function is an `Expression` over these sums. Its shape decides the interval: a linear form of
  sums has a normal interval, a quotient has Fieller's, a `Function` says its own, and anything else
  has that of the delta method (`ldpsql.engine.arithmetic`).
"""

from __future__ import annotations

import operator
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from itertools import accumulate
from typing import TYPE_CHECKING, Any, Literal, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from ldpsql.algebra import boxes
from ldpsql.algebra.boxes import CodeSet, Weight
from ldpsql.algebra.boxes import codes as code_set
from ldpsql.errors import Place
from ldpsql.sql import domains
from ldpsql.sql.domains import find_dimension, find_measure, find_public_column
from ldpsql.sql.quoting import Scalar
from ldpsql_device.description import Edges
from ldpsql_device.errors import InternalError
from ldpsql_device.schema import Schema
from ldpsql_device.values import Listed, Ordered

if TYPE_CHECKING:
    from ldpsql.algebra.estimate import Array

T = TypeVar("T")

Operator = Literal["+", "-", "*", "/"]
_ROUNDING = 1e-6  # of numbers of people
Amounts = tuple[tuple[float, CodeSet], ...]


@dataclass(frozen=True)
class Share:
    """The amount that a person adds to a sum: an expression over dimensions, NULL for nothing,
    times a column.

    column: a measure or a numeric public column, or None for 1.  kind: whether its value counts (0
    for NULL), or 1 where it has one; or of a measure the square of its distance from the middle of
    its bounds.  present: measures without whose values it is nothing.
    """

    factor: Scalar
    column: str | None = None
    kind: Literal["value", "present", "square"] = "value"
    present: tuple[str, ...] = ()


@dataclass(frozen=True)
class Amount:
    """An expression that is summed: linear in measures and public columns, anything in dimensions.

    text: as DuckDB SQL over raw values.  summed: shares that add up to SUM of it, none where it is
    no number.  counted: to COUNT of it.
    """

    text: str
    summed: tuple[Share, ...]
    counted: tuple[Share, ...]

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True)
class ProductMoments:
    """One or two numbers per person, y and x, and products of them, which are summed.

    texts: the numbers as DuckDB SQL over raw values.  centres: what is taken from each of them, by
    its letter, before it is multiplied and summed: a number near the values, so that sums of
    products are not large against what they differ by.  products: what is summed, by its letters;
    of people for whom all the numbers are known.
    """

    texts: tuple[str, ...]
    centres: Mapping[str, float] = field(hash=False)
    products: Mapping[str, Amount] = field(hash=False)

    def __str__(self) -> str:
        return ", ".join(self.texts)


@dataclass(frozen=True)
class Ordering:
    """A number over one dimension, by which people are put in order.

    text: as DuckDB SQL over raw values.  values: of every code, None for NULL.
    """

    text: str
    column: str
    values: tuple[float | None, ...]

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True)
class Ranked:
    """The order in which people are put, by a dimension or a number over one; share, is_descending,
    together: see `Quantile`."""

    column: str | Ordering
    share: float = 0.5
    is_descending: bool = False
    together: tuple[float, ...] = ()

    def __str__(self) -> str:
        return f"{self.column}, {self.share:g}"


Column = str | Amount | ProductMoments | Ordering | Ranked | None
"""The argument of an aggregate: a declared name, an expression, moments, an order, or None for
rows."""


class Node:
    """A node of an expression; + - * / between two of them give another one."""

    def __add__(self, other: Expression) -> Arithmetic:
        return _operation("+", self, other)

    def __sub__(self, other: Expression) -> Arithmetic:
        return _operation("-", self, other)

    def __mul__(self, other: Expression) -> Arithmetic:
        return _operation("*", self, other)

    def __truediv__(self, other: Expression) -> Arithmetic:
        return _operation("/", self, other)


@dataclass(frozen=True)
class Aggregate(Node):
    """A call of an aggregate as parsed.

    column: what it is of.  filter: index of the condition of FILTER among those of the query.
    over: for a sum over rows that agree in some keys, the names of these keys in the relation.
    """

    function: str
    column: Column
    place: Place = field(compare=False)
    filter: int | None = None
    over: tuple[str, ...] | None = None

    @property
    def label(self) -> str:
        """The call as it would be written."""
        return _label_under(f"{self.function}({self.column or '*'})", self)


@dataclass(frozen=True)
class Target(Node):
    """A sum over people that the reports must give; with all defaults, how many people there are.

    measure: index of the private measure that is summed.  is_square: whether that is the square of
    its distance from the middle of its bounds; is_present: or 1 for who has a value of it.
    present: measures of which only people with a value count.  weight:
    the public column that is summed.  amounts: what each person adds, or what multiplies that:
    (dimension, ((amount, codes), ...)), the amount that belongs to the code of one dimension,
    nothing for codes that are not listed; or an expression over dimensions.  filter, over: as of
    `Aggregate`.
    label: the sum in words, for EXPLAIN; two targets may differ in it and be the same sum.
    """

    measure: int | None = None
    weight: Weight | None = None
    amounts: tuple[int, Amounts] | Scalar | None = None
    filter: int | None = None
    over: tuple[str, ...] | None = None
    label: str = field(default="COUNT(*)", compare=False)
    is_square: bool = False
    is_present: bool = False
    present: tuple[int, ...] = ()

    @property
    def is_of_amounts(self) -> bool:
        """Whether it sums a measure, or its square, and does not count people."""
        return self.measure is not None and not self.is_present

    def bounds(self, schema: Schema) -> tuple[float, float]:
        """Those of the measure that is summed; 1 and 1 where people are counted."""
        if self.measure is None or self.is_present:
            return 1.0, 1.0
        return schema.measures[self.measure].bounds


@dataclass(frozen=True)
class Number(Node):
    """A numeric constant."""

    value: float


@dataclass(frozen=True)
class Arithmetic(Node):
    """left <op> right; unary minus is 0 - x."""

    op: Operator
    left: Expression
    right: Expression


class Function(Node, ABC):
    """A function of expressions with an interval of its own (`ldpsql.engine.arithmetic`)."""

    @property
    @abstractmethod
    def operands(self) -> tuple[Expression, ...]:
        """The expressions that it is of."""

    @abstractmethod
    def of(self, operands: Sequence[Expression]) -> Self:
        """The same function of others."""

    @abstractmethod
    def value(self, operands: Sequence[Array]) -> Array:
        """Its value where those of the operands are known; all arrays have one shape."""


@dataclass(frozen=True)
class Transform(Function):
    """A number's square root, 0 for a negative one, or its square."""

    name: Literal["root", "square"]
    operand: Expression

    @property
    def operands(self) -> tuple[Expression, ...]:
        """The one number."""
        return (self.operand,)

    def of(self, operands: Sequence[Expression]) -> Transform:
        """The same of another number."""
        return Transform(self.name, *operands)

    def value(self, operands: Sequence[Array]) -> Array:
        """The root or the square."""
        (number,) = operands
        return np.sqrt(np.maximum(number, 0.0)) if self.name == "root" else np.square(number)


@dataclass(frozen=True)
class Spread(Function):
    """The sum over people of (y - its mean) (x - its mean), from the sums of y x, of y and of x.

    Its slopes are those of the sum of products about the estimated means. So means have no part in
    the error to first order, and a quotient of two spreads, or of one and a number of people, has
    the interval that Fieller gives to sums about known means.
    """

    products: Expression
    left: Expression
    right: Expression
    people: Expression

    @property
    def operands(self) -> tuple[Expression, ...]:
        """The three sums, and the number of people."""
        return (self.products, self.left, self.right, self.people)

    def of(self, operands: Sequence[Expression]) -> Spread:
        """The same of other sums."""
        return Spread(*operands)

    def value(self, operands: Sequence[Array]) -> Array:
        """The sum of products less the product of sums per person."""
        products, left, right, people = operands
        return products - left * right / people


@dataclass(frozen=True)
class Quantile(Function):
    """The value of a dimension that a share of people do not exceed.

    share: of them, from 0 to 1.  rule: "disc" for the first value that so many people do not
    exceed (the rule "math" of R's `svyquantile`), "cont" for the interpolation between the two
    people beside a place among n - 1 steps ("hf7").  is_descending: count from the highest value.
    values, highest: the lowest and the highest value of every code, ascending.  people: how many
    have a value.  below: how many have at most that of each code, without the last one.
    together: shares of several quantiles whose intervals are to hold together, this one among them.
    """

    share: float
    rule: Literal["disc", "cont"]
    is_descending: bool
    values: tuple[float, ...]
    highest: tuple[float, ...]
    people: Expression
    below: tuple[Expression, ...]
    together: tuple[float, ...] = ()

    @property
    def operands(self) -> tuple[Expression, ...]:
        """`people`, then `below`."""
        return (self.people, *self.below)

    def of(self, operands: Sequence[Expression]) -> Quantile:
        """The same quantile by other numbers of people."""
        return replace(self, people=operands[0], below=tuple(operands[1:]))

    def with_share(self, share: float) -> Self:
        """The same for another share."""
        return replace(self, share=share)

    def ranks(self, people: Any) -> tuple[Any, Any, Any]:
        """Of so many people in ascending order, counted from 1, the two whose values count, and
        the weight of the second one."""
        if self.rule == "disc":
            rank = np.maximum(np.ceil(self.share * people - _ROUNDING), 1.0)
            rank = people + 1.0 - rank if self.is_descending else rank
            return rank, rank, 0.0
        share = 1.0 - self.share if self.is_descending else self.share
        place = share * (people - 1.0) + 1.0
        first = np.floor(place + _ROUNDING)
        return first, np.ceil(place - _ROUNDING), np.maximum(place - first, 0.0)

    def value(self, operands: Sequence[Array]) -> Array:
        """The quantile, NaN of nobody. Counts that do not grow with the codes are put in order."""
        people = np.asarray(operands[0])
        below = np.array(operands[1:]).reshape(len(self.below), *people.shape)
        values = np.asarray(self.values)
        first, last, weight = self.ranks(people)
        lower, upper = (values[(below < rank - 0.5).sum(axis=0)] for rank in (first, last))
        return np.where(people > 0.0, lower + weight * (upper - lower), np.nan)


@dataclass(frozen=True)
class QuantileBetweenEdges(Quantile):
    """A quantile of bins on a log scale, within which people count as spread evenly in the
    logarithm, or evenly from an edge at 0 on.

    edges: of the bins.  is_whole: whether values are whole numbers, which fill the space up to the
    next one.
    """

    edges: tuple[float, ...] = ()
    is_whole: bool = False

    @property
    def step(self) -> float:
        """How many more people are below it for each one there is."""
        return 1.0 - self.share if self.is_descending else self.share

    def locate(self, operands: Sequence[Array]) -> tuple[NDArray[np.intp], Array]:
        """The bin that holds it, and the part of the people there who are below it. Counts that
        do not grow with the edges are put in order."""
        people = np.asarray(operands[0])
        rank = self.step * people
        counts = np.sort([np.zeros_like(people), *operands[1:], people], axis=0)
        place = np.clip((counts < rank).sum(axis=0) - 1, 0, len(self.edges) - 2)
        first, last = (np.take_along_axis(counts, place[None] + i, axis=0)[0] for i in (0, 1))
        inside = (rank - first) / np.where(last > first, last - first, 1.0)
        return place, np.clip(inside, 0.0, 1.0)

    def point(self, place: Any, part: Any) -> Array:
        """The value that a part of the people in a bin do not exceed."""
        low, high = (np.asarray(self.edges)[place + i] for i in (0, 1))
        positive = np.where(low > 0.0, low, 1.0)
        in_logarithm = positive * (high / positive) ** part
        found = np.where(low > 0.0, in_logarithm, low + part * (high - low))
        return np.asarray(np.minimum(np.floor(found), high - 1.0) if self.is_whole else found)

    def value(self, operands: Sequence[Array]) -> Array:
        """The quantile, NaN of nobody."""
        return np.where(np.asarray(operands[0]) > 0.0, self.point(*self.locate(operands)), np.nan)


@dataclass(frozen=True)
class Mode(Function):
    """The most frequent value of a dimension; values, highest: as of `Quantile`."""

    values: tuple[float, ...]
    highest: tuple[float, ...]
    counts: tuple[Expression, ...]

    @property
    def operands(self) -> tuple[Expression, ...]:
        """How many have each value."""
        return self.counts

    def of(self, operands: Sequence[Expression]) -> Mode:
        """The mode by other counts."""
        return replace(self, counts=tuple(operands))

    def value(self, operands: Sequence[Array]) -> Array:
        """The first value of the largest count, NaN where no count is positive."""
        counts = np.array(operands)
        return np.where(
            (counts > 0.0).any(axis=0), np.asarray(self.values)[counts.argmax(axis=0)], np.nan
        )


Leaf = Aggregate | Target
Expression = Leaf | Number | Arithmetic | Function


def _operation(op: Operator, left: Any, right: Expression) -> Arithmetic:
    return Arithmetic(op, left, right)


_OPERATORS: Mapping[Operator, Callable[[Any, Any], Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
}


def evaluate(
    expression: Expression,
    leaf: Callable[[Leaf], T],
    number: Callable[[float], T],
    combine: Callable[[Operator, T, T], T] = lambda op, left, right: _OPERATORS[op](left, right),
    *,
    apply: Callable[[Function, list[T]], T],
) -> T:
    """Evaluate an expression in the arithmetic of whatever the leaves are.

    leaf, number: the value of an aggregate or sum, and of a constant.  combine: of an operator and
    two values; by Python's own operators unless another way is given.  apply: of a function and
    the values of its operands.
    """

    def value(part: Expression) -> T:
        if isinstance(part, Number):
            return number(part.value)
        if isinstance(part, Arithmetic):
            return combine(part.op, value(part.left), value(part.right))
        if isinstance(part, Function):
            return apply(part, [value(operand) for operand in part.operands])
        return leaf(part)

    return value(expression)


def _map(expression: Expression, leaf: Callable[[Leaf], Expression]) -> Expression:
    """The expression with other leaves."""
    return evaluate(expression, leaf, Number, Arithmetic, apply=lambda f, parts: f.of(parts))


def label(
    expression: Expression,
    leaf: Callable[[Leaf], str] = lambda leaf: leaf.label,
    number: Callable[[float], str] = "{:g}".format,
) -> str:
    """An expression as it would be written, every operation in brackets; leaf and number: the
    texts of an aggregate or sum, and of a constant."""

    def call(function: Function, operands: list[str]) -> str:
        return f"{type(function).__name__.upper()}({', '.join(operands)})"

    return evaluate(expression, leaf, number, "({1} {0} {2})".format, apply=call)


def leaves(expression: Expression) -> Iterator[Leaf]:
    """The aggregates, or sums, of an expression, from left to right."""
    if isinstance(expression, Arithmetic):
        yield from leaves(expression.left)
        yield from leaves(expression.right)
    elif isinstance(expression, Function):
        for operand in expression.operands:
            yield from leaves(operand)
    elif not isinstance(expression, Number):
        yield expression


def aggregates(expression: Expression) -> Iterator[Aggregate]:
    """The aggregates of a parsed expression, from left to right."""
    return (leaf for leaf in leaves(expression) if isinstance(leaf, Aggregate))


def expand(expression: Expression, schema: Schema) -> Expression:
    """The expression with every aggregate replaced by its function of sums."""

    def value(leaf: Leaf) -> Expression:
        if isinstance(leaf, Target):
            return leaf
        kind = find_aggregate(leaf.function)
        assert kind is not None
        value = kind.value(schema, leaf.column)
        is_plain = leaf.filter is None and leaf.over is None
        return value if is_plain else _under(value, leaf)

    return _map(expression, value)


def _under(expression: Expression, call: Aggregate) -> Expression:
    """The expression with every sum under the FILTER of a call, and over its rows."""

    def under(leaf: Leaf) -> Expression:
        assert isinstance(leaf, Target)
        text = _label_under(leaf.label, call)
        return replace(leaf, filter=call.filter, over=call.over, label=text)

    return _map(expression, under)


def _label_under(text: str, call: Aggregate) -> str:
    if call.filter is not None:
        text = f"{text} under filter {call.filter + 1}"
    return text if call.over is None else f"{text} of {'several' if call.over else 'all'} rows"


def targets_of(expression: Expression, schema: Schema) -> tuple[Target, ...]:
    """The different sums that an expression needs, in order of their first use."""
    sums = (leaf for leaf in leaves(expand(expression, schema)) if isinstance(leaf, Target))
    return tuple(dict.fromkeys(sums))


# -- sums of columns ----------------------------------------------------------------------------


def people_with(schema: Schema, column: Column) -> Expression:
    """How many people have a value in a column, or how many there are where it is None.

    NULLs are left out as SQL has it: of a dimension by asking only for codes that are not NULL,
    of a public column by its weight, of a measure by its levels if it may be missing. Of a measure
    that is also a dimension with a code for NULL, the dimension tells it.
    """
    if isinstance(column, ProductMoments):
        column = max(column.products.items(), key=lambda item: len(set(item[0])))[1]
    if isinstance(column, Ranked):
        column = column.column
    if isinstance(column, Ordering):
        known = [code for code, value in enumerate(column.values) if value is not None]
        return _count_codes(schema, column, code_set(known), "IS NOT NULL")
    if isinstance(column, Amount):
        return _total(column.counted, f"COUNT({column})", schema)
    if column is None:
        return Target()
    public = find_public_column(schema, column)
    if public is not None:
        return Target(weight=Weight(public.name, "present"), label=f"COUNT({public.name}), public")
    return _people_with_private(schema, column)


def _people_with_private(schema: Schema, column: str) -> Target:
    index, measure = find_dimension(schema, column), find_measure(schema, column)
    if index is not None and schema.dimensions[index].has_null:
        dimension = schema.dimensions[index]
        amounts = ((1.0, domains.present_codes(dimension)),)
        return Target(amounts=(index, amounts), label=f"COUNT({dimension.name})")
    if measure is not None and schema.measures[measure].has_null:
        name = schema.measures[measure].name
        return Target(measure=measure, is_present=True, label=f"COUNT({name})")
    if index is None and measure is None:
        raise InternalError(f"the survey has no column {column!r}")
    return Target()


def sum_of(schema: Schema, column: Column) -> Expression:
    """The sum of a measure, a numeric public column or an expression; NULLs add nothing."""
    if isinstance(column, Amount):
        return _total(column.summed, f"SUM({column})", schema)
    name = str(column or "")
    measure = find_measure(schema, name)
    if measure is not None:
        return Target(measure=measure, label=f"SUM({schema.measures[measure].name})")
    public = find_public_column(schema, name)
    if public is None or not public.is_numeric:
        raise InternalError(f"the survey has no numeric column {column!r}")
    return Target(weight=Weight(public.name), label=f"SUM({public.name}), public")


def _total(shares: tuple[Share, ...], label: str, schema: Schema) -> Expression:
    """The sum of shares, each a sum over people."""
    targets: list[Expression] = []
    for share in shares:
        measure = find_measure(schema, share.column or "")
        is_public = share.column is not None and measure is None
        is_square = share.kind == "square"
        is_present = share.kind == "present" and not is_public
        weight = None
        if is_public:
            assert share.kind != "square"
            weight = Weight(str(share.column), share.kind)
        own = Target(measure, weight, share.factor, label=label)
        found = (find_measure(schema, name) for name in share.present)
        present = tuple(measure for measure in found if measure is not None)
        targets.append(replace(own, is_square=is_square, is_present=is_present, present=present))
    return reduce(lambda left, right: Arithmetic("+", left, right), targets)


# -- moments ------------------------------------------------------------------------------------

MomentsOf = Callable[[Callable[[str], Expression], Expression], Expression]
Centred = Callable[[Callable[[str], Expression], Expression, Callable[[str], Number]], Expression]


def _centre(value: Centred) -> Callable[[Schema, ProductMoments], Expression]:
    """An expression over moments from one over their sums: `value(sum by letters, people, centre
    by letter)`."""

    def expression(schema: Schema, moments: ProductMoments) -> Expression:
        return value(
            lambda letters: sum_of(schema, moments.products[letters]),
            people_with(schema, moments),
            lambda letter: Number(moments.centres[letter]),
        )

    return expression


def _spread(left: str, right: str) -> MomentsOf:
    return lambda total, n: Spread(total(left + right), total(left), total(right), n)


def _variance(left: str, right: str, less: float) -> MomentsOf:
    """The covariance of two numbers; less: 0 for that of a population, 1 of a sample."""
    spread = _spread(left, right)
    return lambda total, n: spread(total, n) / (n - Number(less) if less else n)


def _deviation(less: float) -> MomentsOf:
    variance = _variance("x", "x", less)
    return lambda total, n: Transform("root", variance(total, n))


def _correlation(total: Callable[[str], Expression], n: Expression) -> Expression:
    roots = [Transform("root", _spread(each, each)(total, n)) for each in "xy"]
    return _spread("x", "y")(total, n) / (roots[0] * roots[1])


def _slope(total: Callable[[str], Expression], n: Expression) -> Expression:
    return _spread("x", "y")(total, n) / _spread("x", "x")(total, n)


def _intercept(
    total: Callable[[str], Expression], n: Expression, centre: Callable[[str], Number]
) -> Expression:
    at_centre = (total("y") - _slope(total, n) * (total("x") + centre("x") * n)) / n
    return at_centre + centre("y")


def _mean(letter: str) -> Centred:
    return lambda total, n, centre: total(letter) / n + centre(letter)


# -- orders -------------------------------------------------------------------------------------


def _quantile_of(rule: Literal["disc", "cont"]) -> Callable[[Schema, Ranked], Expression]:
    """A quantile; of a dimension that is collected in bins the bin that holds it, and on a log
    scale its place there."""

    def expression(schema: Schema, column: str | Ordering | Ranked) -> Expression:
        ranked = column if isinstance(column, Ranked) else Ranked(column)
        codes, lowest, highest = ends_of_codes(schema, ranked.column)
        people = people_with(schema, ranked)
        inside = (own for own, _ in zip(codes, highest[:-1], strict=False))
        sets = accumulate(inside, lambda left, right: boxes.code_set((*left, *right)))
        below = [
            _count_codes(schema, ranked.column, own, f"<= {highest[place]:g}")
            for place, own in enumerate(sets)
        ]
        function = Quantile(
            ranked.share,
            rule if lowest == highest else "disc",
            ranked.is_descending,
            lowest,
            highest,
            people,
            tuple(below),
            ranked.together,
        )
        domain = find_log_scale(schema, ranked.column)
        if domain is None:
            return function
        edges = tuple(map(float, domain.points))
        return QuantileBetweenEdges(**vars(function), edges=edges, is_whole=domain.is_discrete)

    return expression


def find_log_scale(schema: Schema, column: str | Ordering) -> Ordered | None:
    """The domain of a dimension in bins on a log scale; None for what is none."""
    index = None if isinstance(column, Ordering) else find_dimension(schema, column)
    domain = None if index is None else schema.dimensions[index].domain
    is_log = isinstance(domain, Ordered) and domain.is_log and not domains.is_listed_out(domain)
    return domain if is_log else None  # type: ignore[return-value]


def _mode(schema: Schema, column: str | Ordering) -> Expression:
    codes, lowest, highest = ends_of_codes(schema, column)
    counts = [
        _count_codes(schema, column, own, f"= {value:g}")
        for own, value in zip(codes, lowest, strict=True)
    ]
    return Mode(lowest, highest, tuple(counts))


def ends_of_codes(
    schema: Schema, column: str | Ordering
) -> tuple[list[CodeSet], tuple[float, ...], tuple[float, ...]]:
    """The numbers that people are put in order by, ascending: the codes of each, and the ends of
    what these hold."""
    if isinstance(column, Ordering):
        own: dict[float, list[int]] = {}
        for code, value in enumerate(column.values):
            if value is not None:
                own.setdefault(value, []).append(code)
        numbers = tuple(sorted(own))
        return [code_set(own[number]) for number in numbers], numbers, numbers
    index = find_dimension(schema, column)
    assert index is not None
    domain = schema.dimensions[index].domain
    lowest = [float(value) for value in domains.domain_labels(domain)]  # type: ignore[arg-type]
    codes = sorted(range(len(lowest)), key=lowest.__getitem__)
    if isinstance(domain, Listed):
        highest = lowest
    else:
        whole = 1 if domain.is_discrete else 0
        highest = [float(edge) - whole for edge in Edges(domain)[1:]]
    sets: list[CodeSet] = [((code, code + 1),) for code in codes]
    return sets, tuple(lowest[c] for c in codes), tuple(highest[c] for c in codes)


def _count_codes(schema: Schema, column: str | Ordering, codes: CodeSet, condition: str) -> Target:
    """How many people have one of some codes of a dimension; condition: which these are."""
    index = find_dimension(schema, column.column if isinstance(column, Ordering) else column)
    assert index is not None
    return Target(amounts=(index, ((1.0, codes),)), label=f"COUNT({column} {condition})")


# -- the aggregates -----------------------------------------------------------------------------


@dataclass(frozen=True)
class AggregateKind:
    """One aggregate.

    names: what SQL calls it, in capitals; the first is its own.
    takes: what stands in its brackets: "rows" is a column of any kind, * or nothing; "number" a
    measure, a numeric public column or a number computed from columns; "order" a dimension of
    numbers or a number computed from one, "share" that and a share of people.
    value: the expression over sums that it is, for a schema and the declared name of its column, or
    the amount that is computed, or moments.
    exact: the same over raw values as SQL, with {} for the column; `bench` asks DuckDB for it.
    products: for an aggregate of x, or of y and x, which products of them it sums.
    is_average: whether it is a sum over a number of people, and cannot lie outside of what is
    summed.
    """

    names: tuple[str, ...]
    takes: Literal["rows", "number", "order", "share"]
    value: Callable[[Schema, Any], Expression]
    exact: str
    products: tuple[str, ...] = ()
    is_average: bool = False


def _of_one(names: str, value: MomentsOf) -> AggregateKind:
    """An aggregate of the moments of x that shifts of it do not change."""
    own, centred = tuple(names.split()), _centre(lambda total, n, _: value(total, n))
    return AggregateKind(own, "number", centred, f"{own[0]}({{}})", ("x", "xx"))


def _of_two(name: str, value: MomentsOf, products: str) -> AggregateKind:
    """An aggregate of the moments of y and x that shifts of them do not change."""
    return _centre_two(name, lambda total, n, _: value(total, n), products)


def _centre_two(name: str, value: Centred, products: str) -> AggregateKind:
    """An aggregate of the moments of y and x."""
    wanted = tuple(products.split())
    return AggregateKind((name,), "number", _centre(value), f"{name}({{}})", wanted)


AGGREGATES: tuple[AggregateKind, ...] = (
    AggregateKind(("COUNT",), "rows", people_with, "COUNT({})"),
    # The sum of nobody is 0, where SQL says NULL: reports cannot tell that nobody is there.
    AggregateKind(("SUM",), "number", sum_of, "COALESCE(SUM({}), 0)"),
    AggregateKind(
        ("AVG", "MEAN"),
        "number",
        lambda schema, column: sum_of(schema, column) / people_with(schema, column),
        "AVG({})",
        is_average=True,
    ),
    _of_one("VAR_POP VARIANCE_POP", _variance("x", "x", 0)),
    _of_one("VAR_SAMP VARIANCE VARIANCE_SAMP", _variance("x", "x", 1)),
    _of_one("STDDEV_POP", _deviation(0)),
    _of_one("STDDEV_SAMP STDDEV STDEV", _deviation(1)),
    _of_two("COVAR_POP", _variance("x", "y", 0), "x y xy"),
    _of_two("COVAR_SAMP", _variance("x", "y", 1), "x y xy"),
    _of_two("CORR", _correlation, "x y xx yy xy"),
    _of_two("REGR_SLOPE", _slope, "x y xx xy"),
    _centre_two("REGR_INTERCEPT", _intercept, "x y xx xy"),
    _of_two(
        "REGR_R2", lambda total, n: Transform("square", _correlation(total, n)), "x y xx yy xy"
    ),
    _of_two("REGR_COUNT", lambda _, n: n, "xy"),
    _centre_two("REGR_AVGX", _mean("x"), "x xy"),
    _centre_two("REGR_AVGY", _mean("y"), "y xy"),
    _of_two("REGR_SXX", _spread("x", "x"), "x xx xy"),
    _of_two("REGR_SYY", _spread("y", "y"), "y yy xy"),
    _of_two("REGR_SXY", _spread("x", "y"), "x y xy"),
    AggregateKind(("MEDIAN",), "order", _quantile_of("cont"), "MEDIAN({})"),
    AggregateKind(
        ("QUANTILE_CONT", "PERCENTILE_CONT"), "share", _quantile_of("cont"), "QUANTILE_CONT({})"
    ),
    AggregateKind(
        ("QUANTILE_DISC", "PERCENTILE_DISC", "QUANTILE", "APPROX_QUANTILE"),
        "share",
        _quantile_of("disc"),
        "QUANTILE_DISC({})",
    ),
    AggregateKind(("MODE",), "order", _mode, "MODE({})"),
)


def find_aggregate(name: str) -> AggregateKind | None:
    """The aggregate of a name, in any case; None where there is none."""
    return next((entry for entry in AGGREGATES if name.upper() in entry.names), None)
