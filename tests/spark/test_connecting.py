"""Ways to a folder of reports: an address, a session, and the command line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from support.command_line import refusal, run
from support.surveys import ANYTHING, app, people

import ldpsql
from ldpsql.randomize.table import randomize_batch
from ldpsql_device.errors import InterfaceError
from ldpsql_lab.simulation import SeededEntropy

SQL = "SELECT state, COUNT(*) AS n FROM app GROUP BY state ORDER BY state"

pytestmark = pytest.mark.spark


@pytest.fixture
def published(tmp_path: Path) -> Path:
    """A survey's file, with both parts, and a folder of reports beside it."""
    survey, folder = app(), tmp_path / "reports"
    folder.mkdir()
    reports, _ = randomize_batch(survey, people(2_000), SeededEntropy(1), policy=ANYTHING)
    pq.write_table(reports.slice(0, 1_500), folder / "1.parquet")
    pq.write_table(reports.slice(1_500), folder / "2.parquet")
    path = tmp_path / "app.survey.json"
    path.write_text(survey.to_json())
    return path


def test_an_address_a_session_and_the_command_line_answer_alike(
    spark: Any, published: Path
) -> None:
    folder = published.parent / "reports"
    address = f"spark://{folder}/?survey={published}"
    with ldpsql.connect(address) as connection:
        answer = connection.execute(SQL).result.table.to_pydict()
    assert sum(answer["n"]) == pytest.approx(2_000, rel=0.2)
    with ldpsql.connect(spark=spark, reports=folder, survey=app()) as connection:
        assert connection.execute(SQL).result.table.to_pydict() == answer
    shown = run("--db", f"spark://{folder}", "--format", "json", SQL)
    assert shown.exit_code == 0, shown.stderr
    assert [row["n"] for row in json.loads(shown.stdout)["rows"]] == pytest.approx(
        answer["n"], rel=1e-6
    )


@pytest.mark.slow
def test_what_cannot_be_reached_is_said_in_one_line(spark: Any, published: Path) -> None:
    nowhere = published.parent / "x"
    assert refusal(run("--db", f"spark://{nowhere}", SQL), 3).startswith(
        f"there is no folder {nowhere}"
    )
    with pytest.raises(InterfaceError, match="takes both spark=session and reports=folder"):
        ldpsql.connect(spark=spark)
    with pytest.raises(InterfaceError, match="give either"):
        ldpsql.connect("app.duckdb", spark=spark, reports=nowhere)
