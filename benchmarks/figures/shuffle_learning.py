"""Models trained on synthetic tables: linear and logistic regression and a linear SVM, by SGD.

Every model is trained twice: by scikit-learn's SGD, whose steps follow its own schedule, and by the
paper's, whose step t is FIRST_STEP / sqrt(t) on a batch of people.

One survey asks for all columns; `ldpsql.synthesis` draws a table of up to 100,000 made-up people; a
model is trained on it and judged on people who were not asked. Beside it stand the
same model trained on the true table, as it is and with values redrawn within the survey's bins, and
a constant, which is what a useless table comes to.
"""

from __future__ import annotations

import tomllib
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from benchmarks.figures import Cases, Figure, Measured, Row, Verdict, data
from benchmarks.figures.verdicts import Value, band, in_every_case, is_above, is_near, tally
from ldpsql.designer import design
from ldpsql.synthesis.columns import values_of
from ldpsql.terminal import figures as plots
from ldpsql.terminal.figures import Curve, Panel, Role
from ldpsql_device.errors import Error
from ldpsql_device.schema import Dimension, Schema
from ldpsql_lab.simulation import simulate

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
    "logistic regression of income > 50k": "people classified wrongly (share)",
    "linear SVM of income > 50k": "people classified wrongly (share)",
}
TRUE, BINNED, CONSTANT = "true table", "true table in bins", "constant"
WITHOUT_NOISE = (TRUE, BINNED, CONSTANT)
SKLEARN, PLAIN = "scikit-learn's SGD", "steps of 1/sqrt(t)"
LEARNERS = (SKLEARN, PLAIN)
FIRST_STEP, BATCH, PASSES, SHRINKAGE = 1.0, 100, 5, 1e-4
SAME = 0.05
Floats = NDArray[np.float64]
Errors = dict[tuple[str, str], float]
"""By model and learner."""


@dataclass(frozen=True)
class Contender:
    """A mechanism in the comparison: its label, and lines of [survey] that choose it.

    Where it is shuffled, epsilon is that of the shuffled batch, and delta is half of 1 / people.
    """

    label: str
    lines: str


SHUFFLED = 'trust = "shuffle"\ndelta = "{delta}"\nusers = {users}'
PAIRS = "[survey.options]\nways = 2"
COVERED = "[survey.options]\nways = 0\ncover = 2"
CALM = "CALM with {}, shuffled"
CONTENDERS = (
    Contender("Fourier response", 'mechanism = "fourier"'),
    Contender("GRR on whole records", 'mechanism = "grr"'),
    Contender("HGRR", 'mechanism = "hgrr"'),
    Contender("pairs by RR", f'mechanism = "srr-ms"\n{PAIRS}'),
    Contender("pairs by SRR-SS, shuffled", f'mechanism = "srr-ss"\n{SHUFFLED}\n{PAIRS}'),
    Contender("pairs by SRR-MS, shuffled", f'mechanism = "srr-ms"\n{SHUFFLED}\n{PAIRS}'),
    Contender("pairs by SOLH, shuffled", f'mechanism = "solh"\n{SHUFFLED}\n{PAIRS}'),
    *(
        Contender(CALM.format(name), f'mechanism = "{name.lower()}"\n{SHUFFLED}\n{COVERED}')
        for name in ("SRR-MS", "ARR-SS", "PSRR-SS")
    ),
)
CALMS = tuple(CALM.format(name) for name in ("SRR-MS", "ARR-SS"))
PSRR = CALM.format("PSRR-SS")
QUICK = ("Fourier response", "pairs by SRR-SS, shuffled", CALMS[1], PSRR)
SEED = 20_261_126
"""Chosen after the number of runs was, and before anything was measured with it."""


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


def gradient(loss: str, scores: Floats, truths: Floats) -> Floats:
    """Of a loss by the scores, shape (n,); truths: numbers, or -1 and 1."""
    if loss == "squared":
        return scores - truths
    if loss == "hinge":
        return np.where(truths * scores < 1.0, -truths, 0.0)
    return np.asarray(-truths / (1.0 + np.exp(np.clip(truths * scores, -30.0, 30.0))))


def descend(loss: str, people: Floats, truths: Floats, seed: int) -> tuple[Floats, float]:
    """Weights and intercept by steps of FIRST_STEP / sqrt(t) along the gradient of a batch's mean
    loss, with a little shrinkage, over PASSES passes through the people in random order."""
    random, step = np.random.default_rng(seed), 0
    weights, intercept = np.zeros(people.shape[1]), 0.0
    for _ in range(PASSES):
        order = random.permutation(len(people))
        for start in range(0, len(order), BATCH):
            step += 1
            rows = order[start : start + BATCH]
            own = gradient(loss, people[rows] @ weights + intercept, truths[rows])
            rate = FIRST_STEP / np.sqrt(step)
            weights -= rate * (people[rows].T @ own / len(rows) + SHRINKAGE * weights)
            intercept -= rate * float(own.mean())
    return weights, intercept


