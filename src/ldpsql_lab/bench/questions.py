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
from pathlib import Path

import numpy as np

from ldpsql.errors import QueryError, UnsupportedSQL, pluralize
from ldpsql.parser import parse
from ldpsql.parser.outer import Askable
from ldpsql.parser.query import GroupKey, Measurement, Query
from ldpsql.parser.source import is_blank, split_statements
from ldpsql.planner.plan import rows
from ldpsql.planner.where import slices
from ldpsql.sql.aggregates import aggregates
from ldpsql.sql.quoting import literal, quote
from ldpsql_device.description import Edges
from ldpsql_device.errors import SurveyError
from ldpsql_device.schema import Dimension, Schema
from ldpsql_device.values import Listed, Ordered

KINDS = ("ranges", "prefixes", "points", "groups")
_MOST_GROUPS = 2_000
_LONGEST = 1 << 22
"""Letters of a file of questions."""
_AGGREGATES = ("count", "sum", "avg")


@dataclass(frozen=True)
class Question:
    """A SELECT of aggregates over the survey's table, with or without GROUP BY.

    workload: what it is an example of, in words.  outputs: its columns, all keys among them.
    """

    workload: str
    sql: str
    query: Query
    outputs: tuple[GroupKey | Measurement, ...]

    @property
    def aggregates(self) -> list[Measurement]:
        """Those of the outputs that are no keys."""
        return [output for output in self.outputs if isinstance(output, Measurement)]


def question(sql: str, survey: Askable, workload: str) -> Question:
    """Read one question; QueryError or UnsupportedSQL, with its place, for what cannot be compared.

    HAVING, ORDER BY, LIMIT and outer queries choose rows by what they hold, which differs between
    the truth and the estimates, and so do error bars: they are refused.
    """

    def resolve(name: str) -> Askable:
        if name.lower() != survey.table.lower():
            raise QueryError(
                f"there is no survey {name!r} here",
                hint=f"it is called {survey.table}: FROM {survey.table}",
            )
        return survey

    statement = parse(sql, None, resolve)
    if statement.mode != "answer" or statement.projection is None or len(statement.bases) != 1:
        raise UnsupportedSQL(
            "a comparison needs one SELECT of keys and aggregates",
            sql=sql,
            hint="leave out EXPLAIN, HAVING, ORDER BY, LIMIT, DISTINCT and outer queries",
        )
    (query,) = statement.bases
    columns: dict[str, GroupKey | Measurement] = {key.name: key for key in query.keys}
    columns |= {column.name: column for column in query.columns}
    shown = statement.projection[: len(statement.outputs)]
    outputs = tuple(columns[column] for column, _ in shown)
    if any(isinstance(output, Measurement) and output.what != "value" for output in outputs):
        raise UnsupportedSQL(
            "error bars are compared anyway", sql=sql, hint="select the aggregates alone"
        )
    asked = [leaf for c in query.columns for leaf in aggregates(c.expression)]
    if any(leaf.over is not None for leaf in asked):
        hint = "compare the aggregates alone"
        raise UnsupportedSQL("totals of several rows are not compared", sql=sql, hint=hint)
    if not set(query.keys) <= set(outputs):
        raise UnsupportedSQL(
            "rows are compared by their keys", sql=sql, hint="select every GROUP BY key"
        )
    slices(query.predicate, survey.schema, sql)
    rows(query, survey.schema, sql)
    return Question(workload, sql, query, outputs)


