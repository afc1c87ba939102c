"""From a survey file to a designed survey.

A survey file is TOML: a table [survey], one table per column, and [workload], what is to be
answered best.
"""

from __future__ import annotations

import math
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from ldpsql.bounds import Bound
from ldpsql.designer.auto import FINAL, Ranking, bound_of, choose
from ldpsql.designer.forecast import DEFAULT_USERS, Forecast, least_epsilon, sample_queries
from ldpsql.recipes.base import Promise
from ldpsql.recipes.registry import MECHANISMS
from ldpsql.recipes.registry import mechanism as registered
from ldpsql.record_domain import RecordDomain
from ldpsql.survey import AUTO, Survey, check_users
from ldpsql.workload import DEFAULT_PREDICATES, KINDS, DeclaredQuery, Kind, Workload
from ldpsql_device.epsilon import Epsilon
from ldpsql_device.errors import SurveyError
from ldpsql_device.guarantee import Shuffled
from ldpsql_device.schema import Schema
from ldpsql_device.survey import read_text

TRUSTS = ("local", "shuffle")
MOST_CLASSES = 20_000
MOST_QUERIES = 1_000
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
_WORKLOAD = ("queries", "max_predicates", "kinds")
_EQUALITY_TYPES = ("category", "bool")


@dataclass(frozen=True)
class SurveyFile:
    """What a survey file says.

    epsilon: of one report; with `shuffled`, of the shuffled batch.  options: of the mechanism.
    users: how many people are expected, or None.  workload_options: the table [workload] as
    written, or None.  estimator: as written, or None; the survey checks it.
    accept_no_guarantee: whether the mechanism may promise nothing.  shuffled: what is promised once
    reports are shuffled, or None for trust = "local".
    """

    table: str
    schema: Schema
    epsilon: Epsilon
    mechanism: str
    options: Mapping[str, Any]
    users: int | None
    workload_options: Mapping[str, Any] | None
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
    def workload(self) -> Workload:
        """What is to be answered best."""
        return read_workload(self.workload_options, self.table, self.schema)


@dataclass(frozen=True)
class DesignedSurvey:
    """A designed survey with what led to it.

    workload: what it should answer best.  ranking: what `auto` compared, or None where the file
    names a mechanism.  people: how many the forecasts are for.
    """

    survey: Survey
    workload: Workload
    ranking: Ranking | None
    people: int

    @cached_property
    def forecast(self) -> Forecast:
        """The expected error of the survey on its workload."""
        if self.ranking is not None:
            return self.ranking.best.forecast
        samples = sample_queries(self.workload, FINAL)
        return Forecast.of(self.survey.design, samples, self.people)

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
        if self.ranking is not None:
            return self.ranking.bound
        return bound_of(self.workload, promise_of(self.survey))

    def epsilon_for(self, half_width: float) -> Epsilon | None:
        """The smallest epsilon, of a report or of the shuffled batch as the survey promises it,
        with which the same mechanism reaches a half-width."""
        recipe, samples = registered(self.survey.design.name), self.forecast.samples
        own = promise_of(self.survey)

        def at(epsilon: Epsilon) -> Forecast:
            promise = epsilon if isinstance(own, Epsilon) else replace(own, epsilon=epsilon)
            domain, options = RecordDomain.of(self.survey.schema), self.survey.options
            design = recipe.design_for(domain, promise, options, self.workload)
            return Forecast.of(design, samples, self.people)

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
    tell: Callable[[str], None] = lambda _: None,
) -> DesignedSurvey:
    """As `design`, with the workload and what `auto` compared.

    tell: is told which mechanism is being tried.
    """
    file = read_file(source, epsilon=epsilon, mechanism=mechanism)
    _check_estimator(file.estimator, file.mechanism)
    people = users or file.users or DEFAULT_USERS
    ranking = None
    if file.mechanism == AUTO:
        ranking = choose(file.workload, file.promise, people, tell)
        best = ranking.best
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
            file.workload,
            accept_no_guarantee=file.accept_no_guarantee or accept_no_guarantee,
        )
    # What a shuffled survey says of its users is part of its promise.
    users = file.users if file.shuffled is None else None
    workload = file.workload_options
    survey = replace(survey, estimator=file.estimator, workload=workload, users=users)
    return DesignedSurvey(survey, file.workload, ranking, people)


def _check_estimator(name: Any, mechanism: str) -> None:
    """SurveyError for an estimator that the mechanism does not have; for `auto`, that none has.

    The survey checks it again: some mechanisms have an estimator for some domains only.
    """
    if name is None:
        return
    recipes = MECHANISMS.values() if mechanism == AUTO else [registered(mechanism)]
    known = list(dict.fromkeys(each for recipe in recipes for each in recipe.estimator_names))
    if name not in known:
        whose = "some mechanism" if mechanism == AUTO else mechanism
        raise SurveyError(
            f"[survey]: estimator must be one of {', '.join(known)}, which {whose} has, not "
            f"{name!r}"
        )


