from __future__ import annotations

import json
import os
from datetime import date, datetime

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.fake_survey import (
    PLAIN,
    PUBLIC,
    UNARY,
    add_ids,
    fake_survey,
    reports_of,
    write_csv,
    write_jsonl,
)

from ldpsql.store import open_store
from ldpsql_device.errors import ReportError
from ldpsql_device.reports import Report
from ldpsql_device.schema import PublicColumn


def stored(store):
    """All stored reports, sorted."""
    with store._read_snapshot() as cursor:
        rows = cursor.execute("SELECT * EXCLUDE ldpsql_batch FROM reports_app").fetchall()
    return sorted(rows, key=repr)


def parquet_store(table, survey):
    store = open_store(None, read_only=False)
    store.ingest_table(table, survey)
    return store


@pytest.mark.parametrize("suffix", ["csv", "jsonl", "ndjson", "CSV"])
def test_text_files_give_the_same_reports_as_parquet(store, tmp_path, suffix):
    survey = fake_survey(public=PUBLIC)
    table = reports_of(survey, 2000)
    path = tmp_path / f"r.{suffix}"
    if suffix.lower() == "csv":
        write_csv(table, path)
    else:
        write_jsonl(table, path)
    [batch] = store.ingest([path], survey=survey)
    assert batch.reports == 2000
    with parquet_store(table, survey) as other:
        assert stored(store) == stored(other)


def test_csv_with_carriage_returns_a_byte_order_mark_and_no_last_newline(store, tmp_path):
    path = tmp_path / "r.csv"
    path.write_bytes(
        (
            "\ufeff" + add_ids("ldpsql_question,ldpsql_answer0,ldpsql_answer1\r\n0,4,2\r\n2,299,7")
        ).encode()
    )
    store.ingest([path], survey=fake_survey())
    assert stored(store) == [(0, 4, 2), (2, 299, 7)]


@pytest.mark.parametrize(
    "value", ["3.0", "3.7", "1e0", " 3", "-3", "x", "0x1", "99999999999999999999999"]
)
def test_text_that_is_no_whole_number_is_refused_without_showing_it(store, tmp_path, value):
    path = tmp_path / "r.csv"
    path.write_text(add_ids(f"ldpsql_question,ldpsql_answer0,ldpsql_answer1\n0,1,1\n0,{value},1\n"))
    with pytest.raises(ReportError, match="row 2: ldpsql_answer0 is not a whole number") as caught:
        store.ingest([path], survey=fake_survey())
    assert value not in str(caught.value).replace(str(path), "")


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        ("int", "1.5"),
        ("float", "nan"),
        ("float", "infinity"),
        ("float", "1e999"),
        ("bool", "yes"),
        ("date", "infinity"),
        ("date", "2026-01-01 12:00:00"),
        ("date", "2026-02-30"),
        ("timestamp", "2026-01-01T00:00:00+02:00"),
        ("timestamp", "soon"),
    ],
)
def test_text_that_is_not_of_a_public_type_is_refused(store, tmp_path, kind, value):
    survey = fake_survey(public=[PublicColumn("p", kind)])
    path = tmp_path / "r.csv"
    path.write_text(
        add_ids(f"ldpsql_question,ldpsql_answer0,ldpsql_answer1,p\n0,1,1,\n0,1,1,{value}\n")
    )
    with pytest.raises(ReportError, match="row 2: p is not"):
        store.ingest([path], survey=survey)


