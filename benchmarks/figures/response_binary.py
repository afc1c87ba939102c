"""Optimal randomized response for two values: Figures 2 to 5 of the paper, by what they claim.

The paper's plots are not reconstructed one by one; each figure here checks a claim of its sections
3.1 to 3.3, over the parameter that the claim is about:

* over epsilon: Warner's response is the optimum while the likelier value's share is at most
  E/(E + 1), E = e^epsilon, and the constant answer beyond; measured on two binary columns too.
* over the prior: the optimum is the larger of E/(E + 1) and the share of the likelier value.
* over delta: (E + delta)/(E + 1) inside those bounds, and pi + (1 - pi) delta for the larger
  share pi outside them (the paper's example: .83 at pi = .8, epsilon .1, delta .15).
* what delta buys: the paper says that it avoids the deterministic mechanism. The likelier value
  is still reported for certain, and the other one in clear with probability delta; with a delta as
  small as it should be the minority's share can hardly be estimated. So this claim does not hold
  (docs/spec/rr-optimum.md#1.4, docs/spec/rr-optimum.md#1.5, R6).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

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
COLUMNS = (("students_performance", "lunch"), ("nursery", "finance"))


def closed_form(share: float, epsilon: float, delta: float = 0.0) -> float:
    """The paper's formula (its section 3), for the likelier value's share."""
    odds = math.exp(epsilon)
    inside = share <= odds / (odds + 1.0)
    return (odds + delta) / (odds + 1.0) if inside else share + (1.0 - share) * delta


# -- feasible regions ------------------------------------------------------------------------------


def corners(epsilon: float, delta: float) -> list[tuple[float, float]]:
    """Of the region of (epsilon, delta)-DP channels over two values, in order around it.

    A channel is (a, b), the probabilities that the first and the second value report themselves.
    It is bounded by a <= E (1 - b) + delta and three more lines, and by 0 and 1.
    """
    odds = math.exp(epsilon)
    # x a + y b <= z
    lines = [
        (1.0, odds, odds + delta),
        (odds, 1.0, odds + delta),
        (-odds, -1.0, delta - 1.0),
        (-1.0, -odds, delta - 1.0),
        *((1.0, 0.0, 1.0), (0.0, 1.0, 1.0), (-1.0, 0.0, 0.0), (0.0, -1.0, 0.0)),
    ]
    found = set()
    for (x, y, z), (u, v, w) in itertools.combinations(lines, 2):
        area = x * v - y * u
        if area:
            a, b = (z * v - y * w) / area, (x * w - z * u) / area
            if all(p * a + q * b <= r + EXACT for p, q, r in lines):
                found.add((round(a, 12) + 0.0, round(b, 12) + 0.0))
    return sorted(found, key=lambda point: math.atan2(point[1] - 0.5, point[0] - 0.5))


def measure_region(cases: Cases, *, epsilons: Sequence[str], deltas: Sequence[str]) -> Measured:
    rows = [
        {"epsilon": float(epsilon), "delta": float(delta), "first": a, "second": b}
        for epsilon in epsilons
        for delta in deltas
        for a, b in corners(float(epsilon), float(delta))
    ]
    return Measured(rows, "no data: exact channels")


def draw_region(found: Measured) -> Drawing:
    panels = []
    for epsilon in found.values("epsilon"):
        curves = []
        for delta in found.values("delta"):
            rows = found.where(epsilon=epsilon, delta=delta)
            curves.append(exact(f"delta {delta:g}", [*rows, rows[0]], "first", "second"))
        labels = "first value reports itself", "second value reports itself"
        panels.append(Panel(f"epsilon {epsilon:g}", *labels, tuple(curves)))
    return draw_figure("Feasible channels over two values", panels, note=found.data)


def judge_region(found: Measured) -> list[Verdict]:
    """The best corner for every prior has the agreement of the paper's formula."""
    gaps = []
    for epsilon in found.values("epsilon"):
        for delta in found.values("delta"):
            rows = found.where(epsilon=epsilon, delta=delta)
            for share in (n / 20 for n in range(21)):
                best = max(share * row["first"] + (1 - share) * row["second"] for row in rows)
                gaps.append(abs(best - closed_form(max(share, 1.0 - share), epsilon, delta)))
    return [
        Verdict(
            "the optimum is a corner of the feasible region, as the formula says",
            max(gaps) < 1e-9,
            f"the best corner and the formula differ by at most {max(gaps):.1g} over 21 priors",
        )
    ]


# -- over epsilon ----------------------------------------------------------------------------------


def measure_epsilon(cases: Cases, *, epsilons: Sequence[str], priors: Sequence[float]) -> Measured:
    rows = []
    columns = [column(*names) for names in COLUMNS]
    tables = [(text, [float(s) for s in shares], codes) for codes, shares, text in columns]
    made_up = [(f"prior {share:g}", [share, 1.0 - share], None) for share in priors]
    for text, prior, codes in (*made_up, *tables):
        for place, epsilon in enumerate(epsilons):
            design = truthful(prior, epsilon)
            rows.append(
                {
                    "people": text,
                    "share": prior[0],
                    "count": 0 if codes is None else len(codes),
                    "epsilon": float(epsilon),
                    "formula": closed_form(prior[0], float(epsilon)),
                    "optimum": agreement(design, prior),
                    "warner": agreement(symmetric(2, epsilon), prior),
                    "measured": math.nan if codes is None else measured(design, codes, place),
                }
            )
    return Measured(rows, "; ".join(text for _, _, text in columns))


