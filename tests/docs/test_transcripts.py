"""The transcripts of README and docs are what the commands print."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest
from support.transcripts import (
    DATABASE,
    ROOT,
    agree,
    files_of,
    prepare,
    run_python,
    run_step,
    steps_of,
)

README = ROOT / "README.md"
PAGES = [
    page for page in sorted((ROOT / "docs").rglob("*.md")) if steps_of(page.read_text("utf-8"))
]


def check(page: Path) -> None:
    """Every command of a page, in the current folder; the first that differs fails. Those of README
    run as they are typed, with nothing in the environment."""
    database = None if page == README else DATABASE
    for step in steps_of(page.read_text(encoding="utf-8")):
        shown = run_step(step, database)
        if not agree(step.output, shown):
            lines = [f"{page.name}:{step.line}", *step.output, "-- prints", *shown]
            pytest.fail("\n".join(lines), pytrace=False)


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which the commands of README ran."""
    folder = tmp_path_factory.mktemp("readme")
    prepare(folder, README)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        check(README)
    return folder


def test_readme(session: Path) -> None:
    assert (session / "people.duckdb").exists()


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_docs(page: Path, session: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """After README, whose files they may use."""
    folder = tmp_path / "docs"
    shutil.copytree(session, folder)
    prepare(folder, README, page)
    monkeypatch.chdir(folder)
    check(page)


def test_the_python_of_readme_runs(
    session: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """A device answers from the survey file alone; the collector asks what was ingested."""
    blocks = re.findall(r"```python\n(.*?)```", README.read_text("utf-8"), re.DOTALL)
    device, collector = blocks
    shutil.copy(session / "people.survey.json", tmp_path)
    monkeypatch.chdir(tmp_path)
    sent: list[str] = []
    shown: list[str] = []
    for _ in range(2):
        exec(device, {"send": sent.append, "show": shown.append})
    assert "a belief of 50 % about your answers can rise to 89 % at most" in " ".join(
        shown[0].split()
    )
    assert sent[0] == sent[1]  # the ledger gives the same report again
    assert set(json.loads(sent[0])) == {"id", "report", "public"}
    monkeypatch.chdir(session)
    exec(collector, {})
    value, error = map(float, re.findall(r"\d+\.\d+", capsys.readouterr().out))
    assert 100 < error < value < 45_222


def test_the_python_page(session: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """After README, whose database it asks."""
    for package in ("sqlalchemy", "pandas", "polars"):
        pytest.importorskip(package)
    shutil.copy(session / "people.duckdb", tmp_path)
    monkeypatch.chdir(tmp_path)
    examples = list(run_python((ROOT / "docs" / "python.md").read_text("utf-8")))
    assert len(examples) > 20
    for line, wanted, printed in examples:
        if not agree(wanted, printed):
            lines = [f"python.md:{line}", *wanted, "-- prints", *printed]
            pytest.fail("\n".join(lines), pytrace=False)


PAGE = """
```toml
# survey.toml
[survey]
```
<!-- transcript: last -->
```
$ ldpsql "SELECT 1"
1
```
text
```
$ ldpsql schema x
a
$ ldpsql y
b
c
```
"""


def test_a_page_is_files_and_steps() -> None:
    assert files_of(PAGE) == {"survey.toml": "# survey.toml\n[survey]\n"}
    steps = [(step.line, step.command, step.output) for step in steps_of(PAGE)]
    assert steps == [
        (13, "ldpsql schema x", ["a"]),
        (15, "ldpsql y", ["b", "c"]),
        (8, 'ldpsql "SELECT 1"', ["1"]),
    ]


@pytest.mark.parametrize(
    ("documented", "shown", "same"),
    [
        ("n  14830 ± 650", "n  14400 ± 640", True),
        ("n  14830 ± 650", "n  10830 ± 650", False),
        ("n  14830 ± 650", "n  14830 ± 1350", False),
        ("n  14830 ± 650", "m  14830 ± 650", False),
        ("n  14830 ± 650", "n  14,830 [1, 2]", False),
        ("----  ------", "---  ---------", True),
        ("survey app (0123456789ab)", "survey app (ba9876543210)", True),
        ("predicted standard error: 662.6", "predicted standard error: 662.7", False),
        ("standard error of these reports: 682.1", "standard error of these reports: 670", True),
    ],
)
def test_random_numbers_may_differ_and_nothing_else(
    documented: str, shown: str, same: bool
) -> None:
    assert agree([documented], [shown]) is same
    assert not agree([documented], [shown, shown])


def test_lines_may_be_left_out_where_the_page_says_so() -> None:
    assert agree(["a", "...", "d"], ["a", "b", "c", "d"])
    assert agree(["...", "b", "..."], ["a", "b"])
    assert not agree(["a", "...", "d"], ["a", "b", "c"])
    assert not agree(["b", "..."], ["a", "b"])
    assert not agree(["a", "...", "a"], ["a"])
