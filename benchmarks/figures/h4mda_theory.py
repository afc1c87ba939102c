"""What H4MDA proves, checked on small designs: promises, expectations, numbers of levels.

* promises (Theorems 6 and 11, and HGRR's): every report's probability under every record is
  enumerated, from the integers that devices compare. epsilon is the logarithm of the largest odds;
  delta the least for which the channel is (epsilon, delta)-LDP.
* expectations (Theorems 7 and 12): means of the published estimators over runs, beside the truth.
* levels (Table 2): combinations of levels that a device draws from, and the predicted variance of a
  count. The paper's numbers for two attributes: log m for HIO, 2 log m for AHIO, log 2m for EHIO.

Source: docs/spec/h4mda.md#5, docs/spec/h4mda.md#8, docs/spec/h4mda.md#11.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from benchmarks.figures import Cases, Figure, Measured, Row, Verdict
from benchmarks.figures.curves import exact, sampled
from benchmarks.figures.verdicts import Value, in_every_case, is_near, tally
from ldpsql.algebra.boxes import Box, LinearQuery
from ldpsql.algebra.record_domain import RecordDomain
from ldpsql.mechanisms.registry import mechanism
from ldpsql.reports.channel import enumerate_law
from ldpsql.terminal.figures import Panel, Role, draw_figure
from ldpsql_device.epsilon import Epsilon
from ldpsql_lab.simulation import SeededEntropy, histogram_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

SOUND = ("hio", "ahio", "ehio", "hgrr", "lgrr-repaired")
PUBLISHED = ("lgrr-fd", "lgrr")
KEPT = 1e-12
"""By how much a logarithm of exact odds may differ from epsilon, being a floating-point number."""
NEAR = 0.1
"""The share within which an estimate is the truth."""


def domain_of(name: str, size: int, attributes: int) -> RecordDomain:
    """Attributes of so many codes, the last of which is a measure, too, but for HIO."""
    names, sizes = tuple("abc"[:attributes]), (size,) * attributes
    if name == "hio":
        return RecordDomain(names, sizes, (), (), ())
    return RecordDomain(names, sizes, names[-1:], ((1.0, float(size)),), (attributes - 1,))


# -- promises --------------------------------------------------------------------------------------


def measure_promises(
    cases: Cases, *, mechanisms: Sequence[str], epsilons: Sequence[str], fakes: Sequence[int]
) -> Measured:
    """The exact channel of four codes, each a number from 1 to 4, under a binary tree."""
    rows: list[Row] = []
    for name in mechanisms:
        for added in fakes if name == "lgrr-fd" else (0,):
            for epsilon in epsilons:
                key = {"mechanism": name, "fakes": added, "epsilon": epsilon}
                rows += cases.rows(key, functools.partial(_promise, name, added, epsilon))
    return Measured(
        rows,
        "no data: exact channels of one attribute of four codes",
    )


def _promise(name: str, fakes: int, epsilon: str) -> list[Row]:
    options = {"fanout": 2, **({"fakes": fakes} if name == "lgrr-fd" else {})}
    design = mechanism(name).design(domain_of(name, 4, 1), Epsilon.parse(epsilon), options)
    law = enumerate_law(design.plan)
    odds = law.worst().odds
    return [
        {
            "mechanism": name if name != "lgrr-fd" else f"lgrr-fd, {fakes} fake nodes",
            "nominal": float(epsilon),
            "epsilon": math.inf if odds is None else math.log(odds),
            "delta": float(law.divergence(Epsilon.parse(epsilon).odds)),
        }
    ]


def draw_promises(found: Measured) -> Drawing:
    """The delta that is needed at the nominal epsilon."""
    curves = []
    for name in found.values("mechanism"):
        rows = found.where(mechanism=name)
        role: Role = "unsound" if rows[0]["delta"] else "predicted"
        curves.append(exact(name, rows, "nominal", "delta", role))
    panel = Panel("exact channels", "epsilon", "delta", tuple(curves))
    return draw_figure("What reports give away", [panel], note=found.data)


def judge_promises(found: Measured) -> list[Verdict]:
    """Whether the largest odds are the nominal ones."""

    def is_kept(name: str, claim: str) -> Verdict:
        rows = [row for row in found.rows if row["mechanism"].split(",")[0] == name]
        kept = all(row["epsilon"] <= row["nominal"] + KEPT for row in rows)
        deltas = [row["delta"] for row in rows]
        because = (
            "the largest odds are e^epsilon"
            if kept
            else f"infinite odds in {sum(math.isinf(row['epsilon']) for row in rows)} of "
            f"{len(rows)}; needs a delta of {min(deltas):.3f} to {max(deltas):.3f}"
        )
        return Verdict(claim, kept, because)

    rest = [name for name in SOUND if name != "hgrr"]
    return [
        is_kept("hgrr", "HGRR is epsilon-LDP"),
        is_kept("lgrr-fd", "Theorem 6: LGRR-FD is epsilon-LDP"),
        is_kept("lgrr", "Theorem 11: LGRR is epsilon-LDP"),
        *(is_kept(name, f"(ours) {name} is epsilon-LDP") for name in rest),
    ]


# -- expectations ----------------------------------------------------------------------------------


def measure_bias(
    cases: Cases, *, epsilons: Sequence[str], people: int, size: int, runs: int
) -> Measured:
    """A count of the lower third of skewed codes by HGRR and by what is published."""
    rows: list[Row] = []
    for name, estimator in (("hgrr", "unbiased"), *((name, "published") for name in PUBLISHED)):
        for epsilon in epsilons:
            own = (name, estimator, epsilon, people, size, runs)
            names = ("mechanism", "estimator", "epsilon", "people", "size", "runs")
            key = dict(zip(names, own, strict=True))
            rows += cases.rows(key, functools.partial(_bias, *own))
    return Measured(rows, f"generated: {people:,} people, {size} codes, the lower ones likelier")


def _bias(name: str, estimator: str, epsilon: str, people: int, size: int, runs: int) -> list[Row]:
    design = mechanism(name).design(domain_of(name, size, 1), Epsilon.parse(epsilon), {})
    random = np.random.default_rng(6)
    codes = np.minimum(random.geometric(4.0 / size, people) - 1, size - 1)
    planned = [design.prepare(LinearQuery.count(Box((((0, size // 3),),))))]
    found = []
    for seed in range(runs):
        signs = np.random.default_rng([seed, 6]).random(people) < codes / (size - 1)
        asked = np.stack([codes, signs], axis=1).astype(np.int64)
        histogram = histogram_of(design.randomize(asked, SeededEntropy(seed)))
        found.append(float(design.estimators[estimator](histogram).answer(planned).values[0]))
    mean = Value.over(found)
    return [
        {
            "mechanism": name,
            "epsilon": float(epsilon),
            "people": people,
            "truth": int((codes < size // 3).sum()),
            "estimate": mean.mean,
            "stderr": mean.stderr,
            "runs": runs,
        }
    ]


def draw_bias(found: Measured) -> Drawing:
    """Means of estimates over the truth."""
    curves = []
    for name in found.values("mechanism"):
        rows = found.where(mechanism=name)
        role: Role = "unsound" if name in PUBLISHED else "measured"
        curves.append(sampled(name, rows, "epsilon", _share, role))
    panel = Panel("a count", "epsilon", "mean estimate / truth", tuple(curves), level=1.0)
    return draw_figure("What estimators expect", [panel], note=found.data)


def _share(row: Row) -> Value:
    truth = row["truth"]
    return Value(row["estimate"] / truth, row["stderr"] / truth, row["runs"])


def judge_bias(found: Measured) -> list[Verdict]:
    """Whether the mean estimate is the truth."""

    def is_true(name: str, claim: str) -> Verdict:
        values = [_share(row) for row in found.where(mechanism=name)]
        votes = [is_near(value, Value(1.0), NEAR, len(values)) for value in values]
        between = f"{min(v.mean for v in values):.2f} to {max(v.mean for v in values):.2f}"
        because = f"{tally(votes)}; mean estimates {between} times the truth"
        return Verdict(f"{claim}, to within {NEAR:.0%}", in_every_case(votes), because)

    return [
        is_true("hgrr", "HGRR's estimator is unbiased"),
        is_true("lgrr-fd", "Theorem 7: LGRR-FD's estimator is unbiased"),
        is_true("lgrr", "Theorem 12: LGRR's estimator is unbiased"),
    ]


# -- levels ----------------------------------------------------------------------------------------


def measure_levels(
    cases: Cases, *, size: int, fanout: int, epsilon: str, attributes: Sequence[int]
) -> Measured:
    """Combinations of levels, and the predicted variance of counts of windows of a seventh."""
    rows: list[Row] = []
    for name in ("hio", "ahio", "ehio", "hgrr", "lgrr-fd", "lgrr"):
        for number in attributes:
            own = (name, size, fanout, epsilon, number)
            names = ("mechanism", "size", "fanout", "epsilon", "attributes")
            key = dict(zip(names, own, strict=True))
            rows += cases.rows(key, functools.partial(_levels, *own))
    return Measured(rows, f"no data: designs for {size} codes per attribute, fan-out {fanout}")


def _levels(name: str, size: int, fanout: int, epsilon: str, attributes: int) -> list[Row]:
    domain = domain_of(name, size, attributes)
    options = {"fanout": fanout, **({} if name in (*PUBLISHED, "hgrr") else {"root": True})}
    design = mechanism(name).design(domain, Epsilon.parse(epsilon), options)
    if name in PUBLISHED:
        combinations, variance = design.answers[0].path, math.nan
    else:
        combinations = len(design.table.groups)
        side = ((size // 7, 2 * size // 7),)
        query = LinearQuery.count(Box((side, *([None] * (attributes - 1)))))
        variance = float(design.variance([design.prepare(query)], 1)[0])
    return [
        {
            "mechanism": name,
            "attributes": attributes,
            "height": round(math.log(size, fanout)),
            "combinations": combinations,
            "variance": variance,
        }
    ]


def draw_levels(found: Measured) -> Drawing:
    """Combinations over the number of attributes."""
    panels = []
    for column, label in (
        ("combinations", "combinations of levels"),
        ("variance", "variance of a count / people"),
    ):
        curves = []
        for name in found.values("mechanism"):
            rows = found.where(mechanism=name)
            role: Role = "unsound" if name in PUBLISHED else "predicted"
            curves.append(exact(name, rows, "attributes", column, role))
        panels.append(Panel(label, "attributes", label, tuple(curves), log_y=True))
    return draw_figure("Levels of H4MDA's mechanisms", panels, note=found.data)


def judge_levels(found: Measured) -> list[Verdict]:
    """By the numbers of combinations."""
    table = {(row["mechanism"], row["attributes"]): row for row in found.rows}
    numbers = found.values("attributes")
    height = found.rows[0]["height"]

    def counts(name: str) -> list[int]:
        return [table[name, d]["combinations"] for d in numbers]

    def claim(text: str, name: str, wanted: Sequence[int]) -> Verdict:
        own = counts(name)
        apart = "" if own == list(wanted) else f", not {_listed(wanted)},"
        found = f"{_listed(own)}{apart} for {_listed(numbers)} attributes"
        return Verdict(text, own == list(wanted), found)

    return [
        claim(
            "HIO draws from the combinations of all levels of all trees",
            "hio",
            [(height + 1) ** d for d in numbers],
        ),
        claim("AHIO draws from twice as many", "ahio", [2 * count for count in counts("hio")]),
        claim(
            "EHIO has one more level in the measure's tree",
            "ehio",
            [(height + 2) * (height + 1) ** (d - 1) for d in numbers],
        ),
        claim("HGRR draws from one fewer than EHIO", "hgrr", [n - 1 for n in counts("ehio")]),
        claim("LGRR-FD's path runs through all of EHIO's", "lgrr-fd", counts("ehio")),
        claim(
            "LGRR's path leaves the leaves out",
            "lgrr",
            [(height + 1) * height ** (d - 1) for d in numbers],
        ),
    ]


def _listed(parts: Sequence[object]) -> str:
    return " / ".join(map(str, parts))


FIGURES = (
    Figure(
        name="h4mda-promises",
        source="H4MDA 2023, Theorems 6 and 11 (promises)",
        measure=measure_promises,
        draw=draw_promises,
        judge=judge_promises,
        quick={"mechanisms": (*SOUND, *PUBLISHED), "epsilons": ("0.5", "1"), "fakes": (0, 1)},
        full={
            "mechanisms": (*SOUND, *PUBLISHED),
            "epsilons": ("0.5", "1", "2"),
            "fakes": (0, 1, 2),
        },
    ),
    Figure(
        name="h4mda-bias",
        source="H4MDA 2023, Theorems 7 and 12 (expectations)",
        measure=measure_bias,
        draw=draw_bias,
        judge=judge_bias,
        quick={"epsilons": ("1", "2"), "people": 20_000, "size": 25, "runs": 20},
        full={"epsilons": ("0.5", "1", "2", "5"), "people": 20_000, "size": 125, "runs": 100},
    ),
    Figure(
        name="h4mda-levels",
        source="H4MDA 2023, Table 2 (numbers of levels)",
        measure=measure_levels,
        draw=draw_levels,
        judge=judge_levels,
        quick={"size": 125, "fanout": 5, "epsilon": "2", "attributes": (1, 2)},
        full={"size": 125, "fanout": 5, "epsilon": "2", "attributes": (1, 2, 3)},
    ),
)
