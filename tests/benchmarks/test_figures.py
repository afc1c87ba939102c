"""Figures of the papers: files, kept cases, verdicts; and that H4MDA's can be measured."""

from __future__ import annotations

import csv
import inspect
import json
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks import results
from benchmarks.figures import (
    Cases,
    Figure,
    Measured,
    Verdict,
)
from benchmarks.figures import __main__ as figures_main
from benchmarks.figures.__main__ import every, main
from benchmarks.figures.h4mda import FIGURES, QUICK, measure
from benchmarks.figures.h4mda_claims import judge
from benchmarks.small_pictures import Shelf
from ldpsql.terminal.figures import Curve, Panel, draw_figure


def toy(cases: Cases, *, runs: int) -> Measured:
    def work() -> list[dict[str, object]]:
        done.append(runs)
        return [{"x": x, "y": x * runs} for x in (1, 2)]

    return Measured(cases.rows({"runs": runs}, work), "made up")


done: list[int] = []
FIGURE = Figure(
    name="toy",
    source="Nobody 2026, Figure 1",
    measure=toy,
    draw=lambda measured: draw_figure(
        "Toy",
        [Panel("one", "x", "y", (Curve("line", measured.values("x"), measured.values("y")),))],
        note=measured.data,
    ),
    judge=lambda measured: [Verdict("y grows", True, f"{measured.values('y')}")],
    quick={"runs": 1},
    full={"runs": 3},
)


PLAIN = replace(FIGURE, draw=lambda _: {})
"""Without a picture, which takes a while."""


def test_a_figure_leaves_its_files(tmp_path: Path) -> None:
    """Numbers, pictures, and what was run."""
    (verdict,) = FIGURE.run(tmp_path, full=True)
    assert str(verdict) == "holds: y grows ([3, 6])"
    with (tmp_path / "toy.csv").open(newline="") as file:
        assert list(csv.DictReader(file)) == [{"x": "1", "y": "3"}, {"x": "2", "y": "6"}]
    assert (tmp_path / "toy.png").stat().st_size > 1000
    assert (tmp_path / "toy.svg").exists()
    told = json.loads((tmp_path / "toy.json").read_text())
    assert told["parameters"] == {"runs": 3}
    assert told["verdicts"][0]["holds"] is True


@pytest.mark.parametrize("figure", every().values(), ids=list(every()))
def test_parameters_are_those_of_the_measurement(figure: Figure) -> None:
    """A figure that cannot start would be noticed by whoever waits for all of them."""
    for parameters in (figure.quick, figure.full):
        inspect.signature(figure.measure).bind(None, **parameters)


def test_cases_are_kept(tmp_path: Path) -> None:
    """The same parameters are not measured again, others are."""
    done.clear()
    for runs in (1, 1, 2, 1):
        PLAIN.run(tmp_path, runs=runs)
    assert done == [1, 2]


def test_what_is_left_of_a_long_run_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """By what finished cases took: three times the runs take three times as long."""
    monkeypatch.setattr(figures_main, "every", lambda: {"toy": PLAIN})
    main(["toy", "--full", "-o", str(tmp_path / "new")])
    assert "toy: 1 cases to measure, 0 kept; time unknown" in capsys.readouterr().err
    PLAIN.run(tmp_path, runs=1)
    (kept,) = (tmp_path / "cases").glob("*.json")
    kept.write_text(json.dumps({**json.loads(kept.read_text()), "seconds": 3600.0}))
    done.clear()
    listing = PLAIN.list_cases(tmp_path, full=True)
    assert (listing.missing, listing.kept, done) == ([{"runs": 3}], 0, [])
    assert listing.seconds() == pytest.approx(3 * 3600.0)
    main(["toy", "--full", "-o", str(tmp_path)])
    assert "1 cases to measure, 0 kept; about 3.0 hours" in capsys.readouterr().err
    main(["toy", "--full", "-o", str(tmp_path)])
    assert "0 cases to measure, 1 kept; about 0 seconds" in capsys.readouterr().err
    assert done == [3]


