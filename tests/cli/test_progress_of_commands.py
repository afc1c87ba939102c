"""The commands that may take long show that they run, from opening a file to writing one."""

from __future__ import annotations

import pytest
from support.command_line import run, store_reports

from ldpsql.cli import collect
from ldpsql.workbench import publish_command

WORK = [
    (publish_command, "open_to_ask"),
    (publish_command, "write_tables"),
    (collect, "open_store"),
]


@pytest.mark.parametrize(("module", "work"), WORK, ids=[name for _, name in WORK])
def test_the_bar_is_there_while_files_are_opened_and_written(tmp_path, monkeypatch, module, work):
    shown, seen = [], []

    class Watched(module.Progress):
        def __enter__(self):
            shown.append(self)
            return super().__enter__()

        def __exit__(self, *error):
            shown.remove(self)
            super().__exit__(*error)

    original = getattr(module, work)

    def watch(*arguments, **named):
        seen.append(len(shown))
        return original(*arguments, **named)

    monkeypatch.setattr(module, "Progress", Watched)
    monkeypatch.setattr(module, work, watch)
    store_reports(tmp_path / "s.duckdb", 300)
    queries = tmp_path / "q.sql"
    queries.write_text("-- name: a\nSELECT COUNT(*) FROM app")
    (tmp_path / "none.jsonl").touch()
    command = {
        publish_command: ("publish", "--queries", queries, "--to", tmp_path / "out"),
        collect: ("ingest", tmp_path / "none.jsonl"),
    }[module]
    done = run(*command, "--db", tmp_path / "s.duckdb")
    assert seen == [1], done.output
    assert shown == []
    assert "\x1b" not in done.stderr
