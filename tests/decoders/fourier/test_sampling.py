"""Thresholds of the specification, exact channels, and a sampler that follows them."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pytest
from support.fourier_designs import SPACE, by_hand, channel, elements, outputs, phase_of, records
from support.significance import chi_square, chi_square_bound

from ldpsql.bench.entropy import SeededEntropy
from ldpsql.decoders.fourier.design import FourierDesign
from ldpsql.decoders.fourier.families import Cluster
from ldpsql.decoders.fourier.sampling import Alias, Sampler, WordShares, offsets
from ldpsql_device.epsilon import Epsilon
from ldpsql_device.errors import SurveyError

DESIGNS = by_hand()
NAMES = list(DESIGNS)


@pytest.mark.parametrize("weights", [[1 << 32], [1, (1 << 32) - 1], [1 << 31, 1 << 30, 1 << 30]])
def test_slots_lead_to_families_as_often_as_they_weigh(weights: list[int]) -> None:
    assert Alias.of(weights).chances(len(weights)) == weights


@pytest.mark.parametrize("name", NAMES)
def test_slots_of_a_design_lead_to_its_families(name: str) -> None:
    table = DESIGNS[name].table
    assert Alias.of(table.weights).chances(len(table.weights)) == list(table.weights)


def test_random_weights_lead_to_their_families() -> None:
    random = np.random.default_rng(1)
    for count in (2, 3, 5, 64, 65, 1000):
        cuts = np.sort(random.choice((1 << 32) - 1, count - 1, replace=False)) + 1
        weights = np.diff([0, *cuts.tolist(), 1 << 32]).tolist()
        assert Alias.of(weights).chances(count) == weights


RUNS = 6_000


@pytest.mark.parametrize(
    ("size", "phases", "epsilon", "expected"),
    [
        (1, 2, "1", 13485650502874271968),
        (1, 5, "1", 7463731128003806033),
        (17, 64, "1", 9145278423823134532),
        (8, 64, "2", 9472756646860649479),
        (1, 256, "0.1", 79603254437807045),
    ],
)
def test_thresholds_of_the_specification(
    size: int, phases: int, epsilon: str, expected: int
) -> None:
    """Section 12 leaves 2^-40 of the odds unused; here whole words per point do the rounding."""
    found = WordShares.of(size, phases, Epsilon.parse(epsilon).odds)
    assert found.threshold == pytest.approx(expected, rel=1e-10)


@pytest.mark.parametrize("size", [0, 5])
def test_a_base_set_that_is_empty_or_everything_has_no_words(size: int) -> None:
    with pytest.raises(SurveyError, match="neither empty nor everything"):
        WordShares.of(size, 5, Epsilon.parse("1").odds)


@pytest.mark.parametrize(("size", "phases"), [(1, 2), (3, 7), (17, 64), (1000, 2999)])
def test_offsets_have_the_promised_odds(size: int, phases: int) -> None:
    odds = Epsilon.parse("1.3").odds
    shares = WordShares.of(size, phases, odds)
    law = shares.law()
    assert sum(law) == 1
    assert len(law) == phases
    inside, outside = law[:size], law[size:]
    assert max(law) / min(law) == shares.odds() <= odds
    assert min(inside) / max(outside) > odds * (1 - Fraction(1, 10**11))


@pytest.mark.parametrize("epsilon", ["0.001", "1", "8", "13", "20"])
@pytest.mark.parametrize("phases", [2, 3, 64, 4096, 1 << 20, 1 << 24])
def test_no_share_of_words_exceeds_its_odds(epsilon: str, phases: int) -> None:
    """Within the odds and close to the law that estimates assume, or refused."""
    odds = Epsilon.parse(epsilon).odds
    for size in {1, max(1, phases // 3), phases // 2, phases - 1}:
        try:
            found = WordShares.of(size, phases, odds)
        except SurveyError:
            assert size * odds * (1 << 20) > SPACE
            continue
        least = Fraction(min(found.inside, found.outside), SPACE)
        most = Fraction(max(found.inside, found.outside + (found.longer > 0)), SPACE)
        assert most / least <= odds
        words = found.threshold + found.outside * (phases - size) + found.longer
        assert words == SPACE
        meant = size * odds / (size * odds + phases - size)
        assert abs(Fraction(found.threshold, SPACE) - meant) < Fraction(1, 1 << 19)


@pytest.mark.parametrize("name", NAMES)
def test_the_points_of_a_family_are_numbered_base_set_first(name: str) -> None:
    for cluster in DESIGNS[name].table.clusters:
        for number in range(len(cluster)):
            found = offsets(cluster, number)
            assert sorted(found) == list(range(cluster.phases))
            assert sorted(found[: cluster.sizes[number]]) == cluster.members(number).tolist()


# -- the exact channel -----------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_the_channel_is_exactly_private_and_spends_its_budget(name: str) -> None:
    """In Fractions, from the thresholds that the sampler compares with."""
    design = DESIGNS[name]
    law = design.law()
    assert all(sum(row) == 1 for row in law.probabilities)
    worst = law.worst_odds()
    assert worst is not None
    assert worst <= design.epsilon.odds
    assert worst > design.epsilon.odds * (1 - Fraction(1, 10**9))


@pytest.mark.parametrize("name", NAMES)
def test_the_channel_is_that_of_the_definition(name: str) -> None:
    """Pr = w x(theta(u) - phi) / s, phases taken from the characters as rational turns."""
    design = DESIGNS[name]
    law, matrix = design.law(), channel(design)
    assert list(law.outputs) == outputs(design)
    widths = [design.group.width(axis) for axis in range(design.group.dimensions)]
    place = {element: i for i, element in enumerate(elements(design.group))}
    for record, row in zip(law.inputs, law.probabilities, strict=True):
        binned = [code // width for code, width in zip(record, widths, strict=False)]
        column = matrix[:, place[(*binned, *record[len(widths) :])]]
        np.testing.assert_allclose([float(p) for p in row], column, rtol=1e-11)


@pytest.mark.parametrize("name", NAMES)
def test_a_threshold_five_percent_off_breaks_the_promise(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The negative control of the exact enumeration."""
    right = WordShares.of
    monkeypatch.setattr(
        WordShares, "of", lambda size, phases, odds: right(size, phases, odds * 21 / 20)
    )
    design = DESIGNS[name]
    worst = design.law().worst_odds()
    assert worst is not None
    assert worst > design.epsilon.odds


