"""`design`: from a survey file to a published survey; `keygen` and `sign`: whose it is;
`statement`: that it is asked. `schema`: a survey file to begin with."""

from __future__ import annotations

import math
import sys
import zlib
from datetime import datetime
from itertools import chain, repeat
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ldpsql import extensions
from ldpsql.algebra.record_domain import RecordDomain
from ldpsql.audit.lines import list_not_covered
from ldpsql.cli.forecast import choice, expectations, plan, verdict, year_of
from ldpsql.designer import design_survey
from ldpsql.designer.file import column_types, starter_text, types_of
from ldpsql.errors import pluralize
from ldpsql.mechanisms.base import find_epsilon
from ldpsql.mechanisms.registry import missing_rooms
from ldpsql.mechanisms.rounds import Rounds
from ldpsql.reports.atomic import replace_file
from ldpsql.sql import domains
from ldpsql.survey import collector_path, read_device_part, sign_device_part
from ldpsql.terminal import options
from ldpsql.terminal.figures import require_matplotlib, save_figure
from ldpsql.terminal.formats import Document, write_document
from ldpsql.terminal.notes import show_text
from ldpsql.terminal.progress import Progress
from ldpsql.terminal.text import INDENT, WIDTH, cut, labelled_lines, table_lines
from ldpsql.wording.texts import json_text
from ldpsql_device.description import describe_schedule, name_with_label
from ldpsql_device.errors import InterfaceError, SurveyError
from ldpsql_device.signature import SigningKey
from ldpsql_device.statement import Statement
from ldpsql_device.survey import ANY_DAY, utc_today

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from ldpsql.survey import Survey

_MOST_VALUES = 12
_FEWER = 2, 10  # parts of the users of whom a shuffled batch may be
_MOST_COLUMNS = 8  # that have a line of their own
_READ_FROM_ROWS = (
    "-- bounds, edges and values were read from the rows; confirm each from what is publicly known"
)
_MOST_LINES, _MOST_HEAD = 24, 9  # of a survey's head with the verdict, and of the head alone
_HEAD = (
    "survey",
    "author",
    "answered",
    "mechanism",
    "guarantee",
    "witness",
    "fewer",
    "warning",
    "note",
)
_SEE_BELOW = "see `not covered` (-v); devices must accept that"


