"""Which joins of surveys are answered, how they are written, and what is said of the others."""

from __future__ import annotations

import pytest
from support.surveys import category, integer, measure, survey_toml

from ldpsql.designer import design
from ldpsql.errors import QueryError, UnsupportedSQL
from ldpsql.parser import parse
from ldpsql.parser.query import Statement

PUBLIC = '[public.region]\ntype = "int"\n'
SURVEYS = {
    table: design(survey_toml(*columns, PUBLIC, table=table, mechanism="ahio"))
    for table, columns in {
        "buyers": (integer("age", 0, 19, bin_width=5), integer("size", 0, 3), measure("pay", 0, 9)),
        "sellers": (category("kind", "x", "y"), integer("size", 0, 3), measure("visits", 0, 5)),
        "others": (integer("size", 0, 3),),
    }.items()
}
PAIRS = "buyers AS a JOIN sellers AS b USING (region)"


def read(sql: str) -> Statement:
    def survey_of(name: str) -> object:
        if name.lower() not in SURVEYS:
            raise QueryError(f"there is no survey {name!r}")
        return SURVEYS[name.lower()]

    return parse(sql, None, survey_of)


def test_each_survey_is_asked_by_itself() -> None:
    """By its own conditions, and grouped by what compares it with the other, or is shown."""
    statement = read(
        f"SELECT kind, AVG(pay) FROM {PAIRS} WHERE age < 10 AND b.size > 1 AND a.size <> b.size "
        "GROUP BY kind"
    )
    first, second = statement.bases
    assert (first.table, [key.column for key in first.keys]) == ("buyers", ["region", "size"])
    assert (second.table, {key.column for key in second.keys}) == (
        *("sellers", {"kind", "region", "size"}),
    )
    assert first.predicate.column == "age"
    assert second.predicate.column == "size"
    assert [output.name for output in statement.outputs] == ["kind", "AVG(pay)"]
    assert [output.is_estimate for output in statement.outputs] == [False, True]


def test_thousands_of_conditions_are_no_nesting() -> None:
    """In brackets or not, each survey takes its own."""
    many = " AND ".join(["age < 10"] * 1500 + ["(b.size > 1 AND (age > 2))"])
    first, second = read(f"SELECT COUNT(*) FROM {PAIRS} WHERE {many}").bases
    assert len(first.predicate.operands) == 1501
    assert second.predicate.column == "size"


def test_nobody_is_asked_twice_for_the_same_sum() -> None:
    first, second = read(f"SELECT COUNT(*), SUM(pay), AVG(pay), SUM(visits) FROM {PAIRS}").bases
    assert len(first.columns) == 3  # COUNT(*), COUNT(pay), SUM(pay)
    assert len(second.columns) == 2