@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [
        ("int", "+5", 5),
        ("int", "00000000000000000007", 7),
        ("int", "-9223372036854775808", -(1 << 63)),
        ("float", "1.", 1.0),
        ("float", "-.5e-3", -0.0005),
        ("bool", "TRUE", True),
        ("date", "2026-02-28", date(2026, 2, 28)),
        ("timestamp", "2026-02-28", datetime(2026, 2, 28)),
        ("timestamp", "2026-02-28 12:30", datetime(2026, 2, 28, 12, 30)),
        ("timestamp", "2026-02-28T12:30:01.1234567", datetime(2026, 2, 28, 12, 30, 1, 123456)),
        ("text", "a, b", "a, b"),
    ],
)
def test_text_is_read_as_its_public_type(store, tmp_path, kind, text, value):
    """Alone, and beside text that is not of the type, which is then read value by value."""
    survey = fake_survey(public=[PublicColumn("p", kind)])
    path = tmp_path / "r.csv"
    good = f'0,1,1,"{text}"\n'
    for lines in (good, good + "0,1,1,99999999999999999999\n" * (kind != "text")):
        path.write_text(add_ids("ldpsql_question,ldpsql_answer0,ldpsql_answer1,p\n" + lines))
        store.ingest([path], survey=survey, skip_invalid=True)
        assert stored(store)[0] == (0, 1, 1, value)


@pytest.mark.parametrize("end", ["", "\n", "\r\n", "\n\n"])
def test_a_csv_file_of_a_header_alone_holds_no_reports(store, tmp_path, end):
    path = tmp_path / "r.csv"
    path.write_text(add_ids("ldpsql_question,ldpsql_answer0,ldpsql_answer1" + end), newline="")
    assert store.ingest([path], survey=fake_survey())[0].reports == 0


def test_broken_lines_refuse_a_csv_file_or_are_skipped_and_counted(store, tmp_path):
    path = tmp_path / "r.csv"
    path.write_text(
        add_ids(
            "ldpsql_question,ldpsql_answer0,ldpsql_answer1\n0,1,1\n0,1\n0,1,1,1\n0,2,2\n0,9,9\n"
        )
    )
    with pytest.raises(
        ReportError, match=r"2 broken line\(s\), the first at 3, 4: .* have as many values as"
    ):
        store.ingest([path], survey=fake_survey())
    [batch] = store.ingest([path], survey=fake_survey(), skip_invalid=True)
    assert (batch.reports, batch.skipped) == (2, 3)


def test_a_broken_line_that_is_no_text_is_skipped_and_counted(store, tmp_path, capfd):
    """Arrow cannot tell of such a line, and would print so."""
    survey = fake_survey(public=[PublicColumn("kind", "text")])
    lines = add_ids(
        "ldpsql_question,ldpsql_answer0,ldpsql_answer1,kind\n0,4,1,caf\u00e9\n0,3,1,b\n"
    ).encode()
    path = tmp_path / "reports.csv"
    path.write_bytes(lines + b"0,4,\xff\n" + b"1,0,1,\xfe," + b"a" * 32 + b"\n")
    [batch] = store.ingest([path], survey=survey, skip_invalid=True)
    assert (batch.reports, batch.skipped) == (2, 2)
    kinds = store.public_people("app")["kind"].to_pylist()
    assert kinds == ["b", "caf\u00e9"]
    assert capfd.readouterr().err == ""


def test_broken_lines_of_one_file_are_not_counted_for_the_next(store, tmp_path):
    for number, lines in enumerate(("0,1\n0,1,1\n", "0,2,2\n")):
        path = tmp_path / f"{number}.csv"
        path.write_text(add_ids("ldpsql_question,ldpsql_answer0,ldpsql_answer1\n" + lines))
    batches = store.ingest([tmp_path], survey=fake_survey(), skip_invalid=True)
    assert [batch.skipped for batch in batches] == [1, 0]


def test_jsonl_values_keep_their_kind(store, tmp_path):
    path = tmp_path / "r.jsonl"
    rows = ["1", "1.0", "true", "[1]", "null", '"1"']
    path.write_text(
        add_ids(
            "\n".join(
                f'{{"ldpsql_question": 0, "ldpsql_answer0": {a}, "ldpsql_answer1": 2}}'
                for a in rows
            )
        )
    )
    with pytest.raises(ReportError) as caught:
        store.ingest([path], survey=fake_survey())
    said = str(caught.value)
    assert [f"row {n}:" in said for n in range(1, 7)] == [False, *[True] * 5]
    assert "row 5: ldpsql_answer0 is missing" in said


