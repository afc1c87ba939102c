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
from abc import abstractmethod
from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import ROUND_FLOOR, Context
from fractions import Fraction
from functools import cached_property, partial
from typing import Any, Literal, TypeVar

import numpy as np

from ldpsql.algebra.record_domain import RecordDomain
from ldpsql.algebra.workload import Workload
from ldpsql.estimators.base import AnyDesign, Estimators
from ldpsql.estimators.cells import TableDesign, make_flat_digit
from ldpsql.estimators.groups import whole
from ldpsql.estimators.linear import CellQuery, ReportedSource
from ldpsql.mechanisms.base import AnyOptions, NoOptions, Recipe, Takes, Task
from ldpsql.reports.report import Histogram
from ldpsql.sensitive.decoder import (
    Axis,
    BitChannel,
    Kind,
    Response,
    ResponseChannel,
    ResponseShape,
    find_sensitive_cells,
    separate_axes,
    shape_over,
)
from ldpsql.sensitive.people_tables import SmoothTable, find_likeliest, find_nearest
from ldpsql.wording.guarantees import StatedGuarantee, local_guarantee
from ldpsql_device.epsilon import LARGEST_EPSILON, LARGEST_PRECISION, SMALLEST_EPSILON, Epsilon
from ldpsql_device.errors import SurveyError
from ldpsql_device.plan import MOST_BITS, WORDS, Bits, Digit, Face, Ladder, Part, Plan, Rung, Term

LARGEST_TABLE = 1 << 14
_DIGITS = Context(prec=60)
Promised = Literal["uldp", "uldp-joint", "local"]
O = TypeVar("O")  # noqa: E741
Point = tuple[float, float]
Responses = tuple[tuple[Axis, ...], tuple[Response, ...], AnyOptions]

# -- the integers of responses, rounded to the safe side -----------------------------------------
#
# With E = e^epsilon, r_T = 2^64 - sum over T' above T of m_T' w_T' words are left for the cells of
# kind T, and each of them gets w_T = ceil(r_T / (E + m_T - 1)); the true one gets what the others
# leave, which is at most E w_T. Source: docs/spec/uldp.md#2, docs/spec/uldp.md#6.1,
# docs/spec/uldp.md#6.3, docs/spec/uldp.md#6.4.

_LEAST_LEFT = WORDS >> 24
"""Words that the truth must keep: below this a channel tells next to nothing."""
_STEPS = 10_000
"""Steps of `least_epsilon` per unit of epsilon."""


def make_single_response(axis: Axis, odds: Fraction) -> Response:
    """uRR over one attribute."""
    response = make_joint_response(shape_over((axis,)), odds)
    assert response is not None, "one attribute leaves room for the truth at every epsilon"
    return response


def make_joint_response(
    shape: ResponseShape, odds: Fraction, levels: Mapping[Kind, int] | None = None
) -> Response | None:
    """JuRR for any number of attributes; None where nothing is left for the truth.

    levels: words of a fully sensitive cell for records of some kinds, where they have their own.
    """
    shares: dict[Kind, int] = {}
    words: dict[tuple[Kind, Kind], int] = {}
    for kind in reversed(shape.kinds):
        own = {target: shares[target] for target in shape.above(kind)}
        if levels and kind in levels:
            own[max(own)] = levels[kind]
        left = WORDS - sum(shape.cells(target) * share for target, share in own.items())
        if left < _LEAST_LEFT:
            return None
        if kind:
            own[kind] = shares[kind] = _share(left, shape.cells(kind), odds)
        words.update({(kind, target): share for target, share in own.items()})
    return Response(shape, words)


def least_epsilon(shape: ResponseShape) -> str:
    """The smallest epsilon, in steps of 1/10000, at which `make_joint_response` exists."""

    def exists(step: int) -> bool:
        return make_joint_response(shape, Fraction(math.exp(step / _STEPS))) is not None

    found = bisect_left(range(int(LARGEST_EPSILON) * _STEPS), True, key=exists)
    return f"{found / _STEPS:.4f}"


