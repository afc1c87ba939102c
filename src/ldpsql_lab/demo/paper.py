"""The running example of H4MDA: `ldpsql demo --paper`.

T_app has four columns, with ages, salaries and purchases from 1 to 4. The people are made up such
that Q2 and Q3 have the paper's answers, 4 and 4/3. Devices and the collector are simulated in this
process, so the truth can stand beside each answer. Source: docs/spec/h4mda.md,
docs/papers/running-example.md.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import duckdb
import numpy as np
import pyarrow as pa

from ldpsql.algebra.boxes import CodeSet
from ldpsql.algebra.record_domain import RecordDomain
from ldpsql.designer import design
from ldpsql.estimators.nodes import NodeDesign
from ldpsql.mechanisms.hierarchical.recipe import TreeOptions, trees_for
from ldpsql.survey import Survey
from ldpsql.terminal.text import table_lines
from ldpsql_lab.simulation import simulate

EPSILON, SEED = "1", 1

SURVEY = """\
[survey]
table = "t_app"
epsilon = "1"
mechanism = "hgrr"

[survey.options]
fanout = 2

[dimension.age]
type = "int"
domain = [1, 4]

[dimension.salary]
type = "int"
domain = [1, 4]

[dimension.state]
type = "category"
values = ["CA", "NY"]

[measure.purchase]
bounds = [1, 4]
required = true
missing_as = 1
"""

T_APP = pa.table(
    {
        "age": [1, 1, 2, 2, 3, 3, 4, 4],
        "salary": [2, 4, 1, 4, 2, 4, 3, 4],
        "state": ["CA", "NY", "CA", "NY", "NY", "CA", "CA", "NY"],
        "purchase": [3, 2, 1, 4, 1, 3, 2, 4],
    }
)

BOX = "age BETWEEN 2 AND 4 AND salary BETWEEN 1 AND 3"


@dataclass(frozen=True)
class PaperQuery:
    """One of the paper's queries: its name, and its SQL."""

    name: str
    sql: str


QUESTIONS = (
    PaperQuery("Q1", f"SELECT COUNT(*) FROM T_app WHERE {BOX}"),
    PaperQuery("Q2", f"SELECT SUM(purchase) FROM T_app WHERE {BOX}"),
    PaperQuery("Q3", f"SELECT AVG(purchase) FROM T_app WHERE {BOX}"),
    PaperQuery("Q4", f"SELECT COUNT(*) FROM T_app WHERE state = 'CA' AND ({BOX} OR salary = 4)"),
)

MECHANISMS = (
    ("hio", None),
    ("ahio", None),
    ("ehio", None),
    ("hgrr", None),
    ("lgrr-repaired", None),
    ("fourier", None),
    ("lgrr-fd", None),
    ("lgrr-fd", "published"),
)
"""The paper's, with estimators other than the first; their repair, and what `auto` takes."""


def survey_of(mechanism: str) -> Survey:
    """T_app's survey with a mechanism; one that takes no measures leaves `purchase` out."""
    text = SURVEY.replace('"hgrr"', f'"{mechanism}"')
    if mechanism == "fourier":
        text = text.replace("[survey.options]\nfanout = 2\n", "")
        text += "[workload]\nmax_predicates = 3\n"
    if mechanism == "hio":
        text = text[: text.index("[measure")]
    return design(text, accept_no_guarantee=mechanism == "lgrr-fd")


def truth_of(sql: str, people: pa.Table = T_APP) -> float:
    """The exact answer."""
    with duckdb.connect() as database:
        database.register("T_app", people)
        ((value,),) = database.execute(sql).fetchall()
    return float(value)


