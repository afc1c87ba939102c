from __future__ import annotations

from importlib import metadata
from pathlib import Path

import pytest
from support.fake_survey import fake_survey

from ldpsql import extensions
from ldpsql.store import open_store
from ldpsql_device.errors import StoreError


def test_a_path_and_a_file_url_open_the_same_store(tmp_path):
    place = tmp_path / "a b%.duckdb"
    with open_store(place, read_only=False) as store:
        store.register(fake_survey())
    for url in (str(place), place.as_uri(), Path(place.as_uri())):
        with open_store(url, read_only=True) as store:
            assert [survey.table for survey in store.surveys()] == ["app"]


@pytest.mark.parametrize("url", [None, ":memory:"])
def test_a_store_in_memory_needs_no_file(url):
    with open_store(url, read_only=False) as store:
        assert store.surveys() == []


@pytest.mark.parametrize("url", ["http://localhost:8000", "s3://bucket/key"])
@pytest.mark.parametrize("kind", [str, Path])
def test_a_store_of_another_kind_is_refused(url, kind):
    scheme = url.split(":")[0]
    with pytest.raises(StoreError, match=f"{scheme}:// is not supported; give the path of"):
        open_store(kind(url), read_only=True)


@pytest.mark.parametrize("value", ["math:pi", "builtins:len", "builtins:dict", "os:path"])
def test_what_a_package_brings_must_be_a_store(monkeypatch, value):
    entry = metadata.EntryPoint("other", value, "ldpsql.stores")
    monkeypatch.setattr(metadata, "entry_points", lambda **_: [entry])
    for cached in (extensions.installed, extensions.load):
        cached.cache_clear()
    with pytest.raises(StoreError, match=r"^store other: what .* brings is no store; update or"):
        open_store("other:///a", read_only=True)
    for cached in (extensions.installed, extensions.load):
        cached.cache_clear()


def test_how_much_memory_the_database_takes_is_as_told(tmp_path):
    with open_store(tmp_path / "s.duckdb", read_only=False, memory=256) as store:
        assert store._rows("SELECT current_setting('memory_limit')") == [("244.1 MiB",)]
