"""Look-up tables in a store: kept under names of their own, for writers alone."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.command_line import store_reports

from ldpsql.sql.lookups import PublicTable
from ldpsql.store import open_store
from ldpsql.store import store as store_module
from ldpsql_device.errors import DataError, IntegrityError, StoreError

REGIONS = PublicTable.of("regions", {"state": ["NY", None], "n": [1, 2]})


def test_a_table_is_as_it_was_when_the_store_is_opened_again(tmp_path: Path) -> None:
    path = tmp_path / "app.duckdb"
    with open_store(path, read_only=False) as store:
        assert store.lookups() == []
        store.add_lookup(REGIONS)
        assert store.lookup("REGIONS") == REGIONS
    with open_store(path, read_only=True) as store:
        (found,) = store.lookups()
        assert found == REGIONS
        assert found.rows.equals(REGIONS.rows)
        with pytest.raises(StoreError, match="read-only"):
            store.add_lookup(REGIONS)
        with pytest.raises(StoreError, match="read-only"):
            store.remove_lookup("regions")


def test_a_table_is_replaced_only_when_that_is_asked_for(tmp_path: Path) -> None:
    other = PublicTable.of("regions", {"x": [3]})
    with open_store(None, read_only=False) as store:
        store.add_lookup(REGIONS)
        with pytest.raises(IntegrityError, match="there is a look-up table regions"):
            store.add_lookup(other)
        store.add_lookup(other, replace=True)
        assert store.lookup("regions").rows.equals(other.rows)
        store.remove_lookup("Regions")
        assert store.lookup("regions") is None
        with pytest.raises(DataError, match="no look-up table 'regions'"):
            store.remove_lookup("regions")


def test_surveys_and_look_up_tables_have_different_names(tmp_path: Path) -> None:
    path = tmp_path / "app.duckdb"
    survey = store_reports(path, 10)
    taken = PublicTable.of("app", {"x": [1]})
    store = open_store(path, read_only=False)
    with store, pytest.raises(IntegrityError, match="there is a survey app"):
        store.add_lookup(taken)
    with open_store(None, read_only=False) as store:
        store.add_lookup(taken)
        with pytest.raises(IntegrityError, match="look-up table app"):
            store.register(survey)


def test_there_are_not_too_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store_module, "MAX_LOOKUPS", 1)
    with open_store(None, read_only=False) as store:
        store.add_lookup(REGIONS)
        with pytest.raises(IntegrityError, match="at most 1 look-up"):
            store.add_lookup(PublicTable.of("b", {"x": [1]}))
