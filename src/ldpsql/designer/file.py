"""Public. Sees parameters. A survey file, read and designed."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from ldpsql.bounds import Bound
from ldpsql.designer.auto import FINAL, Choice, bound_of, choose
from ldpsql.designer.estimators import check_estimator
from ldpsql.designer.forecast import DEFAULT_USERS, Forecast
from ldpsql.designer.planning import least_epsilon
from ldpsql.designer.probes import probes_of
from ldpsql.designer.wishes import Wishes, read_wishes
from ldpsql.mechanisms.promise import design_for
from ldpsql.mechanisms.registry import mechanism as registered
from ldpsql.recipes.base import Promise
from ldpsql.survey import AUTO, Survey, check_users, text_of
from ldpsql_device.epsilon import Epsilon
from ldpsql_device.errors import SurveyError
from ldpsql_device.guarantee import TRUSTS, Shuffled
from ldpsql_device.schema import Schema

_TABLES = ("dimension", "measure", "public", "workload")
_HEAD = (
    "table",
    "epsilon",
    "mechanism",
    "options",
    "estimator",
    "users",
    "accept_no_guarantee",
    "trust",
    "delta",
    "honest",
)


@dataclass(frozen=True)
class SurveyFile:
    """What a survey file says.

    epsilon: of one report; with `shuffled`, of the shuffled batch.  options: of the mechanism.
    users: how many people are expected, or None.  workload: the table
    [workload] as written, or None.  estimator: as written, or None; the survey checks it.
    accept_no_guarantee: whether the mechanism may promise nothing.  shuffled: what is promised once
    reports are shuffled, or None for trust = "local".
    """

    table: str
    schema: Schema
    epsilon: Epsilon
    mechanism: str
    options: Mapping[str, Any]
    users: int | None
    workload: Mapping[str, Any] | None
    estimator: Any
    accept_no_guarantee: bool
    shuffled: Shuffled | None = None

    def __post_init__(self) -> None:
        if self.mechanism == AUTO and self.options:
            raise SurveyError(
                "[survey.options] belong to a mechanism: name it, or leave them out for auto"
            )

    @property
    def promise(self) -> Promise:
        """What a mechanism has to keep."""
        return self.epsilon if self.shuffled is None else self.shuffled.central

    @cached_property
    def wishes(self) -> Wishes:
        """What is to be answered best."""
        return read_wishes(self.workload, self.table, self.schema)


@dataclass(frozen=True)
class Designed:
    """A designed survey with what led to it.

    choice: what `auto` compared, or None where the file names a mechanism.  people: how many the
    forecasts are for.
    """

    survey: Survey
    wishes: Wishes
    choice: Choice | None
    people: int

    @cached_property
    def forecast(self) -> Forecast:
        """The expected error of the survey on its workload."""
        if self.choice is not None:
            return self.choice.best.forecast
        return Forecast.of(self.survey.design, probes_of(self.wishes, FINAL), self.people)

    @cached_property
    def bound(self) -> Bound | None:
        """The least possible variance of the workload, where known.

        It is about unbiased epsilon-LDP answers from one round: None for surveys that promise
        less, or whose error depends on rounds to come.
        """
        design = self.survey.design
        promise = design.guarantee
        if promise.kind != "local" or promise.delta or design.asks_in_rounds:
            return None
        if self.choice is not None:
            return self.choice.bound
        return bound_of(self.wishes, promise_of(self.survey))

    def epsilon_for(self, half_width: float) -> Epsilon | None:
        """The smallest epsilon, of a report or of the shuffled batch as the survey promises it,
        with which the same mechanism reaches a half-width."""
        maker, probes = registered(self.survey.design.name), self.forecast.probes
        own = promise_of(self.survey)

        def at(epsilon: Epsilon) -> Forecast:
            promise = epsilon if isinstance(own, Epsilon) else replace(own, epsilon=epsilon)
            domain, options = self.survey.schema.record_domain, self.survey.options
            design = design_for(maker, domain, promise, options, self.wishes.workload)
            return Forecast.of(design, probes, self.people)

        return least_epsilon(self.forecast, half_width, at)


def promise_of(survey: Survey) -> Promise:
    """What a survey's design has to keep."""
    return survey.epsilon if survey.shuffled is None else survey.shuffled.central


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
    return designed(
        source,
        epsilon=epsilon,
        mechanism=mechanism,
        users=users,
        accept_no_guarantee=accept_no_guarantee,
    ).survey


