"""Claims of the papers are borne out, refuted or left open by what was measured."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pytest

from benchmarks.figures import (
    Cases,
    Measured,
    h4mda_claims,
    h4mda_theory,
    response_surface,
    shuffle_calm_whole,
    shuffle_learning,
    shuffle_marginals,
    shuffle_tables,
)
from benchmarks.figures.figure import Verdict
from ldpsql.algebra.record_domain import RecordDomain


def verdict(found: list[Verdict], words: str) -> bool | None:
    """Of the one claim with these words."""
    (one,) = [each for each in found if words in each.claim]
    return one.holds


def test_promises_are_those_of_exact_channels(tmp_path: Path) -> None:
    """Of HGRR and, infinite, of LGRR; odds a little larger than nominal are noticed."""
    measured = h4mda_theory.measure_promises(
        Cases(tmp_path, "x"), mechanisms=("hgrr", "lgrr"), epsilons=("1",), fakes=(0,)
    )
    hgrr, lgrr = measured.rows
    assert hgrr["epsilon"] == pytest.approx(1.0, abs=1e-12)
    assert (hgrr["delta"], lgrr["epsilon"]) == (0.0, math.inf)
    assert lgrr["delta"] == pytest.approx(2 / 3)
    names = ("lgrr-fd, 0 fake nodes", "hio", "ahio", "ehio", "lgrr-repaired")
    rows = [*measured.rows, *({**hgrr, "mechanism": name} for name in names)]
    found = h4mda_theory.judge_promises(Measured(rows, "made up"))
    assert verdict(found, "HGRR") is True
    assert verdict(found, "Theorem 11: LGRR is") is False
    more = [{**row, "epsilon": row["epsilon"] + 1e-9} for row in rows]
    assert verdict(h4mda_theory.judge_promises(Measured(more, "made up")), "HGRR") is False


def test_expectations_are_told_by_their_means() -> None:
    """Near, far, and too uncertain to tell."""
    rows = [
        {"mechanism": name, "epsilon": 1.0, "truth": 100, "estimate": mean, "stderr": error}
        | {"runs": 20}
        for name, mean, error in (("hgrr", 101, 1), ("lgrr-fd", 130, 1), ("lgrr", 101, 30))
    ]
    found = h4mda_theory.judge_bias(Measured(rows, "made up"))
    assert [each.holds for each in found] == [True, False, None]


def test_levels_are_counted() -> None:
    """Of trees of height three; one combination more is told."""
    counts = {"hio": 16, "ahio": 32, "ehio": 20, "hgrr": 19, "lgrr-fd": 20, "lgrr": 12}

    def judged(counts: dict[str, int]) -> list[bool | None]:
        rows = [
            {"mechanism": name, "attributes": 2, "height": 3, "combinations": count}
            for name, count in counts.items()
        ]
        return [each.holds for each in h4mda_theory.judge_levels(Measured(rows, "made up"))]

    assert judged(counts) == [True] * 6
    assert judged({**counts, "hgrr": 20}) == [True, True, True, False, True, True]


@pytest.mark.parametrize(("ratio", "holds"), [(0.5, True), (2.0, False), (0.01, False)])
def test_the_ratio_of_table_2(ratio: float, holds: bool) -> None:
    """LGRR's error over EHIO's."""
    common = {"sweep": "volume", "x": 0.1, "predicates": 1, "aggregate": "COUNT", "runs": 20}
    rows = [
        {**common, "mechanism": name, "error": error, "stderr": 0.01 * error}
        for name, error in (("ehio", 1.0), ("lgrr, published", ratio))
    ]
    assert verdict(list(h4mda_claims.judge(Measured(rows, ""))), "Table 2") is holds


@pytest.mark.parametrize(("off", "holds"), [(0.0, True), (0.1, False)])
def test_surfaces_are_held_to_the_formula(tmp_path: Path, off: float, holds: bool) -> None:
    """A grid of few points, and the same a tenth lower."""
    measured = response_surface.measure(
        Cases(tmp_path, "x"), epsilons=("1",), deltas=("0.1",), epsilon="1", steps=4, people=10_000
    )
    rows = [{**row, "measured": row["measured"] * (1 - off)} for row in measured.rows]
    found = response_surface.judge(Measured(rows, "made up"))
    assert [verdict(found, words) for words in ("Figure 4: sim", "Figure 8")] == [holds, holds]


def test_published_budgets_are_judged_exactly() -> None:
    """One that there is not, one error that is less than that of PSRR-SS, and bits."""
    names = ("SRR-MS, published", "ARR-SS, published", "PSRR-SS, published")

    def judged(errors: tuple[float, float, float]) -> list[bool | None]:
        rows = [
            {"data": "t", "epsilon": 1.0, "mechanism": name, "predicted": error}
            for name, error in zip(names, errors, strict=True)
        ]
        return [each.holds for each in shuffle_tables.judge(Measured(rows, "made up"))]

    assert judged((2.0, 2.0, 1.0)) == [True, True, True, False]
    assert judged((2.0, 0.5, 1.0)) == [True, False, False, False]
    nothing = [
        {"data": "t", "epsilon": e, "mechanism": name, "predicted": error}
        for e, error in ((0.2, math.nan), (1.0, 1.0))
        for name in names
    ]
    assert shuffle_tables.judge(Measured(nothing, "made up"))[0].holds is False


@pytest.mark.parametrize(("measured", "holds"), [(1.0, True), (2.0, False)])
def test_calm_over_all_attributes(measured: float, holds: bool) -> None:
    """Predicted beside measured, CALM beside unbiased, PSRR-SS beside the others."""
    errors = {"srr-ms": 3.0, "arr-ss": 3.0, "psrr-ss": 1.0}
    common = {"data": "t", "epsilon": 1.0, "runs": 20}
    rows = [
        {**common, "mechanism": name, "attributes": ways, "estimator": kind, "predicted": error}
        | {"measured": error * (measured if kind == "unbiased" else 0.5), "stderr": 0.01 * error}
        for name, error in errors.items()
        for ways in (1, 2, 3)
        for kind in (("unbiased", "calm") if ways < 3 else ("calm",))
    ]
    near, closer, best = shuffle_calm_whole.judge(Measured(rows, "made up"))
    assert (near.holds, closer.holds, best.holds) == (holds, True, True)
    worse = [{**row, "measured": 9.0} if row["mechanism"] == "psrr-ss" else row for row in rows]
    assert shuffle_calm_whole.judge(Measured(worse, "made up"))[2].holds is False


def judge_models(errors: Mapping[str, Sequence[float]]) -> Sequence[Verdict]:
    """The verdicts where every model has these errors, by run, on the tables of the names."""
    rows = [
        {"table": table, "epsilon": epsilon, "run": run, "model": model, "learner": learner}
        | {"error": error}
        for table, own in errors.items()
        for epsilon in (1.0, 4.0)
        for run, error in enumerate(own)
        for model in shuffle_learning.MODELS
        for learner in shuffle_learning.LEARNERS
    ]
    return shuffle_learning.judge(Measured(rows, "made up"))


@pytest.mark.parametrize(("error", "holds"), [(1.0, True), (3.0, False)])
def test_models_by_calm_are_compared(error: float, holds: bool) -> None:
    """With each mechanism, at every epsilon; the other claims leave them out."""
    tables = {"true table": 0.5, "constant": 9.0, "Fourier response": 2.0}
    tables |= {**dict.fromkeys(shuffle_learning.CALMS, 2.0), shuffle_learning.PSRR: error}
    found = judge_models({name: [mean, mean + 0.01, mean + 0.02] for name, mean in tables.items()})
    told = [each for each in found if "CALM with PSRR-SS, shuffled is better" in each.claim]
    assert [each.holds for each in told] == [holds] * 3
    assert not any("at epsilon 1 a shuffled table" in each.claim for each in found)


def test_sue_ms_exists_from_where_the_paper_says(monkeypatch: pytest.MonkeyPatch) -> None:
    """To one digit by the closed form, which inverts the published bound; from elsewhere it does
    not."""
    people, attributes, _ = shuffle_marginals.SUE_FROM["Kosarak"]
    least = shuffle_marginals.sue_least(people, attributes)
    group = people // attributes
    bound = 2.0 * math.sqrt(14.0 * math.log(4.0 * people) * (1.0 + 1.0) / (group - 1))
    assert least == pytest.approx(bound)
    rows = [
        {"data": "t", "epsilon": e, "mechanism": name, "measured": 1.0, "stderr": 0.01}
        | {"predicted": 1.0, "local_epsilon": 2.0 * e, "runs": 100}
        for e in (0.4, 1.0)
        for name in ("SRR-SS", "PSRR-SS, published", "SUE-MS, published")
    ]
    claim = "published SUE-MS exists"
    (alone,) = [
        v for v in shuffle_marginals.judge(Measured(rows, "made up")) if "ARR-SS at" in v.claim
    ]
    assert alone.because == "0 of 0 confirmed"  # PSRR-SS is not held against itself
    assert verdict(shuffle_marginals.judge(Measured(rows, "made up")), claim) is True
    monkeypatch.setitem(shuffle_marginals.SUE_FROM, "Kosarak", (people // 2, attributes, 0.4))
    assert verdict(shuffle_marginals.judge(Measured(rows, "made up")), claim) is False


def test_closed_forms_become_surveys_of_that_budget() -> None:
    """SUE-MS by a group's share of the people, SOLH by all; where a closed form gives less than the
    central epsilon, it is the central one."""
    random = np.random.default_rng(1)
    codes = random.integers(0, 3, (40_000, 4))
    domain = RecordDomain(("a", "b", "c", "d"), (3, 3, 3, 3), (), (), ())
    people = shuffle_marginals.People(codes, domain, "made up")
    for name in (shuffle_marginals.SUE, shuffle_marginals.SOLH):
        contestant = shuffle_marginals.CONTESTANTS[name]
        assert contestant.budget is not None
        local, options = contestant.budget(1.0, people)
        assert local is not None
        design = shuffle_marginals.design_of(contestant, people, "1")
        assert float(design.epsilon) == pytest.approx(local, abs=1e-8)
        least = shuffle_marginals.design_of(contestant, people, "0.01")
        assert float(least.epsilon) == 0.01
    inverse = options["values"] * 3 - 2  # the best number of hash values is (X + 2) / 3
    assert math.exp(local) == pytest.approx(inverse - options["values"] + 1, rel=0.01)


@pytest.mark.parametrize(("tables", "holds"), [(1, True), (3, None)])
def test_the_best_of_several_tables_may_be_best_by_chance(tables: int, holds: bool | None) -> None:
    """Its models lose half a standard error less than may be lost by one that was chosen before."""
    names = ["Fourier response", "HGRR", "GRR on whole records", "pairs by RR"]
    names += ["pairs by SRR-SS, shuffled", "pairs by SRR-MS, shuffled"]
    errors = dict.fromkeys(names[:tables], [1.19, 0.69] * 50)
    found = judge_models({"true table": [0.0] * 100, "constant": [2.0] * 100} | errors)
    assert [v.holds for v in found if "loses less than half" in v.claim] == [holds] * 3
