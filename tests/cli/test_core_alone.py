"""README's session with the core and the room `randomize` alone: nothing else is needed for it,
and what needs more says so."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

README = Path(__file__).parents[2] / "README.md"
ALONE = """
import json
import sys
from importlib import metadata
from importlib.abc import MetaPathFinder

ROOMS = (
    *("server", "spark", "shuffler", "sensitive", "marginals", "population", "synthesis"),
    "workbench",
)
ABSENT = ("ldpsql_lab", *(f"ldpsql.{room}" for room in ROOMS))

def is_absent(name):
    return any(f"{name}.".startswith(f"{room}.") for room in ABSENT)

class Wall(MetaPathFinder):
    def find_spec(self, fullname, *_):
        if is_absent(fullname):
            raise ModuleNotFoundError(fullname, name=fullname)

found = metadata.entry_points

def entry_points(**asked):
    return metadata.EntryPoints(each for each in found(**asked) if not is_absent(each.module))

sys.meta_path.insert(0, Wall())
metadata.entry_points = entry_points
from click.testing import CliRunner
from ldpsql.cli.main import cli
for words in json.loads(sys.argv[1]):
    done = CliRunner().invoke(cli, words)
    print(json.dumps([done.exit_code, done.stdout, done.stderr]))
"""


SESSION = (
    ("demo", "--table", "people.parquet"),
    ("design", "survey.toml", "--users", "45000", "-o", "people.survey.json"),
    ("randomize", "people.parquet", "--survey", "people.survey.json", "-o", "reports.parquet"),
    ("ingest", "reports.parquet", "--db", "people.duckdb"),
    ("--db", "people.duckdb", "SELECT COUNT(*) AS thirties FROM people WHERE age < 40"),
)
LACKING = {
    ("demo",): "the whole demo",
    ("audit", "--mechanism", "grr", "--epsilon", "1", "--domain", "4"): "the audit of a de",
    ("serve",): "the command serve",
}


@pytest.fixture(scope="module")
def said(tmp_path_factory):
    """What commands say where other side rooms and the lab are not installed."""
    folder = tmp_path_factory.mktemp("alone")
    toml = re.search(r"```toml\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)
    (folder / "survey.toml").write_text(toml[1], encoding="utf-8")
    commands = [*SESSION, *LACKING]
    command = [sys.executable, "-c", ALONE, json.dumps(commands)]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)
    return dict(zip(commands, map(json.loads, done.stdout.splitlines()), strict=True))


def test_readme_session_needs_no_other_room(said):
    for words in SESSION:
        assert said[words][0] == 0, said[words]
    (note,) = (line for line in said[SESSION[1]][1].splitlines() if "not installed" in line)
    assert note.split(": ")[1].startswith("ldpsql.sensitive, ldpsql.marginals, ldpsql_lab;")
    assert re.search(r"\d+ ± \d+", said[SESSION[-1]][1])


def test_what_is_not_installed_is_one_line(said):
    for words, needs in LACKING.items():
        code, _, errors = said[words]
        (line,) = (line for line in errors.splitlines() if "not installed" in line)
        assert needs in line
        assert "`pip install 'ldpsql[all]'` brings it" in line
        assert code in (1, 2)
