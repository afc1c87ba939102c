"""What is kept of decoded reports answers as all reports do, whatever brought them."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import date, timedelta
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.surveys import boolean, integer, measure, public, survey_toml
from support.tiers import keep_fast

from ldpsql.algebra.boxes import Box, LinearQuery, Weight
from ldpsql.designer import design
from ldpsql.engine.session import Session
from ldpsql.mechanisms.fourier.design import KeptDesign
from ldpsql.mechanisms.registry import MECHANISMS
from ldpsql.randomize.table import randomize_batch
from ldpsql.reports.arrow_types import ID_COLUMN
from ldpsql.reports.report import Decoded
from ldpsql.sql.quoting import literal
from ldpsql.store import Selection, companion, decoded, open_store, read_store
from ldpsql.store.intake import Intake
from ldpsql.store.opening import find_state
from ldpsql.store.store import Store
from ldpsql.survey import Survey
from ldpsql_device.errors import StoreError, SurveyError
from ldpsql_lab.simulation import SeededEntropy, accept_everything

TESTS = Path(__file__).parents[1]
DAYS = [date(2026, 3, 1) + timedelta(day) for day in range(3)]
SIZES = (400, 1, 700, 90, 1200)


@cache
def survey(mechanism: str = "fourier", table: str = "app", **options: object) -> Survey:
    """Ages, a pay and public columns, as far as the mechanism takes them."""
    takes = MECHANISMS[mechanism].takes
    age = integer("age", 0, 8, **({"sensitive": [3]} if takes.sensitive else {}))
    shown = (public("day", "date"), public("kind", "text"), public("amount", "float"))
    for accepted in ({}, {"accept_no_guarantee": True}):
        for columns in ((age, measure("pay", 0, 10), *shown), (age, *shown), (age,)):
            for more in ((), (boolean("member"),)):
                with suppress(SurveyError):
                    return design(
                        survey_toml(
                            *columns,
                            *more,
                            table=table,
                            epsilon="2",
                            mechanism=mechanism,
                            options=options,
                            **accepted,
                        )
                    )
    raise AssertionError(mechanism)


def reports(asked: Survey, size: int, seed: int) -> pa.Table:
    """Of made-up people; some public values are missing."""
    random = np.random.default_rng(seed)
    kinds = np.array(["a", "b", None], dtype=object)
    people = pa.table(
        {
            "age": random.integers(0, 9, size),
            "member": random.random(size) < 0.3,
            "pay": random.uniform(0, 10, size),
            "day": [DAYS[n] for n in random.integers(0, len(DAYS), size)],
            "kind": pa.array(kinds[random.integers(0, 3, size)], pa.string()),
            "amount": np.round(random.normal(5.0, 2.0, size), 1),
        }
    )
    return randomize_batch(asked, people, SeededEntropy(seed), policy=accept_everything(asked))[0]


def fill(store: Store, asked: Survey, keep: str = "reports") -> None:
    """Ingest batches of many sizes."""
    for seed, size in enumerate(SIZES):
        kept = keep if keep != "both" else ("reports", "counts")[seed % 2]
        store.ingest_table(reports(asked, size, seed), asked, keep=kept)
        if seed % 2:
            store.catch_up()


def answers(asked: Survey, chosen: Selection, found: Sequence[tuple[Any, Any]]) -> list[Any]:
    """Per key, and for counts and public sums of three ranges: values and covariance."""
    weights = [None, *dict.fromkeys(w for pair in chosen.moments for w in pair if w)]
    boxes = [Box((side, *(None for _ in asked.design.domain.sizes[1:]))) for side in RANGES]
    queries = [
        asked.design.prepare(LinearQuery(((1.0, box),), weight=weight))
        for box in boxes
        for weight in weights
    ]
    make = next(iter(asked.design.estimators.values()))
    # One by one: several histograms have the errors of their own rows.
    return [(key, make(replace(people, siblings=1)).answer(queries)) for key, people in found]


RANGES = (((0, 3),), ((2, 7),), ((8, 9),))
AMOUNT, PAID = Weight("amount"), Weight("amount", "present")
MOMENTS = ((AMOUNT, None), (PAID, None), (AMOUNT, AMOUNT), (AMOUNT, PAID), (PAID, PAID))
SELECTIONS = (
    Selection(),
    Selection(keys=("day",)),
    Selection(keys=("kind", "day")),
    Selection('"day" > DATE \'2026-03-01\' AND "kind" IS NOT NULL', ("kind",)),
    Selection("\"kind\" = 'z'"),
    Selection(moments=MOMENTS),
    Selection('"amount" > 5.0', ("day",), MOMENTS),
)


def compare(store: Store, asked: Survey, selections: Sequence[Selection]) -> None:
    for chosen in selections:
        kept = answers(asked, chosen, store.decode(asked.table, chosen))
        plain = answers(asked, chosen, store.histograms(asked.table, chosen))
        assert [key for key, _ in kept] == [key for key, _ in plain]
        for (_, ours), (_, theirs) in zip(kept, plain, strict=True):
            scale = max(1.0, np.abs(np.nan_to_num(theirs.values)).max())
            np.testing.assert_allclose(ours.values, theirs.values, rtol=1e-9, atol=1e-9 * scale)
            np.testing.assert_allclose(
                np.diagonal(ours.covariance), np.diagonal(theirs.covariance), rtol=1e-6
            )


@pytest.mark.fast(1)
@pytest.mark.parametrize(
    "mechanism",
    keep_fast(
        [name for name in MECHANISMS if name != "ft"],
        ("fourier", "hgrr", "hio", "oue", "cprr", "srr-ss", "truthful", "ahead"),
    ),
)
def test_estimates_are_those_from_all_reports(mechanism: str) -> None:
    asked = survey(mechanism)
    selections = SELECTIONS[: len(SELECTIONS) if asked.schema.public else 1]
    with open_store(None, read_only=False) as store:
        fill(store, asked)
        compare(store, asked, selections)


@pytest.mark.fast(1)
@pytest.mark.parametrize("keep", ["counts", "both"])
@pytest.mark.parametrize("options", [{"one_sided": "yes"}, {}], ids=str)
def test_estimates_when_reports_are_deleted(keep: str, options: dict[str, str]) -> None:
    asked = survey(**options)
    with open_store(None, read_only=False) as store:
        fill(store, asked, keep)
        compare(store, asked, SELECTIONS)
        assert is_kept(store)


def is_kept(store: Store, chosen: Selection = SELECTIONS[0]) -> bool:
    """Whether a question is answered from what is kept."""
    return all(isinstance(found, Decoded) for _, found in store.decode("app", chosen))


def test_what_the_parts_tell_is_answered_from_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """Day and kind make 12 parts; amounts are too many. Fewer parts, fewer columns."""
    monkeypatch.setattr(decoded, "MOST_PARTS", 12)
    asked = survey()
    with open_store(None, read_only=False) as store:
        fill(store, asked)
        assert [is_kept(store, chosen) for chosen in SELECTIONS] == [True] * 5 + [False] * 2
        compare(store, asked, SELECTIONS)
        monkeypatch.setattr(decoded, "MOST_PARTS", 8)
        store.ingest_table(reports(asked, 50, 99), asked)
        store.catch_up()
        told = [is_kept(store, chosen) for chosen in SELECTIONS]
        assert told == [True, True, False, False, False, False, False]
        compare(store, asked, SELECTIONS)
        monkeypatch.setattr(decoded, "MOST_PARTS", 0)
        store.ingest_table(reports(asked, 50, 100), asked)
        store.catch_up()
        assert [is_kept(store, chosen) for chosen in SELECTIONS] == [True] + [False] * 6
        compare(store, asked, SELECTIONS)


def test_a_question_reads_no_report_that_was_there_before(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = survey()
    with open_store(None, read_only=False) as store:
        fill(store, asked)
        store.catch_up()
        before = dict(answers(asked, SELECTIONS[0], store.decode("app", SELECTIONS[0])))
        with store._read_snapshot() as cursor:
            cursor.execute("DELETE FROM reports_app")
            cursor.execute("DELETE FROM histogram_app")
        assert Session(store).execute("SELECT COUNT(*) FROM app WHERE age < 3").table.num_rows == 1
        after = dict(answers(asked, SELECTIONS[0], store.decode("app", SELECTIONS[0])))
        np.testing.assert_array_equal(after[()].values, before[()].values)


def test_catching_up_reads_later_batches_alone() -> None:
    """Earlier reports are damaged; whoever counts anew finds that out."""
    asked = survey()
    with open_store(None, read_only=False) as whole, open_store(None, read_only=False) as store:
        for each in (whole, store):
            fill(each, asked)
            each.catch_up()
        with store._read_snapshot() as cursor:
            phase = store._layout("app").report_columns[1].sql
            cursor.execute(f"UPDATE reports_app SET {phase} = 0")
            cursor.execute(f"UPDATE histogram_app SET {phase} = 0")
        for each in (whole, store):
            each.ingest_table(reports(asked, 300, 77), asked)
            each.catch_up()
        require_alike(store, whole, asked)
        store.refresh("app")
        with pytest.raises(AssertionError):
            require_alike(store, whole, asked)


def require_alike(store: Store, other: Store, asked: Survey) -> None:
    """What two stores keep answers alike."""
    for chosen in SELECTIONS[:5]:
        found = (answers(asked, chosen, each.decode("app", chosen)) for each in (store, other))
        for (key, ours), (same, theirs) in zip(*found, strict=True):
            assert key == same
            scale = np.abs(np.nan_to_num(theirs.values)).max(initial=1.0)
            np.testing.assert_allclose(ours.values, theirs.values, rtol=1e-9, atol=1e-9 * scale)


@pytest.mark.parametrize("form", ["listed", "product"])
def test_the_numbers_of_a_decoding_are_those_of_its_arrays(form: str) -> None:
    """There may be more questions than cells."""
    columns = integer("age", 0, 12), integer("height", 0, 10)
    options = {"form": form}
    asked = design(survey_toml(*columns, mechanism="fourier", epsilon="1", options=options))
    random = np.random.default_rng(3)
    people = pa.table({name: random.integers(0, 10, 50) for name in ("age", "height")})
    drawn, _ = randomize_batch(asked, people, SeededEntropy(3), policy=accept_everything(asked))
    with open_store(None, read_only=False) as store:
        store.ingest_table(drawn, asked)
        store.catch_up()
        [(_, found)] = store.decode("app", Selection())
    assert isinstance(found, Decoded)
    decoding = asked.design.decoding
    assert decoding is not None
    numbers = sum(own.size for own in found.arrays.values())
    assert decoding.entries() == numbers <= decoding.numbers <= 1.5 * numbers


def test_another_version_of_the_decoder_starts_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the old one kept: here twice as much, and nothing in another store."""
    asked = survey()
    with open_store(None, read_only=False) as store:
        fill(store, asked)
        store.catch_up()
        design_of = type(asked.design)
        right = design_of.decoding.fget
        newer = property(lambda design: replace(right(design), version=right(design).version + 1))
        monkeypatch.setattr(design_of, "decoding", newer)
        assert not is_kept(store)
        store.ingest_table(reports(asked, 20, 7), asked)
        store.catch_up()
        assert is_kept(store)
        compare(store, asked, SELECTIONS)


