"""H4MDA (Sci. Sin. Inform. 53, 2023), section 5: what it says of Figures 6 and 7 side by side.

The default point, and the one that the text singles out: narrow windows on both attributes at a
large epsilon. Source: docs/spec/h4mda.md#12.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from benchmarks.figures.cases import Cases, Row
from benchmarks.figures.curves import sampled
from benchmarks.figures.figure import Figure, Measured, Verdict
from benchmarks.figures.h4mda import DEFAULT, ERRORS, codes_of, raw_of
from benchmarks.figures.h4mda_claims import PUBLISHED
from benchmarks.figures.h4mda_work import NOT_PRIVATE, errors
from benchmarks.figures.verdicts import Value, Vote, in_every_case, is_above, mostly, tally
from ldpsql.terminal.figures import Panel, Role, draw_figure

POINTS = {"default": DEFAULT, "narrow": replace(DEFAULT, volume=0.07, epsilon="5")}
TITLES = {"default": "vol=15 %, eps=2", "narrow": "vol=7 %, eps=5"}
SMALL, LARGE = "adult", "acs_income_2018"


def measure(
    cases: Cases, *, runs: int, windows: int, mechanisms: Sequence[str], people: int | None
) -> Measured:
    """Every mechanism on both tables at both points."""
    rows: list[Row] = []
    sources = []
    for table in (SMALL, LARGE):
        raw, source = raw_of(table, people if table == LARGE else None)
        sources.append(source)
        codes = functools.partial(codes_of, raw, DEFAULT.size, 0)
        for name, point in POINTS.items():
            for mechanism in mechanisms:
                key = {"table": table, "people": len(raw), "windows": windows, "runs": runs}
                key |= {"mechanism": mechanism, "point": str(point)}
                work = functools.partial(errors, table, codes, point, mechanism, runs, windows)
                own: Row = {"table": table, "people": len(codes()), "point": name}
                rows += [
                    {**own, "mechanism": mechanism, **found} for found in cases.rows(key, work)
                ]
    told = f"{runs} run{'s' if runs > 1 else ''}, {windows} windows"
    return Measured(rows, f"{'; '.join(sources)}; {told}")


def draw(measured: Measured) -> dict[str, Any]:
    """Errors over the number of people; one and two predicates apart."""
    return {
        f"-{predicates}": draw_figure(
            "H4MDA's experiments on Adult and ACS, "
            + ("one predicate" if predicates == 1 else "two predicates"),
            [
                _panel(measured, predicates, point, aggregate)
                for point in POINTS
                for aggregate in ERRORS
            ],
            note=measured.data,
        )
        for predicates in (1, 2)
    }


def _panel(measured: Measured, predicates: int, point: str, aggregate: str) -> Panel:
    curves = []
    for mechanism in measured.values("mechanism"):
        rows = measured.where(
            point=point, mechanism=mechanism, predicates=predicates, aggregate=aggregate
        )
        if rows:
            role: Role = "unsound" if mechanism in NOT_PRIVATE else "measured"
            curves.append(sampled(mechanism, rows, "people", Value.of, role))
    title = f"{aggregate} ({TITLES[point]})"
    return Panel(title, "people", ERRORS[aggregate], tuple(curves), log_x=True, log_y=True)


def judge(measured: Measured) -> Sequence[Verdict]:
    """The claims about both tables."""
    return (_larger(measured), *_narrow(measured))


def _larger(measured: Measured) -> Verdict:
    claim = "errors of COUNT and SUM are lower on the larger table, because it has more people"
    votes: list[Vote] = []
    ratios = []
    for row in measured.where(point="default", table=LARGE):
        if row["mechanism"] not in NOT_PRIVATE and row["aggregate"] != "AVG":
            same = {key: row[key] for key in ("mechanism", "predicates", "aggregate")}
            for other in measured.where(point="default", table=SMALL, **same):
                votes.append(is_above(Value.of(other), Value.of(row)))
                ratios.append(row["error"] / other["error"])
    if not ratios:
        return Verdict(claim, None, "not measured")
    people = {row["table"]: row["people"] for row in measured.rows}
    because = (
        f"{tally(votes)}; median NMSE {np.median(ratios):.3f} times Adult's, "
        f"which has {people[SMALL] / people[LARGE]:.3f} times the people of ACS"
    )
    return Verdict(claim, mostly(votes), because)


def _narrow(measured: Measured) -> Iterator[Verdict]:
    """SUM and AVG of the published mechanisms beside AHIO and EHIO."""
    for table, orders, words in ((SMALL, 100.0, "two orders"), (LARGE, 10.0, "one order")):
        claim = (
            f"vol 7 %, 2 predicates, epsilon 5: errors of LGRR and LGRR-FD are {words} of "
            f"magnitude below those of AHIO and EHIO ({table})"
        )
        parts, pairs = [], list[tuple[Value, Value]]()
        for aggregate in ("SUM", "AVG"):
            found = {
                row["mechanism"]: Value.of(row)
                for row in measured.where(
                    point="narrow", table=table, predicates=2, aggregate=aggregate
                )
            }
            theirs = [found[name] for name in ("ahio", "ehio") if name in found]
            for name in PUBLISHED:
                if name in found and theirs:
                    pairs += [(each, found[name]) for each in theirs]
                    gain = min(each.mean for each in theirs) / found[name].mean
                    parts.append(f"{name.split(',')[0]} {aggregate} {gain:.1f}")
        if pairs:
            votes = [is_above(a, b, orders, cases=len(pairs)) for a, b in pairs]
            because = f"factors below the better of the two: {', '.join(parts)}; {tally(votes)}"
            yield Verdict(claim, in_every_case(votes), because)


_SHOWN = ("hio", "ahio", "ehio", "hgrr", "ahead", "fourier", "fourier, smooth", *PUBLISHED)
_QUICK = tuple(name for name in _SHOWN if not name.startswith("fourier"))
FIGURES = (
    Figure(
        name="h4mda-tables",
        source="H4MDA 2023, Figures 6 and 7 side by side (adult, acs_income_2018)",
        measure=measure,
        draw=draw,
        judge=judge,
        quick={"runs": 3, "windows": 20, "mechanisms": _QUICK, "people": 100_000},
        full={"runs": 20, "windows": 100, "mechanisms": _SHOWN, "people": None},
    ),
)
