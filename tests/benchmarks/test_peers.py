"""A peer that is a command: what it is given, what is made of what it gives."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import pytest

from benchmarks.peers import ours
from benchmarks.peers.__main__ import main
from benchmarks.peers.folder import CannotDo, Peer, installed, named
from benchmarks.peers.table import lines
from benchmarks.peers.work import Task, codes_of, queries_of, truth

TASK = Task("2-D, 64x64", "correlated", "1", 2000)
EXACT = """
import sys, pathlib
sys.path.insert(0, {adapters!r})
from exchange import answer, task
told, codes, queries = task()
assert told == {{"epsilon": 1.0, "sizes": [64, 64], "seed": 5}}
answer([((codes >= q[:, 0]) & (codes < q[:, 1])).all(axis=1).mean() for q in queries])
"""

ANSWER = """
import sys, pathlib, pyarrow, pyarrow.parquet
folder = pathlib.Path(sys.argv[1])
pyarrow.parquet.write_table(pyarrow.table({{"share": {}}}), folder / "answers.parquet")
"""


def peer(folder: Path, text: str) -> Peer:
    script = folder / "peer.py"
    script.write_text(text)
    return named(f"exact={sys.executable} {script}")


def test_a_peer_gets_the_task_and_gives_answers(tmp_path: Path) -> None:
    """One that sees the codes in clear is exact."""
    adapters = str(Path(ours.__file__).parent / "adapters")
    codes, queries = codes_of(TASK), queries_of(TASK, 20)
    shares, _ = peer(tmp_path, EXACT.format(adapters=adapters)).answers(TASK, codes, queries, 5)
    assert shares == pytest.approx(truth(codes, queries))


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("import sys; print('one dimension only', file=sys.stderr); sys.exit(3)", "^one dimension"),
        ("raise ValueError('no')", "failed: ValueError: no"),
        ("", "wrote no answers.parquet"),
        (ANSWER.format("[float('nan'), 1.0]"), "gave 1 numbers to 2"),
        pytest.param(ANSWER.format("[0.5]"), "gave 1 numbers to 2", marks=pytest.mark.slow),
    ],
)
def test_a_peer_that_cannot(tmp_path: Path, text: str, reason: str) -> None:
    """Says why, and the rest goes on."""
    with pytest.raises(CannotDo, match=reason):
        peer(tmp_path, text).answers(TASK, codes_of(TASK), queries_of(TASK, 2), 0)


@pytest.mark.slow
def test_a_failure_is_not_kept(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Neither is what another command of the same name gave."""
    asked = ["-o", str(tmp_path / "out"), "--people", "0", "--peer-people", "500", "--runs", "1"]
    asked += ["--peer-runs", "1", "--queries", "2", "--epsilon", "1", "--shapes", "1-D, 256"]
    script, found = tmp_path / "peer.py", []
    for text in ("raise ValueError", ANSWER.format("[0.5, 0.5]"), "raise ValueError"):
        script.write_text(text)
        for other in ("", "-B "):
            main([*asked, "--peer", f"new={sys.executable} {other}{script}"])
            (row,) = (
                row
                for row in json.loads((tmp_path / "out" / "peers.json").read_text())["rows"]
                if row["name"] == "new" and row["data"] == "gauss"
            )
            found.append(bool(row["why"]))
    assert found == [True, True, False, False, False, False]
    main([*asked, "--peer", f"new={sys.executable} -s {script}"])
    assert "failed: ValueError" in capsys.readouterr().out


@pytest.mark.parametrize("text", ["name", "name=", "=true", "fourier=true", "pure-ldp=true"])
def test_what_is_no_new_peer(text: str) -> None:
    """Its results would be taken for those of another."""
    with pytest.raises(ValueError, match="NAME=COMMAND"):
        named(text)
    with pytest.raises(CannotDo, match="cannot be started"):
        named("new=/nowhere/at/all").answers(TASK, codes_of(TASK), queries_of(TASK, 2), 0)


def test_what_is_not_installed_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LDPSQL_PEERS_PYTHON", raising=False)
    for found in installed():
        with pytest.raises(CannotDo, match="not installed"):
            found.answers(TASK, codes_of(TASK), queries_of(TASK, 2), 0)


def test_ours_on_the_common_work() -> None:
    """Within six of the largest standard errors that HaarHRR can have: ((e + 1) / (e - 1)) h /
    sqrt(2 n) with h = 8 levels (docs/spec/h4mda.md#4)."""
    task = Task("1-D, 256", "gauss", "2", 20_000)
    codes, queries = codes_of(task), queries_of(task, 5)
    shares, _ = ours.answers(task, "haarhrr", codes, queries, 1)
    odds = np.exp(2.0)
    stderr = (odds + 1) / (odds - 1) * 8 / np.sqrt(2 * task.people)
    assert 0.0 < np.abs(shares - truth(codes, queries)).max() < 6 * stderr


def test_the_table_has_ratios_and_reasons() -> None:
    """Errors are compared with ours for as many people; who cannot is said why."""
    common = {"shape": "1-D, 256", "data": "gauss", "epsilon": 1.0, "seconds": 1.0}
    rows = [
        {**common, "name": "fourier", "people": 400, "error": 0.01, "why": ""},
        {**common, "name": "hio", "people": 400, "error": 0.025, "why": ""},
        {**common, "name": "fourier", "people": 100, "error": 0.02, "why": ""},
        {**common, "name": "other", "people": 100, "error": 0.03, "why": ""},
        {**common, "name": "third", "people": 100, "error": float("nan"), "why": "not installed"},
    ]
    text = "\n".join(lines(rows))
    assert "| 1-D, 256 | gauss | 1 | 1.000 % | 2.50 |\n" in text
    assert "| 1-D, 256 | gauss | 1 | 2.000 % | 1.50 | no |\n" in text
    assert "* no: third (peer), 1-D, 256: not installed" in text
    assert "pool" not in text
    hashed = {**common, "name": "pure-ldp", "people": 400, "error": 0.02, "why": ""}
    smooth = {**common, "name": "fourier, smooth", "people": 400, "error": 0.02, "why": ""}
    text = "\n".join(lines([*rows, smooth, hashed]))
    assert "the others are unbiased, pure-ldp nearly so." in text
    assert "a pool of hash functions that everybody shares" in text


def test_the_truth_counts_people_one_by_one() -> None:
    """Also for ranges beyond the codes that anybody has."""
    codes = np.array([[0, 3], [1, 3], [1, 0], [1, 1]])
    queries = np.array([[[1, 2], [0, 2]], [[0, 9], [3, 4]], [[0, 2], [0, 5]], [[5, 7], [0, 4]]])
    one_by_one = [
        np.mean(
            [all(lo <= c < hi for c, (lo, hi) in zip(person, box, strict=True)) for person in codes]
        )
        for box in queries
    ]
    assert truth(codes, queries).tolist() == one_by_one == [0.5, 0.5, 1.0, 0.0]