def test_sums_that_cannot_be_written_leave_those_before(monkeypatch: pytest.MonkeyPatch) -> None:
    """All of a transaction or nothing, wherever it ends."""
    asked = survey()
    with open_store(None, read_only=False) as store:
        fill(store, asked)
        store.catch_up()
        store.ingest_table(reports(asked, 200, 55), asked)
        right, written = decoded.StoredSums.write, []

        def write(place: decoded.StoredSums, *given: Any) -> None:
            if len(written) == 2:
                raise InterruptedError
            written.append(given)
            right(place, *given)

        monkeypatch.setattr(decoded.StoredSums, "write", write)
        with pytest.raises(InterruptedError):
            store.catch_up()
        assert len(written) == 2
        compare(store, asked, SELECTIONS[:3])


def test_reports_that_came_one_by_one_are_counted_once_when_tidied_up() -> None:
    """Of a day's commits some are in the sums and some are not when they become one batch."""
    asked = survey()
    intake = Intake.of(asked)
    with open_store(None, read_only=False) as store:
        store.register(asked)
        for seed in range(6):
            store.take(intake, reports(asked, 40, seed).to_batches(), "http")
            if seed == 2:
                store.catch_up()
        store.tidy()
        store.take(intake, reports(asked, 40, 6).to_batches(), "http")
        assert is_kept(store)
        compare(store, asked, SELECTIONS)


