"""What one forged report can do, by mechanism; which attacks the signs catch; what clipping costs.

The attacks of Cao, Jia and Gong (USENIX Security 2021): random reports (RPA), honest reports of a
chosen record (RIA), and the report that moves an answer most (MGA); here also with questions drawn
as devices draw them ("careful", as Wu et al. 2022 for means and arXiv 2503.03454 for ranges), and
one of the best twentieth of its answers each ("careful, varied").
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from math import exp, prod, sqrt

import numpy as np
from numpy.typing import NDArray

from benchmarks.tables import print_table
from ldpsql.boxes import Box, LinearQuery
from ldpsql.decoders.base import AnyDesign
from ldpsql.forgery import find_signs
from ldpsql.recipes.registry import MECHANISMS, mechanism
from ldpsql.record_domain import RecordDomain
from ldpsql.report import Histogram, Reports, question_shares
from ldpsql.simulation import SeededEntropy, histogram_of
from ldpsql_device.epsilon import Epsilon
from ldpsql_device.errors import SurveyError

Numbers = NDArray[np.int64]
EPSILONS = ("0.5", "1", "2")
PEOPLE = 10_000
CODES = 16
LINE = RecordDomain(("x",), (CODES,), (), (), ())
SIGNED = RecordDomain(("x",), (CODES,), ("pay",), ((0.0, 1.0),), (None,))
BITS = RecordDomain(tuple("abcd"), (2, 2, 2, 2), (), (), ())
ATTACKED = ("grr", "olh", "hio", "haarhrr", "fourier")
SHARES, RUNS, HONEST = (0.01, 0.05), 10, 600
MOST_REPORTS = 3_000


def design_of(name: str, domain: RecordDomain, epsilon: str) -> AnyDesign:
    """With trees of four children, where it has trees."""
    fields = getattr(MECHANISMS[name].options, "__dataclass_fields__", {})
    options = {"fanout": 4} if "fanout" in fields else {}
    return mechanism(name).design(domain, Epsilon.parse(epsilon), options)


def half(domain: RecordDomain) -> Box:
    """A quarter to three quarters of the codes; of binary attributes one value of the first."""
    sides = ((0, 1),) if domain is BITS else ((CODES // 4, 3 * CODES // 4),)
    return Box((sides, *(None,) * (len(domain.sizes) - 1)))


def gains() -> Iterator[list[object]]:
    """For every mechanism what a report adds to a count and takes away, and to a sum."""
    for name in sorted(MECHANISMS):
        row: list[object] = [f"`{name}`"]
        for epsilon in EPSILONS:
            cells = []
            for domain in (LINE, BITS):
                try:
                    design = design_of(name, domain, epsilon)
                except SurveyError:
                    continue
                planned = design.prepare(LinearQuery.count(half(domain)))
                least, most = design.influence([planned], np.eye(1), PEOPLE)[:, 0]
                error = sqrt(float(design.variance([planned], PEOPLE)[0]))
                reports = error / max(most, -least)
                cells = [f"+{most:.3g}, −{abs(min(least, 0.0)):.3g}", f"{reports:.1f}"]
                row[0] = f"`{name}`" + (" (binary)" if domain is BITS else "")
                break
            row += cells or ["", ""]
        try:
            design = design_of(name, SIGNED, "1")
            planned = design.prepare(LinearQuery.sum(0, half(SIGNED)))
            least, most = design.influence([planned], np.eye(1), PEOPLE)[:, 0]
            row.append(f"+{most:.3g}, −{abs(min(least, 0.0)):.3g}")
        except SurveyError:
            row.append("")
        yield row


@dataclass(frozen=True)
class Attacked:
    """A design with all of its reports, and by how much each moves the attacked count.

    rows: shape (reports, columns).  moves: shape (reports,).
    """

    design: AnyDesign
    rows: Numbers
    moves: NDArray[np.float64]

    @classmethod
    def of(cls, design: AnyDesign) -> Attacked:
        limits = design.report_format.limits.tolist()
        assert sum(map(prod, limits)) <= MOST_REPORTS
        every = [product([number], *map(range, own)) for number, own in enumerate(limits)]
        rows = np.array([row for own in every for row in own], dtype=np.int64)
        honest = rows_of(honest_of(design, 0, 2_000))
        before = count_half(design, honest, "unbiased")
        moved = [count_half(design, np.vstack([honest, row]), "unbiased") - before for row in rows]
        return cls(design, rows, np.array(moved))

    def forge(self, attack: str, count: int, random: np.random.Generator) -> Numbers:
        """Reports of so many forgers, a row each."""
        if attack == "MGA":
            return np.tile(self.rows[int(np.argmax(self.moves))], (count, 1))
        if attack == "RIA":
            codes = random.integers(CODES // 4, 3 * CODES // 4, (count, 1))
            entropy = SeededEntropy(int(random.integers(1 << 30)))
            return rows_of(self.design.randomize(codes, entropy))
        questions = random.choice(
            self.design.report_format.types, count, p=question_shares(self.design.plan)
        )
        chosen = []
        for question in questions:
            own = np.flatnonzero(self.rows[:, 0] == question)
            best = own[np.argsort(-self.moves[own])]
            kept = {"RPA": len(own), "careful": 1}.get(attack, max(1, len(own) // 20))
            chosen.append(self.rows[random.choice(best[:kept])])
        return np.array(chosen)


def honest_of(design: AnyDesign, seed: int, people: int = PEOPLE) -> Reports:
    """People of whom half are at one code."""
    random = np.random.default_rng([seed, 7])
    codes = random.integers(0, CODES, (people, 1)) * random.integers(0, 2, (people, 1))
    return design.randomize(codes, SeededEntropy(seed))


def count_rows(design: AnyDesign, rows: Numbers) -> Histogram:
    return histogram_of(Reports.pack(design.report_format, list(rows.T)))


def rows_of(reports: Reports) -> Numbers:
    """A row per report."""
    columns = [np.asarray(column).astype(np.int64) for column in reports.columns.values()]
    return np.stack(columns, axis=1)


def count_half(design: AnyDesign, rows: Numbers, estimator: str) -> float:
    """The attacked count."""
    planned = [design.prepare(LinearQuery.count(half(LINE)))]
    made = design.estimators[estimator](count_rows(design, rows))
    return float(made.answer(planned).values[0])


def attacks() -> Iterator[list[object]]:
    """How far every attack gets per forged report, and how often a sign is seen."""
    for name in ATTACKED:
        design = design_of(name, LINE, "1")
        known = Attacked.of(design)
        for attack in ("RPA", "RIA", "MGA", "careful", "careful, varied"):
            row: list[object] = [f"`{name}`", attack]
            for share in SHARES:
                seen, moved = 0, []
                for seed in range(RUNS):
                    random = np.random.default_rng([seed, 11])
                    rows = rows_of(honest_of(design, seed))
                    forgers = round(share * PEOPLE)
                    both = np.vstack([rows[forgers:], known.forge(attack, forgers, random)])
                    seen += bool(find_signs(design.plan, count_rows(design, both)))
                    if seed < 4:
                        moved.append(
                            [
                                (count_half(design, both, each) - count_half(design, rows, each))
                                / forgers
                                for each in ("unbiased", "smooth")
                            ]
                        )
                row += [*(f"{each:.1f}" for each in np.mean(moved, axis=0)), f"{seen / RUNS:.0%}"]
            yield row


def false_alarms() -> Iterator[list[object]]:
    """Of honest surveys those with a sign."""
    for name in ATTACKED:
        design = design_of(name, LINE, "1")
        seen = 0
        for seed in range(HONEST):
            own = honest_of(design, seed, 2_000)
            seen += bool(find_signs(design.plan, histogram_of(own)))
        yield [f"`{name}`", HONEST, seen]


def clipping() -> Iterator[list[object]]:
    """What contributions clipped to a part of the largest do to honest answers, and to forged."""
    for name in ("grr", "olh", "haarhrr", "fourier"):
        for epsilon in EPSILONS:
            design = design_of(name, LINE, epsilon)
            law = design.law()
            known = Attacked.of(design)
            place = {tuple(row): number for number, row in enumerate(known.rows.tolist())}
            order = [place[row] for row in law.outputs]
            chances = np.array([[float(p) for p in row] for row in law.probabilities])
            moves = known.moves[order]
            largest = np.abs(moves).max()
            for part in (0.9, 0.75, 0.5):
                clipped = np.clip(moves, -part * largest, part * largest)
                bias = chances @ (clipped - moves)
                spread = np.sqrt((chances @ clipped**2).mean() / (chances @ moves**2).mean())
                yield [
                    f"`{name}`",
                    epsilon,
                    f"{largest:.2f}",
                    f"{part:.0%}",
                    f"{spread:.2f}",
                    f"{np.abs(bias).max():.3f}",
                    f"{np.abs(bias).max() / ((1.0 - part) * largest):.1%}",
                ]


def run() -> None:
    """Print the four tables."""
    least = {e: (exp(float(e)) + 1.0) / (exp(float(e)) - 1.0) for e in EPSILONS}
    print("Two reports of an unbiased count of a group differ by at least", end=" ")
    print(", ".join(f"{bound:.2f} (epsilon {e})" for e, bound in least.items()), end=".\n\n")
    head = ["mechanism"]
    for epsilon in EPSILONS:
        head += [f"epsilon {epsilon}", "in one SE"]
    print_table("Most that a report adds and takes away", [*head, "sum, epsilon 1"], gains())
    columns = ["unbiased", "smooth", "caught"]
    head = ["mechanism", "attack", *(f"{c}, {s:.0%}" for s in SHARES for c in columns)]
    print_table("Attacks", head, attacks())
    print_table("False alarms", ["mechanism", "honest surveys", "with a sign"], false_alarms())
    head = ["mechanism", "epsilon", "largest", "clipped to", "noise", "bias", "of what is saved"]
    print_table("Clipped contributions", head, clipping())