@pytest.mark.parametrize(
    ("sql", "error", "reason"),
    [
        ("SELECT COUNT(*) FROM buyers LEFT JOIN sellers USING (region)", UnsupportedSQL,
         "LEFT JOIN of surveys is not supported at 1:39"),
        ("SELECT COUNT(*) FROM buyers NATURAL JOIN sellers", UnsupportedSQL, "NATURAL JOIN"),
        ("SELECT COUNT(*) FROM buyers a JOIN buyers b USING (region)", UnsupportedSQL,
         "buyers is joined with itself"),
        ("SELECT COUNT(*) FROM buyers a JOIN sellers A USING (region)", QueryError,
         "two relations are called 'A'"),
        ("SELECT COUNT(*) FROM buyers JOIN sellers USING (regio)", QueryError,
         "did you mean region?"),
        ("SELECT COUNT(*) FROM buyers JOIN sellers USING (age)", QueryError,
         "sellers has no column 'age'"),
        (f"SELECT COUNT(*) FROM {PAIRS} WHERE size > 1", QueryError,
         "several surveys have a column 'size' at 1:73; write a.size or b.size"),
        (f"SELECT COUNT(*) FROM {PAIRS} WHERE nothing > 1", QueryError,
         "buyers and sellers have no column 'nothing'"),
        (f"SELECT COUNT(*) FROM {PAIRS} WHERE c.size > 1", QueryError, "there is no table 'c'"),
        (f"SELECT COUNT(*) FROM {PAIRS} WHERE age = b.size", UnsupportedSQL, "age is in bins"),
        (f"SELECT age + 1, COUNT(*) FROM {PAIRS} GROUP BY age + 1", UnsupportedSQL,
         "age is in bins"),
        (f"SELECT COUNT(*) FROM {PAIRS} WHERE pay > 3", QueryError, "pay is a measure"),
        (f"SELECT COUNT(*) FROM {PAIRS} WHERE pay > visits", QueryError, "pay is a measure"),
        (f"SELECT pay, COUNT(*) FROM {PAIRS} GROUP BY pay", QueryError, "pay is a measure"),
        (f"SELECT MAX(pay) FROM {PAIRS}", UnsupportedSQL, "the function MAX is not supported"),
        (f"SELECT COUNT(DISTINCT kind) FROM {PAIRS}", UnsupportedSQL, "DISTINCT is not supported"),
        (f"SELECT COUNT(*), MEAN(pay) FROM {PAIRS}", UnsupportedSQL, "the function MEAN is not"),
        (f"SELECT COUNT(*), PRODUCT(a.size) FROM {PAIRS}", UnsupportedSQL,
         "the function PRODUCT is not supported over a join"),
        (f"SELECT COUNT(a.size, b.size) FROM {PAIRS}", UnsupportedSQL, "the function COUNT is not"),
        (f"SELECT SUM(CASE WHEN age < 5 THEN pay END + visits) FROM {PAIRS}", UnsupportedSQL,
         "this may be NULL, and so is the sum that it stands in"),
        (f"SELECT COUNT(*) FROM {PAIRS} HAVING age IN (1, 2)", UnsupportedSQL, "age is in bins"),
        (f"SELECT -age, COUNT(*) FROM {PAIRS} GROUP BY -age", UnsupportedSQL, "age is in bins"),
        ("SELECT COUNT(*) FROM buyers a JOIN sellers b ON a.size = b.size JOIN others c "
         "USING (region)", QueryError,
         "several surveys have a column 'region' at 1:86; write a.region or b.region"),
        (f"SELECT SUM(pay / visits) FROM {PAIRS}", UnsupportedSQL, "not a sum of products"),
        (f"SELECT AVG(pay + visits) FROM {PAIRS}", UnsupportedSQL, "a sum over columns of several"),
        (f"SELECT * FROM {PAIRS}", UnsupportedSQL, "* would show single people"),
        (f"SELECT kind FROM {PAIRS}", UnsupportedSQL, "without an aggregate"),
        (f"SELECT ROW_NUMBER() OVER () FROM {PAIRS}", UnsupportedSQL, "without an aggregate"),
        (f"SELECT STDERR(COUNT(*)) FROM {PAIRS}", UnsupportedSQL, "STDERR is answered only"),
        (f"SELECT COUNT(*) FROM {PAIRS} JOIN (VALUES (1)) AS v(region) USING (region)",
         UnsupportedSQL, "surveys are joined with surveys alone"),
        ("SELECT COUNT(*) FROM buyers JOIN nothing USING (region)", QueryError,
         "there is no survey 'nothing'"),
        (f"SELECT COUNT(*) FROM {PAIRS} USING SAMPLE 10", UnsupportedSQL, ""),
    ],
)  # fmt: skip
def test_what_is_refused(sql: str, error: type[Exception], reason: str) -> None:
    with pytest.raises(error) as caught:
        read(sql)
    assert reason in str(caught.value)


def test_products_are_bounded() -> None:
    long = " * ".join(["(pay - visits)"] * 7)
    with pytest.raises(UnsupportedSQL, match="more than 64 products"):
        read(f"SELECT SUM({long}) FROM {PAIRS}")
