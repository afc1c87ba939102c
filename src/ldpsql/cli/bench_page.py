"""Public. Sees errors, and no single value. The results of a comparison as figures and a page."""

from __future__ import annotations

import html
import math
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from ldpsql.bench.summary import COSTS, Line
from ldpsql.cli.bench_tables import (
    cost_rows,
    error_of,
    grouped,
    measure_of,
    rows_of,
)
from ldpsql.plots.charts import Curve, Panel, Role, draw_figure, save_figure

_MOST_NULL = 0.5
_STYLE = """
body { font: 15px/1.45 system-ui, sans-serif; max-width: 78rem; margin: 2rem auto; padding: 0 1rem }
img { max-width: 100% }
table { border-collapse: collapse; margin: 0 0 1.5rem }
caption { text-align: left; font-weight: 600; padding: .3rem 0 }
th, td { padding: .15rem .7rem; text-align: right; border-bottom: 1px solid #ddd }
th:first-child, td:first-child { text-align: left }
"""


def write_page(lines: Sequence[Line], folder: Path, name: str, confidence: float) -> Path:
    """Write figures (PNG and SVG) and index.html into a folder; the path of the page.

    name: of the table.  confidence: what the intervals claim.
    """
    folder.mkdir(parents=True, exist_ok=True)
    repetitions = lines[0].repetitions
    sizes = sorted({line.users for line in lines})
    people = " to ".join(f"{size:,}" for size in dict.fromkeys((sizes[0], sizes[-1])))
    note = f"{name}, {people} people, {repetitions} repetition{'s' if repetitions > 1 else ''}"
    shown = []
    for file, title, panels in _figures(lines, confidence):
        if not panels:
            continue
        figure = draw_figure(title, panels, note=note)
        for form in ("png", "svg"):
            save_figure(figure, folder / f"{file}.{form}")
        shown.append((file, title))
    page = folder / "index.html"
    page.write_text(_page(lines, shown, note), encoding="utf-8")
    return page


def _figures(lines: Sequence[Line], confidence: float) -> Iterator[tuple[str, str, list[Panel]]]:
    """(file, title, panels) of every figure that these results have something to show in."""
    epsilons = {line.epsilon for line in lines}
    users = {line.users for line in lines}
    most = [line for line in lines if line.users == max(users)]
    last = [line for line in lines if line.epsilon == max(epsilons)]
    of_most = f", {max(users):,} people" if len(users) > 1 else ""
    if len(epsilons) > 1:
        title = f"Error by epsilon{of_most}"
        yield "errors", title, _panels(most, "epsilon", lambda line: line.epsilon)
    if len(users) > 1:
        title = f"Error by number of people, epsilon {max(epsilons):g}"
        yield "users", title, _panels(last, "people", lambda line: line.users)
    if len(epsilons) == len(users) == 1:
        yield "errors", f"Error at epsilon {max(epsilons):g}", _points(lines)
    yield (
        "coverage",
        f"Share of the intervals that hold the truth (dashed: what they claim){of_most}",
        _coverage(most, confidence),
    )
    yield "cost", "Cost of one run", [_cost(most)]


def _panels(lines: Sequence[Line], x_label: str, x_of: Callable[[Line], float]) -> list[Panel]:
    panels = [
        Panel(
            f"{aggregate}, {workload}",
            x_label,
            _axis(members[0]),
            tuple(_curve(name, own, x_of) for name, own in _by_mechanism(members)),
            log_x=2 if x_label == "epsilon" else 10,
            log_y=True,
        )
        for (_, workload, aggregate), members in _across_users(lines).items()
    ]
    return [panel for panel in panels if _has_points(panel)]


def _has_points(panel: Panel) -> bool:
    return any(math.isfinite(y) for curve in panel.curves for y in curve.y)


def _across_users(lines: Sequence[Line]) -> dict[tuple[int, str, str], list[Line]]:
    groups: dict[tuple[int, str, str], list[Line]] = {}
    for (_, workload, aggregate), members in grouped(lines).items():
        groups.setdefault((0, workload, aggregate), []).extend(members)
    return groups


def _curve(name: str, own: Sequence[Line], x_of: Callable[[Line], float]) -> Curve:
    ordered = sorted(own, key=x_of)
    low, high = zip(*(_band(line) for line in ordered), strict=True)
    return Curve(
        name,
        [x_of(line) for line in ordered],
        [_shown(line) for line in ordered],
        low,
        high,
        "measured" if own[0].sound else "unsound",
    )


def _shown(line: Line) -> float:
    """The error; nothing where most answers are NULL, for the rest are the easy ones."""
    return error_of(line) if line.errors.undetermined <= _MOST_NULL else math.nan


def _band(line: Line) -> tuple[float, float]:
    """The error with twice the standard error of its square over the repetitions."""
    error, square = error_of(line), line.errors.mse
    if not math.isfinite(line.mse_stderr) or not square > 0 or not math.isfinite(line.errors.nmse):
        return error, error
    spread = 2.0 * line.mse_stderr / square
    return error * math.sqrt(max(1.0 - spread, 0.05)), error * math.sqrt(1.0 + spread)