def read_questions(path: Path, survey: Askable) -> tuple[Question, ...]:
    """Questions of one's own, from a file of SQL. Errors name the line in the file."""
    questions, line = [], 1
    with path.open(encoding="utf-8-sig", errors="surrogateescape") as file:
        text = file.read(_LONGEST + 1)
    if len(text) > _LONGEST:
        raise SurveyError(f"{path} has more than {_LONGEST:,} letters; keep the questions you need")
    for part in split_statements(text):
        start = line + part[: len(part) - len(part.lstrip())].count("\n")
        line += part.count("\n")
        if is_blank(part):
            continue
        try:
            questions.append(question(part.strip(), survey, path.name))
        except (QueryError, UnsupportedSQL) as error:
            place = start + (error.place.line - 1 if error.place else 0)
            reason = f"{path.name}, line {place}: {error.reason}"
            raise type(error)(reason, sql=error.sql, place=error.place, hint=error.hint) from None
    if not questions:
        raise QueryError(f"{path.name} holds no SQL")
    return tuple(questions)


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

    def questions(self, survey: Askable) -> tuple[Question, ...]:
        """Deterministic for a seed. SurveyError where the survey has nothing to ask so."""
        questions = [
            question(text, survey, words)
            for kind in self.kinds
            for number in self.predicates
            for words, text in self._texts(kind, number, survey)
        ]
        if not questions:
            raise SurveyError(next(self.not_asked(survey), "there is nothing to ask"))
        return tuple(questions)

    def not_asked(self, survey: Askable) -> Iterator[str]:
        """The wanted questions that cannot be asked, in words."""
        usable = _usable(survey)
        for number in self.predicates:
            if number > len(usable):
                known = pluralize(len(usable), "dimension")
                yield f"{survey.table} has {known} to ask about, too few for {number} predicates"
            elif "groups" in self.kinds:
                for members in combinations(usable, number):
                    if not _has_few_groups(members):
                        names = ", ".join(member.name for member in members)
                        yield f"no GROUP BY {names}: it has more than {_MOST_GROUPS:,} rows"

    def _texts(self, kind: str, number: int, survey: Askable) -> Iterator[tuple[str, str]]:
        """(workload, SQL) pairs; none where there are too few dimensions."""
        usable, table = _usable(survey), quote(survey.table)
        chosen = ", ".join(self._select(survey.schema))
        if kind == "groups":
            for members in filter(_has_few_groups, combinations(usable, number)):
                keys = ", ".join(quote(member.name) for member in members)
                words = f"GROUP BY, {pluralize(number, 'key')}"
                yield words, f"SELECT {keys}, {chosen} FROM {table} GROUP BY {keys}"
        elif number <= len(usable):
            random = np.random.default_rng([self.seed, KINDS.index(kind), number])
            extent = f" of {100 * self.volume:g} %" if kind == "ranges" else ""
            words = f"{kind}{extent}, {pluralize(number, 'predicate')}"
            for _ in range(self.count):
                drawn = sorted(random.choice(len(usable), number, replace=False).tolist())
                where = " AND ".join(self._condition(kind, usable[i], random) for i in drawn)
                yield words, f"SELECT {chosen} FROM {table} WHERE {where}"

    def _select(self, schema: Schema) -> list[str]:
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
        name, domain, size = quote(dimension.name), dimension.domain, dimension.domain.size
        width = max(1, round(self.volume * size)) if kind == "ranges" else 1
        if kind == "prefixes":
            low, high = 0, int(random.integers(1, size))
        else:
            low = int(random.integers(0, size - width + 1))
            high = low + width
        if isinstance(domain, Listed):
            codes: Sequence[int] = range(low, high)
            if kind == "ranges":
                codes = sorted(random.choice(size, width, replace=False).tolist())
            values = [literal(domain.values[code]) for code in codes]
            return f"{name} IN ({', '.join(values)})" if len(codes) > 1 else f"{name} = {values[0]}"
        assert isinstance(domain, Ordered)
        parts = []  # the codes low..high-1 by their edges; nobody lies outside of the domain
        if low > 0 or high == size:
            parts.append(f"{name} >= {literal(Edges(domain)[low])}")
        if high < size:
            parts.append(f"{name} < {literal(Edges(domain)[high])}")
        return " AND ".join(parts)


def _usable(survey: Askable) -> list[Dimension]:
    return [d for d in survey.schema.dimensions if d.domain.size > 1]


def _has_few_groups(members: Sequence[Dimension]) -> bool:
    return prod(member.domain.size for member in members) <= _MOST_GROUPS