def level_limits(shape: ResponseShape, odds: Fraction) -> tuple[int, int]:
    """Of two attributes: least and largest words per fully sensitive cell of any record."""
    least = _share(WORDS, shape.cells(3), odds)
    return least, int(odds * least)


def _share(left: int, cells: int, odds: Fraction) -> int:
    """Words of each of so many cells, so that the true one has at most `odds` times as many."""
    return math.ceil(left / (odds + cells - 1))


_GRID, _LEAST_STEP = 12, 1e-6


def find_best_levels(shape: ResponseShape, odds: Fraction) -> tuple[int, int]:
    """Words of a fully sensitive cell for the two kinds of half-sensitive records.

    Those with the least total variance for records spread evenly, by a search over two numbers,
    each between 0 (the least level, which is JuRR) and 1 (the largest that epsilon and the simplex
    allow).
    """
    least, most = level_limits(shape, odds)
    limit = min(most, WORDS // shape.cells(3))
    free = tuple(kind in shape.kinds for kind in (1, 2))

    def words(point: Point) -> tuple[int, int]:
        first, second = (
            min(most, least + int(part * (limit - least))) if is_free else least
            for part, is_free in zip(point, free, strict=True)
        )
        return first, second

    def cost(point: Point) -> float:
        response = make_joint_response(shape, odds, dict(enumerate(words(point), 1)))
        return math.inf if response is None else total_variance(response)

    return words(_search(cost))


def total_variance(response: Response) -> float:
    """Variance of the estimates of all cells together, times people, for records spread evenly.

    All cells of a kind have the same, so one of each is looked at: with u the weights of reports
    for it, sum over reports of their probability times u^2, less the share of the cell.
    """
    shape = response.shape
    even = np.full((*shape.sizes, 1), 1.0 / math.prod(shape.sizes))
    reports = response.apply(even, back=True)
    total = 0.0
    for kind in shape.kinds:
        cell = tuple(side.start for side in shape.block(kind))
        asked = np.zeros_like(even)
        asked[cell] = 1.0
        weights = response.solve(asked)
        members = even[shape.block(kind)].size
        total += members * (float((reports * weights**2).sum()) - float(even[cell][0]))
    return total


def _search(cost: Callable[[Point], float]) -> Point:
    """Where a function of two numbers from 0 to 1 is least: the best point of a grid, then steps
    along both axes and diagonals, halved where none helps."""
    nodes = [number / _GRID for number in range(_GRID)]
    best, place = min((cost((x, y)), (x, y)) for x in nodes for y in nodes)
    step = 1.0 / _GRID
    while step > _LEAST_STEP:
        sides = [[min(max(at + step * way, 0.0), 1.0) for way in (-1, 0, 1)] for at in place]
        lowest, where = min((cost((x, y)), (x, y)) for x in sides[0] for y in sides[1])
        if lowest < best:
            best, place = lowest, where
        else:
            step /= 2.0
    return place


# -- what is promised --------------------------------------------------------------------------


def promise(
    kind: Promised, domain: RecordDomain, epsilon: Epsilon, disclosures: Sequence[float]
) -> StatedGuarantee:
    """The guarantee of a kind, or plain LDP where it holds for every record: where every value is
    sensitive, and for "uldp" where every record has a sensitive value.

    disclosures: the largest probability that a value which is not sensitive is given away: for
    "uldp-joint" one per dimension, else one of the whole record. Source: docs/spec/uldp.md#1.1 to
    docs/spec/uldp.md#1.3.
    """
    general = local_guarantee(epsilon)
    if kind == "uldp" and domain.has_nonsensitive_records:
        single = len(domain.sizes) == 1
        owner = "a sensitive value" if single else "a record with a sensitive value, all of it"
        given = "value that is not sensitive" if single else "record without a sensitive value"
        protects = (
            f"{owner}: no report of its owner is more than e^{epsilon} times likelier than under "
            f"any other {'value' if single else 'record'}"
        )
        unprotected: tuple[str, ...] = (
            f"a {given}: the report gives it away with probability {max(disclosures):.3g}, and "
            "with it that its owner has no sensitive value",
            "a report that gives nothing away makes a sensitive value likelier, by a factor of at "
            f"most e^{epsilon}",
        )
    elif kind == "uldp-joint" and not domain.is_all_sensitive:
        named = zip(domain.names, disclosures, strict=True)
        chances = ", ".join(f"{name} up to {chance:.3g}" for name, chance in named if chance)
        protects = (
            f"a record that is sensitive in every attribute: no report of its owner is more than "
            f"e^{epsilon} times likelier than under any other record; the sensitive values of "
            f"other records: within e^{epsilon} against all values that could stand in their "
            "place, the rest of the record being the same"
        )
        unprotected = (
            "a value that is not sensitive, even beside a sensitive one: a report gives it away "
            f"with a probability of {chances}",
            "a record with a value that is not sensitive, against records that differ in it",
            "what a value that was given away says about the sensitive one beside it: where "
            "attributes are correlated, this comes before the factor of "
            f"e^{epsilon} (cprr protects such records as a whole)",
        )
    else:
        return general
    return StatedGuarantee(
        kind,
        epsilon,
        protects=protects,
        not_protected=(*unprotected, *general.not_protected),
    )


# -- designs -----------------------------------------------------------------------------------


class SensitiveDesign(TableDesign):
    """A design with sensitive values, and tables of people that fit its reports."""

    @property
    @abstractmethod
    def channel(self) -> ResponseChannel | BitChannel:
        """The channel as the collector knows it."""

    @property
    def estimators(self) -> Estimators[CellQuery]:
        """The unbiased one; the nearest table of people to it; where reports name cells, the
        likeliest table of people."""
        finders = {"smooth": find_nearest, "em": find_likeliest}
        if isinstance(self.channel, BitChannel):
            del finders["em"]
        smoothed = {name: partial(self._smooth, find) for name, find in finders.items()}
        return {**super().estimators, **smoothed}

    def _smooth(self, find: Any, histogram: Histogram) -> SmoothTable:
        reported = ReportedSource(histogram, self.answers)
        return SmoothTable(reported, self.solve(reported), partial(find, self.channel))


@dataclass(frozen=True, eq=False)
class CellDesign(SensitiveDesign):
    """Reports that name a cell of the table of all combinations, drawn by a word per response.

    axes, responses: of the channel.  kind: of the guarantee where some value is not sensitive.
    data: what the recipe needs besides domain and epsilon, from which the channel follows.
    """

    name: str
    domain: RecordDomain
    epsilon: Epsilon
    axes: tuple[Axis, ...]
    responses: tuple[Response, ...]
    kind: Promised
    data: AnyOptions

    @cached_property
    def channel(self) -> ResponseChannel:
        """The channel of the plan, as the collector knows it."""
        return ResponseChannel(self.axes, self.responses)

    @cached_property
    def plan(self) -> Plan:
        """One question; each part's symbol is the ranks of its axes, the sensitive values first."""
        sizes = self.domain.sizes
        tables = tuple(tuple(axis.rank.tolist()) for axis in self.axes)
        digits: tuple[Digit, ...] = (make_flat_digit(sizes, table=0),)
        if len(tables) == len(sizes):
            digits = tuple(Digit((Term(j),), size, table=j) for j, size in enumerate(sizes))
        parts = tuple(
            Part(digits[first:end], response.ladder)
            for response, (first, end) in zip(self.responses, self.channel.spans, strict=True)
        )
        return Plan(sizes, (), (Face(1, parts),), tables)

    @property
    def guarantee(self) -> StatedGuarantee:
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

    def to_json(self) -> AnyOptions:
        """Plain data for the recipe, besides domain and epsilon."""
        return dict(self.data)


@dataclass(frozen=True, eq=False)
class UrapDesign(SensitiveDesign):
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
        ladder = Ladder((1,), (named, (Rung(1), Rung(0))))
        answers = Bits((own,) * bits + never, (other,) * bits + never)
        parts = (
            Part((Digit((Term(0),), others + 1, table=0),), ladder),
            Part((Digit((Term(0),), bits + len(never), table=1),), answers),
        )
        listed = tuple(tuple(table.tolist()) for table in tables)
        return Plan(self.domain.sizes, (), (Face(1, parts),), listed)

    @cached_property
    def channel(self) -> BitChannel:
        """The channel of the plan, as the collector knows it."""
        own, other, unnamed = (threshold / WORDS for threshold in self.thresholds)
        return BitChannel(self.axis, own, other, 1.0 - unnamed)

    @property
    def guarantee(self) -> StatedGuarantee:
        """For sensitive values; plain LDP where all are."""
        return promise("uldp", self.domain, self.epsilon, [1.0 - self.thresholds[2] / WORDS])

    def to_json(self) -> AnyOptions:
        """Plain data for the recipe, besides domain and epsilon."""
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
    estimator_names: tuple[str, ...] = ("unbiased", "smooth", "em")
    kind: Promised

    def __init__(self, name: str, kind: Promised, dimensions: tuple[int, int | None]) -> None:
        self.name, self.kind = name, kind
        self.takes = Takes(dimensions, measures=False, sensitive=True)

    def refusal(self, domain: RecordDomain) -> str | None:
        """The reason why a domain is refused, such as a domain of too many combinations of
        codes."""
        count, cells = len(domain.sizes), math.prod(domain.sizes)
        if not domain.measure_names and not (domain.sizes and cells <= LARGEST_TABLE):
            return (
                f"{self.name} reports a combination of codes of all dimensions, of which there "
                f"may be 1 to {LARGEST_TABLE}, not {cells}; use fewer or coarser dimensions"
            )
        instead = "grr or hgrr" if domain.measure_names else "urr" if count == 1 else "cprr"
        return replace(self.takes, instead=instead).refusal(self.name, domain)

    def reserved(self, workload: Workload) -> str | None:
        """The reason why `auto` leaves it out; None where it competes."""
        domain = workload.domain
        if domain.is_all_sensitive:
            return "no value is declared sensitive, so it would protect all, as others do better"
        if self.kind == "local":
            return "it is grr under another name"
        if self.kind == "uldp-joint":
            return "its promise is weaker than that of cprr; name it to use it"
        if domain.has_nonsensitive_records:
            return None
        return "every record has a sensitive value, so it would protect all, as others do better"

    def make(self, task: Task[O]) -> AnyDesign:
        """A design with the parameters that `choose` finds; the rest follows from domain and
        epsilon."""
        return self.remake(task.domain, task.epsilon, self.choose(task))

    def choose(self, task: Task[O]) -> AnyOptions:
        """The parameters of a design besides domain and epsilon."""
        return {}

    def remake(self, domain: RecordDomain, epsilon: Epsilon, data: AnyOptions) -> AnyDesign:
        """The design again, from the collector's part of a survey."""
        axes, responses, used = self.respond(domain, epsilon, data)
        return CellDesign(self.name, domain, epsilon, axes, responses, self.kind, used)

    def respond(self, domain: RecordDomain, epsilon: Epsilon, data: AnyOptions) -> Responses:
        """The axes and responses of the channel, and as much of `data` as they follow from."""
        raise NotImplementedError


class Cprr(SensitiveRecipe[NoOptions]):
    """One response over the combinations of all attributes; for "local" all are sensitive."""

    def respond(self, domain: RecordDomain, epsilon: Epsilon, data: AnyOptions) -> Responses:
        """Everything follows from domain and epsilon."""
        cells = find_sensitive_cells(domain).ravel()
        axis = Axis(np.ones_like(cells) if self.kind == "local" else cells)
        return (axis,), (make_single_response(axis, epsilon.odds),), {}


class Jurr(SensitiveRecipe[NoOptions]):
    """One response in which every attribute is protected by itself."""

    def respond(self, domain: RecordDomain, epsilon: Epsilon, data: AnyOptions) -> Responses:
        """SurveyError where epsilon is too small for it."""
        axes = separate_axes(domain)
        shape = shape_over(axes)
        response = make_joint_response(shape, epsilon.odds)
        if response is None:
            advice = (
                "jurr-g works at every epsilon" if len(axes) == 2 else "cprr works at every one"
            )
            raise SurveyError(
                f"{self.name} needs epsilon {least_epsilon(shape)} or more for "
                f"{'x'.join(map(str, shape.sensitive))} sensitive values, not {epsilon}; {advice}"
            )
        return axes, (response,), {}


class JurrG(SensitiveRecipe[NoOptions]):
    """JuRR with levels of their own for records that are sensitive in one of two attributes."""

    def choose(self, task: Task[NoOptions]) -> AnyOptions:
        """The levels with the least total variance for records spread evenly."""
        shape = shape_over(separate_axes(task.domain))
        return {"levels": find_best_levels(shape, task.epsilon.odds)}

    def respond(self, domain: RecordDomain, epsilon: Epsilon, data: AnyOptions) -> Responses:
        """SurveyError for levels that epsilon does not allow."""
        axes = separate_axes(domain)
        shape = shape_over(axes)
        first, second = map(whole, data["levels"])
        least, most = level_limits(shape, epsilon.odds)
        if not (least <= first <= most and least <= second <= most):
            raise SurveyError("the levels of the response are not those that epsilon allows")
        response = make_joint_response(shape, epsilon.odds, {1: first, 2: second})
        if response is None:
            raise SurveyError("the levels of the design leave no room for the truth")
        return axes, (response,), {"levels": [first, second]}


@dataclass(frozen=True)
class Split:
    """split: a whole number per dimension, in proportion to its part of epsilon; even if []."""

    split: list[int] = field(default_factory=list)


class Tdrr(SensitiveRecipe[Split]):
    """Independent responses, each attribute with its part of epsilon."""

    options = Split

    def choose(self, task: Task[Split]) -> AnyOptions:
        """A part for each dimension."""
        chosen = task.options.split or [1] * len(task.domain.sizes)
        if not all(type(part) is int and 1 <= part <= 1000 for part in chosen):
            raise SurveyError("split is a whole number from 1 to 1000 per dimension, like [1, 2]")
        return {"split": chosen}

    def respond(self, domain: RecordDomain, epsilon: Epsilon, data: AnyOptions) -> Responses:
        """SurveyError unless there is a part for each dimension."""
        axes, split = separate_axes(domain), list(map(whole, data["split"]))
        if len(split) != len(axes) or min(split) < 1:
            raise SurveyError(f"split has {len(split)} parts, and there are {len(axes)} dimensions")
        odds = _split_odds(epsilon, split)
        return axes, tuple(map(make_single_response, axes, odds)), {"split": split}


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
        """The reason why a domain is refused, such as a domain of too many sensitive values."""
        refused = super().refusal(domain)
        bits = 0 if refused else len(domain.sensitive_codes(0))
        if refused or bits < MOST_BITS:
            return refused
        return f"urap sends a bit per sensitive value, at most {MOST_BITS - 1}, not {bits}; use urr"

    def choose(self, task: Task[UrapOptions]) -> AnyOptions:
        """The threshold of the own bit."""
        if task.options.form == "optimised":
            return {"theta": WORDS // 2}
        root = _DIGITS.exp(_DIGITS.divide(task.epsilon.value, 2))
        theta = Fraction(_DIGITS.divide(root, _DIGITS.add(root, 1)))
        return {"theta": round(theta * WORDS)}

    def remake(self, domain: RecordDomain, epsilon: Epsilon, data: AnyOptions) -> AnyDesign:
        """The design again, from the collector's part of a survey."""
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
