"""What H4MDA says of its Figures 5 to 7, and whether these measurements bear it out."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

import numpy as np

from benchmarks.figures.figure import Measured, Verdict
from benchmarks.figures.h4mda_work import NOT_PRIVATE

NEARLY_ALL, MOSTLY = 0.9, 0.6
PUBLISHED = ("lgrr, published", "lgrr-fd, published")
SHARED = {"size": 125.0, "epsilon": 2.0, "fanout": 5.0}
Points = dict[tuple[str, float, int], float]


def judge(measured: Measured) -> Sequence[Verdict]:
    """The paper's claims one by one."""
    return (
        _monotone(measured, "volume", ("COUNT", "SUM"), +1, "NMSE of COUNT and SUM grows with vol"),
        _monotone(measured, "volume", ("AVG",), -1, "the error of AVG falls with vol"),
        _monotone(measured, "size", ("COUNT", "SUM"), +1, "NMSE of COUNT and SUM grows with m"),
        _monotone(measured, "epsilon", ("COUNT", "SUM"), -1, "NMSE falls with epsilon"),
        _fanout(measured),
        _hgrr(measured),
        _ahead(measured),
        *_published(measured),
        Verdict(
            "LGRR and LGRR-FD are epsilon-LDP",
            False,
            "their exact channels give infinite likelihood ratios: ldpsql audit",
        ),
        _ours(measured),
    )


def _monotone(
    measured: Measured, sweep: str, aggregates: Sequence[str], sign: int, claim: str
) -> Verdict:
    """From the first to the last point of a sweep, for every sound mechanism."""
    ends = []
    for mechanism in measured.values("mechanism"):
        if mechanism in NOT_PRIVATE:
            continue
        for predicates in (1, 2):
            for aggregate in aggregates:
                rows = measured.where(
                    sweep=sweep, mechanism=mechanism, predicates=predicates, aggregate=aggregate
                )
                if len(rows) > 1:
                    ends.append(sign * (rows[-1]["error"] - rows[0]["error"]) > 0)
    if not ends:
        return Verdict(claim, None, "not measured")
    because = f"{sum(ends)} of {len(ends)} series, first to last"
    return Verdict(claim, _most(sum(ends) / len(ends), measured), because)


def _most(share: float, measured: Measured, enough: float = NEARLY_ALL) -> bool | None:
    """Whether it is so often enough; not to be told where a single run has it so mostly."""
    single = not any(row.get("stderr", 0.0) for row in measured.rows)
    return None if single and MOSTLY <= share < enough else share >= enough


def _fanout(measured: Measured) -> Verdict:
    """Of the plain trees of the paper's own mechanisms."""
    claim = "the error falls as the fan-out goes from 4 to 7"
    found = []
    for mechanism in ("hio", "ahio", "ehio", "hgrr"):
        rows = measured.where(sweep="fanout", mechanism=mechanism, predicates=1, aggregate="COUNT")
        if len(rows) > 1:
            found.append((mechanism, [row["error"] for row in rows]))
    if not found:
        return Verdict(claim, None, "not measured")
    falls = [a > b for _, e in found for a, b in itertools.pairwise(e)]
    ratios = ", ".join(f"{name} {e[-1] / e[0]:.2f}" for name, e in found)
    because = f"COUNT at 7 over that at 4, padded trees: {ratios}"
    if min(len(e) for _, e in found) < 3:  # two points do not tell where it stops falling
        return Verdict(claim, None, because)
    return Verdict(claim, _most(sum(falls) / len(falls), measured, 1.0), because)


def _points(measured: Measured, mechanism: str, aggregate: str) -> Points:
    """Errors by point; the point that all sweeps share counts once."""
    rows = measured.where(mechanism=mechanism, aggregate=aggregate)
    return {
        (row["sweep"], row["x"], row["predicates"]): row["error"]
        for row in rows
        if row["sweep"] == "volume" or row["x"] != SHARED[row["sweep"]]
    }