def draw_epsilon(found: Measured) -> Drawing:
    panels = []
    for people in found.values("people"):
        rows = found.where(people=people)
        curves = [
            exact("optimum", rows, "epsilon", "optimum"),
            exact("Warner", rows, "epsilon", "warner"),
        ]
        if rows[0]["count"]:
            curves.append(sampled("optimum, measured", rows, "epsilon", share_of))
        panels.append(Panel(people, "epsilon", "probability of the own value", tuple(curves)))
    return draw_figure("Agreement over epsilon, two values", panels, note=found.data)


def judge_epsilon(found: Measured) -> list[Verdict]:
    gap = max(abs(row["formula"] - row["optimum"]) for row in found.rows)
    least = min(row["optimum"] - row["warner"] for row in found.rows)
    return [
        Verdict(
            "Warner's response up to a share of E/(E+1), the constant answer beyond, is optimal",
            gap < EXACT and least > -EXACT,
            f"formula and channel differ by {gap:.1g}; never below Warner's",
        ),
        judge_agreement(found.rows),
    ]


# -- over the prior --------------------------------------------------------------------------------


def measure_prior(cases: Cases, *, epsilons: Sequence[str], steps: int) -> Measured:
    rows = []
    for epsilon in epsilons:
        for step in range(1, steps):
            share = step / steps
            prior = [share, 1.0 - share]
            rows.append(
                {
                    "epsilon": float(epsilon),
                    "prior": share,
                    "formula": closed_form(max(prior), float(epsilon)),
                    "optimum": agreement(truthful(prior, epsilon), prior),
                    "error": error(truthful(prior, epsilon), prior, 0),
                }
            )
    return Measured(rows, "no data: exact channels")


def draw_prior(found: Measured) -> Drawing:
    curves = []
    for epsilon in found.values("epsilon"):
        rows = found.where(epsilon=epsilon)
        curves.append(exact(f"epsilon {epsilon:g}", rows, "prior", "optimum"))
    panel = Panel("optimum", "share of one value", "probability of the own value", tuple(curves))
    return draw_figure("Agreement over the prior, two values", [panel], note=found.data)


def judge_prior(found: Measured) -> list[Verdict]:
    gap = max(abs(row["formula"] - row["optimum"]) for row in found.rows)
    blind = [row for row in found.rows if math.isinf(row["error"])]
    constant = [
        row
        for row in found.rows
        if max(row["prior"], 1 - row["prior"]) > 1 / (1 + math.exp(-row["epsilon"])) + EXACT
    ]
    return [
        Verdict(
            "the optimum is E/(E+1) or the larger share, whichever is larger",
            gap < EXACT,
            f"formula and channel differ by {gap:.1g}",
        ),
        Verdict(
            "(not the paper's) where the optimum is the larger share, reports tell nothing",
            blind == constant,
            f"{len(blind)} of {len(found.rows)} channels estimate nothing",
        ),
    ]


# -- over delta ------------------------------------------------------------------------------------


def measure_delta(
    cases: Cases, *, epsilons: Sequence[str], priors: Sequence[float], deltas: Sequence[str]
) -> Measured:
    rows = []
    for epsilon in epsilons:
        for share in priors:
            for delta in deltas:
                prior = [share, 1.0 - share]
                design = truthful(prior, epsilon, delta)
                divergence = enumerate_law(design.plan).divergence(design.epsilon.odds)
                rows.append(
                    {
                        "epsilon": float(epsilon),
                        "share": share,
                        "delta": float(delta),
                        "formula": closed_form(share, float(epsilon), float(delta)),
                        "optimum": agreement(design, prior),
                        "spent": float(divergence),
                    }
                )
    return Measured(rows, "no data: exact channels")


def draw_delta(found: Measured) -> Drawing:
    panels = []
    for epsilon in found.values("epsilon"):
        curves = []
        for share in found.values("share"):
            rows = found.where(epsilon=epsilon, share=share)
            curves.append(exact(f"share {share:g}", rows, "delta", "optimum"))
        title = f"epsilon {epsilon:g}"
        panels.append(Panel(title, "delta", "probability of the own value", tuple(curves)))
    return draw_figure("Agreement over delta, two values", panels, note=found.data)


def judge_delta(found: Measured) -> list[Verdict]:
    gap = max(abs(row["formula"] - row["optimum"]) for row in found.rows)
    over = max(row["spent"] - row["delta"] for row in found.rows)
    example = found.where(epsilon=0.1, share=0.8, delta=0.15)[0]["optimum"]
    return [
        Verdict(
            "(E+delta)/(E+1) inside the bounds, pi + (1-pi) delta outside, is the optimum",
            gap < EXACT and over <= 0.0 and abs(example - 0.83) < EXACT,
            f"they differ by {gap:.1g}, and no delta is overspent; the example gives {example:.6f}",
        )
    ]


