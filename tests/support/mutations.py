"""Statements that nobody meant: given ones changed by characters, by words and by subtrees."""

from __future__ import annotations

import logging
import random
import re
from collections.abc import Iterator, Sequence
from functools import cache

from sqlglot import exp, parse_one
from sqlglot.errors import SqlglotError

_WORD = re.compile(r"\s+|\w+|'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\"|.", re.S)
_CHARACTERS = "'\"();,.*%+-/=<>:?$\\ \n\t\0\r\u2028é0aZ_[]{}|&~#@`"
WORDS = re.findall(
    r"\S+",
    """
    SELECT FROM WHERE GROUP BY HAVING ORDER LIMIT NOT AND OR NULL IS IN BETWEEN LIKE CASE WHEN THEN
    ELSE END FILTER OVER PARTITION ROLLUP CUBE WITH AS UNION ALL DISTINCT EXISTS CAST INTERVAL DATE
    TIMESTAMP ( ) ( ) , , . * + - / % = <> < > >= :: ? $1 :x ; -- /* */ '' "" 0 1 -1 1e400 1e-400
    0.1 1e5 'x' 'CA' '2026-01-01' 99999999999999999999 shoppers age items sex state member visited
    joined spend platform build fee sent COUNT SUM AVG MEDIAN bin STDERR CI_LOW coalesce abs lower
    date_trunc EXTRACT
    """,
)


def mutations(statements: Sequence[str], count: int, seed: int) -> Iterator[str]:
    """So many mutated statements, the same for the same seed."""
    chosen = random.Random(seed)
    for _ in range(count):
        yield mutate(chosen, statements)


def mutate(chosen: random.Random, statements: Sequence[str], words: Sequence[str] = WORDS) -> str:
    """A statement changed by characters, by words or by subtrees, one to four changes deep."""
    depth, what = chosen.choice((1, 1, 1, 2, 3, 4)), chosen.randrange(3)
    sql = chosen.choice(statements)
    if what == 2:
        tree = _tree(sql)
        return sql if tree is None else _mutate_tree(chosen, tree.copy(), statements, depth)
    parts = list(sql)
    pool: Sequence[str] = _CHARACTERS
    if what == 1:
        parts = _WORD.findall(sql)
        pool = [*words, *_WORD.findall(chosen.choice(statements))]
    for _ in range(depth):
        change_parts(chosen, parts, pool)
    return "".join(parts)


def change_parts(chosen: random.Random, parts: list[str], pool: Sequence[str]) -> None:
    """Delete, double, replace, insert or swap one part."""
    if not parts:
        return
    place, other = chosen.randrange(len(parts)), chosen.randrange(len(parts))
    what = chosen.randrange(5)
    if what == 0:
        del parts[place]
    elif what == 1:
        parts.insert(place, parts[other])
    elif what == 2:
        parts[place] = chosen.choice(pool)
    elif what == 3:
        parts.insert(place, chosen.choice(pool))
    else:
        parts[place], parts[other] = parts[other], parts[place]


@cache
def _tree(sql: str) -> exp.Expr | None:
    logging.getLogger("sqlglot").setLevel(logging.CRITICAL)
    try:
        return parse_one(sql, dialect="duckdb")
    except SqlglotError:
        return None


def _mutate_tree(
    chosen: random.Random, tree: exp.Expr, statements: Sequence[str], depth: int
) -> str:
    """A statement with some expressions put in the place of others, of any statement."""
    for _ in range(depth):
        places = [node for node in tree.walk() if node.parent is not None]
        other = _tree(chosen.choice(statements))
        if not places or other is None:
            break
        donor = chosen.choice(list(other.walk()))
        place = chosen.choice(places)
        alike = [node for node in places if isinstance(node, type(donor))]
        if alike and chosen.random() < 0.5:
            place = chosen.choice(alike)
        place.replace(donor.copy())
    try:
        return tree.sql(dialect="duckdb")
    except Exception:  # sqlglot's writer trips over trees that no text has
        return chosen.choice(statements)
