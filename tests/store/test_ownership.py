"""Whose files beside a store are taken for its own."""

from __future__ import annotations

import os
from types import SimpleNamespace

import pytest

from ldpsql.store.ownership import is_foreign

pytestmark = pytest.mark.skipif(os.name != "posix", reason="there are no such owners")


@pytest.mark.parametrize(
    ("owner", "expected"), [(100, False), (0, False), (7, False), (101, True), (8, True)]
)
def test_files_of_the_asker_of_root_and_of_who_is_trusted_are_own(
    monkeypatch, tmp_path, owner, expected
):
    monkeypatch.setattr(os, "geteuid", lambda: 100)
    folder = tmp_path.stat().st_uid
    assert folder not in (101, 8)
    assert is_foreign(SimpleNamespace(st_uid=owner), tmp_path, 7) is expected


def test_files_of_the_owner_of_the_folder_are_own(monkeypatch):
    monkeypatch.setattr(os, "geteuid", lambda: 100)
    folder = SimpleNamespace(stat=lambda: SimpleNamespace(st_uid=55))
    assert not is_foreign(SimpleNamespace(st_uid=55), folder)
    assert is_foreign(SimpleNamespace(st_uid=56), folder)


def test_there_are_no_foreign_files_where_files_have_no_owners(monkeypatch, tmp_path):
    monkeypatch.setattr(os, "name", "nt")
    own = is_foreign(SimpleNamespace(st_uid=4321), tmp_path)
    monkeypatch.undo()
    assert not own
