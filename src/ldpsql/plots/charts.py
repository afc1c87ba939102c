"""Panels of curves as a figure, with the same look for all of them."""

from __future__ import annotations

import logging
import math
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from ldpsql_device.atomic import replace_file
from ldpsql_device.errors import NotSupportedError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

Role = Literal["measured", "predicted", "unsound"]

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
_FEW_PLACES = 8
_MARGIN, _KIND_LETTERS = 0.9, 11.0  # inches beside the axes; letters of a kind's name per inch
_SLANT, _LETTER_HEIGHT, _LINE = 35, 0.045, 0.16  # degrees; inches of a slanted letter, of a line
_LETTER = 0.022  # width of a digit of a tick's label, as a share of a panel's
_FEW = 25  # a curve of so few points has them marked
_DECADE = 10.0


@dataclass(frozen=True)
class Curve:
    """A line of a panel: values y over x, with a band from low to high where they are given.

    x: numbers, or names for an axis of kinds (every curve of a panel then has the same names; they
    are drawn side by side as points without lines). A NaN in y leaves a gap. role: `measured`
    (solid), `predicted` (dashed), `unsound` (dotted with hollow marks, and the legend says that
    it is not private).
    """

    label: str
    x: Sequence[float] | Sequence[str]
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
        """What the legend says."""
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
    limits: tuple[float, float] | None = None  # of the y axis
    x_limits: tuple[float, float] | None = None


def require_matplotlib() -> None:
    """NotSupportedError where matplotlib is not installed."""
    # Its notes about fonts and caches are of no use to who asked for a picture.
    logging.getLogger("matplotlib").setLevel(logging.ERROR)
    try:
        import matplotlib  # noqa: F401, PLC0415
    except ImportError:
        raise NotSupportedError("--plot needs matplotlib: pip install ldpsql[plot]") from None