# -- the sampler -----------------------------------------------------------------------------------


def misfit(design: FourierDesign) -> str | None:
    """What tells the reports of the sampler from the exact channel, by chi-square: those of one
    record, or how often a family's reports lie inside its base set, over all records."""
    law = design.law()
    starts = np.cumsum([0, *design.table.phases])
    inside_seen, inside_due = np.zeros((2, 2, len(design.table.weights)))
    for seed, (record, row) in enumerate(zip(law.inputs, law.probabilities, strict=True)):
        codes = np.tile(np.array(record, dtype=np.int64), (RUNS, 1))
        reports = design.randomize(codes, SeededEntropy(seed))
        family, phase = (np.asarray(c).astype(np.int64) for c in reports.columns.values())
        assert (phase < design.table.phases[family]).all()
        observed = np.bincount(starts[family] + phase, minlength=len(row))
        due = np.array([float(p) for p in row]) * RUNS
        if not fits(observed, due):
            return f"record {record}"
        likeliest = np.maximum.reduceat(due, starts[:-1])[np.array(law.outputs)[:, 0]]
        for side, chosen in enumerate((due > 0.99 * likeliest, due <= 0.99 * likeliest)):
            inside_seen[side] += np.add.reduceat(observed * chosen, starts[:-1])
            inside_due[side] += np.add.reduceat(due * chosen, starts[:-1])
    return None if fits(inside_seen.ravel(), inside_due.ravel()) else "inside"


