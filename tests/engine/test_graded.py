"""A survey whose values have epsilons of their own, from its file to answers."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from support.surveys import boolean, category, public, survey_toml

from ldpsql.designer import design
from ldpsql.errors import Error
from ldpsql_lab.simulation import simulate

NAMES = ["HIV", "cancer", "flu", "cold", "none"]
TOML = survey_toml(
    *(category("illness", *NAMES), boolean("insured"), public("cost", "float")),
    table="clinic",
    epsilon="4",
    mechanism="graded",
    options={"epsilons": {"illness": ["0.5", "1", "2", "4", "4"]}},
)
COUNTS = [800, 1_200, 4_000, 6_000, 8_000]


@pytest.fixture(scope="module")
def connection():
    people = pa.table(
        {
            "illness": np.repeat(NAMES, COUNTS),
            "insured": np.arange(sum(COUNTS)) % 4 > 0,
            "cost": np.full(sum(COUNTS), 2.0),
        }
    )
    with simulate(design(TOML), people, seed=1) as found:
        yield found


def test_every_value_is_counted_with_its_own_error(connection):
    sql = "SELECT illness, COUNT(*), STDERR(COUNT(*)), SUM(cost) FROM clinic GROUP BY illness"
    rows = {name: numbers for name, *numbers in connection.execute(sql).fetchall()}
    for name, truth in zip(NAMES, COUNTS, strict=True):
        value, error, cost = rows[name]
        assert abs(value - truth) < 5 * error
        assert abs(cost - 2 * truth) < 10 * error
    errors = [rows[name][1] for name in NAMES]
    assert errors[:3] == sorted(errors[:3], reverse=True)
    assert errors[0] > 1.5 * errors[4]


def test_predicates_over_both_columns(connection):
    sql = "SELECT COUNT(*), STDERR(COUNT(*)) FROM clinic WHERE illness <> 'none' AND insured"
    value, error = connection.execute(sql).fetchone()
    assert abs(value - 9_000) < 5 * error


def test_a_survey_file_survives_and_says_what_it_promises():
    survey = design(TOML)
    assert "illness 0.5, 1, 2, 4, 4; insured 4, 4" in survey.design.guarantee.protects
    assert type(survey).from_json(survey.to_json()).design == survey.design


def test_a_table_about_a_column_that_there_is_not_is_refused():
    with pytest.raises(Error, match="names 'sickness', which is not a dimension"):
        design(TOML.replace("{illness = ", "{sickness = "))
