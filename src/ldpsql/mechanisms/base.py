"""The contract of a mechanism, a recipe that makes designs, and what those keep once shuffled.

To write a recipe: subclass `Recipe`, give it a `name`, say in `takes` and `options` what it takes,
and implement `make` and `remake`. The public entries `design` and `restore` check domain and
options first.
"""

from __future__ import annotations

import math
from abc import ABC
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields, replace
from decimal import Decimal
from typing import Any, ClassVar, Generic, Literal, TypeVar, get_args, get_origin
from typing import get_type_hints as type_hints

from ldpsql.algebra.estimate import Array
from ldpsql.algebra.record_domain import RecordDomain
from ldpsql.algebra.workload import Workload
from ldpsql.errors import did_you_mean
from ldpsql.estimators.base import AnyDesign, Auditor
from ldpsql.mechanisms.rounds import Rounds
from ldpsql.shuffle.accountant import epsilon_of_batch, keeps, largest_local
from ldpsql.shuffle.blankets import choose_widths
from ldpsql_device.epsilon import Epsilon
from ldpsql_device.errors import SurveyError
from ldpsql_device.plan import Plan
from ldpsql_device.shuffled import Central, Shuffled

Promise = Epsilon | Central
"""The promise to each person: by the report alone, or once it is shuffled."""

AnyOptions = Mapping[str, Any]
"""Options as a survey file writes them: a name and a plain value each."""


@dataclass(frozen=True)
class Takes:
    """Which record domains a recipe is for.

    dimensions: least and most dimensions, None for any number.  measures: whether private
    measures may be asked for.  codes, cells: the most codes of a dimension, and the most
    combinations of codes and signs of measures, None for any number.
    sensitive: whether it protects less where some values are declared not to be sensitive.
    levels: whether measures may have more levels than their two bounds.
    instead: what to use where it does not fit.
    """

    dimensions: tuple[int, int | None] = (0, None)
    measures: bool = True
    codes: int | None = None
    cells: int | None = None
    sensitive: bool = False
    levels: bool = False
    instead: str = "ahio, ehio or hgrr"

    def refusal(self, name: str, domain: RecordDomain) -> str | None:
        """Why the recipe `name` does not take the domain, in one sentence; None where it does."""
        least, most = self.dimensions
        count = len(domain.sizes)
        if domain.measure_names and not self.measures:
            return (
                f"{name} takes no private measure ({domain.measure_names[0]}); "
                f"declare it public, or use {self.instead}"
            )
        if domain.roundings and not self.levels:
            return f"{name} rounds measures to their bounds and takes no other levels"
        if count < least or (most is not None and count > most):
            wanted = f"{least} to {most} dimensions"
            if most in (None, least):
                some = "one dimension" if least == 1 else f"{least} dimensions"
                wanted = some if most else f"at least {some}"
            more = f" with {domain.names[-1]}, which may be missing" if domain.nullable else ""
            return f"{name} is for {wanted}, not {count}{more}; use {self.instead}"
        for attribute, size in zip(domain.names, domain.sizes, strict=True):
            if self.codes is not None and size > self.codes:
                return (
                    f"{name} is for attributes of at most {self.codes} codes; {attribute} has "
                    f"{size}: use {self.instead}"
                )
        cells = math.prod(domain.record_sizes)
        if self.cells is not None and cells > self.cells:
            signs = ", signs of measures included," if domain.bounds else ""
            return (
                f"{name} is for at most {self.cells} combinations of codes{signs} and there are "
                f"{cells}; use wider bins, fewer attributes, or fourier"
            )
        return None


@dataclass(frozen=True)
class NoOptions:
    """The options of a recipe that has none."""


O = TypeVar("O")  # noqa: E741  a frozen dataclass of options
_KINDS = {bool: "true or false", int: "a whole number", float: "a number", str: "text"}


def read_options(kind: type[O], given: AnyOptions, name: str) -> O:
    """Options from plain values: `kind` is a frozen dataclass whose fields all have defaults.

    A field of a Literal type takes one of its values only. SurveyError for an option that `kind`
    does not have, and for a value of another type.
    """
    defaults = kind()
    known = {f.name: getattr(defaults, f.name) for f in fields(defaults)}  # type: ignore[arg-type]
    hints = type_hints(kind)  # a field of type `object` takes any value; the recipe reads it
    for key, value in given.items():
        if key not in known:
            names = ", ".join(known) or "none"
            meant = did_you_mean(key, known)
            raise SurveyError(f"{name} has no option {key!r:.60}; {meant}it knows: {names}")
        if hints[key] is not object and type(value) is not type(known[key]):
            wanted = _KINDS.get(type(known[key]), f"a {type(known[key]).__name__}")
            raise SurveyError(
                f"option {key} of {name} must be {wanted}, such as {known[key]!r}, not {value!r}"
            )
        if get_origin(hints[key]) is Literal and value not in get_args(hints[key]):
            values = ", ".join(map(str, get_args(hints[key])))
            raise SurveyError(f"{key} must be one of {values}, not {value!r}")
    return kind(**given)