@click.command()
@click.argument("source", metavar="[SURVEY.toml]", type=options.EXISTING, required=False)
@click.option("--epsilon", help="Overrides the file's.")
@click.option("--mechanism", help="Overrides the file's; auto picks the most accurate one.")
@click.option(
    "--users",
    type=options.people(1, options.MOST_PEOPLE),
    metavar="N",
    help="Predict the intervals of the workload for so many people, such as 45000, 45k or 1.5m; "
    "with --next, say how many of so many are left for each round.",
)
@click.option(
    "--target",
    "half_width",
    type=options.half_width,
    metavar="SHARE",
    help="Say what it takes to count to within this share of the people, such as ±2%.",
)
@click.option(
    "--effect",
    "difference",
    type=options.half_width,
    metavar="SHARE",
    help="Say with which chance such a difference between two groups is told, of the share of "
    "their people or of an average as a share of its range, and how many people tell it in 80 %.",
)
@click.option(
    "--plot",
    "picture",
    type=options.file_with_suffix("a picture", ".png", ".svg"),
    metavar="FILE",
    help="Draw the expected error, and with -v what is asked and what a report tells; .png or "
    ".svg. Needs `pip install ldpsql[plot]`.",
)
@click.option(
    "--accept-no-guarantee",
    is_flag=True,
    help="Design a survey whose mechanism is not differentially private.",
)
@click.option(
    "--quick",
    is_flag=True,
    help="Spend a tenth of the time on comparing mechanisms, less on trying improvements, and "
    "leave out what takes longer.",
)
@options.option(
    "--next",
    "finished",
    excludes=[
        *("SURVEY.toml", "--epsilon", "--mechanism", "--target", "--effect", "--plot"),
        *("--accept-no-guarantee", "--quick"),
    ],
    metavar="ROUND.duckdb",
    type=options.EXISTING,
    help="Design the next round from the reports of a finished one instead of a file; all but "
    "--users and --sign is as it was.",
)
@click.option(
    "--sign",
    "key_file",
    metavar="KEY",
    type=options.EXISTING,
    help="Sign the survey with the key that `ldpsql keygen` wrote. Needs `pip install "
    "ldpsql[sign]`.",
)
@click.option(
    "--verbose",
    "-v",
    is_flag=True,
    help="Say all that is promised, collected and expected, what auto compared, and what it left "
    "out.",
)
@options.output()
def design(
    source: Path | None,
    finished: Path | None,
    key_file: Path | None,
    half_width: float | None,
    difference: float | None,
    picture: Path | None,
    verbose: bool,
    target: Path | None,
    **asked: Any,
) -> None:
    """Design a survey, and say what it promises, which questions it answers how well, and what
    would improve it.

    Questions are those of [workload], or each column, each pair, and each measure by each column.
    An answer is sharp if half of its 95 % interval is at most 10 % of it, usable up to 50 %, and
    else useless; it is taken to be an even share of the people. An average is sharp up to 10 % of
    its measure's range, and usable up to 25 %.

    The JSON goes to -o and the explanation to stdout. Without -o the JSON goes to stdout and the
    explanation to stderr.
    """
    for written in (target, picture):
        if written is not None:
            options.keep_inputs(written, source, finished, key_file)
            options.check_writable(written)
    key = None if key_file is None else SigningKey.read(key_file)
    if finished is not None:
        survey = _next_round(finished, key)
        lines = labelled_lines([*_facts(survey), *_rounds_to_come(survey, asked["users"])])
    elif source is not None:
        wanted = half_width, difference
        survey, lines = _design(source, key, wanted, picture, is_verbose=verbose, **asked)
    else:
        raise click.UsageError("name a survey file, or a finished round with --next")
    if target is None:
        show_text(json_text(survey.to_json()))
    else:
        survey.write(target)
    show_text("\n".join(lines), err=target is None)


def _design(
    source: Path,
    key: SigningKey | None,
    wanted: tuple[float | None, float | None],
    picture: Path | None,
    *,
    is_verbose: bool,
    **asked: Any,
) -> tuple[Survey, list[str]]:
    """The survey of a file, and the lines that explain it.

    wanted: half of the interval of a typical count, and a difference, as shares, or None.
    asked: as of `design_survey`.
    """
    if picture is not None:
        pictures = extensions.require("ldpsql.pictures", "surveys", "the drawing of pictures")
        require_matplotlib()
    with Progress("designing", sys.stderr) as progress:
        designed = design_survey(source, tell=progress.show, progress=progress.advance, **asked)
        survey = designed.survey if key is None else designed.survey.sign(key)
        progress.show("what to expect")
        progress.advance(0, None)
        notes = (("note", note) for note in designed.notes)
        how = "" if designed.ranking is None else f", {choice(designed.ranking)}"
        facts = [*_facts(survey, how), *notes]
        if missing := missing_rooms():
            facts.append(("note", f"not installed: {', '.join(missing)}; ldpsql[all] has them"))
        half_width, difference = wanted
        planned = labelled_lines(year_of(designed))
        planned += [] if half_width is None else plan(designed, half_width)
        lines = labelled_lines(facts) + expectations(designed) if is_verbose else _shorten(facts)
        lines += verdict(
            designed,
            progress.show,
            difference=difference,
            most_lines=None if is_verbose else _MOST_LINES - len(lines) - len(planned),
            is_quick=asked["quick"],
        )
        lines += planned
        if picture is not None:
            progress.show("drawing")
            save_figure(pictures.draw_survey(designed, is_verbose=is_verbose), picture)
            lines.append(f"plot         {picture}")
    return survey, lines


