"""Plots of answers, of errors to expect, and of mechanisms: panels of curves, with one look.

They show estimates and errors, never records. matplotlib is optional (`pip install ldpsql[plot]`)
and is imported when something is drawn.
"""

from __future__ import annotations

import logging
import math
import re
import textwrap
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date
from io import StringIO
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from ldpsql.reports.atomic import replace_file
from ldpsql.wording.texts import figure_text
from ldpsql_device.errors import NotSupportedError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

Role = Literal["measured", "predicted", "unsound"]
Place = float | str | date
"""On the axis x: a number, a name, a day or a moment."""

_PANEL, _HEIGHT, _LEGEND_ROW, _LEAST_WIDTH = 4.3, 3.6, 0.24, 6.4  # inches
_ENTRY_LETTERS, _TITLE_LETTERS = 12.0, 10.5  # per inch of a legend's entry and of a title
_DOTS = 140
_COLOURS = (
    *("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00", "#444444"),
    *("#7b3294", "#a6761d", "#66a61e", "#e7298a", "#999999"),
)
_MARKERS = ("o", "s", "^", "D", "v", "P", "X")
_BESIDE = 0.5  # of the distance of two kinds, over which their points are spread
_STYLES: dict[Role, str] = {"measured": "-", "predicted": "--", "unsound": ":"}
_FEW_PLACES, _FEW_TIMES = 8, 5
_SLANT, _LETTER_HEIGHT = 35, 0.045  # degrees; inches of a slanted letter of a kind's name
_LETTER = 0.022  # width of a digit of a tick's label, as a share of a panel's
_FEW = 25  # a curve of so few points has them marked
_DECADE = 10.0
_INK, _GRID = "#010203", "#dddddd"


@dataclass(frozen=True)
class Curve:
    """A line of a panel: values y over x, with a band from low to high where they are given.

    x: numbers, times, or names for an axis of kinds (every curve of a panel then has the same
    names; they are drawn side by side as points without lines). A NaN in y leaves a gap. role:
    `measured` (solid), `predicted` (dashed), `unsound` (dotted with hollow marks, and the legend
    says that it is not private).
    """

    label: str
    x: Sequence[Place]
    y: Sequence[float]
    low: Sequence[float] | None = None
    high: Sequence[float] | None = None
    role: Role = "measured"

    def __post_init__(self) -> None:
        sides = [side for side in (self.y, self.low, self.high) if side is not None]
        if any(len(side) != len(self.x) for side in sides):
            raise ValueError(f"curve {self.label!r}: x, y, low and high differ in length")
        if (self.low is None) != (self.high is None):
            raise ValueError(f"curve {self.label!r}: a band needs both low and high")

    @property
    def entry(self) -> str:
        """The entry of the legend."""
        return f"{self.label} (NOT PRIVATE)" if self.role == "unsound" else self.label

    @property
    def is_categorical(self) -> bool:
        """Whether x holds names."""
        return len(self.x) > 0 and isinstance(self.x[0], str)


@dataclass(frozen=True)
class Panel:
    """One pair of axes. Labels say the unit; `log_x` may be the base (2 or 10) or True for 10."""

    title: str
    x_label: str
    y_label: str
    curves: tuple[Curve, ...]
    log_x: bool | int = False
    log_y: bool = False
    zero: bool = False  # whether the y axis starts at zero; not with log_y
    level: float | None = None  # a line across: a nominal value, a ratio of one
    x_limits: tuple[float, float] | None = None

    @property
    def has_times(self) -> bool:
        """Whether the axis x holds days or moments."""
        return any(isinstance(x, date) for curve in self.curves for x in curve.x[:1])

    @property
    def kinds(self) -> tuple[str, ...]:
        """The names on an axis of kinds; none on an axis of numbers."""
        return tuple(str(x) for c in self.curves[:1] if c.is_categorical for x in c.x)


def require_matplotlib(what: str = "--plot") -> None:
    """NotSupportedError where matplotlib is not installed; what: needs it."""
    # Its notes about fonts and caches are of no use to who asked for a picture.
    logging.getLogger("matplotlib").setLevel(logging.ERROR)
    try:
        import matplotlib  # noqa: F401, PLC0415
    except ImportError:
        raise NotSupportedError(f"{what} needs matplotlib: pip install ldpsql[plot]") from None


