"""Whole numbers that a survey does not list, as analysts see them."""

from __future__ import annotations

import pyarrow as pa
import pytest
from support.surveys import category, integer, survey_toml

from ldpsql.designer import design
from ldpsql_lab.simulation import simulate


def test_other_whole_numbers_are_a_text_of_categories_and_null_of_numbers():
    columns = (
        category("pay", 1, 2, outside="other"),
        integer("age", 0, 3, outside="other", missing="code"),
    )
    survey = design(survey_toml(*columns, epsilon="12", mechanism="grr"))
    people = pa.table({"pay": [1, 1, 2, 9] * 500, "age": pa.array([1, 2, 7, None] * 500)})
    with simulate(survey, people, seed=1) as connection:

        def ask(sql: str) -> list[tuple]:
            return connection.execute(sql).fetchall()

        found = dict(ask("SELECT pay, COUNT(*) FROM app GROUP BY pay"))
        assert found == pytest.approx({"1": 1000, "2": 500, "(other)": 500}, abs=60)
        for condition in ("pay = 1", "pay = '1'", "pay IN (1)", "CASE pay WHEN 1 THEN TRUE END"):
            [(count,)] = ask(f"SELECT COUNT(*) FROM app WHERE {condition}")
            assert count == pytest.approx(1000, abs=60)
        [(known, missing, mean)] = ask(
            "SELECT COUNT(age), COUNT(*) FILTER (WHERE age IS NULL), AVG(age) FROM app"
        )
        assert (known, missing) == pytest.approx((1000, 1000), abs=60)
        assert mean == pytest.approx(1.5, abs=0.1)
