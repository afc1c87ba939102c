"""What one forged report can do, by mechanism, and which attacks the signs catch.

The attacks of Cao, Jia and Gong (USENIX Security 2021) on frequencies: random reports (RPA), honest
reports of a chosen record (RIA), and the report that moves the answer most (MGA), which for bits is
also padded to as many set bits as honest reports have. Those of Wu et al. (USENIX Security 2022) on
key-value data, read here as a column with a measure: the same three for an average (RMA, RKVA,
M2GA). Those on range queries (arXiv 2503.03454), read here as: forgers answer whatever question
they draw, each with the answer that moves the range most, so that all levels agree; and, to evade
detection, with one of the best twentieth of its answers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, product
from math import exp, prod, sqrt

import numpy as np
from numpy.typing import NDArray

from benchmarks.tables import print_table
from ldpsql.algebra.boxes import Box, LinearQuery
from ldpsql.algebra.record_domain import RecordDomain
from ldpsql.estimators.base import AnyDesign, PlannedQuery
from ldpsql.mechanisms.registry import MECHANISMS, mechanism
from ldpsql.mechanisms.rounds import Rounds
from ldpsql.reports.forgery import find_signs
from ldpsql.reports.report import Histogram, Reports, question_shares
from ldpsql_device.epsilon import Epsilon
from ldpsql_device.errors import SurveyError
from ldpsql_device.plan import Bits
from ldpsql_lab.simulation import SeededEntropy, histogram_of

Numbers = NDArray[np.int64]
EPSILONS = ("0.5", "1", "2")
PEOPLE = 10_000
CODES = 16
LINE = RecordDomain(("x",), (CODES,), (), (), ())
SIGNED = RecordDomain(("x",), (CODES,), ("pay",), ((0.0, 1.0),), (None,))
PAIR = RecordDomain(("x", "y"), (4, 4), (), (), ())
BITS = RecordDomain(tuple("abcd"), (2, 2, 2, 2), (), (), ())
TREES = ("hio", "ahio", "ehio", "hgrr", "hh", "lgrr-repaired")
AVERAGED = ("grr", "olh", "hgrr", "haarhrr", "fourier", "staircase")
ATTACKS = ("RPA", "RIA", "MGA", "range", "range, adaptive")
SHARES, RUNS, MOVED, HONEST = (0.001, 0.01, 0.05), 10, 3, 700
CHECKED = ("grr", "olh", "hio", "haarhrr", "fourier", "hrr", "oue", "hgrr", "urap")
MOST_REPORTS = 6_000
MOVED_BY = 0.01
OTHERS = ("em", "maxent")


def design_of(name: str, domain: RecordDomain, epsilon: str, **more: object) -> AnyDesign:
    """With trees of four children, where it has trees."""
    fields = getattr(MECHANISMS[name].options, "__dataclass_fields__", {})
    options = {**({"fanout": 4} if "fanout" in fields else {}), **more}
    return mechanism(name).design(domain, Epsilon.parse(epsilon), options)


def find_design(name: str, epsilon: str, **more: object) -> AnyDesign:
    """Over one dimension, or two or four smaller ones for mechanisms that take no other."""
    for domain in (LINE, PAIR):
        try:
            return design_of(name, domain, epsilon, **more)
        except SurveyError:
            continue
    return design_of(name, BITS, epsilon, **more)


def half(domain: RecordDomain) -> Box:
    """A quarter to three quarters of the codes; of small attributes half the values of one."""
    size = domain.sizes[0]
    side = (CODES // 4, 3 * CODES // 4) if size == CODES else (0, size // 2)
    return Box(((side,), *(None,) * (len(domain.sizes) - 1)))


def title(design: AnyDesign) -> str:
    """With what was counted, where that is not the range."""
    sizes = " x ".join(map(str, design.domain.sizes))
    return f"`{design.name}`" + (f" ({sizes})" if len(design.domain.sizes) > 1 else "")


# -- what one report can do -----------------------------------------------------------------------


def empty(design: AnyDesign) -> Histogram:
    """Of nobody."""
    width = len(design.report_format.columns)
    nothing = np.zeros(0, dtype=np.int64)
    return Histogram.of(design.report_format.types, (nothing,) * width, nothing)


def least_and_most(design: AnyDesign, measure: int | None = None) -> tuple[float, float]:
    query = LinearQuery(((1.0, half(design.domain)),), measure)
    return tuple(design.influence([design.prepare(query)], np.eye(1), PEOPLE)[:, 0].tolist())


def told(ends: tuple[float, float]) -> str:
    least, most = ends
    return f"+{most:.3g}, \u2212{abs(min(least, 0.0)):.3g}"


def gains() -> Iterator[list[object]]:
    """For every mechanism what a report adds to a count and takes away, and to a sum; of trees also
    what is left by least squares."""
    for name in sorted(MECHANISMS):
        row: list[object] = [title(find_design(name, "1"))]
        for epsilon in EPSILONS:
            design = find_design(name, epsilon)
            planned = design.prepare(LinearQuery.count(half(design.domain)))
            before, error = least_and_most(design), sqrt(design.variance([planned], PEOPLE)[0])
            row += [told(before), f"{error / max(map(abs, before)):.1f}", *after(design, error)]
        try:
            row.append(told(least_and_most(design_of(name, SIGNED, "1"), 0)))
        except SurveyError:
            row.append("")
        yield row


def after(design: AnyDesign, error: float) -> list[str]:
    """What is left of a gain from trees by least squares, and the standard error over that before;
    nothing where there are no trees."""
    if design.name not in TREES:
        return ["", ""]
    query = LinearQuery.count(half(design.domain))
    other = find_design(design.name, str(design.epsilon), inference="consistent")
    ratio = sqrt(other.variance([other.prepare(query)], PEOPLE)[0]) / error
    return [told(least_and_most(other)), f"{ratio:.3f}"]


# -- attacks --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Attacked:
    """A design with its reports (of bits some), and by how much each moves the attacked answer.

    rows: shape (reports, columns).  moves: shape (reports,), of the count, or of a sum about the
    average.  padded: the best report of bits, padded, where reports are that.
    """

    design: AnyDesign
    rows: Numbers
    moves: NDArray[np.float64]
    padded: Numbers | None = None

    @classmethod
    def of(cls, design: AnyDesign) -> Attacked:
        honest = rows_of(honest_of(design, 0, 1_000))
        before = target(design, honest, "")

        def move(row: Numbers) -> float:
            return target(design, np.vstack([honest, row]), "") - before

        limits = design.report_format.limits.tolist()
        if sum(map(prod, limits)) > MOST_REPORTS:
            last = design.plan.faces[0].parts[-1].response
            assert isinstance(last, Bits), f"{design.name} has too many reports"
            return cls._of_bits(design, move)
        every = [product([number], *map(range, own)) for number, own in enumerate(limits)]
        rows = np.array([row for own in every for row in own], dtype=np.int64)
        moved = np.array([move(row) for row in rows])
        return cls(design, rows, moved)

    @classmethod
    def _of_bits(cls, design: AnyDesign, move: Callable[[Numbers], float]) -> Attacked:
        """Bits add up, so each is tried alone. Of the sets of bits that could be sent the best one,
        the best one padded to as many as honest people set, and random ones are candidates."""
        random, rows, moves, padded = np.random.default_rng(1), [], [], []
        honest = rows_of(honest_of(design, 1, 1_000))
        for question, own in enumerate(design.report_format.limits.tolist()):
            bits = sum(int(limit).bit_length() - 1 for limit in own)
            alone = [as_row(question, np.arange(bits) == bit, design) for bit in range(-1, bits)]
            base, *changed = (move(row) for row in alone)
            gained = np.array(changed) - base
            mine = honest[honest[:, 0] == question, 1:].astype(np.uint64)
            usual = round(int(np.bitwise_count(mine).sum()) / max(1, len(mine)))
            best = gained > 1e-9
            full = best.copy()
            full[random.permutation(np.flatnonzero(~best))[: max(0, usual - best.sum())]] = True
            sets = [best, full, *(random.random((400, bits)) < usual / bits)]
            rows += [as_row(question, each, design) for each in sets]
            moves += [base + float(gained @ each) for each in sets]
            padded.append((moves[-401], question, rows[-401]))
        return cls(design, np.array(rows), np.array(moves), max(padded, key=lambda p: p[:2])[2])

    def forge(self, attack: str, count: int, random: np.random.Generator) -> Numbers:
        """Reports of so many forgers, a row each."""
        if attack == "MGA":
            return np.tile(self.rows[int(np.argmax(self.moves))], (count, 1))
        if attack == "MGA, padded" and self.padded is not None:
            return np.tile(self.padded, (count, 1))
        if attack == "RIA":
            return rows_of(self.design.randomize(self._targets(count, random), entropy(random)))
        questions = random.choice(
            self.design.report_format.types, count, p=question_shares(self.design.plan)
        )
        chosen = []
        for question in questions:
            own = np.flatnonzero(self.rows[:, 0] == question)
            best = own[np.argsort(-self.moves[own])]
            kept = {"RPA": len(own), "range": 1}.get(attack, max(1, len(own) // 20))
            chosen.append(self.rows[random.choice(best[:kept])])
        return np.array(chosen)

    def _targets(self, count: int, random: np.random.Generator) -> Numbers:
        """Records that the answer counts, with the largest measure."""
        sizes = self.design.domain.sizes
        codes = np.stack([random.integers(0, size, count) for size in sizes], axis=1)
        ((low, high),) = half(self.design.domain).sides[0]
        codes[:, 0] = random.integers(low, high, count)
        signs = np.ones((count, len(self.design.domain.bounds)), dtype=np.int64)
        return np.hstack([codes, signs])


def as_row(question: int, bits: NDArray[np.bool_], design: AnyDesign) -> Numbers:
    """A report of bits, which fill column after column."""
    words, rest = [question], bits
    for limit in design.report_format.limits[question].tolist():
        own, rest = np.split(rest, [int(limit).bit_length() - 1])
        words.append(int((own << np.arange(len(own))).sum()))
    return np.array(words, dtype=np.int64)


def entropy(random: np.random.Generator) -> SeededEntropy:
    return SeededEntropy(int(random.integers(1 << 30)))


def honest_of(design: AnyDesign, seed: int, people: int = PEOPLE) -> Reports:
    """People of whom half are at one code; their measure is 0.3 on average."""
    random = np.random.default_rng([seed, 7])
    sizes = design.domain.sizes
    codes = np.stack([random.integers(0, size, people) for size in sizes], axis=1)
    codes *= random.integers(0, 2, (people, 1))
    signs = random.random((people, len(design.domain.bounds))) < 0.3
    return design.randomize(np.hstack([codes, signs.astype(np.int64)]), SeededEntropy(seed))


def count_rows(design: AnyDesign, rows: Numbers) -> Histogram:
    return histogram_of(Reports.pack(design.report_format, list(rows.T)))


def rows_of(reports: Reports) -> Numbers:
    """A row per report."""
    columns = [np.asarray(column).astype(np.int64) for column in reports.columns.values()]
    return np.stack(columns, axis=1)


def queries_of(design: AnyDesign) -> list[PlannedQuery]:
    """The attacked count, and the sum of the measure, if there is one."""
    box = half(design.domain)
    queries = [LinearQuery.count(box)]
    queries += [LinearQuery.sum(0, box)] if design.domain.bounds else []
    return [design.prepare(query) for query in queries]


def target(design: AnyDesign, rows: Numbers, estimator: str) -> float:
    """The attacked count; of a measure the sum about its usual average. estimator: the default one
    if empty."""
    name = estimator or next(iter(design.estimators))
    made = design.estimators[name](count_rows(design, rows))
    values = made.answer(queries_of(design)).values
    return float(values[0]) if len(values) == 1 else float(values[1] - 0.3 * values[0])


def average(design: AnyDesign, rows: Numbers, estimator: str) -> float:
    made = design.estimators[estimator](count_rows(design, rows))
    count, total = made.answer(queries_of(design)).values
    return float(total / count)


def listed() -> Iterator[tuple[str, AnyDesign]]:
    """What is attacked: every mechanism that asks once, and trees by least squares."""
    for name in sorted(MECHANISMS):
        design = find_design(name, "1")
        if isinstance(design, Rounds):
            continue
        yield title(design), design
        if name in TREES:
            yield f"{title(design)}, consistent", find_design(name, "1", inference="consistent")


def attack_one(label: str, design: AnyDesign) -> Iterator[list[object]]:
    """How far every attack gets per forged report, and how often a sign is seen."""
    known, default = Attacked.of(design), next(iter(design.estimators))
    other = next((name for name in OTHERS if name in design.estimators), "")
    names = [name for name in (default, "smooth", other) if name in design.estimators]
    for attack in ATTACKS if known.padded is None else (*ATTACKS, "MGA, padded"):
        caught, moved = list[str](), {name: list[float]() for name in ("smooth", "", *names)}
        for share in SHARES:
            seen, forgers = 0, round(share * PEOPLE)
            for seed in range(RUNS):
                random = np.random.default_rng([seed, 11])
                rows = rows_of(honest_of(design, seed))
                both = np.vstack([rows[forgers:], known.forge(attack, forgers, random)])
                seen += bool(find_signs(design.plan, count_rows(design, both)))
                for name in names if seed < MOVED and share == MOVED_BY else ():
                    gain = target(design, both, name) - target(design, rows, name)
                    moved[name].append(gain / forgers)
            caught.append(f"{seen / RUNS:.0%}")
        cells = [f"{np.mean(moved[e]):.1f}" if moved[e] else "" for e in (default, "smooth", other)]
        yield [label, attack, *cells[:2], f"{cells[2]} ({other})" if other else "", *caught]


def caught(rows: Sequence[Sequence[object]]) -> Iterator[list[object]]:
    """By attack the mean share of surveys with a sign, from the rows of all mechanisms."""
    for attack in (*ATTACKS, "MGA, padded"):
        shown = [row[-3:] for row in rows if row[1] == attack]
        own = [[float(str(cell).rstrip("%")) for cell in cells] for cells in shown]
        yield [attack, len(own), *(f"{share:.0f}%" for share in np.mean(own, axis=0))]


def attack_averages(name: str) -> Iterator[list[object]]:
    """The same for the average of a measure, which M2GA moves most, by 1 % of forgers."""
    design = design_of(name, SIGNED, "1")
    known = Attacked.of(design)
    for attack, key in (("RMA", "RPA"), ("RKVA", "RIA"), ("M2GA", "MGA"), ("adaptive", "")):
        row: list[object] = [f"`{name}`", attack]
        forgers, seen = PEOPLE // 100, 0
        moved: dict[str, list[float]] = {}
        for seed in range(RUNS):
            random = np.random.default_rng([seed, 11])
            rows = rows_of(honest_of(design, seed))
            both = np.vstack([rows[forgers:], known.forge(key, forgers, random)])
            seen += bool(find_signs(design.plan, count_rows(design, both)))
            if seed < 8:
                for each in ("unbiased", "smooth"):
                    if each in design.estimators:
                        gain = average(design, both, each) - average(design, rows, each)
                        moved.setdefault(each, []).append(gain)
        cells = [f"{np.mean(moved[e]):+.3f}" if e in moved else "" for e in ("unbiased", "smooth")]
        yield [*row, *cells, f"{seen / RUNS:.0%}"]


def attack_rounds() -> Iterator[list[object]]:
    """`ahead`, whose grid grows where earlier rounds saw people: 1 % of forgers send what moves the
    range most in all rounds, in all but the last, or in the last one."""
    for when in ("all rounds", "all but the last", "the last round"):
        moved = []
        for seed in range(MOVED):
            ends = [run_rounds(seed, attacked) for attacked in (when, "")]
            moved.append((ends[0] - ends[1]) / (MOVED_BY * PEOPLE))
        yield ["`ahead`", f"range, {when}", f"{np.mean(moved):.1f}", "", "", "", "", ""]


def run_rounds(seed: int, attacked: str) -> float:
    """The range from rounds of equally many people, of whom forgers answer in some rounds."""
    design = design_of("ahead", LINE, "1")
    for number in range(rounds := design.rounds):
        people, is_last = PEOPLE // rounds, number + 1 == rounds
        rows = rows_of(honest_of(design, 100 * seed + number, people))
        if attacked in ("all rounds", "the last round" if is_last else "all but the last"):
            forgers = round(MOVED_BY * people)
            forged = Attacked.of(design).forge("MGA", forgers, np.random.default_rng(seed))
            rows = np.vstack([rows[forgers:], forged])
        if is_last:
            return target(design, rows, "")
        design = design.design_next(count_rows(design, rows))
    raise AssertionError


def false_alarms() -> Iterator[list[object]]:
    """Of honest surveys those with a sign."""
    for name in CHECKED:
        design = design_of(name, LINE, "1")
        seen = 0
        for seed in range(HONEST):
            seen += bool(find_signs(design.plan, histogram_of(honest_of(design, seed, 2_000))))
        yield [f"`{name}`", HONEST, seen]


def run() -> None:
    """Print the five tables."""
    least = {e: (exp(float(e)) + 1.0) / (exp(float(e)) - 1.0) for e in EPSILONS}
    print("Two reports of an unbiased count of a group differ by at least", end=" ")
    print(", ".join(f"{bound:.2f} (epsilon {e})" for e, bound in least.items()), end=".\n\n")
    head = ["mechanism"]
    for epsilon in EPSILONS:
        head += [f"epsilon {epsilon}", "in one SE", "least squares", "SE, times"]
    print_table("Forged reports", [*head, "sum, epsilon 1"], gains())
    head = ["mechanism", "attack", "unbiased", "smooth", "other"]
    rows = [row for each in listed() for row in attack_one(*each)]
    ends = [f"caught, {share:.1%}" for share in SHARES]
    print_table("Forged reports 2", [*head, *ends], chain(rows, attack_rounds()))
    print_table("Forged reports 8", ["attack", "mechanisms", *ends], caught(rows))
    head = ["mechanism", "attack", "unbiased", "smooth", "caught"]
    rows = (row for name in AVERAGED for row in attack_averages(name))
    print_table("Forged reports 4", head, rows)
    print_table("Forged reports 5", ["mechanism", "honest surveys", "with a sign"], false_alarms())
