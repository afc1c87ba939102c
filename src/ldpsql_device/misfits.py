"""Values of a record that do not fit a survey, for authors of apps; `respond` does not load
this."""

from __future__ import annotations

from ldpsql_device.encode import Record, look_up
from ldpsql_device.reports import holds
from ldpsql_device.survey import Published
from ldpsql_device.values import INSIDE


def check(survey: Published, record: Record) -> tuple[str, ...]:
    """The columns of a record that do not fit: missing, outside their domain, of another type.

    A device answers such a record as any other, and must not show anybody what this says of a
    person's.
    """
    schema = survey.record_schema
    found = {d.name: d.code(look_up(record, d.name), 0)[1] == INSIDE for d in schema.dimensions}
    for measure in schema.measures:
        standing = measure.threshold(look_up(record, measure.name))[1]
        found[measure.name] = found.get(measure.name, True) and standing == INSIDE
    found |= {column.name: holds(column, look_up(record, column.name)) for column in schema.public}
    return tuple(name for name, fits in found.items() if not fits)
