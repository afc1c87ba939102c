"""From a survey file to a designed survey; run by whoever designs it, and sees no data.

file --queries--> Workload --auto--> Design --> Survey
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache, cached_property
from pathlib import Path

from ldpsql.algebra.least_error import BOUND_BELOW
from ldpsql.algebra.workload import Workload
from ldpsql.designer import auto
from ldpsql.designer.auto import FINAL, RACE, Ranking, Trial, bound_of, choose
from ldpsql.designer.fairness import Distance, find_distances, weigh_fairly
from ldpsql.designer.file import WEIGHTS, SurveyFile, read_file, read_workload
from ldpsql.designer.forecast import DEFAULT_USERS, Forecast, least_epsilon, sample_queries
from ldpsql.mechanisms.base import Promise
from ldpsql.mechanisms.registry import mechanism as registered
from ldpsql.mechanisms.rounds import Rounds
from ldpsql.survey import AUTO, Survey
from ldpsql_device.epsilon import Epsilon
from ldpsql_device.errors import Error, SurveyError


@dataclass(frozen=True)
class DesignedSurvey:
    """A designed survey with what led to it.

    file: what it was designed from, its codes merged.  weigh: gives `workload`.  ranking: what
    `auto` compared, or None where the file names a mechanism.  people: how many the forecasts are
    for.  seconds: of processor time that it took.  notes: see `SurveyFile.notes`.  is_fair: whether
    classes count by what each could have alone.
    """

    survey: Survey
    file: SurveyFile
    weigh: Callable[[], Workload]
    ranking: Ranking | None
    people: int
    seconds: float
    notes: tuple[str, ...] = ()
    is_fair: bool = False

    @property
    def workload(self) -> Workload:
        """The queries that it should answer best, with their weights."""
        return self.weigh()

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
        design, promise = self.survey.design, self.survey.design.guarantee
        if promise.kind != "local" or promise.delta or isinstance(design, Rounds):
            return None
        if self.ranking:
            return self.ranking.bound
        return bound_of(self.workload.over(design.domain), self._promise)

    @property
    def _promise(self) -> Promise:
        """The promise that the design has to keep."""
        return self.survey.shuffled.central if self.survey.shuffled else self.survey.epsilon

    @cached_property
    def distances(self) -> tuple[Distance, ...]:
        """Of every class of the workload, or of a sample of them; nothing where classes do not
        count by them, and where bounds are not about such surveys, or loose."""
        promise, guarantee = self._promise, self.survey.guarantee
        is_local = guarantee.kind == "local" and not guarantee.delta
        is_known = isinstance(promise, Epsilon) and float(promise) < BOUND_BELOW and is_local
        if not self.is_fair or not is_known or isinstance(self.survey.design, Rounds):
            return ()
        assert isinstance(promise, Epsilon)
        return find_distances(self.survey.design, self.workload, promise, self.people)

    def epsilon_for(self, half_width: float) -> Epsilon | None:
        """The smallest epsilon, of a report or of the shuffled batch as the survey promises it,
        with which the same mechanism reaches a half-width."""
        recipe, samples = registered(self.survey.design.name), self.forecast.samples
        # Levels of measures are chosen anew for another epsilon.
        domain, own = self.workload.domain, self._promise

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
    """Design a survey from a survey file: the path of a .toml file, or its text.

    epsilon and mechanism override the file. Without a mechanism, or with "auto", the one with
    the least expected error on the file's [workload] is taken. users: how many people to predict
    for, those who are not asked in a period included; the file's `users` or 100,000 otherwise; a
    promise for shuffled reports is made for the
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


def predict_errors(survey: Survey) -> Forecast:
    """The expected errors of a published survey on the workload that it was designed for.

    For as many people as it expects to answer at a time. SurveyError where it does not answer all
    of its workload; QueryError and UnsupportedSQL where it names queries that cannot be read.
    """
    workload = read_workload(survey.workload, survey.table, survey.schema)
    weights: object = (survey.workload or {}).get("weights", WEIGHTS[0])
    if weights == WEIGHTS[0] and len(workload.classes) > 1:
        trust = survey.shuffled
        workload = weigh_fairly(workload, trust.central.epsilon if trust else survey.epsilon)
    samples = sample_queries(workload, FINAL)
    people = (survey.users or DEFAULT_USERS) // (survey.schedule.sample or 1)
    return Forecast.of(survey.design, samples, max(people, 1))


