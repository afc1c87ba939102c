"""What H4MDA says of its Figures 5 to 7, and whether these measurements bear it out."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

import numpy as np

from benchmarks.figures.figure import Measured, Verdict
from benchmarks.figures.h4mda_work import NOT_PRIVATE
from benchmarks.figures.verdicts import Value, Vote, in_every_case, is_above, is_near, mostly, tally

PUBLISHED = ("lgrr, published", "lgrr-fd, published")
SOUND = ("hio", "ahio", "ehio", "ahead")
SHARED = {"size": 125.0, "epsilon": 2.0, "fanout": 5.0}
SLIGHTLY = 3.0
"""A mean squared error that is so many times larger is not slightly larger."""
RATIO = 0.5
"""The share within which a ratio of errors is the stated one."""
Points = dict[tuple[str, float, int], Value]


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
        *_ratio(measured),
        _ours(measured),
    )


def _monotone(
    measured: Measured, sweep: str, aggregates: Sequence[str], sign: int, claim: str
) -> Verdict:
    """From the first to the last point of a sweep, for every sound mechanism."""
    votes: list[Vote] = []
    for mechanism in measured.values("mechanism"):
        if mechanism in NOT_PRIVATE:
            continue
        for predicates in (1, 2):
            for aggregate in aggregates:
                rows = measured.where(
                    sweep=sweep, mechanism=mechanism, predicates=predicates, aggregate=aggregate
                )
                if len(rows) > 1:
                    ends = Value.of(rows[-1]), Value.of(rows[0])
                    votes.append(is_above(*ends[::sign]))
    because = f"each series, last point against first: {tally(votes)}" if votes else "not measured"
    return Verdict(claim, mostly(votes), because)


def _fanout(measured: Measured) -> Verdict:
    """Of the plain trees of the paper's own mechanisms, from each fan-out to the next."""
    claim = "the error falls as the fan-out goes from 4 to 7"
    steps, ratios = list[tuple[Value, Value]](), []
    for mechanism in ("hio", "ahio", "ehio", "hgrr"):
        rows = measured.where(sweep="fanout", mechanism=mechanism, predicates=1, aggregate="COUNT")
        values = [Value.of(row) for row in rows]
        if len(values) > 1:
            steps += itertools.pairwise(values)
            ratios.append(f"{mechanism} {values[-1].mean / values[0].mean:.2f}")
    if not steps:
        return Verdict(claim, None, "not measured")
    votes = [is_above(a, b, cases=len(steps)) for a, b in steps]
    because = f"steps: {tally(votes)}; COUNT at 7 over COUNT at 4, padded trees: "
    return Verdict(claim, in_every_case(votes), because + ", ".join(ratios))


def _points(measured: Measured, mechanism: str, aggregate: str) -> Points:
    """Errors by point; the point that all sweeps share counts once."""
    rows = measured.where(mechanism=mechanism, aggregate=aggregate)
    return {
        (row["sweep"], row["x"], row["predicates"]): Value.of(row)
        for row in rows
        if row["sweep"] == "volume" or row["x"] != SHARED[row["sweep"]]
    }


def _hgrr(measured: Measured) -> Verdict:
    """Less accurate, and by less than SLIGHTLY."""
    claim = f"HGRR is slightly (less than {SLIGHTLY:g} times) less accurate than HIO, AHIO and EHIO"
    votes: list[Vote] = []
    ratios: dict[int, list[float]] = {1: [], 2: []}
    ours = _points(measured, "hgrr", "COUNT")
    for other in ("hio", "ahio", "ehio"):
        for point, theirs in _points(measured, other, "COUNT").items():
            if point in ours:
                own = ours[point]
                votes.append(in_every_case([is_above(own, theirs), is_below(own, theirs)]))
                ratios[point[2]].append(own.mean / theirs.mean)
    if not ratios[1] or not ratios[2]:
        return Verdict(claim, None, "not measured with one and with two predicates")
    one, two = (float(np.median(ratios[k])) for k in (1, 2))
    because = f"{tally(votes)}; median ratio of the NMSE {one:.1f} with one predicate, {two:.0f} "
    return Verdict(claim, mostly(votes), because + "with two")