def draw_figure(title: str, panels: Sequence[Panel], *, columns: int = 3, note: str = "") -> Figure:
    """The panels in rows of at most `columns`, with one legend below all of them.

    Curves of the same label have the same colour and mark in every panel. note: small print
    under the title, such as the data and the number of repetitions.
    """
    from matplotlib.figure import Figure  # noqa: PLC0415

    across = min(columns, len(panels))
    down = math.ceil(len(panels) / across)
    entries = list(dict.fromkeys(curve.entry for panel in panels for curve in panel.curves))
    longest = max(len(entry) for entry in entries)
    width = max(_PANEL * across, _LEAST_WIDTH)
    beside = max(1, min(len(entries), int(width * _ENTRY_LETTERS / (longest + 8))))
    rows = math.ceil(len(entries) / beside)
    small = textwrap.wrap(note, int(width * _TITLE_LETTERS))
    room = width / across - _MARGIN
    deepest = max(_kinds(panel, room).height for panel in panels)
    size = (width, (_HEIGHT + deepest) * down + _LEGEND_ROW * (rows + len(small)) + 0.3)
    figure = Figure(figsize=size, layout="constrained")
    figure.suptitle("\n".join([title, *small]), fontsize=11)
    looks = {entry: number for number, entry in enumerate(entries)}
    lines: dict[str, Line2D] = {}
    grid = figure.subplots(down, across, squeeze=False)
    for number, axes in enumerate(grid.flat):
        if number >= len(panels):
            axes.set_axis_off()
            continue
        curves = panels[number].curves
        for place, curve in enumerate(curves):
            shift = _BESIDE * ((place + 0.5) / len(curves) - 0.5)
            lines.setdefault(curve.entry, _line(axes, curve, looks[curve.entry], shift))
        _dress(axes, panels[number], room)
    figure.legend(
        [lines[entry] for entry in entries],
        entries,
        loc="outside lower center",
        ncols=beside,
        frameon=False,
        fontsize=9,
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


def _line(axes: Axes, curve: Curve, look: int, shift: float) -> Line2D:
    colour = _COLOURS[look % len(_COLOURS)]
    marker = _MARKERS[(look + look // len(_COLOURS)) % len(_MARKERS)]
    kinds = curve.is_categorical
    x = [place + shift for place in range(len(curve.x))] if kinds else curve.x
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


@dataclass(frozen=True)
class _Kinds:
    """Names of an axis of kinds, as they fit: in several lines, or slanted. height: inches that
    they take more than one line would."""

    names: tuple[str, ...] = ()
    is_slanted: bool = False

    @property
    def height(self) -> float:
        lines = max((name.count("\n") for name in self.names), default=0)
        longest = max(map(len, self.names), default=0)
        return _LETTER_HEIGHT * longest if self.is_slanted else _LINE * lines


def _kinds(panel: Panel, room: float) -> _Kinds:
    """The names on an axis of kinds, laid out for `room` inches; none on an axis of numbers."""
    if not any(curve.is_categorical for curve in panel.curves):
        return _Kinds()
    names = tuple(map(str, panel.curves[0].x))
    letters = int(room * _KIND_LETTERS / len(names)) - 1
    if max(len(word) for name in names for word in name.split()) > letters:
        return _Kinds(names, is_slanted=True)
    return _Kinds(tuple("\n".join(textwrap.wrap(name, letters)) for name in names))


def _dress(axes: Axes, panel: Panel, room: float) -> None:
    from matplotlib.ticker import FuncFormatter  # noqa: PLC0415

    axes.set_title(panel.title, fontsize=10)
    axes.set_xlabel(panel.x_label)
    axes.set_ylabel(panel.y_label)
    kinds = _kinds(panel, room)
    if kinds.names:
        axes.set_xticks(range(len(kinds.names)), kinds.names)
    if kinds.is_slanted:
        for name in axes.get_xticklabels():
            name.set(rotation=_SLANT, ha="right", rotation_mode="anchor", fontsize=8)
    if panel.log_x:
        base = 10 if panel.log_x is True else panel.log_x
        axes.set_xscale("log", base=base)
        axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    _ticks_at_values(axes, panel)
    if panel.log_y:
        axes.set_yscale("log")
        _readable_decades(axes)
    elif panel.zero:
        axes.set_ylim(bottom=0)
    if panel.limits is not None:
        axes.set_ylim(*panel.limits)
    if panel.x_limits is not None:
        axes.set_xlim(*panel.x_limits)
    if panel.level is not None:
        axes.axhline(panel.level, color="#888888", linewidth=0.9, linestyle=(0, (4, 3)), zorder=0)
    axes.grid(visible=True, which="major", color="#dddddd", linewidth=0.6)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)


def _ticks_at_values(axes: Axes, panel: Panel) -> None:
    """Few measured places have ticks of their own, none between them; what would run into the
    label before it has none."""
    from matplotlib.ticker import NullLocator  # noqa: PLC0415

    places = {float(x) for curve in panel.curves if not curve.is_categorical for x in curve.x}
    if 0 < len(places) <= _FEW_PLACES:
        shown = _apart(sorted(places), is_log=bool(panel.log_x) and min(places) > 0)
        axes.set_xticks(shown, [f"{place:g}" for place in shown])
        axes.xaxis.set_minor_locator(NullLocator())


def _apart(places: Sequence[float], *, is_log: bool) -> list[float]:
    """Those of ascending places whose labels fit beside each other, both ends among them."""
    scaled = [math.log(place) for place in places] if is_log else list(places)
    span = (scaled[-1] - scaled[0]) or 1.0
    room = [_LETTER * (len(f"{place:g}") + 1) / 2 for place in places]
    ends = [0, len(places) - 1]
    shown = ends[:1]
    for number in range(1, len(places)):
        others = {shown[-1]} | ({ends[1]} - {number})
        if number in ends or all(
            abs(scaled[number] - scaled[other]) / span >= room[number] + room[other]
            for other in others
        ):
            shown.append(number)
    return [places[number] for number in shown]


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
