"""Mechanisms by name, those that other distributions bring among them."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.command_line import refusal, run, words_of
from support.surveys import integer, survey_toml

from ldpsql import extensions
from ldpsql.mechanisms import registry
from ldpsql.mechanisms.registry import GROUP, MECHANISMS, mechanism
from ldpsql_device.errors import SurveyError
from ldpsql_lab.bench import harness

PAGE = Path(__file__).parents[2] / "docs" / "extending.md"


def forget():
    """Have entry points be looked for anew."""
    extensions.installed.cache_clear()
    extensions.load.cache_clear()
    MECHANISMS.data, MECHANISMS._is_complete = dict.fromkeys(registry._CORE), False


@pytest.fixture
def site(tmp_path, monkeypatch):
    """A folder as pip leaves it; what is imported from there is forgotten afterwards."""
    folder = tmp_path / "site"
    folder.mkdir()
    monkeypatch.syspath_prepend(str(folder))
    before = set(sys.modules)
    forget()
    yield folder
    forget()
    for name in set(sys.modules) - before:
        if name.startswith("brought"):
            del sys.modules[name]


def bring(site, name="arc", value="brought_arc:ARC", distribution="brought"):
    """Metadata of a distribution with one entry point."""
    info = site / f"{distribution}-0.1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {distribution}\nVersion: 0.1\n")
    (info / "entry_points.txt").write_text(f"[{GROUP}]\n{name} = {value}\n")


def write_arc(site, file="brought_arc.py"):
    """The mechanism of docs/extending.md as a module of its own."""
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    (code,) = (block for block in blocks if "ARC = Arc()" in block)
    (site / file).parent.mkdir(exist_ok=True)
    (site / file).write_text(code, encoding="utf-8")


def test_an_installed_mechanism_is_compared_and_audited(site, tmp_path, monkeypatch):
    """By its name, in a survey file, in `bench` and in `audit`; `auto` meets it, for it
    competes."""
    monkeypatch.chdir(tmp_path)
    write_arc(site)
    bring(site)
    Path("age.toml").write_text(survey_toml(integer("age", 0, 9), mechanism="arc", epsilon="1"))
    ages = np.random.default_rng(1).binomial(9, 0.4, 3000)
    pq.write_table(pa.table({"age": ages}), "people.parquet")
    made = run("design", "age.toml", "-o", "age.json")
    assert made.exit_code == 0, made.stderr
    audited = run("audit", "age.json")
    assert (audited.exit_code, "the promise holds" in audited.stdout) == (0, True)
    compare = (
        *("bench", "people.parquet", "--survey", "age.toml", "--mechanisms", "arc:width=3,grr"),
        *("--predicates", "1", "--queries", "4", "--jobs", "1", "--cases", "cases"),
    )
    compared = run(*compare)
    assert compared.exit_code == 0, compared.stderr
    assert re.search(r"^arc:width=3 .*%", compared.stdout, re.MULTILINE)
    chosen = run("design", "age.toml", "--mechanism", "auto", "-v", "-o", "auto.json")
    assert (chosen.exit_code, "arc" in words_of(chosen.stdout).split()) == (0, True)


@pytest.mark.parametrize("module", ["brought_arc", "brought_space.arc"])
def test_finished_runs_of_an_installed_mechanism_are_those_of_its_source(site, module):
    """Whoever changes a recipe compares anew; the others' source is that of this project. A folder
    without __init__.py is a namespace package."""
    file = f"{module.replace('.', '/')}.py"
    write_arc(site, file)
    bring(site, value=f"{module}:ARC")
    digest = harness._digest_of_recipe("arc")
    assert harness._digest_of_recipe("arc") == digest
    with (site / file).open("a") as code:
        code.write("# another version\n")
    assert harness._digest_of_recipe("arc") != digest


def test_an_unknown_name_names_installed_ones_too(site):
    write_arc(site)
    bring(site)
    with pytest.raises(SurveyError, match=r"^unknown mechanism 'arx'; did you mean arc\? there"):
        mechanism("arx")


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        (
            "brought_nowhere:ARC",
            r"cannot be loaded from brought_nowhere:ARC \(ModuleNotFoundError: No module named",
        ),
        ("brought_arc:ARK", r"cannot be loaded from brought_arc:ARK \(Attr.*no attribute 'ARK'"),
        ("brought_arc:Arc", "what is installed is not a recipe called arc"),
    ],
)
def test_a_broken_distribution_is_refused(site, value, problem):
    write_arc(site)
    bring(site, value=value)
    with pytest.raises(SurveyError, match=f"^mechanism arc.* {problem}|^mechanism arc: {problem}"):
        mechanism("arc")


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("1 / 0", "ZeroDivisionError: division by zero"),
        ("raise SystemExit('bye')", "SystemExit: bye"),
        ("raise ImportError('two\\n  lines')", "ImportError: two lines"),
        ("this is no Python", "SyntaxError: invalid syntax .*"),
        ("raise KeyError('x' * 9999)", "KeyError: 'x{100,190}"),
    ],
)
def test_a_distribution_that_fails_is_one_line(site, tmp_path, monkeypatch, code, said):
    """Whatever its code raises where it is imported."""
    monkeypatch.chdir(tmp_path)
    (site / "brought_arc.py").write_text(code)
    bring(site)
    Path("age.toml").write_text(survey_toml(integer("age", 0, 9), mechanism="arc", epsilon="1"))
    line = refusal(run("design", "age.toml"), 1)
    assert re.search(rf"^mechanism arc cannot be loaded .* \({said}\); update or uninstall", line)


def test_a_recipe_under_another_name_is_refused(site):
    """The collector's part would name what nobody finds again."""
    write_arc(site)
    bring(site, name="bow")
    with pytest.raises(SurveyError, match="is not a recipe called bow"):
        mechanism("bow")


def test_two_distributions_with_one_name_are_refused(site):
    write_arc(site)
    bring(site)
    bring(site, distribution="brought_twice")
    with pytest.raises(SurveyError, match=r"several packages bring .* arc: brought, brought_twice"):
        mechanism("arc")


def test_nobody_takes_the_place_of_ours(site):
    write_arc(site)
    bring(site, name="grr")
    assert type(mechanism("grr")).__module__.startswith("ldpsql.mechanisms.")


def test_a_misspelt_name_is_one_line(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("age.toml").write_text(survey_toml(integer("age", 0, 9), mechanism="grrr", epsilon="1"))
    assert "did you mean grr?" in refusal(run("design", "age.toml"), 1)
