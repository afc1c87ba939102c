"""README's session with the core and the room `randomize` alone: nothing else is needed for it."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

README = Path(__file__).parents[2] / "README.md"
ALONE = """
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
from ldpsql.__main__ import main
main()
"""


@pytest.fixture
def alone(tmp_path):
    """Runs a command where other side rooms and the lab are not installed."""

    def run(*words):
        return subprocess.run(
            [sys.executable, "-c", ALONE, *words],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
        )

    return run


def test_readme_session_needs_no_other_room(alone, tmp_path):
    toml = re.search(r"```toml\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)
    (tmp_path / "survey.toml").write_text(toml[1], encoding="utf-8")
    session = (
        ("demo", "--table", "people.parquet"),
        ("design", "survey.toml", "--users", "45000", "-o", "people.survey.json"),
        ("randomize", "people.parquet", "--survey", "people.survey.json", "-o", "reports.parquet"),
        ("ingest", "reports.parquet", "--db", "people.duckdb"),
        ("--db", "people.duckdb", "SELECT COUNT(*) AS thirties FROM people WHERE age < 40"),
    )
    said = []
    for words in session:
        done = alone(*words)
        assert done.returncode == 0, done.stderr
        said.append(done.stdout)
    (note,) = (line for line in said[1].splitlines() if "not installed" in line)
    assert note.split(": ")[1].startswith("ldpsql.sensitive, ldpsql.marginals, ldpsql_lab;")
    assert re.search(r"\d+ ± \d+", said[-1])


@pytest.mark.parametrize(
    ("words", "needs"),
    [
        (("demo",), "the whole demo"),
        (("audit", "--mechanism", "grr", "--epsilon", "1", "--domain", "4"), "the audit of a de"),
        (("serve",), "the command serve"),
    ],
)
def test_what_is_not_installed_is_one_line(alone, words, needs):
    done = alone(*words)
    (line,) = (line for line in done.stderr.splitlines() if "not installed" in line)
    assert needs in line
    assert "`pip install 'ldpsql[all]'` brings it" in line
    assert done.returncode in (1, 2)
