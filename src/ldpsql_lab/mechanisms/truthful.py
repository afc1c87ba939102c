"""`truthful`: randomized response that agrees most often with a declared prior.

It maximises how often a report is the true value if people are spread as the prior says, which is
not how well frequencies are estimated: with a skewed prior the likeliest values answer for all
others, and these cannot be estimated. So `auto` never takes it.

Among the (epsilon, delta)-LDP channels over n values that report a value, the largest probability
that the report is the value, for a value drawn from the prior pi, is

    delta + (1 - delta) max over s of E Pi_s / (E + s - 1),      E = e^epsilon,

Pi_s being the sum of the s largest shares. It is attained by telling the truth with probability
delta, and else running randomized response over the s likeliest values; a value outside them
answers as one of them would. For two values this is the channel of Zhou, Lu, Wu (J. Communications
2019). Source: docs/spec/rr-optimum.md#1.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from ldpsql.algebra.boxes import LinearQuery
from ldpsql.algebra.record_domain import RecordDomain
from ldpsql.algebra.workload import Workload
from ldpsql.errors import UnsupportedSQL, list_some
from ldpsql.estimators.cells import RowsDesign
from ldpsql.estimators.groups import whole
from ldpsql.estimators.linear import CellQuery
from ldpsql.mechanisms.base import Recipe, Takes, Task
from ldpsql.wording.guarantees import StatedGuarantee, local_guarantee
from ldpsql_device.epsilon import Epsilon
from ldpsql_device.errors import SurveyError
from ldpsql_device.plan import WORDS, RowsOfWords

MOST_CELLS = 128
LEAST_DELTA = Fraction(1, 10**9)
Share = float | Fraction
_BLIND = 1e-9
_MOST_NAMED = 8
_NEAR = Fraction(1, 10**6)


@dataclass(frozen=True)
class TruthfulOptimum:
    """support: the values that randomized response runs over, the likeliest first.  agreement:
    the probability that a report is the value."""

    support: tuple[int, ...]
    agreement: float


def truthful_optimum(
    pi: Sequence[Share], eps: Epsilon | str | float, delta: Share = 0
) -> TruthfulOptimum:
    """The support and the agreement of the optimal channel for a prior.

    High agreement does not make good estimates: values outside the support cannot be counted.

    pi: the share of every value.  SurveyError for shares that are none, or do not sum to 1, for
    delta outside [0, 1), and for an epsilon that is none.

    >>> truthful_optimum([0.4, 0.3, 0.15, 0.1, 0.05], 1).support
    (0, 1)
    """
    shares = normalise_shares(pi)
    lost = read_exactly(delta)
    if not 0 <= lost < 1:
        raise SurveyError(f"delta must be at least 0 and below 1, not {float(lost):g}")
    odds = (eps if isinstance(eps, Epsilon) else Epsilon.parse(eps)).odds
    order = sorted(range(len(shares)), key=lambda value: (-shares[value], value))
    # E Pi_s / (E + s - 1) is unimodal in s, and the next value raises it if and only if its share
    # is at least Pi_s / (E + s - 1).
    size, covered = 0, Fraction(0)
    while size < len(order) and shares[order[size]] * (odds + size - 1) >= covered:
        covered += shares[order[size]]
        size += 1
    best = odds * covered / (odds + size - 1)
    return TruthfulOptimum(tuple(order[:size]), float(lost + (1 - lost) * best))


def normalise_shares(pi: Sequence[Share]) -> tuple[Fraction, ...]:
    """The shares as exact decimals, summing to exactly 1; SurveyError where they are none."""
    shares = tuple(map(read_exactly, pi))
    total = sum(shares, Fraction(0))
    if not shares or min(shares) < 0 or abs(total - 1) > _NEAR:
        raise SurveyError("a prior is a list of shares, none below 0, that sum to 1")
    return tuple(share / total for share in shares)


def read_exactly(number: object) -> Fraction:
    """A number by its shortest decimal form, so that 0.1 means 1/10; SurveyError for others."""
    try:
        return number if isinstance(number, Fraction) else Fraction(str(number))
    except (ValueError, ZeroDivisionError):
        raise SurveyError(f"not a number: {number!r:.60}") from None


@dataclass(frozen=True, eq=False)
class TruthfulDesign(RowsDesign):
    """Randomized response over the likeliest cells, and the truth with probability delta.

    support: those cells, the likeliest first; the others answer as the last of them would.
    """

    prior: tuple[Fraction, ...]
    support: tuple[int, ...]
    delta: Fraction
    name: str = "truthful"

    def __post_init__(self) -> None:
        cells = math.prod(self.domain.record_sizes)
        known = all(0 <= cell < cells for cell in self.support)
        if not self.support or not known or len(set(self.support)) != len(self.support):
            raise SurveyError("the support of the design does not fit the schema")
        if len(self.prior) != cells:
            raise SurveyError(f"prior must have {cells} shares, one per combination of codes")
        if self.delta and not LEAST_DELTA <= self.delta < 1:
            raise SurveyError(
                f"delta must be 0, or at least {float(LEAST_DELTA):g} and below 1, "
                f"not {float(self.delta):g}"
            )

    @cached_property
    def response(self) -> RowsOfWords:
        """The rows of weights of the plan."""
        cells, size = len(self.prior), len(self.support)
        # Words of the truth in clear, rounded down; of the rest each answer of the support has the
        # least number for which what is left for the own one is at most E times as many.
        clear = int(self.delta * WORDS)
        rest = WORDS - clear
        least = math.ceil(rest / (self.epsilon.odds + size - 1)) if size > 1 else rest
        own = rest - (size - 1) * least
        rows = []
        for cell in range(cells):
            row = [least if other in self.support else 0 for other in range(cells)]
            row[cell if cell in self.support else self.support[-1]] = own
            row[cell] += clear
            rows.append(tuple(row))
        return RowsOfWords(tuple(rows))

    @property
    def pooled(self) -> tuple[int, ...]:
        """The cells that answer as one, ascending: the last of the support and those outside."""
        own = set(self.support[:-1])
        return tuple(cell for cell in range(len(self.prior)) if cell not in own)

    @property
    def guarantee(self) -> StatedGuarantee:
        """(Epsilon, delta)-LDP, per set of reports."""
        plain = local_guarantee(self.epsilon)
        if not self.delta:
            return plain
        shown = f"{float(self.delta):g}"
        return replace(
            plain,
            delta=self.delta,
            protects="every private attribute of one person's report together: no set of reports "
            f"is likelier under one record than e^{self.epsilon} times its probability under "
            f"another plus {shown}",
            not_protected=(
                f"with probability {shown} a report is the person's own value, in clear",
                *plain.not_protected[:-1],
                "a person who answers several surveys loses the sum of their epsilons and deltas",
            ),
        )

    @property
    def agreement(self) -> float:
        """Probability that a report is the own value, if the prior is right."""
        return float(np.array(self.prior, dtype=float) @ np.diagonal(self.channel.matrix))

    @property
    def remarks(self) -> tuple[str, ...]:
        """Notes on what it is good for, and what it cannot estimate."""
        purpose = (
            "it makes reports agree with values as often as can be if people are spread as the "
            f"prior says (with probability {self.agreement:.4g}), and not answers precise; grr, "
            "staircase and fourier are made to estimate"
        )
        if len(self.pooled) < 2:
            return (purpose,)
        if self.delta:
            last = (
                f"only the reports in clear, {float(self.delta):g} of all, tell apart "
                f"{self._name(self.pooled)}, so answers about them have very large errors"
            )
        elif len(self.support) == 1:
            last = "it cannot estimate anything: every report is the same"
        else:
            last = (
                f"it cannot estimate how many people have {self._name(self.pooled)}, but only "
                "how many have any of them"
            )
        return (purpose, last)

    def _name(self, cells: Sequence[int]) -> str:
        """Cells by their codes."""
        places = np.array(np.unravel_index(cells, self.domain.sizes)).T.tolist()
        texts = [
            "(" + ", ".join(f"{n}={c}" for n, c in zip(self.domain.names, own, strict=True)) + ")"
            for own in places[:_MOST_NAMED]
        ]
        return f"the codes {list_some(texts, _MOST_NAMED, count=len(cells))}"

    def prepare(self, query: LinearQuery) -> CellQuery:
        """The query by cells; UnsupportedSQL where it parts what answers as one."""
        planned = super().prepare(query)
        for (cells,) in planned.alternatives:
            blind = np.abs(self.channel.blind(cells.weights)).max()
            if blind > _BLIND * max(np.abs(cells.weights).max(), 1.0):
                raise UnsupportedSQL(
                    "this survey cannot estimate how many people have "
                    f"{self._name(self.pooled)}: by its prior they are reported as one",
                    hint="ask for all of them together, or design the survey with another "
                    "mechanism",
                )
        return planned

    def to_json(self) -> Mapping[str, Any]:
        """Fractions as text."""
        return {
            "prior": [str(share) for share in self.prior],
            "support": list(self.support),
            "delta": str(self.delta),
        }


@dataclass(frozen=True)
class TruthfulOptions:
    """prior: shares as a list, or as text with commas between them; even ones where None.

    delta: a number, or text of one.
    """

    prior: object = None
    delta: object = 0


class Truthful(Recipe[TruthfulOptions]):
    """COUNT over a few cells whose shares are thought to be known."""

    name = "truthful"
    takes = Takes(measures=False, cells=MOST_CELLS)
    options = TruthfulOptions
    can_be_reserved = True

    def make(self, task: Task[TruthfulOptions]) -> TruthfulDesign:
        """The optimum for the prior and delta."""
        cells = math.prod(task.domain.record_sizes)
        given = task.options.prior
        parts = given.split(",") if isinstance(given, str) else given
        if parts is not None and not isinstance(parts, list):
            raise SurveyError("option prior of truthful is a list of shares, one per code")
        prior = normalise_shares(parts or [Fraction(1, cells)] * cells)
        delta = read_exactly(task.options.delta)
        support = truthful_optimum(prior, task.epsilon, delta).support
        return TruthfulDesign(task.domain, task.epsilon, prior, support, delta)

    def remake(
        self, domain: RecordDomain, epsilon: Epsilon, data: Mapping[str, Any]
    ) -> TruthfulDesign:
        """The design again, from the collector's part of a survey."""
        prior = normalise_shares(data["prior"])
        support = tuple(map(whole, data["support"]))
        return TruthfulDesign(domain, epsilon, prior, support, read_exactly(data["delta"]))

    def reserved(self, workload: Workload) -> str:
        """Never taken by `auto`."""
        return "it agrees with a declared prior rather than estimates; ask for it by name"


TRUTHFUL = Truthful()
