"""Surveys that ask one person again and again, and what leaves the device then."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from datetime import date
from functools import cache
from typing import Any

from support.surveys import ANYTHING, boolean, survey_toml

from ldpsql.designer import design
from ldpsql.survey import Survey as Designed
from ldpsql_device.answer import respond
from ldpsql_device.errors import OperationalError
from ldpsql_device.ledger import Ledger
from ldpsql_device.policy import Policy
from ldpsql_device.reports import Report, numbers_of
from ldpsql_device.survey import PERIOD_COLUMN, Schedule, Survey

PLENTY = {"total": 10**6, "per_attribute": 10**6, "delta": 10**6}
"""Budgets that refuse nothing."""


@cache
def yes_or_no(epsilon: str = "1", column: str = "positive", **more: Any) -> Survey:
    """A survey of one attribute that has two values."""
    text = survey_toml(boolean(column), epsilon=epsilon, mechanism="grr", **more)
    return Survey.from_json(design(text).device_text)


def sealed_anew(survey: Survey, count: int, **changes: Any) -> Iterator[Survey]:
    """The same question under so many other fingerprints."""
    data = {**json.loads(survey.device_text), **changes}
    for number in range(count):
        yield Survey.from_data({**data, "collector": f"{number:064x}"})


def scheduled(survey: Designed, **schedule: Any) -> Designed:
    """The survey with a `Schedule` of these fields."""
    public = survey.schema.public
    if "period" in schedule:
        public = (PERIOD_COLUMN, *public)
    schema = replace(survey.schema, public=public)
    return replace(survey, schema=schema, schedule=Schedule(**schedule))


def reports_of(
    surveys: Iterable[Survey],
    record: Mapping[str, Any],
    ledger: Ledger,
    policy: Policy = ANYTHING,
    today: date | None = None,
) -> list[tuple[int, ...]]:
    """The numbers of every report that leaves, whatever is refused."""
    given = []
    for survey in surveys:
        try:
            report = respond(survey, record, policy=policy, ledger=ledger, today=today)
        except OperationalError:
            continue
        given.append(numbers_of(report, survey))
    return given


def differ(reports: Iterable[Report]) -> bool:
    """Whether a person gave more than one report."""
    return len({report.to_json() for report in reports}) > 1