def errors(train: pa.Table, test: pa.Table, seed: int) -> Errors:
    """The three models by both learners, trained on one table and judged on another."""
    found = {(model, SKLEARN): error for model, error in by_sklearn(train, test, seed).items()}
    known, asked = features(train), features(test)
    with_hours = [np.column_stack([x["people"], x["hours"] / 40]) for x in (known, asked)]
    spread, middle = known["hours"].std() or 1.0, known["hours"].mean()
    for name, loss in zip(MODELS, ("squared", "logistic", "hinge"), strict=True):
        tables = [known["people"], asked["people"]] if loss == "squared" else with_hours
        mean = tables[0].mean(axis=0)
        truths = (known["hours"] - middle) / spread if loss == "squared" else 0.0
        truths = truths if loss == "squared" else 2.0 * known["income"] - 1.0
        weights, intercept = descend(loss, tables[0] - mean, truths, seed)
        scores = (tables[1] - mean) @ weights + intercept
        if loss == "squared":
            told = scores * spread + middle
            found[name, PLAIN] = float(np.sqrt(((told - asked["hours"]) ** 2).mean()))
        else:
            found[name, PLAIN] = float(((scores > 0.0) != asked["income"]).mean())
    return found


def by_sklearn(train: pa.Table, test: pa.Table, seed: int) -> dict[str, float]:
    """The three models by scikit-learn's SGD, trained on one table and judged on another."""
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


def constants(train: pa.Table, test: pa.Table) -> Errors:
    """The mean and the majority of the true table, for everybody."""
    known, asked = features(train), features(test)
    wrong = float((asked["income"] != (known["income"].mean() > 0.5)).mean())
    rmse = float(np.sqrt(((asked["hours"] - known["hours"].mean()) ** 2).mean()))
    pairs = zip(MODELS, (rmse, wrong, wrong), strict=True)
    return {(model, learner): error for model, error in pairs for learner in LEARNERS}


def trained(
    contender: Contender, epsilon: float, train: pa.Table, test: pa.Table, run: int
) -> Errors:
    """Ask all people of the training table, draw some made-up ones, train, judge."""
    lines = contender.lines.format(users=len(train), delta=f"{0.5 / len(train):.2g}")
    head = f'[survey]\ntable = "workers"\nepsilon = "{epsilon}"\n{lines}\n'
    survey = design(head + SCHEMA)
    with simulate(survey, train, seed=run) as connection:
        made = connection.synthesize(min(DRAWN, len(train)), seed=run)
    return errors(made, test, run)


def measure(
    cases: Cases,
    people: int,
    epsilons: Sequence[float],
    runs: int,
    labels: Sequence[str],
    seed: int,
) -> Measured:
    """Errors of every model, mechanism and epsilon, run by run."""
    table, source = data.people("acs_income_2018", COLUMNS, stand_in, rows=people + HELD_OUT)
    train, test = table.slice(HELD_OUT), table.slice(0, HELD_OUT)
    rows: list[Row] = []
    key: dict[str, Any]

    def entries(label: str, epsilon: float, run: int, found: Errors) -> list[Row]:
        own: Row = {"table": label, "epsilon": epsilon, "run": run}
        return [
            {**own, "model": model, "learner": learner, "error": error}
            for (model, learner), error in found.items()
        ]

    first = train.slice(0, DRAWN)
    without_noise = {
        TRUE: lambda: errors(first, test, 0),
        BINNED: lambda: errors(in_bins(first), test, 0),
        CONSTANT: lambda: constants(train, test),
    }
    for label, find in without_noise.items():
        key = {"people": len(train), "data": source, "lines": label, "schema": SCHEMA}

        def judge_table(label: str = label, find: Callable[[], Errors] = find) -> list[Row]:
            return entries(label, 0.0, 0, find())

        found = cases.rows(key, judge_table)
        rows += [{**row, "epsilon": epsilon} for epsilon in epsilons for row in found]
    for contender in CONTENDERS:
        if contender.label not in labels:
            continue
        for epsilon in epsilons:
            for run in range(seed, seed + runs):
                key = {"people": len(train), "data": source, "run": run}
                key |= {"lines": contender.lines, "epsilon": epsilon, "schema": SCHEMA}

                def work(c: Contender = contender, e: float = epsilon, r: int = run) -> list[Row]:
                    try:
                        return entries(c.label, e, r, trained(c, e, train, test, r))
                    except Error as error:
                        print(f"  {c.label}, epsilon {e:g}: left out, {error}", flush=True)
                        return []

                rows += cases.rows(key, work)
    return Measured(rows, f"{source}; {HELD_OUT:,} of them are not asked, and test the models")


def value(measured: Measured, table: str, epsilon: float, model: str, learner: str) -> Value:
    """The mean error over runs; exact where there is nothing random but a seed."""
    wanted = {"table": table, "epsilon": epsilon, "model": model, "learner": learner}
    found = Value.over([row["error"] for row in measured.where(**wanted)])
    return Value(found.mean) if table in WITHOUT_NOISE else found


