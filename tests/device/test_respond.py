"""One person's answer: what it holds, and what it refuses."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import FrozenInstanceError

import numpy as np
import pyarrow.parquet as pq
import pytest
from support.surveys import (
    MIXED_RECORD,
    RECORD,
    app,
    mix,
    mostly_in_clear,
    partly_sensitive,
    people,
    unsound,
)

from ldpsql.simulation import SeededEntropy
from ldpsql_device.errors import InterfaceError, RecordError, ReportError, SurveyError
from ldpsql_device.files import randomize_file
from ldpsql_device.respond import Report, respond
from ldpsql_device.table import randomize, randomize_batch


def test_importing_the_device_package_loads_numpy_and_nothing_heavier():
    program = (
        "import sys, ldpsql_device.respond, ldpsql_device.ledger\n"
        "heavy = {'duckdb', 'sqlglot', 'click', 'pyarrow', 'rich', 'pandas', 'scipy'}\n"
        "assert 'numpy' in sys.modules\n"
        "print(sorted(heavy & set(sys.modules)))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], check=False, capture_output=True, text=True
    )
    assert (done.stdout, done.stderr) == ("[]\n", "")


def test_the_report_is_one_of_the_designs():
    survey = app()
    for _ in range(50):
        report = respond(survey, RECORD)
        numbers = zip(survey.report_columns, report.numbers(survey), strict=True)
        arrays = {name: np.array([value], "u8") for name, value in numbers}
        assert survey.design.report_format.refuse(arrays).size == 0


def test_json_is_the_row_that_ingest_reads():
    survey = app()
    report = respond(survey, RECORD)
    row = json.loads(report.to_json())
    assert "\n" not in report.to_json()
    assert list(row) == ["id", "report", "public"]
    assert len(bytes.fromhex(row["id"])) == 16
    assert row["public"] == {"day": "2026-01-31", "version": "1.2"}
    assert Report.from_json(report.to_json(), survey) == report


def test_nothing_undeclared_leaves():
    assert "diary" not in respond(app(), RECORD).to_json()
    assert "nobody reads this" not in respond(app(), RECORD).to_json()


def test_every_type_can_be_answered():
    survey = mix()
    assert len(respond(survey, MIXED_RECORD).numbers(survey)) == len(survey.report_columns)


def test_all_reports_have_one_length_and_ids_of_their_own():
    reports = [respond(app(), {**RECORD, "age": 18 + i}) for i in range(60)]
    assert len({len(report.report) for report in reports}) == 1
    assert len({report.id for report in reports}) == 60


def test_a_seed_is_refused():
    with pytest.raises(InterfaceError, match="a seed is for tests and benchmarks"):
        respond(app(), RECORD, entropy=SeededEntropy(0))


def test_a_record_that_does_not_fit_gives_no_report():
    with pytest.raises(RecordError, match="age"):
        respond(app(), {**RECORD, "age": 12})


def test_a_report_cannot_be_changed():
    with pytest.raises(FrozenInstanceError):
        respond(app(), RECORD).report = "x"


@pytest.mark.parametrize(
    "change",
    [
        {"ldpsql_survey": "0" * 64},
        {"report": ""},
        {"report": "00"},
        {"report": "g" * 4},
        {"report": 0},
        {"id": "0" * 31},
        {"id": "0" * 34},
        {"id": None},
        {"public": {"day": "yesterday", "version": "1.2"}},
        {"public": {"day": "2026-01-31"}},
        {"public": {"day": "2026-01-31", "version": "1.2", "name": "Ann"}},
        {"public": []},
    ],
)
def test_reading_back_something_else_is_refused(change):
    survey = app()
    row = {**json.loads(respond(survey, RECORD).to_json()), **change}
    with pytest.raises(ReportError):
        Report.from_json(json.dumps(row), survey)
    with pytest.raises(ReportError):
        Report.from_json("{", survey)


DEVICES = {
    "respond": lambda survey, path, **accepted: respond(survey, RECORD, **accepted),
    "randomize": lambda survey, path, **accepted: randomize(survey, people(9), **accepted),
    "randomize_batch": lambda survey, path, **accepted: randomize_batch(
        survey, people(9), SeededEntropy(0), **accepted
    ),
    "randomize_file": lambda survey, path, **accepted: randomize_file(
        survey, path / "people.parquet", path / "reports.parquet", **accepted
    ),
}


@pytest.mark.parametrize("name", DEVICES)
def test_a_survey_without_a_guarantee_is_refused_unless_accepted(name, tmp_path):
    """By whoever answers, whatever its designer accepted."""
    pq.write_table(people(9), tmp_path / "people.parquet")
    with pytest.raises(SurveyError, match=r"survey small is not differentially private"):
        DEVICES[name](unsound(), tmp_path, accept_disclosure=True)
    assert not (tmp_path / "reports.parquet").exists()
    assert DEVICES[name](unsound(), tmp_path, accept_no_guarantee=True)


@pytest.mark.parametrize("name", DEVICES)
@pytest.mark.parametrize(
    ("survey", "said"),
    [
        (
            lambda: partly_sensitive("cprr"),
            r"does not protect all values of age, state: a report may give",
        ),
        (
            lambda: partly_sensitive("jurr"),
            r"does not protect all values of age, state: a report may give",
        ),
        (
            lambda: partly_sensitive("jurr", states=3),
            r"does not protect all values of age: a report may",
        ),
        (mostly_in_clear, r"survey small sends state in clear with probability 0.9;"),
    ],
    ids=["uldp", "uldp-joint", "one attribute", "delta"],
)
def test_a_survey_that_gives_values_away_is_refused_unless_accepted(name, survey, said, tmp_path):
    """Whoever asks could declare one value sensitive and collect all others nearly in clear."""
    pq.write_table(people(9), tmp_path / "people.parquet")
    with pytest.raises(SurveyError, match=said):
        DEVICES[name](survey(), tmp_path, accept_no_guarantee=True)
    assert not (tmp_path / "reports.parquet").exists()
    assert DEVICES[name](survey(), tmp_path, accept_disclosure=True)


def test_sensitive_values_need_no_consent_where_all_are_protected():
    """Of a mechanism that ignores what is declared, and of one that finds nothing to spare."""
    assert respond(partly_sensitive("grr"), RECORD)
    assert respond(partly_sensitive("cprr", states=3), RECORD)