@pytest.mark.fast(1)
@pytest.mark.parametrize("batches", [1, 2, 4])
def test_a_killed_writer_leaves_sums_and_reports_that_agree(tmp_path: Path, batches: int) -> None:
    asked = survey()
    path, made, file = (tmp_path / n for n in ("app.duckdb", "app.survey.json", "some.parquet"))
    asked.write(made)
    pq.write_table(reports(asked, 500, 1).drop_columns([ID_COLUMN]), file)
    command = [sys.executable, "-m", "support.killed_writer", str(path), str(made), str(file)]
    paths = os.pathsep.join([str(TESTS), os.environ.get("PYTHONPATH", "")])
    environment = {**os.environ, "PYTHONPATH": paths, "OPENBLAS_NUM_THREADS": "1"}
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=environment) as writer:
        assert writer.stdout is not None
        for _ in range(batches):
            assert writer.stdout.readline() == b"batch\n"
        time.sleep(0.02 * batches)  # into the next batch, or its sums
        writer.kill()
    with open_store(path, read_only=False) as store:
        [(_, found)] = store.histograms("app", Selection())
        assert found.people >= 500 * batches
        assert found.people % 500 == 0
        compare(store, asked, SELECTIONS[:4])


def test_control_sums_of_other_people_are_told_apart() -> None:
    """Reports that are in the sums and counted as later ones too."""
    asked = survey()
    with open_store(None, read_only=False) as store:
        fill(store, asked)
        store.catch_up()
        with store._read_snapshot() as cursor:
            cursor.execute("UPDATE decoded SET batch = batch - 1")
        with pytest.raises(AssertionError):
            compare(store, asked, SELECTIONS[:1])


