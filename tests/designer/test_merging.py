"""Codes that no declared query tells apart are collected as one."""

from __future__ import annotations

import pytest

from ldpsql.designer import design_survey
from ldpsql.designer.file import read_file, read_workload
from ldpsql.designer.merging import merge_codes
from ldpsql.errors import QueryError
from ldpsql_device.errors import SurveyError
from ldpsql_device.values import Ordered

FILE = """
[survey]
table = "app"
epsilon = "1"
[dimension.age]
type = "int"
domain = [17, 90]
[dimension.size]
type = "float"
domain = [0.0, 2.0]
bins = 20
[dimension.state]
type = "category"
values = ["NY", "CA", "TX"]
[dimension.weeks]
type = "int"
domain = [0, 52]
missing = "code"
[workload]
queries = [{}]
"""
RANGES = (
    '"SELECT COUNT(*) FROM app WHERE age BETWEEN 20 AND 29 OR age >= 65", '
    '"SELECT state, COUNT(*) FROM app WHERE size < 0.5 GROUP BY state"'
)


def edges(*queries: str) -> dict[str, list[object]]:
    merged, _ = merge_codes(read_file(FILE.format(", ".join(queries))))
    kinds = {d.name: d.domain for d in merged.schema.dimensions}
    return {name: list(own.edges) for name, own in kinds.items() if isinstance(own, Ordered)}


def test_every_end_of_a_predicate_is_an_edge_and_nothing_else() -> None:
    found = edges(RANGES)
    assert found["age"] == [17, 20, 30, 65, 91]
    assert found["size"] == [0.0, 0.5, 2.0]
    assert len(found["weeks"]) == 54, "what nobody asks about stays as it is"


@pytest.mark.parametrize(
    "query",
    [
        "SELECT age, COUNT(*) FROM app GROUP BY age",
        "SELECT AVG(age) FROM app WHERE state = 'NY'",
        "SELECT COUNT(*) FROM app WHERE age % 2 = 0",
    ],
)
def test_what_tells_every_value_apart_merges_none(query: str) -> None:
    assert len(edges(f'"{query}"')["age"]) == 75


def test_all_rows_of_a_large_group_by_are_looked_at() -> None:
    found = edges('"SELECT weeks, age, COUNT(*) FROM app GROUP BY weeks, age"')
    assert (len(found["age"]), len(found["weeks"])) == (75, 54)


def test_the_code_of_null_stays_apart() -> None:
    merged, _ = merge_codes(read_file(FILE.format('"SELECT COUNT(*) FROM app WHERE weeks < 10"')))
    weeks = merged.schema.dimensions[3]
    assert (weeks.domain.size, weeks.size, weeks.has_null) == (2, 3, True)


def test_the_survey_says_so_and_refuses_what_would_cut_a_bin() -> None:
    text = FILE.format(RANGES)
    designed = design_survey(text, mechanism="fourier")
    assert "age is collected in 4 bins, edges = [17, 20, 30, 65, 91]" in designed.notes[0]
    schema = designed.survey.schema
    with pytest.raises(QueryError, match="from 20 up to 30 share one code"):
        read_workload({"queries": ["SELECT COUNT(*) FROM app WHERE age > 25"]}, "app", schema)
    # The negative control: unmerged, the same workload costs much more.
    for plain in (
        design_survey(text, mechanism="fourier", edges_from_workload=False),
        design_survey(text + "merge = false\n", mechanism="fourier"),
    ):
        assert not plain.notes
        assert designed.forecast.error < 0.8 * plain.forecast.error


def test_beside_classes_nothing_is_merged() -> None:
    text = FILE.format(RANGES) + "max_predicates = 1\n"
    assert not design_survey(text, mechanism="fourier").notes
    with pytest.raises(SurveyError, match="queries alone"):
        design_survey(text, edges_from_workload=True)
