"""Synthetic tables against the people that they are made from."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from datetime import date, timedelta
from itertools import combinations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from support.noise_free import ExactBoxes, ExactMechanism, ExactNodes, exact_survey
from support.shuffled_survey import USERS, raw_reports, shuffled_survey
from support.significance import chi_square, chi_square_bound, normal_bound
from support.surveys import (
    ANYTHING,
    boolean,
    category,
    integer,
    measure,
    public,
    survey_toml,
)

import ldpsql
from benchmarks import missing
from ldpsql.dbapi.connection import Connection
from ldpsql.designer import design
from ldpsql.engine.notes import guarantee_of_batches, shortfall_notes
from ldpsql.mechanisms import registry
from ldpsql.mechanisms.registry import MECHANISMS
from ldpsql.randomize.table import randomize_batch
from ldpsql.shuffler import shuffle_table
from ldpsql.store import open_store
from ldpsql.store.shuffled_batch import BATCH_KEY, ShuffledBatch
from ldpsql.survey import Survey
from ldpsql.synthesis import Synthesizer
from ldpsql_device.schema import Dimension, Measure, PublicColumn, Schema
from ldpsql_device.values import BOOL, Listed, int_domain, time_range
from ldpsql_lab.simulation import SeededEntropy, collect, simulate

PEOPLE, ROWS = 6000, 100_000
DAY = date(2026, 1, 1)
SCHEMA = Schema(
    (
        Dimension("age", int_domain(0, 9)),
        Dimension("state", Listed("category", ("CA", "NY", "WA")), missing="code"),
        Dimension("joined", time_range("date", DAY, DAY + timedelta(days=4), "day")),
        Dimension("active", BOOL),
    ),
    (Measure("pay", (0, 100)), Measure("age", (0, 9))),
    (PublicColumn("shop", "text"), PublicColumn("amount", "float")),
)
PRIVATE = ("age", "state", "joined", "active")


def raw_table(n: int = PEOPLE) -> pa.Table:
    """People whose columns depend on each other in pairs, and three of them in a triple."""
    random = np.random.default_rng(1)
    age = np.minimum(random.geometric(0.25, n) - 1, 9)
    state = np.where(random.random(n) < 0.6, np.minimum(age // 3, 3), random.integers(0, 4, n))
    active = random.random(n) < np.where((age % 2 == 0) == (state < 2), 0.8, 0.2)
    shop = np.where(random.random(n) < np.where(active, 0.7, 0.3), "north", "south")
    names = np.array(["CA", "NY", "WA", None], dtype=object)
    return pa.table(
        {
            "age": age,
            "state": pa.array(names[state], pa.string()),
            "joined": pa.array([DAY + timedelta(days=int(d)) for d in random.integers(0, 5, n)]),
            "active": active,
            "pay": np.clip(5.0 * age + 20.0 * active + random.normal(0, 10, n), 0, 100),
            "shop": shop,
            "amount": random.integers(0, 40, n) / 4.0,
        }
    )


RAW = raw_table()


@pytest.fixture(scope="module", params=[ExactNodes, ExactBoxes], ids=lambda kind: kind.__name__)
def exact(request: pytest.FixtureRequest) -> Iterator[Synthesizer]:
    """What is learned from reports without noise."""
    survey = exact_survey("app", SCHEMA, RAW, request.param)
    patch = pytest.MonkeyPatch()
    changed = {**registry.MECHANISMS, "exact": ExactMechanism(survey.design)}
    patch.setattr(registry, "MECHANISMS", changed)
    reports, _ = randomize_batch(survey, RAW, SeededEntropy(1), policy=ANYTHING)
    with open_store(None, read_only=False) as store:
        store.ingest_table(reports, survey)
        yield Synthesizer.of(store, "app")
    patch.undo()


@pytest.fixture(scope="module")
def drawn(exact: Synthesizer) -> pa.Table:
    return exact.table(ROWS, seed=2)


def counts(table: pa.Table, columns: tuple[str, ...]) -> np.ndarray:
    """People per combination of the values that occur in RAW."""
    seen = RAW.group_by(list(columns)).aggregate([]).sort_by([(c, "ascending") for c in columns])
    order = {tuple(row.values()): place for place, row in enumerate(seen.to_pylist())}
    found = np.zeros(len(order) + 1)
    grouped = table.group_by(list(columns)).aggregate([([], "count_all")])
    for row in grouped.to_pylist():
        *key, count = (row[name] for name in (*columns, "count_all"))
        found[order.get(tuple(key), len(order))] += count
    return found


def differs(drawn: pa.Table, columns: tuple[str, ...]) -> bool:
    """Whether draws contradict the true table of some columns."""
    observed, true = counts(drawn, columns), counts(RAW, columns)
    # What occurs in no record may be drawn now and then: fitting leaves a trace of every cell.
    assert observed[-1] <= 1e-4 * ROWS
    statistic, degrees = chi_square(observed[:-1], true[:-1] * observed[:-1].sum() / PEOPLE)
    return statistic > chi_square_bound(degrees)


@pytest.mark.parametrize("columns", [*combinations(PRIVATE, 1), *combinations(PRIVATE, 2)])
def test_without_noise_pairs_are_those_of_the_people(
    drawn: pa.Table, columns: tuple[str, ...]
) -> None:
    assert not differs(drawn, columns)


def test_interactions_of_three_are_kept(exact: Synthesizer, drawn: pa.Table) -> None:
    assert (0, 1, 3) in exact.learned.kept
    assert not differs(drawn, ("age", "state", "active"))


def test_the_comparison_can_fail(drawn: pa.Table) -> None:
    """Shuffling a column of the drawn table changes what it has to do with others, not itself."""
    random = np.random.default_rng(3)
    mixed = drawn.column("age").take(pa.array(random.permutation(ROWS)))
    broken = drawn.set_column(0, "age", mixed)
    assert not differs(broken, ("age",))
    assert differs(broken, ("age", "state"))


def test_public_columns_together_are_exact_and_linked(drawn: pa.Table) -> None:
    assert not differs(drawn, ("shop",))
    assert not differs(drawn, ("shop", "amount"))
    assert not differs(drawn, ("shop", "active"))


@pytest.mark.parametrize("column", ["age", "active", "state", "shop"])
def test_averages_of_a_measure_are_kept(drawn: pa.Table, column: str) -> None:
    means = drawn.group_by(column).aggregate([("pay", "mean"), ("pay", "stddev"), ("pay", "count")])
    true = RAW.group_by(column).aggregate([("pay", "mean")])
    wanted = {row[column]: row["pay_mean"] for row in true.to_pylist()}
    for row in means.to_pylist():
        error = row["pay_stddev"] / np.sqrt(row["pay_count"])
        assert abs(row["pay_mean"] - wanted[row[column]]) < normal_bound() * error, row


def test_columns_and_types_are_those_of_the_schema(drawn: pa.Table) -> None:
    kinds = [pa.int64(), pa.string(), pa.date32(), pa.bool_(), pa.float64(), pa.string()]
    assert drawn.column_names == ["age", "state", "joined", "active", "pay", "shop", "amount"]
    assert [field.type for field in drawn.schema] == [*kinds, pa.float64()]


def test_a_seed_decides_every_row(exact: Synthesizer) -> None:
    first = exact.table(2000, seed=5)
    assert first.equals(exact.table(2000, seed=5))
    assert not first.equals(exact.table(2000, seed=6))
    assert not exact.table(500).equals(exact.table(500))


def test_rows_come_in_batches(exact: Synthesizer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ldpsql.synthesis.synthesizer.BATCH", 1000)
    assert [batch.num_rows for batch in exact.batches(2500, seed=1)] == [1000, 1000, 500]
    assert sum(batch.num_rows for batch in exact.batches(seed=1)) == PEOPLE


@pytest.mark.parametrize("rows", [0, -3, 10**11])
def test_impossible_numbers_of_rows_are_refused(exact: Synthesizer, rows: int) -> None:
    with pytest.raises(ldpsql.InterfaceError, match="rows must be between"):
        exact.table(rows)
    with pytest.raises(ldpsql.InterfaceError, match="seed"):
        exact.table(5, seed=-1)


MARGINALS = ("srr-ss", "psrr-ss", "arr-ss", "srr-ms", "sue-ms", "oue-ms", "solh")
PARTS = boolean("active"), measure("pay", 0, 10), public("shop", "text")


def richest_survey(name: str) -> Survey:
    """Two linked dimensions, a measure and a public column, as far as the mechanism takes them."""
    more = {"accept_no_guarantee": True} if name in ("lgrr", "lgrr-fd") else {}
    options = {"ways": 2} if name in MARGINALS else None
    asked = {"epsilon": "4", "mechanism": name, "options": options, **more}
    for count in range(len(PARTS), -1, -1):
        for taken in combinations(PARTS, count):
            with suppress(ldpsql.ProgrammingError):
                return design(survey_toml(integer("age", 0, 8), *taken, **asked))
    raise AssertionError(f"{name} takes no survey of one dimension")


@pytest.mark.fast(4)
@pytest.mark.parametrize("name", [name for name in MECHANISMS if name != "ft"])
def test_every_mechanism_keeps_what_its_reports_tell(name: str) -> None:
    """Shares within six standard errors of the reports; the link of two columns; the average."""
    survey = richest_survey(name)
    is_biased = "unbiased" not in survey.design.estimators
    random = np.random.default_rng(3)
    n = 30_000
    age = random.integers(0, 9, n)
    active = random.random(n) < np.where(age > 4, 0.9, 0.1)
    table = pa.table(
        {
            "age": age,
            "active": active,
            "pay": np.minimum(10.0, age + random.random(n)),
            "shop": np.where(age < 3, "x", "y"),
        }
    )
    with simulate(survey, table, seed=2) as connection:
        made = connection.synthesize(seed=3)
        notes = made.schema.metadata[b"ldpsql.notes"].decode()
        learned = Synthesizer.of(connection.session.store).learned
    assert made.num_rows == n
    assert name in notes
    assert ("not differentially private" in notes) == (name in ("lgrr", "lgrr-fd"))
    tolerance = 6.0 * learned.alone[0] + 6.0 * np.sqrt(0.1 / n)
    shares = np.bincount(made["age"].to_numpy(), minlength=9) / n
    assert np.abs(shares - 1 / 9).max() < tolerance
    assert ("is biased" in notes) == is_biased
    if "active" in made.column_names and not is_biased:
        linked = np.corrcoef(made["age"].to_numpy(), made["active"].to_numpy(zero_copy_only=False))
        assert linked[0, 1] > 0.4
    if "pay" in made.column_names:
        assert abs(pc.mean(made["pay"]).as_py() - 4.5) < 1.0
    if "shop" in made.column_names:
        true = (age < 3).mean()
        share = (np.array(made["shop"].to_pylist()) == "x").mean()
        assert abs(share - true) < normal_bound() * np.sqrt(0.25 / n)


def test_what_cannot_be_drawn_is_refused() -> None:
    only = design(survey_toml(measure("pay", 0, 1), table="m", mechanism="grr"))
    empty = design(survey_toml(boolean("b"), table="e", mechanism="grr"))
    with Connection(open_store(None, read_only=False)) as connection:
        with pytest.raises(ldpsql.ProgrammingError, match="there are none"):
            connection.synthesize(5)
        connection.session.store.register(only)
        with pytest.raises(ldpsql.NotSupportedError, match="no dimensions"):
            connection.synthesize(5)
        connection.session.store.register(empty)
        with pytest.raises(ldpsql.DataError, match="no reports"):
            connection.synthesize(5, table="e")
        with pytest.raises(ldpsql.ProgrammingError, match="there are e, m"):
            connection.synthesize(5)
        with pytest.raises(ldpsql.ProgrammingError, match="no survey 'x'"):
            connection.synthesize(5, table="x")


PAIR = boolean("a"), boolean("b")
ONE_WAY = {
    "fourier": {"workload": {"max_predicates": 1}},
    "srr-ss": {"options": {"ways": 1}},
    "ft": {"options": {"ways": 1}},
}


@pytest.mark.parametrize("name", ONE_WAY)
def test_what_a_design_does_not_answer_is_said(name: str) -> None:
    """A survey designed for single columns has no pairs."""
    survey = design(survey_toml(*PAIR, epsilon="4", mechanism=name, **ONE_WAY[name]))
    random = np.random.default_rng(4)
    a = random.random(5000) < 0.3
    with simulate(survey, pa.table({"a": a, "b": a}), seed=1) as connection:
        made = connection.synthesize(20_000, seed=1)
    notes = made.schema.metadata[b"ldpsql.notes"].decode()
    assert (
        "not answered by the survey's design or its reports, or too many to ask for: a x b" in notes
    )
    both = [made[name].to_numpy(zero_copy_only=False) for name in ("a", "b")]
    assert abs(np.corrcoef(*both)[0, 1]) < normal_bound() / np.sqrt(20_000)


def test_a_shuffled_survey_is_drawn_with_its_own_promise() -> None:
    trust = {"trust": "shuffle", "delta": "1e-5", "users": 20_000}
    survey = design(survey_toml(*PAIR, mechanism="srr-ss", options={"ways": 2}, **trust))
    random = np.random.default_rng(5)
    a = random.random(20_000) < 0.4
    b = a ^ (random.random(20_000) < 0.1)
    with simulate(survey, pa.table({"a": a, "b": b}), seed=1) as connection:
        made = connection.synthesize(seed=1)
    assert str(survey.guarantee) in made.schema.metadata[b"ldpsql.guarantee"].decode()
    assert str(survey.guarantee) in made.schema.metadata[b"ldpsql.notes"].decode()
    both = [made[name].to_numpy(zero_copy_only=False) for name in ("a", "b")]
    assert abs(np.corrcoef(*both)[0, 1] - np.corrcoef(a, b)[0, 1]) < 0.1


def test_a_column_that_is_not_answered_is_spread_evenly_over_its_values() -> None:
    """More values than groups: all are as likely, and nothing claims to be kept."""
    prior = {"prior": [0.7, *[0.05] * 6]}
    survey = design(survey_toml(category("a", *"abcdefg"), mechanism="truthful", options=prior))
    people = pa.table({"a": list("abcdefg") * 100})
    with open_store(None, read_only=False) as store:
        store.ingest_table(
            randomize_batch(survey, people, SeededEntropy(1), policy=ANYTHING)[0], survey
        )
        drawn = Synthesizer.of(store)
    counts = drawn.table(ROWS, seed=1).group_by("a").aggregate([("a", "count")])
    found = counts.column("a_count").to_numpy()
    statistic, degrees = chi_square(found, np.full(7, ROWS / 7))
    assert statistic < chi_square_bound(degrees)
    assert not any(note.startswith("kept, with") for note in drawn.notes)
    assert not any("do not fit together" in note for note in drawn.notes)


def test_a_smaller_batch_than_designed_is_drawn_with_what_it_keeps() -> None:
    survey = shuffled_survey()
    whole = shuffle_table(survey, raw_reports(survey, USERS))
    said = ShuffledBatch(survey.fingerprint, 600).to_json().encode()
    part = whole.slice(0, 600).replace_schema_metadata(
        {**whole.schema.metadata, BATCH_KEY.encode(): said}
    )
    with open_store(None, read_only=False) as store:
        store.ingest_table(part, survey, accept_smaller_batch=True)
        made = Synthesizer.of(store)
    got = guarantee_of_batches(survey, 600)
    assert got != survey.guarantee
    assert made.columns.metadata[b"ldpsql.guarantee"].decode() == f"app: {got} (hio)"
    assert str(got) in made.notes[0]
    assert list(made.notes[-1:]) == list(shortfall_notes(survey, got))


@pytest.mark.parametrize("name", ["hio", "ehio", "srr-ss"])
@pytest.mark.filterwarnings("error")
def test_what_a_single_report_cannot_tell_is_said_and_spread_evenly(name: str) -> None:
    """It is about one group, and says nothing of columns that this group is not about."""
    schema = Schema(
        (Dimension("a", int_domain(0, 24)), Dimension("b", BOOL)),
        (Measure("pay", (0, 10)),) if name == "ehio" else (),
    )
    survey = Survey.of("app", schema, "0.5", name)
    one = pa.table({"a": [3], "b": [True], "pay": [4.0]})
    with open_store(None, read_only=False) as store:
        store.ingest_table(
            randomize_batch(survey, one, SeededEntropy(1), policy=ANYTHING)[0], survey
        )
        made = Synthesizer.of(store)
        found = made.table(200, seed=1)
    unknown = [
        axis.name
        for axis, error in zip(made.learned.axes, made.learned.alone, strict=True)
        if np.isnan(error)
    ]
    assert unknown
    evenly = f"not answered by the design or its reports, spread evenly: {', '.join(unknown)}"
    assert evenly in made.notes
    assert all(note.split(": ", 1)[1] for note in made.notes if note.startswith("kept, with"))
    assert all(len(found[column].unique()) > 1 for column in unknown)


@pytest.mark.parametrize(("name", "dimensions"), [("fourier", 2), ("hgrr", 2), ("staircase", 1)])
def test_missing_values_of_a_measure_are_drawn_as_null(name, dimensions):
    """With their share, and amounts with the mean of those that are there, group by group."""
    raw = missing.people(0.6, at_random=False, runs=1, each=100_000)
    _, store = collect(missing.survey("4", name, dimensions=dimensions), raw, seed=1)
    with store:
        drawn = Synthesizer.of(store).table(100_000, seed=1)
    for sex in ("f", "m"):
        own, real = (each.filter(pc.field("sex") == sex)["income"] for each in (drawn, raw))
        shares = [each.null_count / len(each) for each in (own, real)]
        assert shares[0] == pytest.approx(shares[1], abs=0.02)
        assert pc.mean(own).as_py() == pytest.approx(pc.mean(real).as_py(), abs=1.5)