def fits(observed: np.ndarray, due: np.ndarray) -> bool:
    """Whether a chi-square test finds nothing."""
    statistic, degrees = chi_square(observed, due)
    return statistic < chi_square_bound(degrees)


@pytest.mark.parametrize("name", NAMES)
def test_the_sampler_follows_the_law_for_every_record(name: str) -> None:
    assert misfit(DESIGNS[name]) is None


@pytest.mark.parametrize("name", NAMES)
def test_a_sampler_that_lies_too_little_is_caught(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def generous(self: Sampler) -> list[WordShares]:
        sizes = zip(self.table.sizes.tolist(), self.table.phases.tolist(), strict=True)
        return [WordShares.of(*pair, self.odds * 9 / 8) for pair in sizes]

    monkeypatch.setattr(Sampler, "shares", property(generous))
    assert misfit(by_hand()[name]) == "inside"


@pytest.mark.parametrize("name", NAMES)
def test_a_sampler_with_a_wrong_step_is_caught(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every axis adds one step too much to its phase."""
    right = Sampler._steps

    def wrong(self: Sampler, axes: list[int | None]) -> np.ndarray:
        steps = right(self, axes)
        return np.where(steps > 0, steps + 1, steps)

    monkeypatch.setattr(Sampler, "_steps", wrong)
    assert misfit(by_hand()[name]) is not None


@dataclass(frozen=True)
class Words:
    """An entropy that gives the same words for the offset and the same halves for the family."""

    offset: int
    family: int

    def words(self, count: int) -> np.ndarray:
        people = count * 2 // 3
        halves = self.family << 32 | self.family
        found = [self.offset] * people + [halves] * (count - people)
        return np.array(found, dtype=np.uint64)


@pytest.mark.parametrize("name", NAMES)
def test_the_extreme_words_give_reports(name: str) -> None:
    """The least and the largest word in every place: always a report, for every record."""
    design = DESIGNS[name]
    for record in records(design):
        codes = design._binned(np.array([record], dtype=np.int64))
        for offset in (0, SPACE - 1):
            for half in (0, (1 << 32) - 1):
                family, phase = design.sampler.draw(codes, Words(offset, half))
                assert ((phase >= 0) & (phase < design.table.phases[family])).all()


@pytest.mark.parametrize("name", NAMES)
def test_words_lead_to_the_points_in_their_order(name: str) -> None:
    """The first and the last word of a family's base set, and the first and last beyond it."""
    design = DESIGNS[name]
    sampler, table = design.sampler, design.table
    record = np.array([[1] * len(design.group.orders)], dtype=np.int64)
    halves = {
        int(sampler._family(np.array([half], dtype=np.uint32))[0]): half
        for half in np.linspace(0, (1 << 32) - 1, 4097).astype(np.int64).tolist()
    }
    assert set(halves) == set(range(len(table.weights)))
    for number, half in halves.items():
        cluster = table.clusters[int(np.searchsorted(table.starts, number, "right")) - 1]
        own = number - int(table.starts[table.clusters.index(cluster)])
        theta = phase_of(cluster, own, record[0])
        points, t = offsets(cluster, own), sampler.shares[number].threshold
        size = int(cluster.sizes[own])
        for word, place in ((0, 0), (t - 1, size - 1), (t, size), (SPACE - 1, -1)):
            family, phase = sampler.draw(record, Words(word, half))
            assert family[0] == number
            assert _offset(cluster, theta, int(phase[0])) == points[place]


def _offset(cluster: Cluster, theta: int, phase: int) -> int:
    left = np.unravel_index(theta, cluster.orders)
    right = np.unravel_index(phase, cluster.orders)
    digits = [(a - b) % r for a, b, r in zip(left, right, cluster.orders, strict=True)]
    return int(np.ravel_multi_index(digits, cluster.orders))
