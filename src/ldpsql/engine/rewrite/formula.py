"""WHERE as a formula that is true exactly where the predicate is TRUE.

SQL's logic has three values, but a row passes WHERE only where it is TRUE. Negation is pushed
down to the atoms, each of which knows where it is TRUE and where it is FALSE; between them, AND
and OR are then the plain ones. Atoms of one dimension are joined into one set of codes as the
formula is built, atoms of public columns into one text, so that what remains is small.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

from ldpsql import domains
from ldpsql.boxes import NOTHING, CodeSet, code_set, complement
from ldpsql.domains import find_dimension, find_public_column
from ldpsql.engine.rewrite import public
from ldpsql.errors import Place, QueryError
from ldpsql.parser.query import (
    And,
    Atom,
    Comparison,
    Constant,
    Membership,
    Not,
    NullTest,
    Or,
    Predicate,
)
from ldpsql.record_domain import RecordDomain
from ldpsql_device.errors import InternalError
from ldpsql_device.schema import Dimension, Schema


@dataclass(frozen=True)
class Within:
    """The code of one dimension lies in a set; neither empty nor full."""

    dimension: int
    codes: CodeSet


@dataclass(frozen=True)
class Holds:
    """A condition over public columns, in SQL, is TRUE."""

    text: str


@dataclass(frozen=True)
class All:
    """Every operand is true."""

    operands: tuple[Formula, ...]


@dataclass(frozen=True)
class Some:
    """At least one operand is true."""

    operands: tuple[Formula, ...]


Formula = bool | Within | Holds | All | Some


@dataclass(frozen=True)
class Compiler:
    """Makes the formulas of one survey's predicates.

    sql: the text that error messages point into.
    """

    schema: Schema
    sql: str

    def formula(self, predicate: Predicate) -> Formula:
        """The formula of a predicate. QueryError, with its place, where types do not fit."""
        return self._where(predicate, True)

    def _where(self, predicate: Predicate, wanted: bool) -> Formula:
        """Where a predicate is TRUE (wanted) or FALSE (not wanted)."""
        if isinstance(predicate, Not):
            return self._where(predicate.operand, not wanted)
        if isinstance(predicate, And | Or):
            operands = (self._where(operand, wanted) for operand in predicate.operands)
            return join(All if isinstance(predicate, And) == wanted else Some, operands, self.sizes)
        if isinstance(predicate, Constant):
            return predicate.value is wanted
        return self._atom(predicate, wanted)

    @property
    def sizes(self) -> tuple[int, ...]:
        """Number of codes per dimension."""
        return RecordDomain.of(self.schema).sizes

    def _atom(self, atom: Atom, wanted: bool) -> Formula:
        if isinstance(atom, Comparison) and atom.literal is None:
            return False
        index = find_dimension(self.schema, atom.column)
        try:
            if index is not None:
                codes = _codes(atom, self.schema.dimensions[index], wanted)
                return _within(index, codes, self.sizes)
            column = find_public_column(self.schema, atom.column)
            if column is None:
                raise InternalError(f"the survey has no column {atom.column!r} to compare")
            text = public.condition(atom, column)
        except QueryError as error:
            raise locate(error, self.sql, atom.place) from None
        return Holds(text if wanted else f"NOT ({text})")


def locate(error: QueryError, sql: str, place: Place) -> QueryError:
    """The same error with its place in the SQL."""
    return type(error)(error.reason, sql=sql, place=place, hint=error.hint)


def join(
    kind: type[All] | type[Some], operands: Iterable[Formula], sizes: Sequence[int]
) -> Formula:
    """Operands under AND or OR, with everything of one dimension or of public columns as one."""
    absorbing = kind is Some
    codes: dict[int, list[CodeSet]] = {}
    texts: list[str] = []
    others: list[Formula] = []
    for operand in _flat(kind, operands):
        if operand is absorbing:
            return absorbing
        if isinstance(operand, Within):
            codes.setdefault(operand.dimension, []).append(operand.codes)
        elif isinstance(operand, Holds):
            texts.append(operand.text)
        elif not isinstance(operand, bool):
            others.append(operand)
    merged: list[Formula] = []
    for dimension, sets in sorted(codes.items()):
        within = _within(dimension, _merge(kind, sets, sizes[dimension]), sizes)
        if within is absorbing:
            return absorbing
        if not isinstance(within, bool):
            merged.append(within)
    merged += [*_fuse(kind, texts), *dict.fromkeys(others)]
    if not merged:
        return not absorbing
    return merged[0] if len(merged) == 1 else kind(tuple(merged))


def conditions(formula: Formula) -> Iterator[str]:
    """The public conditions of a formula, from left to right, with repetitions."""
    if isinstance(formula, Holds):
        yield formula.text
    elif isinstance(formula, All | Some):
        for operand in formula.operands:
            yield from conditions(operand)


def assume(formula: Formula, text: str, value: bool, sizes: Sequence[int]) -> Formula:
    """The formula where a public condition is known to be TRUE, or known not to be."""
    if isinstance(formula, Holds):
        return value if formula.text == text else formula
    if isinstance(formula, All | Some):
        operands = (assume(operand, text, value, sizes) for operand in formula.operands)
        return join(type(formula), operands, sizes)
    return formula


def negate(formula: Formula, sizes: Sequence[int]) -> Formula:
    """The opposite of a formula without public conditions."""
    if isinstance(formula, bool):
        return not formula
    if isinstance(formula, Within):
        i = formula.dimension
        return _within(i, complement(formula.codes, sizes[i]), sizes)
    if isinstance(formula, Holds):
        raise InternalError("a public condition was left undecided")
    opposite = Some if isinstance(formula, All) else All
    return join(opposite, (negate(operand, sizes) for operand in formula.operands), sizes)


def _flat(kind: type[All] | type[Some], operands: Iterable[Formula]) -> Iterator[Formula]:
    for operand in operands:
        if isinstance(operand, All | Some) and type(operand) is kind:
            yield from operand.operands
        else:
            yield operand


def _merge(kind: type[All] | type[Some], sets: list[CodeSet], size: int) -> CodeSet:
    """Union or intersection of many sets, by one sort."""
    if len(sets) == 1:
        return sets[0]
    if kind is Some:
        return code_set(chain.from_iterable(sets))
    outside = chain.from_iterable(complement(chosen, size) for chosen in sets)
    return complement(code_set(outside), size)


def _fuse(kind: type[All] | type[Some], texts: list[str]) -> list[Formula]:
    different = list(dict.fromkeys(texts))
    if len(different) < 2:
        return [Holds(text) for text in different]
    word = " AND " if kind is All else " OR "
    return [Holds(word.join(f"({text})" for text in different))]


def _within(dimension: int, codes: CodeSet, sizes: Sequence[int]) -> Formula:
    if not codes:
        return False
    return True if codes == ((0, sizes[dimension]),) else Within(dimension, codes)


def _codes(atom: Atom, dimension: Dimension, wanted: bool) -> CodeSet:
    """The codes where an atom is TRUE (wanted) or FALSE (not wanted)."""
    if isinstance(atom, NullTest):
        return domains.null_codes(dimension) if wanted else domains.present_codes(dimension)
    if isinstance(atom, Comparison):
        if atom.literal is None:
            return NOTHING
        true = domains.matching(dimension.domain, atom.op, atom.literal)
    else:
        true = _codes_in_list(atom, dimension)
        if not wanted and None in atom.literals:
            return NOTHING
    return true if wanted else complement(true, dimension.domain.size)


def _codes_in_list(atom: Membership, dimension: Dimension) -> CodeSet:
    values = dict.fromkeys((type(value), value) for value in atom.literals if value is not None)
    return code_set(
        chain.from_iterable(domains.matching(dimension.domain, "=", value) for _, value in values)
    )
