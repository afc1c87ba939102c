"""`ldpsql bench` from end to end on a tiny table."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq
import pytest
from support.command_line import refusal, run
from support.comparisons import COUNTS, raw, stored
from support.surveys import integer, measure, public, survey_toml

SUM_TOML = COUNTS + measure("pay", -5, 50)


@pytest.fixture
def survey(tmp_path: Path) -> Path:
    path = tmp_path / "survey.toml"
    path.write_text(SUM_TOML)
    return path


def bench(table: Path, survey: Path, *more: object):
    return run("bench", table, "--survey", survey, "--repetitions", 1, "--queries", 3, *more)


@pytest.mark.slow
def test_results_tables_and_figures(tmp_path: Path, survey: Path) -> None:
    """Everything that may be asked for, at two epsilons and two numbers of people."""
    target, pictures = tmp_path / "results.parquet", tmp_path / "out"
    found = bench(
        stored(tmp_path),
        survey,
        *("--mechanisms", "hgrr,lgrr", "--include-unsound", "--epsilon", "1,2"),
        *("--users", "200,600", "--predicates", 1, "-o", target, "--plot", pictures),
    )
    assert found.exit_code == 0, found.output
    assert "lgrr (NOT PRIVATE)" in found.stdout
    assert "8 of 8 runs" in found.stderr
    results = pq.read_table(target)
    assert results.num_rows == 2 * 2 * 2 * 3
    assert set(results.column("sound").to_pylist()) == {True, False}
    for name in ("errors", "users", "coverage", "cost"):
        assert (pictures / f"{name}.png").read_bytes().startswith(b"\x89PNG")
        assert "<svg" in (pictures / f"{name}.svg").read_text()[:400]
    page = (pictures / "index.html").read_text()
    assert "users.svg" in page
    assert "lgrr (NOT PRIVATE)" in page


def test_a_file_of_sql_and_csv_of_the_results(tmp_path: Path, survey: Path) -> None:
    """Two statements over three lines, one of them grouped; a table in CSV."""
    sql, table, target = tmp_path / "mine.sql", tmp_path / "people.csv", tmp_path / "results.csv"
    sql.write_text(
        "SELECT COUNT(*) FROM app\n WHERE age < 5;\nSELECT age, AVG(pay) FROM app GROUP BY age;"
    )
    pacsv.write_csv(raw().select(["age", "pay"]), table)
    found = bench(table, survey, "--mechanisms", "hgrr", "--workload", sql, "-o", target)
    assert found.exit_code == 0, found.output
    rows = pacsv.read_csv(target).to_pylist()
    assert [(row["workload"], row["aggregate"], row["answers"]) for row in rows] == [
        ("mine.sql", "COUNT(*)", 1),
        ("mine.sql", "AVG(pay)", 12),
    ]


@pytest.mark.slow
def test_sound_mechanisms_are_the_default(tmp_path: Path, survey: Path) -> None:
    """What does not fit, or promises nothing, is left out with the reason."""
    found = bench(stored(tmp_path), survey, "--predicates", 1, "--counts-only")
    assert found.exit_code == 0, found.output
    assert "NOT PRIVATE" not in found.stdout
    assert "left out: lgrr: it is not differentially private" in found.stderr
    assert "fourier" in found.stdout


@pytest.mark.parametrize("name", ["ft", "urr"])
def test_a_named_mechanism_that_cannot_take_the_survey_is_left_out(
    tmp_path: Path, survey: Path, name: str
) -> None:
    """And the others are compared; alone it is the error."""
    named = ("--predicates", 1, "--mechanisms")
    found = bench(stored(tmp_path), survey, *named, f"{name},hgrr")
    assert found.exit_code == 0, found.output
    assert f"left out: {name}: " in found.stderr
    assert "hgrr" in found.stdout
    assert name not in found.stdout
    alone = bench(stored(tmp_path), survey, *named, name)
    assert alone.exit_code == 1
    assert f"ldpsql: error: {name} does not fit this survey: " in alone.stderr


def with_age(ages: list[object]) -> pa.Table:
    return pa.table({"age": ages, "pay": [1.0] * len(ages)})


def test_people_who_do_not_fit_are_compared_as_they_are_encoded(
    tmp_path: Path, survey: Path
) -> None:
    """And it is said how many."""
    table = stored(tmp_path, with_age([1, 13, 4, None] * 50))
    found = bench(table, survey, "--mechanisms", "grr", "--predicates", 1)
    assert found.exit_code == 0, found.output
    outside = (
        "50 of 200 values of age (25.00%) were outside its domain: counted as the nearest value"
    )
    assert f"note: {outside}, in the truth too" in found.stderr
    assert "50 of 200 values of age (25.00%) were missing or unreadable" in found.stderr
    assert "200 people" in found.stdout


def test_names_that_are_words_of_sql(tmp_path: Path) -> None:
    """Made-up questions quote them, in every kind of workload, and keep them in the results."""
    table, survey = tmp_path / "people.parquet", tmp_path / "survey.toml"
    target = tmp_path / "results.csv"
    names = ("select", "from", "sum")
    codes = [[i % k for i in range(300)] for k in (5, 2, 7)]
    pq.write_table(pa.table(dict(zip(names, codes, strict=True))), table)
    survey.write_text(
        survey_toml(
            integer("select", 0, 4),
            integer("from", 0, 1),
            measure("sum", 0, 6),
            table="order",
            mechanism="hgrr",
        )
    )
    kinds = ("ranges", "prefixes", "points", "groups")
    chosen = [word for kind in kinds for word in ("--workload", kind)]
    found = bench(table, survey, "--mechanisms", "hgrr", *chosen, "-o", target)
    assert found.exit_code == 0, found.output
    rows = pacsv.read_csv(target).to_pylist()
    assert {row["aggregate"] for row in rows} == {"COUNT(*)", "SUM(sum)", "AVG(sum)"}
    assert all(row["answers"] for row in rows)


def test_the_width_is_that_of_its_column(tmp_path: Path, survey: Path) -> None:
    """Whatever the order in which the epsilons were given."""
    table = stored(tmp_path)
    tables = [
        bench(table, survey, "--mechanisms", "grr", "--counts-only", "--epsilon", epsilons).stdout
        for epsilons in ("0.5,4", "4,0.5")
    ]
    ours = [
        [line for line in text.split("Cost")[0].splitlines() if "grr" in line] for text in tables
    ]
    assert ours[0] == ours[1] != []


def test_what_cannot_be_asked_is_said(tmp_path: Path, survey: Path) -> None:
    """Beside what can be; where nothing can, that is the error."""
    table, kinds = stored(tmp_path), ("--workload", "groups", "--mechanisms", "grr")
    found = bench(table, survey, *kinds, "--predicates", "1,2")
    assert found.exit_code == 0, found.output
    assert "note: app has 1 dimension to ask about, too few for 2 predicates" in found.stderr
    survey.write_text(SUM_TOML.replace("[1, 12]", "[1, 5000]"))
    said = refusal(bench(table, survey, *kinds, "--predicates", 1), 1)
    assert "no GROUP BY age: it has more than 2,000 rows" in said


def test_sql_about_nobody(tmp_path: Path) -> None:
    """A GROUP BY of a public column has no rows where WHERE leaves nobody; others count nobody."""
    survey, sql, table = tmp_path / "survey.toml", tmp_path / "mine.sql", stored(tmp_path)
    survey.write_text(COUNTS + public("version", "int"))
    none = "SELECT version, COUNT(*) FROM app WHERE version = 7 GROUP BY version;\n"
    sql.write_text("\ufeff" + none)
    asked = ("--mechanisms", "grr", "--workload", sql)
    found = bench(table, survey, *asked)
    assert (found.exit_code, found.stdout) == (1, "")
    assert "the answers have no rows" in found.stderr
    sql.write_text(none + "SELECT COUNT(*) FROM app WHERE age > 50;\n/* nothing\n more */ -- here")
    found = bench(table, survey, *asked)
    assert found.exit_code == 0, found.output
    assert "COUNT(*), mine.sql" in found.stdout


def test_results_that_cannot_be_written_are_refused_first(tmp_path: Path, survey: Path) -> None:
    """Before anybody answers; a folder that is not there is made."""
    table, cases = stored(tmp_path), ("--cases", tmp_path / "cases", "--mechanisms", "grr")
    in_the_way = tmp_path / "file"
    in_the_way.write_text("")
    for option in (("-o", in_the_way / "results.csv"), ("--plot", in_the_way / "out")):
        assert "file" in refusal(bench(table, survey, *cases, *option), 1)
        assert not (tmp_path / "cases").exists()
    target = tmp_path / "new" / "results.csv"
    assert bench(table, survey, *cases, "-o", target).exit_code == 0
    assert target.exists()


def test_figures_without_what_nearly_nobody_can_tell(tmp_path: Path, survey: Path) -> None:
    """AVG at a tiny epsilon is NULL: no error to draw, and no coverage."""
    pictures = tmp_path / "out"
    found = bench(
        stored(tmp_path),
        survey,
        *("--mechanisms", "hgrr", "--aggregates", "avg", "--epsilon", "0.001,0.002"),
        *("--predicates", 1, "--plot", pictures),
    )
    assert found.exit_code == 0, found.output
    assert sorted(path.name for path in pictures.glob("*.svg")) == ["cost.svg"]


def test_persons_who_have_several_rows(tmp_path: Path) -> None:
    """Without a rule a note names the column; with one, persons are counted and not rows."""
    table = tmp_path / "visits.parquet"
    rows = {"customer_id": [n % 200 for n in range(600)], "age": [n % 7 for n in range(600)]}
    pq.write_table(pa.table(rows), table)
    survey, target = tmp_path / "survey.toml", tmp_path / "results.jsonl"
    survey.write_text(COUNTS.replace("[survey]", "[survey]\n#person"))
    asked = ("--mechanisms", "grr", "--predicates", 1, "-o", target)
    found = bench(table, survey, *asked)
    assert found.exit_code == 0, found.stderr
    assert 'if customer_id tells persons apart, say person = "customer_id"' in found.stderr
    survey.write_text(survey.read_text().replace("#person", 'person = "customer_id"'))
    found = bench(table, survey, *asked)
    assert found.exit_code == 0, found.stderr
    assert "note: one report per customer_id: one row, drawn evenly" in found.stderr
    (first, *_) = map(json.loads, target.read_text().splitlines())
    assert first["users"] == 200
