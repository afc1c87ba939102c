"""Tables as files of a folder."""

from __future__ import annotations

import csv
import json

import pyarrow.parquet as pq
import pytest

from ldpsql.publish import folder as target_folder
from ldpsql.publish.folder import publish_to_folder
from ldpsql_device.errors import StoreError

from .conftest import make


def names_in(folder):
    return sorted(path.name for path in folder.iterdir())


def test_parquet_carries_rows_and_comments(tmp_path, tables):
    folder = tmp_path / "new" / "out"
    assert publish_to_folder(tables, folder)
    read = pq.read_table(folder / "by_sex.parquet")
    assert read.equals(tables[0].rows)
    assert read.schema.metadata[b"comment"] == b"It's a \\ test"
    assert read.schema.field("n").metadata[b"comment"] == b"estimate of n"
    assert pq.read_table(folder / "all_types.parquet").equals(tables[1].rows)


def test_a_description_says_what_every_column_is(tmp_path, tables):
    publish_to_folder(tables, tmp_path, "csv")
    with (tmp_path / "by_sex.csv").open(newline="") as file:
        assert list(csv.reader(file)) == [["sex", "n"], ["Fe'male", "10.5"], ["", "-2.0"]]
    package = json.loads((tmp_path / "datapackage.json").read_text())
    first, second = package["resources"]
    assert (first["name"], first["path"], first["reports"]) == ("by_sex", "by_sex.csv", 12)
    assert first["schema"]["fields"][1] == {
        "name": "n",
        "type": "number",
        "description": "estimate of n",
    }
    kinds = [field["type"] for field in second["schema"]["fields"]]
    assert kinds == ["string", "number", "integer", "date", "datetime", "boolean", "number"]
    readme = (tmp_path / "README.md").read_text()
    assert "## by_sex.csv" in readme
    assert "| n | estimate of n |" in readme


def test_the_same_answers_touch_nothing(tmp_path, tables):
    publish_to_folder(tables, tmp_path)
    before = {path: path.stat().st_mtime_ns for path in tmp_path.iterdir()}
    assert not publish_to_folder(tables, tmp_path)
    assert {path: path.stat().st_mtime_ns for path in tmp_path.iterdir()} == before


def test_only_what_changed_is_written_and_what_is_no_more_is_removed(tmp_path):
    publish_to_folder([make(), make("same"), make("gone")], tmp_path)
    untouched = (tmp_path / "same.parquet").stat().st_ino
    assert publish_to_folder([make(n=(1.0, 2.0)), make("same")], tmp_path)
    assert names_in(tmp_path) == ["README.md", "by_sex.parquet", "datapackage.json", "same.parquet"]
    assert (tmp_path / "same.parquet").stat().st_ino == untouched
    assert pq.read_table(tmp_path / "by_sex.parquet").column("n").to_pylist() == [1.0, 2.0]
    publish_to_folder([make()], tmp_path, "csv")
    assert names_in(tmp_path) == ["README.md", "by_sex.csv", "datapackage.json"]


@pytest.mark.parametrize("number", range(6))
def test_who_is_interrupted_can_go_on(tmp_path, monkeypatch, number):
    """Every file is whole at any time, and a further run brings what was left."""
    old, new = [make(), make("gone")], [make(n=(1.0, 2.0)), make("more")]
    publish_to_folder(old, tmp_path)
    written, write = [], target_folder._write

    def stop(path, content):
        if len(written) == number:
            raise KeyboardInterrupt
        written.append(path)
        write(path, content)

    monkeypatch.setattr(target_folder, "_write", stop)
    try:
        publish_to_folder(new, tmp_path)
    except KeyboardInterrupt:
        assert number < 5
    else:
        assert number == 5  # as often as there is something to write
    monkeypatch.undo()
    for path in tmp_path.glob("*.parquet"):
        pq.read_table(path)
    publish_to_folder(new, tmp_path)
    assert names_in(tmp_path) == ["README.md", "by_sex.parquet", "datapackage.json", "more.parquet"]
    assert not publish_to_folder(new, tmp_path)


def test_nothing_of_others_is_replaced(tmp_path):
    (tmp_path / "by_sex.parquet").write_text("somebody's data")
    with pytest.raises(StoreError, match=r"by_sex\.parquet is there, and `ldpsql publish` did not"):
        publish_to_folder([make()], tmp_path)
    assert names_in(tmp_path) == ["by_sex.parquet"]
    for text in ("{", "{}", '{"created_by": "ldpsql publish", "files": ["../x"]}'):
        (tmp_path / "datapackage.json").write_text(text)
        with pytest.raises(StoreError, match="is not one that"):
            publish_to_folder([make("other")], tmp_path)
    assert names_in(tmp_path) == ["by_sex.parquet", "datapackage.json"]
