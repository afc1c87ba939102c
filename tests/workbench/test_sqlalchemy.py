"""The dialect, and pandas over it."""

from __future__ import annotations

import tomllib
import warnings
from importlib import import_module
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from support.http import serving
from support.surveys import (
    ANYTHING,
    category,
    integer,
    measure,
    public,
    survey_toml,
    visitors,
)

import ldpsql
from ldpsql.designer import design
from ldpsql.randomize.table import randomize_batch
from ldpsql.server.tokens import Tokens
from ldpsql_lab.simulation import SeededEntropy

sqlalchemy = pytest.importorskip("sqlalchemy", reason="sqlalchemy is not installed")

from sqlalchemy import MetaData, Table, create_engine, exc, func, inspect, select, text, types  # noqa: E402, I001
from ldpsql.workbench.sqlalchemy import LdpsqlDialect  # noqa: E402

TOML = survey_toml(
    integer("age", 0, 9, label="Age, in years"),
    category("state", "CA", "NY"),
    measure("hours", 0, 80),
    public("day", "date"),
    epsilon="4",
    mechanism="hgrr",
    label="Our app",
)
PEOPLE = 4000
BY_STATE = "SELECT state, COUNT(*) AS n FROM app GROUP BY state ORDER BY state"


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    survey, people = design(TOML), visitors(PEOPLE)
    hours = np.random.default_rng(6).integers(0, 81, PEOPLE).astype(float)
    people = people.append_column("hours", pa.array(hours))
    reports = randomize_batch(survey, people, SeededEntropy(1), policy=ANYTHING)[0]
    path = tmp_path_factory.mktemp("sqlalchemy") / "app.duckdb"
    with ldpsql.connect(path, new=True) as connection:
        connection.ingest(reports, survey=survey)
        connection.add_lookup({"state": ["CA", "NY"], "population": [39, 19]}, "states")
    return path


@pytest.fixture(scope="module")
def engine(file):
    return create_engine(f"ldpsql:///{file}")


@pytest.fixture(scope="module")
def app(engine):
    return Table("app", MetaData(), autoload_with=engine)


@pytest.fixture
def local(file):
    with ldpsql.connect(file, read_only=True) as connection:
        yield connection


def test_entry_points_name_what_there_is():
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text("utf-8"))
    groups = project["project"]["entry-points"]
    found = {
        f"{group}:{name}": getattr(import_module(module), attribute)
        for group in ("sqlalchemy.dialects", "superset.db_engine_specs")
        for name, (module, _, attribute) in (
            (name, place.partition(":")) for name, place in groups[group].items()
        )
    }
    drivers = {
        name.rpartition(".")[2]: kind.driver for name, kind in found.items() if "dial" in name
    }
    assert drivers == {"dialects:ldpsql": "file", "http": "http", "https": "https"}
    assert all(kind.name == "ldpsql" for name, kind in found.items() if "dialects" in name)


def test_surveys_and_look_up_tables_are_reflected(engine):
    seen = inspect(engine)
    assert seen.get_table_names() == ["app", "states"]
    assert (seen.get_schema_names(), seen.default_schema_name) == (["main"], "main")
    assert seen.get_table_names(schema="main") == ["app", "states"]
    assert seen.get_table_names(schema="other") == seen.get_view_names() == []
    assert seen.has_table("app")
    assert not seen.has_table("nothing")
    for none in ("get_foreign_keys", "get_indexes", "get_unique_constraints"):
        assert getattr(seen, none)("app") == []
    assert seen.get_pk_constraint("app")["constrained_columns"] == []
    with pytest.raises(exc.NoSuchTableError, match="nothing"):
        seen.get_columns("nothing")


def test_an_inspector_asks_once_until_it_is_told_to_ask_again(file):
    seen = inspect(create_engine(f"ldpsql:///{file}"))
    assert not seen.has_table("later")
    with ldpsql.connect(file) as connection:
        connection.add_lookup({"a": [1]}, "later")
        assert not seen.has_table("later")
        seen.clear_cache()
        assert seen.has_table("later")
        connection.remove_lookup("later")