def _next_round(finished: Path, key: SigningKey | None) -> Survey:
    """The next round of the one survey in a database that asks in rounds."""
    from ldpsql.store import open_store  # noqa: PLC0415
    from ldpsql.store.base import Selection  # noqa: PLC0415

    with open_store(finished, read_only=True) as store:
        surveys = [s for s in store.surveys() if isinstance(s.design, Rounds)]
        if len(surveys) != 1:
            raise SurveyError(
                f"{finished} holds {len(surveys)} surveys that ask in rounds, not one; keep every "
                "round in a database of its own"
            )
        ((_, histogram),) = store.histograms(surveys[0].table, Selection())
        return surveys[0].next_round(histogram, key)


def _rounds_to_come(survey: Survey, users: int | None) -> Iterator[tuple[str, str]]:
    """How many people have answered, and how many of all are left for each round from this on."""
    design = survey.design
    if not isinstance(design, Rounds):
        return
    left = pluralize(design.rounds - design.round + 1, "round")
    yield "people", f"{design.earlier:,} answered in {pluralize(design.round - 1, 'round')}"
    if users is None:
        return
    rest = users - design.earlier
    if rest < 1:
        raise SurveyError(
            f"{design.earlier} people have answered already, so --users must be larger than that, "
            f"not {users}"
        )
    each = rest // (design.rounds - design.round + 1)
    yield "", f"{rest:,} of {users:,} are left, {each:,} for each of {left}"


def _shorten(facts: Iterable[tuple[str, str]]) -> list[str]:
    """At most _MOST_HEAD lines: the facts that nobody should miss, as far as they fit."""
    lines = [labelled_lines([fact]) for fact in facts if fact[0] in _HEAD]
    while sum(map(len, lines)) > _MOST_HEAD:
        lines[-2:] = [["note         the rest is told with -v"]]
    return [line for own in lines for line in own]


def _facts(survey: Survey, how: str = "") -> Iterator[tuple[str, str]]:
    """The facts about a survey, its promise, and its columns; how: its mechanism was chosen."""
    design, guarantee, form = survey.design, survey.guarantee, survey.design.report_format
    kilobytes = len(zlib.compress(survey.device_text.encode(), 9)) / 1000
    known = f"{name_with_label(survey.table, survey.label)} ({survey.fingerprint[:12]})"
    yield "survey", f"{known}, {kilobytes:.1f} kB for each device"
    if survey.author is not None:
        yield "author", survey.author
    if survey.schedule != ANY_DAY:
        yield "answered", describe_schedule(survey.schedule)
    number = f", round {design.round} of {design.rounds}" if isinstance(design, Rounds) else ""
    yield "mechanism", f"{design.name}{number}{how}"
    if (trust := survey.shuffled) is not None:
        people = f", of which {trust.people_of(trust.users):,} count as honest"
        yield "trust", "shuffle: reports are shuffled before the collector sees them"
        yield (
            "",
            f"against whoever sees the shuffled batch: epsilon {trust.epsilon} at delta "
            f"{trust.delta}, for batches of at least {trust.users:,} reports"
            f"{people if trust.honest < 1 else ''}",
        )
        yield (
            "",
            f"against whoever sees a single report: epsilon {survey.epsilon}, which is what a "
            "person's ledger spends",
        )
        fewer = [
            f"{find_epsilon(design, trust, trust.users // part)} of {trust.users // part:,}"
            for part in _FEWER
        ]
        yield "fewer", f"a smaller batch keeps a larger epsilon: {', '.join(fewer)} reports"
    yield "guarantee", str(guarantee)
    yield "protects", guarantee.protects
    if guarantee.witness:
        yield "witness", guarantee.witness
    labelled = (name_with_label(*pair) for pair in survey.schema.labels.items())
    yield from zip(chain(["labels"], repeat("")), labelled, strict=False)
    yield from _sensitive(survey)
    if guarantee.delta:
        yield "warning", f"A REPORT MAY BE THE RECORD ITSELF, {_SEE_BELOW}"
    exposed = list_not_covered(guarantee, survey)
    yield from zip(chain(["not covered"], repeat("")), exposed, strict=False)
    yield from zip(chain(["collects"], repeat("")), _collected(survey), strict=False)
    if survey.person is not None:
        yield "persons", survey.person.describe()
    sizes = [form.types, *(int(limit) for limit in form.limits.max(axis=0))]
    columns = [f"{name} ({size} values)" for name, size in zip(form.columns, sizes, strict=True)]
    different = sum(math.prod(row) for row in form.limits.tolist())
    yield (
        "report",
        f"{', '.join(columns)}: {different:.6g} different reports, "
        f"{form.bits_per_report:.1f} bits each",
    )
    for remark in design.remarks:
        yield "note", remark
    if isinstance(design, Rounds) and survey.author is None:
        yield "note", "devices with a ledger answer no later round unless all are signed (--sign)"


