"""Which features the suite is told are not there, and why."""

from __future__ import annotations

from sqlalchemy.testing import exclusions
from sqlalchemy.testing.requirements import SuiteRequirements
from sqlalchemy_suite.left_out import COMMENTS, GROWTH, NAMES, READS, ROWS, SCHEMAS, TYPES


def closed(reason: str) -> property:
    return property(lambda self: exclusions.skip_if(lambda config: True, reason))


class Requirements(SuiteRequirements):
    self_referential_foreign_keys = closed(READS)
    named_constraints = closed(READS)
    primary_key_constraint_reflection = closed(READS)
    foreign_key_constraint_reflection = closed(READS)
    index_reflection = closed(READS)
    unique_constraint_reflection = closed(READS)
    temp_table_reflection = closed(READS)
    temporary_tables = closed(READS)
    temporary_views = closed(READS)
    views = closed(READS)
    comment_reflection = closed(COMMENTS)
    schemas = closed(SCHEMAS)

    autoincrement_insert = closed(ROWS)
    implements_get_lastrowid = closed(ROWS)
    empty_inserts = closed(ROWS)
    empty_inserts_executemany = closed(ROWS)
    insert_from_select = closed(ROWS)
    insert_returning = closed(ROWS)
    sane_rowcount = closed(ROWS)
    update_returning_dialect_not_supported = closed(ROWS)
    delete_from = closed(ROWS)

    binary_comparisons = closed(TYPES)
    binary_literals = closed(TYPES)
    time = closed(TYPES)
    time_microseconds = closed(TYPES)
    date_coerces_from_datetime = closed(TYPES)
    datetime_interval = closed(TYPES)
    precision_numerics_general = closed(TYPES)
    precision_numerics_enotation_large = closed(TYPES)
    numeric_received_as_decimal_untyped = closed(TYPES)
    implicit_decimal_binds = closed(TYPES)
    infinity_floats = closed(TYPES)

    quoted_names = closed(NAMES)
    unicode_ddl = closed(NAMES)
    unusual_column_name_characters = closed(NAMES)
    ctes = closed(GROWTH)
