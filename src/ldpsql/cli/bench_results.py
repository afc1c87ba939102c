"""The results of a comparison of mechanisms as tables of text, figures, and a page."""

from __future__ import annotations

import html
import math
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TypeVar

from ldpsql.bench.summary import COSTS, Line
from ldpsql.cli.tables import table_lines
from ldpsql.plots.charts import Curve, Panel, Role, draw_figure, save_figure

_UNSOUND = " (NOT PRIVATE)"
_MOST_NULL = 0.5
_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Mechanisms compared</title>
<style>
body { font: 15px/1.45 system-ui, sans-serif; max-width: 78rem; margin: 2rem auto; padding: 0 1rem }
img { max-width: 100% }
</style></head><body>
<h1>Mechanisms compared</h1>
"""

Group = TypeVar("Group", bound=Hashable)
Place = TypeVar("Place", float, str)


def error_of(line: Line) -> float:
    """The error that is shown: in % of all people or of the total, else in % of the answer."""
    if math.isfinite(line.errors.nmse):
        return 100.0 * math.sqrt(line.errors.nmse)
    return 100.0 * line.errors.mre


def measure_of(line: Line) -> str:
    """What `error_of` is, in words."""
    if line.aggregate.startswith("COUNT"):
        return "root mean square error, % of the people"
    if math.isfinite(line.errors.nmse):
        return "root mean square error, % of the sum over everybody"
    return "mean relative error, %"


def _label(line: Line) -> str:
    """The mechanism, marked where it promises nothing, or less than others."""
    if not line.sound:
        return line.mechanism + _UNSOUND
    return f"{line.mechanism} (ULDP)" if "ULDP" in line.guarantee else line.mechanism


def tables(lines: Sequence[Line]) -> Iterator[str]:
    """One table per number of people, workload and aggregate (mechanisms by epsilon), then the
    cost of one run."""
    groups = _grouped(lines, lambda line: (line.users, line.workload, line.aggregate))
    for (users, workload, aggregate), members in groups:
        title = f"{aggregate}, {workload}, {users:,} people: {measure_of(members[0])}"
        yield _titled(title, *_error_rows(members))
    yield _titled("Cost of one run, seconds", *_cost_rows(lines))


def _titled(title: str, head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    right = [place > 0 for place in range(len(head))]
    return "\n".join([title, *table_lines(head, rows, right), ""])


def _grouped(
    lines: Iterable[Line], group_of: Callable[[Line], Group]
) -> list[tuple[Group, list[Line]]]:
    """The lines of every group, in the order of their first ones."""
    groups: dict[Group, list[Line]] = {}
    for line in lines:
        groups.setdefault(group_of(line), []).append(line)
    return list(groups.items())


def _error_rows(members: Sequence[Line]) -> tuple[list[str], list[list[str]]]:
    """Head and rows of one table, the most accurate sound mechanism first."""
    epsilons = sorted({line.epsilon for line in members})
    by_name: dict[str, dict[float, Line]] = {}
    for line in members:
        by_name.setdefault(_label(line), {})[line.epsilon] = line
    has_null = any(line.errors.undetermined > 0 for line in members)
    columns = [f"eps {epsilon:g}" for epsilon in epsilons]
    head = ["mechanism", *columns, "intervals hold", f"+/- ({columns[-1]})"]
    rows = []
    for name in sorted(by_name, key=lambda name: _rank(by_name[name])):
        own = by_name[name]
        cells = [_short(error_of(own[e])) if e in own else "-" for e in epsilons]
        every = list(own.values())
        covered = _mean([line.errors.coverage for line in every])
        half = own[epsilons[-1]].errors.width / 2 if epsilons[-1] in own else math.nan
        row = [name, *cells, "-" if math.isnan(covered) else f"{100 * covered:.1f} %", _short(half)]
        if has_null:
            row.append(f"{100 * _mean([line.errors.undetermined for line in every]):.0f} %")
        rows.append(row)
    return head + (["NULL"] if has_null else []), rows


def _cost_rows(lines: Sequence[Line]) -> tuple[list[str], list[list[str]]]:
    """Head and rows: the largest number of people, means over the epsilons."""
    most = max(line.users for line in lines)
    by_name: dict[str, dict[float, Line]] = {}
    for line in lines:
        if line.users == most:
            by_name.setdefault(_label(line), {})[line.epsilon] = line
    rows = []
    for name, own in by_name.items():
        seconds = [_mean([line.seconds.get(work, 0.0) for line in own.values()]) for work in COSTS]
        bits = max(line.bits for line in own.values())
        stored = max(line.bytes for line in own.values())
        rows.append([name, *(f"{value:.2f}" for value in seconds), f"{bits:.1f}", str(stored)])
    return ["mechanism", *COSTS, "bits/report", "bytes stored"], rows


def _rank(own: dict[float, Line]) -> tuple[bool, float]:
    shown = [error_of(line) for line in own.values()]
    known = [math.log(max(error, 1e-12)) for error in shown if math.isfinite(error)]
    unsound = not next(iter(own.values())).sound
    return unsound, _mean(known) if known else math.inf


def _short(value: float) -> str:
    """Three significant digits."""
    if not math.isfinite(value):
        return "-"
    if value >= 1000:
        return f"{value:,.0f}"
    return f"{value:.3g}"


def _mean(values: Sequence[float]) -> float:
    known = [value for value in values if math.isfinite(value)]
    return sum(known) / len(known) if known else math.nan


def write_page(lines: Sequence[Line], folder: Path, name: str, confidence: float) -> Path:
    """Write figures (PNG and SVG) and index.html into a folder; returns the path of the page.

    name: of the table.  confidence: what the intervals claim.
    """
    folder.mkdir(parents=True, exist_ok=True)
    repetitions = lines[0].repetitions
    sizes = sorted({line.users for line in lines})
    people = " to ".join(f"{size:,}" for size in dict.fromkeys((sizes[0], sizes[-1])))
    note = f"{name}, {people} people, {repetitions} repetition{'s' if repetitions > 1 else ''}"
    parts = [f"<p>{html.escape(note)}</p>"]
    for file, title, panels in _figures(lines, confidence):
        shown = [panel for panel in panels if _has_points(panel)]
        if shown:
            figure = draw_figure(title, shown, note=note)
            for form in ("png", "svg"):
                save_figure(figure, folder / f"{file}.{form}")
            parts.append(f'<h2>{html.escape(title)}</h2><img src="{file}.svg" alt="">')
    parts.append("<h2>Numbers</h2>")
    parts += [f"<pre>{html.escape(table)}</pre>" for table in tables(lines)]
    page = folder / "index.html"
    page.write_text(_PAGE + "\n".join(parts) + "\n</body></html>\n", encoding="utf-8")
    return page


def _figures(lines: Sequence[Line], confidence: float) -> Iterator[tuple[str, str, list[Panel]]]:
    """(file, title, panels) of every figure, some of which may have nothing to show."""
    epsilons = {line.epsilon for line in lines}
    users = {line.users for line in lines}
    most = [line for line in lines if line.users == max(users)]
    last = [line for line in lines if line.epsilon == max(epsilons)]
    of_most = f", {max(users):,} people" if len(users) > 1 else ""

    def question(line: Line) -> str:
        return f"{line.aggregate}, {line.workload}"

    if len(epsilons) > 1:
        panels = _error_panels(most, question, "epsilon", lambda line: line.epsilon, log_x=2)
        yield "errors", f"Error by epsilon{of_most}", panels
    if len(users) > 1:
        panels = _error_panels(last, question, "people", lambda line: line.users, log_x=10)
        yield "users", f"Error by number of people, epsilon {max(epsilons):g}", panels
    if len(epsilons) == len(users) == 1:
        panels = _error_panels(lines, lambda line: line.aggregate, "", lambda line: line.workload)
        yield "errors", f"Error at epsilon {max(epsilons):g}", panels
    yield (
        "coverage",
        f"Share of the intervals that hold the truth (dashed: what they claim){of_most}",
        _coverage_panels(most, confidence),
    )
    yield "cost", "Cost of one run", [_cost_panel(most)]


def _has_points(panel: Panel) -> bool:
    return any(math.isfinite(y) for curve in panel.curves for y in curve.y)


def _error_panels(
    lines: Sequence[Line],
    panel_of: Callable[[Line], str],
    x_label: str,
    x_of: Callable[[Line], Place],
    log_x: bool | int = False,
) -> list[Panel]:
    """A panel for each group of lines, a curve per mechanism in it."""
    panels = []
    for title, members in _grouped(lines, panel_of):
        curves = []
        for name, own in _grouped(members, lambda line: line.mechanism):
            ordered = sorted(own, key=x_of) if log_x else own
            low, high = zip(*map(_band, ordered), strict=True)
            x = [x_of(line) for line in ordered]
            curves.append(Curve(name, x, list(map(_shown_error, ordered)), low, high, _role(own)))
        unit = measure_of(members[0])
        y_label = unit.removeprefix("root mean square error, ")
        y_label = f"RMSE ({y_label})" if y_label != unit else "mean relative error (%), not NULL"
        panels.append(Panel(title, x_label, y_label, tuple(curves), log_x=log_x, log_y=True))
    return panels


def _role(lines: Sequence[Line]) -> Role:
    return "measured" if lines[0].sound else "unsound"


def _shown_error(line: Line) -> float:
    """The error; nothing where most answers are NULL, for the rest are the easy ones."""
    return error_of(line) if line.errors.undetermined <= _MOST_NULL else math.nan


def _band(line: Line) -> tuple[float, float]:
    """The error with twice the standard error of its square over the repetitions."""
    error, square = error_of(line), line.errors.mse
    if not math.isfinite(line.mse_stderr) or not square > 0 or not math.isfinite(line.errors.nmse):
        return error, error
    spread = 2.0 * line.mse_stderr / square
    return error * math.sqrt(max(1.0 - spread, 0.05)), error * math.sqrt(1.0 + spread)


def _coverage_panels(lines: Sequence[Line], confidence: float) -> list[Panel]:
    """Over epsilon, a panel per aggregate; all workloads together."""
    panels = []
    for aggregate, members in _grouped(lines, lambda line: line.aggregate):
        curves = []
        for name, own in _grouped(members, lambda line: line.mechanism):
            by_epsilon = sorted(_grouped(own, lambda line: line.epsilon))
            x = [epsilon for epsilon, _ in by_epsilon]
            curves.append(Curve(name, x, [_covered(at) for _, at in by_epsilon], role=_role(own)))
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
    return panels


def _covered(lines: Sequence[Line]) -> float:
    """Per cent, every answer counting alike; nothing where most are NULL."""
    known = [line for line in lines if math.isfinite(line.errors.coverage)]
    weights = [line.errors.answers * (1.0 - line.errors.undetermined) for line in known]
    asked = sum(line.errors.answers for line in lines)
    if not sum(weights) or sum(weights) < (1.0 - _MOST_NULL) * asked:
        return math.nan
    inside = sum(w * line.errors.coverage for w, line in zip(weights, known, strict=True))
    return 100.0 * inside / sum(weights)


def _cost_panel(lines: Sequence[Line]) -> Panel:
    curves = []
    for name, own in _grouped(lines, lambda line: line.mechanism):
        seconds = [_mean([line.seconds.get(work, 0.0) for line in own]) for work in COSTS]
        shown = [value if value > 0 else math.nan for value in seconds]
        curves.append(Curve(name, COSTS, shown, role=_role(own)))
    people = f"{lines[0].users:,} people"
    return Panel(people, "kind of work", "seconds", tuple(curves), log_y=True)