def draw_figure(title: str, panels: Sequence[Panel], *, columns: int = 3, note: str = "") -> Figure:
    """The panels in rows of at most `columns`, with one legend below all of them.

    Curves of the same label have the same colour and mark in every panel. note: small print
    under the title, such as the data and the number of repetitions.
    """
    from matplotlib.figure import Figure  # noqa: PLC0415

    across = min(columns, len(panels))
    down = math.ceil(len(panels) / across)
    entries = list(dict.fromkeys(curve.entry for panel in panels for curve in panel.curves))
    width = max(_PANEL * across, _LEAST_WIDTH)
    beside = int(width * _ENTRY_LETTERS / (max(map(len, entries)) + 8))
    beside = max(1, min(len(entries), beside))
    small = textwrap.wrap(note, int(width * _TITLE_LETTERS))
    below = math.ceil(len(entries) / beside) + len(small)
    longest = max((len(name) for panel in panels for name in panel.kinds), default=0)
    height = (_HEIGHT + _LETTER_HEIGHT * longest) * down + _LEGEND_ROW * below + 0.3
    figure = Figure(figsize=(width, height), layout="constrained")
    figure.suptitle("\n".join(map(figure_text, [title, *small])), fontsize=11)
    lines: dict[str, Line2D] = {}
    for panel, axes in zip_longest(panels, figure.subplots(down, across, squeeze=False).flat):
        if panel is None:
            axes.set_axis_off()
            continue
        for place, curve in enumerate(panel.curves):
            shift = _BESIDE * ((place + 0.5) / len(panel.curves) - 0.5)
            line = _draw_curve(axes, curve, entries.index(curve.entry), shift)
            lines.setdefault(curve.entry, line)
        _dress(axes, panel)
    handles = [lines[entry] for entry in entries]
    place_below: Any = {"loc": "outside lower center", "ncols": beside}
    figure.legend(
        handles, list(map(figure_text, entries)), frameon=False, fontsize=9, **place_below
    )
    return figure


def save_figure(figure: Figure, path: Path) -> None:
    """Write a figure as its suffix says, .png or .svg; the same figure gives the same bytes."""
    import matplotlib as mpl  # noqa: PLC0415

    form = path.suffix.lower().removeprefix(".")
    # No date, and no names that are drawn at random.
    metadata = {"Date": None} if form == "svg" else None
    with mpl.rc_context({"svg.hashsalt": "ldpsql"}), replace_file(path) as temporary:
        figure.savefig(temporary, format=form, dpi=_DOTS, metadata=metadata)


def svg_of(draw: Callable[[], Figure]) -> str:
    """A figure as an SVG element for an HTML page, on whose background and with whose colour of
    text it is drawn, so that it can be read on a dark page, too."""
    require_matplotlib("a picture")
    import matplotlib as mpl  # noqa: PLC0415

    # Colours that stand for the page's own; an SVG that is part of a page knows `currentColor`.
    inked = ("text.color", "axes.labelcolor", "axes.edgecolor", "xtick.color", "ytick.color")
    look: dict[Any, Any] = {**dict.fromkeys(inked, _INK), "axes.facecolor": "none"}
    look |= {"svg.fonttype": "none", "svg.hashsalt": "ldpsql", "figure.facecolor": "none"}
    written = StringIO()
    with mpl.rc_context(look):
        draw().savefig(written, format="svg", metadata={"Date": None})
    text = written.getvalue().replace(_INK, "currentColor").replace(_GRID, "rgb(128 128 128 / 30%)")
    # A style sheet would hold for the whole page.
    text = re.sub(r"<metadata>.*?</metadata>|<style.*?</style>", "", text, flags=re.DOTALL)
    fits = '<svg style="max-width:100%;height:auto" '
    return text[text.index("<svg ") :].replace("<svg ", fits, 1)