def draw(measured: Measured) -> Drawing:
    """One panel per model and learner, errors over epsilon."""
    epsilons = measured.values("epsilon")
    panels = []
    for learner in measured.values("learner"):
        for model, unit in MODELS.items():
            curves = []
            for label in measured.values("table"):
                values = [value(measured, label, e, model, learner) for e in epsilons]
                role: Role = "predicted" if label in WITHOUT_NOISE else "measured"
                means = [each.mean for each in values]
                curves.append(Curve(label, epsilons, means, *band(values), role))
            title = f"{model}, {learner}"
            panels.append(Panel(title, "epsilon", unit, tuple(curves), log_x=2))
    return plots.draw_figure("Models trained on synthetic tables", panels, note=measured.data)


def judge(measured: Measured) -> list[Verdict]:
    """Claims on every model: the best table, more epsilon, a shuffler, and which SGD."""
    low, high = min(measured.values("epsilon")), max(measured.values("epsilon"))
    calms = [t for t in measured.values("table") if t in CALMS]
    without = {*WITHOUT_NOISE, *CALMS, PSRR}
    contenders = [t for t in measured.values("table") if t not in without]
    shuffled = [t for t in contenders if "shuffled" in t]
    others = [t for t in contenders if "shuffled" not in t]
    verdicts = []
    for model in MODELS:

        def at(table: str, epsilon: float, learner: str = SKLEARN, model: str = model) -> Value:
            return value(measured, table, epsilon, model, learner)

        best = min(contenders, key=lambda t: at(t, high).mean)
        middle = Value((at(TRUE, high).mean + at(CONSTANT, high).mean) / 2.0)
        gains = [is_above(at(t, low), at(t, high), cases=len(others)) for t in others]
        verdicts += [
            Verdict(
                f"{model}: a synthetic table at epsilon {high:g} loses less than half of what the "
                "true table has over a constant",
                # The best of several is judged as strictly as all of them.
                is_above(middle, at(best, high), cases=len(contenders)),
                f"{best} {_told(at(best, high))}, true table {at(TRUE, high).mean:.4g}, constant "
                f"{at(CONSTANT, high).mean:.4g}",
            ),
            Verdict(
                f"{model}: without a shuffler a larger epsilon makes a better model",
                in_every_case(gains),
                "; ".join(
                    f"{t}: {_told(at(t, low))} at {low:g}, {_told(at(t, high))} at {high:g}"
                    for t in others
                ),
            ),
        ]
        if shuffled and others:
            pairs = [(a, b) for a in others for b in shuffled]
            votes = [is_above(at(a, low), at(b, low), cases=len(pairs)) for a, b in pairs]
            verdicts.append(
                Verdict(
                    f"{model}: at epsilon {low:g} a shuffled table is better than every local one",
                    in_every_case(votes),
                    ", ".join(f"{t} {_told(at(t, low))}" for t in (*shuffled, *others)),
                )
            )
        if calms:
            pairs = [(t, e) for t in calms for e in measured.values("epsilon")]
            votes = [is_above(at(t, e), at(PSRR, e), cases=len(pairs)) for t, e in pairs]
            verdicts.append(
                Verdict(
                    f"{model}: {PSRR} is better than {' and '.join(calms)}",
                    in_every_case(votes),
                    f"{tally(votes)}; at {low:g} "
                    + ", ".join(f"{t} {_told(at(t, low))}" for t in (PSRR, *calms)),
                )
            )
        pairs = [(t, e) for t in contenders for e in (low, high)]
        near = [
            is_near(at(t, e, PLAIN), at(t, e, SKLEARN), SAME, cases=len(pairs)) for t, e in pairs
        ]
        ratios = [at(t, e, PLAIN).mean / at(t, e, SKLEARN).mean for t, e in pairs]
        verdicts.append(
            Verdict(
                f"{model}: the paper's steps of 1/sqrt(t) come within {SAME:.0%} of scikit-learn's",
                in_every_case(near),
                f"{tally(near)}; error {min(ratios):.2f} to {max(ratios):.2f} times its",
            )
        )
    return verdicts


def _told(found: Value) -> str:
    error = f" ± {found.stderr:.1g}" if found.runs > 1 else ""
    return f"{found.mean:.4g}{error}"


FIGURES = (
    Figure(
        name="shuffle-figure-6",
        source="Liu, Wang, Wang 2022, Figure 6 (models trained on synthetic tables)",
        measure=measure,
        draw=draw,
        judge=judge,
        quick={
            "people": 30_000,
            "epsilons": (1.0, 4.0),
            "runs": 3,
            "labels": QUICK,
            "seed": SEED,
        },
        full={
            "people": 1_400_000,
            "epsilons": (0.5, 1.0, 2.0, 4.0),
            "runs": 20,
            "labels": [contender.label for contender in CONTENDERS],
            "seed": SEED,
        },
    ),
)
