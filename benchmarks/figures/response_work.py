"""What the figures of the optimal-response paper share: priors from data, and agreement.

*Agreement* is the paper's utility: the probability that a report is the value. It is computed from
the channel that devices draw from, and measured by drawing a report for every person of a table.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import pyarrow as pa

from benchmarks.figures.cases import Row
from benchmarks.figures.data import people
from benchmarks.figures.figure import Verdict
from benchmarks.figures.verdicts import Value, in_every_case, is_near, tally
from ldpsql.algebra.record_domain import RecordDomain
from ldpsql.estimators.base import AnyDesign as Design
from ldpsql.estimators.base import Codes
from ldpsql.mechanisms.registry import mechanism
from ldpsql_device.epsilon import Epsilon
from ldpsql_lab.mechanisms.truthful import TruthfulDesign
from ldpsql_lab.simulation import SeededEntropy

BINARY = ("lunch", "finance")
NEAR = 0.1
"""The share within which an agreement is another one."""
PAPER = "Zhou, Lu, Wu, J. Communications 2019"


def line(size: int) -> RecordDomain:
    """One attribute of so many values."""
    return RecordDomain(("value",), (size,), (), (), ())


def truthful(prior: Sequence[float | Fraction], epsilon: str, delta: str = "0") -> TruthfulDesign:
    """The paper's optimum for a prior."""
    options = {"prior": list(prior), "delta": delta}
    design = mechanism("truthful").design(line(len(prior)), Epsilon.parse(epsilon), options)
    assert isinstance(design, TruthfulDesign)
    return design


def symmetric(size: int, epsilon: str) -> TruthfulDesign:
    """Randomized response over all values: the optimum for even shares."""
    return truthful([Fraction(1, size)] * size, epsilon)


def agreement(design: TruthfulDesign, prior: Sequence[float | Fraction]) -> float:
    """Of a channel, for people spread as the prior says."""
    shares = np.array([float(share) for share in prior])
    return float(shares @ np.diagonal(design.channel.matrix)) / float(shares.sum())


def measured(design: Design, codes: Codes, seed: int) -> float:
    """Share of a table's people whose report is their value."""
    reports = design.randomize(codes[:, None], SeededEntropy(seed))
    return float((np.asarray(reports.columns["answer0"]) == codes).mean())


def error(design: TruthfulDesign, prior: Sequence[float], value: int) -> float:
    """n times the variance of the estimated share of a value, people being a sample; infinite
    where it cannot be estimated."""
    wanted = np.eye(len(prior))[value]
    if np.abs(design.channel.blind(wanted)).max() > 1e-9:
        return float("inf")
    own = design.channel.contributions[:, value]
    reports = design.channel.matrix @ np.array(prior)
    return float(reports @ own**2 - (reports @ own) ** 2)


def column(name: str, attribute: str) -> tuple[Codes, list[Fraction], str]:
    """Codes of a column, the likeliest value first, their shares, and which data they are.

    Where the table is not there, 1,000 made-up people of two or five kinds stand in.
    """
    table, source = people(name, [attribute], lambda: _stand_in(attribute))
    values = np.array(table.column(attribute).to_pylist(), dtype=str)
    kinds, codes = np.unique(values, return_inverse=True)
    counts = np.bincount(codes, minlength=len(kinds))
    order = np.argsort(-counts, kind="stable")
    rank = np.empty(len(kinds), dtype=np.int64)
    rank[order] = np.arange(len(kinds))
    shares = [Fraction(int(count), len(codes)) for count in counts[order]]
    return rank[codes], shares, f"{attribute} of {source}"


def _stand_in(attribute: str) -> pa.Table:
    shares = [640, 360] if attribute in BINARY else [330, 330, 310, 25, 5]
    return pa.table({attribute: np.repeat([*"abcde"][: len(shares)], shares)})


def share_of(row: Row) -> Value:
    """The measured share of a row's people, each of whom is a run."""
    share, count = row["measured"], row["count"]
    return Value(share, float(np.sqrt(share * (1.0 - share) / count)), count)


def judge_agreement(rows: Sequence[Row]) -> Verdict:
    """Whether reports agree with values as often as the channel's formula says."""
    drawn = [row for row in rows if row["count"]]
    pairs = [(share_of(row), Value(row["optimum"])) for row in drawn]
    votes = [is_near(own, formula, NEAR, len(pairs)) for own, formula in pairs]
    off = [
        abs(own.mean - formula.mean) / own.stderr if own.stderr else 0.0 for own, formula in pairs
    ]
    return Verdict(
        f"reports agree with values as often as the formula says, to within {NEAR:.0%}",
        in_every_case(votes),
        f"{tally(votes)}; at most {max(off):.1f} standard errors off, on real columns",
    )
