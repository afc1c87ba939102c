"""Published surveys: `python -m support.golden_surveys` adds those that tests/data/surveys lacks.

A file holds a survey, both parts, as a version of ldpsql published it, some reports, and what that
version answered from them. It is never written anew, as the survey of somebody's app cannot be.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Sequence
from contextlib import suppress
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from support.surveys import boolean, integer, measure, public, survey_toml

from ldpsql.algebra.boxes import Box, LinearQuery
from ldpsql.designer import design
from ldpsql.mechanisms.registry import MECHANISMS
from ldpsql.reports.report import Reports
from ldpsql.survey import Survey
from ldpsql_device.errors import SurveyError
from ldpsql_lab.simulation import SeededEntropy, histogram_of

FOLDER = Path(__file__).parents[1] / "data" / "surveys" / "format_1"
RANGES = {5: ((0, 1), (1, 3), (2, 2)), 2: ((0, 1), (1, 2))}
"""Which codes of the first column are counted, by how many there are."""
PEOPLE = 300


def small_survey(mechanism: str) -> Survey:
    """A survey of few values, with as many kinds of columns as the mechanism takes."""
    takes = MECHANISMS[mechanism].takes
    age = integer("age", 0, 4, **({"sensitive": [3]} if takes.sensitive else {}))
    if takes.codes == 2:
        age = boolean("adult")
    optional = (
        ([measure("pay", 0, 10)], []),
        ([boolean("member")], []),
        ([public("kind", "text")], []),
    )
    accepted = ({}, {"accept_no_guarantee": True})
    for (pay, member, kind), more in product(product(*optional), accepted):
        columns = (age, *member, *pay, *kind)
        keys: dict[str, Any] = {"table": "app", "epsilon": "1.3", "mechanism": mechanism, **more}
        with suppress(SurveyError):
            return design(survey_toml(*columns, **keys))
    raise AssertionError(mechanism)


def draw_reports(survey: Survey) -> list[list[int]]:
    """What made-up people report, column by column."""
    random = np.random.default_rng(1)
    codes = np.stack([random.integers(0, n, PEOPLE) for n in survey.plan.sizes], axis=1)
    return [column.tolist() for column in survey.draw(codes, SeededEntropy(1))]


def answer(survey: Survey, reports: Sequence[Sequence[int]]) -> list[list[float]]:
    """Counts of ranges of the first column: the estimate and its standard error."""
    columns = [np.asarray(column, dtype=np.uint64) for column in reports]
    people = histogram_of(Reports.pack(survey.design.report_format, columns))
    first, *sizes = survey.design.domain.sizes
    others = [None for _ in sizes]
    queries = [
        survey.design.prepare(LinearQuery(((1.0, Box((((low, high),), *others))),)))
        for low, high in RANGES[first]
    ]
    found = next(iter(survey.design.estimators.values()))(people).answer(queries)
    return [list(map(float, pair)) for pair in zip(found.values, found.stderr, strict=True)]


def read(path: Path) -> Any:
    """What a file holds: `survey` (text), `reports`, `answers`."""
    return json.loads(gzip.decompress(path.read_bytes()))


def main() -> None:
    """Add what is missing."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    for mechanism in sorted(MECHANISMS):
        path = FOLDER / f"{mechanism}.json.gz"
        if not path.exists():
            survey = small_survey(mechanism)
            reports = draw_reports(survey)
            found = {
                "survey": survey.to_json(),
                "reports": reports,
                "answers": answer(survey, reports),
            }
            path.write_bytes(gzip.compress(json.dumps(found).encode(), 9, mtime=0))


if __name__ == "__main__":
    main()
