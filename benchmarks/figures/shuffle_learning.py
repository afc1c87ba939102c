"""Models trained on synthetic tables: linear and logistic regression and a linear SVM, by SGD.

One survey asks for all columns; `ldpsql.synthesis` draws a table of up to 100,000 made-up people; a
model is trained on it and judged on people who were not asked. Beside it stand the
same model trained on the true table, as it is and with values redrawn within the survey's bins, and
a constant, which is what a useless table comes to.
"""

from __future__ import annotations

import tomllib
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from benchmarks.figures import Cases, Figure, Measured, Row, Verdict, data
from ldpsql import plots
from ldpsql.designer import design
from ldpsql.plots import Curve, Panel
from ldpsql.simulation import simulate
from ldpsql.synthesis.columns import values_of
from ldpsql_device.errors import Error
from ldpsql_device.schema import Dimension, Schema

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

SCHEMA = """
[dimension.age]
type = "int"
edges = [17, 22, 27, 32, 37, 42, 47, 52, 57, 62, 67, 97]
[dimension.sex]
type = "category"
values = [1, 2]
[dimension.married]
type = "bool"
[dimension.schooling]
type = "int"
edges = [1, 16, 18, 20, 21, 22, 25]
[dimension.class_worker]
type = "category"
values = [1, 2, 3, 4, 5, 6, 7, 8]
[dimension.hours_per_week]
type = "int"
edges = [1, 20, 35, 40, 41, 50, 60, 100]
[dimension.income_gt_50k]
type = "bool"
"""
COLUMNS = (
    *("age", "sex", "married", "schooling", "class_worker"),
    *("hours_per_week", "income_gt_50k"),
)
HELD_OUT, DRAWN = 50_000, 100_000
MODELS = {
    "linear regression of hours_per_week": "root mean square error (hours)",
    "logistic regression of income > 50k": "people told wrongly (share)",
    "linear SVM of income > 50k": "people told wrongly (share)",
}
TRUE, BINNED, CONSTANT = "true table", "true table in bins", "constant"
WITHOUT_NOISE = (TRUE, BINNED, CONSTANT)


@dataclass(frozen=True)
class Contender:
    """A mechanism in the comparison: its label, and lines of [survey] that choose it.

    Where it is shuffled, epsilon is that of the shuffled batch, and delta is half of 1 / people.
    """

    label: str
    lines: str


SHUFFLED = 'trust = "shuffle"\ndelta = "{delta}"\nusers = {users}'
PAIRS = "[survey.options]\nways = 2"
CONTENDERS = (
    Contender("Fourier response", 'mechanism = "fourier"'),
    Contender("GRR on whole records", 'mechanism = "grr"'),
    Contender("HGRR", 'mechanism = "hgrr"'),
    Contender("pairs by RR", f'mechanism = "srr-ms"\n{PAIRS}'),
    Contender("pairs by SRR-SS, shuffled", f'mechanism = "srr-ss"\n{SHUFFLED}\n{PAIRS}'),
    Contender("pairs by SRR-MS, shuffled", f'mechanism = "srr-ms"\n{SHUFFLED}\n{PAIRS}'),
    Contender("pairs by SOLH, shuffled", f'mechanism = "solh"\n{SHUFFLED}\n{PAIRS}'),
)
QUICK = ("Fourier response", "pairs by SRR-SS, shuffled")


def stand_in() -> pa.Table:
    """Made-up workers whose income and hours depend on the rest, in case of no real ones."""
    random = np.random.default_rng(0)
    n = 200_000
    age, schooling = random.integers(17, 97, n), random.integers(1, 25, n)
    sex, married = random.integers(1, 3, n), random.random(n) < 0.55
    hours = np.clip(np.where(age > 66, 22, 39) - 3 * sex + random.normal(4, 9, n), 1, 99)
    score = 0.25 * (schooling - 19) + 0.07 * (hours - 40) + 0.6 * married + 0.4 * (sex == 1) - 0.8
    return pa.table(
        {
            "age": age,
            "sex": sex,
            "married": married,
            "schooling": schooling,
            "class_worker": random.integers(1, 9, n),
            "hours_per_week": hours.astype(np.int64),
            "income_gt_50k": random.random(n) < 1.0 / (1.0 + np.exp(-score)),
        }
    )


