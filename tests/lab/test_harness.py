"""A comparison, stopped and continued; its numbers against the mechanism's own prediction."""

from __future__ import annotations

import math
import os
import select
import signal
import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import replace
from multiprocessing import active_children
from pathlib import Path

import pytest
from support.comparisons import COUNTS, comparison, raw, stored, survey_file

from ldpsql.algebra.boxes import LinearQuery
from ldpsql.planner.where import slices
from ldpsql_device.epsilon import Epsilon
from ldpsql_device.errors import OperationalError, StoreError, SurveyError
from ldpsql_lab.bench import harness
from ldpsql_lab.bench.candidates import CandidateSpec
from ldpsql_lab.bench.harness import Outcome, RunsDone, compare
from ldpsql_lab.bench.summary import lines, refusals
from ldpsql_lab.bench.truth import People


class Stopped(Exception):
    """As if somebody had pressed a key."""


def ran(folder: Path, stop_after: int | None = None, **more: object) -> list[RunsDone]:
    """Compare in a folder; what was said."""
    said: list[RunsDone] = []

    def say(progress: RunsDone) -> None:
        said.append(progress)
        if len(said) == stop_after:
            raise Stopped

    compare(comparison("hio", "grr", repetitions=3, **more), folder, say=say)
    return said


def test_what_was_done_is_not_done_again(tmp_path: Path) -> None:
    """Six runs, stopped after two: four are left, and then none."""
    with pytest.raises(Stopped):
        ran(tmp_path, stop_after=2)
    said = ran(tmp_path)
    assert [progress.done for progress in said] == [3, 4, 5, 6]
    assert {progress.kept for progress in said} == {2}
    assert ran(tmp_path) == []


def test_a_stopped_comparison_gives_what_a_whole_one_does(tmp_path: Path) -> None:
    """To the last bit."""
    with pytest.raises(Stopped):
        ran(tmp_path / "a", stop_after=2)
    found = [
        [outcome.answers for _, outcome in compare(comparison("hio", "grr"), tmp_path / name)]
        for name in ("a", "b")
    ]
    assert found[0] == found[1]


def test_every_setting_is_run_once_before_any_is_repeated() -> None:
    """What does not fit is known early, and so is how long the rest takes."""
    asked = replace(comparison("hio", "grr", repetitions=3), epsilons=("1", "2"))
    assert [case.repetition for case in asked.cases] == [0] * 4 + [1, 2] * 4
    assert len({case.parts[:3] for case in asked.cases[:4]}) == 4
    assert len(set(asked.cases)) == 12


@pytest.mark.slow
def test_another_seed_is_another_comparison(tmp_path: Path) -> None:
    """Nothing is taken over."""
    ran(tmp_path)
    assert len(ran(tmp_path, seed=1)) == 6


def bench(folder: Path, repetitions: int, *more: str) -> tuple[Path, list[str]]:
    """Where the cases of a comparison lie, and the command that makes it."""
    (survey := folder / "survey.toml").write_text(COUNTS)
    command = [sys.executable, "-c", "from ldpsql.cli.main import main; main()", "bench"]
    command += [str(stored(folder)), "--survey", str(survey), "--cases", str(folder / "cases")]
    command += ["--mechanisms", "grr", "--repetitions", str(repetitions), "--queries", "3", *more]
    return folder / "cases", command


@pytest.mark.slow
def test_a_killed_process_leaves_whole_files(tmp_path: Path) -> None:
    """Killed without warning, its finished cases can be read, and the next run takes them."""
    folder, command = bench(tmp_path, 400)
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as process:
        deadline = time.monotonic() + 60.0
        while len(list(folder.glob("*.parquet"))) < 3 and time.monotonic() < deadline:
            time.sleep(0.01)
        process.send_signal(signal.SIGKILL)
        process.wait()
    kept = list(folder.glob("[!.]*.parquet"))
    assert 3 <= len(kept) < 400
    assert all(Outcome.read(path).answers.num_rows == 3 for path in kept)
    command[command.index("400")] = str(len(kept) + 1)
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert f"({len(kept)} done before)" in done.stderr