def test_public_names_that_mean_something_elsewhere_are_read_from_jsonl(store, tmp_path):
    names = ["select", "json", "row_number", "_", "nan"]
    survey = fake_survey(public=[PublicColumn(name, "text") for name in names])
    row = {
        "ldpsql_question": 0,
        "ldpsql_answer0": 1,
        "ldpsql_answer1": 2,
        **{name: name for name in names},
    }
    (tmp_path / "r.jsonl").write_text(add_ids(json.dumps(row)))
    store.ingest([tmp_path / "r.jsonl"], survey=survey)
    assert stored(store) == [(0, 1, 2, *names)]


def test_an_unknown_key_in_jsonl_is_refused(store, tmp_path):
    path = tmp_path / "r.jsonl"
    row = {"ldpsql_question": 0, "ldpsql_answer0": 1, "ldpsql_answer1": 2}
    path.write_text(json.dumps(row) + "\n" + json.dumps({**row, "age": 31}))
    with pytest.raises(ReportError, match="one of the keys is not part of a report") as caught:
        store.ingest([path], survey=fake_survey(), skip_invalid=True)
    assert "'age'" not in str(caught.value)


def test_a_csv_file_of_raw_values_without_a_header_is_refused_without_showing_any(store, tmp_path):
    path = tmp_path / "r.csv"
    for first in ("39,SECRETNAME,7", "SECRETNAME,secretname,7"):
        path.write_text(first + "\n1,2,3\n")
        with pytest.raises(ReportError, match="column") as caught:
            store.ingest([path], survey=fake_survey())
        said = str(caught.value).replace(str(path), "")
        assert "secret" not in said.lower()
        assert "39" not in said


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("r.csv", b"ldpsql_question,ldpsql_answer0,\xffSECRET\n0,1,1\n"),
        ("r.csv", b'ldpsql_question,ldpsql_answer0,"' + b"SECRET" * 50_000),
        ("r.parquet", b"SECRET" * 100),
    ],
)
def test_the_error_for_a_bad_file_drags_no_other_error_along(store, tmp_path, name, content):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(ReportError) as caught:
        store.ingest([tmp_path / name], survey=fake_survey())
    assert caught.value.__context__ is None
    assert caught.value.__cause__ is None


def test_the_error_for_damage_found_while_taking_drags_no_other_error_along(store, tmp_path):
    path = tmp_path / "r.parquet"
    fake_survey().write(tmp_path / "app.survey.json")
    pq.write_table(reports_of(fake_survey(), 50_000), path)
    content = bytearray(path.read_bytes())
    content[1000:1200] = b"\xff" * 200
    path.write_bytes(content)
    with pytest.raises(ReportError, match="damaged") as caught:
        store.ingest([path])
    assert caught.value.__context__ is None
    assert store.surveys() == []


@pytest.mark.parametrize(
    ("kind", "good", "wrong"),
    [
        ("text", '"0"', ["0", "true", '{"raw": "nested"}', '["x"]']),
        ("int", "-3", ['"3"', "3.0", "true", "[3]", '{"a": 3}']),
        ("float", "3", ['"3.5"', "false", "[3.5]"]),
        ("bool", "true", ['"true"', "1"]),
        ("date", '"2026-01-01"', ["20260101", '["2026-01-01"]', '"2026-02-30"']),
    ],
)
def test_jsonl_values_must_have_the_json_type_of_their_column(store, tmp_path, kind, good, wrong):
    survey = fake_survey(public=[PublicColumn("p", kind)])
    path = tmp_path / "r.jsonl"
    start = '{"ldpsql_question": 0, "ldpsql_answer0": 1, "ldpsql_answer1": 2, "p": '
    path.write_text(add_ids("\n".join(f"{start}{value}}}" for value in wrong)))
    [batch] = store.ingest([path], survey=survey, skip_invalid=True)
    assert (batch.reports, batch.skipped) == (0, len(wrong))
    path.write_text(add_ids("\n".join(f"{start}{value}}}" for value in (good, "null"))))
    assert store.ingest([path], survey=survey)[0].reports == 2