def _hgrr(measured: Measured) -> Verdict:
    claim = "HGRR is slightly less accurate than HIO, AHIO and EHIO"
    ratios: dict[int, list[float]] = {1: [], 2: []}
    ours = _points(measured, "hgrr", "COUNT")
    for other in ("hio", "ahio", "ehio"):
        for point, error in _points(measured, other, "COUNT").items():
            if point in ours:
                ratios[point[2]].append(ours[point] / error)
    if not ratios[1] or not ratios[2]:
        return Verdict(claim, None, "not measured with one and with two predicates")
    one, two = (float(np.median(ratios[k])) for k in (1, 2))
    because = f"median ratio of the NMSE {one:.1f} with one predicate, {two:.0f} with two"
    return Verdict(claim, 1.0 < one < 3.0 and 1.0 < two < 3.0, because)


def _ahead(measured: Measured) -> Verdict:
    claim = "AHEAD is better in COUNT than HGRR and LGRR-FD"
    own, parts, wins = _points(measured, "ahead", "COUNT"), [], []
    for other in ("hgrr", "lgrr-fd, published"):
        theirs = _points(measured, other, "COUNT")
        shared = [point for point in theirs if point in own]
        better = sum(own[point] < theirs[point] for point in shared)
        if shared:
            parts.append(f"than {other.split(',')[0]} at {better} of {len(shared)} points")
            wins.append(better / len(shared))
    if not parts:
        return Verdict(claim, None, "not measured")
    return Verdict(claim, _of_both(wins, measured, len(wins) == 2), "; ".join(parts))


def _of_both(wins: Sequence[float], measured: Measured, complete: bool) -> bool | None:
    """Whether the least of them is enough; one of two mechanisms can refute what is said of both,
    but not bear it out."""
    holds = _most(min(wins), measured)
    return None if holds and not complete else holds


def _published(measured: Measured) -> Iterator[Verdict]:
    """LGRR and LGRR-FD with the published estimators against the sound mechanisms."""
    names = [name for name in PUBLISHED if name in measured.values("mechanism")]
    others = [m for m in ("hio", "ahio", "ehio", "ahead") if m in measured.values("mechanism")]
    for aggregate in ("COUNT", "SUM", "AVG"):
        claim = f"LGRR and LGRR-FD are better than every other mechanism ({aggregate})"
        parts, wins, told = [], [], set()
        for name in names:
            own = _points(measured, name, aggregate)
            for other in others:
                theirs = _points(measured, other, aggregate)
                shared = [point for point in theirs if point in own]
                better = sum(own[point] < theirs[point] for point in shared)
                if shared:
                    parts.append(f"{name.split(',')[0]} beats {other} at {better} of {len(shared)}")
                    wins.append(better / len(shared))
                    told.add(name)
        if parts:
            complete = told == set(PUBLISHED)
            yield Verdict(claim, _of_both(wins, measured, complete), "; ".join(parts))
    if len(names) == 2:
        one, two = (_points(measured, name, "COUNT") for name in PUBLISHED)
        shared = [point for point in one if point in two]
        better = sum(one[point] < two[point] for point in shared)
        yield Verdict(
            "LGRR is better than LGRR-FD",
            _most(better / len(shared), measured) if shared else None,
            f"COUNT, {better} of {len(shared)} points",
        )


def _ours(measured: Measured) -> Verdict:
    """Not a claim of the paper: what the sound default does beside the paper's baselines."""
    claim = "(ours) the Fourier response is more accurate than HIO and EHIO in COUNT"
    own = _points(measured, "fourier", "COUNT")
    ratios = [
        error / own[point]
        for other in ("hio", "ehio")
        for point, error in _points(measured, other, "COUNT").items()
        if point in own
    ]
    if not ratios:
        return Verdict(claim, None, "not measured")
    because = (
        f"NMSE {min(ratios):.1f} to {max(ratios):.1f} times lower, median {np.median(ratios):.1f}"
    )
    lower = sum(ratio > 1.0 for ratio in ratios) / len(ratios)
    return Verdict(claim, _most(lower, measured, 1.0), because)
