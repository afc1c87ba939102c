"""Whether a store holds what it should: everything is read, recounted and decoded anew."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import reduce

import numpy as np

from ldpsql.errors import pluralize
from ldpsql.estimators.base import Decoding
from ldpsql.reports.report import TYPES
from ldpsql.sql.lookups import PublicTable
from ldpsql.sql.quoting import literal
from ldpsql.store import decoded, fold
from ldpsql.store.intake import Intake
from ldpsql.store.layout import (
    BATCH_COLUMN,
    COUNT_COLUMN,
    LAST,
    LOOKUPS,
    OWN_ID,
    Column,
    Layout,
    lookup_table,
)
from ldpsql.store.opening import Connection
from ldpsql.store.report_files import ReportPiece, check_rows, read_arrow
from ldpsql.store.rules import KnownSurvey
from ldpsql.survey import Survey
from ldpsql_device.errors import Error, StoreError

_ROWS = 100_000
_LISTED = {
    "surveys": ("name", "fingerprint", "json", "version", "counted", "merged"),
    "batches": ("survey", "number", "reports", "skipped", "kept"),
}
_TOLERANCE = 1e-9
"""By which sums that were added up in another order may differ, of the largest of them."""


def check_survey(cursor: Connection, known: KnownSurvey) -> Iterator[str]:
    """Faults of a survey and of all that is kept of it."""
    try:
        intake = Intake.read(known.text)
        survey = Survey.from_kept(known.text, known.fingerprint) if intake.is_complete else None
    except Error as error:
        yield f"survey {known.key}: {error}"
        return
    if (intake.fingerprint, intake.key) != (known.fingerprint, known.key):
        yield f"survey {known.key}: its text is not the one that its fingerprint names"
        return
    layout = Layout(intake)
    faults = [*_check_columns(cursor, layout)]
    if not faults:
        faults += [*_check_batches(cursor, layout), *_check_reports(cursor, layout)]
        faults += [*_check_ids(cursor, layout), *_check_counts(cursor, layout)]
        if not faults and survey is not None:
            try:
                faults += [*_check_sums(cursor, layout, survey)]
            except StoreError:
                faults.append("what is kept of its decoded reports is damaged")
    for fault in faults:
        yield f"survey {known.key}: {fault}"


def check_lists(cursor: Connection) -> Iterator[str]:
    """Faults of the lists of surveys and batches, without which nothing else can be read."""
    for table, columns in _LISTED.items():
        missing = " OR ".join(f"{column} IS NULL" for column in columns)
        query = f"SELECT count(*) FROM {table} WHERE {missing}"
        [(bare,)] = cursor.execute(query).fetchall()
        if bare:
            yield f"{pluralize(bare, 'row')} of the list of {table} without what each must have"
    twice = "SELECT name FROM surveys GROUP BY name HAVING count(*) > 1 ORDER BY name"
    for (key,) in cursor.execute(twice).fetchall():
        yield f"survey {key} is listed more than once"


def check_rest(cursor: Connection) -> Iterator[str]:
    """Other faults: batches of no survey, and look-up tables."""
    stray = "SELECT DISTINCT survey FROM batches WHERE survey NOT IN (SELECT name FROM surveys)"
    for (key,) in cursor.execute(f"{stray} ORDER BY survey").fetchall():
        yield f"there are batches of {key}, which is no survey of the store"
    query = (
        "SELECT table_name, comment FROM duckdb_tables() WHERE schema_name = ? ORDER BY table_name"
    )
    for name, digest in cursor.execute(query, [LOOKUPS]).fetchall():
        rows = cursor.sql(f"FROM {lookup_table(name)}").to_arrow_table()
        if PublicTable.of(name, rows).digest != digest:
            yield f"look-up table {name}: its rows are not those that were added"


def _check_columns(cursor: Connection, layout: Layout) -> Iterator[str]:
    wanted: dict[str, tuple[Column, ...]] = {
        f"reports_{layout.key}": layout.kept_columns,
        f"histogram_{layout.key}": layout.histogram_columns,
        f"ids_{layout.key}": (OWN_ID, LAST),
    }
    for table, columns in wanted.items():
        found = cursor.execute(
            "SELECT column_name, data_type FROM duckdb_columns() WHERE table_name = ? "
            "AND schema_name = 'main' ORDER BY column_index",
            [table],
        ).fetchall()
        if found != [(column.name, column.type) for column in columns]:
            yield f"the table {table} {'has other columns than it should' if found else 'is gone'}"


def _check_batches(cursor: Connection, layout: Layout) -> Iterator[str]:
    key = literal(layout.key)
    rows = cursor.execute(
        f"SELECT number, coalesce(b.reports, 0), coalesce(there, 0), kept FROM (SELECT number, "
        f"reports, kept FROM batches WHERE survey = {key}) b FULL JOIN (SELECT {BATCH_COLUMN} AS "
        f"number, count(*) AS there FROM {layout.reports} GROUP BY ALL) USING (number) "
        f"WHERE coalesce(there, 0) <> CASE WHEN kept THEN b.reports ELSE 0 END OR kept IS NULL "
        "ORDER BY number"
    ).fetchall()
    for number, reports, there, is_kept in rows:
        if is_kept is None:
            yield f"there are {there:,} reports of batch {number}, which is not listed"
        else:
            wanted = reports if is_kept else 0
            yield f"batch {number} should have {wanted:,} reports, and there are {there:,}"
    doubled = f"SELECT number FROM batches WHERE survey = {key} GROUP BY number HAVING count(*) > 1"
    for (number,) in cursor.execute(f"{doubled} ORDER BY number").fetchall():
        yield f"batch {number} is listed more than once"


def _check_reports(cursor: Connection, layout: Layout) -> Iterator[str]:
    rows, bad = cursor.sql(f"SELECT {layout.columns} FROM {layout.reports}"), 0
    for batch in rows.to_arrow_reader(_ROWS):
        columns = dict(zip(layout.intake.columns, batch.columns, strict=True))
        bad += check_rows(layout.intake, ReportPiece(batch.num_rows, columns, read_arrow)).refused
    if bad:
        yield f"{bad:,} of its rows are no reports of the survey"


def _check_ids(cursor: Connection, layout: Layout) -> Iterator[str]:
    query = f"SELECT count(*) - count(DISTINCT {OWN_ID.sql}) FROM {layout.ids}"
    [(twice,)] = cursor.execute(query).fetchall()
    if twice:
        yield f"{twice:,} ids are remembered twice"


def _check_counts(cursor: Connection, layout: Layout) -> Iterator[str]:
    """The histogram table holds all reports that are there and in it, and as many more as were
    deleted once they were counted."""
    count = COUNT_COLUMN
    fold.recount(cursor, layout, "true")
    alone = ", ".join(map(str, (-1, *decoded.list_alone(cursor, layout.key))))
    deleted = fold.sum_reports(cursor, layout, f"NOT kept AND number NOT IN ({alone})")
    rest = f"(FROM {layout.histogram} UNION ALL SELECT {layout.keys}, -{count} FROM {fold.RECOUNT})"
    is_wrong = "< 0" if deleted else "<> 0"
    [(wrong,)] = cursor.execute(
        f"SELECT count(*) FROM (SELECT 1 FROM {rest} GROUP BY {layout.keys} "
        f"HAVING sum({count}) {is_wrong})"
    ).fetchall()
    if wrong:
        yield f"{wrong:,} of its counts are not what its reports add up to"
    query = f"SELECT coalesce(sum({count}), 0)::BIGINT FROM {rest} WHERE {layout.once}"
    [(more,)] = cursor.execute(query).fetchall()
    if more != deleted and not wrong:
        yield (
            f"its counts hold {more:,} reports besides those that are there, and its batches "
            f"{deleted:,}"
        )
    cursor.execute(f"DROP TABLE {fold.RECOUNT}")


def _check_sums(cursor: Connection, layout: Layout, survey: Survey) -> Iterator[str]:
    """Check that decoded reports are kept as they decode; StoreError where it is damaged."""
    decoding = survey.design.decoding
    place = None if decoding is None else decoded.find(cursor, layout, decoding)
    alone = decoded.list_alone(cursor, layout.key)
    if alone:
        yield from _check_totals(cursor, layout, place, decoding)
    if decoding is None or place is None:
        return
    yield from _check_derived(cursor, layout, decoding)
    if alone:
        return
    counts = fold.counts(layout, fold.FoldProgress.of(cursor, layout).counted)
    anew, later = (
        decoded.LocalRows(cursor, layout, decoding, rows).split(place.columns)
        for rows in (counts, place.later)
    )
    numbers = place.number_parts(cursor)
    stored = place.read(cursor, [decoded.EVERYBODY, *numbers.values()])
    place.require(filter(None, stored.values()), decoding)
    everybody = [stored[decoded.EVERYBODY], *(arrays for _, arrays in later)]
    differs = not _agree([arrays for _, arrays in anew], everybody)
    if place.columns:
        known: dict[decoded.Values, list[decoded.Arrays]]
        known = {key: [stored[number]] for key, number in numbers.items()}
        for values, arrays in later:
            known.setdefault(decoded.key_of(values), []).append(arrays)
        truth = {decoded.key_of(values): [arrays] for values, arrays in anew}
        differs |= any(
            not _agree(truth.get(key, []), known.get(key, [])) for key in {*truth, *known}
        )
    if differs:
        yield "what is kept of its decoded reports is not what they decode to"


def _check_derived(cursor: Connection, layout: Layout, decoding: Decoding) -> Iterator[str]:
    """Whoever asks a question trusts that its plan was checked when this was derived of it."""
    own = (layout.key, layout.intake.fingerprint)
    kept = decoded.recall(cursor, *own, decoding.version)
    if kept is None or not _agree([kept], [decoding.derive()]):
        yield "what is kept of its design is not what follows from it"


def _check_totals(
    cursor: Connection,
    layout: Layout,
    place: decoded.StoredSums | None,
    decoding: Decoding | None,
) -> Iterator[str]:
    """The sums are those of as many reports as there should be, and those of parts add up to those
    of everybody: all that can be said once counts were deleted."""
    if place is None or decoding is None:
        yield "nothing is there of some of its batches but sums that this version does not read"
        return
    reports = fold.sum_reports(cursor, layout, f"number <= {place.batch}")
    numbers = place.number_parts(cursor).values() if place.columns else ()
    stored = place.read(cursor, [decoded.EVERYBODY, *numbers])
    place.require(filter(None, stored.values()), decoding)
    everybody = stored.pop(decoded.EVERYBODY)
    people = round(float(everybody[TYPES].sum())) if TYPES in everybody else 0
    if people != reports:
        yield f"its decoded reports are {people:,}, and its batches have {reports:,}"
    if place.columns and not _agree(stored.values(), [everybody]):
        yield "its decoded reports do not add up to those of everybody"


def _agree(left: Iterable[decoded.Arrays], right: Iterable[decoded.Arrays]) -> bool:
    """Whether arrays add up to the same, name by name."""
    nothing: decoded.Arrays = {}
    sums = [reduce(decoded.add_arrays, parts, nothing) for parts in (left, right)]
    for name in {*sums[0], *sums[1]}:
        one, other = (total.get(name, np.zeros(1)) for total in sums)
        scale = max(np.abs(one).max(initial=1.0), np.abs(other).max(initial=1.0))
        if not np.allclose(one, other, rtol=0.0, atol=_TOLERANCE * scale):
            return False
    return True
