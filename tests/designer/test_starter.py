"""The starter survey file: columns and types, and never a value."""

from __future__ import annotations

import tomllib
from datetime import date, datetime
from decimal import Decimal

import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq
import pytest
from support.command_line import refusal, run

from ldpsql.designer.file import starter_text
from ldpsql_device.schema import Schema, check_name, is_label

TABLE = pa.table(
    {
        "age": pa.array([31337, 42], pa.int16()),
        "height": [1.23456, 2.5],
        "price": [Decimal("77.25"), Decimal("8.50")],
        "state": ["Atlantis", "Mordor"],
        "coded": pa.array(["xyzzy", "plugh"]).dictionary_encode(),
        "member": [True, False],
        "born": [date(1987, 6, 5), date(1999, 9, 9)],
        "seen": [datetime(1986, 5, 4), datetime(1986, 5, 5)],
        'odd "name"': [1, 2],
        "tags": [["frotz"], ["nitfol"]],
    }
)
SECRETS = ("31337", "1.23456", "77.25", "Atlantis", "xyzzy", "1987", "1986", "frotz")


@pytest.fixture
def data(tmp_path):
    path = tmp_path / "my shop.parquet"
    pq.write_table(TABLE, path)
    return path


def test_columns_and_types_are_written_and_no_value(data):
    shown = run("schema", data)
    assert (shown.exit_code, shown.stderr) == (0, "")
    assert not any(secret in shown.stdout for secret in SECRETS)
    survey = tomllib.loads(shown.stdout)
    assert survey["survey"]["table"] == "my_shop"
    types = {name: keys["type"] for name, keys in survey["dimension"].items()}
    assert types == {
        "age": "int",
        "height": "float",
        "price": "float",
        "state": "category",
        "coded": "category",
        "member": "bool",
        "born": "date",
        "seen": "timestamp",
        "odd__name_": "int",
    }
    assert "# tags is of type list<" in shown.stdout
    assert "private data would tell something" in shown.stdout


def test_csv_is_read_too(tmp_path):
    path = tmp_path / "shop.csv"
    pacsv.write_csv(TABLE.drop_columns(["tags", "coded"]), path)
    shown = run("schema", path, "--table", "orders")
    assert not any(secret in shown.stdout for secret in SECRETS)
    survey = tomllib.loads(shown.stdout)
    assert survey["survey"]["table"] == "orders"
    assert survey["dimension"]["born"]["type"] == "date"


def test_the_first_missing_bound_is_named_when_it_is_designed_unfilled(data, tmp_path):
    target = tmp_path / "shop.toml"
    assert run("schema", data, "-o", target).exit_code == 0
    line = refusal(run("design", target), 1)
    assert line.startswith("dimension age: domain must be [low, high]: public limits, chosen by")


@pytest.mark.parametrize("column", ["age", "height", "state", "born", "seen"])
def test_every_bound_is_left_open(tmp_path, column):
    path = tmp_path / "one.parquet"
    pq.write_table(TABLE.select([column]), path)
    target = tmp_path / "one.toml"
    run("schema", path, "-o", target)
    assert f"dimension {column}: " in refusal(run("design", target), 1)


def test_a_filled_file_can_be_designed(tmp_path):
    path = tmp_path / "people.parquet"
    pq.write_table(TABLE.select(["age", "member"]), path)
    text = run("schema", path).stdout.replace("domain = []", "domain = [0, 120]")
    (tmp_path / "people.toml").write_text(text)
    assert run("design", tmp_path / "people.toml").exit_code == 0


def test_a_csv_file_without_a_header_is_refused(tmp_path):
    path = tmp_path / "bare.csv"
    path.write_text("31337,Atlantis\n42,Mordor\n")
    line = refusal(run("schema", path), 1)
    assert "no header" in line
    assert "31337" not in line


@pytest.mark.parametrize("name", ["x.parquet", "x.csv", "x.txt"])
def test_what_cannot_be_read_is_refused(tmp_path, name):
    (tmp_path / name).write_bytes(b"")
    assert name in refusal(run("schema", tmp_path / name), 1)


@pytest.mark.parametrize(
    "name",
    ["a😀", "naïve", "tab\there", "line\nbreak", "del\x7f", 'q"uo\\te', "\x01\x1f", "\x85", ""],
)
def test_any_column_name_is_written_as_an_identifier(name):
    text = starter_text("𝒜pp", {name: pa.int64(), "list": pa.struct([pa.field(name, pa.int8())])})
    survey = tomllib.loads(text)
    [written] = survey["dimension"]
    check_name(written)
    assert survey["survey"]["table"] == "_pp"
    assert survey["survey"]["label"] == "𝒜pp"
    note = f"in the data this column is {name!a}: call it {written} there too"
    assert (note in text) == (not is_label(name))
    assert survey["dimension"][written].get("label", name) == name


def test_headers_that_are_no_names_become_labels_by_which_they_are_found():
    headers = ["My Name", " Age ", "Age", "AGE", "a b", "a-b", "Total, €", "x\u200by", "plain"]
    found = tomllib.loads(starter_text("t", dict.fromkeys(headers, pa.int64())))
    assert "label" not in found["survey"]
    labels = {name: keys.get("label") for name, keys in found["dimension"].items()}
    assert labels == {
        "my_name": "My Name",
        "_age_": None,  # the spaces around a label do not count, and "age" is another column
        "age": None,
        "age_2": None,
        "a_b": "a b",
        "a_b_2": "a-b",
        "total___": "Total, €",
        "x_y": None,
        "plain": None,
    }
    filled = {name: {**keys, "domain": [0, 9]} for name, keys in found["dimension"].items()}
    schema = Schema.from_keys({"dimension": filled})
    for name, label in labels.items():
        assert schema.labels.get(name) == label


def test_identifiers_are_written_once_each():
    names = ["Age", "age", "a b", "a-b", "a_b_2", "1st", "ldpsql_x", "x" * 70, "X" * 80]
    found = tomllib.loads(starter_text("T", dict.fromkeys(names, pa.int64())))["dimension"]
    assert list(found) == [
        *("age", "age_2", "a_b", "a_b_2", "a_b_2_2", "_1st", "_ldpsql_x"),
        *("x" * 63, "x" * 61 + "_2"),
    ]


def test_what_it_says_of_shuffling_is_a_survey(data):
    """With the comment signs of those lines taken away."""
    text = run("schema", data).stdout
    for line in ('trust = "shuffle"', 'delta = "1e-6"', "users = 100000"):
        assert f"# {line}" in text
        text = text.replace(f"# {line}", line)
    head = tomllib.loads(text)["survey"]
    assert (head["trust"], head["delta"], head["users"]) == ("shuffle", "1e-6", 100_000)
