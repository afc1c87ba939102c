"""Published mechanisms for a crowd, in their papers' settings, beside what `auto` chooses.

All keep the same central promise to the same people: SRR-MS, ARR-SS and PSRR-SS (Liu, Wang, Wang
2022), each with the local budget that the accountant finds, and as published. Of counts of one
attribute the best of theirs by its expected error is shown, which follows from the true shares; the
error of `auto` is that of whole runs.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from benchmarks.figures.shuffle_marginals import (
    CONTESTANTS,
    People,
    design_of,
    measured,
    people_of,
    predicted,
)
from benchmarks.tables import print_table
from ldpsql.algebra.workload import QueryClass, Workload
from ldpsql.designer.auto import choose
from ldpsql_device.epsilon import Epsilon
from ldpsql_device.errors import SurveyError
from ldpsql_device.shuffled import Central

Row = tuple[object, ...]
TABLES = ("kosarak_head", "bms_webview2", "bank_marketing", "adult")
EPSILONS, RUNS = ("0.2", "0.6", "1"), 200
PAPERS = tuple(label for label in CONTESTANTS if label.startswith(("SRR-MS", "ARR-SS", "PSRR-SS")))


def run(tables: Sequence[str] = TABLES) -> None:
    """Print the table."""
    print_table(
        f"Crowds: published mechanisms, counts of one attribute, {RUNS} runs",
        (
            *("table", "people", "epsilon", "auto", "local", "error", "+/-"),
            *("best of the papers'", "local", "expected error", "auto's, of it", "+/-"),
        ),
        (count_row(name, epsilon) for name in tables for epsilon in EPSILONS),
    )


def central_of(people: People, epsilon: str) -> Central:
    """The papers' promise, delta = 1 / people."""
    n = len(people.codes)
    return Central(Epsilon.parse(epsilon), Fraction(1, n), n)


def count_row(name: str, epsilon: str, runs: int = RUNS) -> Row:
    """The sum of the squared errors of the shares of all cells of all attributes."""
    people = people_of(name)
    sizes = people.domain.sizes
    classes = [QueryClass(size / sum(sizes), ((j, "equality"),)) for j, size in enumerate(sizes)]
    workload = Workload(people.domain, tuple(classes))
    best = choose(workload, central_of(people, epsilon), len(people.codes)).best
    design = best.forecast.design
    own = measured(design, people, range(runs))
    expected: dict[str, tuple[float, Epsilon]] = {}
    for label in PAPERS:
        try:
            theirs = design_of(CONTESTANTS[label], people, epsilon)
        except SurveyError:  # a published budget below the least that a survey may have
            continue
        expected[label] = predicted(theirs, people), theirs.epsilon
    label = min(expected, key=lambda each: expected[each][0])
    error, local = expected[label]
    return (
        *(name, f"{len(people.codes):,}", epsilon, best.name, design.epsilon),
        *(f"{own.mean:.3g}", f"{own.stderr:.1g}", label, local, f"{error:.3g}"),
        *(f"{own.mean / error:.3f}", f"{own.stderr / error:.3f}"),
    )
