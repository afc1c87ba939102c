"""Two processes that answer one survey at the same time, under two names of one ledger."""

from __future__ import annotations

import multiprocessing

import pytest
from support.ledger_processes import answer_together


def race(folder, tries, *, guarded):
    """The ids of the reports that left each process, survey by survey."""
    (folder / "one").mkdir()
    (folder / "one" / "ledger").symlink_to(folder / "ledger")
    (folder / "two").symlink_to(folder / "one")
    context = multiprocessing.get_context("spawn")
    barrier, answers = context.Barrier(2, timeout=60), context.Queue()
    processes = [
        context.Process(
            target=answer_together,
            args=(str(folder / name / "ledger"), tries, barrier, answers),
            kwargs={"guarded": guarded},
        )
        for name in ("one", "two")
    ]
    for process in processes:
        process.start()
    first, second = (answers.get(timeout=300) for _ in processes)
    for process in processes:
        process.join(30)
    assert len(first) == len(second) == tries
    return list(zip(first, second, strict=True))


@pytest.mark.parametrize("tries", [10, pytest.param(1000, marks=pytest.mark.slow)])
def test_two_processes_never_draw_twice(memory_folder, tries):
    pairs = race(memory_folder, tries, guarded=True)
    assert all(one == two for one, two in pairs)
    assert len(set(pairs)) == tries
    assert all(len(one) == 32 for one, _ in pairs)
    assert sorted(place.name for place in memory_folder.iterdir()) == ["ledger", "one", "two"]


@pytest.mark.slow
def test_control_without_transactions_some_surveys_get_two_reports(memory_folder):
    assert any(one != two for one, two in race(memory_folder, 50, guarded=False))