def _collected(survey: Survey) -> list[str]:
    """The questions to a person: a line for each column, or for each role where there are many."""
    from ldpsql.parser.catalog import describe  # noqa: PLC0415  (it loads what reads SQL)

    columns = [*describe(survey.schema)]
    if len(columns) > _MOST_COLUMNS:
        roles: dict[str, list[str]] = {}
        for column in columns:
            roles.setdefault(column["role"], []).append(column["column_name"])
        return [f"{len(names)} x {role}: {', '.join(names)}" for role, names in roles.items()]
    rows = []
    for column in columns:
        extent = column.get("declared_values") or column.get("domain") or ""
        nulls = ", or NULL" if column["role"] != "public" and column["is_nullable"] == "YES" else ""
        rows.append(
            (
                name_with_label(column["column_name"], column["label"]),
                column["role"],
                f"{column['type']} {extent}{nulls}",
            )
        )
    return [cut(line, WIDTH - INDENT) for line in table_lines(rows[0], rows[1:], [False] * 3)]


def _sensitive(survey: Survey) -> Iterator[tuple[str, str]]:
    """Which values are sensitive, and what that means for the owners of others."""
    if RecordDomain.of(survey.schema).is_all_sensitive:
        return

    def some(values: list[str]) -> str:
        more = len(values) - _MOST_VALUES
        return ", ".join(values[:_MOST_VALUES]) + (f", ... ({more} more)" if more > 0 else "")

    for dimension in survey.schema.dimensions:
        labels = domains.code_names(dimension)
        sensitive = [labels[code] for code in dimension.sensitive]
        others = [label for code, label in enumerate(labels) if code not in dimension.sensitive]
        which = f"{some(sensitive)}; not: {some(others)}" if sensitive else "every value"
        yield "sensitive", f"{dimension.name}: {which}"
    name, kind = survey.design.name, survey.design.guarantee.kind
    if kind == "none":
        yield "note", f"{name} protects none of them"
    elif kind == "local":
        yield "note", f"{name} treats every value as sensitive"
    else:
        yield "warning", f"VALUES THAT ARE NOT SENSITIVE ARE DISCLOSED, {_SEE_BELOW}"


@click.command()
@click.argument("key_file", metavar="KEY", type=click.Path(path_type=Path))
def keygen(key_file: Path) -> None:
    """Write a new private key to the file KEY and print its public key.

    Apps pin an author's key to answer only its surveys, and a shuffler's to trust it. Only you can
    read the file (PEM, Ed25519), and an existing one is never overwritten. Anybody who has the key
    can sign in your name, and it cannot be recovered: keep a copy in a safe place.
    """
    show_text(SigningKey.create(key_file).author)


