"""From a survey file to a designed survey; run by whoever designs it, and sees no data.

file --queries--> Workload --auto--> Design --> Survey
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from ldpsql.designer.auto import FINAL, Ranking, bound_of, choose
from ldpsql.designer.file import read_file
from ldpsql.designer.forecast import DEFAULT_USERS, Forecast, least_epsilon, sample_queries
from ldpsql.recipes.base import Promise
from ldpsql.recipes.registry import mechanism as registered
from ldpsql.record_domain import RecordDomain
from ldpsql.survey import AUTO, Survey
from ldpsql.workload import Workload
from ldpsql_device.epsilon import Epsilon


@dataclass(frozen=True)
class DesignedSurvey:
    """A designed survey with what led to it.

    workload: what it should answer best.  ranking: what `auto` compared, or None where the file
    names a mechanism.  people: how many the forecasts are for.  notes: see `SurveyFile.notes`.
    """

    survey: Survey
    workload: Workload
    ranking: Ranking | None
    people: int
    notes: tuple[str, ...] = ()

    @cached_property
    def forecast(self) -> Forecast:
        """The expected error of the survey on its workload."""
        if self.ranking is not None:
            return self.ranking.best.forecast
        samples = sample_queries(self.workload, FINAL)
        return Forecast.of(self.survey.design, samples, self.people)

    @cached_property
    def bound(self) -> float | None:
        """The least possible variance of the workload, where known.

        It is about unbiased epsilon-LDP answers from one round: None for surveys that promise
        less, or whose error depends on rounds to come.
        """
        design = self.survey.design
        promise = design.guarantee
        if promise.kind != "local" or promise.delta or design.asks_in_rounds:
            return None
        return self.ranking.bound if self.ranking else bound_of(self.workload, self._promise)

    @property
    def _promise(self) -> Promise:
        """What the design has to keep."""
        return self.survey.shuffled.central if self.survey.shuffled else self.survey.epsilon

    def epsilon_for(self, half_width: float) -> Epsilon | None:
        """The smallest epsilon, of a report or of the shuffled batch as the survey promises it,
        with which the same mechanism reaches a half-width."""
        recipe, samples = registered(self.survey.design.name), self.forecast.samples
        domain, own = RecordDomain.of(self.survey.schema), self._promise

        def at(epsilon: Epsilon) -> Forecast:
            promise = epsilon if isinstance(own, Epsilon) else replace(own, epsilon=epsilon)
            design = recipe.design(domain, promise, self.survey.options, self.workload)
            return Forecast.of(design, samples, self.people)

        return least_epsilon(half_width, at)


def design(
    source: str | Path,
    *,
    epsilon: str | None = None,
    mechanism: str | None = None,
    users: int | None = None,
    accept_no_guarantee: bool = False,
) -> Survey:
    """Design a survey from a survey file: TOML text (str), or the file itself (Path).

    epsilon and mechanism override the file. Without a mechanism, or with "auto", the one with
    the least expected error on the file's [workload] is taken. users: how many people to predict
    for; the file's `users` or 100,000 otherwise; a promise for shuffled reports is made for the
    file's users in any case. accept_no_guarantee: may stand in the file too,
    and is needed for a mechanism that promises nothing.

    Raises SurveyError, which names the key, for a missing bound, an unknown key, or anything else
    that is not as it should be; QueryError and UnsupportedSQL for SQL in [workload].
    """
    return design_survey(
        source,
        epsilon=epsilon,
        mechanism=mechanism,
        users=users,
        accept_no_guarantee=accept_no_guarantee,
    ).survey


def design_survey(
    source: str | Path,
    *,
    epsilon: str | None = None,
    mechanism: str | None = None,
    users: int | None = None,
    accept_no_guarantee: bool = False,
    quick: bool = False,
    tell: Callable[[str], None] = lambda _: None,
) -> DesignedSurvey:
    """As `design`, with the workload and what `auto` compared.

    tell: is told which mechanism is being tried.  quick: compare in a tenth of the time.
    """
    file = read_file(source, epsilon=epsilon, mechanism=mechanism)
    people = users or file.users or DEFAULT_USERS
    ranking = None
    if file.mechanism == AUTO:
        ranking = choose(file.workload, file.promise, people, tell, quick=quick)
        best, trust = ranking.best, file.shuffled
        made = best.forecast.design
        schema = file.published_schema
        survey = Survey(file.table, schema, made, best.options, chosen=AUTO, shuffled=trust)
    else:
        tell(file.mechanism)
        survey = Survey.of(
            file.table,
            file.published_schema,
            file.shuffled or file.epsilon,
            file.mechanism,
            file.options,
            file.workload,
            accept_no_guarantee=file.accept_no_guarantee or accept_no_guarantee,
        )
    survey = replace(
        survey,
        estimator=file.estimator,
        workload=file.workload_options,
        # What a shuffled survey says of its users is part of its promise.
        users=file.users if file.shuffled is None else None,
        schedule=file.schedule,
        label=file.label,
    )
    return DesignedSurvey(survey, file.workload, ranking, people, file.notes)
