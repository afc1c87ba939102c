"""What is read has a bound, whoever wrote it: see docs/store.md#bounds."""

from __future__ import annotations

import json

import pytest
from support.command_line import refusal, run, store_reports
from support.planned_survey import device_text

from ldpsql.designer.file import read_file
from ldpsql.parser import source
from ldpsql.population import margins
from ldpsql.population.margins import read_margins
from ldpsql.sql import lookups
from ldpsql.sql.lookups import PublicTable
from ldpsql.survey import Survey
from ldpsql_device import survey as device_survey
from ldpsql_device.errors import DataError, SurveyError
from ldpsql_device.statement import Statement
from ldpsql_device.survey import Survey as DeviceSurvey
from ldpsql_lab.bench import questions
from ldpsql_lab.bench.questions import read_questions


@pytest.mark.parametrize("read", [DeviceSurvey.from_json, Survey.from_json])
def test_a_survey_has_so_many_letters(read, tmp_path):
    text = "#" * (device_survey.LARGEST_TEXT + 1)
    (tmp_path / "a.survey.json").write_text(text)
    for given in (text, tmp_path / "a.survey.json"):
        with pytest.raises(SurveyError, match="a survey has at most 16777216 characters"):
            read(given)


def test_a_survey_is_so_deep_and_has_so_many_parts():
    data = json.loads(device_text())
    for more, said in (
        ("[" * 40 + "]" * 40, "nested more than 32 deep"),
        ("[" + "[]," * (device_survey.MOST_KEYS // 2) + "[]]", "too many arrays"),
    ):
        text = json.dumps({**data, "label": "here"}).replace('"here"', more)
        for read in (DeviceSurvey.from_json, Statement.from_json):
            with pytest.raises(SurveyError, match=said):
                read(text)
    with pytest.raises(SurveyError, match="nested too deeply"):
        read_file(f"a = {'[' * 10_000}")


def test_a_survey_has_so_many_columns_and_codes():
    head = '[survey]\ntable = "app"\nepsilon = "1"\n'
    many = "".join(f'[public.c{number}]\ntype = "int"\n' for number in range(1_001))
    with pytest.raises(SurveyError, match="at most 1000 columns"):
        read_file(f'{head}[dimension.a]\ntype = "bool"\n{many}')
    with pytest.raises(SurveyError, match="codes"):
        read_file(f'{head}[dimension.a]\ntype = "int"\ndomain = [0, {1 << 40}]\n')


def test_margins_questions_and_look_up_tables_have_so_many_bytes(tmp_path, monkeypatch):
    path = tmp_path / "large.csv"
    path.write_text("age,people\n18,5\n")
    monkeypatch.setattr(margins, "LARGEST_FILE", 10)
    with pytest.raises(DataError, match="has 16 bytes, the limit is 10"):
        read_margins(path)
    monkeypatch.setattr(lookups, "MAX_BYTES", 10)
    with pytest.raises(DataError, match="has more than 10 bytes"):
        PublicTable.read(path, "large")
    monkeypatch.setattr(questions, "_LONGEST", 10)
    with pytest.raises(SurveyError, match="has more than 10 letters"):
        read_questions(path, Survey.from_json)


def test_a_question_has_so_many_letters_and_no_more_are_read(tmp_path):
    store_reports(database := tmp_path / "s.duckdb", 10)
    text = "SELECT 1" + " " * (2 * source.MAX_LENGTH)
    found = refusal(run("--db", database, "-", text=text), 1)
    assert f"the SQL has {source.MAX_LENGTH + 1} characters" in found