def test_a_repeated_column_is_refused(store, tmp_path):
    path = tmp_path / "r.csv"
    path.write_text(
        add_ids("ldpsql_question,ldpsql_answer0,ldpsql_answer1,LDPSQL_ANSWER0\n0,1,1,1\n")
    )
    with pytest.raises(ReportError, match="columns 2 and 4 have the same name"):
        store.ingest([path], survey=fake_survey())


def test_an_empty_csv_file_is_refused(store, tmp_path):
    (tmp_path / "r.csv").write_text("")
    with pytest.raises(ReportError, match="is empty"):
        store.ingest([tmp_path / "r.csv"], survey=fake_survey())


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-32"])
@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("r.csv", "ldpsql_question,ldpsql_answer0\n0,1\n"),
        ("r.jsonl", '{"ldpsql_question": 0, "ldpsql_answer0": 1}\n'),
    ],
)
def test_text_of_wide_letters_is_refused_by_its_encoding(store, tmp_path, encoding, name, text):
    """Also where lines that are no reports are skipped."""
    (tmp_path / name).write_text(text, encoding=encoding)
    for skips in (False, True):
        with pytest.raises(ReportError, match="is text in UTF-16 or UTF-32; save it in UTF-8"):
            store.ingest([tmp_path / name], survey=fake_survey(), skip_invalid=skips)


def test_zeros_without_letters_are_not_said_to_be_of_an_encoding(store, tmp_path):
    (tmp_path / "r.csv").write_bytes(b"\0")
    with pytest.raises(ReportError) as refused:
        store.ingest([tmp_path / "r.csv"], survey=fake_survey())
    assert "UTF" not in str(refused.value)


def test_a_pipe_is_not_waited_for(store, tmp_path):
    os.mkfifo(tmp_path / "r.csv")
    with pytest.raises(ReportError, match="is a pipe or a device"):
        store.ingest([tmp_path / "r.csv"], survey=fake_survey())


def test_a_file_of_another_kind_is_refused(store, tmp_path):
    (tmp_path / "r.xlsx").touch()
    with pytest.raises(ReportError, match="must end in"):
        store.ingest([tmp_path / "r.xlsx"])


def test_wildcards_and_quotes_in_names_and_directories_are_plain_characters(store, tmp_path):
    survey = fake_survey()
    folder = tmp_path / "day=[1]'*?"
    folder.mkdir()
    survey.write(folder / "app.survey.json")
    pq.write_table(reports_of(survey, 10), folder / "a[bc]*.parquet")
    pq.write_table(reports_of(survey, 10, 1), folder / "ab.parquet")
    [batch] = store.ingest([folder / "a[bc]*.parquet"])
    assert batch.reports == 10