def test_a_stopped_run_goes_on_where_it_was(tmp_path: Path) -> None:
    """Finished cases are files before the next one begins."""

    def stop() -> list[dict[str, object]]:
        raise KeyboardInterrupt

    def measure_two(cases: Cases, *, runs: int) -> Measured:
        first = cases.rows({"case": 1}, lambda: [{"x": done.append(1) or 1}])
        return Measured([*first, *cases.rows({"case": 2}, second)], "made up")

    done.clear()
    second = stop
    figure = replace(PLAIN, measure=measure_two, judge=lambda _: [])
    with pytest.raises(KeyboardInterrupt):
        figure.run(tmp_path)
    second = lambda: [{"x": 2}]  # noqa: E731
    figure.run(tmp_path)
    assert done == [1]


def test_every_figure_is_found() -> None:
    """Under its own name."""
    found = every()
    assert {figure.name for figure in FIGURES} <= set(found)


def test_rows_have_the_same_keys() -> None:
    with pytest.raises(ValueError, match="differ in their keys"):
        Measured([{"a": 1}, {"b": 1}], "")


@pytest.mark.slow
def test_h4mda_is_measured_and_judged(tmp_path: Path) -> None:
    """Two points of two mechanisms on a few people; every error is a finite number."""
    small = {"windows": 3, "runs": 6, "sweeps": {"epsilon": ("1", "5")}}
    small["mechanisms"] = ("hio", "ehio")
    parameters = {**QUICK, **small, "table": "SYN", "people": 3000}
    measured = measure(Cases(tmp_path, "x"), **parameters)
    assert len(measured.rows) == 2 * 2 * (1 + 3)
    assert all(0.0 < row["error"] < 1e6 for row in measured.rows)
    verdicts = {verdict.claim: verdict.holds for verdict in judge(measured)}
    assert verdicts["NMSE falls with epsilon"] is True
    assert verdicts["NMSE of COUNT and SUM grows with m"] is None


@pytest.mark.parametrize("pair", ["nobody=1", "runs", "runs=many"])
def test_parameters_that_cannot_be_set(pair: str) -> None:
    """Said before anything is measured."""
    with pytest.raises(SystemExit, match=r"has no parameter nobody|takes KEY=JSON"):
        main(["uldp-figure-3", "--set", pair])


def test_results_are_those_of_one_number_of_people(tmp_path: Path) -> None:
    """The largest; others would replace each other in the table."""
    head = "sound,users,repetitions,answers,epsilon,workload,aggregate,mechanism,nmse,mre"
    lines = [head + ",coverage,undetermined", "true,100,3,30,1,w,COUNT(*),hio,0.04,nan,0.5,0"]
    lines += ["true,900,3,30,1,w,COUNT(*),hio,0.01,nan,0.9,0"]
    lines += ["true,100,3,30,1,w,COUNT(*),grr,0.04,nan,0.5,0"]
    (tmp_path / "bench.csv").write_text("\n".join(lines))
    text = "\n".join(results._bench(tmp_path, Shelf(tmp_path / "kept", "kept")))
    assert "900 people" in text
    assert "| w | COUNT(*) | hio | 10 | 90.0 % | 0 % |" in text
    assert "grr" not in text


def test_the_pictures_that_there_are_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A figure may be several."""

    def two(measured: Measured) -> dict[str, object]:
        return {suffix: FIGURE.draw(measured) for suffix in ("-a", "-b")}

    monkeypatch.setattr(figures_main, "every", lambda: {"toy": replace(FIGURE, draw=two)})
    main(["toy", "-o", str(tmp_path), "--set", "runs=2"])
    assert "toy-a.png, toy-b.png" in capsys.readouterr().out
    assert sorted(path.name for path in tmp_path.glob("*.png")) == ["toy-a.png", "toy-b.png"]


@pytest.mark.parametrize(
    ("rising", "stderr", "runs", "holds"),
    [
        (10, 0.1, 5, True),
        (9, 0.1, 5, True),
        (8, 0.1, 5, False),
        (8, 2.0, 5, None),
        (10, 0.1, 1, None),
        (10, 0.0, 0, True),
    ],
)
def test_a_tendency_is_told_by_standard_errors(
    rising: int, stderr: float, runs: int, holds: bool | None
) -> None:
    """Ten series over epsilon, some falling, as the paper says, the others rising."""
    found = [
        {"sweep": "epsilon", "x": x, "mechanism": f"m{number}", "predicates": 1}
        | {"aggregate": "COUNT", "stderr": stderr, "runs": runs}
        | {"error": 1.0 / x if number < rising else x}
        for number in range(10)
        for x in (1.0, 2.0)
    ]
    verdict = next(v for v in judge(Measured(found, "made up")) if "with epsilon" in v.claim)
    assert verdict.holds is holds
