"""What rows suggest for a survey file: only where somebody asks for it, and rounded."""

from __future__ import annotations

import tomllib
from datetime import date, datetime, timedelta

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq
import pytest
from support.command_line import refusal, run

from ldpsql.designer import design
from ldpsql.designer.proposals import propose, round_edges, round_limits

ROWS = 4_000


def table() -> pa.Table:
    random = np.random.default_rng(11)
    day = date(2026, 1, 9)
    income = np.round(np.exp(random.normal(10.0, 1.0, ROWS)), 2)
    return pa.table(
        {
            "id": np.arange(ROWS),
            "Age of child": random.integers(0, 18, ROWS) + 1,
            "hours": random.integers(3, 88, ROWS),
            "income": pa.array(income, mask=random.random(ROWS) < 0.1),
            "pay": random.choice([1, 2, 3, 4, 99], ROWS, p=[0.5, 0.3, 0.1, 0.0995, 0.0005]),
            "gain": np.where(random.random(ROWS) < 0.9, 0, random.integers(0, 9_000, ROWS)),
            "kind": random.choice(["\x7fa", 'b"\\', "c"], ROWS),
            "name": [f"person {row}" for row in range(ROWS)],
            "member": random.random(ROWS) < 0.5,
            "born": [day + timedelta(days=int(d)) for d in random.integers(0, 20, ROWS)],
            "seen": [datetime(2020, 5, 4) + timedelta(hours=h) for h in range(ROWS)],
            "same": [7] * ROWS,
            "empty": pa.nulls(ROWS),
        }
    )


@pytest.fixture(scope="module", params=["parquet", "csv"])
def written(request, tmp_path_factory):
    """What is proposed for a file, and where it is written."""
    folder = tmp_path_factory.mktemp("proposals")
    data, target = folder / f"shop.{request.param}", folder / "shop.toml"
    write = pq.write_table if request.param == "parquet" else pacsv.write_csv
    write(table().drop_columns(["empty"]) if request.param == "csv" else table(), data)
    shown = run("schema", data, "--from-values", "-o", target)
    assert shown.exit_code == 0
    assert "confirm each from what is publicly known" in shown.stderr
    return target


def test_a_number_is_a_dimension_and_a_measure_and_codes_are_categories(written):
    survey = tomllib.loads(written.read_text())
    dimensions, measures = survey["dimension"], survey["measure"]
    assert set(measures) == {"hours", "income", "gain"}
    assert measures["hours"] == {"bounds": [0, 90], "required": True}
    assert dimensions["hours"] == {"type": "int", "domain": [0, 90]}
    assert "required" not in measures["income"]
    assert dimensions["income"]["missing"] == "code"
    edges = dimensions["income"]["edges"]
    assert [edges[0], edges[-1]] == measures["income"]["bounds"]
    assert all(f"{edge:.2g}" == f"{edge:.3g}" for edge in edges)
    assert len(dimensions["gain"]["edges"]) > 8
    # The one that fewer than five hold is not listed.
    assert dimensions["pay"]["values"] == [1, 2, 3, 4]
    assert dimensions["pay"]["outside"] == "other"
    assert dimensions["kind"]["values"] == ['b"\\', "c", "\x7fa"]
    assert dimensions["age_of_child"]["label"] == "Age of child"
    assert dimensions["born"] == {
        "type": "date",
        "range": ["2026-01-01", "2026-01-31"],
        "unit": "day",
    }
    assert dimensions["seen"]["range"] == ["2020-05-01", "2020-10-31"]
    assert dimensions["seen"]["unit"] == "week"
    assert not {"id", "name", "same", "empty"} & set(dimensions)


def test_the_file_says_where_it_comes_from(written):
    text = written.read_text()
    assert (
        "# WARNING: every bound, edge, value and missing code below was read from the rows" in text
    )
    assert "# name is left out: too many different values" in text
    assert "# id is left out: no value twice" in text
    assert "person 1" not in text


@pytest.mark.fast(1)
def test_it_can_be_designed_as_written(written):
    assert design(written).table == "shop"


def test_without_being_asked_no_value_is_read(written, tmp_path):
    text = run("schema", next(written.parent.glob("shop.[pc]*"))).stdout
    assert "# [measure.hours]" in text
    for secret in ("2026-01-09", "99", "person"):
        assert secret not in text.split("[survey]")[1].split("[dimension.id]")[1]


def test_a_file_that_ends_early_is_refused(tmp_path):
    path = tmp_path / "cut.csv"
    path.write_text("a,b\n1,2\n3\n")
    assert "damaged or cut short" in refusal(run("schema", path, "--from-values"), 1)


def test_what_cannot_be_proposed_is_left_out_with_a_reason():
    assert propose("float", pa.array([np.nan, np.inf, 1.0])).dimension is None
    assert propose("category", pa.array(["a", "b"])).reason.startswith("too many")
    assert propose("float", pa.array([1e300, -1e300] * 9)).reason.endswith("out of reach")
    assert propose("timestamp", pa.array([datetime(2020, 1, 1)] * 9)).dimension is None


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [(17, 83, (10, 90)), (-84, 2989, (-500, 3000)), (3, 4, (3, 4)), (1987, 2026, (1985, 2030))],
)
def test_limits_are_rounded_apart(low, high, expected):
    assert round_limits(low, high, is_whole=True) == expected


def test_edges_increase_and_lie_between_the_limits():
    quantiles = np.quantile(np.exp(np.linspace(-3, 9, 1_000)), np.linspace(0, 1, 17))
    edges = round_edges(quantiles, 0.0, 9_000.0, is_whole=False)
    assert edges == sorted(set(edges))
    assert (edges[0], edges[-1]) == (0.0, 9_000.0)