@pytest.mark.parametrize("options", [PLAIN, UNARY])
def test_reports_as_devices_send_them_are_taken(store, tmp_path, options):
    survey = fake_survey(options=options, public=PUBLIC)
    store.register(survey)
    rows = reports_of(survey, 50).to_pylist()
    reports = [
        Report.of(
            survey,
            [row[f"ldpsql_{name}"] for name in survey.plan.columns],
            {column.name: row[column.name] for column in PUBLIC},
        )
        for row in rows
    ]
    lines = [report.to_json() for report in reports]
    (tmp_path / "r.jsonl").write_text("\n".join(lines))
    assert store.ingest([tmp_path / "r.jsonl"])[0].reports == 50
    with open_store(None, read_only=False) as other:
        other.ingest_table(reports_of(survey, 50), survey)
        assert stored(store) == stored(other)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"id": "0" * 31}, "its id is not 32 hexadecimal digits"),
        ({"id": "0" * 31 + "g"}, "its id is not 32 hexadecimal digits"),
        ({"id": 7}, "its id is not 32 hexadecimal digits"),
        ({"id": None}, "its id is not 32 hexadecimal digits"),
        ({"report": "0" * 7}, "its report is not the 8 hexadecimal digits of one of app"),
        ({"report": "0" * 9}, "its report is not the 8 hexadecimal digits of one of app"),
        ({"report": "zz" * 4}, "its report is not the 8 hexadecimal digits of one of app"),
        ({"report": 5}, "its report is not the 8 hexadecimal digits of one of app"),
        ({"report": None}, "its report is not the 8 hexadecimal digits of one of app"),
        ({"public": 1}, "its public values are not a JSON object"),
        ({"public": []}, "its public values are not a JSON object"),
    ],
)
def test_a_line_that_no_device_sent_says_what_is_wrong(store, tmp_path, change, reason):
    """Whether it is the only line or not; and never with a column that such lines do not have."""
    survey = fake_survey(public=[PublicColumn("x", "int")])
    store.register(survey)
    good = json.loads(Report.of(survey, (0, 0, 0), {"x": 1}).to_json())
    bad = json.dumps({**good, **change})
    for row, lines in enumerate(([bad], [json.dumps(good), bad]), 1):
        (tmp_path / "r.jsonl").write_text("\n".join(lines))
        with pytest.raises(ReportError) as caught:
            store.ingest([tmp_path])
        said = str(caught.value)
        assert f"r.jsonl: row {row}: {reason} (row 1 is the first); nothing was taken" in said
        assert "skip invalid rows" in said
        assert "ldpsql_question" not in said
    assert store.ingest([tmp_path], skip_invalid=True)[0].reports == 1


@pytest.mark.parametrize(
    "line", ["not json", "[1]", '{"id": "0", "id": "1"}', '{"id": NaN}', '{"id": "\\ud800"}']
)
def test_a_line_that_is_not_json_says_so(store, tmp_path, line):
    store.register(fake_survey())
    good = Report.of(fake_survey(), (0, 0, 0), {}).to_json()
    for number, lines in enumerate(([line], [good, line]), 1):
        (tmp_path / "r.jsonl").write_text("\n".join(lines))
        with pytest.raises(
            ReportError,
            match=rf"1 broken line\(s\), the first at {number}: each line must be a JSON object "
            "with distinct keys; nothing was taken",
        ):
            store.ingest([tmp_path])
    assert store.ingest([tmp_path], skip_invalid=True)[0].reports == 1


def test_bytes_that_are_no_text_spoil_their_row_alone(store, tmp_path):
    survey = fake_survey(public=[PublicColumn("p", "text")])
    path = tmp_path / "r.csv"
    lines = add_ids("p,ldpsql_question,ldpsql_answer0,ldpsql_answer1\na,0,1,1\n~,0,1,1\n")
    path.write_bytes(lines.encode().replace(b"~", b"\xff"))
    with pytest.raises(ReportError, match="row 2: p is not of type text"):
        store.ingest([path], survey=survey)
    [batch] = store.ingest([path], survey=survey, skip_invalid=True)
    assert (batch.reports, batch.skipped) == (1, 1)


def test_undeclared_public_values_are_refused(store, tmp_path):
    survey = fake_survey(public=[PublicColumn("x", "int")])
    store.register(survey)
    line = json.loads(Report.of(survey, (0, 0, 0), {"x": 1}).to_json())
    (tmp_path / "r.jsonl").write_text(json.dumps({**line, "public": {"x": 1, "name": "Ann"}}))
    with pytest.raises(ReportError, match="not part of a report"):
        store.ingest([tmp_path], skip_invalid=True)