def features(table: pa.Table) -> dict[str, np.ndarray]:
    """Numbers of every column: age also squared, kinds of worker one by one."""
    found = {
        name: table.column(name).to_numpy(zero_copy_only=False).astype(np.float64)
        for name in COLUMNS
    }
    columns = [found["age"] / 50, (found["age"] / 50) ** 2, found["schooling"] / 12]
    columns += [found["sex"] - 1, found["married"]]
    columns += [found["class_worker"] == kind for kind in range(2, 9)]
    return {
        "people": np.stack(columns, axis=1).astype(np.float64),
        "hours": found["hours_per_week"],
        "income": found["income_gt_50k"],
    }


def errors(train: pa.Table, test: pa.Table, seed: int) -> dict[str, float]:
    """The three models, trained on one table and judged on another."""
    from sklearn.linear_model import SGDClassifier, SGDRegressor  # noqa: PLC0415
    from sklearn.pipeline import make_pipeline  # noqa: PLC0415
    from sklearn.preprocessing import StandardScaler  # noqa: PLC0415

    known, asked = features(train), features(test)
    names = list(MODELS)
    with_hours = [np.column_stack([x["people"], x["hours"] / 40]) for x in (known, asked)]
    found: dict[str, float] = {}
    # Columns are of order 1 as they are; dividing by the spread of a rare kind would diverge.
    linear = make_pipeline(
        StandardScaler(with_std=False), SGDRegressor(random_state=seed, max_iter=20, tol=1e-4)
    )
    spread, middle = known["hours"].std() or 1.0, known["hours"].mean()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        linear.fit(known["people"], (known["hours"] - middle) / spread)
        told = linear.predict(asked["people"]) * spread + middle
        found[names[0]] = float(np.sqrt(((told - asked["hours"]) ** 2).mean()))
        for name, loss in ((names[1], "log_loss"), (names[2], "hinge")):
            found[name] = float((asked["income"] == 0).mean())
            if len(np.unique(known["income"])) > 1:
                learner = SGDClassifier(loss=loss, random_state=seed, max_iter=20, tol=1e-4)
                model = make_pipeline(StandardScaler(with_std=False), learner)
                model.fit(with_hours[0], known["income"])
                found[name] = float((model.predict(with_hours[1]) != asked["income"]).mean())
    return found


def codes_of(dimension: Dimension, column: pa.ChunkedArray) -> np.ndarray:
    """The code of every value, each distinct one encoded once."""
    values, place = np.unique(column.to_numpy(zero_copy_only=False), return_inverse=True)
    return np.array([dimension.code(value, 0)[0] for value in values.tolist()])[place]


def in_bins(table: pa.Table) -> pa.Table:
    """The same people with values redrawn evenly within the survey's bins: what bins alone cost."""
    random = np.random.default_rng(0)
    schema = Schema.from_keys(tomllib.loads(SCHEMA))
    return pa.table(
        {d.name: values_of(d, codes_of(d, table.column(d.name)), random) for d in schema.dimensions}
    )


def constants(train: pa.Table, test: pa.Table) -> dict[str, float]:
    """The mean and the majority of the true table, for everybody."""
    known, asked = features(train), features(test)
    wrong = float((asked["income"] != (known["income"].mean() > 0.5)).mean())
    rmse = float(np.sqrt(((asked["hours"] - known["hours"].mean()) ** 2).mean()))
    return dict(zip(MODELS, (rmse, wrong, wrong), strict=True))


def trained(
    contender: Contender, epsilon: float, train: pa.Table, test: pa.Table, run: int
) -> dict[str, float]:
    """Ask all people of the training table, draw some made-up ones, train, judge."""
    lines = contender.lines.format(users=len(train), delta=f"{0.5 / len(train):.2g}")
    head = f'[survey]\ntable = "workers"\nepsilon = "{epsilon}"\n{lines}\n'
    survey = design(head + SCHEMA)
    with simulate(survey, train, seed=run) as connection:
        made = connection.synthesize(min(DRAWN, len(train)), seed=run)
    return errors(made, test, run)


