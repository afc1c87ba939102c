"""Estimates from the reports of a store, kept for the next question.

Estimators are kept per (survey, version of its histogram, selection of reports), so that a second
question about the same reports costs no scan; small relations of estimates are kept per base query,
so that a question asked again costs no estimation.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, TypeVar

from ldpsql.engine.notes import guarantee_of_batches
from ldpsql.engine.relation import Relation
from ldpsql.engine.sample import Estimators, Sample, SumSource
from ldpsql.engine.sources import RESPONDENTS, AskedSurvey, Sources, sources_of_everybody
from ldpsql.mechanisms.rounds import count_earlier
from ldpsql.parser.query import Query
from ldpsql.planner.plan import QueryPlan, make_plans
from ldpsql.reports.forgery import Spread, signs_within_groups
from ldpsql.reports.report import Integers
from ldpsql.store.base import ReportSource, Selection
from ldpsql.survey import Survey
from ldpsql.wording.guarantees import StatedGuarantee
from ldpsql_device.errors import NotSupportedError

V = TypeVar("V")

_KEPT, _LARGEST_KEPT = 64, 4096
_MOST_ROWS_KEPT = 1 << 22
"""Rows of counts of all selections that are kept, those of the last one apart."""


@dataclass(frozen=True)
class Subject:
    """One of the surveys that a statement asks.

    version: of its histogram, the same for the whole statement.  estimator: which one answers.
    guarantee: what its people were promised and got.
    """

    survey: Survey
    version: int
    estimator: str
    guarantee: StatedGuarantee

    def key(self, *more: object) -> tuple[object, ...]:
        """A key for this state of the survey's reports, and something asked of it."""
        return (self.survey.fingerprint, self.estimator, self.version, *more)


class Evidence:
    """Estimates from the reports of one store about subjects.

    confidence: level of the intervals.  sources: whom answers are about.
    """

    def __init__(self, store: ReportSource, confidence: float, sources: Sources) -> None:
        self.store, self.confidence, self._given = store, confidence, sources
        self._kept: dict[str, OrderedDict[Any, Any]] = {}

    def at(self, confidence: float) -> Evidence:
        """The same at another level; both keep what either finds."""
        other = copy(self)
        other.confidence = confidence
        return other

    def clear(self) -> None:
        """Keep nothing of what was found."""
        self._kept.clear()

    def subject(self, table: str, estimator: str | None) -> Subject:
        """A survey as it is now; estimator: which one answers, None for the survey's own choice.

        NotSupportedError if the survey's design does not have the estimator.
        """
        survey = self.store.survey(table)
        offered = tuple(survey.design.estimators)
        name = (survey.estimator or offered[0]) if estimator is None else estimator
        if name not in offered:
            raise NotSupportedError(
                f"survey {survey.table} has no estimator {name!r} "
                f"({survey.design.name} offers {', '.join(offered)}); ask for one of those"
            )
        guarantee = survey.guarantee
        if survey.shuffled is not None:
            smallest = self.store.smallest_batch(survey.table)
            guarantee = self._keep(
                "guarantees",
                (survey.fingerprint, smallest),
                lambda: guarantee_of_batches(survey, smallest),
            )
        version = self.store.version(survey.table)
        return Subject(survey, version, name, guarantee)

    def sources(self, surveys: Sequence[Survey]) -> Sources:
        """Whom answers from some surveys are about."""
        is_usual = len(surveys) == 1 and surveys[0].population is None
        return self._given if is_usual or self._given is not RESPONDENTS else self._everybody

    @cached_property
    def _everybody(self) -> Sources:
        return sources_of_everybody()

    def estimators(self, subject: Subject, chosen: Selection) -> Estimators:
        """The estimators of a selection of reports, by public key; none where a condition on
        public columns leaves nobody."""

        def make() -> Estimators:
            survey = subject.survey
            found = self.store.decode(survey.table, chosen)
            if chosen.condition is not None and not chosen.keys:
                found = [each for each in found if each[1].counts.size]
            every = survey.schedule.sample or 1
            return Estimators(survey.design, subject.estimator, found, every)

        made = self._keep("estimators", subject.key(chosen), make)
        kept = self._kept["estimators"]
        while len(kept) > 1 and sum(each.size for each in kept.values()) > _MOST_ROWS_KEPT:
            kept.popitem(last=False)
        return made

    def sizes(self, subject: Subject, condition: str | None = None) -> Integers:
        """Reports of every type, shape (report types,)."""
        return self._keep(
            "sizes",
            subject.key(condition),
            lambda: self.store.sizes(subject.survey.table, condition),
        )

    def people(self, subject: Subject, condition: str | None = None) -> int:
        """How many people there are; the last round answers for those of all of them."""
        return count_earlier(subject.survey.design) + int(self.sizes(subject, condition).sum())

    def everybody(self, subject: Subject) -> int:
        """How many people there are, about, with those who were not asked."""
        return self.people(subject) * (subject.survey.schedule.sample or 1)

    def signs(self, subject: Subject) -> list[str]:
        """Signs that reports are forged; within groups where all were read for an answer anyway."""
        survey = subject.survey
        kept = self._kept.get("estimators", OrderedDict())
        everybody = kept.get(subject.key(Selection()))
        read = None if everybody is None else everybody.whole

        def find() -> list[str]:
            signs = Spread.of(survey.design.question_shares, self.sizes(subject)).signs
            return signs if read is None else signs + signs_within_groups(survey.plan, read)

        return [*self._keep("signs", subject.key(read is not None), find)]

    def relation(self, base: Query, sql: str, subjects: Mapping[str, Subject]) -> Relation:
        """The relation of estimates of a base query."""
        asked = [subjects[table] for table in base.tables]
        return self._keep(
            "relations",
            (self.confidence, *(subject.key(base) for subject in asked)),
            lambda: Relation(self._source(base, sql, asked), self.confidence),
            lambda relation: len(relation) <= _LARGEST_KEPT,
        )

    def _source(self, base: Query, sql: str, subjects: Sequence[Subject]) -> SumSource:
        """Where the sums of a base query come from."""
        asked = list[AskedSurvey]()
        for subject in subjects:
            plan = make_plans(base, subject.survey, sql)[-1][1]
            _require_known(plan)
            estimators_of = partial(self.estimators, subject)
            sample = Sample.of(plan, estimators_of, subject.estimator)
            asked.append(AskedSurvey(sample, estimators_of, self.people(subject)))
        return self.sources([subject.survey for subject in subjects]).combine(asked)

    def _keep(
        self,
        kind: str,
        key: object,
        make: Callable[[], V],
        is_small: Callable[[V], bool] = lambda _: True,
    ) -> V:
        """The value of a key, made at most once while it is among the last ones of its kind."""
        kept: OrderedDict[object, V] = self._kept.setdefault(kind, OrderedDict())
        if key in kept:
            kept.move_to_end(key)
            return kept[key]
        value = make()
        if is_small(value):
            kept[key] = value
            if len(kept) > _KEPT:
                kept.popitem(last=False)
        return value


def _require_known(plan: QueryPlan) -> None:
    """NotSupportedError for sums of public columns over people of whom some were asked."""
    if plan.survey.schedule.sample is not None and any(each.weight for each in plan.targets):
        raise NotSupportedError(
            f"{plan.survey.table} asks one of {plan.survey.schedule.sample} people at a time, and "
            "how far sums of public columns are off for that is not known; group by the column "
            "instead"
        )