@click.command()
@click.argument("survey", metavar="SURVEY.json", type=options.EXISTING)
@click.option(
    "--key", metavar="KEY", required=True, type=options.EXISTING, help="Your private key."
)
@options.output(required=True)
def sign(survey: Path, key: Path, target: Path) -> None:
    """Sign a published survey as its author, and write it to a new file.

    Read it first (`ldpsql describe`) and check its promise (`ldpsql audit`). Signing changes
    nothing but the author and the fingerprint, so publish the signed file in place of the other
    one. It replaces the signature of an earlier author. If the collector's part lies beside SURVEY,
    it is copied too.
    """
    options.keep_inputs(target, survey, key)
    options.check_writable(target)
    before = read_device_part(survey)
    if before.author is not None:
        before.verify()
    own = SigningKey.read(key)
    after = sign_device_part(before, own)
    copies = [(target, after.to_json())]
    beside = collector_path(survey)
    if beside.exists():
        options.keep_inputs(collector_path(target), beside)
        copies.append((collector_path(target), beside.read_text(encoding="utf-8")))
    for path, text in copies:
        with replace_file(path) as temporary:
            temporary.write_text(text, encoding="utf-8")
    facts = [("survey", f"{after.table} ({after.fingerprint[:12]})"), ("author", own.author)]
    if before.author not in (None, own.author):
        facts.append(("note", f"{before.author} had signed it before"))
    show_text("\n".join(labelled_lines(facts)))


@click.command()
@click.argument("survey", metavar="SURVEY.json", type=options.EXISTING)
@click.option(
    "--key", metavar="KEY", required=True, type=options.EXISTING, help="The author's private key."
)
@click.option(
    "--until",
    metavar="DAY",
    required=True,
    type=click.DateTime(["%Y-%m-%d"]),
    help="The last day (UTC) on which devices believe it, such as 2026-12-31.",
)
@click.option(
    "--to",
    "collector",
    metavar="URL",
    help="Have this `ldpsql serve` hand it out from now on; put an admin's token into "
    "LDPSQL_TOKEN.",
)
@options.output()
def statement(
    survey: Path, key: Path, until: datetime, collector: str | None, target: Path | None
) -> None:
    """Write a statement by the author of SURVEY: from today on, this is the survey that its table
    asks.

    `ldpsql serve --statement` hands it out. Devices that demand signatures refuse a survey that
    comes from a collector without a statement. Once they have seen a later statement, they refuse
    an earlier one. So make a new one before this one ends, and never two on one day about different
    surveys of one table.
    """
    from ldpsql.engine.collector import open_collector  # noqa: PLC0415

    if target is not None:
        options.keep_inputs(target, survey, key)
        options.check_writable(target)
    own, days = SigningKey.read(key), {"issued": utc_today(), "until": until.date()}
    made = Statement.sign(read_device_part(survey), own, **days)
    if collector is not None:
        opened = open_collector(collector)
        if opened is None:
            raise InterfaceError(f"{collector!r:.100} is not the address of a collector")
        opened.keep_statement(made)
    if target is not None:
        with replace_file(target) as temporary:
            temporary.write_text(made.text, encoding="utf-8")
    elif collector is None:
        show_text(made.text)


@click.command()
@click.argument("data", type=options.EXISTING)
@click.option("--table", help="Name of the table in SQL.  [default: the file's name]")
@click.option(
    "--from-values",
    is_flag=True,
    help="Also propose bounds, edges, values and missing codes from the rows. They tell something "
    "about the people in these: use it on a public sample, or confirm each from what is publicly "
    "known.",
)
@options.output()
def schema(data: Path, table: str | None, from_values: bool, target: Path | None) -> None:
    """Write a survey file with the columns and types of DATA, a Parquet or CSV file.

    You fill in every bound yourself: bounds taken from private data would leak it. No row is read,
    except for --from-values.
    """
    options.keep_inputs(target, data)

    types, proposals = column_types(data), None
    if from_values:
        from ldpsql.designer.proposals import read_proposals  # noqa: PLC0415

        proposals = dict(read_proposals(data, types_of(types)))
        show_text(_READ_FROM_ROWS, err=True)
    text = starter_text(table or data.stem, types, proposals)
    write_document(Document(text.removesuffix("\n")), "table", target)