def measure(
    cases: Cases, people: int, epsilons: Sequence[float], runs: int, labels: Sequence[str]
) -> Measured:
    """Errors of every model, mechanism and epsilon, run by run."""
    table, source = data.people("acs_income_2018", COLUMNS, stand_in, rows=people + HELD_OUT)
    train, test = table.slice(HELD_OUT), table.slice(0, HELD_OUT)
    rows: list[Row] = []

    def entries(label: str, epsilon: float, run: int, found: dict[str, float]) -> list[Row]:
        key: Row = {"table": label, "epsilon": epsilon, "run": run}
        return [{**key, "model": model, "error": error} for model, error in found.items()]

    first = train.slice(0, DRAWN)
    without_noise = {
        TRUE: errors(first, test, 0),
        BINNED: errors(in_bins(first), test, 0),
        CONSTANT: constants(train, test),
    }
    for epsilon in epsilons:
        for label, found in without_noise.items():
            rows += entries(label, epsilon, 0, found)
    for contender in CONTENDERS:
        if contender.label not in labels:
            continue
        for epsilon in epsilons:
            for run in range(runs):
                key: dict[str, Any] = {"people": len(train), "data": source, "run": run}
                key |= {"lines": contender.lines, "epsilon": epsilon, "schema": SCHEMA}

                def work(c: Contender = contender, e: float = epsilon, r: int = run) -> list[Row]:
                    try:
                        return entries(c.label, e, r, trained(c, e, train, test, r))
                    except Error as error:
                        print(f"  {c.label}, epsilon {e:g}: left out, {error}", flush=True)
                        return []

                rows += cases.rows(key, work)
    return Measured(rows, f"{source}; {HELD_OUT:,} of them are not asked and judge the models")


def mean(measured: Measured, **wanted: object) -> float:
    """The mean error over runs."""
    return float(np.mean([row["error"] for row in measured.where(**wanted)]))


def draw(measured: Measured) -> Drawing:
    """One panel per model, errors over epsilon."""
    epsilons = measured.values("epsilon")
    panels = [
        Panel(
            model,
            "epsilon",
            unit,
            tuple(
                Curve(
                    label,
                    epsilons,
                    [mean(measured, model=model, table=label, epsilon=e) for e in epsilons],
                    role="predicted" if label in WITHOUT_NOISE else "measured",
                )
                for label in measured.values("table")
            ),
            log_x=2,
        )
        for model, unit in MODELS.items()
    ]
    return plots.draw_figure("Models trained on synthetic tables", panels, note=measured.data)


def judge(measured: Measured) -> list[Verdict]:
    """Claims on every model: the best table, more epsilon, and a shuffler."""
    low, high = min(measured.values("epsilon")), max(measured.values("epsilon"))
    contenders = [t for t in measured.values("table") if t not in WITHOUT_NOISE]
    verdicts = []
    for model in MODELS:

        def at(table: str, epsilon: float, model: str = model) -> float:
            return mean(measured, model=model, table=table, epsilon=epsilon)

        local = min((t for t in contenders if "shuffled" not in t), key=lambda t: at(t, high))
        best = min(contenders, key=lambda t: at(t, high))
        true, constant = at(TRUE, high), at(CONSTANT, high)
        verdicts += [
            Verdict(
                f"{model}: a synthetic table at epsilon {high:g} loses less than half of what the "
                "true table has over a constant",
                at(best, high) - true < 0.5 * (constant - true),
                f"{best} {at(best, high):.4g}, true table {true:.4g}, constant {constant:.4g}",
            ),
            Verdict(
                f"{model}: without a shuffler a larger epsilon makes a better model",
                at(local, high) < at(local, low),
                f"{local}: {at(local, low):.4g} at {low:g}, {at(local, high):.4g} at {high:g}",
            ),
        ]
        if any("shuffled" in t for t in contenders):
            locals_ = {t: at(t, low) for t in contenders if "shuffled" not in t}
            shuffled = {t: at(t, low) for t in contenders if "shuffled" in t}
            verdicts.append(
                Verdict(
                    f"{model}: at epsilon {low:g} a shuffled table is better than every local one",
                    max(shuffled.values()) < min(locals_.values()),
                    ", ".join(f"{t} {error:.4g}" for t, error in (shuffled | locals_).items()),
                )
            )
    return verdicts


FIGURES = (
    Figure(
        name="shuffle-figure-6",
        source="Models trained on tables made from private marginals (shuffle paper, Figure 6)",
        measure=measure,
        draw=draw,
        judge=judge,
        quick={
            "people": 60_000,
            "epsilons": (1.0, 4.0),
            "runs": 1,
            "labels": QUICK,
        },
        full={
            "people": 1_400_000,
            "epsilons": (0.5, 1.0, 2.0, 4.0),
            "runs": 3,
            "labels": [contender.label for contender in CONTENDERS],
        },
    ),
)
