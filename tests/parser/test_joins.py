"""What a survey's table can be joined with; what is said of everything else is in refused.sql."""

from __future__ import annotations

from support.sql_survey import base_of, parsed


def test_a_join_says_what_it_depends_on() -> None:
    statement = parsed(
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
    sql = "SELECT COUNT(*) FROM app, regions WHERE state = code AND age > 30 AND pop > 3"
    base = base_of(sql)
    (join,) = base.joins
    assert join.on.columns == ("state",)
    assert "pop" in join.on.text
    assert base.predicate.column == "age"