def read_file(
    source: str | Path, *, epsilon: str | None = None, mechanism: str | None = None
) -> SurveyFile:
    """Read a survey file; errors as for `design`."""
    data = _parse(source)
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
    return SurveyFile(
        table=head["table"],
        epsilon=Epsilon.parse(head["epsilon"]),
        schema=Schema.from_keys(data),
        mechanism=str(mechanism if mechanism is not None else head.get("mechanism", AUTO)),
        options=options,
        users=users,
        workload_options=workload,
        estimator=head.get("estimator"),
        accept_no_guarantee=accepted,
        shuffled=_read_trust(head, users),
    )


def _read_trust(head: Mapping[str, Any], users: int | None) -> Shuffled | None:
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


def _parse(source: str | Path) -> dict[str, Any]:
    try:
        return tomllib.loads(read_text(source))
    except tomllib.TOMLDecodeError as error:
        raise SurveyError(f"the survey file is not valid TOML: {error}") from None
    except RecursionError:
        raise SurveyError("the survey file is not valid TOML: nested too deeply") from None


# -- the table [workload] -------------------------------------------------------------------------


def read_workload(table: Mapping[str, Any] | None, name: str, schema: Schema) -> Workload:
    """The workload of a survey named `name`; None for a survey file without the table.

    Without `queries` every predicate is asked for: its kinds are those of [workload.kinds], else
    ranges on ordered dimensions and equality on the others, up to `max_predicates` in a query.
    Queries alone have all the weight; beside one of the other keys they have half of it.
    SurveyError names the key; QueryError and UnsupportedSQL come from the SQL.
    """
    keys = dict(table or {})
    for key in keys:
        if key not in _WORKLOAD:
            raise SurveyError(f"[workload]: unknown key {key!r}; it knows: {', '.join(_WORKLOAD)}")
    texts = keys.get("queries", [])
    if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
        raise SurveyError("[workload]: queries must be a list of SQL texts")
    if len(texts) > MOST_QUERIES:
        raise SurveyError(f"[workload]: at most {MOST_QUERIES} queries, not {len(texts)}")
    if not texts:
        return _read_classes(keys, schema)
    share = 1.0 if len(keys) == 1 else 0.5
    queries = _declare_all(texts, name, schema, share)
    most = max(1, *(len(query.constrained) for query in queries))
    if len(keys) == 1:
        return Workload(RecordDomain.of(schema), (), queries, most)
    everyday = _read_classes(keys, schema)
    return Workload(
        RecordDomain.of(schema),
        tuple(replace(entry, weight=entry.weight * share) for entry in everyday.classes),
        queries,
        max(most, everyday.max_predicates),
    )


def _declare_all(
    texts: list[str], name: str, schema: Schema, share: float
) -> tuple[DeclaredQuery, ...]:
    """The declared queries of all texts, each text weighing the same, together `share`."""
    # Reading SQL loads sqlglot, which a survey without queries does not need.
    from ldpsql.designer.questions import UndesignedSurvey, declare_queries  # noqa: PLC0415

    survey = UndesignedSurvey(name, schema)
    return tuple(
        replace(query, weight=share * query.weight / len(texts))
        for number, text in enumerate(texts, 1)
        for query in declare_queries(text, number, survey)
    )


def _read_classes(keys: Mapping[str, Any], schema: Schema) -> Workload:
    """Every predicate of a kind, on every one and every several dimensions."""
    most = keys.get("max_predicates", DEFAULT_PREDICATES)
    if type(most) is not int or most < 1:
        raise SurveyError("[workload]: max_predicates must be a whole number, at least 1")
    domain = RecordDomain.of(schema)
    kinds: dict[int, Kind] = {
        i: "equality" if dimension.domain.type in _EQUALITY_TYPES else "range"
        for i, dimension in enumerate(schema.dimensions)
    }
    chosen = keys.get("kinds", {})
    if not isinstance(chosen, Mapping):
        raise SurveyError('[workload]: kinds must be a table: [workload.kinds] age = "range"')
    position = {name.lower(): i for i, name in enumerate(domain.names)}
    for name, kind in chosen.items():
        if name.lower() not in position:
            raise SurveyError(f"[workload]: {name} is not a dimension")
        if kind not in KINDS:
            raise SurveyError(f"[workload]: {name} must be one of {', '.join(KINDS)}, not {kind!r}")
        kinds[position[name.lower()]] = kind
    asked = sum(size > 1 for size in domain.sizes)
    subsets = sum(math.comb(asked, k) for k in range(1, min(most, asked) + 1))
    if subsets * (1 + len(domain.bounds)) > MOST_CLASSES:
        raise SurveyError(
            f"[workload]: max_predicates = {most} over {asked} dimensions asks for {subsets} sets "
            f"of dimensions, too many to design for; name the queries that matter instead"
        )
    return Workload.everyday(domain, kinds, most)
