"""The shipped description against a running collector, by schemathesis, where it is installed."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from support.http import fetch, serving
from support.shuffled_survey import SCHEMA, raw_reports

from ldpsql.server.tokens import Tokens
from ldpsql.store import open_store
from ldpsql.survey import Survey

SURVEY = Survey.of("people", SCHEMA, "2", "hio")
CHECKS = (
    "not_a_server_error,status_code_conformance,content_type_conformance,"
    "response_schema_conformance"
)


def memory(process):
    """Resident, in kB."""
    lines = Path(f"/proc/{process.pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS"))


@pytest.mark.slow
def test_no_request_makes_a_fault_and_none_makes_it_grow(tmp_path):
    program = shutil.which("schemathesis")
    if program is None:
        pytest.skip("schemathesis is not there: requests that it would make up were left out")
    if not Path("/proc/self/status").exists():
        pytest.skip("memory of another process is read as Linux has it")
    db = tmp_path / "s.duckdb"
    with open_store(db, read_only=False) as store:
        store.ingest_table(raw_reports(SURVEY, 500), SURVEY)
    token = Tokens.beside(db).add("eve", "admin")
    own = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    with serving("--db", str(db)) as (process, address):
        found = []
        for seed in ("1", "2"):
            command = [program, "run", f"{address}/openapi.json", "-c", CHECKS, "-n", "25"]
            command += ["-H", f"Authorization: Bearer {token}", "--seed", seed]
            ran = subprocess.run(command, capture_output=True, text=True, check=False, env=own)
            assert ran.returncode == 0, ran.stdout[-4000:]
            found.append(memory(process))
        assert fetch(f"{address}/healthz").json == {"status": "ok", "waiting": 0}
    assert found[1] < 1.25 * found[0]