# -- what delta buys -------------------------------------------------------------------------------


def measure_cost(
    cases: Cases, *, epsilons: Sequence[str], share: float, deltas: Sequence[str]
) -> Measured:
    rows = []
    prior = [share, 1.0 - share]
    for epsilon in epsilons:
        for delta in deltas:
            design = truthful(prior, epsilon, delta)
            rows.append(
                {
                    "epsilon": float(epsilon),
                    "share": share,
                    "delta": float(delta),
                    "optimum": error(design, prior, 1),
                    "warner": error(symmetric(2, epsilon), prior, 1),
                    "majority": float(design.channel.matrix[0, 0]),
                    "in_clear": float(design.channel.matrix[1, 1]),
                    "clear_from_others": float(design.channel.matrix[1, 0]),
                }
            )
    return Measured(rows, "no data: exact channels; the share of the rarer value is estimated")


def draw_cost(found: Measured) -> Drawing:
    panels = []
    for epsilon in found.values("epsilon"):
        rows = found.where(epsilon=epsilon)
        curves = (
            exact("optimum for the prior", rows, "delta", "optimum"),
            exact("Warner, delta 0", rows, "delta", "warner"),
        )
        title, label = f"epsilon {epsilon:g}", "variance of the share x people"
        panels.append(Panel(title, "delta", label, curves, log_x=True, log_y=True))
    return draw_figure("What the minority's share costs, two values", panels, note=found.data)


def judge_cost(found: Measured) -> list[Verdict]:
    constant = [row for row in found.rows if row["majority"] > 1 - EXACT]
    certain = all(row["clear_from_others"] < EXACT for row in constant)
    worst = max(found.rows, key=lambda row: row["optimum"] / row["warner"])
    outside = [row for row in found.rows if row["share"] > 1 / (1 + math.exp(-row["epsilon"]))]
    return [
        Verdict(
            "delta avoids the deterministic mechanism",
            not (constant == outside and certain),
            f"in all {len(outside)} cases outside the bounds the likelier value is reported for "
            "certain, and the other report is the other value in clear",
        ),
        Verdict(
            "(implied by it) delta lets the rarer value's share be estimated as well as Warner's "
            "response does",
            all(row["optimum"] <= row["warner"] for row in found.rows),
            f"at epsilon {worst['epsilon']:g}, delta {worst['delta']:g}: variance "
            f"{worst['optimum']:,.3g} against {worst['warner']:.3g} by Warner's response",
        ),
    ]


_EPSILONS = ("0.1", "0.25", "0.5", "0.75", "1", "1.5", "2", "3", "4")
_DELTAS = ("0", "0.01", "0.05", "0.1", "0.15", "0.2", "0.3", "0.5")
_SMALL = ("0.000001", "0.00001", "0.0001", "0.001", "0.01", "0.1", "0.15")
_FEW = {"epsilons": ("0.1", "1")}
_SHARES = (0.5, 0.6, 0.8, 0.95)

FIGURES = (
    Figure(
        name="response-1-binary-region",
        source=f"{PAPER}, Figures 1 and 5, feasible regions",
        measure=measure_region,
        draw=draw_region,
        judge=judge_region,
        quick={"epsilons": ("0.1", "1"), "deltas": ("0", "0.05", "0.15")},
        full={"epsilons": ("0.1", "0.5", "1", "2"), "deltas": ("0", "0.01", "0.05", "0.15")},
    ),
    Figure(
        name="response-2-binary-epsilon",
        source=f"{PAPER}, section 2 (epsilon-DP), over epsilon",
        measure=measure_epsilon,
        draw=draw_epsilon,
        judge=judge_epsilon,
        quick={"epsilons": _EPSILONS[::2], "priors": _SHARES[::3]},
        full={"epsilons": _EPSILONS, "priors": _SHARES},
    ),
    Figure(
        name="response-3-binary-prior",
        source=f"{PAPER}, section 2 (epsilon-DP), over the prior",
        measure=measure_prior,
        draw=draw_prior,
        judge=judge_prior,
        quick={"epsilons": ("0.1", "1", "2"), "steps": 20},
        full={"epsilons": ("0.1", "0.5", "1", "2", "4"), "steps": 100},
    ),
    Figure(
        name="response-4-binary-delta",
        source=f"{PAPER}, section 3 ((epsilon, delta)-DP), over delta",
        measure=measure_delta,
        draw=draw_delta,
        judge=judge_delta,
        quick={**_FEW, "priors": _SHARES, "deltas": _DELTAS},
        full={"epsilons": ("0.1", "0.5", "1", "2"), "priors": _SHARES, "deltas": _DELTAS},
    ),
    Figure(
        name="response-5-binary-cost",
        source=f"{PAPER}, section 3.3, what delta buys",
        measure=measure_cost,
        draw=draw_cost,
        judge=judge_cost,
        quick={**_FEW, "share": 0.8, "deltas": _SMALL},
        full={"epsilons": ("0.1", "0.5", "1", "1.25"), "share": 0.8, "deltas": _SMALL},
    ),
)
