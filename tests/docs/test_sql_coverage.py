"""docs/sql-coverage.md says what becomes of each of its statements now."""

from __future__ import annotations

from support.sql_coverage import TARGET, Outcome, outcomes, page


def test_the_page_is_current() -> None:
    found = outcomes()
    every: list[Outcome] = [each for listed in found.values() for each in listed.values()]
    assert len(every) >= 200
    assert sum(each.kind == "bars" for each in every) >= 160
    assert all("\n" not in each.why for each in every)
    hint = "run PYTHONPATH=tests python -m support.sql_coverage"
    assert TARGET.read_text(encoding="utf-8") == page(found), hint
