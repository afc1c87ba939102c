"""Naive Bayes trained on reports with sensitive classes: future work of Yin, Zhu and Zhang.

Each of nursery's people is asked for one attribute, drawn evenly, together with the class: one
answer, a pair of values. A pair is sensitive if its class is. The numbers of people per pair are
estimated from the reports. They give the shares of the classes and, class by class, those of the
values of every attribute, which is all that naive Bayes needs. A model is judged by the share of
people whom it classifies correctly, among the fifth who were not asked.

It is compared with the same pairs under plain LDP (GRR and OUE); with an epsilon for every class
(`graded`), which is OTHERS for classes that are not sensitive; and, without noise, with the true
table of all attributes of everybody, and of one attribute of each person.
"""

from __future__ import annotations

import functools
import json
import math
import zlib
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from benchmarks.figures import Cases, Figure, Measured, Row, Verdict, data
from benchmarks.figures.curves import sampled
from benchmarks.figures.nursery import ATTRIBUTES
from benchmarks.figures.verdicts import Value, in_every_case, is_above, is_near, tally
from benchmarks.uldp_tables import CLASS
from ldpsql.algebra.boxes import Box, LinearQuery
from ldpsql.algebra.numerics import project_on_simplex
from ldpsql.designer import design
from ldpsql.estimators.base import AnyDesign, make_estimator
from ldpsql.terminal.figures import Curve, Panel, Role, draw_figure
from ldpsql_lab.simulation import SeededEntropy, histogram_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

Codes = NDArray[np.int64]
Floats = NDArray[np.float64]
ULDP, GRR, OUE, GRADED = "uRR (ULDP)", "GRR (LDP)", "OUE (LDP)", "graded, others at 8"
MECHANISMS = {ULDP: "urr", GRR: "grr", OUE: "oue", GRADED: "graded"}
TRUE, SPLIT = "true table", "true table, one attribute of each"
OTHERS, HELD_OUT, NEAR, FROM = "8", 0.2, 0.05, 2.0
SEED = 20_261_126
"""Chosen, as the claims were, before anything was measured."""


def pairs_of(attribute: str) -> list[str]:
    """The values of an attribute with every class, class by class."""
    return [f"{value}, {own}" for own in CLASS for value in ATTRIBUTES[attribute]]


def survey_text(attribute: str, mechanism: str, epsilon: str, held: int) -> str:
    """A survey of one attribute with the class, of which the first `held` are sensitive."""
    pairs = pairs_of(attribute)
    sensitive = held * len(ATTRIBUTES[attribute])
    largest = OTHERS if mechanism == "graded" else epsilon
    text = f'[survey]\ntable = "nursery"\nepsilon = "{largest}"\nmechanism = "{mechanism}"\n'
    if mechanism == "graded":
        grades = [epsilon] * sensitive + [OTHERS] * (len(pairs) - sensitive)
        text += f"[survey.options]\nepsilons = {json.dumps(grades)}\n"
    text += f'[dimension.pair]\ntype = "category"\nvalues = {json.dumps(pairs)}\n'
    if mechanism == "urr":
        text += f"sensitive = {json.dumps(pairs[:sensitive])}\n"
    return text


@functools.cache
def designed(attribute: str, mechanism: str, epsilon: str, held: int) -> AnyDesign:
    """Its design."""
    return design(survey_text(attribute, mechanism, epsilon, held)).design


def estimate(made: AnyDesign, pairs: Codes, seed: int) -> Floats:
    """People of every pair, estimated from one report of each, without a bias."""
    histogram = histogram_of(made.randomize(pairs[:, None], SeededEntropy(seed)))
    (size,) = made.domain.sizes
    cells = (LinearQuery.count(Box((((code, code + 1),),))) for code in range(size))
    return make_estimator(made, histogram).values([made.prepare(cell) for cell in cells])


def learn(tables: Sequence[Floats]) -> tuple[Floats, list[Floats]]:
    """Logarithms of the shares of classes, and of values within each class.

    tables: people of every value and class, an attribute each, shape (classes, values); made
    non-negative first, by the nearest table of as many people.
    """
    fitted = []
    for table in tables:
        nearest = project_on_simplex(table.ravel(), max(float(table.sum()), 0.0))
        fitted.append(nearest.reshape(table.shape) + 1.0)  # no value is taken for impossible
    classes = sum((table.sum(axis=1) for table in fitted), np.zeros(len(CLASS)))
    return (
        np.log(classes / classes.sum()),
        [np.log(table / table.sum(axis=1, keepdims=True)) for table in fitted],
    )


def accuracy(model: tuple[Floats, list[Floats]], codes: Codes, classes: Codes) -> float:
    """The share of people who are classified correctly; codes: shape (n, attributes)."""
    prior, parts = model
    scores = prior + sum(
        (part.T[own] for part, own in zip(parts, codes.T, strict=True)), np.zeros(len(prior))
    )
    return float((scores.argmax(axis=1) == classes).mean())


@functools.cache
def people_codes() -> tuple[Codes, Codes, str]:
    """Codes of the attributes and of the class, and where they are from."""
    table, line = data.people("nursery", [*ATTRIBUTES, "class"])
    columns = [
        np.array([values.index(value) for value in table[name].to_pylist()])
        for name, values in {**ATTRIBUTES, "class": CLASS}.items()
    ]
    codes = np.stack(columns, axis=1).astype(np.int64)
    return codes[:, :-1], codes[:, -1], line