@dataclass(frozen=True)
class Task(Generic[O]):
    """The domain, budget and workload that a design is made for.

    epsilon: local budget of a report.  options: read and checked.  workload: what it should
    answer best, where somebody has said so.  weigh: as of `Maker.design`.
    """

    domain: RecordDomain
    epsilon: Epsilon
    options: O
    workload: Workload | None = None
    weigh: Callable[[], Workload] | None = None

    @property
    def asked(self) -> Workload:
        """The queries it should answer best, with how much each query counts; by default a bit of
        everything."""
        if self.weigh is not None:
            return self.weigh()
        return self.workload or Workload.everyday(self.domain)


class Requirements(ABC):
    """The part of a recipe that says for what it makes designs.

    name: in the registry.  takes: the record domains.  options: a frozen dataclass with defaults.
    """

    name: str
    takes: Takes = Takes()
    options: type[Any] = NoOptions

    def refusal(self, domain: RecordDomain) -> str | None:
        """Why it does not take a record domain; None where it does."""
        return self.takes.refusal(self.name, domain)

    def _check(self, domain: RecordDomain) -> None:
        refusal = self.refusal(domain)
        if refusal is not None:
            raise SurveyError(refusal)


class Maker(Requirements, ABC, Generic[O]):
    """The part of a recipe that makes designs.

    calibrates: whether it chooses its local budgets itself from a central promise (`calibrate`).
    is_worst_when_even: whether answers from its designs err most where people are spread evenly.
    """

    calibrates: ClassVar[bool] = False
    is_worst_when_even: ClassVar[bool] = False

    def make(self, task: Task[O]) -> AnyDesign:
        """The design for a task; SurveyError where there is none."""
        raise NotImplementedError

    def calibrate(self, task: Task[O], central: Central) -> AnyDesign:
        """A design that keeps a central promise, with the largest local epsilon that does.

        `task.epsilon` is `central.epsilon`; the design's is the largest local one over all its
        reports. SurveyError where no local epsilon from `central.epsilon` on keeps the promise.
        """
        raise NotImplementedError

    def design(
        self,
        domain: RecordDomain,
        promise: Promise,
        options: AnyOptions,
        workload: Workload | None = None,
        weigh: Callable[[], Workload] | None = None,
    ) -> AnyDesign:
        """A design that keeps a local or a central promise; SurveyError where there is none, and
        for a domain or options that it does not take.

        For a central promise the local epsilon is the largest one with which a design's blankets
        keep it, unless the recipe chooses its budgets itself.

        workload: what it should answer best; None for `Workload.everyday`.  weigh: gives the same
        workload with other weights, which take long to find; called where the design depends on
        them.
        """
        chosen = read_options(self.options, options, self.name)
        self._check(domain)
        if workload is not None and workload.squared and not self.takes.levels:
            raise SurveyError(
                f"{self.name} rounds measures to their bounds, which say nothing about squares; "
                "use staircase"
            )
        if isinstance(promise, Epsilon):
            return self.make(Task(domain, promise, chosen, workload, weigh))
        if self.calibrates:
            return self.calibrate(Task(domain, promise.epsilon, chosen, workload, weigh), promise)

        def at(local: Epsilon) -> AnyDesign:
            design = self.make(Task(domain, local, chosen, workload, weigh))
            require_local(design)
            return design

        return at(largest_local(lambda local: at(local).blankets(), promise))


class Retuner(Maker[O], ABC):
    """A recipe that looks long for the questions of a design, and can give them other odds."""

    calibrates = True

    def retune(self, design: Any, epsilon: Epsilon) -> AnyDesign:
        """The same questions with the odds of another epsilon."""
        raise NotImplementedError

    def calibrate(self, task: Task[O], central: Central) -> AnyDesign:
        """Questions made for an epsilon that suits the crowd, with the odds that it allows them."""
        made = self.make(replace(task, epsilon=choose_widths(central)))
        local = largest_local(lambda epsilon: self.retune(made, epsilon).blankets(), central)
        return self.retune(made, local)