def is_below(own: Value, theirs: Value) -> Vote:
    """Whether an error is less than SLIGHTLY times another one."""
    told = is_above(own, theirs, SLIGHTLY)
    return None if told is None else not told


def _beats(
    measured: Measured, names: Sequence[str], others: Sequence[str], aggregate: str
) -> tuple[list[Vote], list[str], set[str]]:
    """Whether some mechanisms are more accurate than others, point by point, what is to be said of
    it, and which of them could be compared."""
    votes: list[Vote] = []
    parts, compared = [], set()
    for name in names:
        own = _points(measured, name, aggregate)
        for other in others:
            theirs = _points(measured, other, aggregate)
            found = [is_above(theirs[point], own[point]) for point in theirs if point in own]
            if found:
                votes += found
                compared |= {name, other}
                short = name.split(",")[0], other.split(",")[0]
                parts.append(f"{short[0]} against {short[1]}: {tally(found)}")
    return votes, parts, compared


def _ahead(measured: Measured) -> Verdict:
    claim = "AHEAD answers COUNT better than HGRR and LGRR-FD"
    others = ("hgrr", "lgrr-fd, published")
    votes, parts, compared = _beats(measured, ["ahead"], others, "COUNT")
    holds = _complete(mostly(votes), compared >= {"ahead", *others})
    return Verdict(claim, holds, "; ".join(parts) or "not measured")


def _complete(vote: Vote, is_complete: bool) -> Vote:
    """One of two mechanisms can refute what is said of both, but not bear it out."""
    return None if vote and not is_complete else vote


def _published(measured: Measured) -> Iterator[Verdict]:
    """LGRR and LGRR-FD with the published estimators against the sound mechanisms."""
    for aggregate in ("COUNT", "SUM", "AVG"):
        claim = f"LGRR and LGRR-FD are better than every other mechanism ({aggregate})"
        votes, parts, compared = _beats(measured, PUBLISHED, SOUND, aggregate)
        if votes:
            holds = _complete(mostly(votes), compared >= set(PUBLISHED))
            yield Verdict(claim, holds, "; ".join(parts))
    votes, _, compared = _beats(measured, PUBLISHED[:1], PUBLISHED[1:], "COUNT")
    if compared:
        yield Verdict("LGRR is better than LGRR-FD", mostly(votes), f"COUNT, {tally(votes)}")


def _ratio(measured: Measured) -> Iterator[Verdict]:
    """What the paper's Table 2 says of two attributes."""
    own, theirs = (_points(measured, name, "COUNT") for name in ("lgrr, published", "ehio"))
    both = [(own[point], theirs[point]) for point in theirs if point in own]
    if both:
        votes = [
            is_near(one, Value(other.mean / 2, other.stderr / 2, other.runs), RATIO)
            for one, other in both
        ]
        ratios = [one.mean / other.mean for one, other in both]
        yield Verdict(
            f"Table 2: LGRR's NMSE of COUNT is 1/d = 1/2 of EHIO's, to within {RATIO:.0%}",
            mostly(votes),
            f"{tally(votes)}; {min(ratios):.2g} to {max(ratios):.2g} times EHIO's, median "
            f"{np.median(ratios):.2g}",
        )


def _ours(measured: Measured) -> Verdict:
    """Not a claim of the paper: what the sound default does beside the paper's baselines."""
    claim = "(ours) the Fourier response answers COUNT more accurately than HIO and EHIO"
    votes, _, _ = _beats(measured, ["fourier"], ("hio", "ehio"), "COUNT")
    if not votes:
        return Verdict(claim, None, "not measured")
    own = _points(measured, "fourier", "COUNT")
    ratios = [
        error.mean / own[point].mean
        for other in ("hio", "ehio")
        for point, error in _points(measured, other, "COUNT").items()
        if point in own
    ]
    because = f"{tally(votes)}; NMSE {min(ratios):.1f} to {max(ratios):.1f} times lower, median "
    return Verdict(claim, mostly(votes), f"{because}{np.median(ratios):.1f}")
