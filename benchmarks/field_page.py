"""Write docs/field.md from the stored results: `python -m benchmarks.field_page [FOLDER]`.

FOLDER (out/field) holds what `python -m benchmarks.field` left; it is stored in
benchmarks/stored/field.json, and what it says of costs in field-costs.json, for costs are soon
measured again (`--part costs`). The page is made from the stored results alone: every verdict is
judged anew, from what was measured. The full tables are data files in docs/field.
"""

from __future__ import annotations

import csv
import io
import json
import math
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from scipy.special import stdtrit

from benchmarks.field import many_values, means
from benchmarks.field.ranges import BIASED, LEAN, NAMES, UNBIASED
from benchmarks.field.work import SHAPES
from benchmarks.figures.cases import Row
from benchmarks.figures.verdicts import LEVEL, Value, Vote, is_above
from ldpsql_device.atomic import replace_file

ROOT = Path(__file__).parents[1]
STORED, PAGE = ROOT / "benchmarks" / "stored" / "field.json", ROOT / "docs" / "field.md"
COSTS = STORED.with_name("field-costs.json")
DATA = ROOT / "docs" / "field"
WORDS = {True: "lower", False: "not lower", None: "undecided"}
MEASURES = {"error": "MSE", "w1": "W1", "deciles": "deciles"}
NOT_RUN = "-"
SOURCES: Mapping[str, str] = {
    "HIO": "Wang et al., SIGMOD 2019; this library's",
    "HIO, consistent, optimal": "the same with least squares and optimal numbers of people",
    "HH, consistent": "Cormode, Kulkarni, Srivastava, VLDB 2019; this library's",
    "HaarHRR": "the same authors' wavelet tree; this library's",
    "LGRR, repaired": "H4MDA; repaired here to be private",
    "AHEAD": "Du et al., CCS 2021; this library's",
    "HDG": "Yang et al., VLDB 2021; grid sizes by the guideline of the authors' program",
    "FELIP": "Costa Filho and Machado, EDBT 2023; grid sizes by the error formulas of the authors' "
    "program",
    "CALM": "Zhang et al., CCS 2018; full marginals of pairs",
    "PriPL-Tree": "Wang et al., VLDB 2024",
    "PrivNUD": "Wang et al., ICDE 2023",
    "SW-EMS": "Li et al., SIGMOD 2020",
    "WF": "McKenna et al., VLDB 2020",
    "WF + WNNLS": "the same, non-negative",
}
NOT_HERE = (
    "**The wavelet expansion** (Zhao et al., arXiv 2509.19661, 2025): no code was found, and of "
    "the paper only the abstract, the introduction and others' summaries, which say neither how "
    "coefficients are reported nor how people are allotted to them. HaarHRR is the wavelet "
    "mechanism of the tables.",
    "**WF in two and three dimensions**: its design optimises a matrix of four reports per cell, "
    "16,384 x 4,096 here.",
    "**PrivNUD in several dimensions**: its program answers pairs by HDG on one-dimensional trees; "
    "only the tree was reimplemented.",
    "**PRISM** (prefix sums over grids): only its abstract was read, and no code was looked at.",
    "**MSS** chooses its moduli by a rule that its abstract and introduction do not give; here "
    "eight moduli are spread in the best of 38 ways that were tried.",
)


def main(arguments: Sequence[str]) -> None:
    folder = Path(arguments[0] if arguments else "out/field")
    if (folder / "field.json").exists():
        store(json.loads((folder / "field.json").read_text()))
    stored = read()
    PAGE.write_text(text_of(stored), encoding="utf-8")
    DATA.mkdir(exist_ok=True)
    for name, text in data_of(stored).items():
        (DATA / name).write_text(text, encoding="utf-8")
    print(f"{PAGE.name}: {len(PAGE.read_text().splitlines())} lines")