def _points(lines: Sequence[Line]) -> list[Panel]:
    """One point per workload and mechanism, a panel per aggregate."""
    panels = []
    for aggregate in dict.fromkeys(line.aggregate for line in lines):
        own = [line for line in lines if line.aggregate == aggregate]
        workloads = list(dict.fromkeys(line.workload for line in own))
        curves = []
        for name, members in _by_mechanism(own):
            by_workload = {line.workload: line for line in members}
            bands = [_band(by_workload[w]) for w in workloads]
            curves.append(
                Curve(
                    name,
                    workloads,
                    [_shown(by_workload[w]) for w in workloads],
                    [low for low, _ in bands],
                    [high for _, high in bands],
                    "measured" if members[0].sound else "unsound",
                )
            )
        panels.append(Panel(aggregate, "", _axis(own[0]), tuple(curves), log_y=True))
    return [panel for panel in panels if _has_points(panel)]


def _coverage(lines: Sequence[Line], confidence: float) -> list[Panel]:
    """Over epsilon, a panel per aggregate; all workloads together."""
    panels = []
    for aggregate in dict.fromkeys(line.aggregate for line in lines):
        curves = []
        for name, own in _by_mechanism([line for line in lines if line.aggregate == aggregate]):
            epsilons = sorted({line.epsilon for line in own})
            shares = [_covered([line for line in own if line.epsilon == e]) for e in epsilons]
            role: Role = "measured" if own[0].sound else "unsound"
            curves.append(Curve(name, epsilons, shares, role=role))
        lowest = [y - 1 for curve in curves for y in curve.y if math.isfinite(y)]
        panels.append(
            Panel(
                aggregate,
                "epsilon",
                "% of the intervals",
                tuple(curves),
                log_x=2 if len({line.epsilon for line in lines}) > 1 else False,
                level=100.0 * confidence,
                limits=(min([80.0, *lowest]), 101.0),
            )
        )
    return [panel for panel in panels if _has_points(panel)]


def _covered(lines: Sequence[Line]) -> float:
    """Per cent, every answer counting alike; nothing where most are NULL."""
    known = [line for line in lines if math.isfinite(line.errors.coverage)]
    weights = [line.errors.answers * (1.0 - line.errors.undetermined) for line in known]
    asked = sum(line.errors.answers for line in lines)
    if not sum(weights) or sum(weights) < (1.0 - _MOST_NULL) * asked:
        return math.nan
    inside = sum(w * line.errors.coverage for w, line in zip(weights, known, strict=True))
    return 100.0 * inside / sum(weights)


def _cost(lines: Sequence[Line]) -> Panel:
    curves = []
    for name, own in _by_mechanism(lines):
        seconds = [sum(line.seconds.get(w, 0.0) for line in own) / len(own) for w in COSTS]
        shown = [value if value > 0 else math.nan for value in seconds]
        curves.append(Curve(name, COSTS, shown, role="measured" if own[0].sound else "unsound"))
    people = f"{lines[0].users:,} people"
    return Panel(people, "kind of work", "seconds", tuple(curves), log_y=True)


def _by_mechanism(lines: Sequence[Line]) -> list[tuple[str, list[Line]]]:
    found: dict[str, list[Line]] = {}
    for line in lines:
        found.setdefault(line.mechanism, []).append(line)
    return list(found.items())


def _axis(line: Line) -> str:
    measure, _, unit = measure_of(line).partition(", ")
    if measure.startswith("root"):
        return f"RMSE ({unit})"
    return f"{measure} ({unit}), not NULL"


def _page(lines: Sequence[Line], figures: Sequence[tuple[str, str]], note: str) -> str:
    parts = [f"<h1>Mechanisms compared</h1><p>{html.escape(note)}</p>"]
    for file, title in figures:
        text = html.escape(title)
        parts.append(f'<h2>{text}</h2><p><img src="{file}.svg" alt="{text}"></p>')
    parts.append("<h2>Numbers</h2>")
    for (users, workload, aggregate), members in grouped(lines).items():
        caption = f"{aggregate}, {workload}, {users:,} people: {measure_of(members[0])}"
        parts.append(_table(caption, *rows_of(members)))
    parts.append(_table("Cost of one run, seconds", *cost_rows(lines)))
    body = "\n".join(parts)
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Mechanisms compared'
        f"</title><style>{_STYLE}</style></head><body>{body}</body></html>\n"
    )


def _table(caption: str, head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    cells = "".join(f"<th>{html.escape(cell)}</th>" for cell in head)
    body = "".join(
        "<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in row) + "</tr>" for row in rows
    )
    return (
        f"<table><caption>{html.escape(caption)}</caption><thead><tr>{cells}</tr></thead>"
        f"<tbody>{body}</tbody></table>"
    )
