"""Runs SQLAlchemy's own test suite for dialects against ours; see `tests/test_sqlalchemy_suite.py`.

The suite makes and fills the tables that it asks: the engine is ours, over a driver that takes what
the suite writes (`support.writable`).
"""

from __future__ import annotations

from sqlalchemy.dialects import registry

registry.register("ldpsql", "support.writable_dialect", "WritableDialect")
registry.register("ldpsql.writable", "support.writable_dialect", "WritableDialect")

from sqlalchemy.testing.plugin.pytestplugin import *  # noqa: E402, F403
