"""Files are taken together, and each as if it had come alone."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.fake_survey import fake_survey, reports_of, with_new_ids, write_csv

from ldpsql.store import Selection, arrivals, incoming, open_store, rules
from ldpsql.store.rules import Batch
from ldpsql.store.store import Store
from ldpsql_device.errors import ReportError

FILES, ROWS = 7, 5


def write(folder: Path, tables: list[pa.Table]) -> list[Path]:
    paths = [folder / f"{number:02}.parquet" for number in range(len(tables))]
    for path, table in zip(paths, tables, strict=True):
        pq.write_table(table, path)
    return paths


def several(survey: object) -> list[pa.Table]:
    return [with_new_ids(reports_of(survey, ROWS)) for _ in range(FILES)]  # type: ignore[arg-type]


def people(store: Store) -> int:
    return int(store.sizes("app").sum()) if store.surveys() else 0


def ingest(store: Store, paths: list[Path], survey: object, **options: object) -> list[Batch]:
    return store.ingest(paths, survey=survey, **options)  # type: ignore[arg-type]


def commits(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many files each change adds."""
    seen, right = list[int](), Store._add_reports

    def add(self: Store, intake: object, files: list[object], *more: object) -> list[int]:
        seen.append(len(files))
        return right(self, intake, files, *more)  # type: ignore[arg-type]

    monkeypatch.setattr(Store, "_add_reports", add)
    return seen


def test_files_are_batches_as_if_they_had_come_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    survey, seen = fake_survey(), commits(monkeypatch)
    paths = write(tmp_path, several(survey))
    with open_store(None, read_only=False) as together, open_store(None, read_only=False) as alone:
        found = ingest(together, paths, survey)
        assert seen == [FILES]
        monkeypatch.setattr(rules, "MOST_FILES", 1)
        assert ingest(alone, paths, survey) == found
        assert seen == [FILES, *[1] * FILES]
        assert [batch.reports for batch in found] == [ROWS] * FILES
        assert together.batches("app") == alone.batches("app")
        [(_, one)], [(_, other)] = (
            store.histograms("app", Selection()) for store in (together, alone)
        )
        assert one.people == other.people == FILES * ROWS
        assert together.check() == []
        again = ingest(together, paths, survey)
        assert all(batch.known for batch in again)
        assert together.withdraw("app", [2]) == ROWS
        assert together.check() == []


def test_files_that_are_known_are_passed_over_by_a_later_process(tmp_path: Path) -> None:
    """A store that was just opened has counted nothing yet, and has nothing to count."""
    survey, database = fake_survey(), tmp_path / "app.duckdb"
    paths = write(tmp_path, several(survey))
    with open_store(database, read_only=False) as store:
        ingest(store, paths, survey)
    with open_store(database, read_only=False) as store:
        assert all(batch.known for batch in ingest(store, paths, survey))
        assert store.check() == []


def test_of_repeats_the_first_counts_whichever_file_has_it(tmp_path: Path) -> None:
    survey = fake_survey()
    tables = several(survey)
    tables[3] = tables[1].take(list(range(ROWS))[::-1])
    paths = write(tmp_path, [*tables, tables[0]])
    with open_store(None, read_only=False) as store:
        found = ingest(store, paths, survey)
        assert [batch.reports for batch in found] == [5, 5, 5, 0, 5, 5, 5, 0]
        assert [batch.repeats for batch in found] == [0, 0, 0, 5, 0, 0, 0, 0]
        assert [batch.known for batch in found] == [False] * 7 + [True]
        assert store.check() == []


def test_files_before_one_that_is_refused_stay_taken(tmp_path: Path) -> None:
    survey, told = fake_survey(), list[Batch]()
    paths = write(tmp_path, several(survey))
    paths[4].write_bytes(b"no Parquet")
    with open_store(tmp_path / "s.duckdb", read_only=False) as store:
        with pytest.raises(ReportError, match=r"04\.parquet"):
            ingest(store, paths, survey, tell=told.append)
        assert [batch.name for batch in told] == [str(path) for path in paths[:4]]
        assert store.sizes("app").sum() == 4 * ROWS
        paths[4].unlink()
        found = ingest(store, [path for path in paths if path.exists()], survey)
        assert [batch.known for batch in found] == [True] * 4 + [False] * 2
        assert store.sizes("app").sum() == 6 * ROWS


def test_a_commit_that_fails_takes_none_of_its_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    survey, told = fake_survey(), list[Batch]()
    paths = write(tmp_path, several(survey))
    monkeypatch.setattr(rules, "MOST_FILES", 3)
    right = Store._add_reports

    def fail(self: Store, intake: object, files: list[object], *more: object) -> list[int]:
        taken = right(self, intake, files, *more)  # type: ignore[arg-type]
        if len(told) == 3:
            raise OSError("no room")
        return taken

    with open_store(None, read_only=False) as store:
        with monkeypatch.context() as patch:
            patch.setattr(Store, "_add_reports", fail)
            with pytest.raises(OSError, match="no room"):
                ingest(store, paths, survey, tell=told.append)
        assert store.sizes("app").sum() == 3 * ROWS
        found = ingest(store, paths, survey)
        assert [batch.known for batch in found] == [True] * 3 + [False] * 4
        assert store.sizes("app").sum() == FILES * ROWS
        assert store.check() == []


