"""Whom answers are about, and what is said where the package that knows is not installed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from support.surveys import integer, survey_toml

from ldpsql.designer import design
from ldpsql.engine import sources
from ldpsql.engine.session import Session
from ldpsql.engine.sources import choose_sources, sources_from_json
from ldpsql_device.errors import NotSupportedError
from ldpsql_lab.simulation import simulate

MISSING = "need the package ldpsql.population, which is not installed"
COUNT = "SELECT COUNT(*) FROM app WHERE age < 5"


@pytest.fixture
def _alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """No package brings sources."""
    monkeypatch.setattr(sources, "GROUP", "ldpsql.no-such-group")


def population(**more: str) -> Any:
    survey = design(survey_toml(integer("age", 0, 7), epsilon="4", mechanism="grr", **more))
    return simulate(survey, pa.table({"age": np.arange(2_000) % 8}), seed=3)


@pytest.mark.usefixtures("_alone")
@pytest.mark.parametrize(
    "settings", [{"weights": "margins.csv"}, {"one_population": True}, {"census": True}]
)
def test_a_setting_needs_the_package(settings: dict[str, Any]) -> None:
    with pytest.raises(NotSupportedError, match=MISSING):
        choose_sources(**settings)
    with pytest.raises(NotSupportedError, match=MISSING):
        sources_from_json(settings)


@pytest.mark.usefixtures("_alone")
@pytest.mark.parametrize("weights", [None, (), []])
def test_those_who_answered_one_survey_need_nothing_else(weights: Any) -> None:
    with population() as connection:
        found = Session(connection.session.store, sources=choose_sources(weights)).execute(COUNT)
        assert found.intervals[0].stderr[0] > 0.0
        assert sources_from_json({"confidence": 0.9, "weights": []}).to_json() == {}


@pytest.mark.usefixtures("_alone")
def test_several_surveys_and_censuses_need_the_package() -> None:
    both = "SELECT COUNT(*) FROM (SELECT * FROM app UNION ALL SELECT * FROM other) AS x"
    with population() as connection, pytest.raises(NotSupportedError, match=MISSING):
        other = design(survey_toml(integer("age", 0, 7), mechanism="grr", table="other"))
        connection.session.store.register(other)
        connection.execute(both)
    with (
        population(population="census") as connection,
        pytest.raises(NotSupportedError, match=MISSING),
    ):
        connection.execute(COUNT)


def test_settings_come_back_from_a_question_over_http() -> None:
    margins = pa.table({"age": ["0..3", "4+"], "people": [600, 400]})
    for settings in ({"weights": margins, "one_population": True}, {"census": True}):
        said = choose_sources(**settings).to_json()
        assert sources_from_json(said).to_json() == said
    with pytest.raises(ValueError, match="margins"):
        sources_from_json({"weights": [["file", ["age"], [[1]]]]})
