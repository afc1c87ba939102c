"""Optimal randomized response for many values: what section 4 of the paper claims.

The paper states the linear program and solves it numerically; its plots are not reconstructed one
by one. Each figure here checks a claim of its section 4 with the closed form that the paper leaves
open (docs/spec/rr-optimum.md#1.2):

* over epsilon, for the priors of real columns: the optimum is never below randomized response over
  all values, and reports agree as often as it says. (The columns of nursery but `class` are even.)
* over the skew of the prior: the more skewed, the fewer values are reported at all, and the optimum
  agrees more while it can estimate less. The paper does not say so.
* over delta: the optimum is delta + (1 - delta) times that without. The paper's program bounds
  single reports (its constraint 20); for three values and more that is not (epsilon, delta)-DP,
  though its optimal value is the same. A solution of it is taken, and its true delta, over sets of
  reports, computed (needs scipy; without it this claim is undecided).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from benchmarks.figures import Cases, Figure, Measured, Verdict
from benchmarks.figures.curves import exact, sampled
from benchmarks.figures.response_work import (
    PAPER,
    agreement,
    column,
    error,
    judge_agreement,
    measured,
    share_of,
    symmetric,
    truthful,
)
from ldpsql.reports.channel import enumerate_law
from ldpsql.terminal.figures import Panel, draw_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

EXACT = 1e-9
COLUMNS = (
    ("nursery", "class"),
    ("nursery", "has_nurs"),
    ("students_performance", "race_ethnicity"),
    ("students_performance", "parental_education"),
)


def _formula(prior: Sequence[float], epsilon: float, delta: float = 0.0) -> float:
    """delta + (1 - delta) max over s of E Pi_s / (E + s - 1)."""
    odds, sums = math.exp(epsilon), np.cumsum(sorted(prior, reverse=True))
    best = (odds * sums / (odds + np.arange(len(sums)))).max()
    return float(delta + (1.0 - delta) * best)


# -- over epsilon ----------------------------------------------------------------------------------


def measure_epsilon(cases: Cases, *, epsilons: Sequence[str]) -> Measured:
    rows = []
    columns = [column(*names) for names in COLUMNS]
    for codes, shares, text in columns:
        prior = [float(share) for share in shares]
        for place, epsilon in enumerate(epsilons):
            design = truthful(shares, epsilon)
            rows.append(
                {
                    "people": text,
                    "count": len(codes),
                    "epsilon": float(epsilon),
                    "values": len(prior),
                    "support": len(design.support),
                    "formula": _formula(prior, float(epsilon)),
                    "optimum": agreement(design, prior),
                    "k_rr": agreement(symmetric(len(prior), epsilon), prior),
                    "measured": measured(design, codes, place),
                }
            )
    return Measured(rows, "; ".join(text for _, _, text in columns))


def draw_epsilon(found: Measured) -> Drawing:
    panels = []
    for people in found.values("people"):
        rows = found.where(people=people)
        curves = (
            exact("optimum", rows, "epsilon", "optimum"),
            exact("k-RR over all values", rows, "epsilon", "k_rr"),
            sampled("optimum, measured", rows, "epsilon", share_of),
        )
        title = people.partition(",")[0]
        panels.append(Panel(title, "epsilon", "probability of the own value", curves))
    return draw_figure("Agreement over epsilon, many values", panels, columns=2)


def judge_epsilon(found: Measured) -> list[Verdict]:
    gap = max(abs(row["formula"] - row["optimum"]) for row in found.rows)
    least = min(row["optimum"] - row["k_rr"] for row in found.rows)
    most = max(found.rows, key=lambda row: row["optimum"] / row["k_rr"])
    return [
        Verdict(
            "the optimum is never below randomized response over all values",
            gap < EXACT and least > -EXACT,
            f"up to {most['optimum'] / most['k_rr']:.2f} times as high ({most['people']}, epsilon "
            f"{most['epsilon']:g}, {most['support']} of {most['values']} values reported)",
        ),
        judge_agreement(found.rows),
    ]


# -- over the skew of the prior --------------------------------------------------------------------


def measure_skew(
    cases: Cases, *, epsilons: Sequence[str], values: int, skews: Sequence[float]
) -> Measured:
    rows = []
    for epsilon in epsilons:
        for skew in skews:
            raw = np.arange(1, values + 1.0) ** -skew
            prior = [float(share) for share in raw / raw.sum()]
            design = truthful(prior, epsilon)
            known = [math.isfinite(error(design, prior, value)) for value in range(values)]
            rows.append(
                {
                    "epsilon": float(epsilon),
                    "skew": skew,
                    "support": len(design.support),
                    "estimable": sum(known),
                    "optimum": agreement(design, prior),
                    "k_rr": agreement(symmetric(values, epsilon), prior),
                }
            )
    return Measured(rows, f"no data: exact channels over {values} values, shares as rank^-skew")


def draw_skew(found: Measured) -> Drawing:
    utility, size = [], []
    for epsilon in found.values("epsilon"):
        rows = found.where(epsilon=epsilon)
        utility.append(exact(f"epsilon {epsilon:g}", rows, "skew", "optimum"))
        size.append(exact(f"epsilon {epsilon:g}", rows, "skew", "estimable"))
    panels = [
        Panel("agreement", "skew of the prior", "probability of the own value", tuple(utility)),
        Panel("what can be learned", "skew of the prior", "values with an estimate", tuple(size)),
    ]
    return draw_figure("Agreement over the skew of the prior", panels, note=found.data)


def judge_skew(found: Measured) -> list[Verdict]:
    rising = all(
        a["optimum"] <= b["optimum"] + EXACT and a["support"] >= b["support"]
        for epsilon in found.values("epsilon")
        for a, b in zip(
            found.where(epsilon=epsilon), found.where(epsilon=epsilon)[1:], strict=False
        )
    )
    last = [found.where(epsilon=epsilon)[-1] for epsilon in found.values("epsilon")]
    fewest = min(last, key=lambda row: row["estimable"])
    return [
        Verdict(
            "the more skewed the prior, the higher the optimal agreement",
            rising,
            f"{last[0]['optimum']:.3f} at skew {last[0]['skew']:g}, epsilon {last[0]['epsilon']:g}",
        ),
        Verdict(
            "(implied by calling it utility) a channel of higher agreement is more useful",
            not any(row["estimable"] == 0 for row in found.rows),
            f"at skew {fewest['skew']:g}, epsilon {fewest['epsilon']:g} it agrees with probability "
            f"{fewest['optimum']:.3f} and estimates {fewest['estimable']} values",
        ),
    ]


# -- over delta ------------------------------------------------------------------------------------


def measure_delta(
    cases: Cases, *, epsilon: str, deltas: Sequence[str], sizes: Sequence[int]
) -> Measured:
    rows = []
    random = np.random.default_rng(11)
    priors = [("class of nursery", [float(s) for s in column("nursery", "class")[1]])]
    priors += [(f"random, {n} values", random.dirichlet(np.ones(n)).tolist()) for n in sizes]
    for text, prior in priors:
        for delta in deltas:
            design = truthful(prior, epsilon, delta)
            program, needed = _paper_program(prior, float(epsilon), float(delta))
            rows.append(
                {
                    "prior": text,
                    "delta": float(delta),
                    "formula": _formula(prior, float(epsilon), float(delta)),
                    "optimum": agreement(design, prior),
                    "spent": float(enumerate_law(design.plan).divergence(design.epsilon.odds)),
                    "program": program,
                    "program_spent": needed,
                }
            )
    return Measured(
        rows, f"exact channels, epsilon {epsilon}; prior of class of nursery, and random"
    )


def _paper_program(prior: Sequence[float], epsilon: float, delta: float) -> tuple[float, float]:
    """Optimal value of the paper's program, and the delta that its solution really needs; NaN
    without scipy."""
    try:
        from scipy.optimize import linprog  # noqa: PLC0415
    except ImportError:
        return math.nan, math.nan
    n, odds = len(prior), math.exp(epsilon)
    limits = []
    for a in range(n):
        for b in range(n):
            for j in range(n):
                if a != b:
                    row = np.zeros((n, n))
                    row[a, j], row[b, j] = 1.0, -odds
                    limits.append(row.ravel())
    sums = np.kron(np.eye(n), np.ones(n))
    cost = -np.diag(prior).ravel()
    right = np.full(len(limits), delta)
    found = linprog(cost, np.array(limits), right, sums, np.ones(n), method="highs")
    channel = found.x.reshape(n, n)
    needed = max(
        float(np.maximum(one - odds * other, 0.0).sum()) for one in channel for other in channel
    )
    return -float(found.fun), needed


def draw_delta(found: Measured) -> Drawing:
    panels = []
    for prior in found.values("prior"):
        rows = found.where(prior=prior)
        program = "by a solution of the paper's program"
        curves = (
            exact("delta spent by the closed form", rows, "delta", "spent", "measured"),
            exact(program, rows, "delta", "program_spent", "unsound"),
        )
        panels.append(Panel(prior, "delta", "delta over sets of reports", curves))
    return draw_figure("What delta is really spent, many values", panels, note=found.data)


def judge_delta(found: Measured) -> list[Verdict]:
    gap = max(abs(row["formula"] - row["optimum"]) for row in found.rows)
    over = max(row["spent"] - row["delta"] for row in found.rows)
    solved = [row for row in found.rows if not math.isnan(row["program"])]
    apart = max((abs(row["program"] - row["formula"]) for row in solved), default=math.nan)
    worst = max((row["program_spent"] / row["delta"] for row in solved), default=math.nan)
    return [
        Verdict(
            "with delta, the optimum is delta + (1-delta) times the optimum without",
            gap < EXACT and over <= 0.0,
            f"formula and channel differ by {gap:.1g}, and no delta is overspent",
        ),
        Verdict(
            "the paper's program has the same optimal value",
            apart < 1e-7 if solved else None,
            f"they differ by {apart:.1g}",
        ),
        Verdict(
            "the solutions of the paper's program are (epsilon, delta)-DP",
            worst <= 1.0 + 1e-6 if solved else None,
            f"one of {len(solved)} needs {worst:.2f} times its delta",
        ),
    ]


_EPSILONS = ("0.1", "0.25", "0.5", "0.75", "1", "1.5", "2", "3", "4")
_DELTAS = ("0.01", "0.05", "0.1", "0.15", "0.2", "0.3")

FIGURES = (
    Figure(
        name="response-6-nary-epsilon",
        source=f"{PAPER}, section 4, over epsilon",
        measure=measure_epsilon,
        draw=draw_epsilon,
        judge=judge_epsilon,
        quick={"epsilons": _EPSILONS[::2]},
        full={"epsilons": _EPSILONS},
    ),
    Figure(
        name="response-7-nary-skew",
        source=f"{PAPER}, section 4, over the prior",
        measure=measure_skew,
        draw=draw_skew,
        judge=judge_skew,
        quick={"epsilons": ("0.5", "1", "2"), "values": 10, "skews": (0.0, 0.5, 1.0, 2.0, 4.0)},
        full={
            "epsilons": ("0.5", "1", "2", "4"),
            "values": 20,
            "skews": (0.0, 0.1, 0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0),
        },
    ),
    Figure(
        name="response-8-nary-delta",
        source=f"{PAPER}, section 4, over delta",
        measure=measure_delta,
        draw=draw_delta,
        judge=judge_delta,
        quick={"epsilon": "1", "deltas": _DELTAS[1::2], "sizes": (3, 5)},
        full={"epsilon": "1", "deltas": _DELTAS, "sizes": (3, 4, 5, 6, 8)},
    ),
)
