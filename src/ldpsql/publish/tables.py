"""Which tables are published: those of one and two columns of every survey, and queries of a file.

An estimate stands in a column of doubles, with `<name>_stderr`, `<name>_low` and `<name>_high`
behind it. Every table and column has a comment.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import combinations
from math import prod
from pathlib import Path

import pyarrow as pa

from ldpsql.engine.result import Result, make_distinct
from ldpsql.engine.session import Session
from ldpsql.errors import Located, QueryError, pluralize
from ldpsql.parser.source import is_blank, split_statements
from ldpsql.remote import RemoteSession
from ldpsql.sql import quote
from ldpsql.survey import Survey
from ldpsql_device.describe import describe_extent
from ldpsql_device.errors import Error, NotSupportedError, OperationalError, ProgrammingError
from ldpsql_device.frozen import frozen

INDEX = "ldpsql_published"
"""The table that lists the others; no table of answers has its name."""
LONGEST_NAME = 63
"""Bytes of a name that every database takes: PostgreSQL's limit."""
MOST_ROWS = 100_000
"""Rows of a table of two columns; larger ones are left out, with a note."""
_ATTEMPTS = 5
_NAMED = re.compile(r"[a-z_][a-z0-9_]{0,62}")
_NAME_LINE = re.compile(r"^[ \t]*--[ \t]*name[ \t]*:[ \t]*(.*?)[ \t]*\r?$", re.MULTILINE)
_ERRORS = {
    "stderr": "standard error of {}",
    "low": "lower end of the {} interval of {}",
    "high": "upper end of the {} interval of {}",
    "typical": "typical error of {}, which is post-processed",
}
_ADVICE = "Error bars are those of single rows; sums over rows have none: ask ldpsql for them."


@frozen
class Asked:
    """A table that is asked for. what: it holds, in words.  is_needed: whether one that cannot be
    answered is an error, or left out with a note.  where: its SQL stands, for errors."""

    name: str
    sql: str
    what: str
    is_needed: bool = False
    where: str = ""


@frozen
class AnswerTable:
    """A table of answers: its rows under distinct names, and comments on it and on every column.

    sql: what was asked.  surveys: names and fingerprints.  reports: how many answer.
    """

    name: str
    rows: pa.Table
    comment: str
    comments: tuple[str, ...]
    sql: str
    surveys: tuple[tuple[str, str], ...]
    reports: int

    @cached_property
    def digest(self) -> str:
        """SHA-256 of everything that is published of it."""
        said = [self.name, self.comment, *self.comments, self.sql, str(self.rows.schema)]
        digest = hashlib.sha256("\0".join(said).encode())
        for batch in self.rows.combine_chunks().to_batches():
            digest.update(batch.serialize().to_pybytes())
        return digest.hexdigest()

    def index_row(self) -> dict[str, str | int]:
        """What `INDEX` says of it."""
        return {
            "table_name": self.name,
            "survey": ", ".join(name for name, _ in self.surveys),
            "fingerprint": ", ".join(fingerprint for _, fingerprint in self.surveys),
            "reports": self.reports,
            "sql": self.sql,
            "digest": self.digest,
        }


@frozen
class PublishedTables:
    """What is to be written, and what was left out and why, in words."""

    tables: tuple[AnswerTable, ...]
    notes: tuple[str, ...] = ()


@dataclass
class _Names:
    """Names of tables, each once, none longer than databases take."""

    taken: set[str] = field(default_factory=lambda: {INDEX})

    def take(self, name: str) -> str:
        """The name, or one like it that is free."""
        if len(name) > LONGEST_NAME or name in self.taken:
            name = _shorten(name, LONGEST_NAME)
        if name in self.taken:
            raise ProgrammingError(f"two tables would be called {name}; rename the query")
        self.taken.add(name)
        return name