class Candidate(Requirements, ABC):
    """The part of a recipe that `auto` asks before it tries one.

    estimator_names: of its designs; some may be missing where a domain or options do not allow it.
    can_be_reserved: whether `reserved` may name a reason for some domain.
    """

    estimator_names: tuple[str, ...] = ("unbiased",)
    can_be_reserved: ClassVar[bool] = False

    def reserved(self, workload: Workload) -> str | None:
        """Why `auto` leaves it out for a workload unless asked by name; None: it competes."""
        return None

    def least_variance(self, workload: Workload, epsilon: Epsilon) -> float:
        """A bound that the mean variance per person of the workload certainly exceeds, with any of
        the variants; found without a design. 0 where nothing is known."""
        return 0.0

    def variants(self, workload: Workload, promise: Promise, people: int) -> Iterable[AnyOptions]:
        """Options worth trying for a workload, the defaults first."""
        return ({},)

    def smooth_options(self, options: AnyOptions, people: int) -> AnyOptions:
        """Options for a survey of so many people that is answered by `smooth`; the same where
        the design cannot help it."""
        return options


class Restorer(Requirements, ABC):
    """The part of a recipe that makes designs again which were written down.

    decoding: the version of what is decoded of its designs' reports (`Decoding`), of those for
    which that is done.
    """

    decoding: ClassVar[int | None] = None

    def remake(self, domain: RecordDomain, epsilon: Epsilon, data: AnyOptions) -> AnyDesign:
        """The design that `to_json` of one wrote as `data`, of a domain that it takes."""
        raise NotImplementedError

    def restore(self, domain: RecordDomain, epsilon: Epsilon, data: AnyOptions) -> AnyDesign:
        """The design that `Designer.to_json` wrote as `data`; SurveyError where they do not fit.

        In a published survey `plan` is in the part for devices; `data` holds it in any case, as
        JSON or as the `Plan` that was read.
        """
        self._check(domain)
        return self.remake(domain, epsilon, data)

    def restore_kept(
        self,
        domain: RecordDomain,
        epsilon: Epsilon,
        data: AnyOptions,
        derived: Mapping[str, Array],
        read_plan: Callable[[], Plan],
    ) -> AnyDesign | None:
        """The same without reading its plan, from what was derived of the design (`Decoding`) after
        all checks; None where that does not say enough.

        data: without `plan`.  read_plan: SurveyError for one that cannot be used.
        """
        return None


class Recipe(Maker[O], Candidate, Restorer):
    """A mechanism: for what domains it is, and how its designs are made, chosen and restored."""


AnyRecipe = Recipe[Any]


def require_local(design: Auditor) -> None:
    """SurveyError for a design whose reports cannot be accounted for once shuffled."""
    if design.guarantee.kind != "local" or design.guarantee.delta:
        raise SurveyError(
            f'trust = "shuffle" needs a mechanism that is locally private for every record; '
            f"{design.name} is {design.guarantee}"
        )
    if isinstance(design, Rounds):
        raise SurveyError(f'{design.name} asks in rounds, which trust = "shuffle" does not support')


def check_promise(design: Auditor, trust: Shuffled) -> None:
    """SurveyError unless shuffled batches of the designed size keep what the survey promises."""
    if not keeps_promise(design, trust, trust.users):
        found = find_epsilon(design, trust, trust.users)
        raise SurveyError(
            f"{design.name} at local epsilon {design.epsilon} does not keep epsilon "
            f"{trust.epsilon} at delta {trust.delta} once shuffled among {trust.users:,} users: "
            f"it is {found if found is not None else 'unbounded'}"
        )


def keeps_promise(design: Auditor, trust: Shuffled, reports: int) -> bool:
    """Whether a shuffled batch of so many reports keeps what the survey promises."""
    people = trust.people_of(reports)
    if people < 2:
        return design.epsilon.value <= trust.epsilon.value
    require_local(design)
    return keeps(design.blankets(), replace(trust.central, people=people), design.epsilon)


def find_epsilon(design: Auditor, trust: Shuffled, reports: int) -> Decimal | None:
    """The central epsilon of a shuffled batch of so many reports at the survey's delta.

    Rounded up to four significant digits; the local epsilon where others hide nothing, None where
    there is no bound. Fewer than two honest people hide nobody.
    """
    people = trust.people_of(reports)
    if people < 2:
        return design.epsilon.value
    require_local(design)
    return epsilon_of_batch(design.blankets(), people, trust.central.delta, design.epsilon)
