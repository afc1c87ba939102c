"""Utility-optimised local differential privacy: only declared values are sensitive.

A value that is not sensitive may be disclosed, which makes answers more accurate.

urr      one attribute: utility-optimised randomized response
urap     one attribute: a bit per sensitive value, and perhaps the name of another one
cprr     urr over the combinations of all attributes (product ULDP)
jurr     several attributes, each protected by itself (Definition 3)
jurr-g   jurr of two attributes at every epsilon
tdrr     a urr for each attribute, each with a part of epsilon
jd-grr   randomized response over all combinations, for comparison: plain LDP

Sources: Yin, Zhu, Zhang, Computer Science 50(10), 2023; Murakami, Kawamoto, USENIX Security 2019;
docs/spec/uldp.md#2 to docs/spec/uldp.md#6.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import ROUND_FLOOR, Context
from fractions import Fraction
from functools import cached_property, partial
from typing import Any, ClassVar, Literal, TypeVar

import numpy as np

from ldpsql.decoders.base import AnyDesign, Estimators
from ldpsql.decoders.cells import TableDesign, flat_digit
from ldpsql.decoders.groups import whole
from ldpsql.decoders.linear import CellQuery
from ldpsql.decoders.people_tables import SmoothTable, find_likeliest, find_nearest
from ldpsql.decoders.uldp import (
    Axis,
    BitChannel,
    Response,
    ResponseChannel,
    sensitive_cells,
    separate_axes,
    shape_over,
)
from ldpsql.recipes.base import NoOptions, Recipe, Takes, Task
from ldpsql.recipes.uldp_responses import (
    best_levels,
    joint_response,
    least_epsilon,
    levelled_response,
    single_response,
)
from ldpsql.record_domain import RecordDomain
from ldpsql.report import Histogram
from ldpsql_device.epsilon import LARGEST_PRECISION, SMALLEST_EPSILON, Epsilon
from ldpsql_device.errors import SurveyError
from ldpsql_device.guarantee import Guarantee, local_guarantee
from ldpsql_device.plan import (
    MOST_BITS,
    WORDS,
    Bits,
    Digit,
    Face,
    Ladder,
    Part,
    Plan,
    Rung,
    Term,
)

LARGEST_TABLE = 1 << 14
_DIGITS = Context(prec=60)
Kind = Literal["uldp", "uldp-joint", "local"]
O = TypeVar("O")  # noqa: E741

# -- what is promised --------------------------------------------------------------------------


def promise(
    kind: Kind, domain: RecordDomain, epsilon: Epsilon, disclosures: Sequence[float]
) -> Guarantee:
    """The guarantee of a kind, or plain LDP where it holds for every record: where every value is
    sensitive, and for "uldp" where every record has a sensitive value.

    disclosures: the largest probability that a value which is not sensitive is given away: for
    "uldp-joint" one per dimension, else one of the whole record.
    """
    general = local_guarantee(epsilon)
    if kind == "uldp" and domain.has_nonsensitive_records:
        protects, unprotected = _whole_record(domain, epsilon, disclosures)
    elif kind == "uldp-joint" and not domain.is_all_sensitive:
        protects, unprotected = _each_value(domain, epsilon, disclosures)
    else:
        return general
    return Guarantee(kind, epsilon, protects, (*unprotected, *general.not_protected))


def _whole_record(
    domain: RecordDomain, epsilon: Epsilon, disclosures: Sequence[float]
) -> tuple[str, tuple[str, ...]]:
    """Product ULDP: docs/spec/uldp.md#1.1, docs/spec/uldp.md#1.3."""
    single = len(domain.sizes) == 1
    owner = "a sensitive value" if single else "a record with a sensitive value, all of it"
    other = "value" if single else "record without a sensitive value"
    return (
        f"{owner}: no report of its owner is more than e^{epsilon} times likelier than under any "
        f"other {'value' if single else 'record'}",
        (
            f"a {other}{' that is not sensitive' if single else ''}: the report gives it away "
            f"with probability {max(disclosures):.3g}, and with it that its owner has no sensitive "
            "value",
            "a report that gives nothing away makes a sensitive value likelier, by a factor of at "
            f"most e^{epsilon}",
        ),
    )


