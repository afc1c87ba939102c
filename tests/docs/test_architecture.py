"""docs/architecture.md draws the rooms as they are; the examples of docs/extending.md are all that
a new unit takes."""

from __future__ import annotations

import re
import sys
from graphlib import CycleError
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from support.significance import normal_bound
from support.surveys import integer, survey_toml

from ldpsql import Survey
from ldpsql.audit import audit_design
from ldpsql.designer import design
from ldpsql.mechanisms.registry import MECHANISMS
from ldpsql.reports.channel import enumerate_law
from ldpsql.sql import aggregates
from ldpsql_device.errors import SurveyError
from ldpsql_lab.simulation import simulate
from tools import rooms

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "extending.md"


def example(word: str, names: dict[str, Any]) -> dict[str, Any]:
    """The names that the example holding a word defines, run where `names` are known."""
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    (block,) = (block for block in blocks if word in block)
    exec(block, names)
    return names


def test_the_drawing_of_the_rooms_is_what_the_imports_say() -> None:
    """And a drawing of other imports is not; every room is on the page."""
    modules = rooms.read_modules()
    floors = rooms.find_floors(rooms.draw_imports(modules))
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    assert rooms.draw(floors) in page
    assert rooms.draw({**floors, "ldpsql.engine": 1}) not in page
    named = set(re.findall(r"`([a-z_]+)`", page))
    found = {rooms.room_of(module).removeprefix("ldpsql.") for module in modules}
    assert found - {"ldpsql", "__main__"} <= named


def test_rooms_that_import_each_other_are_told() -> None:
    with pytest.raises(CycleError):
        rooms.find_floors({"a": {"b"}, "b": {"a"}})


def test_an_aggregate_is_one_entry(monkeypatch: pytest.MonkeyPatch) -> None:
    known = example("SECOND_MOMENT", dict(vars(aggregates)))
    entries = (*aggregates.AGGREGATES, known["SECOND_MOMENT"])
    monkeypatch.setattr(aggregates, "AGGREGATES", entries)
    ages = np.random.default_rng(3).binomial(20, 0.3, 80_000)
    survey = survey_toml(integer("age", 0, 20), table="people", epsilon="4", mechanism="hgrr")
    with simulate(design(survey), pa.table({"age": ages}), seed=4) as session:
        result = session.execute("SELECT SECOND_MOMENT(age) FROM people")
        (value,), error = result.fetchone(), float(result.estimates.stderr[0])
        assert abs(value - np.mean(ages**2)) < 5 * error < ages.var()


PEOPLE = 20_000


def arcs(width: int, epsilon: str = "2") -> Survey:
    given = {"table": "people", "epsilon": epsilon, "mechanism": "arc"}
    return design(survey_toml(integer("age", 0, 9), **given, options={"width": width}))


def test_a_mechanism_is_a_recipe_and_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    """The recipe of the page and its line in the registry are all that a survey, SQL and the exact
    audit need, which finds that the interpreter follows the law of its plan."""
    module = ModuleType("ldpsql.mechanisms.arc")
    monkeypatch.setitem(sys.modules, module.__name__, module)
    monkeypatch.setitem(MECHANISMS, "arc", example("ARC = Arc()", vars(module))["ARC"])
    survey = arcs(3)
    assert Survey.from_json(survey.to_json()) == survey

    audit = audit_design(survey.design, survey.options, device=True)
    assert audit.holds
    assert audit.method == "enumeration"
    assert audit.device is not None

    ages = np.random.default_rng(5).binomial(9, 0.3, PEOPLE)
    with simulate(survey, pa.table({"age": ages}), seed=1) as session:
        result = session.execute("SELECT COUNT(*) FROM people WHERE age BETWEEN 2 AND 4")
        (value,), error = result.fetchone(), float(result.estimates.stderr[0])
    assert abs(value - np.count_nonzero((ages >= 2) & (ages <= 4))) < normal_bound() * error

    # Estimates are unbiased where the collector's probabilities are those of the plan; the negative
    # control takes the odds for a tenth lower than they are.
    law = np.array(enumerate_law(survey.design.plan).probabilities, dtype=float).T
    other = arcs(3, "1.9").design
    assert survey.design.channel.matrix == pytest.approx(law, abs=1e-12)
    assert other.channel.matrix != pytest.approx(law, abs=1e-12)
    with pytest.raises(SurveyError, match="no divisor in common with it, not 2"):
        arcs(2)
