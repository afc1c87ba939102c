"""H4MDA (Sci. Sin. Inform. 53, 2023), Figures 5 to 7: errors over volume, size, epsilon, fan-out.

Two ordinal attributes of m values; both may be asked about, and both are measures. Windows of a
share `vol` of the codes of one attribute, or of both, at random places that hold enough people:
NMSE of COUNT and of the second attribute's SUM, mean relative error of its AVG.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from benchmarks.figures import data
from benchmarks.figures.cases import Cases, Row
from benchmarks.figures.figure import Figure, Measured
from benchmarks.figures.h4mda_claims import judge
from benchmarks.figures.h4mda_work import MECHANISMS, NOT_PRIVATE, Point, errors
from benchmarks.figures.verdicts import Value, band
from ldpsql.terminal.figures import Curve, Panel, Role, draw_figure

DEFAULT = Point(volume=0.15, size=125, epsilon="2", fanout=5)
PADDED = "fanout"  # the sweep with trees of one fan-out: balanced ones are the same from 5 to 7
SWEEPS: dict[str, Sequence[Any]] = {
    "volume": (0.07, 0.15, 0.22, 0.30),
    "size": (25, 125, 625),
    "epsilon": ("0.5", "1", "2", "5"),
    "fanout": (4, 5, 6, 7),
}
LABELS = {
    "volume": "vol, share of the codes (%)",
    "size": "m, codes of an attribute",
    "epsilon": "epsilon",
    "fanout": "b, fan-out of the trees",
}
ERRORS = {
    "COUNT": "NMSE of COUNT",
    "SUM": "NMSE of SUM",
    "AVG": "mean relative error of AVG",
}
MOST_CODES = 125  # raw values of the real tables are 0..124


def measure(
    cases: Cases,
    *,
    table: str,
    people: int | None,
    runs: int,
    windows: int,
    sweeps: dict[str, Sequence[Any]],
    mechanisms: Sequence[str],
) -> Measured:
    """Every mechanism at every point of every sweep; the default point is measured once."""
    rows: list[Row] = []
    raw, source = raw_of(table, people)
    points = [(sweep, value) for sweep, values in sweeps.items() for value in values]
    for mechanism in mechanisms:
        for sweep, value in points:
            point = replace(DEFAULT.at(sweep, value), padded=sweep == PADDED)
            key = {
                "table": table,
                "people": people if raw is None else len(raw),
                "windows": windows,
                "runs": runs,
                "mechanism": mechanism,
                "point": str(point),
            }
            codes = functools.partial(codes_of, raw, point.size, people)
            work = functools.partial(errors, table, codes, point, mechanism, runs, windows)
            rows += [
                {"sweep": sweep, "x": float(value), "mechanism": mechanism, **found}
                for found in cases.rows(key, work)
            ]
    return Measured(rows, f"{source}, {runs} run{'s' if runs > 1 else ''}, {windows} windows")


def raw_of(table: str, people: int | None) -> tuple[np.ndarray | None, str]:
    """Ages and weekly hours as they are; None for SYN, which is made for every m."""
    if table == "SYN":
        return None, f"SYN (generated), {people:,} people"
    found, source = data.people(table, ["age", "hours_per_week"], _stand_in, rows=people)
    columns = [np.asarray(found[name], dtype=np.int64) for name in found.column_names]
    return np.stack(columns, axis=1), source


def _stand_in() -> pa.Table:
    random = np.random.default_rng(11)
    age = np.clip(random.gamma(6.0, 5.0, 45_222) + 17, 17, 90).astype(np.int64)
    hours = np.clip(random.normal(30 + 0.25 * age, 11), 1, 99).astype(np.int64)
    return pa.table({"age": age, "hours_per_week": hours})


def codes_of(raw: np.ndarray | None, size: int, people: int) -> np.ndarray:
    """Codes of both attributes, shape (n, 2)."""
    if raw is not None:
        return np.minimum(raw, MOST_CODES - 1) * size // MOST_CODES
    random = np.random.default_rng(2023)
    first = random.standard_normal(people)
    second = 0.3 * first + np.sqrt(1 - 0.3**2) * random.standard_normal(people)
    bins = np.floor(size / 2 + size / 6 * np.stack([first, second], axis=1))
    return np.clip(bins, 0, size - 1).astype(np.int64)


def draw(measured: Measured) -> dict[str, Any]:
    """All mechanisms in each panel, those that are not private marked; predicates apart."""
    pictures = {}
    for predicates, words in ((1, "one predicate"), (2, "two predicates")):
        panels = [
            _panel(measured, predicates, sweep, aggregate)
            for sweep in measured.values("sweep")
            for aggregate in ERRORS
        ]
        if any(panel.curves for panel in panels):
            title = f"H4MDA's experiments, {words}"
            pictures[f"-{predicates}"] = draw_figure(title, panels, note=measured.data)
    return pictures


def _panel(measured: Measured, predicates: int, sweep: str, aggregate: str) -> Panel:
    curves = []
    for mechanism in measured.values("mechanism"):
        rows = measured.where(
            sweep=sweep, mechanism=mechanism, predicates=predicates, aggregate=aggregate
        )
        if rows:
            x = [100 * row["x"] if sweep == "volume" else row["x"] for row in rows]
            values = [Value.of(row) for row in rows]
            role: Role = "unsound" if mechanism in NOT_PRIVATE else "measured"
            means = [value.mean for value in values]
            curves.append(Curve(mechanism, x, means, *band(values), role))
    fixed = ", ".join(
        f"{name}={value}"
        for name, value in (("vol", 0.15), ("m", 125), ("eps", 2), ("b", 5))
        if name != {"volume": "vol", "size": "m", "epsilon": "eps", "fanout": "b"}[sweep]
    )
    log_x = {"size": 5, "epsilon": 2}.get(sweep, False)
    return Panel(
        f"{aggregate} ({fixed})", LABELS[sweep], ERRORS[aggregate], tuple(curves), log_x, log_y=True
    )


QUICK_SWEEPS = {"volume": (0.07, 0.3), "size": (25, 125), "epsilon": ("1", "5"), "fanout": (4, 7)}
QUICK = {
    "runs": 4,
    "windows": 20,
    "sweeps": QUICK_SWEEPS,
    "mechanisms": (
        *("hio", "ahio", "ehio", "hgrr", "ahead"),
        *("lgrr-fd, published", "lgrr, published"),
    ),
}
FULL = {"runs": 20, "windows": 100, "sweeps": SWEEPS, "mechanisms": tuple(MECHANISMS)}


def _figure(number: int, table: str, quick: int | None, full: int | None, **more: Any) -> Figure:
    return Figure(
        name=f"h4mda-figure-{number}",
        source=f"H4MDA 2023, Figure {number} ({table})",
        measure=measure,
        draw=draw,
        judge=judge,
        quick={**QUICK, "table": table, "people": quick},
        full={**FULL, "table": table, "people": full, **more},
    )


FIGURES = (
    _figure(5, "SYN", 20_000, 2_000_000),
    _figure(6, "adult", 20_000, None, runs=30),
    _figure(7, "acs_income_2018", 20_000, None),
)
