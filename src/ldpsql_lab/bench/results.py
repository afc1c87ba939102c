"""The results of a comparison of mechanisms as tables of text, figures, and a page."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar

from ldpsql.errors import pluralize
from ldpsql.terminal.figures import Curve, Panel, Role, draw_figure, save_figure
from ldpsql.terminal.text import table_lines
from ldpsql.wording.texts import html_text
from ldpsql_lab.bench.summary import COSTS, Line

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


def error_of(line: Line) -> float:
    """The error that is shown: in % of all people or of the total, else in % of the answer."""
    if math.isfinite(line.errors.nmse):
        return 100.0 * math.sqrt(line.errors.nmse)
    return 100.0 * line.errors.mre


def measure_of(line: Line) -> str:
    """The measure of error of `error_of`, in words."""
    if line.aggregate.startswith("COUNT"):
        return "root mean square error, % of the people"
    if math.isfinite(line.errors.nmse):
        return "root mean square error, % of the sum over everybody"
    return "mean relative error, %"


def tables(lines: Sequence[Line]) -> Iterator[str]:
    """One table per number of people, workload and aggregate (mechanisms by epsilon), then the
    cost of one run with the largest number of people."""
    groups = _group_lines(lines, lambda line: (line.users, line.workload, line.aggregate))
    for (users, workload, aggregate), members in groups:
        title = f"{aggregate}, {workload}, {users:,} people: {measure_of(members[0])}"
        yield _put_title(title, *_error_rows(members))
    most = max(line.users for line in lines)
    rows = []
    for name, own in _group_lines([line for line in lines if line.users == most], _label):
        seconds = [f"{_mean([line.seconds[work] for line in own]):.2f}" for work in COSTS]
        bits, stored = max(line.bits for line in own), max(line.bytes for line in own)
        rows.append([name, *seconds, f"{bits:.1f}", str(stored)])
    head = ["mechanism", *COSTS, "bits/report", "bytes stored"]
    yield _put_title("Cost of one run, seconds", head, rows)


def _label(line: Line) -> str:
    """The mechanism, marked where it promises nothing, or less than others."""
    if not line.sound:
        return f"{line.mechanism} (NOT PRIVATE)"
    return f"{line.mechanism} (ULDP)" if "ULDP" in line.guarantee else line.mechanism


def _put_title(title: str, head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    right = [place > 0 for place in range(len(head))]
    return "\n".join([title, *table_lines(head, rows, right), ""])


def _group_lines(
    lines: Iterable[Line], group_of: Callable[[Line], Group]
) -> list[tuple[Group, list[Line]]]:
    """The lines of every group, in the order of their first ones."""
    groups: dict[Group, list[Line]] = {}
    for line in lines:
        groups.setdefault(group_of(line), []).append(line)
    return list(groups.items())


def _error_rows(members: Sequence[Line]) -> tuple[list[str], list[list[str]]]:
    """Head and rows of one table: sound mechanisms first, of these the ones that answer most, of
    these the most accurate."""
    epsilons = sorted({line.epsilon for line in members})
    has_null = any(line.errors.undetermined > 0 for line in members)
    columns = [f"eps {epsilon:g}" for epsilon in epsilons]
    head = ["mechanism", *columns, "intervals hold", f"+/- ({columns[-1]})"]
    rows = []
    for name, every in sorted(_group_lines(members, _label), key=lambda group: _rank(group[1])):
        own = {line.epsilon: line for line in every}
        cells = [_short(error_of(own[e])) if e in own else "-" for e in epsilons]
        covered = _mean([line.errors.coverage for line in every])
        half = own[epsilons[-1]].errors.width / 2 if epsilons[-1] in own else math.nan
        row = [name, *cells, "-" if math.isnan(covered) else f"{100 * covered:.1f} %", _short(half)]
        if has_null:
            row.append(f"{100 * _mean([line.errors.undetermined for line in every]):.0f} %")
        rows.append(row)
    return head + (["NULL"] if has_null else []), rows


def _rank(own: Sequence[Line]) -> tuple[bool, float, float]:
    """What answers only easy questions has small errors in the others, so NULLs, in whole per cent
    as they are shown, come before errors."""
    shown = [error_of(line) for line in own]
    known = [math.log(max(error, 1e-12)) for error in shown if math.isfinite(error)]
    unanswered = round(100 * _mean([line.errors.undetermined for line in own]))
    return not own[0].sound, unanswered, _mean(known) if known else math.inf


def _short(value: float) -> str:
    """Three significant digits."""
    if not math.isfinite(value):
        return "-"
    return f"{value:,.0f}" if value >= 1000 else f"{value:.3g}"


def _mean(values: Sequence[float]) -> float:
    known = [value for value in values if math.isfinite(value)]
    return sum(known) / len(known) if known else math.nan


def write_page(lines: Sequence[Line], folder: Path, name: str, confidence: float) -> Path:
    """Write figures (PNG and SVG) and index.html into a folder; returns the path of the page.

    name: of the table.  confidence: what the intervals claim.
    """
    folder.mkdir(parents=True, exist_ok=True)
    sizes = sorted({line.users for line in lines})
    people = " to ".join(f"{size:,}" for size in dict.fromkeys((sizes[0], sizes[-1])))
    note = f"{name}, {people} people, {pluralize(lines[0].repetitions, 'repetition')}"
    parts = [f"<p>{html_text(note)}</p>"]
    for file, title, panels in _figures(lines, confidence):
        if panels := [panel for panel in panels if panel.curves]:
            figure = draw_figure(title, panels, note=note)
            for form in ("png", "svg"):
                save_figure(figure, folder / f"{file}.{form}")
            parts.append(f'<h2>{html_text(title)}</h2><img src="{file}.svg" alt="">')
    parts.append("<h2>Numbers</h2>")
    parts += [f"<pre>{html_text(table)}</pre>" for table in tables(lines)]
    page = folder / "index.html"
    page.write_text(_PAGE + "\n".join(parts) + "\n</body></html>\n", encoding="utf-8")
    return page


def _figures(lines: Sequence[Line], confidence: float) -> Iterator[tuple[str, str, list[Panel]]]:
    """(file, title, panels) of every figure; what has nothing to show has no curves."""
    epsilons = {line.epsilon for line in lines}
    users = {line.users for line in lines}
    most = [line for line in lines if line.users == max(users)]
    last = [line for line in lines if line.epsilon == max(epsilons)]
    of_most = f", {max(users):,} people" if len(users) > 1 else ""
    by_epsilon: dict[str, Any] = {"x_label": "epsilon", "x_of": lambda line: line.epsilon}
    if len(epsilons) > 1:
        by_epsilon["log_x"] = 2
        yield "errors", f"Error by epsilon{of_most}", _panels(most, _error, **by_epsilon)
    if len(users) > 1:
        title = f"Error by number of people, epsilon {max(epsilons):g}"
        panels = _panels(last, _error, "people", lambda line: line.users, log_x=10)
        yield "users", title, panels
    if len(epsilons) == len(users) == 1:
        title, kinds = f"Error at epsilon {max(epsilons):g}", lambda line: line.workload
        yield "errors", title, _panels(lines, _error, "", kinds, lambda line: line.aggregate)
    title = f"Share of the intervals that hold the truth (dashed: what they claim){of_most}"
    yield "coverage", title, _panels(most, _coverage, level=100 * confidence, **by_epsilon)
    costs = []
    for name, own in _group_lines(most, lambda line: line.mechanism):
        seconds = [_mean([line.seconds[work] for line in own]) or math.nan for work in COSTS]
        costs.append(Curve(name, COSTS, seconds, role=_role(own[0])))
    panel = Panel(f"{max(users):,} people", "kind of work", "seconds", tuple(costs), log_y=True)
    yield "cost", "Cost of one run", [panel]


Shown = tuple[float, float, float]


def _panels(
    lines: Sequence[Line],
    shown: Callable[[Line], Shown],
    x_label: str,
    x_of: Callable[[Line], Any],
    panel_of: Callable[[Line], str] = lambda line: f"{line.aggregate}, {line.workload}",
    log_x: int = 0,
    level: float | None = None,
) -> list[Panel]:
    """A panel for each group of lines, in it a curve per mechanism that has something to show.

    shown: what stands over x_of, and the ends of its band.  level: what it should be, if anything;
    without one it is an error.
    """
    panels = []
    for title, members in _group_lines(lines, panel_of):
        curves = []
        for name, own in _group_lines(members, lambda line: line.mechanism):
            ordered = sorted(own, key=x_of) if log_x else own
            y, low, high = zip(*map(shown, ordered), strict=True)
            if any(map(math.isfinite, y)):
                x = [x_of(line) for line in ordered]
                curves.append(Curve(name, x, y, low, high, _role(own[0])))
        error = measure_of(members[0]).replace("root mean square error", "RMSE")
        y_label = "% of the intervals" if level else error
        look: dict[str, Any] = {"log_x": log_x, "log_y": level is None, "level": level}
        panels.append(Panel(title, x_label, y_label, tuple(curves), **look))
    return panels


def _role(line: Line) -> Role:
    return "measured" if line.sound else "unsound"


def _error(line: Line) -> Shown:
    """The error, with twice the standard error of its square over the repetitions; nothing where
    most answers are NULL, for the rest are the easy ones."""
    error, square = error_of(line), line.errors.mse
    if line.errors.undetermined > _MOST_NULL:
        return math.nan, math.nan, math.nan
    if not math.isfinite(line.mse_stderr) or not square > 0 or not math.isfinite(line.errors.nmse):
        return error, error, error
    spread = 2.0 * line.mse_stderr / square
    return error, error * math.sqrt(max(1.0 - spread, 0.05)), error * math.sqrt(1.0 + spread)


def _coverage(line: Line) -> Shown:
    """Per cent of the intervals that hold the truth; nothing where most are NULL."""
    known = line.errors.undetermined <= _MOST_NULL
    covered = 100 * line.errors.coverage if known else math.nan
    return covered, covered, covered