def store(found: dict[str, Any]) -> None:
    """Keep results, those on costs apart."""
    costs = found["parts"].pop("costs", None)
    if costs:
        _write(COSTS, {**found, "parts": {"costs": costs}})
    if found["parts"]:
        _write(STORED, found)


def _write(path: Path, found: Mapping[str, Any]) -> None:
    with replace_file(path) as temporary:
        temporary.write_text(json.dumps(found, separators=(",", ":")) + "\n")


def read() -> dict[str, Any]:
    """The stored results; `costs`: the day and the version of those on costs."""
    found: dict[str, Any] = json.loads(STORED.read_text())
    costs = json.loads(COSTS.read_text())
    found["parts"] |= costs["parts"]
    return {**found, "costs": {key: costs[key] for key in ("date", "version")}}


def rows_of(stored: Mapping[str, Any], part: str) -> list[Row]:
    """The rows of a part."""
    columns = stored["parts"].get(part, {})
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


# -- verdicts --------------------------------------------------------------------------------------


def rival_of(name: str) -> str:
    """Ours that a mechanism is compared with: like with like."""
    return LEAN if name in BIASED else UNBIASED


Case = tuple[str, str, str]
"""Shape, table and epsilon."""


def values_of(stored: Mapping[str, Any], measure: str) -> dict[str, dict[Case, Value]]:
    """Per mechanism and case, the mean over surveys."""
    found: dict[str, dict[Case, list[float]]] = {}
    for row in rows_of(stored, "ranges"):
        case = row["shape"], row["table"], row["epsilon"]
        found.setdefault(row["name"], {}).setdefault(case, []).append(row[measure])
    return {
        name: {case: Value.over(values) for case, values in cases.items()}
        for name, cases in found.items()
    }


def votes_of(stored: Mapping[str, Any], measure: str) -> dict[str, dict[Case, Vote]]:
    """Whether ours has less error than a mechanism in each case, at LEVEL over all of its cases
    together."""
    values = values_of(stored, measure)
    found = {}
    for name, cases in values.items():
        ours = values[rival_of(name)]
        if name != rival_of(name):
            found[name] = {
                case: is_above(value, ours[case], cases=len(cases))
                for case, value in cases.items()
                if case in ours
            }
    return found


def tally(votes: Sequence[Vote]) -> str:
    """How many of each word."""
    return ", ".join(f"{WORDS[vote]} {votes.count(vote)}" for vote in WORDS if vote in votes)


# -- the page --------------------------------------------------------------------------------------


def text_of(stored: Mapping[str, Any]) -> str:
    """The page."""
    return "\n".join(_lines(stored)).rstrip() + "\n"