def _each_value(
    domain: RecordDomain, epsilon: Epsilon, disclosures: Sequence[float]
) -> tuple[str, tuple[str, ...]]:
    """Definition 3: docs/spec/uldp.md#1.2."""
    given = ", ".join(
        f"{name} up to {chance:.3g}"
        for name, chance in zip(domain.names, disclosures, strict=True)
        if chance
    )
    return (
        f"a record that is sensitive in every attribute: no report of its owner is more than "
        f"e^{epsilon} times likelier than under any other record; the sensitive values of other "
        f"records: within e^{epsilon} against all values that could stand in their place, the rest "
        "of the record being the same",
        (
            "a value that is not sensitive, even beside a sensitive one: a report gives it away "
            f"with a probability of {given}",
            "a record with a value that is not sensitive, against records that differ in it",
            "what a value that was given away says about the sensitive one beside it: where "
            "attributes are correlated, this comes before the factor of "
            f"e^{epsilon} (cprr protects such records as a whole)",
        ),
    )


# -- designs -----------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class CellDesign(TableDesign):
    """Reports that name a cell of the table of all combinations, drawn by a word per response.

    axes, responses: of the channel.  kind: of the guarantee where some value is not sensitive.
    data: what the recipe needs besides domain and epsilon, from which the channel follows.
    """

    name: str
    domain: RecordDomain
    epsilon: Epsilon
    axes: tuple[Axis, ...]
    responses: tuple[Response, ...]
    kind: Kind
    data: Mapping[str, Any]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, CellDesign) and (
            (self.name, self.domain, self.epsilon, self.data)
            == (other.name, other.domain, other.epsilon, other.data)
        )

    __hash__ = None  # type: ignore[assignment]

    @cached_property
    def channel(self) -> ResponseChannel:
        """What the collector knows of the reports."""
        return ResponseChannel(self.axes, self.responses)

    @cached_property
    def plan(self) -> Plan:
        """One question; each part's symbol is the ranks of its axes, the sensitive values first."""
        sizes = self.domain.sizes
        tables = tuple(tuple(axis.rank.tolist()) for axis in self.axes)
        if len(tables) == len(sizes):
            digits = [Digit((Term(j),), size, table=j) for j, size in enumerate(sizes)]
            parts = tuple(
                Part(tuple(digits[first:end]), response.ladder)
                for response, (first, end) in zip(self.responses, self.channel.spans, strict=True)
            )
        else:
            (response,) = self.responses
            parts = (Part((flat_digit(sizes, table=0),), response.ladder),)
        return Plan(sizes, (), (Face(1, parts),), tables)

    @property
    def guarantee(self) -> Guarantee:
        """For sensitive values; plain LDP where all are."""
        return promise(self.kind, self.domain, self.epsilon, self.disclosures)

    @property
    def disclosures(self) -> list[float]:
        """Per axis the largest probability that a value which is not sensitive is given away."""
        return [
            response.disclosure(attribute)
            for response in self.responses
            for attribute in range(len(response.shape.sizes))
        ]

    @property
    def estimators(self) -> Estimators[CellQuery]:
        """The unbiased one; the nearest table of people to it; the likeliest table of people."""
        return {
            "unbiased": self.estimator,
            "smooth": partial(self._smooth, find_nearest),
            "em": partial(self._smooth, find_likeliest),
        }

    def _smooth(self, find: Any, histogram: Histogram) -> SmoothTable:
        return SmoothTable(self.reported(histogram), partial(find, self.channel))

    def to_json(self) -> Mapping[str, Any]:
        """What the recipe needs besides domain and epsilon."""
        return dict(self.data)