def test_a_survey_that_cannot_be_asked_keeps_nothing(tmp_path: Path) -> None:
    """Until its collector's part is there: then all of its reports are decoded."""
    asked = survey()
    incomplete = Intake.read(asked.device_text)
    with open_store(tmp_path / "app.duckdb", read_only=False) as store:
        store.ingest_table(reports(asked, 300, 1), incomplete)
        store.catch_up()
        store.register(asked)
        store.ingest_table(reports(asked, 300, 2), asked)
        store.catch_up()
        assert is_kept(store)
        compare(store, asked, SELECTIONS)


# -- what follows from a design --------------------------------------------------------------------

EXCHANGED = (
    "UPDATE derived_app SET sums = (SELECT max(sums) FROM derived_app d WHERE d.name LIKE 'face%' "
    "AND octet_length(d.sums) = octet_length(derived_app.sums)) WHERE name LIKE 'face%'"
)
"""One face has what another one of its size had."""
MISTAKEN = "survey app: what is kept of its design is not what follows from it"
QUESTION = "SELECT COUNT(*), AVG(pay) FROM app WHERE age BETWEEN 2 AND 6"


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A store of the survey, with its sums."""
    with open_store(tmp_path / "app.duckdb", read_only=False) as store:
        fill(store, survey())
        store.catch_up()
    return tmp_path / "app.duckdb"


def ask(path: Path) -> tuple[list[Any], bool]:
    """Estimates and covariance of the question, and whether the plan was not read."""
    with read_store(path) as store:
        found = Session(store).execute(QUESTION).estimates()
        asked = store.survey("app")
        answer = [found.values.tolist(), found.covariance.tolist()]
        return answer, isinstance(asked.design, KeptDesign) and "plan" not in vars(asked.design)


def change_derived(path: Path, statement: str) -> None:
    """Change what is kept of the design, in the store and in its snapshot."""
    with open_store(path, read_only=False) as store, store._change():
        store._rows(statement)


def test_a_question_reads_no_plan(place: Path) -> None:
    answer, is_short = ask(place)
    assert is_short
    change_derived(place, "DROP TABLE derived_app")  # as in a store of an earlier version
    assert companion.find_published(place) == find_state(place)
    again, is_short = ask(place)
    assert not is_short
    np.testing.assert_allclose(np.hstack(answer[0]), np.hstack(again[0]), rtol=1e-12)
    np.testing.assert_allclose(np.hstack(answer[1]), np.hstack(again[1]), rtol=1e-12)


def test_the_plan_is_read_and_checked_by_who_asks_for_it(place: Path) -> None:
    asked = survey()
    with read_store(place) as store:
        kept = store.survey("app")
        assert isinstance(kept.design, KeptDesign)
        assert kept.design.report_format.limits.tolist() == asked.plan.limits.tolist()
        assert kept.design.report_format.columns == asked.plan.columns
        assert kept.design.question_shares.tolist() == asked.design.question_shares.tolist()
        assert "plan" not in vars(kept.design)
        assert kept.plan == asked.plan
        assert kept.to_json() == asked.to_json()


@pytest.mark.parametrize(
    "damage",
    [
        EXCHANGED,
        "UPDATE derived_app SET name = replace(name, 'arcs', 'comb')",
        "DELETE FROM derived_app WHERE name = 'seal'",
        "DELETE FROM derived_app WHERE name LIKE 'face%'",
        "UPDATE derived_app SET sums = sums[1:8] WHERE name LIKE 'face%'",
        "UPDATE derived_app SET sums = sums[1:7] WHERE name LIKE 'face%'",
        "UPDATE derived_app SET sums = NULL WHERE name = 'seal'",
    ],
)
def test_what_is_damaged_is_worked_out_anew(place: Path, damage: str) -> None:
    answer, _ = ask(place)
    change_derived(place, damage)
    again, is_short = ask(place)
    assert not is_short
    np.testing.assert_allclose(np.hstack(answer[1]), np.hstack(again[1]), rtol=1e-12)
    with open_store(place, read_only=False) as store:
        assert store.check() == [MISTAKEN]


def test_what_bears_its_seal_but_does_not_follow_from_the_design_is_told(place: Path) -> None:
    with open_store(place, read_only=False) as store:
        assert store.check() == []
        own = survey().fingerprint, decoded_version(store)
        with store._change(), store._read_snapshot() as cursor:
            forged = dict(decoded.recall(cursor, "app", *own) or {})
            name = next(name for name in forged if name.startswith("families"))
            forged[name] = forged[name].copy()
            forged[name][0] *= 1.01  # the share of the first one
            forged["seal"] = decoded._seal(*own, forged)
            cursor.execute("DELETE FROM derived_app")
            decoded._insert(cursor, "derived_app", "*", forged)
        assert store.check() == [MISTAKEN]


@pytest.mark.parametrize(
    ("table", "question"),
    [
        ("whole_app", QUESTION),
        ("sums_app", "SELECT day, COUNT(*) FROM app GROUP BY day"),
    ],
)
@pytest.mark.parametrize(
    "damage",
    keep_fast(
        [
            "UPDATE {} SET sums = NULL",
            "UPDATE {} SET sums = 'abc'::BLOB",
            "UPDATE {} SET sums = sums[1:8]",
            "DELETE FROM {} WHERE name = 'face 0'",
        ],
        ("UPDATE {} SET sums = sums[1:8]",),
    ),
)
def test_damaged_sums_answer_nothing(place: Path, table: str, question: str, damage: str) -> None:
    """And are named by who checks the store, and replaced by who decodes the reports anew."""
    with read_store(place) as store:
        answer = Session(store).execute(question).estimates().values.tolist()
    change_derived(place, damage.format(table))
    with read_store(place) as store:
        with pytest.raises(StoreError, match="decoded reports of app is damaged") as caught:
            Session(store).execute(question)
        assert len(str(caught.value).splitlines()) == 1
    with open_store(place, read_only=False) as store:
        assert any("damaged" in fault for fault in store.check())
        store.refresh("app")
        assert not store.check()
    with read_store(place) as store:
        again = Session(store).execute(question).estimates().values.tolist()
    np.testing.assert_allclose(again, answer, rtol=1e-12)


def test_the_text_of_another_survey_answers_nothing(place: Path) -> None:
    other = survey(one_sided="yes").to_json()
    change_derived(place, f"UPDATE surveys SET json = {literal(other)}")
    with read_store(place) as store, pytest.raises(SurveyError, match="its fingerprint names"):
        Session(store).execute(QUESTION)


def test_what_is_of_another_survey_or_version_is_not_taken(place: Path) -> None:
    with read_store(place) as store, store._read_snapshot() as cursor:
        version = decoded_version(store)
        own = ("app", survey().fingerprint)
        assert decoded.recall(cursor, *own, version)
        assert decoded.recall(cursor, "app", "0" * 64, version) is None
        assert decoded.recall(cursor, *own, version + 1) is None
        assert decoded.recall(cursor, "other", own[1], version) is None


def decoded_version(store: Store) -> int:
    decoding = store.survey("app").design.decoding
    assert decoding is not None
    return decoding.version


def test_control_a_seal_that_says_nothing_lets_damage_through(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    answer, _ = ask(place)
    with read_store(place) as store, store._read_snapshot() as cursor:
        query = "SELECT sums FROM derived_app WHERE name = 'seal'"
        [(seal,)] = cursor.execute(query).fetchall()
    monkeypatch.setattr(decoded, "_seal", lambda *_: np.frombuffer(seal, dtype="<f8"))
    change_derived(place, EXCHANGED)
    again, is_short = ask(place)
    assert is_short
    assert not np.allclose(np.hstack(answer[1]), np.hstack(again[1]), rtol=1e-6)
