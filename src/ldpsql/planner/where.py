"""WHERE to slices: conditions on public columns as SQL, those on private ones as boxes of codes.

What WHERE says of public columns stays SQL and is exact: people are split by which public
conditions hold, and each part, a slice, has boxes of its own, which may overlap.

On the way a predicate is a formula that is true exactly where the predicate is TRUE. SQL's logic
has three values, but a row passes WHERE only where it is TRUE. Negation is pushed down to the
atoms, each of which knows where it is TRUE and where it is FALSE; between them, AND and OR are
then the plain ones. Atoms of one dimension are joined into one set of codes as the formula is
built, atoms of public columns into one text, so that what remains is small.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from itertools import chain
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from ldpsql import limits
from ldpsql.algebra import boxes
from ldpsql.algebra.boxes import NOTHING, Box, CodeSet, code_set, complement, meet
from ldpsql.errors import QueryError, UnsupportedSQL
from ldpsql.parser.query import (
    And,
    Atom,
    Comparison,
    Constant,
    Membership,
    Not,
    NotTrue,
    NullTest,
    OfColumn,
    Or,
    Predicate,
    atoms,
    condition,
)
from ldpsql.planner.declared import regions
from ldpsql.planner.disjoin import cut, outside
from ldpsql.sql import domains
from ldpsql.sql.domains import find_dimension, find_public_column, nearest_ranges
from ldpsql.sql.quoting import Scalar, literal
from ldpsql_device.description import Edges
from ldpsql_device.errors import InternalError
from ldpsql_device.schema import Dimension, PublicColumn, Schema
from ldpsql_device.values import Listed, Ordered, Value, microseconds

MAX_SLICES = 256
_COMPACTED = 64
_ASK_APART = (
    "ask in several queries, or join conditions on public columns by AND or OR in one place"
)


@dataclass(frozen=True)
class Slice:
    """The people who satisfy one public condition, and the private boxes asked of them.

    condition: DuckDB SQL over the public columns, or None for everybody. The conditions of a
    plan's slices exclude one another.
    boxes: the private part of WHERE; may overlap before `disjoin`, are disjoint after it.
    filtered: for the condition of every FILTER the boxes where it is true as well.
    """

    condition: str | None
    boxes: tuple[Box, ...]
    filtered: tuple[tuple[Box, ...], ...] = ()

    def meets(self, row: Sequence[Box]) -> bool:
        """Whether somebody in some boxes may satisfy WHERE."""
        return any(meet(row, self.boxes))


def slices(
    predicate: Predicate | None, schema: Schema, sql: str, filters: Sequence[Predicate] = ()
) -> tuple[Slice, ...]:
    """WHERE as slices with their boxes, which may overlap; `sql` is what errors point into.

    filters: the conditions of FILTER, of which the slices hold the boxes as well.

    A comparison may cut a bin where the whole takes it or leaves it. QueryError where a literal
    does not fit its column, or values of a bin are told apart; UnsupportedSQL where WHERE falls
    apart into too many parts.
    """
    if predicate is None and not filters:
        return (Slice(None, (Box.whole(len(schema.dimensions)),)),)
    predicate = predicate or Constant(True)
    asked = (predicate, *(And((predicate, condition)) for condition in filters))
    try:
        return _slice(asked, schema, sql)
    except (QueryError, UnsupportedSQL) as error:
        refusal = error
    try:
        divided = _Divided.of(schema, chain.from_iterable(map(atoms, asked)))
        if divided is not None:
            pieces = _slice(asked, divided.schema, sql)
            return tuple(
                Slice(
                    piece.condition,
                    divided.gather(piece.boxes),
                    tuple(map(divided.gather, piece.filtered)),
                )
                for piece in pieces
            )
    except (QueryError, UnsupportedSQL):
        pass
    raise refusal


def _slice(asked: Sequence[Predicate], schema: Schema, sql: str) -> tuple[Slice, ...]:
    """asked: WHERE, and WHERE with the condition of every FILTER."""
    compiler = _Compiler(schema, sql, tuple(each.size for each in schema.dimensions))
    formulas = tuple(compiler.formula(each, True) for each in asked)
    try:
        parts = compiler.split(formulas)
    except UnsupportedSQL as error:
        place = next((atom.place for each in asked for atom in atoms(each)), None)
        raise error.at(sql, place) from None
    by_boxes: dict[tuple[tuple[Box, ...], ...], list[str]] = {}
    for conditions, inside in parts:
        if inside[0]:
            by_boxes.setdefault(inside, []).append(" AND ".join(conditions))
    parted = (Slice(_any_of(texts), each[0], each[1:]) for each, texts in by_boxes.items())
    return tuple(parted) or (Slice(None, (), ((),) * (len(asked) - 1)),)


def _any_of(texts: list[str]) -> str | None:
    if "" in texts:
        return None
    return texts[0] if len(texts) == 1 else " OR ".join(f"({text})" for text in texts)


# -- formulas -------------------------------------------------------------------------------------

Word = Literal["AND", "OR"]


@dataclass(frozen=True)
class _Within:
    """The code of one dimension lies in a set; neither empty nor full."""

    dimension: int
    codes: CodeSet


@dataclass(frozen=True)
class _Holds:
    """A condition over public columns, in SQL, is TRUE.

    equal: of an equality its column and literal; one column is not equal to two literals.
    """

    text: str
    equal: tuple[str, Value | None] | None = None


def _exclude(left: tuple[str, Value | None] | None, right: tuple[str, Value | None] | None) -> bool:
    """Whether two equalities cannot both hold."""
    return left is not None and right is not None and left[0] == right[0] and left[1] != right[1]


@dataclass(frozen=True)
class _Junction:
    """Every operand is true, or at least one is."""

    word: Word
    operands: tuple[_Formula, ...]


_Formula = bool | _Within | _Holds | _Junction
_Parts = list[tuple[tuple[str, ...], tuple[tuple[Box, ...], ...]]]
"""Parts of the people: the public conditions that hold there, and the boxes of every formula."""


def _conditions(formula: _Formula) -> Iterator[_Holds]:
    """The public conditions of a formula, from left to right, with repetitions."""
    if isinstance(formula, _Holds):
        yield formula
    elif isinstance(formula, _Junction):
        for operand in formula.operands:
            yield from _conditions(operand)


@dataclass(frozen=True)
class _Compiler:
    """Makes and splits the formulas of one survey; sizes: codes per dimension."""

    schema: Schema
    sql: str
    sizes: tuple[int, ...]

    def formula(self, predicate: Predicate, wanted: bool) -> _Formula:
        """Where a predicate is TRUE (wanted) or FALSE (not wanted)."""
        if isinstance(predicate, Not):
            return self.formula(predicate.operand, not wanted)
        if isinstance(predicate, NotTrue):
            met = self.formula(predicate.operand, True)
            return self._negate(met) if wanted else met
        if isinstance(predicate, And | Or):
            operands = (self.formula(operand, wanted) for operand in predicate.operands)
            return self._join("AND" if isinstance(predicate, And) == wanted else "OR", operands)
        if isinstance(predicate, Constant):
            return predicate.value is wanted
        return self._atom(predicate, wanted)

    def _atom(self, atom: Atom, wanted: bool) -> _Formula:
        if isinstance(atom, Scalar):
            return self._scalar(atom, wanted)
        if isinstance(atom, Comparison) and atom.literal is None:
            return False
        index = find_dimension(self.schema, atom.column)
        column = find_public_column(self.schema, atom.column)
        try:
            if index is not None:
                return self._within(index, _codes(atom, self.schema.dimensions[index], wanted))
            if column is None:
                raise InternalError(f"the survey has no column {atom.column!r} to compare")
            text = condition(atom, lambda _, value: _literal_for(value, column))
        except QueryError as error:
            hint = None if index is None else _hint(atom, self.schema.dimensions[index])
            raise (QueryError(error.reason, hint=hint) if hint else error).at(
                self.sql, atom.place
            ) from None
        if not wanted:
            return _Holds(f"NOT ({text})")
        if isinstance(atom, Comparison) and atom.op == "=":
            return _Holds(text, (column.name, atom.literal))
        return _Holds(text)

    def _scalar(self, scalar: Scalar, wanted: bool) -> _Formula:
        """Where a condition is TRUE, or FALSE, by its boxes over the declared values."""
        if any(find_public_column(self.schema, name) for name in scalar.columns):
            return _Holds(scalar.text if wanted else f"NOT ({scalar.text})")
        found = dict(regions(scalar, self.schema, self.sql))
        return self._join(
            "OR",
            (
                self._join(
                    "AND",
                    (
                        self._within(dimension, side)
                        for dimension, side in enumerate(box.sides)
                        if side is not None
                    ),
                )
                for box in found.get(wanted, ())
            ),
        )

    def _within(self, dimension: int, codes: CodeSet) -> _Formula:
        is_full = codes == ((0, self.sizes[dimension]),)
        return is_full if is_full or not codes else _Within(dimension, codes)

    def _join(self, word: Word, operands: Iterable[_Formula]) -> _Formula:
        """Operands under AND or OR, with everything of one dimension or of public columns as
        one."""
        absorbing = word == "OR"
        codes: dict[int, list[CodeSet]] = {}
        texts: dict[str, _Holds] = {}
        others: dict[_Formula, None] = {}
        nested = (
            each.operands if isinstance(each, _Junction) and each.word == word else (each,)
            for each in operands
        )
        for operand in chain.from_iterable(nested):
            if operand is absorbing:
                return absorbing
            if isinstance(operand, _Within):
                codes.setdefault(operand.dimension, []).append(operand.codes)
            elif isinstance(operand, _Holds):
                texts[operand.text] = operand
            elif isinstance(operand, _Junction):
                others[operand] = None
        joined: list[_Formula] = []
        for dimension, sets in sorted(codes.items()):
            within = self._within(dimension, _merge(word, sets, self.sizes[dimension]))
            if within is absorbing:
                return absorbing
            if isinstance(within, _Within):
                joined.append(within)
        if texts:
            fused = f" {word} ".join(f"({text})" for text in texts)
            joined.append(_Holds(fused) if len(texts) > 1 else next(iter(texts.values())))
        joined += others
        if not joined:
            return not absorbing
        return joined[0] if len(joined) == 1 else _Junction(word, tuple(joined))

    def _assume(self, formula: _Formula, known: _Holds, value: bool) -> _Formula:
        """The formula where a public condition is known to be TRUE, or known not to be."""
        if isinstance(formula, _Holds):
            if formula.text == known.text:
                return value
            both = formula.equal, known.equal
            return False if value and _exclude(*both) else formula
        if isinstance(formula, _Junction):
            operands = (self._assume(operand, known, value) for operand in formula.operands)
            return self._join(formula.word, operands)
        return formula

    def _negate(self, formula: _Formula) -> _Formula:
        """Where a formula is not true."""
        if isinstance(formula, bool):
            return not formula
        if isinstance(formula, _Within):
            dimension = formula.dimension
            return self._within(dimension, complement(formula.codes, self.sizes[dimension]))
        if isinstance(formula, _Holds):
            return _Holds(f"({formula.text}) IS NOT TRUE")
        opposite: Word = "OR" if formula.word == "AND" else "AND"
        return self._join(opposite, (self._negate(operand) for operand in formula.operands))

    def split(self, formulas: tuple[_Formula, ...]) -> _Parts:
        """The private boxes of some formulas under every truth assignment of the public conditions
        that matters; UnsupportedSQL where these, or the conditions, are more than MAX_SLICES."""
        conditions = dict.fromkeys(chain.from_iterable(map(_conditions, formulas)))
        if len(conditions) > MAX_SLICES:  # each of them is a level of recursion
            raise UnsupportedSQL(
                f"{len(conditions):,} conditions on public columns are too many to split people "
                f"by, the limit is {MAX_SLICES}",
                hint=_ASK_APART,
            )
        return self._split(formulas, {})

    def _split(self, formulas: tuple[_Formula, ...], found: dict[object, _Parts]) -> _Parts:
        """found: what is known by formulas. Many assignments leave the same ones."""
        if formulas not in found:
            limits.check()
            found[formulas] = self._split_anew(formulas, found)
        return found[formulas]

    def _split_anew(self, formulas: tuple[_Formula, ...], found: dict[object, _Parts]) -> _Parts:
        if formulas[0] is False:
            return [((), ((),) * len(formulas))]
        known = next((each for formula in formulas for each in _conditions(formula)), None)
        if known is None:
            return [((), tuple(tuple(self._boxes(formula)) for formula in formulas))]
        yes, no = (
            self._split(tuple(self._assume(each, known, value) for each in formulas), found)
            for value in (True, False)
        )
        if yes == no:
            return yes
        if len(yes) + len(no) > MAX_SLICES:
            raise UnsupportedSQL(
                f"conditions on public columns split people into more than {MAX_SLICES} parts",
                hint=_ASK_APART,
            )
        return [((f"({known.text})", *others), inside) for others, inside in yes] + [
            ((f"({known.text}) IS NOT TRUE", *others), inside) for others, inside in no
        ]

    def _boxes(self, formula: _Formula) -> list[Box]:
        """The boxes of a formula without public conditions; they may overlap."""
        if isinstance(formula, bool):
            return [Box.whole(len(self.sizes))] if formula else []
        if isinstance(formula, _Within):
            return [Box.of(len(self.sizes), {formula.dimension: formula.codes})]
        assert isinstance(formula, _Junction)
        if formula.word == "AND":
            return self._intersection(formula)
        union = dict.fromkeys(box for each in formula.operands for box in self._boxes(each))
        return list(union) if len(union) <= _COMPACTED else cut(list(union), self.sizes)

    def _intersection(self, formula: _Junction) -> list[Box]:
        """AND of sets and of ORs. Several ORs are not multiplied out, which may take exponential
        time: they hold outside of where one of them fails."""
        common = Box.whole(len(self.sizes))
        for operand in formula.operands:
            if isinstance(operand, _Within):
                common = common & self._boxes(operand)[0]
        unions = [each for each in formula.operands if isinstance(each, _Junction)]
        if not unions:
            return [common]
        if len(unions) == 1:
            candidates = self._boxes(unions[0])
        else:
            failing = [box for one in unions for box in self._boxes(self._negate(one))]
            candidates = outside(failing, self.sizes)
        return list(meet([common], candidates))


# -- atoms ----------------------------------------------------------------------------------------


def _merge(word: Word, sets: list[CodeSet], size: int) -> CodeSet:
    """Union or intersection of many sets, by one sort."""
    if len(sets) == 1:
        return sets[0]
    if word == "OR":
        return code_set(chain.from_iterable(sets))
    return complement(code_set(chain.from_iterable(complement(s, size) for s in sets)), size)


def _codes(atom: OfColumn, dimension: Dimension, wanted: bool) -> CodeSet:
    """The codes where an atom is TRUE (wanted) or FALSE (not wanted); no literal is NULL alone."""
    if isinstance(atom, NullTest):
        return domains.null_codes(dimension) if wanted else domains.present_codes(dimension)
    domain = dimension.domain
    if isinstance(atom, Comparison):
        assert atom.literal is not None
        true = domains.match_codes(domain, atom.op, atom.literal)
    else:
        # True and 1 are equal, and of two types.
        values = {(type(value), value): value for value in atom.literals if value is not None}
        true = domains.members(domain, list(values.values()))
        if not wanted and None in atom.literals:
            return NOTHING
    return true if wanted else complement(true, domain.size)


def _hint(atom: OfColumn, dimension: Dimension) -> str | None:
    """Conditions that have an answer in place of one that cuts bins, or compares other types."""
    domain, name = dimension.domain, dimension.name
    if isinstance(atom, NullTest):
        return None
    op = atom.op if isinstance(atom, Comparison) else "="
    values = [v for v in _literals(atom) if v is not None]
    if isinstance(domain, Listed):
        return f"write {name} = TRUE" if domain.type == "bool" else None
    try:
        if isinstance(atom, Comparison) and atom.ends is not None:
            ends = zip((">=", "<="), atom.ends, strict=True)
            found = nearest_ranges(dimension, [(op, v) for op, v in ends if v is not None])
        elif domain.type == "timestamp" and (day := _whole_day(domain, values[0])) is not None:
            return f"for the whole day write CAST({name} AS DATE) {op} {literal(day)}"
        else:
            found = nearest_ranges(dimension, [(op, value) for value in values])
    except QueryError:  # the literal is of another type
        return f"write {name} >= {literal(Edges(domain)[0])}"
    return f"write {', or '.join(filter(None, found))}" if any(found) else None


def _literals(atom: Comparison | Membership) -> tuple[Value | None, ...]:
    return (atom.literal,) if isinstance(atom, Comparison) else atom.literals


def _whole_day(domain: Ordered, value: Value) -> date | None:
    """The day that a value names, where bins of moments begin and end with it."""
    day = domains.as_day(value)
    if day is None:
        return None
    ends = [microseconds(day), microseconds(day + timedelta(days=1))]
    return day if all(end in domain.points for end in ends) else None


def _literal_for(value: Value | None, column: PublicColumn) -> str:
    """The literal of a value that is compared with a column; QueryError where it does not fit."""
    if column.type in ("date", "timestamp") and isinstance(value, str | date):
        moment = domains.read_moment(value, column.type) if isinstance(value, str) else value
        if isinstance(value, str) and column.type == "date" and isinstance(moment, datetime):
            if moment.time() != datetime.min.time():
                raise QueryError(f"{value[:40]!r} is not a date", hint="write 2026-01-31")
            moment = moment.date()
        return literal(moment)
    kind = "number" if column.is_numeric else column.type
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    given = "number" if is_number else {str: "text", bool: "bool"}.get(type(value))
    if value is not None and given != kind:
        raise QueryError(
            f"{column.name} is a column of type {column.type} "
            f"and cannot be compared with {str(value)[:40]!r}"
        )
    return literal(value)


# -- smaller bins ---------------------------------------------------------------------------------
# Conditions may cut bins without telling their values apart: `age < 20 AND age > 60`. Codes that
# stand for several values are divided where literals cut them, a condition is worked out over
# those, and what comes out is an answer where it takes whole codes again.


@dataclass(frozen=True)
class _Divided:
    """A survey's dimensions in smaller bins.

    schema: with these.  owners: per dimension, the own code of each of its codes.
    """

    schema: Schema
    owners: tuple[NDArray[np.int64], ...]

    @classmethod
    def of(cls, schema: Schema, asked: Iterable[Atom]) -> _Divided | None:
        """In bins that the literals of some comparisons do not cut; None where nothing is divided.
        QueryError for a literal of another type than its column."""
        literals: dict[int, list[Value]] = {}
        for atom in asked:
            if isinstance(atom, Comparison | Membership):
                index = find_dimension(schema, atom.column)
                own = (atom.literal,) if isinstance(atom, Comparison) else atom.literals
                if index is not None:
                    literals.setdefault(index, []).extend(v for v in own if v is not None)
        finer = {
            index: replace(own, domain=domains.divide(own.domain, literals[index]), sensitive=())
            for index, own in enumerate(schema.dimensions)
            if index in literals
        }
        dimensions = [finer.get(i, own) for i, own in enumerate(schema.dimensions)]
        if all(a.size == b.size for a, b in zip(dimensions, schema.dimensions, strict=True)):
            return None
        owners = map(_find_owners, dimensions, schema.dimensions)
        return cls(replace(schema, dimensions=tuple(dimensions)), tuple(owners))

    def gather(self, boxes: Sequence[Box]) -> tuple[Box, ...]:
        """Disjoint boxes of the own codes; QueryError where these boxes hold a part of one, and
        UnsupportedSQL where they are too many."""
        sizes = [len(own) for own in self.owners]
        return tuple(
            Box(
                tuple(
                    None if side is None else _gather(side, own)
                    for side, own in zip(box.sides, self.owners, strict=True)
                )
            )
            for box in cut(boxes, sizes)
        )


def _find_owners(finer: Dimension, own: Dimension) -> NDArray[np.int64]:
    """The code of every smaller bin; that of NULL is the last of both."""
    if isinstance(own.domain, Listed):
        found = np.array(own.domain.codes)
    else:
        assert not isinstance(finer.domain, Listed)
        points = finer.domain.edge_array[:-1]
        found = np.searchsorted(own.domain.edge_array, points, side="right") - 1
    return np.append(found, own.domain.size) if own.has_null else found


def _gather(side: CodeSet, owners: NDArray[np.int64]) -> CodeSet:
    inside = np.fromiter(chain.from_iterable(range(*pair) for pair in side), dtype=np.int64)
    held = np.bincount(owners[inside], minlength=int(owners.max()) + 1)
    if ((held > 0) & (held < np.bincount(owners))).any():
        raise QueryError("this has no exact answer: it tells apart values that share one code")
    return boxes.codes(np.flatnonzero(held).tolist())
