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
    h4mda_tables,
    shuffle_marginals,
    uldp,
)
from benchmarks.figures import __main__ as figures_main
from benchmarks.figures.__main__ import every, main
from benchmarks.figures.h4mda import FIGURES, QUICK, measure
from benchmarks.figures.h4mda_claims import judge
from benchmarks.small_pictures import Shelf
from ldpsql.workbench.pictures import Curve, Panel, draw_figure


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
        FIGURE.run(tmp_path, runs=runs)
    assert done == [1, 2]


def test_what_is_left_of_a_long_run_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """By what finished cases took: three times the runs take three times as long."""
    monkeypatch.setattr(figures_main, "every", lambda: {"toy": FIGURE})
    main(["toy", "--full", "-o", str(tmp_path / "new")])
    assert "toy: 1 cases to measure, 0 kept; time unknown" in capsys.readouterr().err
    FIGURE.run(tmp_path, runs=1)
    (kept,) = (tmp_path / "cases").glob("*.json")
    kept.write_text(json.dumps({**json.loads(kept.read_text()), "seconds": 3600.0}))
    done.clear()
    listing = FIGURE.list_cases(tmp_path, full=True)
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
    figure = replace(FIGURE, measure=measure_two, draw=lambda _: {}, judge=lambda _: [])
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


def test_h4mda_tables_are_compared() -> None:
    """A hundredth of the error on the large table; of the published mechanisms a fiftieth."""
    found = [
        {"table": table, "people": people, "point": point, "mechanism": name, "predicates": 2}
        | {"aggregate": aggregate, "error": error / people, "stderr": 0.0, "runs": 0}
        for table, people in (("adult", 1), ("acs_income_2018", 100))
        for point in ("default", "narrow")
        for name, error in (("ahio", 1.0), ("ehio", 2.0), ("lgrr, published", 0.02))
        for aggregate in ("COUNT", "SUM", "AVG")
    ]
    larger, two_orders, one_order = h4mda_tables.judge(Measured(found, "made up"))
    assert (larger.holds, two_orders.holds, one_order.holds) == (True, False, True)
    assert "50.0" in two_orders.because
    backwards = [{**row, "error": 1.0 / row["error"]} for row in found]
    assert h4mda_tables.judge(Measured(backwards, "made up"))[0].holds is False


def rows(errors: dict[str, float]) -> Measured:
    found = [
        {"sweep": "volume", "x": 0.1, "mechanism": name, "predicates": k, "aggregate": "COUNT"}
        | {"error": error, "stderr": 0.01 * error, "runs": 20}
        for name, error in errors.items()
        for k in (1, 2)
    ]
    return Measured(found, "made up")


@pytest.mark.parametrize(("hgrr", "holds"), [(2.0, True), (4.0, False), (0.5, False)])
def test_slightly_less_accurate_is_neither_more_nor_much_less(hgrr: float, holds: bool) -> None:
    """HGRR against HIO."""
    found = judge(rows({"hio": 1.0, "hgrr": hgrr}))
    assert next(v for v in found if v.claim.startswith("HGRR")).holds is holds


def row_of(name: str, x: float, error: float) -> dict[str, object]:
    common = {"sweep": "volume", "predicates": 1, "aggregate": "COUNT"}
    return {**common, "x": x, "mechanism": name, "error": error, "stderr": 0.0, "runs": 0}


def test_only_points_that_both_have_are_compared() -> None:
    """A mechanism that refuses a point has not lost it."""
    names = ("ahead", "lgrr, published", "lgrr-fd, published", "hgrr")
    found = [row_of(name, 0.1, 1.0 + n) for n, name in enumerate(names)]
    found += [row_of(name, 0.2, 1.0) for name in ("lgrr, published", "hgrr")]
    verdicts = {v.claim: v for v in judge(Measured(found, "made up"))}
    ahead = verdicts["AHEAD answers COUNT better than HGRR and LGRR-FD"]
    assert (ahead.holds, ahead.because.count("1 of 1 confirmed")) == (True, 2)
    assert verdicts["LGRR is better than LGRR-FD"].because == "COUNT, 1 of 1 confirmed"


@pytest.mark.parametrize("pair", ["nobody=1", "runs", "runs=many"])
def test_parameters_that_cannot_be_set(pair: str) -> None:
    """Said before anything is measured."""
    with pytest.raises(SystemExit, match=r"has no parameter nobody|takes KEY=JSON"):
        main(["uldp-figure-3", "--set", pair])


def test_a_claim_about_what_is_no_channel_cannot_be_told() -> None:
    """JuRR at a small epsilon."""
    common = {"columns": "a", "epsilon": 0.5, "error": 1.0}
    found = [
        {**common, "mechanism": name} for name in ("jurr", "cprr", "jd-grr", "tdrr", "product")
    ]
    found[0]["error"] = float("nan")
    verdicts = [verdict.holds for verdict in uldp.judge_epsilon(Measured(found, "made up"))]
    assert verdicts[:3] == [False, None, False]


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


