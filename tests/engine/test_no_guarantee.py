"""A mechanism that promises nothing says so: at design, in its JSON and in every answer."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from click.testing import CliRunner
from support.resealing import resealed
from support.surveys import integer, survey_toml

from ldpsql.cli.main import cli
from ldpsql.designer import design
from ldpsql.survey import Survey
from ldpsql_device.errors import SurveyError
from ldpsql_lab.simulation import simulate

TEXT = survey_toml(integer("age", 0, 8), mechanism="lgrr-fd")
ACCEPTED = TEXT.replace('"lgrr-fd"', '"lgrr-fd"\naccept_no_guarantee = true')


def test_it_is_refused_unless_accepted() -> None:
    """In a file, in code and in JSON, whose fingerprint covers the acknowledgement."""
    with pytest.raises(SurveyError, match="not differentially private"):
        design(TEXT)
    accepted = design(TEXT, accept_no_guarantee=True)
    assert accepted.fingerprint == design(ACCEPTED).fingerprint
    assert Survey.from_json(accepted.to_json()) == accepted
    with pytest.raises(SurveyError, match="not differentially private"):
        Survey.from_json(resealed(accepted, lambda _, c: c.pop("accept_no_guarantee")))


def test_a_sound_survey_does_not_carry_it() -> None:
    """Otherwise the words would lose their meaning."""
    with pytest.raises(SurveyError, match="has one"):
        design(ACCEPTED.replace("lgrr-fd", "hio"))


def test_the_command_line_needs_its_flag(tmp_path: Path) -> None:
    """And prints the witness."""
    source, target = tmp_path / "s.toml", tmp_path / "s.json"
    source.write_text(TEXT)
    refused = CliRunner().invoke(cli, ["design", str(source), "-o", str(target)])
    assert refused.exit_code != 0
    assert not target.exists()
    taken = CliRunner().invoke(
        cli, ["design", str(source), "-o", str(target), "--accept-no-guarantee"]
    )
    assert taken.exit_code == 0
    assert "guarantee    not differentially private" in taken.stdout
    assert "never does" in taken.stdout
    assert Survey.from_json(target).accept_no_guarantee


def test_every_answer_says_so() -> None:
    """Notes of results, once per survey, and EXPLAIN."""
    people = pa.table({"age": np.random.default_rng(1).integers(0, 9, 500)})
    survey = design(ACCEPTED)
    with simulate(survey, people) as connection:
        sql = "SELECT COUNT(*) FROM app WHERE age < 4"
        notes = connection.execute(sql).result.notes
        assert notes == ("app: not differentially private (lgrr-fd)",)
        explained = connection.execute(f"EXPLAIN {sql}").result.explain
        assert "survey app: lgrr-fd, no epsilon holds (nominal 1)" in explained
        assert "guarantee: not differentially private" in explained
