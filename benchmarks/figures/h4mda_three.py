"""H4MDA (Sci. Sin. Inform. 53, 2023), Figure 6 with three attributes, up to three predicates.

Schooling, weekly hours and age of Adult, each in so many codes; windows of a share of the codes of
one, two or three of them. The second attribute is summed and averaged.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from benchmarks.figures import data
from benchmarks.figures.cases import Cases, Row
from benchmarks.figures.curves import sampled
from benchmarks.figures.figure import Figure, Measured, Verdict
from benchmarks.figures.h4mda import ERRORS
from benchmarks.figures.h4mda_claims import PUBLISHED, SLIGHTLY, SOUND, is_below
from benchmarks.figures.h4mda_work import NOT_PRIVATE, Point, errors
from benchmarks.figures.verdicts import Value, Vote, in_every_case, is_above, mostly, tally
from ldpsql.terminal.figures import Panel, Role, draw_figure

COLUMNS = {"education_num": (1, 16), "hours_per_week": (1, 99), "age": (17, 90)}
"""With what they range over."""


def measure(
    cases: Cases,
    *,
    size: int,
    volume: float,
    epsilons: Sequence[str],
    runs: int,
    windows: int,
    mechanisms: Sequence[str],
    people: int | None,
) -> Measured:
    """Every mechanism at every epsilon, for one to three predicates."""
    found, source = data.people("adult", list(COLUMNS), _stand_in, rows=people)
    raw = np.stack([np.asarray(found[name], dtype=np.int64) for name in COLUMNS], axis=1)
    low, high = np.array(list(COLUMNS.values())).T
    codes = (np.clip(raw, low, high) - low) * size // (high - low + 1)
    rows: list[Row] = []
    for mechanism in mechanisms:
        for epsilon in epsilons:
            point = Point(volume, size, epsilon, 5)
            key: Row = {"mechanism": mechanism, "people": len(codes), "runs": runs}
            key["windows"], key["point"] = windows, str(point)
            own = functools.partial(errors, "three", lambda: codes, point, mechanism, runs, windows)
            rows += [
                {"mechanism": mechanism, "epsilon": float(epsilon), **row}
                for row in cases.rows(key, own)
            ]
    return Measured(rows, f"{source}, {runs} runs, {windows} windows, m={size}, vol={volume:g}")


def _stand_in() -> pa.Table:
    random = np.random.default_rng(12)
    schooling = random.integers(1, 17, 45_222)
    hours = np.clip(random.normal(28 + schooling, 11), 1, 99).astype(np.int64)
    age = np.clip(random.gamma(6.0, 5.0, 45_222) + 17, 17, 90).astype(np.int64)
    return pa.table({"education_num": schooling, "hours_per_week": hours, "age": age})


def draw(measured: Measured) -> Any:
    """Errors over the number of predicates."""
    panels = []
    for epsilon in measured.values("epsilon"):
        for aggregate, label in ERRORS.items():
            curves = []
            for mechanism in measured.values("mechanism"):
                rows = measured.where(epsilon=epsilon, mechanism=mechanism, aggregate=aggregate)
                if rows:
                    role: Role = "unsound" if mechanism in NOT_PRIVATE else "measured"
                    curves.append(sampled(mechanism, rows, "predicates", Value.of, role))
            title = f"{aggregate} (eps={epsilon:g})"
            panels.append(Panel(title, "predicates", label, tuple(curves), log_y=True))
    return draw_figure("H4MDA's experiments, three attributes", panels, note=measured.data)


def judge(measured: Measured) -> list[Verdict]:
    """The paper's claims, with three predicates."""
    votes: list[Vote] = []
    ratios = []
    for own, theirs in _pairs(measured, ["hgrr"], ("hio", "ahio", "ehio"), "COUNT"):
        votes.append(in_every_case([is_above(own, theirs), is_below(own, theirs)]))
        ratios.append(own.mean / theirs.mean)
    verdicts = [
        Verdict(
            f"HGRR is slightly (less than {SLIGHTLY:g} x) less accurate than HIO, AHIO and EHIO",
            mostly(votes),
            f"three predicates: {tally(votes)}; NMSE {min(ratios):.0f} to {max(ratios):.0f} times "
            "theirs",
        )
    ]
    for aggregate in ("COUNT", "SUM", "AVG"):
        beaten = [
            is_above(theirs, own) for own, theirs in _pairs(measured, PUBLISHED, SOUND, aggregate)
        ]
        verdicts.append(
            Verdict(
                f"LGRR and LGRR-FD are better than every other mechanism ({aggregate})",
                mostly(beaten),
                f"three predicates: {tally(beaten)}",
            )
        )
    return verdicts


def _pairs(
    measured: Measured, names: Sequence[str], others: Sequence[str], aggregate: str
) -> list[tuple[Value, Value]]:
    """Errors of some mechanisms beside those of others, with three predicates."""
    pairs = []
    for name in names:
        for row in measured.where(mechanism=name, predicates=3, aggregate=aggregate):
            for other in others:
                same = {"epsilon": row["epsilon"], "predicates": 3, "aggregate": aggregate}
                found = measured.where(mechanism=other, **same)
                pairs += [(Value.of(row), Value.of(theirs)) for theirs in found]
    return pairs


_SHOWN = ("hio", "ahio", "ehio", "hgrr", "ahead", "fourier", *PUBLISHED)
_QUICK = tuple(name for name in _SHOWN if name != "fourier")
FIGURES = (
    Figure(
        name="h4mda-three",
        source="H4MDA 2023, Figure 6 with three attributes (adult)",
        measure=measure,
        draw=draw,
        judge=judge,
        quick={
            "size": 25,
            "volume": 0.3,
            "epsilons": ("2",),
            "runs": 3,
            "windows": 20,
            "mechanisms": _QUICK,
            "people": None,
        },
        full={
            "size": 25,
            "volume": 0.3,
            "epsilons": ("0.5", "1", "2", "5"),
            "runs": 20,
            "windows": 100,
            "mechanisms": _SHOWN,
            "people": None,
        },
    ),
)
