"""The worked examples of docs/architecture.md are all that a new unit takes."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from ldpsql import Survey, aggregates
from ldpsql.audit import audit_design
from ldpsql.designer import design
from ldpsql.recipes.registry import MECHANISMS
from ldpsql.simulation import simulate
from ldpsql_device.errors import SurveyError

PAGE = Path(__file__).parents[2] / "docs" / "architecture.md"


def example(word: str, names: dict[str, Any]) -> dict[str, Any]:
    """The names that the example holding a word defines, run where `names` are known."""
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    (block,) = (block for block in blocks if word in block)
    exec(block, names)
    return names


@pytest.mark.parametrize("package", ["ldpsql", "ldpsql_device"])
def test_every_room_is_on_the_page(package: str) -> None:
    text = PAGE.read_text(encoding="utf-8")
    tables = [line for line in text.splitlines() if line.startswith("| `")]
    listed = set(re.findall(r"`([a-z_]+)`", " ".join(tables)))
    folder = PAGE.parents[1] / "src" / package
    rooms = {path.stem for path in folder.glob("[a-z]*") if path.suffix in ("", ".py")}
    assert rooms <= listed


def test_an_aggregate_is_one_entry(monkeypatch: pytest.MonkeyPatch) -> None:
    known = example("SECOND_MOMENT", dict(vars(aggregates)))
    entries = (*aggregates.AGGREGATES, known["SECOND_MOMENT"])
    monkeypatch.setattr(aggregates, "AGGREGATES", entries)
    ages = np.random.default_rng(3).binomial(20, 0.3, 80_000)
    survey = """
        [survey]
        table = "people"
        epsilon = "4"
        mechanism = "hgrr"
        [dimension.age]
        type = "int"
        domain = [0, 20]
        """
    with simulate(design(survey), pa.table({"age": ages}), seed=4) as session:
        result = session.execute("SELECT SECOND_MOMENT(age) FROM people")
        (value,), error = result.fetchone(), float(result.estimates.stderr[0])
        assert abs(value - np.mean(ages**2)) < 5 * error < ages.var()


ARC_SURVEY = """
[survey]
table = "people"
epsilon = "2"
mechanism = "arc"
[survey.options]
width = WIDTH
[dimension.age]
type = "int"
domain = [0, 9]
"""


def test_a_mechanism_is_a_recipe_and_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    """The recipe of the page and its line in the registry are all that a survey, SQL and the exact
    audit need: answers are unbiased, and the interpreter follows the law of its plan."""
    module = ModuleType("ldpsql.recipes.arc")
    monkeypatch.setitem(sys.modules, module.__name__, module)
    monkeypatch.setitem(MECHANISMS, "arc", example("ARC = Arc()", vars(module))["ARC"])
    survey = design(ARC_SURVEY.replace("WIDTH", "3"))
    assert Survey.from_json(survey.to_json()) == survey

    audit = audit_design(survey.design, survey.options, device=True)
    assert audit.holds
    assert audit.method == "enumeration"
    assert audit.device is not None

    ages = np.random.default_rng(5).binomial(9, 0.3, 20_000)
    truth, rounds = int(((ages >= 2) & (ages <= 4)).sum()), 20
    deviations = []
    for seed in range(rounds):
        with simulate(survey, pa.table({"age": ages}), seed=seed) as session:
            result = session.execute("SELECT COUNT(*) FROM people WHERE age BETWEEN 2 AND 4")
            (value,), error = result.fetchone(), float(result.estimates.stderr[0])
            deviations.append((value - truth) / error)
    assert abs(np.mean(deviations)) < 4 / np.sqrt(rounds)
    assert 0.5 < np.var(deviations) < 2.0  # 1 in expectation; 0.32 is its standard error

    with pytest.raises(SurveyError, match="no divisor in common with it, not 2"):
        design(ARC_SURVEY.replace("WIDTH", "2"))