def test_a_fault_of_the_machine_is_not_kept_as_a_result(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It ends the run, and the next one tries again, instead of leaving the mechanism out."""

    def full(*_: object, **__: object) -> None:
        raise StoreError("the disk is full")

    asked = replace(
        comparison("grr", repetitions=1), candidates=(CandidateSpec("grr", "{}", None, False),)
    )
    with monkeypatch.context() as patched:
        patched.setattr(harness, "simulate", full)
        with pytest.raises(StoreError, match="disk is full"):
            compare(asked, tmp_path)
    assert refusals(compare(asked, tmp_path)) == {}


@pytest.mark.slow
def test_a_killed_worker_is_no_traceback(tmp_path: Path) -> None:
    """What was done before is kept, and said to be."""
    asked, done = comparison("hio", "grr", repetitions=20), []

    def kill(progress: RunsDone) -> None:
        done.append(progress)
        for child in active_children():
            child.kill()

    with pytest.raises(OperationalError, match="same command with fewer --jobs"):
        compare(asked, tmp_path, jobs=2, say=kill)
    kept = list(tmp_path.glob("[!.]*.parquet"))
    assert 1 <= len(done) == len(kept) < len(asked.cases)


@pytest.mark.slow
def test_numbers_agree_with_the_prediction(tmp_path: Path) -> None:
    """HIO on ages, one question, independent runs.

    A mean of m squares of normal errors has a relative standard deviation of sqrt(2 / m); 5 of
    them are alpha < 1e-6. A standard error of twice the size would be noticed.
    """
    runs = 200
    asked = comparison("hio", repetitions=runs)
    asked = replace(asked, questions=asked.questions[:1])
    (line,) = lines(compare(asked, tmp_path))
    survey = asked.candidates[0].survey(asked.file, Epsilon.parse("2"), 400)
    (question,) = asked.questions
    boxes = slices(question.query.predicate, asked.file.schema, question.sql)[0].boxes
    planned = [survey.design.prepare(LinearQuery.count(*boxes))]
    predicted = float(survey.design.variance(planned, 400)[0])
    tolerance = 5.0 * math.sqrt(2.0 / runs)
    assert line.errors.mse / predicted == pytest.approx(1.0, abs=tolerance)
    assert line.errors.mse / (4.0 * predicted) != pytest.approx(1.0, abs=tolerance)


@pytest.mark.slow
def test_unsound_mechanisms_are_left_out_unless_wanted(tmp_path: Path) -> None:
    """And are marked where they are wanted."""
    found = compare(comparison(repetitions=1), tmp_path)
    assert "not differentially private" in refusals(found)["lgrr"]
    assert all(line.sound for line in lines(found))
    found = compare(comparison("lgrr", "grr", repetitions=1, include_unsound=True), tmp_path)
    assert {line.mechanism: line.sound for line in lines(found)} == {"lgrr": False, "grr": True}


def test_a_named_mechanism_that_does_not_fit_stops_no_other(tmp_path: Path) -> None:
    """It is left out, and which and why is known."""
    found = compare(comparison("grr", "lgrr", "grr/best", repetitions=1), tmp_path)
    left_out = refusals(found)
    assert left_out["lgrr"].startswith("it is not differentially private")
    assert "no estimator 'best'" in left_out["grr/best"]
    assert {line.mechanism for line in lines(found)} == {"grr"}


def by_default(name: str) -> CandidateSpec:
    return CandidateSpec(name, is_named=False)


def test_what_was_left_out_is_no_answer_to_who_asks_for_it(tmp_path: Path) -> None:
    """What did not fit when nobody asked for it is refused to who does, and what waited for its
    name is run; and then it is left out again of what nobody asks for."""
    with_default = replace(
        comparison(repetitions=1), candidates=(by_default("lgrr"), by_default("truthful"))
    )
    for _ in range(2):
        left_out = refusals(compare(with_default, tmp_path))
        assert "not differentially private" in left_out["lgrr"]
        assert "ask for it by name" in left_out["truthful"]
        assert list(refusals(compare(comparison("lgrr", repetitions=1), tmp_path))) == ["lgrr"]
        assert refusals(compare(comparison("truthful", repetitions=1), tmp_path)) == {}


def test_what_does_not_fit_everywhere_is_said_with_its_setting(tmp_path: Path) -> None:
    """A batch of 300 is too small to be shuffled; with 500 it takes part."""
    text = COUNTS.replace('epsilon = "2"', 'epsilon = "2"\ntrust = "shuffle"\ndelta = "1e-4"')
    asked = comparison(repetitions=1, text=text.replace("[dim", "users = 400\n[dim"))
    asked = replace(asked, people=People(raw().select(["age"])), candidates=(by_default("grr"),))
    (reason,) = refusals(compare(replace(asked, users=(300, 500)), tmp_path)).items()
    assert reason[0] == "grr, epsilon 2, 300 people"
    assert list(refusals(compare(replace(asked, users=(300,)), tmp_path))) == ["grr"]


def test_a_damaged_case_is_run_again(tmp_path: Path) -> None:
    """A file cut short, one of something else, and one that is no Parquet."""
    asked = comparison("grr", "hio", "olh", repetitions=1)
    before = [outcome.answers for _, outcome in compare(asked, tmp_path)]
    first, second, third = sorted(tmp_path.glob("*.parquet"))
    first.write_bytes(first.read_bytes()[:100])
    second.write_bytes(stored(tmp_path).read_bytes())
    third.write_bytes(b"")
    said: list[RunsDone] = []
    after = [outcome.answers for _, outcome in compare(asked, tmp_path, say=said.append)]
    assert len(said) == 3
    assert after == before


@pytest.mark.slow
def test_the_estimator_that_is_asked_for_answers(tmp_path: Path) -> None:
    """With auto too; the survey's own where it names the mechanism and nobody asks for another."""
    epsilon, file = Epsilon.parse("2"), survey_file()
    assert CandidateSpec.parse("auto/smooth").survey(file, epsilon, 400).estimator == "smooth"
    file = survey_file(COUNTS.replace("epsilon =", 'estimator = "smooth"\nepsilon ='))
    assert CandidateSpec.parse("fourier").survey(file, epsilon, 400).estimator is None
    named = replace(file, mechanism="fourier")
    for text, expected in (("fourier", "smooth"), ("fourier/unbiased", "unbiased")):
        assert CandidateSpec.parse(text).survey(named, epsilon, 400).estimator == expected
    with pytest.raises(SurveyError, match="no estimator 'best'"):
        CandidateSpec.parse("auto/best").survey(file, epsilon, 400)
    asked = comparison("fourier", repetitions=1)
    results = [
        compare(replace(asked, file=replace(named, estimator=own)), tmp_path)[0][1]
        for own in ("smooth", "unbiased")
    ]
    assert [result.facts["estimator"] for result in results] == ["smooth", "unbiased"]


@pytest.mark.slow
def test_workers_end_with_a_killed_parent(tmp_path: Path) -> None:
    """They hold the raw table, and nobody would ever end them. The pipe that they inherit ends
    with the last of them."""
    folder, command = bench(tmp_path, 4000, "--jobs", "2")
    ours, theirs = os.pipe()
    with subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=theirs, start_new_session=True
    ) as process:
        os.close(theirs)
        try:
            deadline = time.monotonic() + 60.0
            while not list(folder.glob("[!.]*.parquet")) and time.monotonic() < deadline:
                time.sleep(0.05)
            process.kill()
            said = b"?"
            while said and select.select([ours], [], [], 20.0)[0]:
                said = os.read(ours, 1 << 16)
            assert said == b""
        finally:
            os.close(ours)
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)