def _draw_curve(axes: Axes, curve: Curve, look: int, shift: float) -> Line2D:
    colour = _COLOURS[look % len(_COLOURS)]
    marker = _MARKERS[(look + look // len(_COLOURS)) % len(_MARKERS)]
    kinds = curve.is_categorical
    x: Any = [place + shift for place in range(len(curve.x))] if kinds else curve.x
    line = axes.plot(
        x,
        curve.y,
        color=colour,
        linestyle="none" if kinds else _STYLES[curve.role],
        linewidth=1.6,
        marker=marker if kinds or len(curve.x) <= _FEW else None,
        markersize=4.5,
        markerfacecolor="white" if curve.role == "unsound" else colour,
    )[0]
    if curve.low is not None and curve.high is not None:
        if kinds:
            axes.vlines(x, curve.low, curve.high, color=colour, linewidth=1.2)
        else:
            axes.fill_between(x, curve.low, curve.high, color=colour, alpha=0.16, lw=0)
    return line


def _dress(axes: Axes, panel: Panel) -> None:
    from matplotlib.dates import AutoDateLocator, ConciseDateFormatter  # noqa: PLC0415
    from matplotlib.ticker import FuncFormatter  # noqa: PLC0415

    axes.set_title(figure_text(panel.title), fontsize=10)
    axes.set_xlabel(figure_text(panel.x_label))
    axes.set_ylabel(figure_text(panel.y_label))
    if kinds := panel.kinds:
        slanted: dict[str, Any] = {
            "rotation": _SLANT,
            "ha": "right",
            "rotation_mode": "anchor",
            "fontsize": 8,
        }
        axes.set_xticks(range(len(kinds)), list(map(figure_text, kinds)), **slanted)
        axes.set_xlim(-0.5, len(kinds) - 0.5)
    if panel.log_x:
        base = 10 if panel.log_x is True else panel.log_x
        axes.set_xscale("log", base=base)
        axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    if panel.has_times:
        locate: Any = AutoDateLocator  # which matplotlib leaves untyped
        concise: Any = ConciseDateFormatter
        axes.xaxis.set_major_locator(locate(minticks=1, maxticks=_FEW_TIMES))
        axes.xaxis.set_major_formatter(concise(axes.xaxis.get_major_locator()))
    else:
        _ticks_at_values(axes, panel)
    if panel.log_y:
        axes.set_yscale("log")
        _readable_decades(axes)
    elif panel.zero:
        axes.set_ylim(bottom=0)
    if panel.x_limits is not None:
        axes.set_xlim(*panel.x_limits)
    if panel.level is not None:
        axes.axhline(panel.level, color="#888888", linewidth=0.9, linestyle=(0, (4, 3)), zorder=0)
    axes.grid(visible=True, which="major", color=_GRID, linewidth=0.6)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)


def _ticks_at_values(axes: Axes, panel: Panel) -> None:
    """Few measured places have ticks of their own, none between them; what would run into the
    label before it, or into that of the last place, has none."""
    from matplotlib.ticker import NullLocator  # noqa: PLC0415

    places = sorted({x for c in panel.curves for x in c.x if isinstance(x, int | float)})
    if not 0 < len(places) <= _FEW_PLACES:
        return
    scale = math.log if panel.log_x and places[0] > 0 else float
    span = scale(places[-1]) - scale(places[0])

    def are_apart(left: float, right: float) -> bool:
        letters = len(f"{left:g}") + len(f"{right:g}") + 2
        return scale(right) - scale(left) >= span * _LETTER * letters / 2

    shown = places[:1]
    for place in places[1:-1]:
        if are_apart(shown[-1], place) and are_apart(place, places[-1]):
            shown.append(place)
    shown += places[1:][-1:]
    axes.set_xticks(shown, [f"{place:g}" for place in shown])
    axes.xaxis.set_minor_locator(NullLocator())


def _readable_decades(axes: Axes) -> None:
    """At least a decade; over few of them there are ticks at 2 and 5 as well, in plain numbers."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter  # noqa: PLC0415

    low, high = axes.get_ylim()
    if high < _DECADE * low:
        middle = math.sqrt(low * high)
        low, high = middle / math.sqrt(_DECADE), middle * math.sqrt(_DECADE)
        axes.set_ylim(low, high)
    if high < _DECADE**2 * low:
        axes.yaxis.set_major_locator(LogLocator(10, subs=(1.0, 2.0, 5.0)))
        axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:.3g}"))
    axes.yaxis.set_minor_formatter(NullFormatter())
