"""Superset's engine specification. Superset itself is left out: it takes some 150 packages.

What is tested is its documented interface: the attributes and class methods of a
`BaseEngineSpec`, and that every time grain is SQL which ldpsql answers.
"""

from __future__ import annotations

import sys
from datetime import date, datetime, timedelta
from types import ModuleType

import pyarrow as pa
import pytest
from support.surveys import dimension, public, survey_toml

from ldpsql.designer import design
from ldpsql.workbench.superset import LdpsqlEngineSpec
from ldpsql_lab.simulation import simulate

SEEN = {"range": [date(2026, 1, 1), date(2026, 1, 14)], "unit": "hour"}
TOML = survey_toml(
    dimension("seen", "timestamp", **SEEN),
    public("sent", "timestamp"),
    public("day", "date"),
    epsilon="4",
    mechanism="hio",
)


@pytest.fixture(scope="module")
def connection():
    hours = [datetime(2026, 1, 1) + timedelta(hours=i % 300) for i in range(600)]
    people = {"seen": hours, "sent": hours, "day": [moment.date() for moment in hours]}
    with simulate(design(TOML), pa.table(people), seed=1) as opened:
        yield opened


@pytest.mark.parametrize("column", ["seen", "sent", "day"])
@pytest.mark.parametrize("grain", [*LdpsqlEngineSpec._time_grain_expressions])
def test_every_time_grain_is_answered(connection, column, grain):
    key = LdpsqlEngineSpec._time_grain_expressions[grain].format(col=column)
    rows = connection.execute(f"SELECT {key} AS t, COUNT(*) FROM app GROUP BY {key} ORDER BY t")
    times = [row[0] for row in rows]
    assert times == sorted(set(times))
    assert times[0].year in (2025, 2026)


@pytest.mark.parametrize(
    ("kind", "literal"),
    [
        ("DATE", "DATE '2026-01-02'"),
        ("TIMESTAMP", "TIMESTAMP '2026-01-02 03:00:00'"),
        ("DATETIME", "TIMESTAMP '2026-01-02 03:00:00'"),
        ("VARCHAR", None),
    ],
)
def test_times_are_literals_of_their_column(connection, kind, literal):
    assert LdpsqlEngineSpec.convert_dttm(kind, datetime(2026, 1, 2, 3)) == literal
    if literal:
        column = "day" if kind == "DATE" else "seen"
        asked = connection.execute(f"SELECT COUNT(*) FROM app WHERE {column} >= {literal}")
        assert asked.fetchone()[0] > 100


def test_it_is_superset_s_class_where_superset_is_there(monkeypatch):
    base = type("BaseEngineSpec", (), {})
    for name in ("superset", "superset.db_engine_specs", "superset.db_engine_specs.base"):
        monkeypatch.setitem(sys.modules, name, ModuleType(name))
    sys.modules["superset.db_engine_specs.base"].BaseEngineSpec = base
    monkeypatch.delitem(sys.modules, "ldpsql.workbench.superset")
    from ldpsql.workbench.superset import LdpsqlEngineSpec as spec  # noqa: PLC0415

    assert issubclass(spec, base)
    assert (spec.engine, spec.default_driver) == ("ldpsql", "file")
    assert date(2026, 1, 2).isoformat() in spec.convert_dttm("DATE", datetime(2026, 1, 2))
