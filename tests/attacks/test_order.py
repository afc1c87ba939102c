"""The order of reports: whoever knows the order of the people learns nothing from it.

The attacker holds the reports and knows that the people of the file were sorted by a private value.
At epsilon 20 a report is as good as the value, so any trace of the order would show.
"""

from __future__ import annotations

import math

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq
import pytest
from support.command_line import run
from support.surveys import ANYTHING, integer, survey_toml

from ldpsql.designer import design
from ldpsql.randomize import files
from ldpsql.randomize.files import randomize_file
from ldpsql.randomize.table import randomize
from ldpsql.reports import permutation

PEOPLE, VALUES = 6000, 10
SURVEY = design(survey_toml(integer("age", 0, VALUES - 1), mechanism="grr", epsilon="20"))
SORTED = pa.table({"age": np.sort(np.arange(PEOPLE) % VALUES)})


def order_shows(reports: pa.Table) -> bool:
    """Whether places and values go together more than chance allows (5 standard deviations)."""
    values = reports[f"ldpsql_{SURVEY.plan.columns[-1]}"].to_numpy().astype(float)
    assert sorted(values.tolist()) == SORTED["age"].to_pylist()
    correlation = np.corrcoef(np.arange(PEOPLE), values)[0, 1]
    return abs(correlation) > 5 / math.sqrt(PEOPLE)


@pytest.fixture(params=["all in memory", "in files"])
def batches(request, monkeypatch):
    """A file is read in ten pieces; memory holds all reports, or two pieces of them."""
    monkeypatch.setattr(files, "BATCH_ROWS", PEOPLE // 10)
    monkeypatch.setattr(files, "BLOCK_BYTES", PEOPLE * 2 // 10)
    if request.param == "in files":
        monkeypatch.setattr(permutation, "CAPACITY", PEOPLE // 5)


def from_file(tmp_path, suffix: str, **options) -> pa.Table:
    source, target = tmp_path / f"people{suffix}", tmp_path / "reports.parquet"
    if suffix == ".csv":
        pacsv.write_csv(SORTED, source)
    else:
        pq.write_table(SORTED, source)
    randomize_file(SURVEY, source, target, policy=ANYTHING, **options)
    return pq.read_table(target)


@pytest.mark.parametrize("suffix", [".parquet", ".csv"])
def test_the_order_of_a_file_tells_nothing(tmp_path, batches, suffix):
    assert not order_shows(from_file(tmp_path, suffix))


@pytest.mark.parametrize("suffix", [".parquet", ".csv"])
def test_the_order_that_was_kept_tells_everything(tmp_path, batches, suffix):
    """Negative control."""
    kept = from_file(tmp_path, suffix, keep_order=True)
    assert order_shows(kept)
    assert kept[f"ldpsql_{SURVEY.plan.columns[-1]}"].to_pylist() == SORTED["age"].to_pylist()


def test_an_order_that_is_random_within_each_piece_alone_tells(tmp_path, batches, monkeypatch):
    """Negative control."""

    def within_pieces(tables, folder, entropy, mix):
        return (mix(table, entropy) for table in tables)

    monkeypatch.setattr(files, "permute_rows", within_pieces)
    assert order_shows(from_file(tmp_path, ".parquet"))


def test_row_groups_do_not_tell_the_pieces(tmp_path, batches, monkeypatch):
    monkeypatch.setattr(permutation, "ROW_GROUP", 1300)
    from_file(tmp_path, ".parquet")
    found = pq.read_metadata(tmp_path / "reports.parquet")
    sizes = [found.row_group(place).num_rows for place in range(found.num_row_groups)]
    assert sizes == [1300] * 4 + [800]


def test_the_order_of_a_table_tells_nothing():
    assert not order_shows(randomize(SURVEY, SORTED, policy=ANYTHING))
    assert order_shows(randomize(SURVEY, SORTED, policy=ANYTHING, keep_order=True))


def test_the_command_warns_where_the_order_is_kept(tmp_path):
    SURVEY.write(tmp_path / "survey.json")
    pq.write_table(SORTED, tmp_path / "people.parquet")
    target = tmp_path / "reports.parquet"
    given = ["randomize", tmp_path / "people.parquet", "--survey", tmp_path / "survey.json"]
    done = run(*given, "-o", target)
    assert (done.exit_code, "warning" in done.stderr) == (0, False)
    assert not order_shows(pq.read_table(target))
    done = run(*given, "-o", target, "--keep-order")
    assert done.exit_code == 0
    assert "warning: the reports are in the order of the people" in done.stderr
    assert order_shows(pq.read_table(target))
