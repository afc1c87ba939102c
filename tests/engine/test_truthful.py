"""A survey by a prior: SQL about what its reports cannot tell apart is refused."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from support.surveys import category, survey_toml

from ldpsql.designer import design
from ldpsql.errors import UnsupportedSQL
from ldpsql_lab.simulation import simulate

JOBS = ("clerk", "cook", "diver", "pilot")
PRIOR = {"prior": [0.5, 0.4, 0.05, 0.05]}
TOML = survey_toml(category("job", *JOBS), epsilon="2", mechanism="truthful", options=PRIOR)
PEOPLE = 4_000


@pytest.fixture(scope="module")
def connection():
    jobs = np.repeat(JOBS, [2_400, 1_000, 400, 200])
    with simulate(design(TOML), pa.table({"job": jobs}), seed=1) as found:
        yield found


def test_what_reports_tell_apart_is_answered(connection):
    row = connection.execute("SELECT COUNT(*), STDERR(COUNT(*)) FROM app WHERE job = 'clerk'")
    value, error = row.fetchone()
    assert abs(value - 2_400) < 5 * error < 500
    everybody = connection.execute("SELECT COUNT(*) FROM app").fetchone()
    assert everybody == (PEOPLE,)


def test_what_they_do_not_is_refused(connection):
    for where in ("job = 'diver'", "job IN ('cook', 'diver')", "job = 'clerk' OR job = 'cook'"):
        with pytest.raises(UnsupportedSQL, match="cannot estimate how many people have the codes"):
            connection.execute(f"SELECT COUNT(*) FROM app WHERE {where}")
    with pytest.raises(UnsupportedSQL, match="reported as one"):
        connection.execute("SELECT job, COUNT(*) FROM app GROUP BY job")
