"""What an address of a folder of reports says, without Spark."""

from __future__ import annotations

from pathlib import Path

import pytest

from ldpsql.spark.session import Address
from ldpsql_device.errors import InterfaceError


@pytest.mark.parametrize(
    ("url", "reports", "survey"),
    [
        ("spark:///data/reports/?survey=app.survey.json", "/data/reports/", "app.survey.json"),
        ("spark:/data/reports", "/data/reports", None),
        ("SPARK:///a%20b/", "/a b/", None),
        ("spark:///s3a://bucket/reports/?survey=/x/y.json", "s3a://bucket/reports/", "/x/y.json"),
    ],
)
def test_a_folder_and_its_survey_are_named(url: str, reports: str, survey: str | None) -> None:
    assert Address.parse(url) == Address(reports, None if survey is None else Path(survey))


@pytest.mark.parametrize("url", ["spark:///", "spark:///a?survey=", "spark:///a?table=x"])
def test_anything_else_is_refused(url: str) -> None:
    with pytest.raises(InterfaceError):
        Address.parse(url)
