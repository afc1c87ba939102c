"""The worked examples of docs/architecture.md are all that a new unit takes."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from ldpsql import aggregates, domains
from ldpsql.designer import design
from ldpsql.simulation import simulate

PAGE = Path(__file__).parents[2] / "docs" / "architecture.md"


def example(word: str, names: dict[str, Any]) -> dict[str, Any]:
    """The names that the example holding a word defines, run where `names` are known."""
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    (block,) = (block for block in blocks if word in block)
    exec(block, names)
    return names


def test_an_aggregate_is_one_entry(monkeypatch: pytest.MonkeyPatch) -> None:
    known = example("VAR_POP", {**vars(aggregates), "domain_labels": domains.domain_labels})
    entries = (*aggregates.AGGREGATES, known["VARIANCE"])
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
        result = session.execute("SELECT VAR_POP(age) FROM people")
        (value,), error = result.fetchone(), float(result.estimates.stderr[0])
        assert abs(value - ages.var()) < 5 * error < ages.var()
