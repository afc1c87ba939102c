"""Public. Sees parameters. Randomized response that agrees most often with a declared prior.

It maximises how often a report is the true value if people are spread as the prior says, which is
not how well frequencies are estimated: with a skewed prior the likeliest values answer for all
others, and these cannot be estimated. So `auto` never takes it. Source: Zhou, Lu, Wu 2019;
specification rr-optimum, section 1.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from ldpsql.boxes import LinearQuery
from ldpsql.mechanisms.cells.design import WordDesign
from ldpsql.mechanisms.cells.query import CellSum, check_cells, shape_of
from ldpsql.mechanisms.cells.words import ALL_WORDS, Patterns, Table, staircase_words
from ldpsql.mechanisms.options import no_measures, whole
from ldpsql.mechanisms.truthful.optimum import exact, normal_shares, truthful_optimum
from ldpsql.recipes.base import NoOptions, Recipe
from ldpsql_device.epsilon import Epsilon
from ldpsql_device.errors import SurveyError, UnsupportedSQL
from ldpsql_device.guarantee import Guarantee, local_guarantee
from ldpsql_device.schema import RecordDomain

MOST_CELLS = 128
LEAST_DELTA = Fraction(1, 10**9)
_BLIND = 1e-9
_MOST_NAMED = 8


@dataclass(frozen=True, eq=False)
class TruthfulDesign(WordDesign):
    """Randomized response over the likeliest cells, and the truth with probability delta.

    support: those cells, the likeliest first; the others answer as the last of them would.
    """

    prior: tuple[Fraction, ...]
    support: tuple[int, ...]
    delta: Fraction
    name: str = "truthful"

    def __post_init__(self) -> None:
        cells = math.prod(shape_of(self.domain))
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

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TruthfulDesign) and (
            (self.domain, self.epsilon, self.to_json())
            == (other.domain, other.epsilon, other.to_json())
        )

    __hash__ = None  # type: ignore[assignment]

    @cached_property
    def words(self) -> Table:
        """See `WordDesign.words`."""
        cells, size, odds = len(self.prior), len(self.support), self.epsilon.odds
        open_words = self.delta.numerator * ALL_WORDS // self.delta.denominator
        rest = ALL_WORDS - open_words
        least = rest * odds.denominator // (odds.numerator + (size - 1) * odds.denominator)
        weights = [rest] if size == 1 else [least] * size
        table = np.zeros((cells, cells), dtype=np.uint64)
        table[list(self.support)] = staircase_words(weights, self._classes, odds, rest)
        table[np.diag_indices(cells)] += np.uint64(open_words)
        return table

    @property
    def _classes(self) -> Patterns:
        """Which cells answer as each one of the support, shape (support, cells)."""
        classes = np.zeros((len(self.support), len(self.prior)), dtype=bool)
        if len(self.support) > 1:
            classes[np.arange(len(self.support)), list(self.support)] = True
            classes[-1, list(self.pooled)] = True
        return classes

    @property
    def pooled(self) -> tuple[int, ...]:
        """The cells that answer as one, ascending: the last of the support and those outside."""
        own = set(self.support[:-1])
        return tuple(cell for cell in range(len(self.prior)) if cell not in own)

    @property
    def guarantee(self) -> Guarantee:
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
        own = np.diagonal(self.table.channel)
        return float(np.array([float(share) for share in self.prior]) @ own)

    @property
    def remarks(self) -> tuple[str, ...]:
        """What it is good for, and what it cannot estimate."""
        found = (
            "it makes reports agree with values as often as can be if people are spread as the "
            f"prior says (with probability {self.agreement:.4g}), and not answers precise; grr, "
            "staircase and fourier are made to estimate",
        )
        if len(self.pooled) < 2:
            return found
        if self.delta:
            last = (
                f"only the reports in clear, {float(self.delta):g} of all, tell apart "
                f"{self._named(self.pooled)}, so answers about them have very large errors"
            )
        elif len(self.support) == 1:
            last = "it cannot estimate anything: every report is the same"
        else:
            last = (
                f"it cannot estimate how many people have {self._named(self.pooled)}, but only "
                "how many have any of them"
            )
        return (*found, last)

    def _named(self, cells: Sequence[int]) -> str:
        """Cells by their codes."""
        places = np.array(np.unravel_index(cells, self.domain.sizes)).T.tolist()
        texts = [
            "(" + ", ".join(f"{n}={c}" for n, c in zip(self.domain.names, own, strict=True)) + ")"
            for own in places[:_MOST_NAMED]
        ]
        more = f" and {len(cells) - _MOST_NAMED} more" if len(cells) > _MOST_NAMED else ""
        return f"the codes {', '.join(texts)}{more}"

    def prepare(self, query: LinearQuery) -> CellSum:
        """The query by cells; UnsupportedSQL where it parts what answers as one."""
        planned = super().prepare(query)
        blind = np.abs(self.channel.blind(planned.amounts)).max()
        if blind > _BLIND * max(np.abs(planned.amounts).max(), 1.0):
            raise UnsupportedSQL(
                f"this survey cannot estimate how many people have {self._named(self.pooled)}: "
                "by its prior they are reported as one",
                hint="ask for all of them together, or design the survey with another mechanism",
            )
        return planned

    def to_json(self) -> Mapping[str, Any]:
        """What `restore` needs besides domain and epsilon; fractions as text."""
        return {
            "prior": [str(share) for share in self.prior],
            "support": list(self.support),
            "delta": str(self.delta),
        }


class Truthful(Recipe[NoOptions]):
    """COUNT over a few cells whose shares are thought to be known."""

    can_be_reserved = True
    name = "truthful"

    def design(
        self,
        domain: RecordDomain,
        epsilon: Epsilon,
        options: Mapping[str, Any],
        workload: object = None,
    ) -> TruthfulDesign:
        """The optimum for the options `prior` (shares, even ones by default) and `delta` (0)."""
        for key in options:
            if key not in ("prior", "delta"):
                raise SurveyError(f"{self.name} has no option {key!r}; it knows: prior, delta")
        no_measures(domain, self.name)
        check_cells(domain, MOST_CELLS, self.name)
        cells = math.prod(shape_of(domain))
        prior = normal_shares(_shares(options.get("prior")) or [Fraction(1, cells)] * cells)
        delta = exact(options.get("delta", 0))
        found = truthful_optimum(prior, epsilon, delta)
        return TruthfulDesign(domain, epsilon, prior, found.support, delta)

    def restore(
        self, domain: RecordDomain, epsilon: Epsilon, data: Mapping[str, Any]
    ) -> TruthfulDesign:
        """From a survey's JSON."""
        no_measures(domain, self.name)
        check_cells(domain, MOST_CELLS, self.name)
        prior = normal_shares([exact(text) for text in data["prior"]])
        support = tuple(map(whole, data["support"]))
        return TruthfulDesign(domain, epsilon, prior, support, exact(data["delta"]))

    def reserved(self, domain: RecordDomain) -> str:
        """Never taken by `auto`."""
        return "it agrees with a declared prior rather than estimates; ask for it by name"


def _shares(prior: Any) -> list[Fraction]:
    """From a list of numbers, or from text with commas between them."""
    if prior is None:
        return []
    parts = prior.split(",") if isinstance(prior, str) else prior
    if not isinstance(parts, list):
        raise SurveyError("option prior of truthful is a list of shares, one per code")
    return [exact(part) for part in parts]
