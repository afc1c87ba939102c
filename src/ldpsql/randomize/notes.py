"""Notes on a table of people: rows of one person, values that did not fit, time zones."""

from __future__ import annotations

from pathlib import Path

from ldpsql.errors import pluralize
from ldpsql.randomize.files import column_names, zoned_columns
from ldpsql.randomize.table import MISFITS, Tally
from ldpsql.reports.persons import PersonRule, find_identifier
from ldpsql.wording.texts import one_line
from ldpsql_device.description import describe_missing, describe_outside
from ldpsql_device.schema import Attribute, Schema

_SAID = ("outside its bounds", "outside its domain", "missing or unreadable")


def person_notes(
    data: Path, person: PersonRule | None, schema: Schema, tally: Tally | None = None
) -> list[str]:
    """Notes on which row answers for a person who has several; without a rule, which column of a
    file looks as if persons had some. tally: of the reports that were made."""
    if person is None:
        found = find_identifier(column_names(data), schema)
        if found is None:
            return []
        name = one_line(found)
        return [
            f"every row of {data} counts as a person; if {name} tells persons apart, say "
            f'person = "{name}" under [survey]'
        ]
    if tally is None:
        return [person.describe()]
    notes = [f"{person.describe()}; there were {pluralize(tally.rows, 'row')}"]
    if tally.nameless:
        rows = "1 row has" if tally.nameless == 1 else f"{tally.nameless:,} rows have"
        notes.append(f"{rows} no {person.column}: taken for one person's")
    return notes


def misfit_notes(schema: Schema, tally: Tally) -> list[str]:
    """Which values of a table did not fit, by column, and what stands for them; columns of which
    no value fits come first."""
    said = dict(zip(MISFITS, _SAID, strict=True))
    bounded: dict[str, Attribute] = {measure.name: measure for measure in schema.measures}
    columns: dict[str, Attribute] = {column.name: column for column in schema.attributes[::-1]}
    notes = []
    for (kind, name), count in tally.misfits.items():
        column = bounded.get(name, columns[name]) if kind == "clamped" else columns[name]
        code = describe_missing(column) if kind == "missing" else describe_outside(column)
        is_whole = count == tally.people
        text = (
            f"{count:,} of {pluralize(tally.people, 'value')} of {name} "
            f"({count / tally.people:.2%}) {'was' if count == 1 else 'were'} {said[kind]}: "
            f"counted as {code}"
        )
        if is_whole and count > 1:
            text += "; answers about it say nothing of these people"
        notes.append((not is_whole, MISFITS.index(kind), text))
    return [text for *_, text in sorted(notes, key=lambda note: note[:2])]


def zone_notes(data: Path, schema: Schema) -> list[str]:
    """How the moments of a file are read that have a time zone."""
    zoned = zoned_columns(schema, data)
    if not zoned:
        return []
    return [f"{', '.join(zoned)}: read as the clocks of their time zone showed it"]
