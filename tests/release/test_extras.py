"""Whoever lacks a package is told which extra brings it: each with the package blocked."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from support.command_line import store_reports

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
DEVICE = tomllib.loads((ROOT / "device" / "pyproject.toml").read_text(encoding="utf-8"))["project"]

BLOCKED = """
import sys
from importlib.abc import MetaPathFinder

class Blocked(MetaPathFinder):
    def find_spec(self, fullname, *_):
        if fullname.split(".")[0] in {names!r}:
            raise ModuleNotFoundError(f"No module named {{fullname!r}}", name=fullname)

sys.meta_path.insert(0, Blocked())
{code}
"""
ASK = (
    "import ldpsql; ldpsql.connect('app.duckdb').sql('SELECT state, COUNT(*) FROM app GROUP BY 1')"
)


def run_without(names, code, folder):
    """What Python says on both streams without some packages."""
    text = BLOCKED.format(names=tuple(names), code=code)
    command = [sys.executable, "-c", text]
    done = subprocess.run(command, capture_output=True, text=True, cwd=folder, check=False)
    return done.stdout + done.stderr


def cli(*arguments):
    return f"from ldpsql.cli.main import main; sys.argv = ['ldpsql', *{arguments!r}]; main()"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("extras")
    store_reports(made / "app.duckdb", 500)
    return made


@pytest.mark.fast(2)
@pytest.mark.parametrize(
    ("package", "extra", "code"),
    [
        ("pandas", "ldpsql[pandas]", f"{ASK}.df()"),
        ("polars", "ldpsql[polars]", f"{ASK}.pl()"),
        ("matplotlib", "ldpsql[plot]", f"{ASK}.plot()"),
        ("starlette", "ldpsql[serve]", cli("serve", "--db", "app.duckdb", "--port", "0")),
        ("uvicorn", "ldpsql[serve]", cli("serve", "--db", "app.duckdb", "--port", "0")),
        ("cryptography", "ldpsql-device[sign]", cli("keygen", "author.key")),
        ("sqlalchemy", "ldpsql[sqlalchemy]", "import ldpsql.workbench.sqlalchemy"),
    ],
)
def test_the_extra_is_named(folder, package, extra, code):
    said = run_without([package], code, folder)
    assert re.search(rf"pip install '?{re.escape(extra)}", said), said
    assert "this is a bug" not in said


def test_extras_that_are_named_are_there():
    """And `all` holds every one but those for work on the project, and Spark with its Java."""
    extras = PROJECT["optional-dependencies"]
    everything, lab = sorted(extras["all"], key=lambda each: each.startswith("ldpsql-lab"))
    assert lab == f"ldpsql-lab=={PROJECT['version']}"
    named = set(re.fullmatch(r"ldpsql\[(.*)\]", everything)[1].split(","))
    assert named == set(extras) - {"all", "check", "docs", "release", "spark", "test"}
    assert {"sign"} <= set(DEVICE["optional-dependencies"])


NUMPY_ALONE = """
import json
from pathlib import Path
# What the interpreter's site loads, whatever runs, is not ours.
known = {{*(name.split(".")[0] for name in sys.modules), "numpy", "ldpsql_device"}}
known |= sys.stdlib_module_names
from ldpsql_device import answer, description, ledger, policy, survey
vector = json.loads(Path({vectors!r}).read_text())["surveys"][0]
asked = survey.Survey.from_json(json.dumps(vector["survey"]))
allowed, given = policy.Policy(20), ledger.Ledger("given.sqlite", total=20, per_attribute=20)
answer.respond(asked, vector["cases"][0]["record"], policy=allowed, ledger=given)
description.describe(asked)
print(sorted({{name.split(".")[0] for name in sys.modules}} - known - {{"__main__"}}))
"""


def test_a_device_loads_numpy_and_nothing_else(tmp_path):
    code = NUMPY_ALONE.format(vectors=str(ROOT / "vectors" / "recipe_fourier.json"))
    assert run_without(["pyarrow"], code, tmp_path) == "[]\n"
    assert DEVICE["dependencies"] == ["numpy>=2.0"]