@dataclass(frozen=True)
class UrapDesign(TableDesign):
    """Unary encoding of one attribute: a bit per sensitive value, and perhaps another one's name.

    The own bit is 1 with probability theta, any other sensitive one with d1; a value that is not
    sensitive is named with probability 1 - d2 by its owners, and by nobody else:

        d1 = theta / ((1 - theta) E + theta),   d2 = ((1 - theta) E + theta) / E,   E = e^epsilon.

    Source: docs/spec/uldp.md#3.

    theta: the threshold of the own bit, out of 2^64.
    """

    domain: RecordDomain
    epsilon: Epsilon
    theta: int
    name: str = "urap"

    def __post_init__(self) -> None:
        if not 0 < self.thresholds[1] < self.theta < WORDS or not 0 < self.thresholds[2] < WORDS:
            raise SurveyError("the own bit must be likelier than the others")

    @cached_property
    def axis(self) -> Axis:
        """The one dimension."""
        return separate_axes(self.domain)[0]

    @cached_property
    def thresholds(self) -> tuple[int, int, int]:
        """Words below which the own bit is set, another one is, and a value is not named.

        d1 is rounded up so that the two kinds of bits stay within E, then d2 so that a report
        without a name does.
        """
        odds, theta = self.epsilon.odds, Fraction(self.theta, WORDS)
        other = _round_up(theta / ((1 - theta) * odds + theta))
        d1 = Fraction(other, WORDS)
        unnamed = _round_up(max(theta / (d1 * odds), (1 - theta) / (1 - d1)))
        return self.theta, other, unnamed

    @cached_property
    def plan(self) -> Plan:
        """One question with two parts: the name, 0 for none, and the bits.

        Sensitive values have the name 0, which others keep to themselves by being drawn as 0; a
        value that is not sensitive has the bit behind all others, which is never set.
        """
        rank, bits = self.axis.rank, self.axis.sensitive
        own, other, unnamed = self.thresholds
        others = len(rank) - bits
        tables = (np.maximum(rank - bits + 1, 0), np.minimum(rank, bits))
        named = (Rung(unnamed, (0,)), Rung(WORDS - unnamed))
        never = (0,) if others else ()
        parts = (
            Part(
                (Digit((Term(0),), others + 1, table=0),),
                Ladder((1,), (named, (Rung(1), Rung(0)))),
            ),
            Part(
                (Digit((Term(0),), bits + len(never), table=1),),
                Bits((own,) * bits + never, (other,) * bits + never),
            ),
        )
        listed = tuple(tuple(table.tolist()) for table in tables)
        return Plan(self.domain.sizes, (), (Face(1, parts),), listed)

    @cached_property
    def channel(self) -> BitChannel:
        """What the collector knows of the reports."""
        own, other, unnamed = (threshold / WORDS for threshold in self.thresholds)
        return BitChannel(self.axis, own, other, 1.0 - unnamed)

    @property
    def guarantee(self) -> Guarantee:
        """For sensitive values; plain LDP where all are."""
        return promise("uldp", self.domain, self.epsilon, [1.0 - self.thresholds[2] / WORDS])

    @property
    def estimators(self) -> Estimators[CellQuery]:
        """The unbiased one, and the nearest table of people to it."""
        return {"unbiased": self.estimator, "smooth": self._smooth}

    def _smooth(self, histogram: Histogram) -> SmoothTable:
        return SmoothTable(self.reported(histogram), partial(find_nearest, self.channel))

    def to_json(self) -> Mapping[str, Any]:
        """What the recipe needs besides domain and epsilon."""
        return {"theta": self.theta}


def _round_up(chance: Fraction) -> int:
    """Words of a chance, out of 2^64."""
    return math.ceil(chance * WORDS)


# -- recipes -----------------------------------------------------------------------------------


