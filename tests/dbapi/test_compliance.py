"""The compliance suite of PEP 249 (`pip install dbapi-compliance`), all of its 36 tests.

The suite writes tables before it reads them; `support.writable` takes what it writes. Two tests are
a driver's to write, and about a third reasonable persons differ, as the suite itself says.
"""

from __future__ import annotations

import pytest
from support import writable

import ldpsql

dbapi20 = pytest.importorskip("dbapi20", reason="dbapi-compliance is not installed")


class TestCompliance(dbapi20.DatabaseAPI20Test):
    driver = writable

    def test_nextset(self):
        assert not hasattr(ldpsql.Cursor, "nextset")  # optional: an answer is one set of rows

    def test_non_idempotent_close(self):
        connection = self._connect()
        connection.close()
        connection.close()  # does nothing, as in sqlite3; anything else is an error
        with pytest.raises(ldpsql.InterfaceError):
            connection.cursor()

    def test_setoutputsize(self):
        cursor = self._connect().cursor()
        assert cursor.setoutputsize(1000) is None


def test_the_suite_is_whole_and_the_driver_is_the_package():
    tests = [name for name in dir(TestCompliance) if name.startswith("test_")]
    assert len(tests) == 36
    own = {"Connection", "Cursor", "connect"}
    names = set(ldpsql.dbapi.connection.__all__)
    assert names <= set(ldpsql.__all__)
    for name in names:
        same = getattr(writable, name) is getattr(ldpsql, name)
        assert same is (name not in own)
        assert getattr(ldpsql, name) is getattr(ldpsql.dbapi.connection, name)