def test_what_is_said_of_two_mechanisms_is_not_borne_out_by_one() -> None:
    """But refuted; and nothing is said of two predicates where none were asked."""
    better = "LGRR and LGRR-FD are better than every other mechanism (COUNT)"
    ahead = "AHEAD answers COUNT better than HGRR and LGRR-FD"
    errors = {"lgrr, published": 1.0, "hio": 2.0, "hgrr": 3.0}
    for added, holds in (({}, None), ({"hio": 0.5}, False), ({"lgrr-fd, published": 1.0}, True)):
        verdicts = {v.claim: v.holds for v in judge(rows({**errors, **added}))}
        assert verdicts[better] is holds
    for added, holds in (({}, None), ({"hgrr": 0.5}, False), ({"lgrr-fd, published": 2.0}, True)):
        verdicts = {v.claim: v.holds for v in judge(rows({**errors, "ahead": 1.0, **added}))}
        assert verdicts[ahead] is holds
    single = [row_of(name, 0.1, error) for name, error in errors.items()]
    verdict = next(v for v in judge(Measured(single, "")) if v.claim.startswith("HGRR"))
    assert (verdict.holds, "nan" in verdict.because) == (None, False)


@pytest.mark.parametrize(("stderr", "holds"), [(1.0, None), (0.01, False)])
def test_one_rise_that_is_told_refutes_a_fall(stderr: float, holds: bool | None) -> None:
    """Three of four steps fall."""
    common = {"sweep": "fanout", "predicates": 1, "aggregate": "COUNT", "mechanism": "hio"}
    errors = zip((2.0, 3.0, 4.0, 6.0, 7.0), (5.0, 4.0, 3.0, 2.0, 2.5), strict=True)
    found = [{**common, "x": x, "error": e, "stderr": stderr, "runs": 10} for x, e in errors]
    verdicts = {v.claim: v.holds for v in judge(Measured(found, "made up"))}
    assert verdicts["the error falls as the fan-out goes from 4 to 7"] is holds


@pytest.mark.parametrize(("names", "holds"), [(1, False), (4, None)])
def test_one_rise_among_several_may_be_chance(names: int, holds: bool | None) -> None:
    """2.4 standard errors: too many for one step, and not for one of four."""
    common = {"sweep": "fanout", "predicates": 1, "aggregate": "COUNT", "stderr": 0.15}
    found = [
        {**common, "mechanism": name, "x": x, "error": error, "runs": 1_000}
        for name, more in list(
            zip(("hio", "ahio", "ehio", "hgrr"), (0.5, -5, -5, -5), strict=True)
        )[:names]
        for x, error in ((4.0, 9.0), (7.0, 9.0 + more))
    ]
    verdicts = {v.claim: v.holds for v in judge(Measured(found, "made up"))}
    assert verdicts["the error falls as the fan-out goes from 4 to 7"] is holds


@pytest.mark.parametrize(("names", "holds"), [(("ahio",), False), (("ahio", "ehio"), None)])
def test_one_factor_among_several_may_be_chance(names: tuple[str, ...], holds: bool | None) -> None:
    """AHIO's error is 9.6 times the other, 2.2 standard errors below ten times; EHIO's is 30."""
    errors = {"ahio": 9.6, "ehio": 30.0, "lgrr, published": 1.0}
    found = [
        {"table": "acs_income_2018", "people": 1, "point": "narrow", "mechanism": name}
        | {"predicates": 2, "aggregate": "SUM", "error": errors[name], "runs": 1_000}
        | {"stderr": 0.18 if name == "ahio" else 0.0}
        for name in (*names, "lgrr, published")
    ]
    one_order = h4mda_tables.judge(Measured(found, "made up"))[-1]
    assert one_order.claim.startswith("vol 7 %") and "one order" in one_order.claim
    assert one_order.holds is holds


def counts(**errors: tuple[float, float]) -> Measured:
    """Measured and predicted errors of shuffled counts at one epsilon, by mechanism."""
    return Measured(
        [
            {"data": "t", "epsilon": 1.0, "mechanism": name.replace("_", "-"), "runs": 100}
            | {
                "measured": error,
                "stderr": 0.01 * error,
                "predicted": formula,
                "local_epsilon": 2.0,
            }
            for name, (error, formula) in errors.items()
        ],
        "made up",
    )


def test_the_best_is_judged_by_what_the_picture_shows() -> None:
    """Measured errors, whatever was predicted."""
    for error, holds in ((2.0, True), (1.0, True), (0.5, False)):
        best, *_, near = shuffle_marginals.judge(counts(SRR_SS=(1.0, 1.0), SRR_MS=(error, 2.0)))
        assert best.claim.startswith("(ours) SRR-SS is at least as accurate")
        assert best.holds is holds
        assert near.holds is (error == 2.0)
