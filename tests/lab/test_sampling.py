"""The audit of the device code: sound code passes, broken code whose law is right does not."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from support.broken_promises import (
    SameWords,
    SeedReused,
    TrueAncestor,
    obey_another_plan,
    with_odds,
)

from ldpsql.audit import audit_design
from ldpsql.audit.exact import domain_of_codes
from ldpsql.mechanisms.registry import mechanism
from ldpsql_device.epsilon import Epsilon
from ldpsql_device.plan import WORDS, subset_words
from ldpsql_lab.audit import sampling
from ldpsql_lab.audit.sampling import (
    ALPHA,
    check_words,
    corners,
    draw_random_records,
    make_records_of_every_code,
)
from ldpsql_lab.simulation import SeededEntropy

ONE = Epsilon.parse("1")
AGAIN = (
    "reports of one record are not equal as often as independent ones would be: entropy is used "
    "again, or the device code does not follow the law"
)


def made(name, domain="4", measures=0, epsilon=ONE):
    return mechanism(name).design(domain_of_codes(domain, measures), epsilon, {})


def tried(design, reports=100_000, entropy=None):
    return audit_design(design, {}, reports=reports, entropy=entropy or SeededEntropy(1))


@pytest.mark.fast(3)
@pytest.mark.parametrize("name", ["hgrr", "hio", "ahio", "grr", "olh", "oue", "hrr"])
@pytest.mark.parametrize("epsilon", ["1", "2"])
def test_the_bound_comes_close_to_epsilon_from_below(name, epsilon):
    design = made(name, epsilon=Epsilon.parse(epsilon))
    found = tried(design)
    assert found.holds, found.problems
    assert 0.8 * float(epsilon) < found.empirical.epsilon_at_least <= float(epsilon)
    assert found.empirical.reports_per_record >= 100_000
    assert found.empirical.alpha == ALPHA


def test_a_large_design_is_run_beside_its_smaller_one():
    found = tried(made("hgrr", "100x30", 1), 20_000)
    assert found.holds
    assert 0.5 < found.empirical.epsilon_at_least <= 1


def test_what_is_sampled_by_default_comes_from_the_operating_system():
    one, other = (audit_design(made("grr"), reports=400_000).empirical for _ in range(2))
    assert (one.equal, one.seen, one.seen_other) != (other.equal, other.seen, other.seen_other)


def test_a_leak_shows_far_above_epsilon():
    found = tried(TrueAncestor("local"), 16_000)
    assert found.empirical.epsilon_at_least > 5
    assert not found.empirical.dependent
    assert any("device code does not keep epsilon" in problem for problem in found.problems)


def telling_truth(design, part):
    """GRR with a probability of the truth that is higher or lower by a factor."""
    (size,) = design.table.sizes
    truth = Fraction(subset_words(1, size, design.plan.odds[0])[0], WORDS)
    odds = part * truth * (size - 1) / (1 - part * truth)
    return with_odds(design, odds / Fraction(design.plan.odds[0], WORDS))


def caught(design, reports=200_000):
    found = tried(design, reports)
    assert found.epsilon == 1
    return [problem for problem in found.problems if "does not keep epsilon" in problem]


@pytest.mark.fast(1)
@pytest.mark.parametrize("domain", ["4", "9x9"])
def test_a_device_that_lies_five_percent_too_little_is_caught(domain, monkeypatch):
    """The law is right; only what the device compares with is not."""
    assert not caught(made("grr", domain), 400_000)
    obey_another_plan(monkeypatch, lambda design: telling_truth(design, Fraction(21, 20)))
    assert caught(made("grr", "4"), 400_000)


@pytest.mark.fast(1)
@pytest.mark.parametrize("domain", ["4", "3x2"])
def test_a_device_that_is_two_percent_off_does_not_follow_the_law(domain, monkeypatch):
    """Lying too often breaks no promise, and too seldom by so little shows in no bound."""
    assert tried(made("grr", domain)).empirical.follows_law
    for percent in (98, 102):
        part = Fraction(percent, 100)
        with monkeypatch.context() as patch:
            obey_another_plan(patch, lambda design, part=part: telling_truth(design, part))
            found = tried(made("grr", domain), 300_000)
        assert "reports of the device code do not come as often as the law says" in found.problems


@pytest.mark.parametrize("entropy", [SameWords(), SeedReused()], ids=["same", "restarted"])
@pytest.mark.parametrize("name", ["hgrr", "hio", "oue"])
def test_entropy_that_is_used_again_is_caught(name, entropy):
    assert AGAIN in tried(made(name), 4_000, entropy).problems
    assert AGAIN not in tried(made(name), 4_000).problems


class OneWordForTwo:
    """Every second half of the words is the first half again."""

    def words(self, count):
        half = SeededEntropy(count).words(-(-count // 2))
        return np.concatenate([half, half])[:count]


def test_one_word_for_two_draws_is_caught():
    """Two people who draw the same words send the same reports."""
    found = tried(made("grr"), 20_000, OneWordForTwo())
    assert found.empirical.dependent
    assert not found.holds


def test_corners_are_far_apart():
    assert corners(domain_of_codes("4x1", 1)) == (
        (0, 0, 0),
        (3, 0, 1),
        (3, 0, 0),
        (1, 0, 0),
        (0, 0, 1),
    )
    assert corners(domain_of_codes("1", 0)) == ((0,),)


def test_random_records_come_from_all_over_the_domain():
    drawn = {record for seed in range(40) for record in some_records(seed)}
    assert len(drawn) > 100
    assert {record[2] for record in drawn} == {0, 1}
    assert max(record[0] for record in drawn) > 90
    assert all(record[0] < 100 and record[1] < 3 for record in drawn)


def some_records(seed):
    return draw_random_records(domain_of_codes("100x3", 1), SeededEntropy(seed))


def test_every_code_of_every_attribute_is_tried_once_at_least():
    domain = domain_of_codes("30x1x4", 1)
    tried = make_records_of_every_code(domain, SeededEntropy(3))
    for place, size in enumerate(domain.record_sizes):
        assert {record[place] for record in tried} == set(range(size))
    assert tried[:2] == corners(domain)[:2]
    assert len(set(tried)) == len(tried) <= 30 + 1 + 4 + 2 + 4
    # The other codes are not those of one corner.
    assert len({record[0] for record in tried if record[2] == 1}) > 1


def test_some_codes_are_tried_where_there_are_too_many(monkeypatch):
    monkeypatch.setattr(sampling, "MOST_CODES", 50)
    tried = make_records_of_every_code(domain_of_codes("300x200", 0), SeededEntropy(3))
    assert 50 <= len(tried) <= 54
    assert max(record[0] for record in tried[4:]) > 100


def test_random_words_are_looked_at_bit_by_bit():
    assert check_words(SeededEntropy(4)) is None
    assert "gives some words twice" in check_words(SameWords())
    assert "gives some words twice" in check_words(SeedReused())

    class Stuck:
        def words(self, count):
            return SeededEntropy(count).words(count) | np.uint64(1 << 5)

    assert "bit 5 of the device's random words is set" in check_words(Stuck())