def _lines(stored: Mapping[str, Any]) -> Iterator[str]:
    asked = stored["parameters"]
    epsilons = sorted(asked["epsilons"], key=float)
    yield "# Against today's field"
    yield ""
    yield "Generated by `python -m benchmarks.field_page`; do not edit."
    yield ""
    files = ", ".join(f"[{name}](field/{name})" for name in data_of(stored))
    yield (
        "This page compares published mechanisms with this library's on common work. All figures "
        f"are from one run of {stored['date']} with version {stored['version']}: "
        f"{asked['people']:,} people, epsilon {', '.join(epsilons)}, {asked['ranges']} random "
        f"ranges on every axis, and {asked['runs']} surveys of each mechanism (half as many, but "
        "at least two, of those that this library has and others published). `python -m "
        "benchmarks.field` makes a quick run; `--full` makes the run shown here, says how long it "
        f"will take, and resumes where it was stopped. Costs are from a run of "
        f"{stored['costs']['date']} with version {stored['costs']['version']} (`--full --part "
        f"costs`). The full tables: {files}."
    )
    yield ""
    measured, of_all = asked["cases"]
    if measured < of_all:
        yield (
            f"**The run was stopped after {measured} of its {of_all} cases**: the tables below "
            "leave out what was not measured."
        )
        yield ""
    yield (
        f"The data are: {'; '.join(asked['tables'])}. Mechanisms that this library does not have "
        "were reimplemented from their papers and, where there is one, their authors' program, "
        "with the settings published there. Their surveys are drawn from the exact distribution of "
        "the counts, ours report by report. Like is compared with like: biased mechanisms, marked "
        f"(b), with our design for smooth answers (`{LEAN}`), unbiased ones with our default "
        f"(`{UNBIASED}`)."
    )
    yield ""
    yield (
        f'For every case, a verdict says whether our error is "{WORDS[True]}" or '
        f'"{WORDS[False]}" than the mechanism\'s, or "{WORDS[None]}" after this many '
        f"surveys. It follows from Welch's t-test at the {LEVEL:.0%} level over all cases of a row "
        "together; exact values have no standard error."
    )
    yield ""
    yield from _glance(stored)
    yield from _dimensions(stored)
    yield from _numbers(stored)
    yield from _costs(stored)
    yield from _attacks(stored)
    yield "## What is not here, and why"
    yield ""
    yield from (f"* {line}" for line in NOT_HERE)
    yield ""
    yield "## Sources"
    yield ""
    yield "| mechanism | source |"
    yield "|---|---|"
    yield from (f"| {name} | {source} |" for name, source in SOURCES.items())
    yield ""
    yield (
        "PriPL-Tree and PrivNUD were run beside their authors' programs on the same people (gauss "
        "and zipf, 256 codes, 100,000 people, six surveys of theirs and twelve of ours at epsilon "
        "0.5, 1 and 2): no mean differed by more than two of its standard errors. The programs are "
        "not part of this project."
    )


def _glance(stored: Mapping[str, Any]) -> Iterator[str]:
    yield "## At a glance"
    yield ""
    yield (
        "The first three columns give the mechanism's mean squared error of ranges over ours, as "
        "the geometric mean over tables, epsilons and surveys, and whether ours is lower by a test "
        "of this mean (at that level over the three columns together); above 1, the mechanism is "
        "less accurate than ours. The next two columns count the verdicts on single cases: on this "
        "error, and on W1, the Wasserstein distance between the estimated and the true "
        "distribution. Bytes and microseconds of processor time are per report, at epsilon 1 in "
        "one dimension."
    )
    yield ""
    shapes = list(SHAPES)
    heads = " | ".join(shape.split(",")[0] for shape in shapes)
    told = "our error | our W1 | bytes | device, µs | counting, µs"
    yield f"| mechanism | {heads} | {told} |"
    yield f"|---|{'---:|' * len(shapes)}---|---|---:|---:|---:|"
    values = values_of(stored, "error")
    votes = {measure: votes_of(stored, measure) for measure in MEASURES}
    costs = {
        row["name"]: row
        for row in rows_of(stored, "costs")
        if (row["shape"], row["epsilon"]) == (shapes[0], "1")
    }
    for name in (one for one in NAMES if one in values):
        ratios = [_ratio(stored, name, shape) for shape in shapes]
        words = [tally(list(votes[m].get(name, {}).values())) or "itself" for m in ("error", "w1")]
        cost = costs.get(name)
        spent = (
            [str(cost["bytes"]), f"{cost['device']:.2f}", f"{cost['counting']:.2f}"]
            if cost
            else [NOT_RUN] * 3
        )
        yield f"| {_marked(name)} | {' | '.join([*ratios, *words, *spent])} |"
    yield ""
    yield (
        "Device: the time to draw the reports of 20,000 people at once with NumPy, ours by the "
        "interpreter of plans, the others' by a few lines of code each. Counting: the time from "
        "reports to counts in memory; the time from counts to estimates is in the full table "
        "(`collector`)."
    )
    yield ""


