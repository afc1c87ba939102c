"""Margins in the codes of a survey: what fits, and what is refused with which way out."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from support.sql_survey import APP

from ldpsql.population.margins import read_margins
from ldpsql.population.strata import strata_of
from ldpsql_device.errors import DataError, OperationalError


def from_text(tmp_path: Path, *texts: str):
    """The strata of files."""
    paths = [tmp_path / f"m{number}.csv" for number, _ in enumerate(texts, start=1)]
    for path, text in zip(paths, texts, strict=True):
        path.write_text(text, encoding="utf-8")
    return strata_of(read_margins(paths), APP.schema)


@pytest.mark.parametrize(
    ("text", "codes"),
    [
        ("age,n\n18..29,1\n30-39,2\n40..90,3", [((0, 12),), ((12, 22),), ((22, 73),)]),
        ("AGE,n\n< 30,1\n30+,2", [((0, 12),), ((12, 73),)]),
        ("age,n\n<=29,1\n>29,2", [((0, 12),), ((12, 73),)]),
        ("age,n\n18|20..29,1\n19|30+,2", [((0, 1), (2, 12)), ((1, 2), (12, 73))]),
        ("state,n\nCA|WA,1\nNY,2\n,3", [((0, 1), (2, 3)), ((1, 2),), ((3, 4),)]),
        ("active,n\nTrue,1\nfalse,2", [((1, 2),), ((0, 1),)]),
        ('score,n\n"[0, 0.5)",1\n>=0.5,2', [((0, 1),), ((1, 3),)]),
        ("joined,n\n2026-01-01..2026-06-30,1\n>= 2026-07-01,2", [((0, 6),), ((6, 12),)]),
        ('# a source\nage,people\n<30,"1,000"\n30+,2e3', [((0, 12),), ((12, 73),)]),
    ],
)
def test_rows_are_values_ranges_or_several(tmp_path: Path, text: str, codes) -> None:
    (axis,) = from_text(tmp_path, text).axes
    assert list(axis.codes) == codes


def test_margins_of_several_columns() -> None:
    table = pa.table(
        {
            "version": ["a", "a", "b", "b"],
            "n": [1, 2, 3, 4],
            "active": [True, False, True, False],
        }
    )
    strata = strata_of(read_margins(table), APP.schema)
    # The dimension comes first, whatever the order of the file.
    assert [axis.column for axis in strata.axes] == ["active", "version"]
    assert strata.marginals[0].people.tolist() == [[1, 3], [2, 4]]
    assert strata.total == 10
    assert strata.describe() == "about 10 people, post-stratified by active and version (margins 1)"


def test_files_may_list_strata_in_another_order_and_differ_a_little(tmp_path: Path) -> None:
    strata = from_text(
        tmp_path,
        "active,beta,n\ntrue,true,1\ntrue,false,2\nfalse,true,3\nfalse,false,4",
        "active,n\nfalse,7\ntrue,3",
        "beta,n\ntrue,4\nfalse,6.05",
    )
    first, second, third = strata.marginals
    assert first.people.sum(axis=1).tolist() == second.people.tolist() == [3, 7]
    assert third.people.sum() == pytest.approx(10)
    assert strata.notes == (
        f"{tmp_path / 'm3.csv'} has 10.05 people, not 10, and is scaled to them",
    )


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        (["age,n\n18..29,1\n31..90,2"], "no stratum of age holds 30; add rows, or widen a stratum"),
        (["age,n\n18..30,1\n30..90,2"], "strata of age overlap: 30..90 and 18..30"),
        (["age,n\n15..29,1\n30+,2"], "15..29 extends beyond age, which is declared for [18"),
        (["age,n\n<30,1\n30..90,2\n95,3"], "age is declared for [18, 90], and never 95; leave"),
        (["age,n\nyoung,1\n30+,2"], "'young' is not a number or a range; write 18, 18..29 or 65+"),
        (["state,n\nCA,1\nNY,2\nWA,3"], "no stratum of state holds NULL (an empty value)"),
        (["state,n\nCA,1\nny,2\nWA,3\n,4"], "state has no value 'ny'; did you mean 'NY'?"),
        (["active,n\ntrue,1\nfalse,2\n,3"], "active is never NULL, and has an empty value"),
        (["score,n\n<0.7,1\n>=0.7,2"], "all values from 0.5 up to 1.0 share one code"),
        (["active,beta,n\ntrue,true,1\nfalse,true,3\nfalse,false,4"],
         "has no row for active true and beta false; add it (0 people leaves out"),
        (["active,n\ntrue,1\nfalse,2\ntrue,3"], "two rows for active true"),
        (["beta,n\ntrue,1\nTRUE,2"], "beta True is written in two ways"),
        (["beta,n\nyes,1\nno,2"], "beta is true or false, not 'yes'"),
        (["day,n\nmonday,1"], "'monday' is not a date; write 2026-01-31"),
        (["active,beta\ntrue,true"], "needs one column with numbers of people"),
        (["active,n,m\ntrue,1,2"], "not among those: n, m"),
        (["n\n1"], "needs one column with numbers of people, and besides it dimensions"),
        (["active,purchase\ntrue,1"], "purchase is a measure, by which nobody is divided"),
        (["active,active,n\ntrue,true,1"], "names a column twice"),
        (["active,n\ntrue,-1\nfalse,2"], "'-1' is not a number of people"),
        (['active,n\ntrue,"300,5"\nfalse,2'], "'300,5' is not a number of people"),
        (["active,n\ntrue,nan\nfalse,2"], "'nan' is not a number of people"),
        (["active,n\ntrue,1e308\nfalse,2"], "'1e308' is not a number of people (0 to 1e+15)"),
        (["active,n\ntrue,1\nfalse,1.1e15"], "'1.1e15' is not a number of people"),
        (["active,n\ntrue,0\nfalse,0"], "has no people"),
        (["active,n"], "has 0 rows"),
        ([""], "is empty; its first line names the columns"),
        (["active,n\ntrue,1,2"], "row 1 has 3 values, the header has 2"),
        (["active,n\ntrue,1\nfalse,2", "beta,n\ntrue,1\nfalse,3"], "margins of one population"),
        (["age,n\n<30,1\n30+,2", "age,n\n<40,1\n40+,2"], "divides age differently"),
        (["age,hours,n\n" + "".join(f"{a},{h},1\n" for a in range(18, 91) for h in range(100))],
         "the margins make too many strata (73 of age x 100 of hours), at most 1000; merge some"),
    ],
)  # fmt: skip
def test_what_is_refused(tmp_path: Path, texts: list[str], message: str) -> None:
    with pytest.raises(DataError) as caught:
        from_text(tmp_path, *texts)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_file_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(OperationalError, match=r"cannot read .*nowhere\.csv: No such file"):
        read_margins(tmp_path / "nowhere.csv")
    (tmp_path / "latin.csv").write_bytes(b"state,n\n\xff,1\n")
    with pytest.raises(DataError, match="is not CSV in UTF-8"):
        read_margins(str(tmp_path / "latin.csv"))


def test_arrow_tables_are_read_as_files_are() -> None:
    table = pa.table({"age": pa.array([18.0, None]), "n": np.array([1, 2])})
    (margin,) = read_margins([table])
    assert margin.rows == (("18", "1"), ("", "2"))
    assert read_margins(margin) == (margin,)
    assert read_margins(None) == ()
