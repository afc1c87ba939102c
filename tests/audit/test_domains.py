"""Domains to audit on."""

from __future__ import annotations

import pytest

from ldpsql.audit.exact import LARGEST_RECORDS, count_records, made_up, smaller
from ldpsql_device.errors import SurveyError
from ldpsql_device.schema import RecordDomain

WIDE = RecordDomain(("a", "b"), (100, 3), ("b", "c"), ((0.0, 2.0), (0.0, 1.0)), (1, None))


def test_a_domain_from_its_sizes():
    domain = made_up("4x10", 2)
    assert (domain.sizes, len(domain.bounds), count_records(domain)) == ((4, 10), 2, 160)
    assert made_up("7", 0).names == ("x0",)


@pytest.mark.parametrize("text", ["", "4x", "x4", "0x2", "4*4", "-1", "4.5", "²"])
def test_anything_else_is_refused(text):
    with pytest.raises(SurveyError, match="codes per dimension"):
        made_up(text, 0)


def test_smaller_domains_keep_what_they_can():
    domains = list(smaller(WIDE))
    assert domains[0].sizes == (8, 3)
    assert domains[0].measured == (1, None)
    whole = [domain for domain in domains if len(domain.sizes) == 2 and len(domain.bounds) == 2]
    assert domains[: len(whole)] == whole
    assert [domain.sizes for domain in whole] == [(8, 3), (6, 3), (5, 3), (4, 3), (3, 3), (2, 2)]
    assert len(set(domains)) == len(domains)
    assert WIDE not in domains


def test_a_measure_forgets_a_dimension_that_was_left_out():
    for domain in smaller(WIDE):
        assert all(index is None or index < len(domain.sizes) for index in domain.measured)
        assert domain.sizes or domain.bounds


def test_many_dimensions_are_left_out_in_time():
    domain = made_up("x".join(["9"] * 40), 0)
    found = list(smaller(domain))
    assert found
    assert all(count_records(small) <= LARGEST_RECORDS for small in found)


def test_the_first_codes_are_sensitive():
    assert made_up("3x5", 0, "2x5").sensitive == ((0, 1), ())
    assert made_up("3x5", 0, "3x5") == made_up("3x5", 0)


def test_smaller_domains_keep_values_of_both_kinds():
    """As far as there were any."""
    domain = RecordDomain(("a", "b"), (90, 4), (), (), (), (), (tuple(range(5, 75)), ()))
    for small in smaller(domain):
        if small.sizes:
            assert 1 <= len(small.sensitive_codes(0)) < small.sizes[0]
        if len(small.sizes) == 2:
            assert len(small.sensitive_codes(1)) == small.sizes[1]