class SensitiveRecipe(Recipe[O]):
    """COUNT, and SUM and AVG of public columns, where some values are not sensitive.

    kind: of the guarantee.
    """

    can_be_reserved = True
    estimator_names: ClassVar[tuple[str, ...]] = ("unbiased", "smooth", "em")
    kind: Kind

    def __init__(self, name: str, kind: Kind, dimensions: tuple[int, int | None]) -> None:
        self.name, self.kind = name, kind
        self.takes = Takes(dimensions, measures=False, sensitive=True)

    def refusal(self, domain: RecordDomain) -> str | None:
        """See `Recipe.refusal`; a domain of too many combinations of codes."""
        count, cells = len(domain.sizes), math.prod(domain.sizes)
        if not domain.measure_names and not (domain.sizes and cells <= LARGEST_TABLE):
            return (
                f"{self.name} reports a combination of codes of all dimensions, of which there "
                f"may be 1 to {LARGEST_TABLE}, not {cells}; use fewer or coarser dimensions"
            )
        instead = "grr or hgrr" if domain.measure_names else "urr" if count == 1 else "cprr"
        return replace(self.takes, instead=instead).refusal(self.name, domain)

    def reserved(self, domain: RecordDomain) -> str | None:
        """See `Recipe.reserved`."""
        if domain.is_all_sensitive:
            return "no value is declared sensitive, so it would protect all, as others do better"
        if self.kind == "local":
            return "it is grr under another name"
        if self.kind == "uldp-joint":
            return "its promise is weaker than that of cprr; name it to have it"
        if domain.has_nonsensitive_records:
            return None
        return "every record has a sensitive value, so it would protect all, as others do better"

    def make(self, task: Task[O]) -> AnyDesign:
        """What `choose` has chosen; the rest follows from domain and epsilon."""
        return self.remake(task.domain, task.epsilon, self.choose(task))

    def choose(self, task: Task[O]) -> Mapping[str, Any]:
        """What a design needs besides domain and epsilon."""
        return {}

    def _design(
        self,
        domain: RecordDomain,
        epsilon: Epsilon,
        axes: tuple[Axis, ...],
        *responses: Response,
        **data: Any,
    ) -> CellDesign:
        return CellDesign(self.name, domain, epsilon, axes, responses, self.kind, data)


class Cprr(SensitiveRecipe[NoOptions]):
    """One response over the combinations of all attributes."""

    def remake(self, domain: RecordDomain, epsilon: Epsilon, data: Mapping[str, Any]) -> CellDesign:
        """Everything follows from domain and epsilon; "local" makes every combination sensitive."""
        cells = sensitive_cells(domain).ravel()
        axis = Axis(np.ones_like(cells) if self.kind == "local" else cells)
        return self._design(domain, epsilon, (axis,), single_response(axis, epsilon.odds))


class Jurr(SensitiveRecipe[NoOptions]):
    """One response in which every attribute is protected by itself."""

    def remake(self, domain: RecordDomain, epsilon: Epsilon, data: Mapping[str, Any]) -> CellDesign:
        """SurveyError where epsilon is too small for it."""
        axes = separate_axes(domain)
        shape = shape_over(axes)
        response = joint_response(shape, epsilon.odds)
        if response is None:
            advice = (
                "jurr-g works at every epsilon" if len(axes) == 2 else "cprr works at every one"
            )
            raise SurveyError(
                f"{self.name} needs epsilon {least_epsilon(shape)} or more for "
                f"{'x'.join(map(str, shape.sensitive))} sensitive values, not {epsilon}; {advice}"
            )
        return self._design(domain, epsilon, axes, response)


class JurrG(SensitiveRecipe[NoOptions]):
    """JuRR with levels of their own for records that are sensitive in one of two attributes."""

    def choose(self, task: Task[NoOptions]) -> Mapping[str, Any]:
        """The levels with the least total variance for records spread evenly."""
        levels = best_levels(shape_over(separate_axes(task.domain)), task.epsilon.odds)
        return {"levels": list(levels)}

    def remake(self, domain: RecordDomain, epsilon: Epsilon, data: Mapping[str, Any]) -> CellDesign:
        """SurveyError for levels that epsilon does not allow."""
        axes = separate_axes(domain)
        first, second = map(whole, data["levels"])
        response = levelled_response(shape_over(axes), epsilon.odds, (first, second))
        if response is None:
            raise SurveyError("the levels of the design leave no room for the truth")
        return self._design(domain, epsilon, axes, response, levels=[first, second])


@dataclass(frozen=True)
class Split:
    """split: a whole number per dimension, in proportion to its part of epsilon; even if []."""

    split: list[int] = field(default_factory=list)