def read_queries(path: Path) -> list[Asked]:
    """Queries of a file: each behind a line `-- name: revenue_by_region`, which names its table.

    QueryError, with the place in the file, for anything else.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        raise QueryError(f"{path.name} is not UTF-8") from None
    marks = list(_NAME_LINE.finditer(text))
    ends = [mark.start() for mark in marks]
    if not is_blank(text[: ends[0] if ends else None]):
        raise QueryError(
            f"{path.name} has SQL without a name", hint="write -- name: TABLE above each query"
        )
    if not marks:
        raise QueryError(f"{path.name} holds no query", hint="write -- name: TABLE above each")
    asked: list[Asked] = []
    for mark, end in zip(marks, [*ends[1:], len(text)], strict=True):
        name, line = mark[1], text.count("\n", 0, mark.start()) + 1
        where = f"{path.name}, line {line}"
        if not _NAMED.fullmatch(name):
            raise QueryError(
                f"{where}: {name!a:.60} is not the name of a table",
                hint="write at most 63 of a-z, 0-9 and _, no digit first",
            )
        if name == INDEX or any(name == other.name for other in asked):
            raise QueryError(f"{where}: there is another table {name}; give another name")
        statements = [s for s in split_statements(text[mark.end() : end]) if not is_blank(s)]
        if len(statements) != 1:
            raise QueryError(
                f"{where}: {name} has {pluralize(len(statements), 'statement')}, not one"
            )
        asked.append(Asked(name, statements[0].strip(), f"query {name}", True, where))
    return asked


def answer_tables(
    session: Session | RemoteSession,
    surveys: Sequence[Survey],
    queries: Sequence[Asked] = (),
    *,
    ways: int = 2,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> PublishedTables:
    """Ask for everything that is published, all of it of one state of the reports.

    ways: up to how many columns a table is about.  progress: called with how many tables are
    answered and how many there are. Errors as of `Session.execute`, for `queries`; what a survey
    cannot answer otherwise is left out with a note. OperationalError where reports come in faster
    than tables are answered.
    """
    for _ in range(_ATTEMPTS):
        published = _answer_once(session, surveys, queries, ways, progress)
        seen: dict[tuple[tuple[str, str], ...], set[int]] = {}
        for table in published.tables:
            seen.setdefault(table.surveys, set()).add(table.reports)
        if all(len(counts) == 1 for counts in seen.values()):
            return published
    raise OperationalError(
        "new reports arrived while the tables were computed, so these would not agree; ask for "
        "fewer tables (--ways 1, --table), or when fewer reports arrive"
    )


def _answer_once(
    session: Session | RemoteSession,
    surveys: Sequence[Survey],
    queries: Sequence[Asked],
    ways: int,
    progress: Callable[[int, int], None],
) -> PublishedTables:
    names = _Names({INDEX, *(query.name for query in queries)})
    tables: list[AnswerTable] = []
    notes: list[str] = []
    done, total = 0, len(queries) + sum(_count_tables(survey, ways) for survey in surveys)

    def answer(asked: Asked, comments: Mapping[str, str]) -> AnswerTable | None:
        nonlocal done
        done += 1
        try:
            made = make_table(asked, _execute(session, asked.sql, notes), comments)
        except (ProgrammingError, NotSupportedError) as error:
            if asked.is_needed:
                raise _placed(error, asked.where) from None
            notes.append(f"no table of {asked.what}: {error}")
            return None
        progress(done, total)
        if not asked.is_needed and _tells_nothing(made.rows):
            notes.append(f"no table of {asked.what}: the reports do not determine its numbers")
            return None
        tables.append(made)
        return made

    for survey in surveys:
        comments, sizes = column_comments(survey), dict[str, int]()
        for number in range(ways + 1):
            for columns in combinations(_keys(survey), number):
                asked = _table_of(survey, columns, names)
                rows = prod(sizes.get(column, 0) for column in columns) if number > 1 else 0
                if rows > MOST_ROWS:
                    notes.append(f"no table of {asked.what}: it has up to {rows:,} rows")
                    continue
                made = answer(asked, comments)
                if number == 1 and made is not None:
                    sizes[columns[0]] = made.rows.num_rows
    for query in queries:
        answer(query, {})
    return PublishedTables(tuple(tables), tuple(notes))


def _execute(session: Session | RemoteSession, sql: str, notes: list[str]) -> Result:
    """The answer; that another program is writing is no property of its table, and noted once."""
    result = session.execute(sql)
    lag = session.store.lag() if isinstance(session, Session) else None
    if lag is not None and lag not in notes:
        notes.append(lag)
    return replace(result, notes=tuple(note for note in result.notes if note != lag))


def make_table(asked: Asked, result: Result, comments: Mapping[str, str]) -> AnswerTable:
    """A result as a table. comments: on columns, by name. NotSupportedError for what has none."""
    if result.explain is not None:
        raise NotSupportedError("a plan is not a table; leave EXPLAIN out")
    level = f"{100 * result.level:g} %"
    columns: list[tuple[str, pa.ChunkedArray | pa.Array, str]] = []
    for index, column in enumerate(result.columns):
        values = result.table.column(index)
        if index not in result.intervals:
            columns.append((column.name, values, comments.get(column.name, "")))
            continue
        bars = result.intervals[index]
        comment = comments.get(column.name, f"estimate of {column.name}")
        columns.append((column.name, values.cast(pa.float64()), comment))
        errors = {"stderr": bars.stderr, "low": bars.low, "high": bars.high}
        if index in result.typical:
            errors["typical"] = result.typical[index]
        for suffix, numbers in errors.items():
            words = (column.name,) if suffix in ("stderr", "typical") else (level, column.name)
            array = pa.array(numbers, pa.float64(), from_pandas=True)
            columns.append((f"{column.name}_{suffix}", array, _ERRORS[suffix].format(*words)))
    names = make_distinct([name for name, _, _ in columns])
    for name in names:
        if not name or len(name.encode()) > LONGEST_NAME or not name.isprintable():
            raise NotSupportedError(
                f"{asked.name}: a column called {name!a:.70} is empty, unprintable or longer than "
                f"{LONGEST_NAME} bytes; give it another name: AS ..."
            )
    surveys = tuple((survey.table, survey.fingerprint) for survey in result.surveys)
    return AnswerTable(
        asked.name,
        pa.table([values for _, values, _ in columns], names).combine_chunks(),
        _comment(asked, result),
        tuple(comment for _, _, comment in columns),
        asked.sql,
        surveys,
        result.reports,
    )


def column_comments(survey: Survey) -> dict[str, str]:
    """What a column of a survey is, by the names that it has in tables of one and two columns."""
    schema = survey.schema
    said = {
        dimension.name: _join(dimension.label, f"declared: {describe_extent(dimension.domain)}")
        for dimension in schema.dimensions
    }
    said |= {column.name: _join(column.label, "public") for column in schema.public}
    people, sums = _people_name(survey), _measure_names(survey)
    said[people] = "estimated number of people"
    for measure in schema.measures:
        low, high = measure.bounds
        about = _join(measure.label or measure.name, f"bounds [{low:g}, {high:g}]")
        said[sums[measure.name][0]] = f"estimated sum: {about}"
        said[sums[measure.name][1]] = f"estimated average: {about}"
    return said


def _comment(asked: Asked, result: Result) -> str:
    promises = zip(result.surveys, result.promised, strict=True)
    whose = "; ".join(f"survey {s.table} ({s.fingerprint[:12]}), {g}" for s, g in promises)
    reports = f"{pluralize(result.reports, 'randomized report')} of {whose}" if whose else ""
    estimates = f"Estimates from {reports}." if reports else ""
    notes = [f"Note: {note}." for note in result.notes]
    advice = _ADVICE if result.intervals else ""
    return _join(f"{asked.what[0].upper()}{asked.what[1:]}.", estimates, advice, *notes, by=" ")


def _join(*parts: str | None, by: str = "; ") -> str:
    return by.join(part for part in parts if part)


def _keys(survey: Survey) -> list[str]:
    """The columns by which people can be grouped."""
    schema = survey.schema
    dimensions = [d.name for d in schema.dimensions if d.domain.size > 1]
    return [*dimensions, *(column.name for column in schema.public)]


def _count_tables(survey: Survey, ways: int) -> int:
    keys = len(_keys(survey))
    return sum(len(list(combinations(range(keys), number))) for number in range(ways + 1))


def _table_of(survey: Survey, columns: Sequence[str], names: _Names) -> Asked:
    """The question of one table; it holds everybody where there are no columns."""
    name = names.take("_by_".join([survey.table, *["_and_".join(columns)][: len(columns)]]))
    what = f"{survey.table} by {' and '.join(columns)}" if columns else f"all of {survey.table}"
    keys, people = ", ".join(map(quote, columns)), quote(_people_name(survey))
    chosen = [*map(quote, columns), f"COUNT(*) AS {people}"]
    for measure, (total, average) in _measure_names(survey).items():
        chosen.append(f"SUM({quote(measure)}) AS {quote(total)}")
        chosen.append(f"AVG({quote(measure)}) AS {quote(average)}")
    grouped = f" GROUP BY {keys} ORDER BY {keys}" if columns else ""
    return Asked(name, f"SELECT {', '.join(chosen)} FROM {quote(survey.table)}{grouped}", what)


def _people_name(survey: Survey) -> str:
    return _free("people", survey)


def _measure_names(survey: Survey) -> dict[str, tuple[str, str]]:
    """Of every measure, the columns of its sums and averages."""
    return {
        measure.name: (_free(f"{measure.name}_sum", survey), _free(f"{measure.name}_avg", survey))
        for measure in survey.schema.measures
    }


def _free(name: str, survey: Survey) -> str:
    """A name that no column has, with room for the ending of an error's column."""
    longest = LONGEST_NAME - len("_typical_2")
    if len(name) > longest:
        name = _shorten(name, longest)
    columns = {column.name for column in survey.schema.attributes}
    while name in columns:
        name += "_"
    return name


def _shorten(name: str, longest: int) -> str:
    """A name of at most so many letters that no other long name becomes."""
    return f"{name[: longest - 9]}_{hashlib.sha256(name.encode()).hexdigest()[:8]}"


def _tells_nothing(rows: pa.Table) -> bool:
    """Whether all numbers are NULL, with an error bar or without."""
    numbers = [
        name.removesuffix("_stderr") for name in rows.column_names if name.endswith("_stderr")
    ]
    return rows.num_rows > 0 and all(
        rows.column(name).null_count == rows.num_rows for name in numbers
    )


def _placed(error: Error, where: str) -> Error:
    """The same error, which names the file and the line."""
    if isinstance(error, Located):
        return type(error)(
            f"{where}: {error.reason}", sql=error.sql, place=error.place, hint=error.hint
        )
    return type(error)(f"{where}: {error}")


def index_table(tables: Sequence[AnswerTable]) -> pa.Table:
    """`INDEX` as a table."""
    kinds = {"reports": pa.int64()}
    names = ("table_name", "survey", "fingerprint", "reports", "sql", "digest")
    schema = pa.schema([(name, kinds.get(name, pa.string())) for name in names])
    return pa.Table.from_pylist([table.index_row() for table in tables], schema)
