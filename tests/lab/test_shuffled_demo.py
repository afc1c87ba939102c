"""The demonstration with a shuffler: processes that trust each other by keys, and what it says."""

from __future__ import annotations

import re
import shutil
from types import SimpleNamespace

import numpy as np
import pytest
from support.demo_sessions import quiet, run_demo

from ldpsql.engine.arithmetic import Interval
from ldpsql_device.errors import StoreError
from ldpsql_lab.demo import run, shop, shuffled

PEOPLE = 400


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> tuple[int, list[str]]:
    """Intervals that missed, and the printed lines; `auto` compares some mechanisms only."""
    return run_demo(shuffled.run, tmp_path_factory.mktemp("demo"), PEOPLE)


def test_everybody_is_mixed_and_only_the_shuffler_reads(session: tuple[int, list[str]]) -> None:
    text = "\n".join(session[1])
    assert f"once shuffled among at least {PEOPLE} honest people" in text
    share = PEOPLE // run.JAVASCRIPT_SHARE if shutil.which("node") else 0
    others = f" and {share} in JavaScript (node)" if share else ""
    assert f"devices    {PEOPLE - share} in Python{others}" in text
    assert re.search(
        rf"reports    {PEOPLE} acknowledged in \d+ s, such as {{\"sealed\":\"[0-9a-f]+", text
    )
    assert f"batch      of {PEOPLE} reports, in random order, signed by the shuffler" in text
    assert text.endswith("both were stopped, and their files are deleted")


def test_answers_are_near_the_truth_and_alone_they_would_be_far_from_it(
    session: tuple[int, list[str]],
) -> None:
    """Within four times the 95 % interval; and that of the same people alone is wider."""
    missed, lines = session
    answers = [line for line in lines if " truth " in line]
    ages = shop.shoppers(PEOPLE, shop.SEED)["age"].to_numpy()
    truth = int(((ages >= 26) & (ages <= 49)).sum())
    assert re.search(rf"truth +{truth}  ", answers[0])
    assert sum("  outside" in line for line in answers) == missed
    for line in answers:
        shown = r" (-?[\d,.]+) ± ([\d,.]+) +truth +([\d,.]+) .* alone (?:± ([\d,.]+)|NULL)$"
        found = re.search(shown, line)
        assert found, line
        parts = ((part or "inf").replace(",", "") for part in found.groups())
        value, half, exact, alone = map(float, parts)
        assert abs(value - exact) < 4 * half, line
        assert half < alone, line


def test_a_shuffler_that_dies_ends_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither the devices nor who waits for the batch wait for ever."""
    named = shop.SURVEY.replace('epsilon = "2"', 'epsilon = "2"\nmechanism = "grr"')
    monkeypatch.setattr(shuffled, "SURVEY", named)
    monkeypatch.setattr(shuffled, "describe", lambda _: ())
    collect = shuffled.collect

    def killing(fleets, servers, advance):  # type: ignore[no-untyped-def]
        servers[1].kill()
        servers[1].wait()
        return collect(fleets, servers, advance)

    monkeypatch.setattr(shuffled, "collect", killing)
    with pytest.raises(StoreError):
        shuffled.run(lambda _: None, people=100, port=0, stays=False, progress=quiet)


@pytest.mark.parametrize(("reach", "shown"), [(7.0, "alone ± 7.00"), (np.nan, "alone NULL")])
def test_what_people_alone_cannot_answer_is_said(reach: float, shown: str) -> None:
    def result(reach: float) -> SimpleNamespace:
        bars = Interval(np.array([1.0]), np.array([3.0 - reach]), np.array([3.0 + reach]))
        return SimpleNamespace(columns=[SimpleNamespace(name="n")], intervals={0: bars})

    cursor = SimpleNamespace(result=result(2.0), fetchall=lambda: [(3.0,)])
    connection = SimpleNamespace(execute=lambda _: cursor)
    [(line, is_inside)] = run._compare(connection, "", [(4.0,)], result(reach))  # type: ignore[arg-type]
    assert is_inside and line.endswith(shown)