def designed(
    source: str | Path,
    *,
    epsilon: str | None = None,
    mechanism: str | None = None,
    users: int | None = None,
    accept_no_guarantee: bool = False,
    tell: Callable[[str], None] = lambda _: None,
) -> Designed:
    """As `design`, with the workload and what `auto` compared.

    tell: is told which mechanism is being tried.
    """
    file = read_file(source, epsilon=epsilon, mechanism=mechanism)
    check_estimator(file.estimator, file.mechanism, file.epsilon, file.options)
    people = users or file.users or DEFAULT_USERS
    choice = None
    if file.mechanism == AUTO:
        choice = choose(file.wishes, file.promise, people, tell)
        best = choice.best
        made = best.forecast.design
        trust = file.shuffled
        survey = Survey(file.table, file.schema, made, best.options, chosen=AUTO, shuffled=trust)
    else:
        tell(file.mechanism)
        survey = Survey.of(
            file.table,
            file.schema,
            file.shuffled or file.epsilon,
            file.mechanism,
            file.options,
            file.wishes.workload,
            accept_no_guarantee=file.accept_no_guarantee or accept_no_guarantee,
        )
    # What a shuffled survey says of its users is part of its promise.
    users = file.users if file.shuffled is None else None
    survey = replace(survey, estimator=file.estimator, workload=file.workload, users=users)
    return Designed(survey, file.wishes, choice, people)


def read_file(
    source: str | Path, *, epsilon: str | None = None, mechanism: str | None = None
) -> SurveyFile:
    """Read a survey file; errors as for `design`."""
    data = _tables(source)
    head = data.pop("survey", None)
    if not isinstance(head, dict):
        raise SurveyError("the survey file has no [survey] table")
    unknown = set(data) - set(_TABLES)
    if unknown:
        raise SurveyError(f"unknown table [{min(unknown)}] in the survey file")
    for key in head:
        if key not in _HEAD:
            raise SurveyError(f"[survey]: unknown key {key!r}")
    if epsilon is not None:
        head["epsilon"] = epsilon
    for key in ("table", "epsilon"):
        if key not in head:
            raise SurveyError(f"[survey]: {key} is missing")
    options, users = head.get("options", {}), head.get("users")
    if not isinstance(head["table"], str) or not isinstance(options, dict):
        raise SurveyError("[survey]: table must be a string, options a table")
    check_users(users)
    accepted = head.get("accept_no_guarantee", False)
    if not isinstance(accepted, bool):
        raise SurveyError("[survey]: accept_no_guarantee must be true or false")
    workload = data.pop("workload", None)
    if not isinstance(workload, dict | None):
        raise SurveyError("[workload] must be a table")
    name = mechanism if mechanism is not None else head.get("mechanism", AUTO)
    budget, schema = Epsilon.parse(head["epsilon"]), Schema.from_keys(data)
    return SurveyFile(
        head["table"],
        schema,
        budget,
        str(name),
        options,
        users,
        workload,
        head.get("estimator"),
        accepted,
        _trust(head, users),
    )


def _trust(head: Mapping[str, Any], users: int | None) -> Shuffled | None:
    """What `trust`, `delta` and `honest` say; SurveyError for parts of a promise."""
    trust = head.get("trust", "local")
    if trust not in TRUSTS:
        raise SurveyError(f"[survey]: trust must be one of {', '.join(TRUSTS)}, not {trust!r}")
    if trust == "local":
        for key in ("delta", "honest"):
            if key in head:
                raise SurveyError(
                    f'[survey]: {key} belongs to trust = "shuffle"; a local promise holds without '
                    "exception and without others"
                )
        return None
    for key in ("delta", "users"):
        if key not in head:
            raise SurveyError(
                f'[survey]: {key} is missing: trust = "shuffle" promises (epsilon, delta) for '
                "batches of at least so many users"
            )
    return Shuffled.parse(head["epsilon"], head["delta"], users, head.get("honest", 1))


def _tables(source: str | Path) -> dict[str, Any]:
    try:
        return tomllib.loads(text_of(source))
    except tomllib.TOMLDecodeError as error:
        raise SurveyError(f"the survey file is not valid TOML: {error}") from None
    except RecursionError:
        raise SurveyError("the survey file is not valid TOML: nested too deeply") from None