@pytest.mark.slow
def test_two_processes_give_what_one_does(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """The same answers, in the same order; the workers end without a word."""
    asked = comparison("hio", "grr")
    one, two = (compare(asked, tmp_path / str(jobs), jobs=jobs) for jobs in (1, 2))
    assert [case for case, _ in one] == [case for case, _ in two]
    assert [outcome.answers for _, outcome in one] == [outcome.answers for _, outcome in two]
    assert capfd.readouterr().err == ""


def test_samples() -> None:
    """Without replacement where there are enough, with it where there are not; seeded."""
    people = People(raw())
    few, many = people.sample(50, 1), people.sample(1000, 1)
    assert (few.table.num_rows, many.table.num_rows) == (50, 1000)
    assert few.table == people.sample(50, 1).table
    assert few.table != people.sample(50, 2).table
    assert few.fingerprint != people.fingerprint
    assert people.sample(None, 1) is people


def test_candidates_read_back_what_they_are_called() -> None:
    """Name, options, estimator."""
    text = "hio:fanout=4:inference=consistent/smooth"
    found = CandidateSpec.parse(text)
    assert (found.mechanism, found.estimator, found.label) == ("hio", "smooth", text)
    assert found.options == '{"fanout": 4, "inference": "consistent"}'
    assert CandidateSpec.parse("hio:inference=consistent:fanout=4/smooth") == found
    for wrong in ("hoi", "hio:fanout", "auto:fanout=4"):
        with pytest.raises(SurveyError):
            CandidateSpec.parse(wrong)