def _costs(stored: Mapping[str, Any]) -> Iterator[str]:
    """What a report costs in one dimension, at every epsilon."""
    yield "## Costs"
    yield ""
    rows = [row for row in rows_of(stored, "costs") if row["shape"] == next(iter(SHAPES))]
    epsilons = sorted({row["epsilon"] for row in rows}, key=float)
    own = {(row["name"], row["epsilon"]): row for row in rows}
    names = [name for name in NAMES if (name, epsilons[0]) in own]
    varied = [n for n in names if len({own[n, epsilon]["bytes"] for epsilon in epsilons}) > 1]
    yield (
        "Per report in one dimension; `costs.csv` has two and three. The size of a report is the "
        f"same at every epsilon{' but for ' if varied else ''}{', '.join(varied)}. Times are means "
        "over 20 draws of 20,000 reports, on a machine that did other work; small differences mean "
        "nothing."
    )
    yield ""
    units = {"bytes": "bytes", "device": "device, µs", "counting": "counting, µs"}
    heads = " | ".join(f"{unit}, {epsilon}" for unit in units.values() for epsilon in epsilons)
    yield f"| mechanism | {heads} |"
    yield f"|---|{'---:|' * len(units) * len(epsilons)}"
    for name in names:
        cells = (
            f"{own[name, epsilon][key]:.{0 if key == 'bytes' else 2}f}"
            for key in units
            for epsilon in epsilons
        )
        yield f"| {_marked(name)} | {' | '.join(cells)} |"
    yield ""


def ratio_of(
    stored: Mapping[str, Any], name: str, shape: str, cases: int = 1
) -> tuple[float, Vote]:
    """The geometric mean, over the tables and epsilons of a shape and over surveys, of the errors
    of a mechanism over ours, and whether it is told to be above 1; cases: among how many this is
    one. KeyError where there is none."""
    logs = logs_of(stored)
    shared = [case for case in logs[name] if case[0] == shape and case in logs[rival_of(name)]]
    if not shared:
        raise KeyError(shape)
    pairs = [(logs[name][case], logs[rival_of(name)][case]) for case in shared]
    mean = math.fsum(theirs.mean - ours.mean for theirs, ours in pairs) / len(pairs)
    parts = [(value.stderr / len(pairs), value.runs) for pair in pairs for value in pair]
    spread = math.hypot(*(error for error, _ in parts))
    if name == rival_of(name) or spread == 0.0:
        return math.exp(mean), None
    # Welch and Satterthwaite, as in `verdicts.is_above`, for a sum of several means.
    freedom = spread**4 / math.fsum(error**4 / (runs - 1) for error, runs in parts)
    far = float(stdtrit(freedom, 1.0 - LEVEL / 2.0 / cases)) * spread
    return math.exp(mean), True if mean > far else False if mean < -far else None


def logs_of(stored: Mapping[str, Any]) -> dict[str, dict[Case, Value]]:
    """As `values_of` the logarithms of the errors of ranges."""
    columns = dict(stored["parts"]["ranges"])
    columns["error"] = [math.log(error) for error in columns["error"]]
    return values_of({"parts": {"ranges": columns}}, "error")


def _ratio(stored: Mapping[str, Any], name: str, shape: str) -> str:
    try:
        ratio, vote = ratio_of(stored, name, shape, len(SHAPES))
    except KeyError:
        return NOT_RUN
    return f"{ratio:.2f}" if name == rival_of(name) else f"{ratio:.2f}, {WORDS[vote]}"


def _marked(name: str) -> str:
    return f"{name} (b)" if name in BIASED else name


