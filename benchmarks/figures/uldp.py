"""Figures 3 to 7 of Yin, Zhu and Zhang (2023) on sensitive values, errata corrected.

Errors are roots of the mean squared error of the shares of all cells (equation 59). Those of the
unbiased estimators are exact; those of tables made by EM, and of the product of marginals that the
paper's text calls TDRR, are means over simulated surveys. Where JuRR is not a channel (epsilon
below ln(1 + sqrt(AB))) it has no point.
"""

from __future__ import annotations

import functools
import math
import time
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from benchmarks.figures import Cases, Figure, Measured, Row, Verdict
from benchmarks.figures.verdicts import Value, band, in_every_case, is_near, tally
from benchmarks.uldp_tables import Floats, Setting, exact_error
from ldpsql.algebra.boxes import Box, LinearQuery
from ldpsql.estimators.base import make_estimator
from ldpsql.sensitive.people_tables import climb_likelihood
from ldpsql.sensitive.recipes import CellDesign
from ldpsql.terminal import figures as plots
from ldpsql.terminal.figures import Curve, Panel
from ldpsql_device.errors import SurveyError
from ldpsql_lab.simulation import SeededEntropy, histogram_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

NONE = Value(math.nan)
SOURCE = "Yin, Zhu, Zhang, Computer Science 50(10), 2023, Figure {}"
LABELS = {
    "jurr": "JuRR",
    "jurr-g": "JuRR-g",
    "cprr": "CPRR (promises more)",
    "tdrr": "TDRR",
    "product": "TDRR, product of marginals",
    "jd-grr": "JD_GRR (LDP)",
}
NAMES = ("jurr", "jurr-g", "cprr", "tdrr", "jd-grr")
PARENTS, FORM = ("parents", "class"), ("form", "class")
SCORE = Setting("score", ("race", "grade"))


def measure(
    cases: Cases,
    settings: Sequence[Setting],
    epsilons: Sequence[str],
    people: Sequence[int],
    runs: int,
) -> Measured:
    """Errors of every mechanism; people: how many answer (0: all of the table)."""
    rows = [
        row
        for setting in settings
        for count in people
        for epsilon in epsilons
        for row in cases.rows(
            {"setting": str(setting), "epsilon": epsilon, "people": count, "runs": runs},
            lambda s=setting, e=epsilon, n=count: list(_rows(s, e, n, runs)),  # type: ignore[misc]
        )
    ]
    sources = dict.fromkeys(setting.records()[1] for setting in settings)
    return Measured(rows, "; ".join(sources))


def _rows(setting: Setting, epsilon: str, people: int, runs: int) -> Iterator[Row]:
    counts = setting.counts()
    if people:
        counts = np.round(counts * people / counts.sum())
    for name in NAMES:
        try:
            made = setting.survey(name, epsilon).design
        except SurveyError:
            yield _row(setting, epsilon, counts, name, NONE, NONE)
            continue
        assert isinstance(made, CellDesign)
        drawn = _drawn(made, counts, runs)
        smooth = _error(climb_likelihood(made.channel, drawn).T, counts)
        yield _row(setting, epsilon, counts, name, Value(exact_error(made, counts)), smooth)
        if name == "tdrr":
            products = np.array([_product(made, one) for one in drawn.T])
            yield _row(setting, epsilon, counts, "product", _error(products, counts), NONE)


def _row(
    setting: Setting, epsilon: str, counts: Floats, name: str, error: Value, smooth: Value
) -> Row:
    return {
        "columns": " x ".join(setting.columns),
        "sensitive": "x".join(map(str, setting.held)),
        "epsilon": float(epsilon),
        "people": int(counts.sum()),
        "mechanism": name,
        "error": error.mean,
        "stderr": error.stderr,
        "runs": error.runs,
        "em": smooth.mean,
        "em_stderr": smooth.stderr,
        "em_runs": smooth.runs,
    }


