"""Public. Sees parameters. A designed survey as a picture.

matplotlib is optional (`pip install ldpsql[plot]`) and is imported when something is drawn.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ldpsql.designer import Designed
from ldpsql.designer.curves import Curve, demand_curves, error_curves, information_curves
from ldpsql.files import replace_file
from ldpsql_device.errors import NotSupportedError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

_PANEL, _HEIGHT, _LEGEND_ROW = 4.3, 3.9, 0.22  # inches
_NAME = 20  # letters; so many columns of the legend fit as there are panels, and one more
_DOTS = 140
_COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00", "#444444")
_STYLES = ("-", "--", "-.", ":")
_FEW = 12  # a curve of so few points has them marked

Panel = tuple[tuple[Curve, ...], Callable[["Axes"], None]]


def check_installed() -> None:
    """NotSupportedError where there is no matplotlib."""
    # Its notes about fonts and caches are of no use to who asked for a picture.
    logging.getLogger("matplotlib").setLevel(logging.ERROR)
    try:
        import matplotlib  # noqa: F401, PLC0415
    except ImportError:
        raise NotSupportedError("--plot needs matplotlib: pip install ldpsql[plot]") from None


def write(found: Designed, target: Path) -> None:
    """Draw a survey into a file, of the kind that its suffix names; OSError where it cannot be."""
    import matplotlib as mpl  # noqa: PLC0415

    form = target.suffix.lower().removeprefix(".")
    # The same survey gives the same file: no date, and no names that are drawn at random.
    with mpl.rc_context({"svg.hashsalt": "ldpsql"}), replace_file(target) as temporary:
        drawn(found).savefig(
            temporary, format=form, dpi=_DOTS, metadata={"Date": None} if form == "svg" else None
        )


def drawn(found: Designed) -> Figure:
    """The figure: what is asked, what a report tells (Fourier designs only), the error expected."""
    from matplotlib.figure import Figure  # noqa: PLC0415

    panels = _panels(found)
    names = _names(found)
    shown = sorted({curve.dimension for curves, _ in panels for curve in curves})
    rows = max(1, -(-len(shown) // (len(panels) + 1)))
    size = (_PANEL * len(panels), _HEIGHT + _LEGEND_ROW * rows)
    figure = Figure(figsize=size, layout="constrained")
    figure.suptitle(_title(found), fontsize=11)
    lines = {}
    for axes, (curves, dressed) in zip(
        figure.subplots(1, len(panels), squeeze=False)[0], panels, strict=True
    ):
        for curve in curves:
            lines[curve.dimension] = _line(axes, curve)
        dressed(axes)
        axes.grid(visible=True, which="major", color="#dddddd", linewidth=0.6)
        axes.set_axisbelow(True)
        axes.spines[["top", "right"]].set_visible(False)
    figure.legend(
        [lines[i] for i in shown],
        [names[i] for i in shown],
        loc="outside lower center",
        ncols=max(1, -(-len(shown) // rows)),
        frameon=False,
        fontsize=9,
    )
    return figure


def _line(axes: Axes, curve: Curve) -> Line2D:
    number = curve.dimension
    return axes.plot(
        curve.x,
        curve.y,
        color=_COLOURS[number % len(_COLOURS)],
        linestyle=_STYLES[number % len(_STYLES)],
        linewidth=1.6,
        marker="o" if len(curve.x) <= _FEW else None,
        markersize=4,
    )[0]


def _panels(found: Designed) -> list[Panel]:
    design, workload = found.survey.design, found.wishes.workload
    panels: list[Panel] = [(demand_curves(design, workload), _dress_demand)]
    told = information_curves(design)
    if told:
        panels.append((told, _dress_information))
    sizes = design.domain.sizes
    errors = tuple(
        Curve(curve.dimension, 100.0 * curve.x / sizes[curve.dimension], 100.0 * curve.y)
        for curve in error_curves(design, found.people)
    )

    def dress_errors(axes: Axes) -> None:
        axes.set_title("Expected error of a count", fontsize=10)
        axes.set_xlabel("length of the range, or size of the set (% of the values)")
        axes.set_ylabel(f"standard error (% of {found.people:,} people)")
        axes.set_xlim(0, 100)
        axes.set_ylim(bottom=0)

    return [*panels, (errors, dress_errors)]


def _dress_demand(axes: Axes) -> None:
    axes.set_title("What the questions need", fontsize=10)
    axes.set_ylabel("mean energy γ of the questions")
    _dress_frequencies(axes)


def _dress_information(axes: Axes) -> None:
    axes.set_title("What one report tells", fontsize=10)
    axes.set_ylabel("information λ (1: records in clear)")
    _dress_frequencies(axes)


def _dress_frequencies(axes: Axes) -> None:
    """Both axes in decades: what is asked falls with the square of the frequency."""
    from matplotlib.ticker import FuncFormatter  # noqa: PLC0415

    axes.set_xlabel("frequency (turns around the circle of values)")
    axes.set_xscale("log", base=2)
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.set_yscale("log")


def _title(found: Designed) -> str:
    survey = found.survey
    how = f"{survey.design.name}{' (chosen by auto)' if survey.chosen else ''}"
    kind = "local epsilon" if survey.shuffled else "epsilon"
    return f"Survey {survey.table}: {how}, {kind} {survey.epsilon}"


def _names(found: Designed) -> Sequence[str]:
    domain = found.survey.design.domain
    return [
        f"{name if len(name) <= _NAME else name[: _NAME - 1] + '…'} ({size} values)"
        for name, size in zip(domain.names, domain.sizes, strict=True)
    ]
