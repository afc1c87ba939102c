"""Tables 2 to 4 of Liu, Wang, Wang (2022): published budgets, errors in per cent, bits.

Predicted sums of squared errors of one-attribute counts, for these people, by SRR-MS, ARR-SS and
PSRR-SS as published and as the accountant allows, in per cent of what OUE gives without a shuffler.
What the paper's percentages are of is not known here. Where the published closed form gives no
attribute more than the central epsilon, there is no error.
Source: docs/spec/shuffle.md#1, docs/spec/shuffle.md#4.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from benchmarks.figures import Cases, Figure, Measured, Row, Verdict
from benchmarks.figures.shuffle_marginals import (
    CLICKS,
    CONTESTANTS,
    PAPERS,
    design_of,
    people_of,
    predicted,
)
from ldpsql.terminal.figures import Curve, Panel, draw_figure
from ldpsql_device.errors import SurveyError

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

LOCAL = "OUE, local"
TIGHT = tuple(name.partition(",")[0] for name in PAPERS)
BITS = {"Mexico": (13, 9, 13.0), "Bank": (17, 12, 13.0)}
"""Attributes and most values of two tables of the paper, and the bits that its Table 4 prints for
PSRR-SS."""


def measure(
    cases: Cases, *, tables: Sequence[str], epsilons: Sequence[str], mechanisms: Sequence[str]
) -> Measured:
    """Local budgets and predicted errors of every mechanism on every table."""
    rows: list[Row] = []
    for table in tables:
        for epsilon in epsilons:
            for name in (LOCAL, *mechanisms):
                key = {"table": table, "epsilon": epsilon, "mechanism": name}
                rows += cases.rows(key, functools.partial(_rows, table, epsilon, name))
    return Measured(rows, "; ".join(people_of(table).line for table in tables))


def _rows(table: str, epsilon: str, name: str) -> list[Row]:
    people = people_of(table)
    sizes = people.domain.sizes
    row: Row = {
        "data": table,
        "epsilon": float(epsilon),
        "mechanism": name,
        "local_epsilon": math.nan,
        "predicted": math.nan,
        "bits": math.nan,
        "attributes": len(sizes),
        "values": max(sizes),
        "cells": sum(sizes),
    }
    try:
        design = design_of(CONTESTANTS[name], people, epsilon)
    except SurveyError:  # a published budget below the least that a survey may have
        return [row]
    row["bits"] = design.report_format.bits_per_report
    row["local_epsilon"] = float(design.epsilon)
    if name not in PAPERS or row["local_epsilon"] > float(epsilon):
        row["predicted"] = predicted(design, people)
    return [row]


def draw(found: Measured) -> Drawing:
    """Errors in per cent, a panel per table."""
    panels = []
    for table in found.values("data"):
        curves = []
        for name in found.values("mechanism"):
            rows = found.where(data=table, mechanism=name)
            if name != LOCAL:
                x, y = [row["epsilon"] for row in rows], [_share(found, row) for row in rows]
                curves.append(Curve(name, x, y, role="predicted"))
        label = "squared error, % of OUE's without a shuffler"
        panels.append(Panel(table, "central epsilon", label, tuple(curves), log_y=True))
    return draw_figure("Published budgets and those of the accountant", panels, note=found.data)


def _share(found: Measured, row: Row) -> float:
    same = {"data": row["data"], "epsilon": row["epsilon"], "mechanism": LOCAL}
    (local,) = found.where(**same)
    return float(100.0 * row["predicted"] / local["predicted"])


def judge(found: Measured) -> list[Verdict]:
    """The paper's claims, exactly; there is nothing random in them."""
    least = min(found.values("epsilon"))
    at_least = [row for row in found.rows if row["epsilon"] == least and row["mechanism"] in PAPERS]
    without = [row for row in at_least if math.isnan(row["predicted"])]
    worst, apart = [], []
    for row in found.where(mechanism="PSRR-SS, published"):
        for other in ("SRR-MS, published", "ARR-SS, published"):
            same = {"data": row["data"], "epsilon": row["epsilon"]}
            (theirs,) = found.where(mechanism=other, **same)
            if math.isfinite(row["predicted"] + theirs["predicted"]):
                worst.append(theirs["predicted"] / row["predicted"])
    for row in found.where(mechanism="SRR-MS, published"):
        same = {"data": row["data"], "epsilon": row["epsilon"]}
        (theirs,) = found.where(mechanism="ARR-SS, published", **same)
        if math.isfinite(row["predicted"] + theirs["predicted"]):
            apart.append(row["predicted"] / theirs["predicted"])
    printed = {name: bits for name, (_, _, bits) in BITS.items()}
    needed = {
        name: math.ceil(math.log2(d)) + math.ceil(math.log2(k)) for name, (d, k, _) in BITS.items()
    }
    return [
        Verdict(
            f"Table 2: SRR-MS, ARR-SS and PSRR-SS have a published budget at {least:g}",
            not without,
            f"{len(without)} of {len(at_least)} have none: "
            + ", ".join(f"{row['mechanism'].split(',')[0]} on {row['data']}" for row in without),
        ),
        Verdict(
            "Tables 2 and 3: PSRR-SS as published has the least error of the three",
            min(worst) >= 1.0,
            f"the others' errors are {min(worst):.2f} to {max(worst):.2f} times as large, in "
            f"{len(worst)} cases with budgets",
        ),
        Verdict(
            "Tables 2 and 3: SRR-MS as published is within 25% of ARR-SS",
            all(0.75 <= ratio <= 1.25 for ratio in apart),
            f"its error is {min(apart):.2f} to {max(apart):.2f} times that of ARR-SS, in "
            f"{len(apart)} cases with budgets",
        ),
        Verdict(
            "Table 4: the bits printed for PSRR-SS are those of its own message",
            printed == needed,
            "; ".join(
                f"{name} ({d} attributes, {k} values): printed {bits:g}, needed {needed[name]}"
                for name, (d, k, bits) in BITS.items()
            ),
        ),
    ]


_EPSILONS = tuple(f"{n / 10:g}" for n in range(2, 11))
FIGURES = (
    Figure(
        name="shuffle-tables",
        source="Liu, Wang, Wang 2022, Tables 2 to 4",
        measure=measure,
        draw=draw,
        judge=judge,
        quick={
            "tables": (*CLICKS, "bank_marketing", "adult"),
            "epsilons": _EPSILONS[::2],
            "mechanisms": PAPERS,
        },
        full={
            "tables": (
                *CLICKS,
                *("bank_marketing, all attributes", "adult, all attributes", "acs_income_2018"),
            ),
            "epsilons": _EPSILONS,
            "mechanisms": (*PAPERS, *TIGHT),
        },
    ),
)
