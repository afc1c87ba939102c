"""What a survey's table can be joined with, and what is said of everything else."""

from __future__ import annotations

import pytest
from support.surveys import TOML, integer, survey_toml

from ldpsql.designer import design
from ldpsql.errors import QueryError, UnsupportedSQL
from ldpsql.parser import parse
from ldpsql.parser.query import ParsedSQL
from ldpsql.sql.lookups import PublicTable

SURVEYS = {
    "app": design(TOML),
    "sellers": design(survey_toml(integer("size", 0, 3), table="sellers")),
}
LOOKUPS = {
    "regions": PublicTable.of("regions", {"code": ["NY"], "region": ["east"], "pop": [19]}),
    "cities": PublicTable.of("cities", {"state": ["NY"], "city": ["Albany"]}),
}


def read(sql: str) -> ParsedSQL:
    def survey_of(name: str) -> object:
        if name.lower() not in SURVEYS:
            raise QueryError(f"there is no survey {name!r}")
        return SURVEYS[name.lower()]

    return parse(sql, None, survey_of, LOOKUPS.get)


def test_a_join_says_what_it_depends_on() -> None:
    statement = read(
        "SELECT r.region, COUNT(*) FROM app AS p LEFT JOIN regions AS r ON p.state = r.code "
        "JOIN cities AS c ON c.state = r.code GROUP BY r.region"
    )
    (base,) = statement.bases
    first, second = base.joins
    assert (first.alias, first.is_left, first.on.columns, first.on.joins) == (
        *("r", True),
        *(("state",), ()),
    )
    assert (second.alias, second.is_left, second.on.columns) == ("c", False, ("state",))
    assert second.on.joins == (first,)
    assert base.keys[0].scalar.joins == (first,)
    assert len({first.number, second.number}) == 2
    assert statement.tables == ()


def test_comparisons_of_rows_joined_without_on_become_its_on() -> None:
    (base,) = read(
        "SELECT COUNT(*) FROM app, regions WHERE state = code AND age > 30 AND pop > 3"
    ).bases
    (join,) = base.joins
    assert join.on.columns == ("state",)
    assert "pop" in join.on.text
    assert base.predicate.column == "age"


@pytest.mark.parametrize(
    ("rest", "kind", "reason"),
    [
        ("JOIN regions USING (code)", QueryError, "no column 'code'"),
        ("JOIN cities USING (city)", QueryError, "no column 'city'"),
        ("JOIN regions ON code", QueryError, "not a condition"),
        ("LEFT JOIN regions", QueryError, None),
        ("SEMI JOIN regions", QueryError, None),
        ("FULL JOIN regions ON state = code", UnsupportedSQL, "FULL JOIN"),
        ("RIGHT JOIN regions ON state = code", UnsupportedSQL, "RIGHT JOIN"),
        ("NATURAL JOIN cities", UnsupportedSQL, "NATURAL JOIN"),
        ("POSITIONAL JOIN cities", UnsupportedSQL, "POSITIONAL JOIN"),
        ("ASOF JOIN cities USING (state)", UnsupportedSQL, "ASOF JOIN"),
        ("JOIN cities ON state = 'NY'", QueryError, "several tables have a column 'state'"),
        ("JOIN cities ON app.state = cities.nope", QueryError, "cities has no column 'nope'"),
        ("JOIN cities ON app.state = x.state", QueryError, "no table 'x'"),
        ("JOIN cities USING (state) JOIN cities USING (state)", QueryError, "called 'cities'"),
        ("JOIN cities AS app USING (state)", QueryError, "called 'app'"),
        ("JOIN regions ON spent = pop", QueryError, "spent is a measure"),
        ("JOIN (SELECT 1)", QueryError, "need a name"),
        ("JOIN app AS q USING (state)", UnsupportedSQL, "app is joined with itself: no report"),
        (
            "JOIN sellers USING (region)",
            UnsupportedSQL,
            "app is joined with the survey sellers: no report says whose it is at 1:31; "
            "ask each survey by itself and join the results, or all as one by UNION ALL",
        ),
        ("NATURAL JOIN sellers", UnsupportedSQL, "app is joined with the survey sellers"),
        (", sellers WHERE app.state = sellers.state", UnsupportedSQL, "with the survey sellers"),
        ("JOIN regions ON state = code JOIN sellers USING (x)", UnsupportedSQL, "survey sellers"),
        ("JOIN read_csv('x') AS q USING (state)", UnsupportedSQL, "table function"),
        ("JOIN (FROM read_csv('x')) AS q USING (state)", UnsupportedSQL, "table function"),
        ("JOIN (SELECT getenv('HOME') AS state) AS q USING (state)", UnsupportedSQL, "GETENV"),
        ("JOIN (SELECT random() AS state) AS q USING (state)", UnsupportedSQL, None),
        ("JOIN nowhere USING (state)", QueryError, "no survey 'nowhere'"),
        ("JOIN information_schema.tables AS t ON true", UnsupportedSQL, None),
        ("WHERE state IN (SELECT state FROM app)", UnsupportedSQL, "app holds estimates"),
        ("WHERE state IN (SELECT nope FROM cities)", QueryError, None),
        ("WHERE EXISTS (SELECT 1 FROM cities AS c WHERE c.state = q.state)", QueryError, None),
    ],
)
def test_what_cannot_be_joined_is_refused(
    rest: str, kind: type[Exception], reason: str | None
) -> None:
    with pytest.raises(kind) as caught:
        read(f"SELECT COUNT(*) FROM app {rest}")
    assert reason is None or reason in str(caught.value)
    assert "\n" not in str(caught.value)
    assert caught.value.place is not None