def test_the_key_of_a_public_column_may_hold_null_and_may_not_be_missing(store, tmp_path):
    """In lines as devices send them and in lines of columns."""
    survey, path = fake_survey(public=[PublicColumn("x", "int")]), tmp_path / "r.jsonl"
    store.register(survey)
    sent = json.loads(Report.of(survey, (0, 0, 0), {"x": None}).to_json())
    flat = {"ldpsql_question": 0, "ldpsql_answer0": 0, "ldpsql_answer1": 0, "ldpsql_id": "0" * 32}
    for good, bad in ((sent, {**sent, "public": {}}), ({**flat, "x": None}, flat)):
        path.write_text(f"{json.dumps(good)}\n{json.dumps(bad)}\n")
        with pytest.raises(ReportError, match="row 2: the key x is missing; write null where"):
            store.ingest([path])
        [batch] = store.ingest([path], skip_invalid=True)
        assert (batch.reports, batch.skipped) == (1, 1)


def counted(store):
    return 0 if not store.surveys() else int(store.sizes("app").sum())


def test_a_parquet_file_that_is_much_larger_in_memory_is_refused(store, tmp_path):
    """Eight gigabytes of a text that rows share; the files before it are kept."""
    survey = fake_survey(public=(PublicColumn("version", "text"),))
    rows = 1 << 17
    table = reports_of(survey, rows)
    pq.write_table(table.slice(0, 5), tmp_path / "a.parquet")
    texts = pa.DictionaryArray.from_arrays(np.zeros(rows, np.int32), ["x" * (1 << 16)])
    place = table.schema.get_field_index("version")
    pq.write_table(table.set_column(place, "version", texts), tmp_path / "b.parquet")
    with pytest.raises(ReportError, match=r"takes more than 1,073,741,824 bytes or \d+ s of the"):
        store.ingest([tmp_path], survey=survey)
    assert counted(store) == 5


@pytest.mark.parametrize("version", ["V1", "V2"])
def test_parquet_files_of_duckdb_are_taken(store, tmp_path, version):
    """Some of whose row groups have dictionaries of texts, and some encode differences."""
    survey, path = fake_survey(public=(PublicColumn("version", "text"),)), tmp_path / "r.parquet"
    table = reports_of(survey, 8192)
    texts = pa.array([*["few"] * 4096, *(f"v{i:06}" * 9 for i in range(4096))])
    table = table.set_column(table.schema.get_field_index("version"), "version", texts)
    with duckdb.connect(config={"threads": 1}) as connection:
        connection.sql(
            f"COPY (FROM \"table\") TO '{path}' (PARQUET_VERSION {version}, ROW_GROUP_SIZE 4096)"
        )
    with pq.ParquetFile(path) as file:
        place = file.schema_arrow.get_field_index("version")
        used = [file.metadata.row_group(g).column(place).encodings for g in range(2)]
    assert "RLE_DICTIONARY" in used[0] or "PLAIN_DICTIONARY" in used[0]
    assert ("DELTA_LENGTH_BYTE_ARRAY" in used[1]) == (version == "V2")
    assert store.ingest([path], survey=survey)[0].reports == 8192


@pytest.mark.parametrize("kind", ["string", "string_view", "dictionary"])
def test_a_text_that_many_rows_of_a_parquet_file_share_is_written_out(store, tmp_path, kind):
    survey, path = fake_survey(public=(PublicColumn("version", "text"),)), tmp_path / "r.parquet"
    table = reports_of(survey, 5000)
    place = table.schema.get_field_index("version")
    texts = pa.array(["x" * 1000] * 5000)
    texts = texts.dictionary_encode() if kind == "dictionary" else texts.cast(kind)
    pq.write_table(table.set_column(place, "version", texts), path, compression="zstd")
    assert store.ingest([path], survey=survey)[0].reports == 5000
    query = "SELECT DISTINCT version FROM reports_app"
    assert store._rows(query) == [("x" * 1000,)]
