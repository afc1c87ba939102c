"""The shuffler: ten million reports, in a process of its own; and the accountant."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.tables import print_table
from ldpsql.audit.exact import domain_of_codes
from ldpsql.estimators.base import AnyDesign
from ldpsql.mechanisms.base import AnyRecipe, Retuner, require_local
from ldpsql.mechanisms.registry import MECHANISMS
from ldpsql.randomize.table import report_schema
from ldpsql.shuffle.accountant import (
    Blanket,
    _delta,
    balle_local,
    clones,
    epsilon_of_batch,
    largest_local,
)
from ldpsql.survey import Survey
from ldpsql_device.epsilon import Epsilon
from ldpsql_device.errors import SurveyError
from ldpsql_device.schema import Schema
from ldpsql_device.shuffled import Central, Shuffled

REPORTS = 10_000_000
SPOOLS = 100
SIZES = (2, 10, 50, 200)
CROWD = Central(Epsilon.parse("0.5"), Fraction(1, 10**8), 10**6)
SHAPES = (
    *(("256", 0), ("64", 1), ("16x16", 0), ("2x2x2x2x2x2x2x2", 0), ("24x7x265", 1)),
    *(("8", 0), ("512", 0), ("4096", 0)),
)
"""Domains of which every mechanism takes some, with how many measures."""
DIMENSIONS = {
    "age": {"type": "int", "domain": [18, 90]},
    "state": {"type": "category", "values": [f"S{i}" for i in range(50)]},
}
# ru_maxrss is in KiB on Linux, and includes what the libraries take.
WORK = """
import resource, sys, time
from pathlib import Path
from ldpsql.shuffler import shuffle_reports
from ldpsql.survey import Survey
folder = Path(sys.argv[1])
survey = Survey.from_json(folder / "survey.json")
before, start, spent = (
    resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.perf_counter(), time.process_time()
)
if sys.argv[2] == "shuffle":
    shuffle_reports(survey, [folder / "spools"], folder / "batch.parquet")