def _drawn(made: CellDesign, counts: Floats, runs: int) -> Floats:
    """Counts of reports of simulated surveys of the same people, (cells, runs)."""
    channel = made.channel.apply(np.eye(len(counts)))
    random = np.random.default_rng(12)
    people = counts.astype(np.int64)
    return np.stack([random.multinomial(people, channel).sum(axis=0) for _ in range(runs)], 1) * 1.0


def _product(made: CellDesign, reports: Floats) -> Floats:
    table = made.channel.solve(reports[:, None], back=True).reshape(made.domain.sizes)
    return np.outer(table.sum(axis=1), table.sum(axis=0)).ravel() / reports.sum()


def _error(found: Floats, counts: Floats) -> Value:
    """Root of the mean squared error over surveys; found: people per cell, (surveys, cells)."""
    squares = np.square((found - counts) / counts.sum()).mean(axis=1)
    mean = Value.over(squares.tolist())
    root = math.sqrt(mean.mean)
    return Value(root, mean.stderr / (2.0 * root), mean.runs)


def draw_over(measured: Measured, axis: str) -> Drawing:
    """A panel per table and sensitive sets."""
    panels = []
    for columns in measured.values("columns"):
        for sensitive in dict.fromkeys(r["sensitive"] for r in measured.where(columns=columns)):
            rows = measured.where(columns=columns, sensitive=sensitive)
            labels = {"epsilon": "epsilon", "people": "people who answer"}
            panels.append(
                Panel(
                    f"{columns}, {sensitive} sensitive",
                    labels[axis],
                    "root mean squared error of a share",
                    tuple(_curves(rows, axis)),
                    log_x=axis == "people",
                    log_y=True,
                )
            )
    title = "Joint shares under utility-optimised LDP"
    note = f"{measured.data}; unbiased estimates (exact) and EM (dashed)"
    return plots.draw_figure(title, panels, note=note)


def _curves(rows: Sequence[Row], axis: str) -> Iterator[Curve]:
    for name, label in LABELS.items():
        own = [row for row in rows if row["mechanism"] == name]
        x, values = [row[axis] for row in own], [*map(Value.of, own)]
        yield Curve(label, x, [value.mean for value in values], *band(values))
        if name in ("jurr", "cprr"):
            fitted = [Value(row["em"], row["em_stderr"], row["em_runs"]) for row in own]
            means = [value.mean for value in fitted]
            yield Curve(f"{label}, EM", x, means, *band(fitted), "predicted")


def judge_epsilon(measured: Measured) -> Sequence[Verdict]:
    """The paper's claims about errors over epsilon."""
    return (
        _beats(measured, "CPRR is more accurate than JD_GRR at every epsilon", "cprr", "jd-grr"),
        _beats(measured, "CPRR is more accurate than JuRR at every epsilon", "cprr", "jurr"),
        _exists(measured),
        _erratic(measured),
    )


def _beats(measured: Measured, claim: str, better: str, worse: str) -> Verdict:
    ratios = [
        other["error"] / one["error"]
        for one, other in zip(
            measured.where(mechanism=better), measured.where(mechanism=worse), strict=True
        )
        if math.isfinite(one["error"] + other["error"])
    ]
    if not ratios:
        return Verdict(claim, None, "there is no epsilon at which both are channels")
    between = f"errors {min(ratios):.2f} to {max(ratios):.2f} times those of {LABELS[better]}"
    return Verdict(claim, min(ratios) > 1.0, f"{LABELS[worse]} has {between}")


def _exists(measured: Measured) -> Verdict:
    missing = sorted(
        {r["epsilon"] for r in measured.where(mechanism="jurr") if math.isnan(r["error"])}
    )
    text = ", ".join(f"{epsilon:g}" for epsilon in missing)
    return Verdict(
        "JuRR answers at every epsilon from 0.5",
        not missing,
        f"its probabilities make no channel at epsilon {text}"
        if missing
        else "they make one at each of these",
    )


