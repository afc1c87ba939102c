"""JupySQL's magics over the dialect, in an IPython of its own: questions, parameters, plots."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib.util import find_spec

import pytest
from support.surveys import ANYTHING, category, integer, survey_toml, visitors

import ldpsql
from ldpsql.designer import design
from ldpsql.randomize.table import randomize_batch
from ldpsql_lab.simulation import SeededEntropy

pytestmark = pytest.mark.skipif(
    find_spec("sql") is None or find_spec("IPython") is None,
    reason="left out: jupysql and ipython are not installed (pip install jupysql ipython)",
)

SCRIPT = """
import json, sys, warnings
import matplotlib; matplotlib.use("agg")
from IPython.core.interactiveshell import InteractiveShell
shell = InteractiveShell.instance()

def run(cell):
    done = shell.run_cell(cell)
    done.raise_error()
    return done.result

run("%load_ext sql")
run("%config SqlMagic.displaycon = False")
run("%config SqlMagic.feedback = 0")
run("%config SqlMagic.named_parameters = 'enabled'")
run(f"%sql ldpsql:///{sys.argv[1]}")
counts = run("%sql SELECT state, COUNT(*) AS n FROM app GROUP BY state ORDER BY state")
run("young = 4")
given = run("%sql SELECT COUNT(*) AS n FROM app WHERE age < :young")
run("%%sql --save ages\\nSELECT age, COUNT(*) AS n FROM app GROUP BY age ORDER BY age")
bars = run("%sqlplot bar --table ages --column age n")
run("import matplotlib.pyplot; matplotlib.pyplot.close('all')")
states = run("%sqlplot bar --table app --column state")
columns = run("%sqlcmd columns --table app")
print("---", json.dumps({
    "counts": counts.DataFrame().to_dict("list"),
    "given": given.DataFrame()["n"].tolist(),
    "bars": sorted(bar.get_height() for bar in bars.patches),
    "states": len(states.patches),
    "columns": str(columns),
}))
"""


@pytest.mark.slow
def test_magics_ask_with_parameters_and_draw(tmp_path):
    columns = (integer("age", 0, 9), category("state", "CA", "NY"))
    survey = design(survey_toml(*columns, epsilon="4", mechanism="hio"))
    reports = randomize_batch(survey, visitors(2000), SeededEntropy(1), policy=ANYTHING)[0]
    path = tmp_path / "app.duckdb"
    with ldpsql.connect(path, new=True) as connection:
        connection.ingest(reports, survey=survey)
        by_state = connection.execute("SELECT state, COUNT(*) FROM app GROUP BY state ORDER BY 1")
        by_state = dict(by_state.fetchall())
        young = connection.execute("SELECT COUNT(*) FROM app WHERE age < 4").fetchone()[0]
        ages = connection.execute("SELECT COUNT(*) FROM app GROUP BY age").fetchall()
    # JupySQL would tell its makers of every use, and keeps its settings in the home folder.
    quiet = {"PLOOMBER_STATS_ENABLED": "false", "HOME": str(tmp_path), "MPLBACKEND": "agg"}
    ran = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", SCRIPT, str(path)],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
        env={**os.environ, **quiet},
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    shown = json.loads(ran.stdout.split("--- ")[-1].splitlines()[0])
    assert dict(zip(shown["counts"]["state"], shown["counts"]["n"], strict=True)) == by_state
    assert shown["given"] == [young]
    assert shown["bars"] == pytest.approx(sorted(n for (n,) in ages))
    assert shown["states"] == 2
    assert {"age", "state"} <= set(shown["columns"].split())
