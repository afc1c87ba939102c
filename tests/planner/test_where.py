"""WHERE by slices and disjoint boxes against WHERE by DuckDB, on every possible record."""

from __future__ import annotations

from itertools import product
from typing import Any

import duckdb
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.sql_survey import survey
from support.tiers import examples

from ldpsql.algebra.boxes import Box
from ldpsql.parser import parse
from ldpsql.planner.plan import QueryPlan, boxes, disjoin
from ldpsql.sql.domains import labels
from ldpsql_device.schema import Dimension, PublicColumn, Schema
from ldpsql_device.values import BOOL, Listed, int_domain

SMALL = survey(
    "small",
    Schema(
        (
            Dimension("a", int_domain(1, 5), missing="code"),
            Dimension("s", Listed("category", ("x", "y", "it's")), missing="code"),
            Dimension("b", BOOL),
        ),
        (),
        (
            PublicColumn("p", "int"),
            PublicColumn("q", "text"),
            PublicColumn("r", "bool"),
        ),
    ),
)
VALUES: tuple[list[Any], ...] = (
    *(labels(dimension) for dimension in SMALL.schema.dimensions),
    [None, 1, 2, 3],
    [None, "u", "v'w"],
    [None, False, True],
)
RECORDS = list(product(*VALUES))
CODES = np.array(
    [
        [dimension.code(record[i], 0)[0] for i, dimension in enumerate(SMALL.schema.dimensions)]
        for record in RECORDS
    ]
)

_NUMBERS = st.sampled_from(["0", "1", "2", "3", "5", "6", "-1", "2.5", "1 + 1", "NULL"])
_LISTED = st.sampled_from(["'x'", "'y'", "'it''s'", "NULL"])
_STRINGS = st.sampled_from(["'x'", "'z'", "'u'", "'v''w'", "NULL"])
_OPERATORS = st.sampled_from(["=", "==", "<>", "<", "<=", ">", ">=", "!="])


def _comparisons(columns: list[str], literals: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    column = st.sampled_from(columns)
    lists = st.lists(literals, min_size=1, max_size=3).map(", ".join)
    return st.one_of(
        st.tuples(column, _OPERATORS, literals).map(" ".join),
        st.tuples(literals, _OPERATORS, column).map(" ".join),
        st.builds("{} {} ({})".format, column, st.sampled_from(["IN", "NOT IN"]), lists),
        st.builds(
            "{} {} {} AND {}".format,
            column,
            st.sampled_from(["BETWEEN", "NOT BETWEEN"]),
            literals,
            literals,
        ),
        st.builds(
            "{} IS {} {}".format,
            column,
            st.sampled_from(["DISTINCT FROM", "NOT DISTINCT FROM"]),
            literals,
        ),
    )


ATOMS = st.one_of(
    _comparisons(["a", "p", "small.a", "SMALL.A", "(p)"], _NUMBERS),
    _comparisons(["s", '"S"'], _LISTED),
    _comparisons(["q"], _STRINGS),
    st.sampled_from(["s < 'y y'", "s >= 'j'", "s BETWEEN 'a' AND 'xx'"]),
    st.sampled_from(["b", "NOT b", "r", "b IS TRUE", "r IS NOT FALSE", "r = TRUE", "b <> FALSE"]),
    st.sampled_from(["b IS NOT TRUE", "r IS FALSE", "b IS NOT FALSE", "r IS NOT TRUE"]),
    st.builds("{} IS {}".format, st.sampled_from("asbpqr"), st.sampled_from(["NULL", "NOT NULL"])),
    st.sampled_from(["TRUE", "FALSE", "NULL", "1 = 1", "1 = 2", "'a' < 'b'", "1 = NULL"]),
)
PREDICATES = st.recursive(
    ATOMS,
    lambda inner: st.one_of(
        inner.map("NOT ({})".format),
        st.lists(inner, min_size=2, max_size=4).map(lambda parts: f"({' AND '.join(parts)})"),
        st.lists(inner, min_size=2, max_size=4).map(lambda parts: f"({' OR '.join(parts)})"),
    ),
    max_leaves=7,
)


@pytest.fixture(scope="module")
def records() -> Any:
    """A DuckDB connection with the table `small` of all records."""
    with duckdb.connect() as connection:
        connection.execute(
            "CREATE TABLE small (i INT, a INT, s VARCHAR, b BOOL, p INT, q VARCHAR, r BOOL)"
        )
        columns = [list(column) for column in zip(*RECORDS, strict=True)]
        connection.execute(
            "INSERT INTO small SELECT unnest($i), unnest($a), unnest($s), unnest($b), unnest($p), "
            "unnest($q), unnest($r)",
            {"i": list(range(len(RECORDS))), **dict(zip("asbpqr", columns, strict=True))},
        )
        yield connection


def planned(where: str) -> QueryPlan:
    sql = f"SELECT COUNT(*) FROM small WHERE {where}"
    (query,) = parse(sql, None, lambda _: SMALL).bases
    return disjoin(boxes(query, SMALL, sql))


def true_at(connection: Any, conditions: list[str]) -> np.ndarray[Any, Any]:
    """Where DuckDB finds conditions TRUE: shape (records, conditions)."""
    columns = ", ".join(f"coalesce({text}, FALSE)" for text in conditions)
    return np.array(connection.execute(f"SELECT {columns} FROM small ORDER BY i").fetchall())


def hits(box: Box) -> np.ndarray[Any, Any]:
    """Which records lie in a box."""
    inside = np.ones(len(RECORDS), dtype=bool)
    for codes, side in zip(CODES.T, box.sides, strict=True):
        if side is not None:
            inside &= np.any([(low <= codes) & (codes < high) for low, high in side], axis=0)
    return inside


@given(st.lists(PREDICATES, min_size=12, max_size=12))
@settings(
    max_examples=examples(180),
    derandomize=True,
    database=None,
    suppress_health_check=list(HealthCheck),
)
def test_slices_hold_exactly_the_records_where_the_predicate_is_true(
    records: Any, predicates: list[str]
) -> None:
    plans = [planned(where) for where in predicates]
    conditions = [piece.condition or "TRUE" for plan in plans for piece in plan.slices]
    truth = true_at(records, [*predicates, *conditions])
    column = len(predicates)
    for index, (where, plan) in enumerate(zip(predicates, plans, strict=True)):
        counts = np.zeros(len(RECORDS), dtype=int)
        for piece in plan.slices:
            for box in piece.boxes:
                counts += hits(box) & truth[:, column]
            column += 1
        assert np.array_equal(counts, truth[:, index].astype(int)), where