def _erratic(measured: Measured) -> Verdict:
    """By the inverse of its channel; the product of marginals has a bias that no epsilon cures."""
    first, last = (pick(measured.values("epsilon")) for pick in (min, max))
    own, product = (
        [
            math.sqrt(np.mean([r["error"] ** 2 for r in measured.where(mechanism=name, epsilon=e)]))
            for e in (first, last)
        ]
        for name in ("tdrr", "product")
    )
    return Verdict(
        "TDRR hardly improves with epsilon",
        own[1] > 0.5 * own[0],
        f"errors {own[0]:.4f} at epsilon {first:g} and {own[1]:.4f} at {last:g} with the inverse "
        f"of its channel; {product[0]:.4f} and {product[1]:.4f} with the product of marginals",
    )


def judge_sets(measured: Measured) -> Sequence[Verdict]:
    """Larger sensitive sets."""
    few, many = (
        measured.where(sensitive=sensitive) for sensitive in measured.values("sensitive")[:2]
    )
    ratios = [
        other["error"] / one["error"]
        for one, other in zip(few, many, strict=True)
        if one["mechanism"] in ("jurr", "cprr") and math.isfinite(one["error"] + other["error"])
    ]
    grows = Verdict(
        "errors of JuRR and CPRR grow with the sensitive sets",
        min(ratios) >= 1.0,
        f"by factors of {min(ratios):.2f} to {max(ratios):.2f}",
    )
    return (grows, *judge_epsilon(measured))


def judge_people(measured: Measured) -> Sequence[Verdict]:
    """More people."""
    slopes = []
    for name in ("jurr", "cprr", "jd-grr", "tdrr"):
        rows = [r for r in measured.where(mechanism=name) if math.isfinite(r["error"])]
        first, last = rows[0], rows[-1]
        slopes.append(
            math.log(last["error"] / first["error"]) / math.log(last["people"] / first["people"])
        )
    return (
        Verdict(
            "errors fall with the number of people",
            max(slopes) < 0.0,
            f"as the number to the power of {min(slopes):.2f} to {max(slopes):.2f}",
        ),
        _beats(
            measured, "CPRR is more accurate than JuRR for any number of people", "cprr", "jurr"
        ),
    )


def _over_epsilon(measured: Measured) -> Drawing:
    return draw_over(measured, "epsilon")


def _over_people(measured: Measured) -> Drawing:
    return draw_over(measured, "people")


# -- running time ----------------------------------------------------------------------------------


def measure_time(cases: Cases, settings: Sequence[Setting], epsilon: str, runs: int) -> Measured:
    """CPU seconds to randomize everybody of a table, and to estimate all cells."""
    rows: list[Row] = []
    for setting in settings:
        for name in NAMES:
            key = {"setting": str(setting), "mechanism": name, "epsilon": epsilon, "runs": runs}
            work = functools.partial(_time_rows, setting, name, epsilon, runs)
            rows += cases.rows({**key, "people": int(setting.counts().sum())}, work)
    sources = dict.fromkeys(setting.records()[1] for setting in settings)
    return Measured(rows, f"{'; '.join(sources)}; epsilon {epsilon}, CPU seconds of {runs} runs")


def _time_rows(setting: Setting, name: str, epsilon: str, runs: int) -> list[Row]:
    sizes = tuple(map(len, setting.values))
    people = np.repeat(np.arange(math.prod(sizes)), setting.counts().astype(np.int64))
    codes = np.stack(np.unravel_index(people, sizes), axis=1).astype(np.int64)
    made = setting.survey(name, epsilon).design
    cells = [
        made.prepare(LinearQuery.count(Box((((a, a + 1),), ((b, b + 1),)))))
        for a in range(sizes[0])
        for b in range(sizes[1])
    ]
    spent: dict[str, list[float]] = {"randomize": [], "estimate": []}
    for run in range(runs + 1):  # the first one loads what it needs
        started = time.process_time()
        reports = made.randomize(codes, SeededEntropy(run))
        drawn = time.process_time()
        make_estimator(made, histogram_of(reports)).answer(cells)
        if run:
            spent["randomize"].append(drawn - started)
            spent["estimate"].append(time.process_time() - drawn)
    return [
        {
            "columns": " x ".join(setting.columns),
            "people": len(codes),
            "mechanism": name,
            "part": part,
            "seconds": (value := Value.over(seconds)).mean,
            "stderr": value.stderr,
            "runs": runs,
        }
        for part, seconds in spent.items()
    ]