after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print(time.perf_counter() - start, time.process_time() - spent, before, after)
"""


def run() -> None:
    """Print the tables."""
    _shuffler()
    print()
    _accountant()
    print()
    print_table(
        f"The accountant's time for {CROWD.people:,} people, epsilon {CROWD.epsilon}",
        ("mechanism", "codes", "local", "central", "s for a promise", "s for a batch"),
        accountant_rows(),
    )


def accountant_rows() -> Iterator[tuple[object, ...]]:
    """The slowest domain of every mechanism: seconds of processor time for the largest local
    epsilon that keeps the promise, and for what a batch of that design keeps."""
    for name, recipe in MECHANISMS.items():
        times = [own for shape in SHAPES for own in _time_accountant(recipe, *shape)]
        if times:
            shape, local, found, spent, back = max(times, key=lambda own: max(own[3:]))
            yield name, shape, local, found, f"{spent:.2f}", f"{back:.2f}"


def _time_accountant(
    recipe: AnyRecipe, shape: str, measures: int
) -> Iterator[tuple[str, Epsilon, str, float, float]]:
    """Nothing for a domain that a mechanism does not take, or reports that none can account for."""
    domain = domain_of_codes(shape, measures)

    def at(epsilon: Epsilon) -> AnyDesign:
        if isinstance(recipe, Retuner):
            return recipe.retune(made, epsilon)
        return recipe.design(domain, epsilon, {})

    try:
        made = recipe.design(domain, CROWD.epsilon, {})
        require_local(made)
    except SurveyError:
        return
    _delta.cache_clear()
    started = time.process_time()
    local = largest_local(lambda epsilon: at(epsilon).blankets(), CROWD)
    spent = time.process_time() - started
    design = at(local)
    _delta.cache_clear()
    started = time.process_time()
    found = epsilon_of_batch(design.blankets(), CROWD.people, CROWD.delta, local)
    back = time.process_time() - started
    codes = f"{shape.replace('x', ' x ')}{', a measure' * measures}"
    yield codes, local, f"{found:f}", spent, back


def _shuffler() -> None:
    rows = []
    for reports in (REPORTS // 10, REPORTS):
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            bits = _prepare(folder, reports)
            command = [sys.executable, "-c", WORK, name, "shuffle"]
            done = subprocess.run(command, capture_output=True, text=True, check=True)
            wall, spent, before, after = map(float, done.stdout.split())
            size = (folder / "batch.parquet").stat().st_size / 1e6
            rows.append(
                (
                    f"{reports / 1e6:g} M reports of {bits} bits",
                    f"{wall:.1f}",
                    f"{spent:.1f}",
                    f"{after / 1024:.0f}",
                    f"{(after - before) / 1024:.0f}",
                    f"{size:.0f}",
                )
            )
    head = ("batch", "s", "s of CPU", "peak MiB", "of which shuffling", "batch, MB")
    print_table(f"`ldpsql shuffle`, {SPOOLS} files", head, rows)


def _prepare(folder: Path, reports: int) -> int:
    """A survey, and its reports in many files; how many bits a stored report takes."""
    schema = Schema.from_keys({"dimension": DIMENSIONS})
    survey = Survey.of("app", schema, Shuffled.parse("0.5", "1e-8", reports), "hio")
    (folder / "survey.json").write_text(survey.to_json())
    (folder / "spools").mkdir()
    form, generator = survey.design.report_format, np.random.default_rng(1)
    fields = report_schema(survey)
    for number in range(SPOOLS):
        report_type = generator.integers(form.types, size=reports // SPOOLS)
        columns = [report_type, *generator.integers(form.limits[report_type].T)]
        arrays = [pa.array(c, type=f.type) for c, f in zip(columns, fields, strict=True)]
        table = pa.table(arrays, schema=fields)
        pq.write_table(table, folder / "spools" / f"{number}.parquet", compression="zstd")
    return sum(form.widths)


def _accountant() -> None:
    rows = []
    for people in (10**4, 10**5, 10**6):
        for epsilon in ("0.2", "0.5", "1"):
            central = Central(Epsilon.parse(epsilon), Fraction(1, people), people)
            start = time.perf_counter()
            found = [_response(central, size) for size in SIZES]
            spent = (time.perf_counter() - start) / len(SIZES)
            closed = [balle_local(float(epsilon), people, 1 / people, size) for size in SIZES]
            rows.append(
                (
                    f"{people:,}",
                    epsilon,
                    " / ".join("-" if value is None else f"{value:.2f}" for value in closed),
                    f"{float(largest_local(lambda e: (clones(e.odds),), central)):.2f}",
                    " / ".join(f"{value:.2f}" for value in found),
                    f"{spent:.2f}",
                )
            )
    shown = " / ".join(map(str, SIZES))
    head = ("people", "central", f"closed form k = {shown}", "any mechanism", f"k = {shown}", "s")
    print_table("The largest local epsilon at delta = 1 / people", head, rows)
    print()
    _forward()


def _blanket(size: int, odds: Fraction) -> Blanket:
    """Of randomized response over `size` values."""
    lie = 1 / (odds + size - 1)
    rest = (size - 2) * lie
    atoms = [(lie, odds * lie, lie), (lie, lie, odds * lie), (rest, rest, rest)]
    return Blanket(tuple(atom for atom in atoms if atom[0]))


def _response(central: Central, size: int) -> float:
    return float(largest_local(lambda local: (_blanket(size, local.odds),), central))


def _forward() -> None:
    rows = []
    for people in (10**3, 10**5, 10**7, 10**9):
        for size in (2, 200):
            blanket = _blanket(size, Epsilon.parse("4").odds)
            start = time.perf_counter()
            found = epsilon_of_batch([blanket], people, Fraction(1, people))
            spent = time.perf_counter() - start
            rows.append((f"{people:,}", size, f"{found:f}", f"{spent:.2f}"))
    title = "Achieved by randomized response of local epsilon 4 at delta = 1 / people"
    print_table(title, ("people", "k", "central epsilon", "s"), rows)


if __name__ == "__main__":
    run()