def _make_smooth(ranking: Ranking, workload: Workload, promise: Promise, people: int) -> Ranking:
    """The same with the best mechanism designed for smooth answers, where it can be."""
    best, *others = ranking.ranked
    recipe = registered(best.name)
    options = recipe.smooth_options(best.options, people)
    if options == best.options:
        return ranking
    made = recipe.design(workload.domain, promise, options, workload)
    own = Trial(best.name, options, Forecast.of(made, best.forecast.samples, people))
    return replace(ranking, ranked=(own, *others))


def design_survey(
    source: str | Path,
    *,
    epsilon: str | None = None,
    mechanism: str | None = None,
    users: int | None = None,
    accept_no_guarantee: bool = False,
    quick: bool = False,
    tell: Callable[[str], None] = lambda _: None,
    progress: Callable[[int, int], None] = lambda _, __: None,
) -> DesignedSurvey:
    """As `design`, with the workload and what `auto` compared.

    tell: is told which mechanism is being tried.  progress: called with how many of them are tried,
    and how many there are.  quick: compare in a tenth of the time.
    """
    started = auto.clock()
    file = read_file(source, epsilon=epsilon, mechanism=mechanism)
    people = users or file.users or DEFAULT_USERS
    notes: tuple[str, ...] = ()
    if (every := file.schedule.sample) is not None:
        people, everybody = max(people // every, 1), people
        asked = f"which {people:,} of {everybody:,} people answer"
        notes = (f"errors are those of one {file.schedule.period}, {asked}",)
    if file.merges_codes:
        # Reading SQL loads sqlglot, which a survey without queries does not need.
        from ldpsql.designer.merging import merge_codes  # noqa: PLC0415

        file, merged = merge_codes(file)
        notes += merged
    workload, is_fair = file.workload, file.is_fair and len(file.workload.classes) > 1

    @cache
    def weigh() -> Workload:
        # It takes longer than most mechanisms do, whose designs do not depend on the weights.
        if not is_fair:
            return workload
        tell("weighing classes")
        return weigh_fairly(workload, file.epsilon)

    ranking, is_smooth = None, file.estimator == "smooth"
    if file.mechanism == AUTO:
        ranking = choose(
            weigh(), file.promise, people, tell, progress, estimator=file.estimator, quick=quick
        )
        if is_smooth:
            ranking = _make_smooth(ranking, weigh(), file.promise, people)
        best, trust = ranking.best, file.shuffled
        made, options = best.forecast.design, best.options
        schema = made.domain.round_measures(file.published_schema)
        survey = Survey(file.table, schema, made, options, chosen=AUTO, shuffled=trust)
    else:
        tell(file.mechanism)
        options = file.options
        if is_smooth:
            options = registered(file.mechanism).smooth_options(options, people)
        survey = Survey.of(
            file.table,
            file.published_schema,
            file.shuffled or file.epsilon,
            file.mechanism,
            options,
            workload,
            weigh=weigh,
            accept_no_guarantee=file.accept_no_guarantee or accept_no_guarantee,
        )
    if options.get("smooth_for"):
        notes = (
            *notes,
            f"designed for smooth answers of {options['smooth_for']:,} people; errors and bounds "
            "shown are those of its unbiased answers",
        )
    survey = replace(
        survey,
        estimator=file.estimator,
        population=file.population,
        workload=file.workload_options,
        # What a shuffled survey says of its users is part of its promise.
        users=file.users if file.shuffled is None else None,
        schedule=file.schedule,
        label=file.label,
        person=file.person,
    )
    if ranking is None and file.workload_options is not None:
        _check_answers(survey, workload)
    said = (*file.notes, *notes)
    seconds = auto.clock() - started
    return DesignedSurvey(survey, file, weigh, ranking, people, seconds, said, is_fair=is_fair)


def _check_answers(survey: Survey, workload: Workload) -> None:
    """SurveyError where a mechanism that was asked for by name cannot answer what was asked for.

    What nobody asked for, the workload that a survey has without a table, is answered as far as
    the mechanism can.
    """
    for sample in sample_queries(workload, RACE):
        for query in sample.over(survey.design.domain).queries:
            try:
                survey.design.prepare(query)
            except Error as error:
                raise SurveyError(
                    f"{survey.design.name} cannot answer its workload ({sample.text}): {error}; "
                    "ask for less under [workload], or let auto choose the mechanism"
                ) from error
