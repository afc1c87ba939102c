"""Statements with very many of everything that SQL repeats or nests, and parameters of any size.

Each part is there in two sizes: as often as asked for, which is longer than any text may be, and as
often as fits into one that is read whole.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from typing import Any

from ldpsql.parser.source import MAX_LENGTH

MANY = 100_000
_COUNT = "SELECT COUNT(*) FROM shoppers"
_KEYED = "SELECT state, COUNT(*) AS n FROM shoppers GROUP BY state"
_OVER = f"WITH t AS ({_KEYED}) SELECT"


@dataclass(frozen=True)
class Repeated:
    """head + separator.join(part of each number) + tail. {i} in a part is its number, {j} the next
    one."""

    head: str
    part: str
    separator: str = ", "
    tail: str = ""

    def times(self, count: int) -> str:
        """The text with so many parts."""
        return self.head + self.separator.join(map(self._number, range(count))) + self.tail

    def _number(self, i: int) -> str:
        """The part of a number."""
        return self.part.replace("{i}", str(i)).replace("{j}", str(i + 1))

    @property
    def most(self) -> int:
        """How many parts a text has that is as long as it may be."""
        own = (len(self.separator) + len(self._number(i)) for i in itertools.count())
        around = len(self.head) - len(self.separator) + len(self.tail)
        lengths = enumerate(itertools.accumulate(own, initial=around))
        return next(count for count, length in lengths if length > MAX_LENGTH) - 1


def _where(part: str, separator: str = " AND ", tail: str = "") -> Repeated:
    return Repeated(f"{_COUNT} WHERE ", part, separator, tail)


def _over(part: str, separator: str = ", ", tail: str = " FROM t") -> Repeated:
    return Repeated(f"{_OVER} ", part, separator, tail)


REPEATED: Mapping[str, Repeated] = {
    # tokens
    "commas": Repeated("SELECT ", "", ","),
    "semicolons": Repeated(_COUNT, "", ";"),
    "semicolons before": Repeated("", "", ";", _COUNT),
    "semicolons behind EXPLAIN": Repeated("EXPLAIN ", "", ";", _COUNT),
    "statements": Repeated("", _COUNT, ";"),
    "line comments": Repeated("", "--x\n", "", _COUNT),
    "block comments": Repeated("", "/**/", "", _COUNT),
    "comments in one": Repeated("", "/*", "", _COUNT),
    "comments behind EXPLAIN": Repeated("EXPLAIN ", "/**/", "", _COUNT),
    "blanks behind EXPLAIN": Repeated("EXPLAIN", " ", "", _COUNT),
    "comments in expressions": Repeated("SELECT COUNT(*)", "/**/+1", "", " FROM shoppers"),
    "dots": Repeated("SELECT ", "a", "."),
    "stars": Repeated("SELECT ", "*", " "),
    "words": Repeated("SELECT ", "a", " "),
    "lines": Repeated("SELECT COUNT(*)", "\n", "", "FROM shoppers WHERE"),
    "letters of a name": Repeated("SELECT COUNT(*) AS ", "a", "", " FROM shoppers"),
    "letters of a quoted name": Repeated('SELECT COUNT(*) AS "', "a", "", '" FROM shoppers'),
    "letters of an unknown column": Repeated("SELECT AVG(", "a", "", ") FROM shoppers"),
    "letters of an unknown survey": Repeated("SELECT COUNT(*) FROM ", "a", ""),
    "letters of an unknown function": Repeated("SELECT ", "f", "", "(age) FROM shoppers"),
    "letters of a text": Repeated(f"{_COUNT} WHERE state = '", "a", "", "'"),
    "quotes in a text": Repeated(f"{_COUNT} WHERE state = '", "''", "", "'"),
    "quotes left open": Repeated(f"{_COUNT} WHERE state = '", "''", ""),
    "texts left open": Repeated("", "'a' ", "", "'"),
    "escapes": Repeated(f"{_COUNT} WHERE state = E'", "\\n", "", "'"),
    "dollars": Repeated(f"{_COUNT} WHERE state = ", "$$", ""),
    "digits": Repeated(f"{_COUNT} WHERE age = ", "9", ""),
    "digits behind the point": Repeated(f"{_COUNT} WHERE age = 0.", "9", ""),
    "digits of an exponent": Repeated(f"{_COUNT} WHERE age = 1e", "9", ""),
    "digits of LIMIT": Repeated(f"{_KEYED} LIMIT ", "9", ""),
    "digits of other scripts": Repeated(f"{_COUNT} WHERE age = ", "\u0665", ""),
    "underscores of a number": Repeated(f"{_COUNT} WHERE age = 1", "_1", ""),
    "texts side by side": Repeated(f"{_COUNT} WHERE state = ", "'a'", " "),
    # nesting
    "parentheses": Repeated(f"{_COUNT} WHERE ", "(", "", "age > 5"),
    "closed parentheses": Repeated(f"{_COUNT} WHERE age > 5", ")", ""),
    "brackets": Repeated("SELECT ", "[", ""),
    "braces": Repeated("SELECT ", "{'a': ", ""),
    "subqueries inside": Repeated("", "SELECT COUNT(*) FROM (", ""),
    "parentheses beside": _where("(age>5)"),
    "minus signs": Repeated(f"{_COUNT} WHERE age = ", "-", " ", "5"),
    "NOT": Repeated(f"{_COUNT} WHERE ", "NOT", " ", " age > 5"),
    "CASE inside": Repeated("SELECT ", "CASE WHEN ", ""),
    "calls inside": Repeated("SELECT ", "ABS(", ""),
    "casts": Repeated("SELECT COUNT(*)", "::DOUBLE", "", " FROM shoppers"),
    "casts of a column": Repeated(f"{_COUNT} WHERE age", "::INT", "", " > 5"),
    "indexes": Repeated("SELECT state", "[1]", "", " FROM shoppers"),
    # WHERE
    "AND": _where("age>5"),
    "OR": _where("age>5", " OR "),
    "AND of other columns": _where("(state='CA' OR age>{i})"),
    "AND and OR": _where("age>5 AND member OR ", "", "member"),
    "OR of different ages": _where("age={i}", " OR "),
    "XOR": _where("(age>5)", "<>"),
    "IN": Repeated(f"{_COUNT} WHERE age IN (", "{i}", ",", ")"),
    "IN of texts": Repeated(f"{_COUNT} WHERE state IN (", "'{i}'", ",", ")"),
    "IN of columns": Repeated(f"{_COUNT} WHERE age IN (", "age", ",", ")"),
    "IN of expressions": Repeated(f"{_COUNT} WHERE age+1 IN (", "{i}", ",", ")"),
    "rows of IN": Repeated(f"{_COUNT} WHERE (age,state) IN (", "(1,'CA')", ",", ")"),
    "many IN": _where("age IN (1,2)"),
    "BETWEEN": _where("age BETWEEN 1 AND 5"),
    "LIKE": _where("state LIKE 'C%'", " OR "),
    "signs of LIKE": Repeated(f"{_COUNT} WHERE state LIKE '", "%_", "", "'"),
    "signs of a pattern": Repeated(f"{_COUNT} WHERE regexp_matches(state, '", "(a*)*", "", "')"),
    "IS NULL": _where("state IS NULL"),
    "IS TRUE": _where("member", " IS TRUE IS "),
    "chains of comparisons": _where("age", "<"),
    "sums of numbers": _where("1", "+", " > age"),
    "sums of columns": _where("age", "+", " > 5"),
    "products": _where("age", "*", " > 5"),
    "quotients": _where("1", "/", " > age"),
    "joined texts": _where("state", "||", " = 'a'"),
    "CASE branches": Repeated(
        "SELECT SUM(CASE ", "WHEN age={i} THEN 1", " ", " END) FROM shoppers"
    ),
    "CASE branches of WHERE": Repeated(
        f"{_COUNT} WHERE CASE ", "WHEN age={i} THEN 1", " ", " END = 1"
    ),
    "CASE of a key": Repeated(
        "SELECT CASE ", "WHEN age={i} THEN {i}", " ", " END AS k, COUNT(*) FROM shoppers GROUP BY k"
    ),
    "CASE of a value": Repeated(
        "SELECT AVG(CASE age ", "WHEN {i} THEN spend", " ", " END) FROM shoppers"
    ),
    "COALESCE": Repeated(f"{_COUNT} WHERE COALESCE(", "state", ",", ") = 'CA'"),
    "GREATEST": Repeated(f"{_COUNT} WHERE GREATEST(", "age", ",", ") > 5"),
    "subqueries of WHERE": _where("age>(SELECT 1)"),
    "EXISTS": _where("EXISTS (SELECT 1)"),
    "IN of subqueries": _where("age IN (SELECT 1)"),
    "unknown columns": _where("c{i}>5"),
    "unknown functions": _where("f{i}(age)"),
    # SELECT
    "counts": Repeated("SELECT ", "COUNT(*)", ", ", " FROM shoppers"),
    "different counts": Repeated(
        "SELECT ", "COUNT(*) FILTER (WHERE age>{i})", ", ", " FROM shoppers"
    ),
    "aliases": Repeated("SELECT ", "COUNT(*) AS c{i}", ", ", " FROM shoppers"),
    "averages": Repeated("SELECT ", "AVG(spend)", ", ", " FROM shoppers"),
    "averages of expressions": Repeated("SELECT ", "AVG(age+{i})", ", ", " FROM shoppers"),
    "quantiles": Repeated("SELECT ", "MEDIAN(age)", ", ", " FROM shoppers"),
    "shares": Repeated("SELECT QUANTILE_CONT(age, [", "0.5", ", ", "]) FROM shoppers"),
    "arithmetic": Repeated("SELECT ", "COUNT(*)", "+", " FROM shoppers"),
    "different arithmetic": Repeated(
        "SELECT ", "COUNT(*) FILTER (WHERE age={i})", "/", " FROM shoppers"
    ),
    "numbers beside": Repeated("SELECT COUNT(*), ", "{i}", ", ", " FROM shoppers"),
    "texts beside": Repeated("SELECT COUNT(*), ", "'a'", ", ", " FROM shoppers"),
    "extremes": Repeated("SELECT ", "MIN(age)", ", ", " FROM shoppers"),
    "stderr": Repeated("SELECT ", "STDERR(COUNT(*))", ", ", " FROM shoppers"),
    "histograms": Repeated("SELECT ", "HISTOGRAM(age)", ", ", " FROM shoppers"),
    "arguments": Repeated("SELECT COUNT(", "age", ", ", ") FROM shoppers"),
    "arguments of an unknown function": Repeated("SELECT f(", "age", ", ", ") FROM shoppers"),
    "columns": Repeated("SELECT ", "state", ", ", " FROM shoppers GROUP BY state"),
    # GROUP BY, ORDER BY, HAVING
    "keys": Repeated(f"{_COUNT} GROUP BY ", "age", ", "),
    "keys of expressions": Repeated(f"{_COUNT} GROUP BY ", "age+{i}", ", "),
    "keys by number": Repeated(f"{_KEYED}, ", "1", ", "),
    "sets of keys": Repeated(f"{_COUNT} GROUP BY GROUPING SETS (", "(age)", ", ", ")"),
    "empty sets of keys": Repeated(f"{_COUNT} GROUP BY GROUPING SETS (", "()", ", ", ")"),
    "keys of a set": Repeated(f"{_COUNT} GROUP BY GROUPING SETS ((", "age", ", ", "))"),
    "keys of ROLLUP": Repeated(f"{_COUNT} GROUP BY ROLLUP (", "age", ", ", ")"),
    "keys of CUBE": Repeated(f"{_COUNT} GROUP BY CUBE (", "age", ", ", ")"),
    "ROLLUP": Repeated(f"{_COUNT} GROUP BY ", "ROLLUP (age)", ", "),
    "orders": Repeated(f"{_KEYED} ORDER BY ", "n", ", "),
    "orders of expressions": Repeated(f"{_KEYED} ORDER BY ", "n+{i}", ", "),
    "HAVING": Repeated(f"{_KEYED} HAVING ", "COUNT(*)>5", " AND "),
    "QUALIFY": Repeated(f"{_KEYED} QUALIFY ", "ROW_NUMBER() OVER ()<5", " AND "),
    "windows": Repeated(f"{_KEYED} WINDOW ", "w{i} AS (ORDER BY state)", ", "),
    "windows of a SELECT": Repeated(
        "SELECT state, ", "SUM(COUNT(*)) OVER ()", ", ", " FROM shoppers GROUP BY state"
    ),
    "totals of different parts": Repeated(
        "SELECT state, ",
        "SUM(COUNT(*)) OVER (PARTITION BY state)",
        ", ",
        " FROM shoppers GROUP BY state",
    ),
    # queries over results
    "CTEs": Repeated("WITH ", "c{i} AS (SELECT 1)", ", ", " SELECT 1"),
    "CTEs of counts": Repeated("WITH ", f"c{{i}} AS ({_COUNT})", ", ", " SELECT * FROM c0"),
    "CTEs of CTEs": Repeated(
        f"WITH c0 AS ({_KEYED}), ", "c{j} AS (SELECT * FROM c{i})", ", ", " SELECT * FROM c1"
    ),
    "CTEs of records": Repeated(
        "WITH c0 AS (SELECT * FROM shoppers), ",
        "c{j} AS (SELECT * FROM c{i} WHERE age>1)",
        ", ",
        " SELECT COUNT(*) FROM c900",
    ),
    "UNION": Repeated("", "SELECT 1", " UNION ALL "),
    "UNION of counts": Repeated("", _COUNT, " UNION ALL "),
    "UNION of records": Repeated(
        "SELECT COUNT(*) FROM (", "SELECT * FROM shoppers", " UNION ALL ", ")"
    ),
    "EXCEPT": Repeated("", "SELECT 1", " EXCEPT "),
    "VALUES": Repeated("SELECT * FROM (VALUES ", "(1)", ", ", ") AS v(a)"),
    "columns of VALUES": Repeated("SELECT * FROM (VALUES (", "1", ", ", "))"),
    "bare VALUES": Repeated("VALUES ", "(1)", ", "),
    "tables": Repeated("SELECT 1 FROM ", "shoppers", ", "),
    "results": Repeated(f"{_OVER} 1 FROM ", "t AS t{i}", ", "),
    "joins": Repeated(f"{_OVER} 1 FROM t ", "JOIN t AS t{i} USING (state)", " "),
    "conditions of a join": Repeated(f"{_OVER} 1 FROM t JOIN t AS u ON ", "t.n>1", " AND "),
    "names of USING": Repeated(f"{_OVER} 1 FROM t JOIN t AS u USING (", "state", ", ", ")"),
    "joins with values": Repeated(
        f"{_COUNT} ", "JOIN (VALUES (1)) AS v{i}(age) ON v{i}.age=shoppers.age", " "
    ),
    "rows joined": Repeated(
        f"{_COUNT} JOIN (VALUES ", "({i})", ",", ") AS v(age) ON v.age=shoppers.age"
    ),
    "columns over results": _over("n"),
    "expressions over results": _over("n+{i} AS a{i}"),
    "sums over results": _over("n", "+"),
    "products over results": _over("n", "*"),
    "calls over results": _over("LN(n+{i})", "+"),
    "aliases of aliases": Repeated(f"{_OVER} n AS a0, ", "a{i}+1 AS a{j}", ", ", " FROM t"),
    "CASE over results": Repeated(f"{_OVER} CASE ", "WHEN n>{i} THEN n", " ", " END FROM t"),
    "IN over results": Repeated(f"{_OVER} n FROM t WHERE n IN (", "{i}", ",", ")"),
    "AND over results": Repeated(f"{_OVER} n FROM t WHERE ", "n>{i}", " AND "),
    "windows over results": _over("SUM(n) OVER ()"),
    "ranks over results": _over("RANK() OVER (ORDER BY n+{i})"),
    "aggregates over results": _over("SUM(n+{i})"),
    "subqueries over results": _over("(SELECT MAX(n) FROM t)"),
    "counts inside": Repeated("SELECT ", f"({_COUNT})", "+"),
    "keys over results": Repeated(f"{_OVER} SUM(n) FROM t GROUP BY ", "state", ", "),
    "orders over results": Repeated(f"{_OVER} n FROM t ORDER BY ", "n", ", "),
    "texts over results": _over("state", "||"),
    "names of a CTE": Repeated("WITH t(", "c{i}", ", ", f") AS ({_COUNT}) SELECT * FROM t"),
    "names of a table": Repeated("SELECT * FROM (SELECT 1) AS t(", "c{i}", ", ", ")"),
    # what is refused
    "PIVOT": Repeated("PIVOT shoppers ON ", "age", ", ", " USING COUNT(*)"),
    "values of PIVOT": Repeated(
        "SELECT * FROM shoppers PIVOT (COUNT(*) FOR age IN (", "{i}", ", ", "))"
    ),
    "UNPIVOT": Repeated("UNPIVOT shoppers ON ", "age", ", "),
    "UNPIVOT of results": Repeated(f"{_OVER} * FROM t UNPIVOT (x FOR y IN (", "n", ", ", "))"),
    "lists": Repeated("SELECT [", "1", ", ", "]"),
    "structs": Repeated("SELECT {", "'a{i}': 1", ", ", "}"),
    "maps": Repeated("SELECT MAP {", "'a{i}': 1", ", ", "}"),
    "lambdas": Repeated("SELECT ", "list_transform([1], x -> ", ""),
    "LATERAL": Repeated("SELECT 1 FROM shoppers", ", LATERAL (SELECT 1)", ""),
    "EXCLUDE": Repeated("SELECT * EXCLUDE (", "c{i}", ", ", ") FROM shoppers"),
    "words of a type": Repeated("SELECT 1::STRUCT(", "a{i} INT", ", ", ")"),
    "brackets of a type": Repeated("SELECT 1::INT", "[]", ""),
    "words of PRAGMA": Repeated("PRAGMA ", "a", " "),
    "words of SET": Repeated("SET ", "a", " "),
    "words of DESCRIBE": Repeated("DESCRIBE ", "a", "."),
    "words of SHOW": Repeated("SHOW ", "TABLES", " "),
    "values of INSERT": Repeated("INSERT INTO shoppers VALUES ", "(1)", ", "),
    "hints": Repeated("SELECT /*+ ", "a", " ", " */ COUNT(*) FROM shoppers"),
    "at signs": Repeated("SELECT ", "@", "", "1"),
    "arrows": Repeated("SELECT a", "->'a'", ""),
    "colons": Repeated("SELECT a", ":a", ""),
    "intervals": _where("INTERVAL 1 DAY", "+", " > age"),
    "days": _where("sent > DATE '2026-01-01'"),
    "slices": Repeated("SELECT a", "[1:2]", ""),
    "collations": _where("state COLLATE NOCASE = 'a'"),
    "time zones": _where("sent AT TIME ZONE 'UTC'", " AT TIME ZONE 'UTC' > "),
    "question marks without values": Repeated(f"{_COUNT} WHERE age IN (", "?", ",", ")"),
}
"""By what there is many of."""

Case = tuple[str, Any]
"""A statement and its parameters."""


def list_parameters(count: int) -> Mapping[str, Callable[[], Case]]:
    """Statements with parameters, so many or so large."""
    marks = ",".join("?" * min(count, 49_900))
    few = min(count, 49_900)

    def names(each: str, much: int) -> str:
        return ",".join(each.format(i) for i in range(much))

    return {
        "parameters": lambda: (f"{_COUNT} WHERE age IN ({marks})", [*range(few)]),
        "parameters beside AND": lambda: (
            f"{_COUNT} WHERE " + " AND ".join(["age>?"] * min(few, 9_000)),
            [*range(min(few, 9_000))],
        ),
        "negative parameters": lambda: (f"{_COUNT} WHERE age IN ({marks})", [-1.5] * few),
        "parameters of days": lambda: (
            f"{_COUNT} WHERE sent IN ({marks})",
            [date(2026, 1, 1)] * few,
        ),
        "null parameters": lambda: (f"{_COUNT} WHERE age IN ({marks})", [None] * few),
        "texts of parameters": lambda: (f"{_COUNT} WHERE state IN ({marks})", ["a" * 100] * few),
        "numbered parameters": lambda: (
            f"{_COUNT} WHERE age IN ({names('${}', 15_000)})".replace("$0,", ""),
            [*range(14_999)],
        ),
        "one parameter often": lambda: (
            f"{_COUNT} WHERE age IN ({names('$1', 30_000)})",
            [5],
        ),
        "named parameters": lambda: (
            f"{_COUNT} WHERE age IN ({names(':a{}', 12_000)})",
            {f"a{i}": i for i in range(12_000)},
        ),
        "parameters too many": lambda: (f"{_COUNT} WHERE age = ?", [*range(count)]),
        "parameters too few": lambda: (f"{_COUNT} WHERE age IN ({marks})", [1]),
        "names too many": lambda: (
            f"{_COUNT} WHERE age IN ({names(':a{}', 12_000)})",
            {**{f"a{i}": i for i in range(12_000)}, **{f"b{i}": i for i in range(count)}},
        ),
        "parameters of items": lambda: (
            "SELECT " + ",".join("?" * min(few, 45_000)) + " FROM shoppers",
            [1] * min(few, 45_000),
        ),
        "parameters of VALUES": lambda: (
            "VALUES " + ",".join(["(?)"] * min(few, 24_000)),
            [1] * min(few, 24_000),
        ),
        "parameters in wrong places": lambda: (
            "SELECT COUNT(*) FROM " + ",".join("?" * min(few, 45_000)),
            [1] * min(few, 45_000),
        ),
        "a text of 10 MB": lambda: (f"{_COUNT} WHERE state = ?", ["a" * 10_000_000]),
        "a text of 10 MB that is no text": lambda: (
            f"{_COUNT} WHERE state = ?",
            ["a" * 10_000_000 + "\ud800"],
        ),
        "a long day": lambda: (f"{_COUNT} WHERE sent = CAST(? AS DATE)", ["9" * 10_000_000]),
        "a text of 10 MB for a number": lambda: (f"{_COUNT} WHERE age = ?", ["9" * 10_000_000]),
        "a text of 10 MB in LIKE": lambda: (
            f"{_COUNT} WHERE state LIKE ?",
            ["%_" * 5_000_000],
        ),
        "a text of 10 MB over results": lambda: (
            f"{_OVER} state || ? FROM t",
            ["a" * 10_000_000],
        ),
        "a long number": lambda: (f"{_COUNT} WHERE age = ?", [10**count]),
        "a long power": lambda: (f"{_COUNT} WHERE age = ?", [1 << 30_000_000]),
        "a decimal of many digits": lambda: (
            f"{_COUNT} WHERE age = ?",
            [Decimal("1." + "1" * count)],
        ),
        "a small decimal": lambda: (f"{_COUNT} WHERE age = ?", [Decimal("1e-999999999")]),
        "a large decimal": lambda: (f"{_COUNT} WHERE age = ?", [Decimal("1e999999999")]),
        "a zero of many digits": lambda: (f"{_COUNT} WHERE age = ?", [Decimal("0e-999999999")]),
        "a small number": lambda: (f"{_COUNT} WHERE age = ?", [math.ulp(0.0)]),
        "no end of parameters": lambda: (f"{_COUNT} WHERE age = ?", itertools.count()),
        "a long list as a parameter": lambda: (f"{_COUNT} WHERE age = ?", [[1] * count]),
        "letters of a name": lambda: (f"{_COUNT} WHERE age = :{'a' * 90_000}", {"a": 1}),
        "a long name of a value": lambda: (f"{_COUNT} WHERE age = :a", {"a" * 10_000_000: 1}),
        "many parameters too long": lambda: (
            f"{_COUNT} WHERE age IN ({','.join('?' * count)})",
            [1] * count,
        ),
    }


def list_cases(count: int = MANY) -> Iterator[tuple[str, Callable[[], Case]]]:
    """All cases by name, each to be made when its turn comes."""
    for name, repeated in REPEATED.items():
        yield f"{name}, {count:,}", lambda repeated=repeated: (repeated.times(count), None)
        yield (
            f"{name}, all that fit",
            lambda repeated=repeated: (
                repeated.times(repeated.most),
                None,
            ),
        )
    yield from list_parameters(count).items()
