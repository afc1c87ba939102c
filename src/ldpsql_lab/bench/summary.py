"""How far estimates are from the truth, over all repetitions of a comparison."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ldpsql.algebra.estimate import Array
from ldpsql_lab.bench.harness import NUMBERS, Case, Outcome

COSTS = ("design", "randomize", "ingest", "query")


@dataclass(frozen=True)
class Errors:
    """The errors of some answers.

    answers: how many were asked for.  undetermined: the share that is NULL (a ratio whose
    denominator cannot be told from zero); everything below is over the others.
    mse, rmse: mean square error, and its root.  bias: mean error.
    nmse: mean of (error / scale)^2, with the number of people as the scale of a COUNT and the sum
    of all absolute values as that of a SUM; NaN for other aggregates.
    mre: mean of |error / truth| over answers whose truth is not 0.
    coverage: the share of intervals that hold the truth.  width: their mean width.
    claimed: root of the mean square of the standard errors that came with the answers.
    NaN where there is nothing to take a mean of.
    """

    answers: int
    undetermined: float
    mse: float
    rmse: float
    bias: float
    nmse: float
    mre: float
    coverage: float
    width: float
    claimed: float


def errors(
    value: Array, truth: Array, scale: Array, stderr: Array, low: Array, high: Array
) -> Errors:
    """From arrays of the same shape (answers,). Answers without a true value are left out."""
    asked = np.isfinite(truth)
    known = asked & np.isfinite(value)
    error = value[known] - truth[known]
    relative = np.abs(error[truth[known] != 0.0] / truth[known][truth[known] != 0.0])
    square = error**2
    bounded = known & np.isfinite(low) & np.isfinite(high)
    inside = (low[bounded] <= truth[bounded]) & (truth[bounded] <= high[bounded])
    mse = _mean(square)
    return Errors(
        int(asked.sum()),
        1.0 - _mean(known[asked].astype(float)),
        mse,
        math.sqrt(mse),
        _mean(error),
        _mean(square / scale[known] ** 2),
        _mean(relative),
        _mean(inside.astype(float)),
        _mean((high - low)[bounded]),
        math.sqrt(_mean(stderr[known] ** 2)),
    )


def _mean(values: Array) -> float:
    return float(np.mean(values)) if values.size else math.nan


@dataclass(frozen=True)
class Line:
    """One mechanism at one epsilon with a number of people, on one workload and aggregate.

    mechanism: as it was asked for.  sound: whether it promises anything.  mse_stderr: standard
    error of `errors.mse` over the repetitions, NaN for a single one.  seconds: means by kind of
    work.  bits: information in one report; bytes: as it is stored.
    """

    mechanism: str
    sound: bool
    guarantee: str
    epsilon: float
    users: int
    workload: str
    aggregate: str
    repetitions: int
    errors: Errors
    mse_stderr: float
    seconds: dict[str, float]
    bits: float
    bytes: int


def lines(outcomes: Sequence[tuple[Case, Outcome]]) -> list[Line]:
    """The errors of everything that was not refused, in the order of the cases."""
    groups: dict[tuple[str, str, int], list[Outcome]] = {}
    for case, outcome in outcomes:
        if outcome.refused is None:
            key = (case.candidate.label, case.epsilon, case.users)
            groups.setdefault(key, []).append(outcome)
    return [line for key, outcomes in groups.items() for line in _lines_of(*key, outcomes)]


def _lines_of(label: str, epsilon: str, users: int, outcomes: list[Outcome]) -> Iterator[Line]:
    """A line for every workload and aggregate of the repetitions of a setting."""
    facts, first = outcomes[0].facts, outcomes[0].answers
    seconds = {
        work: float(np.mean([outcome.seconds.get(work, 0.0) for outcome in outcomes]))
        for work in COSTS
    }
    pairs = zip(first["workload"].to_pylist(), first["aggregate"].to_pylist(), strict=True)
    for workload, aggregate in dict.fromkeys(pairs):
        wanted = (pc.field("workload") == workload) & (pc.field("aggregate") == aggregate)
        own = [outcome.answers.filter(wanted).select(NUMBERS) for outcome in outcomes]
        single = [_errors_in(answers).mse for answers in own]
        yield Line(
            label,
            bool(facts["sound"]),
            str(facts["guarantee"]),
            float(epsilon),
            users,
            workload,
            aggregate,
            len(outcomes),
            _errors_in(pa.concat_tables(own)),
            float(np.std(single, ddof=1) / math.sqrt(len(single))) if len(single) > 1 else math.nan,
            seconds,
            float(facts["bits"]),
            int(facts["bytes"]),
        )


def _errors_in(answers: pa.Table) -> Errors:
    return errors(**{name: answers[name].to_numpy() for name in NUMBERS})


def refusals(outcomes: Iterable[tuple[Case, Outcome]]) -> dict[str, str]:
    """Mechanism -> why it was left out; with the setting, where it took part in others."""
    outcomes = list(outcomes)
    took_part = {case.candidate.label for case, outcome in outcomes if outcome.refused is None}
    reasons = {}
    for case, outcome in outcomes:
        if outcome.refused is not None:
            label = case.candidate.label
            setting = f"{label}, epsilon {case.epsilon}, {case.users:,} people"
            reasons[setting if label in took_part else label] = outcome.refused
    return reasons


def table(lines: Sequence[Line]) -> pa.Table:
    """One row per line, the errors and the seconds in columns of their own."""
    rows = []
    for line in lines:
        row = asdict(line)
        errors, seconds = row.pop("errors"), row.pop("seconds")
        rows.append({**row, **errors, **{f"{work}_seconds": seconds[work] for work in COSTS}})
    return pa.Table.from_pylist(rows)
