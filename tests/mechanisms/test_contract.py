"""The contract that every registered mechanism passes."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from support.histograms import histogram_of
from support.later_rounds import at_round
from support.significance import chi_square, chi_square_bound

from ldpsql.audit.exact import Definition
from ldpsql.boxes import Box, LinearQuery
from ldpsql.mechanisms.base import (
    Design,
    Law,
    Outcome,
    StatesOdds,
)
from ldpsql.mechanisms.grr import Grr
from ldpsql.mechanisms.registry import MECHANISMS, mechanism
from ldpsql.simulation import SeededEntropy
from ldpsql_device.epsilon import Epsilon
from ldpsql_device.guarantee import Central
from ldpsql_device.schema import RecordDomain

PLAIN_1D = RecordDomain(("x",), (5,), (), (), ())
PLAIN_2D = RecordDomain(("x", "y"), (3, 3), (), (), ())
SIGNED_1D = RecordDomain(("x",), (4,), ("x",), ((0.0, 3.0),), (0,))
SIGNED_2D = RecordDomain(("x", "y"), (2, 3), ("y", "pay"), ((0.0, 2.0), (-1.0, 5.0)), (1, None))
ONE_CODE = RecordDomain(("x",), (1,), (), (), ())
MEASURE_ONLY = RecordDomain((), (), ("pay",), ((0.0, 1.0),), (None,))
SPARED_1D = RecordDomain(("x",), (5,), (), (), (), (), ((1, 3),))
SPARED_2D = RecordDomain(("x", "y"), (3, 4), (), (), (), (), ((0, 2), (3,)))
HALF_2D = RecordDomain(("x", "y"), (2, 4), (), (), (), (), ((), (1, 2)))
SPARED_3D = RecordDomain(("x", "y", "z"), (3, 2, 2), (), (), (), (), ((2,), (0,), (1,)))
ONE_DIMENSION = ("hh", "haarhrr", "urr", "urap")
SPARING = ("urr", "urap", "cprr", "jurr", "jurr-g", "tdrr", "jd-grr")
BINARY = RecordDomain(("x", "y", "z"), (2, 2, 2), (), (), ())
MARGINALS = ("srr-ss", "psrr-ss", "arr-ss", "srr-ms", "sue-ms", "oue-ms", "solh", "ft")
COUNTS_ONLY = ("hio", "ahead", "truthful", *SPARING, *MARGINALS)
SMALL = [PLAIN_1D, PLAIN_2D, SIGNED_1D, SIGNED_2D, ONE_CODE, MEASURE_ONLY]
SPARED = [SPARED_1D, SPARED_2D, HALF_2D, SPARED_3D]
EPSILONS = [Epsilon.parse("0.5"), Epsilon.parse("2")]


def options_for(name: str) -> list[dict[str, object]]:
    """Option sets worth checking: every oracle where there is a choice."""
    if name in ("hio", "ahio", "ehio"):
        return [
            {"fanout": 2, "oracle": oracle, "root": oracle == "olh"}
            for oracle in ("grr", "olh", "oue", "auto")
        ] + [
            {"fanout": 2, "inference": "consistent", "allocation": "optimal"},
            {"fanout": 3, "tree": "padded", "inference": "consistent", "allocation": "optimal"},
        ]
    if name == "hh":
        consistent = {"inference": "consistent", "allocation": "optimal"}
        return [{"fanout": 2, "oracle": oracle} for oracle in ("oue", "hrr")] + [
            {"fanout": 2, "oracle": "hrr", **consistent}
        ]
    if name == "hi":
        wide = {"fanout": 3, "oracle": "grr"}
        return [
            {"fanout": 2},
            wide,
            {**wide, "allocation": "optimal"},
            {**wide, "inference": "consistent", "allocation": "optimal"},
        ]
    if name == "lgrr-repaired":
        return [{"fanout": 2}, {"fanout": 2, "inference": "consistent", "allocation": "optimal"}]
    if name == "haarhrr":
        return [{}, {"inference": "consistent", "allocation": "optimal"}]
    if name == "ahead":
        return [{"oracle": oracle} for oracle in ("olh", "oue", "auto")]
    if name == "urap":
        return [{"form": form} for form in ("symmetric", "optimised")]
    if name == "tdrr":
        return [{}]
    if name == "truthful":
        return [{}, {"delta": "0.05"}]
    if name in MARGINALS:
        several = [{}, {"ways": 0}]
        return [*several, {"ways": 0, "sum_to_one": True}] if name == "arr-ss" else several
    plain = ("grr", "olh", "oue", "fourier", "staircase", *SPARING)
    return [{}] if name in plain else [{"fanout": 2}, {"fanout": 3, "tree": "padded"}]


def takes(name: str, domain: RecordDomain, epsilon: Epsilon) -> bool:
    """Whether a mechanism with sensitive values is for such a domain and epsilon."""
    dimensions = len(domain.sizes)
    if name not in SPARING:
        return domain not in SPARED
    if name == "jurr-g" and dimensions != 2:
        return False
    if name in ("jurr", "tdrr") and dimensions < 2:
        return False
    declared = {SPARED_2D: 0.9, SPARED_3D: 1.6}
    return name != "jurr" or float(epsilon) > declared.get(domain, 0.0)


def designs() -> list[Design]:
    """Every mechanism on every small domain it takes."""
    return [
        mechanism(name).design(domain, epsilon, options)
        for name in MECHANISMS
        for domain in (*SMALL, *SPARED)
        for epsilon in EPSILONS
        for options in options_for(name)
        if not (domain.bounds and name in COUNTS_ONLY)
        and takes(name, domain, epsilon)
        and not ("ways" in options and domain != PLAIN_2D)
        and not (name == "ft" and max(domain.sizes, default=0) > 2)
        and not (domain == SIGNED_2D and "oue" in (name, options.get("oracle")))
        and not (name == "lgrr" and domain == ONE_CODE)
        and not (name == "hi" and domain == SIGNED_2D)
        and not (name == "hi" and domain == PLAIN_2D and options["fanout"] == 2)
        and not (name in ONE_DIMENSION and len(domain.sizes) != 1)
    ]


def label(design: Design) -> str:
    """A readable test id."""
    sizes = "x".join(map(str, design.domain.sizes))
    sizes += "" if design.domain.is_all_sensitive else "-spared"
    delta = design.guarantee.delta
    oracle = getattr(design, "oracle", f"delta{float(delta):g}" if delta else "")
    return f"{design.name}-{oracle}-{sizes}-{len(design.domain.bounds)}m-eps{design.epsilon}"


def calibrated() -> list[Design]:
    """The mechanisms of the shuffle model with the local epsilons that they choose themselves."""
    central = Central(Epsilon.parse("0.5"), Fraction(1, 1000), 300)
    unlike = RecordDomain(("x", "y"), (2, 3), (), (), ())
    cases = {"srr-ms": unlike, "arr-ss": PLAIN_2D, "ft": BINARY}
    return [mechanism(name).shuffled(domain, central, {}) for name, domain in cases.items()]


DESIGNS = [*designs(), *calibrated()]


def is_private(design: Design, law: Law) -> bool:
    """Whether the channel meets the definition that its guarantee names."""
    return definition_of(design).holds(law, design.epsilon)


def definition_of(design: Design) -> Definition:
    """What its guarantee limits."""
    return Definition(design.guarantee.kind, design.domain)


def tells_records_apart(design: Design, law: Law) -> bool:
    """Whether the witness holds: one record can send its report, the other never does.

    A domain of one record has no witness, and nothing to tell.
    """
    witness = design.witness
    if len(law.inputs) == 1:
        return witness is None and not design.guarantee.witness
    chances = {
        record: dict(zip(law.outputs, row, strict=True))
        for record, row in zip(law.inputs, law.probabilities, strict=True)
    }
    sent = chances[witness.sender][witness.report]
    never = chances[witness.other][witness.report]
    told = str(witness.sender) in design.guarantee.witness
    return told and sent > 0 and never == 0 and law.worst_odds() is None


@pytest.mark.parametrize("design", DESIGNS, ids=label)
def test_channel_is_exactly_private_and_spends_its_budget(design: Design) -> None:
    """In Fractions, from the thresholds that the sampler compares with."""
    law = design.law()
    assert all(sum(row) == 1 for row in law.probabilities)
    if design.guarantee.kind == "none":
        assert tells_records_apart(design, law)
        return
    if len(law.inputs) == 1:
        assert law.worst_odds() == 1
        return
    if design.guarantee.delta:
        assert 1 - Fraction(1, 10**9) < law.divergence(design.epsilon.odds) / design.guarantee.delta
        assert law.divergence(design.epsilon.odds) <= design.guarantee.delta
        return
    assert is_private(design, law)
    worst = definition_of(design).worst(law).odds
    assert worst > design.epsilon.odds * (1 - Fraction(1, 10**9))


def later_rounds() -> list[Design]:
    """Small designs that others' answers have refined."""
    return [
        at_round(mechanism("ahead").design(domain, EPSILONS[0], {"oracle": oracle}), 2, 20_000)
        for domain in (PLAIN_1D, PLAIN_2D)
        for oracle in ("grr", "olh", "oue")
    ]