class Tdrr(SensitiveRecipe[Split]):
    """Independent responses, each attribute with its part of epsilon."""

    options = Split

    def choose(self, task: Task[Split]) -> Mapping[str, Any]:
        """A part for each dimension."""
        chosen = task.options.split or [1] * len(task.domain.sizes)
        if not all(type(part) is int and 1 <= part <= 1000 for part in chosen):
            raise SurveyError("split is a whole number from 1 to 1000 per dimension, like [1, 2]")
        return {"split": chosen}

    def remake(self, domain: RecordDomain, epsilon: Epsilon, data: Mapping[str, Any]) -> CellDesign:
        """SurveyError unless there is a part for each dimension."""
        axes, split = separate_axes(domain), list(map(whole, data["split"]))
        if len(split) != len(axes) or min(split) < 1:
            raise SurveyError(f"split has {len(split)} parts, and there are {len(axes)} dimensions")
        parts = _split_odds(epsilon, split)
        responses = tuple(single_response(a, odds) for a, odds in zip(axes, parts, strict=True))
        return self._design(domain, epsilon, axes, *responses, split=split)


def _split_odds(epsilon: Epsilon, split: Sequence[int]) -> list[Fraction]:
    """The odds of each part; their product is at most that of epsilon."""
    floor = Context(prec=LARGEST_PRECISION, rounding=ROUND_FLOOR)
    total = sum(split)
    shares = [floor.divide(floor.multiply(epsilon.value, part), total) for part in split]
    if min(shares) < SMALLEST_EPSILON:
        raise SurveyError(
            f"the parts of tdrr leave an attribute less than epsilon {SMALLEST_EPSILON} of "
            f"{epsilon}; take a larger epsilon or more even parts"
        )
    odds = [Epsilon(share).odds for share in shares]
    spent = math.prod(odds, start=Fraction(1))
    return [*odds[:-1], min(odds[-1], odds[-1] * epsilon.odds / spent)]


@dataclass(frozen=True)
class UrapOptions:
    """form: "symmetric" (the own bit is as likely 1 as another is 0), or "optimised" (the own bit
    is a fair coin, as in OUE), which is better for many sensitive values."""

    form: Literal["symmetric", "optimised"] = "symmetric"


class Urap(SensitiveRecipe[UrapOptions]):
    """COUNT of one attribute, SUM and AVG of public columns."""

    options = UrapOptions
    estimator_names = ("unbiased", "smooth")

    def refusal(self, domain: RecordDomain) -> str | None:
        """See `Recipe.refusal`; a domain of too many sensitive values."""
        refused = super().refusal(domain)
        bits = 0 if refused else len(domain.sensitive_codes(0))
        if refused or bits < MOST_BITS:
            return refused
        return f"urap sends a bit per sensitive value, at most {MOST_BITS - 1}, not {bits}; use urr"

    def choose(self, task: Task[UrapOptions]) -> Mapping[str, Any]:
        """The threshold of the own bit."""
        if task.options.form == "optimised":
            return {"theta": WORDS // 2}
        root = _DIGITS.exp(_DIGITS.divide(task.epsilon.value, 2))
        theta = Fraction(_DIGITS.divide(root, _DIGITS.add(root, 1)))
        return {"theta": round(theta * WORDS)}

    def remake(self, domain: RecordDomain, epsilon: Epsilon, data: Mapping[str, Any]) -> UrapDesign:
        """See `Recipe.remake`."""
        theta = whole(data["theta"])
        if not 0 < theta < WORDS:
            raise SurveyError("the threshold of the own bit lies between 0 and 2^64")
        return UrapDesign(domain, epsilon, theta)


_ONE, _ANY, _TWO, _SEVERAL = (1, 1), (1, None), (2, 2), (2, 6)
URR = Cprr("urr", "uldp", _ONE)
URAP = Urap("urap", "uldp", _ONE)
CPRR = Cprr("cprr", "uldp", _ANY)
JURR = Jurr("jurr", "uldp-joint", _SEVERAL)
JURR_G = JurrG("jurr-g", "uldp-joint", _TWO)
TDRR = Tdrr("tdrr", "uldp-joint", _SEVERAL)
JD_GRR = Cprr("jd-grr", "local", _ANY)