def _dimensions(stored: Mapping[str, Any]) -> Iterator[str]:
    """A table per shape: errors with verdicts."""
    for measure, title, scale in (
        ("error", "Mean squared error of ranges, x 10^6", 1e6),
        ("w1", "W1 on an axis of length 1, x 10^3", 1e3),
        ("deciles", "Mean error of deciles on an axis of length 1, x 10^3", 1e3),
    ):
        values, votes = values_of(stored, measure), votes_of(stored, measure)
        yield f"## {title}"
        yield ""
        yield (
            f"Means over surveys{'' if measure == 'error' else ' and axes'}, with their standard "
            "errors over surveys. < : ours is lower; > : ours is not lower; no sign: undecided."
        )
        yield ""
        for shape in SHAPES:
            cases = list(
                dict.fromkeys(case for one in values.values() for case in one if case[0] == shape)
            )
            cases.sort(key=lambda case: (case[1], float(case[2])))
            if not cases:
                continue
            yield f"| {shape} | {' | '.join(f'{table}, {eps}' for _, table, eps in cases)} |"
            yield f"|---|{'---:|' * len(cases)}"
            for name in NAMES:
                own = values.get(name, {})
                if any(case in own for case in cases):
                    cells = (_cell(own.get(c), votes.get(name, {}).get(c), scale) for c in cases)
                    yield f"| {_marked(name)} | {' | '.join(cells)} |"
            yield ""


def _cell(value: Value | None, vote: Vote, scale: float) -> str:
    if value is None:
        return NOT_RUN
    sign = {True: "<", False: ">", None: ""}[vote]
    return f"{sign} {scale * value.mean:.3g} ± {scale * value.stderr:.1g}".strip()


def _numbers(stored: Mapping[str, Any]) -> Iterator[str]:
    """Points and means: exact."""
    yield f"## One of {many_values.VALUES:,} values"
    yield ""
    yield (
        "The root mean squared error of a value's share, over that of this library's design for "
        f"values (`{many_values.OWN}`). It follows from the exact laws of the reports; that of MSS "
        "is for values spread evenly, and estimated with random probes. Bytes are at epsilon 1."
    )
    yield ""
    yield from _exact(stored, "values", many_values.NAMES, many_values.OWN, 0.5)
    yield "## The mean of a number"
    yield ""
    yield (
        "The root mean squared error of the mean, over that of this library's design "
        "(`staircase`, which chooses the number of its levels), from the exact laws of the "
        "reports. OPM is biased; its bias stays, while the errors of the others shrink as the "
        "number of people grows. A real number counts as eight bytes."
    )
    yield ""
    yield from _exact(stored, "means", (*means.NAMES, means.OWN), means.OWN, 1.0)


def _exact(
    stored: Mapping[str, Any], part: str, names: Sequence[str], own: str, power: float
) -> Iterator[str]:
    rows = {(row["table"], row["epsilon"], row["name"]): row for row in rows_of(stored, part)}
    cases = list(dict.fromkeys((table, epsilon) for table, epsilon, _ in rows))
    cases.sort(key=lambda case: (case[0], float(case[1])))
    yield f"| | {' | '.join(f'{t}, {e}' for t, e in cases)} | our error | bytes |"
    yield f"|---|{'---:|' * len(cases)}---|---:|"
    for name in names:
        ratios, votes = [], list[Vote]()
        for table, epsilon in cases:
            theirs, ours = (rows[table, epsilon, one]["error"] for one in (name, own))
            ratios.append(f"{(theirs / ours) ** power:.3f}")
            votes.append(is_above(Value(theirs), Value(ours)))
        told = "itself" if name == own else tally(votes)
        size = next(row["bytes"] for (_, e, one), row in rows.items() if one == name and e == "1")
        yield f"| {name} | {' | '.join(ratios)} | {told} | {size} |"
    yield ""


