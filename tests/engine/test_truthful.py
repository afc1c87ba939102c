"""A survey by a prior: SQL about what its reports cannot tell apart is refused."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from ldpsql.designer import design
from ldpsql.errors import UnsupportedSQL
from ldpsql_lab.simulation import simulate

TOML = """
[survey]
table = "app"
epsilon = "2"
mechanism = "truthful"
[survey.options]
prior = [0.5, 0.4, 0.05, 0.05]
[dimension.job]
type = "category"
values = ["clerk", "cook", "diver", "pilot"]
"""
PEOPLE = 4_000


@pytest.fixture(scope="module")
def connection():
    jobs = np.repeat(["clerk", "cook", "diver", "pilot"], [2_400, 1_000, 400, 200])
    with simulate(design(TOML), pa.table({"job": jobs}), seed=1) as found:
        yield found


def test_what_reports_tell_apart_is_answered(connection):
    row = connection.execute("SELECT COUNT(*), STDERR(COUNT(*)) FROM app WHERE job = 'clerk'")
    value, error = row.fetchone()
    assert abs(value - 2_400) < 5 * error < 500
    everybody = connection.execute("SELECT COUNT(*) FROM app").fetchone()
    assert everybody == (PEOPLE,)


@pytest.mark.parametrize(
    "where", ["job = 'diver'", "job IN ('cook', 'diver')", "job = 'clerk' OR job = 'cook'"]
)
def test_what_they_do_not_is_refused(connection, where):
    with pytest.raises(UnsupportedSQL, match="cannot estimate how many people have the codes"):
        connection.execute(f"SELECT COUNT(*) FROM app WHERE {where}")


def test_grouping_by_it_is_refused(connection):
    with pytest.raises(UnsupportedSQL, match="reported as one"):
        connection.execute("SELECT job, COUNT(*) FROM app GROUP BY job")