def draw_time(measured: Measured) -> Drawing:
    """A panel per table, the parts beside each other."""
    panels = []
    for columns in measured.values("columns"):
        curves = []
        for part in measured.values("part"):
            rows = measured.where(columns=columns, part=part)
            values = [Value.of(row, "seconds") for row in rows]
            names = [LABELS[row["mechanism"]].partition(" (")[0] for row in rows]
            curves.append(Curve(part, names, [value.mean for value in values], *band(values)))
        panels.append(Panel(columns, "mechanism", "CPU seconds", tuple(curves), log_y=True))
    return plots.draw_figure("Running time under ULDP", panels, note=measured.data)


def judge_time(measured: Measured) -> Sequence[Verdict]:
    """Not the paper's: how JuRR and CPRR compare with JD_GRR."""
    votes, ratios = [], []
    for row in measured.where(mechanism="jd-grr", part="randomize"):
        for name in ("jurr", "cprr"):
            same = {"columns": row["columns"], "part": "randomize", "mechanism": name}
            (own,) = measured.where(**same)
            votes.append(is_near(Value.of(own, "seconds"), Value.of(row, "seconds"), 1.0, 4))
            ratios.append(own["seconds"] / row["seconds"])
    return (
        Verdict(
            "(ours) randomizing with JuRR and CPRR takes at most twice as long as with JD_GRR",
            in_every_case(votes),
            f"{tally(votes)}; {min(ratios):.2f} to {max(ratios):.2f} times as long",
        ),
    )


COARSE = ("0.5", "1", "1.5", "2", "3", "4", "5", "6")
FINE = tuple(f"{n / 4:g}" for n in range(2, 25))
ALL, PEOPLE = (0,), (2_000, 5_000, 10_000)
NURSERY, LARGER = Setting("nursery", PARENTS), Setting("nursery", FORM)
SCHOOLING = Setting("score", ("schooling", "grade"))
FIVES = Setting("nursery", ("has_nurs", "class"))


def _figure(number: int, settings: tuple[Setting, ...], judge: object) -> Figure:
    common = {"settings": settings, "people": ALL}
    return Figure(
        name=f"uldp-figure-{number}",
        source=SOURCE.format(number),
        measure=measure,
        draw=_over_epsilon,
        judge=judge,  # type: ignore[arg-type]
        quick={**common, "epsilons": COARSE, "runs": 30},
        full={**common, "epsilons": FINE, "runs": 400},
    )


FIGURES = (
    _figure(3, (NURSERY, LARGER, SCORE, SCHOOLING), judge_epsilon),
    _figure(4, (NURSERY, Setting("nursery", PARENTS, (2, 4))), judge_sets),
    _figure(5, (SCORE, Setting("score", SCORE.columns, (4, 2))), judge_sets),
    Figure(
        name="uldp-figure-6",
        source=SOURCE.format(6),
        measure=measure,
        draw=_over_people,
        judge=judge_people,
        quick={"settings": (FIVES,), "epsilons": ("2",), "people": PEOPLE, "runs": 30},
        full={"settings": (FIVES,), "epsilons": ("2",), "people": PEOPLE, "runs": 400},
    ),
    Figure(
        name="uldp-figure-7",
        source=SOURCE.format(7),
        measure=measure_time,
        draw=draw_time,
        judge=judge_time,
        quick={"settings": (NURSERY, FIVES), "epsilon": "2", "runs": 20},
        full={"settings": (NURSERY, LARGER, SCORE, SCHOOLING, FIVES), "epsilon": "2", "runs": 30},
    ),
)