def one_run(seed: int, label: str, epsilon: str, held: int) -> float:
    """The accuracy on those who were not asked."""
    codes, classes, _ = people_codes()
    random = np.random.default_rng(seed)
    order = random.permutation(len(codes))
    test, train = np.split(order, [round(HELD_OUT * len(order))])
    asked = random.integers(0, len(ATTRIBUTES), len(train))
    tables = []
    for number, (attribute, values) in enumerate(ATTRIBUTES.items()):
        own = train if label == TRUE else train[asked == number]
        pairs = classes[own] * len(values) + codes[own, number]
        if label in (TRUE, SPLIT):
            found = np.bincount(pairs, minlength=len(CLASS) * len(values)).astype(float)
        else:
            made = designed(attribute, MECHANISMS[label], epsilon, held)
            found = estimate(made, pairs, seed * len(ATTRIBUTES) + number)
        tables.append(found.reshape(len(CLASS), len(values)))
    return accuracy(learn(tables), codes[test], classes[test])


def measure(
    cases: Cases, *, epsilons: Sequence[str], held: Sequence[int], runs: int, seed: int
) -> Measured:
    """The accuracy of every mechanism, run by run; within a run, all ask the same people."""
    _, classes, line = people_codes()
    rows: list[Row] = []
    points = [(label, "", 0) for label in (TRUE, SPLIT)]
    points += [(label, one, count) for label in MECHANISMS for count in held for one in epsilons]
    first = zlib.crc32(f"{seed}".encode())
    for label, epsilon, count in points:
        key = {"label": label, "epsilon": epsilon, "held": count, "runs": runs, "seed": seed}

        def work(label: str = label, epsilon: str = epsilon, count: int = count) -> list[Row]:
            seeds = range(first, first + runs)
            found = Value.over([one_run(own, label, epsilon, count) for own in seeds])
            return [{"accuracy": found.mean, "stderr": found.stderr, "runs": found.runs}]

        place: Row = {"mechanism": label, "epsilon": float(epsilon) if epsilon else math.nan}
        place["sensitive"] = count
        rows += [{**place, **found} for found in cases.rows({**key, "people": len(classes)}, work)]
    return Measured(rows, f"{line}, a fifth of whom are not asked and test the models")


def draw(measured: Measured) -> Drawing:
    """A panel per number of sensitive classes; lines without noise dashed."""
    panels = []
    for count in sorted({row["sensitive"] for row in measured.rows} - {0}):
        curves = []
        for label in MECHANISMS:
            rows = measured.where(mechanism=label, sensitive=count)
            curves.append(sampled(label, rows, "epsilon", _accuracy))
            x = curves[-1].x
        role: Role = "predicted"
        for label in (TRUE, SPLIT):
            (row,) = measured.where(mechanism=label)
            curves.append(Curve(label, x, [row["accuracy"]] * len(x), role=role))
        title = f"{count} of {len(CLASS)} classes sensitive"
        panels.append(
            Panel(title, "epsilon", "share of people classified correctly", tuple(curves))
        )
    return draw_figure("Naive Bayes with sensitive classes", panels, note=measured.data)


def _accuracy(row: Row) -> Value:
    return Value.of(row, "accuracy")


def judge(measured: Measured) -> Sequence[Verdict]:
    """Whether disclosing what is not sensitive makes a better model, and one near the true one."""
    verdicts = []
    (true,) = measured.where(mechanism=TRUE)
    for count in sorted({row["sensitive"] for row in measured.rows} - {0}):
        own = measured.where(mechanism=ULDP, sensitive=count)
        votes, gains = [], []
        for row in own:
            for label in (GRR, OUE):
                (other,) = measured.where(mechanism=label, sensitive=count, epsilon=row["epsilon"])
                values = _accuracy(row), _accuracy(other)
                votes.append(is_above(*values, cases=2 * len(own)))
                gains.append(row["accuracy"] - other["accuracy"])
        verdicts.append(
            Verdict(
                f"(ours) with {count} sensitive classes, naive Bayes classifies more people "
                "correctly if trained on ULDP reports than on plain LDP ones, at every epsilon",
                in_every_case(votes),
                f"{tally(votes)}; by {100 * min(gains):.1f} to {100 * max(gains):.1f} points",
            )
        )
        high = [row for row in own if row["epsilon"] >= FROM]
        near = [is_near(_accuracy(row), _accuracy(true), NEAR, len(high)) for row in high]
        verdicts.append(
            Verdict(
                f"(ours) with {count} sensitive classes, its accuracy is within {NEAR:.0%} of that "
                f"from the true table, from epsilon {FROM:g} on",
                in_every_case(near),
                f"{tally(near)}; {min((row['accuracy'] for row in high), default=math.nan):.3f} "
                f"or more, true table {true['accuracy']:.3f}",
            )
        )
    return verdicts


FIGURES = (
    Figure(
        name="uldp-naive-bayes",
        source="Yin, Zhu, Zhang, Computer Science 50(10), 2023, future work: naive Bayes",
        measure=measure,
        draw=draw,
        judge=judge,
        quick={"epsilons": ("1", "4"), "held": (2,), "runs": 5, "seed": SEED},
        full={
            "epsilons": ("0.5", "1", "2", "3", "4", "6"),
            "held": (2, 4),
            "runs": 30,
            "seed": SEED,
        },
    ),
)
