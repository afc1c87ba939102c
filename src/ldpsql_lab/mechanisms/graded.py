"""`graded`: randomized response in which every value has an epsilon of its own.

Values may be sensitive to different degrees. The promise to the owner of a value x, whose epsilon
is e_x, is that no report is more than E_x = e^(e_x) times as likely under x as under any other
value:

    P(y | x) <= E_x P(y | x')     for all reports y and all values x, x'.

So no report raises the odds of x against another value by a larger factor than E_x. Let q_y be the
least probability of a report y. A device tells the truth with probability t, and otherwise draws y
with the weight q_y, whatever the value is. So y is (q_y + t) / q_y times as likely under y as under
any other value, and all promises are spent exactly where q_y = t / (E_y - 1), and

    t = 1 / (1 + sum over y of 1 / (E_y - 1)).

With one epsilon for all values this is `grr`. As some epsilons grow without bound, it becomes `urr`
for the others. Source: docs/papers/beyond.md#graded-sensitivity.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from itertools import product
from typing import Any

from ldpsql.algebra.record_domain import RecordDomain
from ldpsql.algebra.workload import Workload
from ldpsql.estimators.cells import MatrixChannel, RowsDesign
from ldpsql.mechanisms.base import Recipe, Takes, Task
from ldpsql.wording.guarantees import StatedGuarantee, local_guarantee
from ldpsql_device.epsilon import Epsilon
from ldpsql_device.errors import SurveyError
from ldpsql_device.plan import WORDS, RowsOfWords

MOST_CELLS = 128
_RARE = 0.2
"""See `MatrixChannel`. Beside a value of a small epsilon few tell the truth, and those of a large
one are then hardly ever named by others: of few people often nobody names one."""
Grades = tuple[tuple[Epsilon, ...], ...]
"""Per dimension the epsilon of each of its codes."""


@dataclass(frozen=True, eq=False)
class GradedDesign(RowsDesign):
    """A record is as sensitive as the most sensitive of its values.

    grades: per dimension the epsilon of each of its codes.
    """

    grades: Grades
    name: str = "graded"

    def __post_init__(self) -> None:
        if tuple(map(len, self.grades)) != self.domain.sizes:
            raise SurveyError("the epsilons of the design do not fit the schema")
        largest = max(limit.value for limit in self.limits)
        if largest != self.epsilon.value:
            raise SurveyError(
                f"the largest epsilon of a record is {largest}, and that of a report "
                f"{self.epsilon}; let the survey's be the same, and leave out trust = "
                '"shuffle", which gives reports another one'
            )

    @property
    def limits(self) -> tuple[Epsilon, ...]:
        """The epsilon of every record, row by row."""
        cells = product(*self.grades)
        return tuple(min(cell, key=lambda grade: grade.value) for cell in cells)

    @cached_property
    def response(self) -> RowsOfWords:
        """The rows of weights of the plan."""
        # With the truth's words t rounded up, all others are at least t / (E - 1), so that what
        # they leave is at most t, and the own answer at most E times its least.
        beside = [1 / (limit.odds - 1) for limit in self.limits]
        truth = math.ceil(WORDS / (1 + sum(beside, Fraction(0))))
        least = [math.ceil(truth * part) for part in beside]
        rows = []
        for cell in range(len(least)):
            row = list(least)
            row[cell] += WORDS - sum(least)
            rows.append(tuple(row))
        return RowsOfWords(tuple(rows))

    @cached_property
    def channel(self) -> MatrixChannel:
        """The channel of the plan, as the collector knows it."""
        return replace(super().channel, rare=_RARE)

    @property
    def guarantee(self) -> StatedGuarantee:
        """Epsilon-LDP, and what also holds for records with smaller epsilons."""
        plain = local_guarantee(self.epsilon)
        if len(set(self.limits)) == 1:
            return plain
        named = "; ".join(
            f"{name} {', '.join(map(str, grades))}"
            for name, grades in zip(self.domain.names, self.grades, strict=True)
        )
        return replace(
            plain,
            protects=f"{plain.protects}; for a record that has a value with a smaller epsilon, no "
            f"report is likelier by more than e^ of that one (epsilons by code: {named})",
            not_protected=(
                "that a person does not have a value: a report speaks against it by the epsilon of "
                f"the value that the report names, up to e^{self.epsilon}",
                *plain.not_protected,
            ),
        )

    def to_json(self) -> Mapping[str, Any]:
        """Epsilons as text."""
        return {"epsilons": [[str(grade) for grade in grades] for grades in self.grades]}


@dataclass(frozen=True)
class GradedOptions:
    """epsilons: a table that lists, for each column named, the epsilon of every code; for a single
    column also a plain list, or text with commas. Columns that are not named have the survey's
    epsilon."""

    epsilons: object = None


class Graded(Recipe[GradedOptions]):
    """COUNT over a few cells, and SUM and AVG of public columns."""

    name = "graded"
    takes = Takes((1, None), measures=False, cells=MOST_CELLS, instead="grr")
    options = GradedOptions
    can_be_reserved = True

    def make(self, task: Task[GradedOptions]) -> GradedDesign:
        """Everything follows from the epsilons."""
        domain, given = task.domain, task.options.epsilons
        if isinstance(given, str):
            given = [part.strip() for part in given.split(",")]
        if isinstance(given, list) and len(domain.names) == 1:
            given = {domain.names[0]: given}
        if given is not None and not isinstance(given, Mapping):
            raise SurveyError(
                "option epsilons of graded is a list for every column, like "
                f'{{{domain.names[0]} = ["0.5", "1"]}}'
            )
        lists = dict(given or {})
        grades = tuple(
            _read_grades(name, size, lists.pop(name, [task.epsilon] * size))
            for name, size in zip(domain.names, domain.sizes, strict=True)
        )
        if lists:
            raise SurveyError(
                f"option epsilons of graded names {min(lists)!r:.60}, which is not a dimension"
            )
        return GradedDesign(domain, task.epsilon, grades)

    def remake(
        self, domain: RecordDomain, epsilon: Epsilon, data: Mapping[str, Any]
    ) -> GradedDesign:
        """The design again, from the collector's part of a survey."""
        grades = tuple(tuple(map(Epsilon.parse, listed)) for listed in data["epsilons"])
        return GradedDesign(domain, epsilon, grades)

    def reserved(self, workload: Workload) -> str:
        """Never taken by `auto`."""
        return "its values have epsilons of their own; ask for it by name"


def _read_grades(name: str, size: int, given: object) -> tuple[Epsilon, ...]:
    """The epsilons of a column; SurveyError unless there is one per code."""
    where = "option epsilons of graded"
    if not isinstance(given, Sequence) or isinstance(given, str) or len(given) != size:
        raise SurveyError(
            f"{where} lists {size} epsilons for {name}: one for each value as declared, then one "
            "for other values and one for missing ones where these have a code of their own"
        )
    try:
        return tuple(each if isinstance(each, Epsilon) else Epsilon.parse(each) for each in given)
    except SurveyError as error:
        raise SurveyError(f"{where} for {name}: {error}") from None


GRADED = Graded()
