"""The questions of a comparison: workloads made up, or SQL of one's own.

ranges     windows of a share of each dimension's codes, at random places
prefixes   everything up to a random code
points     one random code
groups     GROUP BY, every dimension, or every pair of them
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import prod

import numpy as np

from ldpsql.aggregates import label
from ldpsql.engine.rewrite.boxes import rows, slices
from ldpsql.errors import Located, QueryError, UnsupportedSQL
from ldpsql.parser import parse
from ldpsql.parser.query import Measurement, Query
from ldpsql.sql import literal, quote
from ldpsql_device.errors import SurveyError
from ldpsql_device.schema import Dimension, Schema
from ldpsql_device.types import Value
from ldpsql_device.values import Listed, Ordered

KINDS = ("ranges", "prefixes", "points", "groups")
MOST_GROUPS = 2_000
_AGGREGATES = ("count", "sum", "avg")


@dataclass(frozen=True)
class Draft:
    """A survey that can be asked before there is a design."""

    table: str
    schema: Schema


@dataclass(frozen=True)
class Question:
    """A SELECT of aggregates over the survey's table, with or without GROUP BY.

    workload: what it is an example of, in words.  columns: for each output, whether it is a key
    (an index into the query's keys) or an aggregate (an index into `aggregates`).
    """

    workload: str
    sql: str
    query: Query
    columns: tuple[tuple[str, int], ...]
    aggregates: tuple[Measurement, ...]

    @property
    def labels(self) -> tuple[str, ...]:
        """The aggregates in words, each once."""
        return tuple(label(column.expression) for column in self.aggregates)


def question(sql: str, draft: Draft, workload: str) -> Question:
    """Read one question; QueryError or UnsupportedSQL, with its place, for what cannot be compared.

    HAVING, ORDER BY, LIMIT and outer queries choose rows by what they hold, which differs between
    the truth and the estimates, and so do error bars: they are refused.
    """
    statement = parse(sql, None, lambda name: _named(name, draft))
    plain = statement.mode == "answer" and statement.projection is not None
    if not plain or len(statement.bases) != 1:
        raise UnsupportedSQL(
            "a comparison needs one SELECT of keys and aggregates",
            sql=sql,
            hint="leave out EXPLAIN, HAVING, ORDER BY, LIMIT, DISTINCT and outer queries",
        )
    (query,) = statement.bases
    places: dict[str, tuple[str, int]] = {key.name: ("key", i) for i, key in enumerate(query.keys)}
    wanted = [column for column in query.columns if column.what == "value"]
    places.update({column.name: ("aggregate", i) for i, column in enumerate(wanted)})
    assert statement.projection is not None
    shown_columns = [column for column, _ in statement.projection[: len(statement.outputs)]]
    chosen = tuple(places.get(column, ("bar", 0)) for column in shown_columns)
    if any(kind == "bar" for kind, _ in chosen):
        raise UnsupportedSQL(
            "error bars are compared anyway", sql=sql, hint="select the aggregates alone"
        )
    shown = {index for kind, index in chosen if kind == "key"}
    if len(shown) != len(query.keys):
        raise UnsupportedSQL(
            "rows are compared by their keys", sql=sql, hint="select every GROUP BY key"
        )
    slices(query.predicate, draft.schema, sql)
    rows(query.keys, draft.schema, sql)
    return Question(workload, sql, query, chosen, tuple(wanted))


def from_texts(texts: Sequence[tuple[int, str]], name: str, draft: Draft) -> tuple[Question, ...]:
    """Questions of one's own: (line number, SQL) pairs of the file `name`.

    Errors name the line in the file.
    """
    questions = []
    for line, sql in texts:
        try:
            questions.append(question(sql, draft, name))
        except (QueryError, UnsupportedSQL) as error:
            raise _in_file(error, name, line) from None
    if not questions:
        raise QueryError(f"{name} holds no SQL")
    return tuple(questions)


def _in_file(error: Located, name: str, line: int) -> Located:
    place = line + (error.place.line - 1 if error.place else 0)
    return type(error)(
        f"{name}, line {place}: {error.reason}", sql=error.sql, place=error.place, hint=error.hint
    )


@dataclass(frozen=True)
class Wanted:
    """Which questions to make up.

    kinds: of KINDS.  predicates: how many dimensions a question constrains, or groups by.
    volume: the share of a dimension's codes that a range holds.  count: questions of each kind and
    number of predicates (GROUP BYs: all there are).  aggregates: of count, sum, avg.
    """

    kinds: tuple[str, ...] = ("ranges",)
    predicates: tuple[int, ...] = (1, 2)
    volume: float = 0.15
    count: int = 50
    aggregates: tuple[str, ...] = _AGGREGATES
    seed: int = 0

    def __post_init__(self) -> None:
        unknown = (set(self.kinds) - set(KINDS)) | (set(self.aggregates) - set(_AGGREGATES))
        if unknown:
            raise SurveyError(f"there is no workload and no aggregate called {min(unknown)!r}")

    def questions(self, draft: Draft) -> tuple[Question, ...]:
        """Deterministic for a seed. SurveyError where the survey has nothing to ask so."""
        usable = _usable(draft)
        questions = [
            question(text, draft, words)
            for kind in self.kinds
            for number in self.predicates
            if number <= len(usable)
            for words, text in self._texts(kind, number, usable, draft)
        ]
        if not questions:
            raise SurveyError(next(self.not_asked(draft), "there is nothing to ask"))
        return tuple(questions)

    def not_asked(self, draft: Draft) -> Iterator[str]:
        """What was wanted and cannot be asked, in words."""
        usable = _usable(draft)
        for number in self.predicates:
            if number > len(usable):
                yield (
                    f"{draft.table} has {len(usable)} dimension(s) to ask about, too few for "
                    f"{number} predicates"
                )
            elif "groups" in self.kinds:
                for members in combinations(usable, number):
                    if not _has_few_groups(members):
                        names = ", ".join(member.name for member in members)
                        yield f"no GROUP BY {names}: it has more than {MOST_GROUPS:,} rows"

    def _texts(
        self, kind: str, number: int, usable: Sequence[Dimension], draft: Draft
    ) -> Iterator[tuple[str, str]]:
        """(workload, SQL) pairs."""
        chosen = ", ".join(self._selected(draft.schema))
        plural = "" if number == 1 else "s"
        if kind == "groups":
            for members in combinations(usable, number):
                if _has_few_groups(members):
                    keys = ", ".join(quote(member.name) for member in members)
                    yield (
                        f"GROUP BY, {number} key{plural}",
                        f"SELECT {keys}, {chosen} FROM {quote(draft.table)} GROUP BY {keys}",
                    )
            return
        random = np.random.default_rng([self.seed, KINDS.index(kind), number])
        extent = f" of {100 * self.volume:g} %" if kind == "ranges" else ""
        words = f"{kind}{extent}, {number} predicate{plural}"
        for _ in range(self.count):
            drawn = [
                usable[i]
                for i in sorted(random.choice(len(usable), number, replace=False).tolist())
            ]
            where = " AND ".join(self._condition(kind, member, random) for member in drawn)
            yield words, f"SELECT {chosen} FROM {quote(draft.table)} WHERE {where}"

    def _selected(self, schema: Schema) -> list[str]:
        names = [quote(measure.name) for measure in schema.measures]
        names += [quote(column.name) for column in schema.public if column.is_numeric]
        chosen = ["COUNT(*)"] if "count" in self.aggregates else []
        for function in ("sum", "avg"):
            if function in self.aggregates:
                chosen += [f"{function.upper()}({name})" for name in names]
        if not chosen:
            raise SurveyError("there is nothing to sum: the survey has no measure")
        return chosen

    def _condition(self, kind: str, dimension: Dimension, random: np.random.Generator) -> str:
        size = dimension.domain.size
        width = {"points": 1, "ranges": max(1, round(self.volume * size))}.get(kind, 0)
        if kind == "prefixes":
            low, high = 0, int(random.integers(1, size))
        else:
            low = int(random.integers(0, size - width + 1))
            high = low + width
        name, domain = quote(dimension.name), dimension.domain
        if isinstance(domain, Listed):
            codes = range(low, high)
            if kind == "ranges":
                codes_chosen = sorted(random.choice(size, width, replace=False).tolist())
                return _listed(name, [domain.values[code] for code in codes_chosen])
            return _listed(name, [domain.values[code] for code in codes])
        assert isinstance(domain, Ordered)
        return _between(name, domain, low, high)


def _usable(draft: Draft) -> list[Dimension]:
    return [d for d in draft.schema.dimensions if d.domain.size > 1]


def _has_few_groups(members: Sequence[Dimension]) -> bool:
    return prod(member.domain.size for member in members) <= MOST_GROUPS


def _named(name: str, draft: Draft) -> Draft:
    if name.lower() != draft.table.lower():
        raise QueryError(
            f"there is no survey {name!r} here",
            hint=f"it is called {draft.table}: FROM {draft.table}",
        )
    return draft


def _listed(name: str, values: Sequence[Value]) -> str:
    if len(values) == 1:
        return f"{name} = {literal(values[0])}"
    return f"{name} IN ({', '.join(literal(value) for value in values)})"


def _between(name: str, domain: Ordered, low: int, high: int) -> str:
    """The codes low..high-1 by their edges; nobody lies outside of the domain."""
    parts = []
    if low > 0 or high == domain.size:
        parts.append(f"{name} >= {literal(domain.edges[low])}")
    if high < domain.size:
        parts.append(f"{name} < {literal(domain.edges[high])}")
    return " AND ".join(parts)
