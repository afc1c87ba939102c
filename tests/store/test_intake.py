"""What is needed to take reports is read from the part of a survey that devices fetch."""

from __future__ import annotations

from decimal import Decimal

import pytest
from support.planned_survey import (
    COLLECTOR,
    ONE,
    PRIVATE,
    SCHEMA,
    both_texts,
    device_text,
)

from ldpsql.shuffle.accountant import delta_of
from ldpsql.shuffle.blankets import find_blanket
from ldpsql.store.intake import Intake
from ldpsql.survey import Survey
from ldpsql_device.errors import FingerprintError, InternalError, SurveyError
from ldpsql_device.shuffled import Shuffled
from ldpsql_device.survey import Survey as DeviceSurvey


def test_the_part_for_devices_says_which_rows_are_reports():
    survey, intake = DeviceSurvey.from_json(device_text()), Intake.read(device_text())
    assert (intake.table, intake.key) == ("people", "people")
    assert intake.fingerprint == survey.fingerprint
    assert intake.public == SCHEMA.public
    assert intake.format.columns == survey.plan.columns
    assert intake.format.limits.tolist() == [[10]]
    assert intake.format.widths == survey.report_widths
    assert intake.columns == ("ldpsql_question", "ldpsql_answer0", "shop")
    assert not intake.is_complete


def test_both_parts_are_kept_together(tmp_path):
    intake = Intake.read(both_texts())
    assert intake.is_complete
    assert intake.text == both_texts()
    assert intake.fingerprint == Intake.read(device_text()).fingerprint
    path = tmp_path / "people.survey.json"
    path.write_text(device_text())
    assert not Intake.read(path).is_complete
    (tmp_path / "people.collector.json").write_text(COLLECTOR)
    assert Intake.read(path).text == both_texts()


def test_the_file_at_fault_is_named(tmp_path):
    path, beside = tmp_path / "people.survey.json", tmp_path / "people.collector.json"
    path.write_text(device_text())
    for text, kind, words in (
        ("{", SurveyError, "not JSON"),
        (COLLECTOR.replace("none that", "one that"), FingerprintError, "not the one that"),
    ):
        beside.write_text(text)
        with pytest.raises(kind, match=f"its collector's part {beside}: .*{words}"):
            Intake.read(path)
    path.write_text("{")
    with pytest.raises(SurveyError, match=f"{path}: not a survey"):
        Intake.read(path)
    beside.unlink()
    beside.mkdir()
    path.write_text(device_text())
    with pytest.raises(SurveyError, match=f"its collector's part {beside}: cannot read"):
        Intake.read(path)


@pytest.mark.parametrize(
    ("text", "kind", "words"),
    [
        ("[]", SurveyError, "no key ldpsql_survey"),
        ("{", SurveyError, "not JSON|not a survey"),
        (both_texts().replace("none that", "one that"), FingerprintError, "not the one that"),
        (device_text().replace('"people"', '"two words"'), SurveyError, "not a table name"),
    ],
)
def test_anything_else_is_refused_with_its_file(tmp_path, text, kind, words):
    with pytest.raises(kind, match=words):
        Intake.read(text)
    path = tmp_path / "x.json"
    path.write_text(text)
    with pytest.raises(kind, match=f"x.json: .*({words})"):
        Intake.read(path)


def test_of_a_survey_of_the_collector_it_is_the_same(tmp_path):
    survey = Survey.of("app", PRIVATE, "1", "grr")
    for intake in (Intake.of(survey), Intake.read(survey.to_json())):
        assert intake.is_complete
        assert (intake.table, intake.fingerprint) == ("app", survey.fingerprint)
        assert intake.format.columns == survey.design.report_format.columns
        assert (intake.format.limits == survey.design.report_format.limits).all()
        assert intake.epsilon == ONE


def test_without_the_collector_s_part_a_batch_keeps_what_its_plan_says():
    trust = Shuffled.parse("0.5", "1e-6", 10_000, "0.9")
    intake = Intake.read(device_text(PRIVATE, trust))
    epsilon = intake.find_epsilon(5_000)
    assert epsilon < ONE.value
    blanket = find_blanket(DeviceSurvey.from_json(intake.text).plan)
    assert delta_of([blanket], 4_500, epsilon) <= 1e-6
    assert delta_of([blanket], 4_500, epsilon * Decimal("0.99")) > 1e-6
    assert intake.find_epsilon(2) == ONE.value
    with pytest.raises(InternalError):
        Intake.read(device_text()).find_epsilon(5_000)