def _attacks(stored: Mapping[str, Any]) -> Iterator[str]:
    yield "## Attacks"
    yield ""
    guessed = rows_of(stored, "reconstruction")
    epsilons = sorted({row["epsilon"] for row in guessed}, key=float)
    (shape,) = {row["shape"] for row in guessed}
    (table,) = {row["table"] for row in guessed}
    blind = guessed[0]["real_blind"]
    people, targets = stored["parameters"]["re-identification"]
    yield (
        f"Reconstruction: how often the best guess of a value ({shape}, {table}) from one report "
        "is right. It is computed exactly from the law of the mechanism, over the draw of its "
        'question. For equally likely values ("even") it is given as a multiple of the rate of a '
        "blind guess, which is at most e^epsilon. For values as common as they are in the table "
        f'("real") it is given in %; a blind guess is right in {100 * blind:.3g} %.'
    )
    yield ""
    yield (
        "Re-identification: 2, 4 or 6 surveys each ask the same people about one more attribute "
        "(adult: age, hours, country, education, occupation, marital status), each with the whole "
        f"epsilon. The attacker links the reports of a person, knows the records of all {people:,} "
        "people, and names those whose records make the reports likeliest. The table gives, in %, "
        f"how often the person is among the ten likeliest after 6 surveys, over {targets} people; "
        f"a blind guess is right in {1000 / people:.3g} %. The model is that of Murakami and "
        "Takahashi (2021) and Arcolezi et al. (VLDB 2023), with the likelihood in place of the "
        "number of agreeing guesses."
    )
    yield ""
    heads = [f"even, {e}" for e in epsilons] + [f"real, {e}" for e in epsilons]
    heads += [f"re-identified, {e}" for e in epsilons]
    yield f"| mechanism | {' | '.join(heads)} |"
    yield f"|---|{'---:|' * len(heads)}"
    found = {(row["name"], row["epsilon"]): row for row in guessed}
    named = {
        (row["name"], row["epsilon"]): row
        for row in rows_of(stored, "re-identification")
        if row["surveys"] == 6 and row["top"] == 10
    }
    for name in NAMES:
        if (name, epsilons[0]) not in found:
            continue
        own = [found.get((name, e)) for e in epsilons]
        cells = [f"{row['even'] / row['even_blind']:.2f}" if row else NOT_RUN for row in own]
        cells += [f"{100 * row['real']:.2f}" if row else NOT_RUN for row in own]
        for epsilon in epsilons:
            row = named.get((name, epsilon))
            cells.append(f"{100 * row['rate']:.2f} ± {100 * row['stderr']:.2f}" if row else NOT_RUN)
        yield f"| {name} | {' | '.join(cells)} |"
    yield ""
    yield (
        "The full tables give the same (`even`, `real`) for one of many values and for numbers "
        "(in 20 bins)."
    )
    yield ""


# -- data files ------------------------------------------------------------------------------------


def data_of(stored: Mapping[str, Any]) -> dict[str, str]:
    """The full tables as CSV, by file name; of ranges a row per case with its verdicts."""
    found = {}
    for part in stored["parts"]:
        rows = _judged(stored) if part == "ranges" else rows_of(stored, part)
        if rows:
            text = io.StringIO()
            writer = csv.DictWriter(text, list(rows[0]), lineterminator="\n")
            writer.writeheader()
            writer.writerows(
                {k: f"{v:.6g}" if isinstance(v, float) else v for k, v in row.items()}
                for row in rows
            )
            found[f"{part}.csv"] = text.getvalue()
    return found


def _judged(stored: Mapping[str, Any]) -> list[Row]:
    values = {measure: values_of(stored, measure) for measure in (*MEASURES, "collector")}
    votes = {measure: votes_of(stored, measure) for measure in MEASURES}
    rows = []
    for name, cases in values["error"].items():
        for case in cases:
            row: Row = dict(zip(("shape", "table", "epsilon"), case, strict=True))
            row |= {"name": name, "ours": rival_of(name), "runs": cases[case].runs}
            for measure in MEASURES:
                value = values[measure][name][case]
                row |= {measure: value.mean, f"{measure} stderr": value.stderr}
                judged = votes[measure].get(name, {})
                row[f"{measure} of ours"] = WORDS[judged[case]] if case in judged else "itself"
            row["collector"] = values["collector"][name][case].mean
            rows.append(row)
    return rows


if __name__ == "__main__":
    main(sys.argv[1:])
