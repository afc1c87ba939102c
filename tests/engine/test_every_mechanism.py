"""Every mechanism from records to SQL: counts, private and public sums, EXPLAIN."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from support.surveys import boolean, integer, measure, public, survey_toml

from ldpsql.designer import design
from ldpsql.mechanisms.registry import MECHANISMS
from ldpsql.survey import Survey
from ldpsql_lab.simulation import simulate

PEOPLE = 20_000
MARGINALS = ("srr-ss", "psrr-ss", "arr-ss", "srr-ms", "sue-ms", "oue-ms", "solh")
IN_ROUNDS, TWO_DIMENSIONS = ("ahead",), ("cprr", "jurr", "jurr-g", "tdrr", "jd-grr")
COUNTS_ONLY = ("hio", "ahead", "truthful", "graded", "urr", "urap", *TWO_DIMENSIONS, *MARGINALS)


def survey(name: str) -> Survey:
    """Ages, a private pay and a public amount, as far as the mechanism takes them."""
    kept = {"sensitive": [3, 4]} if name in ("urr", "urap", *TWO_DIMENSIONS) else {}
    accepted = {"accept_no_guarantee": True} if name in ("lgrr", "lgrr-fd") else {}
    columns = [integer("age", 0, 8, **kept)]
    columns += [boolean("member")] if name in TWO_DIMENSIONS else []
    columns += [] if name in COUNTS_ONLY else [measure("pay", 0, 10)]
    columns += [] if name in IN_ROUNDS else [public("amount", "float")]
    return design(survey_toml(*columns, epsilon="4", mechanism=name, **accepted))


@pytest.mark.fast(11)
@pytest.mark.parametrize("name", [name for name in MECHANISMS if name != "ft"])
def test_from_records_to_answers(name: str) -> None:
    """Every answer within six of its own standard errors, which are not absurd."""
    random = np.random.default_rng(3)
    age = np.repeat(np.arange(9), PEOPLE // 9 + 1)[:PEOPLE]
    pay, amount = np.minimum(10.0, age + random.random(PEOPLE)), random.integers(1, 5, PEOPLE) / 2
    member = random.random(PEOPLE) < 0.3
    table = pa.table({"age": age, "pay": pay, "amount": amount, "member": member})
    inside = (age >= 3) & (age <= 5)  # a node of trees, which lgrr answers without a bias
    truths = {"COUNT(*)": float(inside.sum())}
    if name not in COUNTS_ONLY:
        truths["SUM(pay)"] = float(pay[inside].sum())
    if name not in IN_ROUNDS:
        truths["SUM(amount)"] = float(amount[inside].sum())
    sql = f"SELECT {', '.join(truths)} FROM app WHERE age BETWEEN 3 AND 5"
    with simulate(survey(name), table, seed=2) as connection:
        result = connection.execute(sql).result
        explained = connection.execute(f"EXPLAIN {sql}").result.explain
    assert name in explained
    for index, (text, truth) in enumerate(truths.items()):
        value, error = result.table.column(index)[0].as_py(), result.intervals[index].stderr[0]
        assert abs(value - truth) < 6.0 * error, text
        assert error < 0.25 * truth, text