@pytest.mark.parametrize(
    ("bound", "most", "changes"),
    [("MOST_FILES", 2, [2, 2, 1]), ("MOST_ROWS", 950, [2, 1, 2]), ("MOST_BYTES", 0, [1] * 5)],
)
def test_what_is_taken_together_is_bounded_in_files_bytes_and_rows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, bound: str, most: int, changes: list[int]
) -> None:
    """Also where a file does not say how many rows it has: a row of text has 32 bytes of an id."""
    survey, seen = fake_survey(), commits(monkeypatch)
    tables = [with_new_ids(reports_of(survey, rows)) for rows in (400, 500, 1_200, 3, 7)]
    paths = write(tmp_path, tables[:4])
    write_csv(tables[4], tmp_path / "04.csv")
    monkeypatch.setattr(rules, bound, most)
    with open_store(None, read_only=False) as store:
        found = ingest(store, [*paths, tmp_path / "04.csv"], survey)
        assert [batch.reports for batch in found] == [400, 500, 1_200, 3, 7]
    assert seen == changes


@pytest.mark.parametrize("place", [0, 2, 4])
def test_nothing_is_left_of_a_file_that_is_refused_halfway(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: int
) -> None:
    """Many pieces of it are in the table by then, and reports of it are repeats of a later one."""
    survey, told, size = fake_survey(), list[Batch](), 40
    monkeypatch.setattr(incoming, "ROWS", 10)
    monkeypatch.setattr(arrivals, "_AT_ONCE", 15)
    tables = [with_new_ids(reports_of(survey, size)) for _ in range(5)]
    question = tables[place].column_names[0]
    values = [*tables[place][question].to_pylist()[:-1], 99]
    bad = tables[place].set_column(0, question, pa.array(values, tables[place][question].type))
    paths = write(tmp_path, [*tables[:place], bad, *tables[place + 1 :], tables[place]])
    with open_store(tmp_path / "s.duckdb", read_only=False) as store:
        with pytest.raises(ReportError, match=rf"0{place}\.parquet: row 40: "):
            ingest(store, paths, survey, tell=told.append)
        assert [batch.reports for batch in told] == [size] * place
        assert people(store) == size * place
        if place:
            assert store.check() == []
        found = ingest(store, [path for path in paths if path != paths[place]], survey)
        assert [batch.known for batch in found] == [True] * place + [False] * (5 - place)
        assert [batch.repeats for batch in found] == [0] * 5
        assert people(store) == 5 * size
        assert store.check() == []
        [skipped] = ingest(store, [paths[place]], survey, skip_invalid=True)
        assert (skipped.reports, skipped.repeats, skipped.skipped) == (0, size - 1, 1)


def test_files_of_several_surveys_may_alternate(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    surveys, seen = [fake_survey(), fake_survey(table="other")], commits(monkeypatch)
    tables = [with_new_ids(reports_of(surveys[number // 2 % 2], ROWS)) for number in range(6)]
    big = with_new_ids(reports_of(surveys[0], 4_000))
    paths = write(tmp_path, [*tables, big, tables[0].slice(0, 0)])
    for survey in surveys:
        (tmp_path / f"{survey.table}.json").write_text(survey.device_text)
    with open_store(None, read_only=False) as store:
        found = store.ingest(paths)
        assert [batch.reports for batch in found] == [5] * 6 + [4_000, 0]
        assert seen == [2, 2, 4]
        assert (store.sizes("app").sum(), store.sizes("other").sum()) == (4_020, 10)


def test_a_file_that_names_no_survey_may_follow_one_that_does(tmp_path: Path) -> None:
    survey = fake_survey()
    tables = several(survey)
    (tmp_path / "app.json").write_text(survey.device_text)
    paths = write(tmp_path, tables[:2])
    write_csv(tables[2], tmp_path / "02.csv")
    with open_store(None, read_only=False) as store:
        assert [b.reports for b in store.ingest([*paths, tmp_path / "02.csv"])] == [ROWS] * 3


@pytest.mark.parametrize("together", [True, False])
def test_a_file_that_names_no_survey_is_refused_once_there_are_two(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, together: bool
) -> None:
    """Even where one like it was taken while there was one survey."""
    surveys, told = [fake_survey(), fake_survey(table="other")], list[Batch]()
    for survey in surveys:
        (tmp_path / f"{survey.table}.json").write_text(survey.device_text)
    tables = [with_new_ids(reports_of(surveys[own], ROWS)) for own in (0, 0, 1, 0)]
    paths = [tmp_path / name for name in ("0.parquet", "1.csv", "2.parquet", "3.csv")]
    for path, table in zip(paths, tables, strict=True):
        (write_csv if path.suffix == ".csv" else pq.write_table)(table, path)
    if not together:
        monkeypatch.setattr(rules, "MOST_FILES", 1)
    with open_store(None, read_only=False) as store:
        with pytest.raises(ReportError, match=r"3\.csv does not say .* the store has 2"):
            store.ingest(paths, tell=told.append)
        assert [batch.reports for batch in told] == [ROWS] * 3
        assert (store.sizes("app").sum(), store.sizes("other").sum()) == (2 * ROWS, ROWS)
