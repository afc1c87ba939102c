"""The report table: widths, limits, packing, and the histogram of it."""

from __future__ import annotations

import math

import numpy as np
import pytest
from support.report_rows import find_refused

from ldpsql.algebra.boxes import Weight
from ldpsql.reports.report import Histogram, ReportFormat, Reports, Rows
from ldpsql_device.errors import ReportError

FORMAT = ReportFormat(("group", "a", "y"), np.array([[5, 3], [300, 1], [70_000, 2]]))
PRICE, AGE = Weight("price"), Weight("age", "present")


def columns(*rows: tuple[int, ...]) -> dict[str, np.ndarray]:
    """Rows of FORMAT as 64-bit columns."""
    table = np.array(rows, dtype=np.uint64).reshape(len(rows), 3)
    return dict(zip(FORMAT.columns, table.T, strict=True))


# -- formats -------------------------------------------------------------------------------------


def test_every_column_is_as_wide_as_its_largest_value() -> None:
    """Selectors 0..2, a up to 69,999, y up to 2."""
    assert FORMAT.widths == (8, 32, 8)
    assert FORMAT.types == 3
    assert ReportFormat(("g", "a"), np.array([[256]])).widths == (8, 8)
    assert ReportFormat(("g", "a"), np.array([[257]])).widths == (8, 16)
    assert ReportFormat(("g", "a"), np.array([[1 << 62]])).widths == (8, 64)
    assert ReportFormat(("g",), np.zeros((257, 0), dtype=np.int64)).widths == (16,)


def test_the_size_of_a_report_is_the_logarithm_of_all_reports() -> None:
    """5 * 3 + 300 + 140,000 of them; large alphabets do not overflow."""
    assert FORMAT.bits_per_report == pytest.approx(math.log2(15 + 300 + 140_000))
    wide = ReportFormat(tuple("gabcdefghijklmnopqr"), np.full((2, 18), 1 << 62))
    assert wide.bits_per_report == pytest.approx(18 * 62 + 1)


@pytest.mark.parametrize(
    "limits",
    [np.array([1, 2]), np.array([[1, 2, 3]]), np.array([[0, 1]]), np.array([[1, 2**63 - 1]])],
)
def test_limits_that_do_not_fit_are_refused_at_birth(limits: np.ndarray) -> None:
    """One per column after the type, from 1 to 2^62."""
    with pytest.raises(ValueError, match="limits must"):
        ReportFormat(("group", "a", "y"), limits)


def test_a_unary_format_counts_bits() -> None:
    """Its histogram has one row per bit, and needs to know how many there are."""
    limits = np.array([[1 << 32, 1 << 8], [1 << 20, 1]])
    assert ReportFormat(("group", "w0", "w1"), limits, unary=True, bits=(40, 20)).types == 2
    with pytest.raises(ValueError, match="bits of every report type"):
        ReportFormat(("group", "w0", "w1"), limits, unary=True, bits=(40,))


# -- reports -------------------------------------------------------------------------------------


def test_rows_within_the_limits_of_their_type_are_reports() -> None:
    """The largest value of every column."""
    good = columns((0, 4, 2), (1, 299, 0), (2, 69_999, 1), (0, 0, 0))
    assert find_refused(FORMAT, good).tolist() == []


def test_rows_beyond_a_limit_are_refused() -> None:
    """By row number, ascending; the limits are those of the row's own type."""
    bad = columns(
        (0, 5, 0), (0, 4, 2), (1, 299, 1), (3, 0, 0), (2, 69_999, 2), (2**64 - 1, 0, 0), (2, 5, 1)
    )
    assert find_refused(FORMAT, bad).tolist() == [0, 2, 3, 4, 5]
    assert find_refused(FORMAT, columns()).tolist() == []


def test_packing_gives_every_column_its_storage_type() -> None:
    """From any integers, in the order of the format."""
    reports = Reports.pack(FORMAT, [np.array([0, 2]), np.array([4, 69_999]), np.array([2, 1])])
    assert [str(column.dtype) for column in reports.columns.values()] == [
        "uint8",
        "uint32",
        "uint8",
    ]
    assert reports.columns["a"].tolist() == [4, 69_999]
    assert len(reports) == 2
    with pytest.raises(ValueError, match="zip"):
        Reports.pack(FORMAT, [np.array([0]), np.array([4])])


def test_reports_have_the_columns_of_their_format() -> None:
    """All of them, in order."""
    good = Reports.pack(FORMAT, [np.zeros(1), np.zeros(1), np.zeros(1)]).columns
    for names in (("group", "a"), ("a", "group", "y"), ("group", "a", "y", "z")):
        with pytest.raises(ReportError, match="group, a, y"):
            Reports(FORMAT, dict.fromkeys(names, good["y"]))


# -- histograms ----------------------------------------------------------------------------------


def rows() -> Rows:
    """Two distinct reports, sent by 3 and 5 people."""
    moments = {
        (PRICE, None): np.array([1.5, 2.0]),
        (PRICE, AGE): np.array([7.0, 8.0]),
    }
    return Rows((np.array([0, 1]),), np.array([3, 5]), moments)


def test_moments_are_found_in_either_order() -> None:
    """None stands for 1, so (None, None) is the number of people."""
    found = rows()
    assert found.moment(None, None).tolist() == [3.0, 5.0]
    for left, right in ((PRICE, None), (None, PRICE)):
        assert found.moment(left, right).tolist() == [1.5, 2.0]
    for left, right in ((PRICE, AGE), (AGE, PRICE)):
        assert found.moment(left, right).tolist() == [7.0, 8.0]


@pytest.mark.parametrize(("left", "right"), [(AGE, None), (None, AGE), (PRICE, PRICE)])
def test_a_moment_that_was_not_counted_is_an_error(left: Weight, right: Weight | None) -> None:
    """Never a 0."""
    with pytest.raises(KeyError, match="does not hold"):
        rows().moment(left, right)


def test_a_histogram_knows_its_people_and_totals() -> None:
    columns = (np.array([0, 0, 2], np.uint8), np.array([7, 300, 7], np.uint16))
    prices = {(PRICE, None): np.array([2.5, 4.0, 6.0])}
    histogram = Histogram(3, columns, np.array([1, 2, 5]), prices)
    assert histogram.people == 8
    assert histogram.sizes.tolist() == [3, 0, 5]
    assert [len(histogram.load(number).counts) for number in range(3)] == [2, 0, 1]
    rows = histogram.load(0)
    assert rows.columns[0].dtype == np.int64
    assert rows.columns[0].tolist() == [7, 300]
    assert rows.moment(PRICE, None).tolist() == [2.5, 4.0]
    assert histogram.total(None) == 8.0
    assert histogram.total(PRICE) == 12.5
    with pytest.raises(KeyError):
        histogram.total(AGE)


def test_rows_of_bits_do_not_count_anybody_twice() -> None:
    """Only the rows with bit = -1 count people; rows may come in any order."""
    owners, bits = np.array([1, 0, 1, 0, 1]), np.array([0, -1, 1, 0, -1])
    sums = {(PRICE, None): np.array([1.0, 2.0, 3.0, 4.0, 5.0])}
    counts = np.array([2, 3, 1, 1, 4])
    histogram = Histogram.of(2, (owners, bits), counts, sums, unary=True)
    assert histogram.sizes.tolist() == [3, 4]
    assert (histogram.people, histogram.total(PRICE)) == (7, 7.0)
    assert histogram.load(1).columns[0].tolist() == [0, 1, -1]