def test_comments_say_role_domain_bins_and_epsilon(engine):
    seen = inspect(engine)
    assert seen.get_table_comment("app")["text"] == "Our app; 4-LDP; hgrr"
    assert seen.get_table_comment("states")["text"] is None
    columns = {column["name"]: column for column in seen.get_columns("app")}
    kinds = {name: type(column["type"]) for name, column in columns.items()}
    assert kinds == {
        "age": types.BigInteger,
        "state": types.String,
        "hours": types.Double,
        "day": types.Date,
    }
    assert {name: column["comment"] for name, column in columns.items()} == {
        "age": "Age, in years; dimension; [0, 9]; 10 bins; epsilon 4",
        "state": "dimension; 2 declared values; 2 bins; epsilon 4",
        "hours": "measure; [0, 80]; epsilon 4",
        "day": "public",
    }


def test_expressions_ask_what_sql_asks(engine, app, local):
    """Each beside SQL by hand; the numbers are the same to the last bit."""
    count, half = func.count().label("n"), (app.c.age // 5).label("half")
    month = func.date_trunc("month", app.c.day).label("month")
    ages = app.c.age.between(2, 7)
    by_age = select(app.c.age, count).group_by(app.c.age).order_by(app.c.age)
    by_half = select(half, count)
    pairs = {
        BY_STATE: select(app.c.state, count).group_by(app.c.state).order_by(app.c.state),
        "SELECT COUNT(*) FROM app WHERE age BETWEEN 2 AND 7": select(count).where(ages),
        "SELECT COUNT(*) FROM app WHERE age IN (1, 3)": select(count).where(app.c.age.in_([1, 3])),
        "SELECT AVG(hours) / 8 FROM app": select(func.avg(app.c.hours) / 8),
        "SELECT COUNT(*) FROM app WHERE state = 'CA'": select(count).where(
            app.c.state.contains("A")
        ),
        "SELECT COUNT(*) FROM app WHERE state = 'NY'": select(count).where(app.c.state.ilike("n%")),
        "SELECT age // 5 AS half, COUNT(*) FROM app GROUP BY half": by_half.group_by("half"),
        "SELECT date_trunc('month', day) AS m, COUNT(*) FROM app GROUP BY m": select(
            month, count
        ).group_by("month"),
        "SELECT age, COUNT(*) FROM app GROUP BY age ORDER BY age OFFSET 8": by_age.offset(8),
        "SELECT age, COUNT(*) FROM app GROUP BY age ORDER BY age LIMIT 2": by_age.limit(2),
    }
    with engine.connect() as connection:
        for sql, expression in pairs.items():
            rows = [tuple(row) for row in connection.execute(expression.select_from(app))]
            assert rows == local.execute(sql).fetchall(), sql


def test_the_unit_of_a_date_is_no_part_of_what_is_kept_of_a_statement(engine, app):
    with engine.connect() as connection:
        for unit, groups in (("day", 3), ("month", 1)):
            asked = select(func.date_trunc(unit, app.c.day), func.count()).group_by(text("1"))
            assert len(connection.execute(asked.select_from(app)).all()) == groups


def test_an_empty_list_is_nobody(engine, app):
    with engine.connect() as connection:
        nobody = select(func.count()).select_from(app).where(app.c.age.in_([]))
        assert connection.execute(nobody).scalar() == 0


def test_look_up_tables_are_joined(engine, app):
    states = Table("states", MetaData(), autoload_with=engine)
    asked = select(states.c.population, func.count()).select_from(
        app.join(states, app.c.state == states.c.state)
    )
    with engine.connect() as connection:
        rows = connection.execute(asked.group_by(states.c.population)).all()
    assert sorted(row[0] for row in rows) == [19, 39]


@pytest.mark.filterwarnings("error")
def test_pandas_reads_without_a_warning(engine, app, local):
    pandas = pytest.importorskip("pandas")
    expected = local.execute(BY_STATE).df()
    by_name = "SELECT COUNT(*) AS n FROM app WHERE age < :a"
    pandas.testing.assert_frame_equal(pandas.read_sql(BY_STATE, engine), expected)
    counted = pandas.read_sql(text(by_name), engine, params={"a": 4})
    assert counted["n"].tolist() == local.execute(by_name, {"a": 4}).df()["n"].tolist()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for write in (
            lambda: pandas.DataFrame({"a": [1]}).to_sql("mine", engine),
            lambda: pandas.DataFrame({"age": [1]}).to_sql("app", engine, if_exists="append"),
        ):
            refused = (exc.NotSupportedError, pandas.errors.DatabaseError)
            with pytest.raises(refused, match="only queries are"):
                write()
    assert inspect(engine).get_table_names() == ["app", "states"]


def test_errors_are_those_of_ldpsql_under_sqlalchemys_names(engine):
    with engine.connect() as connection:
        with pytest.raises(exc.ProgrammingError, match="agee") as caught:
            connection.execute(text("SELECT COUNT(*) FROM app WHERE agee > 3"))
        assert isinstance(caught.value.orig, ldpsql.errors.QueryError)
        with pytest.raises(exc.NotSupportedError, match="MAX depends on single people"):
            connection.execute(text("SELECT MAX(age) FROM app"))


def test_an_engine_keeps_no_writer_out_and_makes_no_file(file, engine, tmp_path):
    with engine.connect() as held:
        held.execute(text(BY_STATE)).all()
        with ldpsql.connect(file) as writer:
            writer.add_lookup({"a": [1]}, "another")
            writer.remove_lookup("another")
        assert len(held.execute(text(BY_STATE)).all()) == 2
    missing = tmp_path / "mispelt.duckdb"
    with pytest.raises(exc.OperationalError, match="no store"):
        create_engine(f"ldpsql:///{missing}").connect()
    assert not missing.exists()


def test_a_url_gives_settings(file, engine):
    with create_engine(
        f"ldpsql:///{file}?confidence=0.5&census=true&timeout=9"
    ).connect() as opened:
        settings = opened.connection.driver_connection.session
        assert (settings.evidence.confidence, settings.seconds) == (0.5, 9.0)
        assert settings.sources.to_json()["census"] is True
    for wrong in (
        "confidence=much",
        "census=maybe",
        "read_only=false",
        "confidence=1&confidence=2",
    ):
        with pytest.raises(exc.ArgumentError, match=r"is no setting of ldpsql\.connect"):
            create_engine(f"ldpsql:///{file}?{wrong}").connect()
    with pytest.raises(exc.ArgumentError, match="names no file"):
        create_engine("ldpsql://people.duckdb").connect()


def test_an_engine_without_a_file_is_empty():
    with create_engine("ldpsql://").connect() as connection:
        assert connection.execute(text("SELECT 1 AS x")).scalar() == 1
        assert inspect(connection).get_table_names() == []


def test_a_collector_is_asked_with_a_token(file, local):
    token = Tokens.beside(file).add("ann", "analyst")
    with serving("--db", str(file)) as (_, address):
        place = address.removeprefix("http://")
        for url in (f"ldpsql+http://:{token}@{place}", f"ldpsql+http://{place}?token={token}"):
            engine = create_engine(url)
            with engine.connect() as connection:
                rows = [tuple(row) for row in connection.execute(text(BY_STATE))]
                assert inspect(connection).get_table_names() == ["app", "states"]
            assert rows == local.execute(BY_STATE).fetchall()
            assert token not in str(engine.url) or "?" in url
        with pytest.raises(exc.OperationalError):
            inspect(create_engine(f"ldpsql+http://:{'0' * 64}@{place}")).get_table_names()


def test_a_collector_elsewhere_is_asked_over_https_alone():
    arguments = ["https://collect.example:8443/base"], {"token": "secret", "confidence": 0.9}
    url = sqlalchemy.make_url("ldpsql+https://:secret@collect.example:8443/base?confidence=0.9")
    assert url.get_dialect()().create_connect_args(url) == arguments
    with pytest.raises(exc.InterfaceError, match="over https only"):
        create_engine("ldpsql+http://collect.example").connect()


def test_types_are_spelt_as_duckdb_does():
    dialect = LdpsqlDialect()
    kinds = {types.Float(): "DOUBLE", types.DateTime(): "TIMESTAMP", types.Boolean(): "BOOLEAN"}
    for kind, name in kinds.items():
        assert kind.compile(dialect=dialect) == name