STATED = [d for d in (*DESIGNS, *later_rounds()) if isinstance(d, StatesOdds)]


def test_every_mechanism_states_its_odds() -> None:
    """Else a domain too large to enumerate would be audited as a smaller one."""
    assert {design.name for design in STATED} == set(MECHANISMS)


@pytest.mark.parametrize("design", STATED, ids=label)
def test_stated_odds_are_those_of_the_channel(design: Design) -> None:
    """To the last digit, for they are what is checked where the channel is too large."""
    assert isinstance(design, StatesOdds)
    assert design.selector_odds() == definition_of(design).worst(design.law()).odds


@pytest.mark.parametrize("name", ["hgrr", "grr"])
def test_a_threshold_five_percent_off_is_caught(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The negative control of the test above."""
    monkeypatch.setattr(
        Grr,
        "thresholds",
        property(lambda self: tuple(round(0.5 * 2**64 * 1.05) for _ in self.sizes)),
    )
    design = mechanism(name).design(PLAIN_1D, Epsilon.parse("0.5"), {})
    assert not is_private(design, design.law())


def misfit(design: Design) -> Outcome | None:
    """The first record whose 20,000 reports a chi-square test tells from the exact channel."""
    law, runs = design.law(), 20_000
    number = {row: place for place, row in enumerate(law.outputs)}
    for seed, (record, chances) in enumerate(zip(law.inputs, law.probabilities, strict=True)):
        codes = np.tile(np.array(record, dtype=np.int64), (runs, 1))
        reports = design.randomize(codes, SeededEntropy(seed))
        rows = np.stack([np.asarray(c).astype(np.int64) for c in reports.columns.values()], axis=1)
        distinct, counts = np.unique(rows, axis=0, return_counts=True)
        observed = np.zeros(len(law.outputs))
        for row, count in zip(distinct, counts, strict=True):
            observed[number[tuple(map(int, row))]] = count
        expected = np.array([float(chance) for chance in chances]) * runs
        statistic, degrees = chi_square(observed[expected > 0], expected[expected > 0])
        if observed[expected == 0].any() or statistic >= chi_square_bound(degrees):
            return record
    return None


@pytest.mark.parametrize("design", [d for d in DESIGNS if d.epsilon == EPSILONS[1]], ids=label)
def test_sampler_follows_the_law_for_every_input(design: Design) -> None:
    """Record by record."""
    assert misfit(design) is None


@pytest.mark.parametrize("name", ["grr", "hgrr"])
def test_a_sampler_that_lies_too_little_is_caught(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The negative control of the test above: the device compares with a threshold 5 % too high,
    the law is that of the right one."""
    design = mechanism(name).design(PLAIN_1D, Epsilon.parse("2"), {})
    right = design.law()
    monkeypatch.setattr(
        Grr,
        "_thresholds_array",
        property(lambda self: np.array([t * 21 // 20 for t in self.thresholds], dtype=np.uint64)),
    )
    assert design.law() == right
    assert misfit(design) is not None


@pytest.mark.parametrize("design", [d for d in DESIGNS if d.selector_shares is not None], ids=label)
def test_selectors_are_drawn_as_stated(design: Design) -> None:
    """One share per selector of the report format; up to floats, they are those of the channel."""
    shares = design.selector_shares
    law = design.law()
    drawn = np.zeros(design.report_format.selectors)
    for row, chance in zip(law.outputs, law.probabilities[0], strict=True):
        drawn[row[0]] += float(chance)
    assert shares.tolist() == pytest.approx(drawn.tolist(), abs=1e-12)


@pytest.mark.parametrize("design", DESIGNS, ids=label)
def test_a_design_survives_its_json(design: Design) -> None:
    """Device and collector read the same JSON and derive the same thresholds."""
    data = json.loads(json.dumps(design.to_json()))
    restored = mechanism(design.name).restore(design.domain, design.epsilon, data)
    assert restored == design
    assert restored.report_format.columns == design.report_format.columns


@pytest.mark.parametrize("design", DESIGNS, ids=label)
def test_the_first_estimator_is_the_one_that_answers(design: Design) -> None:
    """It is called unbiased unless the mechanism has no unbiased one."""
    name, make = next(iter(design.estimators.items()))
    assert name == {"ahead": "adaptive", "lgrr": "by_share"}.get(design.name, "unbiased")
    assert make == design.estimator


@pytest.mark.parametrize("design", DESIGNS, ids=label)
def test_what_is_not_called_unbiased_says_why(design: Design) -> None:
    """Or brings replicates, from which a note of its own is made."""
    biases = design.biases
    assert set(biases) == set(design.estimators) - {"unbiased", "smooth", "em"}


@pytest.mark.parametrize("design", DESIGNS, ids=label)
def test_reports_fit_their_format(design: Design) -> None:
    """Own reports are accepted, one beyond the limits is not."""
    sizes = [*design.domain.sizes, *([2] * len(design.domain.bounds))]
    random = np.random.default_rng(1)
    codes = np.stack([random.integers(0, size, 500) for size in sizes], axis=1)
    reports = design.randomize(codes, SeededEntropy(1))
    assert not len(design.report_format.refuse(reports.columns))
    last = design.report_format.columns[-1]
    selector = np.asarray(reports.columns[design.report_format.columns[0]]).astype(np.int64)
    broken = {name: np.asarray(c).astype(np.uint64) for name, c in reports.columns.items()}
    broken[last][7] = design.report_format.limits[selector[7], -1]
    assert list(design.report_format.refuse(broken)) == [7]


class CountingEntropy:
    """Counts the words that are drawn."""

    def __init__(self) -> None:
        self.drawn: list[int] = []
        self._source = SeededEntropy(3)

    def words(self, count: int) -> np.ndarray:
        """Words, counted."""
        self.drawn.append(count)
        return self._source.words(count)


@pytest.mark.parametrize("design", DESIGNS, ids=label)
def test_the_entropy_drawn_does_not_depend_on_the_record(design: Design) -> None:
    """Otherwise its amount, or the time it takes, would tell something."""
    first, last = CountingEntropy(), CountingEntropy()
    width = len(design.domain.sizes) + len(design.domain.bounds)
    top = np.array([[*(s - 1 for s in design.domain.sizes), *([1] * len(design.domain.bounds))]])
    design.randomize(np.zeros((1, width), dtype=np.int64), first)
    design.randomize(top.astype(np.int64), last)
    assert first.drawn == last.drawn


@pytest.mark.parametrize("design", DESIGNS, ids=label)
def test_what_needs_no_question_is_exact(design: Design) -> None:
    """Everybody is counted exactly, nobody is an exact 0."""
    codes = np.zeros((50, len(design.domain.sizes) + len(design.domain.bounds)), dtype=np.int64)
    estimator = design.estimator(histogram_of(design.randomize(codes, SeededEntropy(0))))
    dimensions = len(design.domain.sizes)
    everybody = design.prepare(LinearQuery.count(Box.whole(dimensions)))
    nobody = design.prepare(LinearQuery.count())
    answer = estimator.answer([everybody, nobody])
    assert answer.values.tolist() == [50.0, 0.0]
    assert not answer.covariance.any()


def test_a_changed_guarantee_is_not_equal() -> None:
    """Designs compare by content, so a survey of another epsilon is another survey."""
    one = mechanism("hgrr").design(PLAIN_1D, EPSILONS[0], {})
    assert one != replace(one, epsilon=EPSILONS[1])
