"""Draw the pictures of docs/fourier.md: `python -m benchmarks.pictures`. Needs matplotlib."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from PIL import Image

from ldpsql.designer import DesignedSurvey, design_survey
from ldpsql.designer.forecast import demand_curves, error_curves, information_curves
from ldpsql.workbench.pictures import draw_survey

TARGET = Path(__file__).parents[1] / "docs" / "images"
BLUE, ORANGE, GREEN, PINK, GREY = "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#d9d9d9"
AXIS = '[survey]\ntable = "t"\nepsilon = "1"\nmechanism = "{}"\n{}[dimension.x]\ntype = "int"\n'
AXIS += "domain = [0, 63]\n"
TREE = "[survey.options]\nfanout = 4\n"
BEST = TREE + 'oracle = "auto"\ninference = "consistent"\nallocation = "optimal"\n'
PEOPLE = """
[survey]
table = "people"
epsilon = "2"
[dimension.age]
type = "int"
domain = [17, 90]
[dimension.sex]
type = "category"
values = ["Female", "Male"]
[measure.hours_per_week]
bounds = [0, 80]
required = true
"""


def report() -> Figure:
    """Left: the phases that a record reports more often. Right: what three reports say."""
    order, length, theta = 24, 6, 17
    figure = Figure(figsize=(9.6, 3.5), layout="constrained")
    left, right = figure.subplots(1, 2, width_ratios=(1, 1.7))
    inside = {(theta - offset) % order for offset in range(length)}
    for phase in range(order):
        x, y = _on_circle(phase, order)
        left.plot(x, y, "o", markersize=13, color=ORANGE if phase in inside else GREY)
    x, y = _on_circle(theta, order)
    left.annotate("", (0.86 * x, 0.86 * y), (0, 0), arrowprops={"arrowstyle": "->", "lw": 1.8})
    left.text(0, 0.16, "the record's phase", ha="center", fontsize=9)
    left.set_title("What the device sends: an orange phase\nis e^ε times likelier than a grey one")
    left.set_aspect("equal")
    left.set_axis_off()
    values = np.arange(order)
    for row, (k, phase, wide) in enumerate(((1, 12, 6), (3, 5, 2), (7, 0, 6))):
        turns = order // np.gcd(k, order)
        offset = (k // np.gcd(k, order) * values - phase) % turns
        marked = offset < wide
        right.bar(
            values, 0.62, bottom=2 - row - 0.31, width=0.92, color=np.where(marked, ORANGE, GREY)
        )
        right.text(-1.1, 2 - row, f"frequency {k}", ha="right", va="center", fontsize=9)
    right.set_title("What a report says: the record is\nlikelier to be one of the orange values")
    right.set_xlabel("value of the record")
    right.set_xlim(-0.7, order - 0.3)
    right.set_yticks([])
    right.spines[["top", "right", "left"]].set_visible(False)
    for axes in (left, right):
        axes.title.set_fontsize(10)
    return figure


def _on_circle(phase: int, order: int) -> tuple[float, float]:
    angle = 2 * np.pi * phase / order
    return float(np.cos(angle)), float(np.sin(angle))


def families() -> Figure:
    """Base sets over two dimensions."""
    size = 24
    first, second = np.meshgrid(np.arange(size), np.arange(size), indexing="ij")
    shuffled = np.random.default_rng(3).permutation(size)[first]
    shown = {
        "arc of a mixed frequency (1, 2)": (first + 2 * second) % size < 6,
        "box: arcs of two frequencies at once": (2 * first % size < 12) & (second < 12),
        "scrambled arc: category x range": (shuffled + second) % size < 6,
    }
    figure = Figure(figsize=(9.6, 3.4), layout="constrained")
    for axes, (title, inside) in zip(figure.subplots(1, 3), shown.items(), strict=True):
        axes.pcolormesh(np.where(inside, 1, 0), cmap=_two_colours(), edgecolors="white", lw=0.4)
        axes.set_title(title, fontsize=10)
        axes.set_aspect("equal")
        axes.set_xticks([])
        axes.set_yticks([])
        axes.set_xlabel("second dimension")
        axes.set_ylabel("category" if "scrambled" in title else "first dimension")
    return figure


def _two_colours() -> object:
    from matplotlib.colors import ListedColormap  # noqa: PLC0415

    return ListedColormap([GREY, ORANGE])


def mixing() -> Figure:
    """Left: need and information over frequency. Right: errors of four mechanisms."""
    figure = Figure(figsize=(9.6, 3.7), layout="constrained")
    left, right = figure.subplots(1, 2)
    found = _one_axis("fourier")
    (need,) = demand_curves(found.survey.design, found.workload)
    (told,) = information_curves(found.survey.design)
    root = np.sqrt(need.y)
    scale = told.y.sum() / root.sum()
    left.loglog(need.x, need.y, color=GREEN, label="what ranges need: γ")
    left.loglog(told.x, told.y, color=BLUE, lw=4, alpha=0.5, label="what a report tells: λ")
    left.loglog(need.x, scale * root, "--", color="black", lw=1, label="proportional to √γ")
    left.set_xscale("log", base=2)
    left.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
    left.set_xlabel("frequency")
    left.set_title("64 values, ε = 1", fontsize=10)
    left.legend(fontsize=9, frameon=False, loc="lower left")
    for label, colour, own in (
        ("hio", GREY, _one_axis("hio", TREE)),
        ("grr", PINK, _one_axis("grr")),
        ("hio, consistent and optimal", GREEN, _one_axis("hio", BEST)),
        ("fourier", BLUE, found),
    ):
        (curve,) = error_curves(own.survey.design, own.people)
        darker = "#888888" if colour == GREY else colour
        right.plot(curve.x, 100 * curve.y, color=darker, label=label)
    right.set_ylim(0, 8.5)
    right.set_xlim(0, 64)
    right.set_xlabel("length of the range (values)")
    right.set_ylabel("standard error (% of 100,000 people)")
    right.set_title("expected error of a count", fontsize=10)
    right.legend(fontsize=9, frameon=False, ncols=2, loc="upper left")
    for axes in (left, right):
        axes.grid(visible=True, which="major", color="#dddddd", linewidth=0.6)
        axes.spines[["top", "right"]].set_visible(False)
    return figure


def _one_axis(mechanism: str, options: str = "") -> DesignedSurvey:
    return design_survey(AXIS.format(mechanism, options), users=100_000)


def survey() -> Figure:
    """What `ldpsql design --plot` draws for the survey of the README."""
    return draw_survey(design_survey(PEOPLE, users=45_000))


def main() -> None:
    for draw in (report, families, mixing, survey):
        target = TARGET / f"fourier-{draw.__name__}.png"
        drawing = io.BytesIO()
        draw().savefig(drawing, format="png", dpi=100)
        # Few colours are enough, and a fourth of the bytes.
        Image.open(drawing).convert("RGB").quantize(255).save(target, optimize=True)
        print(f"{target}: {target.stat().st_size} bytes")


if __name__ == "__main__":
    main()
