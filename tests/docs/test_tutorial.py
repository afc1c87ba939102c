"""The tutorial notebook runs from its first cell to its last, in a notebook's own shell."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

NOTEBOOK = Path(__file__).parents[2] / "docs" / "tutorial.ipynb"


def cells_of(kind):
    cells = json.loads(NOTEBOOK.read_text(encoding="utf-8"))["cells"]
    return ["".join(cell["source"]) for cell in cells if cell["cell_type"] == kind]


@pytest.fixture(scope="module")
def ran(tmp_path_factory):
    """What every cell of code gave, and the shell afterwards."""
    shells = pytest.importorskip("IPython.core.interactiveshell")
    pytest.importorskip("pandas")
    pytest.importorskip("matplotlib")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("IPYTHONDIR", str(tmp_path_factory.mktemp("ipython")))
        shell = shells.InteractiveShell()
        results = []
        for cell in cells_of("code"):
            done = shell.run_cell(cell)
            done.raise_error()
            results.append(done.result)
        yield results, shell
        shell.history_manager.end_session()


@pytest.mark.slow
def test_every_cell_runs(ran):
    assert len(ran[0]) == len(cells_of("code")) == 8


@pytest.mark.slow
def test_the_answers_are_about_the_people(ran):
    results, shell = ran
    table = shell.user_ns["table"]
    assert list(table["truth"]) == [14_695, 30_527]
    assert all(abs(table["n"] - table["truth"]) < 6 * table["n_stderr"])
    shown = next(r for r in results if hasattr(r, "_repr_html_") and not hasattr(r, "iloc"))
    assert "±" in shown._repr_html_()
    (reports,) = (r for r in results if isinstance(r, list))
    assert not {"age", "sex", "hours_per_week"} & set(reports[0])


def test_what_it_links_to_is_there():
    links = re.findall(r"\]\(([^)#]+)", "".join(cells_of("markdown")))
    assert links
    assert all((NOTEBOOK.parent / link).exists() for link in links)


def test_it_holds_no_outputs():
    """They would differ in every run."""
    cells = json.loads(NOTEBOOK.read_text(encoding="utf-8"))["cells"]
    assert not any(cell.get("outputs") or cell.get("execution_count") for cell in cells)