def run(echo: Callable[[str], None], *, people: int) -> None:
    """Show the example, and let about so many people answer it by each mechanism."""
    copies = max(1, people // T_APP.num_rows)
    everybody = T_APP.take(np.tile(np.arange(T_APP.num_rows), copies))
    echo("T_app of H4MDA (Sci. Sin. Inform. 53, 2023): made-up people to whom Q2 and Q3 have the")
    echo("paper's answers, 4 and 4/3\n")
    names = T_APP.column_names
    rows = [[str(row[name]) for name in names] for row in T_APP.to_pylist()]
    for line in table_lines(names, rows, [name != "state" for name in names]):
        echo(f"  {line}")
    for line in (*describe_trees(), *describe_reports()):
        echo(line)
    answers = {
        mechanism if estimator is None else f"{mechanism}, {estimator}": list(
            _ask(mechanism, estimator, everybody)
        )
        for mechanism, estimator in MECHANISMS
    }
    echo(f"\n{everybody.num_rows:,} people: each of the eight {copies:,} times, epsilon {EPSILON}")
    for place, question in enumerate(QUESTIONS):
        echo(f"\n{question.name}  {question.sql}")
        echo(f"    {'the eight':<20}{_number(truth_of(question.sql)):>10}")
        echo(f"    {'everybody':<20}{_number(truth_of(question.sql, everybody)):>10}")
        for name, own in answers.items():
            echo(f"    {name:<20}{own[place]}")
    echo(
        "\nlgrr-fd is not private: every report contains a node that holds the person's record, and"
    )
    echo("\nlgrr-fd is not private: every report contains a node that holds the person's record,")
    echo("and what it publishes has no error bar, for its bias depends on the people")


def describe_trees() -> Iterator[str]:
    """Levels of the trees, and the nodes that cover the box of Q1 to Q3."""
    survey = survey_of("hgrr")
    trees = trees_for(RecordDomain.of(survey.schema), TreeOptions(fanout=2))
    yield ""
    for name, tree in (("age", trees[0]), ("salary", trees[1])):
        levels = (
            " ".join(_values(node * width, min((node + 1) * width, tree.size)) for node in nodes)
            for width, nodes in zip(tree.widths, map(range, tree.counts), strict=True)
        )
        yield f"tree of {name:<8}{'  |  '.join(levels)}"
    sides: dict[str, CodeSet] = {"age": ((1, 4),), "salary": ((0, 3),)}
    for (name, side), tree in zip(sides.items(), trees, strict=False):
        nodes = (
            _values(node * tree.widths[level], (node + 1) * tree.widths[level])
            for level, found in tree.cover(side).items()
            for node in found.tolist()
        )
        text = f"{name} in {_values(*side[0])}"
        yield f"{text:<16}{' and '.join(nodes)}"


def _values(low: int, high: int) -> str:
    """Codes low .. high - 1 as the values that they stand for."""
    return f"{low + 1}..{high}" if high - low > 1 else f"{high}"


def describe_reports() -> Iterator[str]:
    """How a device rounds a purchase, and what it reports of a node among four."""
    low, high, bought = 1, 4, 3
    share = f"{bought - low}/{high - low}"
    yield f"\na purchase of {bought} becomes {high} with probability {share}, else {low}"
    made = survey_of("hgrr").design
    assert isinstance(made, NodeDesign)
    group = made.table.index[(1, 1, 0), None, 0]
    oracle = made.answers[group].oracle
    yield (
        f"of the {made.table.sizes[group]} nodes of age x salary on their first levels a report "
        f"names the own one with\nprobability e/(e + 3) = {oracle.p:.4f}, each other one with "
        f"1/(e + 3) = {oracle.q:.4f}"
    )


def _ask(mechanism: str, estimator: str | None, people: pa.Table) -> Iterator[str]:
    """The answers to all questions, or why there is none."""
    survey = survey_of(mechanism)
    with simulate(survey, people, seed=SEED, estimator=estimator) as connection:
        for question in QUESTIONS:
            if "purchase" in question.sql and not survey.schema.measures:
                yield f"{'-':>10}  (it takes no private measures)"
                continue
            result = connection.execute(question.sql).result
            (value,) = result.table.column(0).to_pylist()
            if value is None:
                yield f"{'NULL':>10}  (the count cannot be told from zero)"
                continue
            bars = result.intervals.get(0)
            half = "" if bars is None else f" ± {_number((bars.high[0] - bars.low[0]) / 2.0)}"
            yield f"{_number(value):>10}{half}"


def _number(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.4g}"
