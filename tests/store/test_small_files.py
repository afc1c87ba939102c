"""Small files are taken together, and each as if it had come alone."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.fake_survey import fake_survey, reports_of, with_new_ids

from ldpsql.store import Selection, Store, base, open_store, rules
from ldpsql.store.duckdb.store import DuckDBStore
from ldpsql.store.rules import Batch
from ldpsql_device.errors import ReportError
from ldpsql_device.schema import PublicColumn

FILES, ROWS = 7, 5


def write(folder: Path, tables: list[pa.Table]) -> list[Path]:
    paths = [folder / f"{number:02}.parquet" for number in range(len(tables))]
    for path, table in zip(paths, tables, strict=True):
        pq.write_table(table, path)
    return paths


def several(survey: object) -> list[pa.Table]:
    return [with_new_ids(reports_of(survey, ROWS)) for _ in range(FILES)]  # type: ignore[arg-type]


def ingest(store: Store, paths: list[Path], survey: object, **options: object) -> list[Batch]:
    return store.ingest(paths, survey=survey, **options)  # type: ignore[arg-type]


def commits(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many files each change adds."""
    seen, right = list[int](), DuckDBStore._add_reports

    def add(self: DuckDBStore, intake: object, files: list[object], *more: object) -> list[int]:
        seen.append(len(files))
        return right(self, intake, files, *more)  # type: ignore[arg-type]

    monkeypatch.setattr(DuckDBStore, "_add_reports", add)
    return seen


def test_files_are_batches_as_if_they_had_come_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    survey, seen = fake_survey(), commits(monkeypatch)
    paths = write(tmp_path, several(survey))
    with open_store(None, read_only=False) as together, open_store(None, read_only=False) as alone:
        found = ingest(together, paths, survey)
        assert seen == [FILES]
        monkeypatch.setattr(rules, "SMALL", -1)
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
    right = DuckDBStore._add_reports

    def fail(self: DuckDBStore, intake: object, files: list[object], *more: object) -> list[int]:
        taken = right(self, intake, files, *more)  # type: ignore[arg-type]
        if len(told) == 3:
            raise OSError("no room")
        return taken

    with open_store(None, read_only=False) as store:
        with monkeypatch.context() as patch:
            patch.setattr(DuckDBStore, "_add_reports", fail)
            with pytest.raises(OSError, match="no room"):
                ingest(store, paths, survey, tell=told.append)
        assert store.sizes("app").sum() == 3 * ROWS
        found = ingest(store, paths, survey)
        assert [batch.known for batch in found] == [True] * 3 + [False] * 4
        assert store.sizes("app").sum() == FILES * ROWS
        assert store.check() == []


def test_no_more_is_held_in_memory_than_a_few_megabytes_and_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However many rows a small file has, and however long its texts are."""
    survey, seen = fake_survey(public=[PublicColumn("p", "text")]), commits(monkeypatch)
    plain = reports_of(survey, 400)
    long = pa.array(["x" * 50_000] * 400)
    place = plain.column_names.index("p")
    tables = [with_new_ids(plain.set_column(place, "p", long)) for _ in range(3)]
    paths = write(tmp_path, [*tables, with_new_ids(plain.slice(0, 3))])
    assert all(path.stat().st_size <= rules.SMALL for path in paths)
    with open_store(None, read_only=False) as store:
        assert [batch.reports for batch in ingest(store, paths, survey)] == [400] * 3 + [3]
        assert seen == [1, 1, 1, 1]
    monkeypatch.setattr(base, "MOST_ROWS", 399)
    monkeypatch.setattr(rules.Small, "read", lambda *_: pytest.fail("it was held in memory"))
    with open_store(None, read_only=False) as store:
        assert [batch.reports for batch in ingest(store, paths[:3], survey)] == [400] * 3


def test_files_of_several_surveys_and_large_ones_may_alternate(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    surveys, seen = [fake_survey(), fake_survey(table="other")], commits(monkeypatch)
    tables = [with_new_ids(reports_of(surveys[number // 2 % 2], ROWS)) for number in range(6)]
    big = with_new_ids(reports_of(surveys[0], 4_000))
    paths = write(tmp_path, [*tables, big, tables[0].slice(0, 0)])
    assert paths[6].stat().st_size > rules.SMALL
    for survey in surveys:
        (tmp_path / f"{survey.table}.json").write_text(survey.device_text)
    with open_store(None, read_only=False) as store:
        found = store.ingest(paths)
        assert [batch.reports for batch in found] == [5] * 6 + [4_000, 0]
        assert seen == [2, 2, 2, 1, 1]
        assert (store.sizes("app").sum(), store.sizes("other").sum()) == (4_020, 10)
