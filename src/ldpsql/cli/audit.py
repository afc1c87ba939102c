"""`audit` checks what a survey, or a mechanism, promises; `describe` says what it asks."""

from __future__ import annotations

from itertools import chain, repeat
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ldpsql.algebra.numerics import epsilon_of
from ldpsql.algebra.record_domain import TWO_LEVELS, space_levels
from ldpsql.audit import audit_design
from ldpsql.audit.check import METHODS, audit_central
from ldpsql.audit.exact import domain_of_codes
from ldpsql.audit.lines import (
    author_line,
    belief_line,
    column_lines,
    list_not_covered,
    public_line,
    year_line,
)
from ldpsql.errors import pluralize
from ldpsql.mechanisms.registry import mechanism
from ldpsql.reports.atomic import replace_file
from ldpsql.sql.domains import code_names
from ldpsql.survey import Survey, read_device_part
from ldpsql.terminal import options
from ldpsql.terminal.failure import AT_FAULT
from ldpsql.terminal.formats import FORMATS, Document, write_document
from ldpsql.terminal.notes import show_text
from ldpsql.terminal.text import labelled_lines, table_lines
from ldpsql_device.description import describe as describe_survey
from ldpsql_device.description import (
    describe_schedule,
    largest_belief,
    name_with_label,
)
from ldpsql_device.epsilon import Epsilon
from ldpsql_device.errors import SurveyError
from ldpsql_device.pledge import Pledge
from ldpsql_device.survey import read_text, utc_today

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import date

    from ldpsql.algebra.record_domain import RecordDomain
    from ldpsql.audit.check import Audit, CentralAudit
    from ldpsql.estimators.base import AnyDesign as Design
    from ldpsql.reports.channel import Outcome

_FEWEST, _MOST, USUAL_REPORTS = 1000, 4_000_000, 100_000
_LARGE, _LARGE_DELTA = 5.0, 1e-5
_LONG = 20_000


@click.command()
@click.argument("source", metavar="[SURVEY.json]", required=False, type=options.EXISTING)
@click.option("--mechanism", "name", metavar="NAME", help="Audit a mechanism instead of a survey.")
@click.option("--epsilon", help="Its epsilon.")
@click.option("--domain", metavar="4x4", help="Its codes per dimension.")
@click.option(
    "--sensitive",
    metavar="2x1",
    help="How many codes of each dimension are sensitive, counted from the first. [default: all]",
)
@click.option("--measures", type=click.IntRange(0, 8), default=0, help="Its private measures.")
@click.option(
    "--option", "settings", multiple=True, metavar="KEY=VALUE", help="Its options; repeatable."
)
@options.option(
    "--users",
    needs=["SURVEY.json"],
    excludes=["--db"],
    type=options.people(1, options.MOST_PEOPLE),
    metavar="N",
    help="Reports in the shuffled batch, such as 45000, 45k or 1.5m.  [default: those the survey "
    "was designed for]",
)
@options.option(
    "--db",
    "database",
    needs=["SURVEY.json"],
    type=options.EXISTING,
    help="Take the number of reports from the smallest batch that this database holds.",
)
@click.option("--quick", is_flag=True, help="Check only the numbers; do not run a device's code.")
@options.option(
    "--reports",
    excludes=["--quick"],
    type=click.IntRange(_FEWEST, _MOST),
    help="Reports to draw per made-up record, of which there are a few.  "
    f"[default: {USUAL_REPORTS}]",
)
@click.option(
    "--warn-above",
    type=click.FloatRange(min=0),
    default=_LARGE,
    show_default=True,
    help="Warn if the epsilon of one report is larger.",
)
@click.option("--strict", is_flag=True, help="Exit with code 1 if there is a warning.")
@options.option(
    "--html",
    "page",
    needs=["SURVEY.json"],
    metavar="FILE",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write the audit of a survey as a page to read, print and sign.",
)
@click.option(
    "--format",
    "form",
    type=click.Choice([known.name for known in FORMATS if known.takes == "all"]),
    default="table",
    help="Output format.",
)
@click.pass_context
def audit(
    context: click.Context,
    source: Path | None,
    name: str | None,
    epsilon: str | None,
    domain: str | None,
    sensitive: str | None,
    measures: int,
    settings: tuple[str, ...],
    users: int | None,
    database: Path | None,
    quick: bool,
    reports: int | None,
    warn_above: float,
    strict: bool,
    page: Path | None,
    form: str,
) -> None:
    """Check the promise of a survey, in exact fractions, from the integers that devices compare.

    Then run a device's code on made-up records: every code of every column, and values that are out
    of range, missing or of a wrong type. This finds the exact law of the code from outside,
    compares it with the plan's, and draws and counts reports. It takes seconds.

    If reports are shuffled, the exact accountant also checks the central epsilon of a batch of
    --users reports, or of the smallest batch in --db. Without a survey, --mechanism, --epsilon and
    --domain say what to check. The exit code is 1 if a promise does not hold.
    """
    options.keep_inputs(page, *filter(None, (source, database)))
    chosen = options.read_settings(settings)
    survey = central = None
    if source is not None:
        if any((name, epsilon, domain, sensitive, measures, chosen)):
            raise click.UsageError("name either a survey or a mechanism, not both")
        survey, central = _of_survey(source, users, database)
        design, chosen = survey.design, dict(survey.options)
    else:
        if not (name and epsilon and domain):
            raise click.UsageError("name a survey, or --mechanism with --epsilon and --domain")
        design = _of_mechanism(name, epsilon, domain, measures, sensitive, chosen)
    if central is None and (users is not None or database is not None):
        raise click.UsageError("--users and --db are for a survey of shuffled reports")

    from ldpsql.audit.page import write_page  # noqa: PLC0415

    drawn = 0 if quick else reports or USUAL_REPORTS
    result = audit_design(design, chosen, reports=drawn, device=not quick, survey=survey)
    warnings, today = list(_warnings(result, warn_above)), utc_today()
    if page is not None and survey is not None:
        with replace_file(page) as temporary:
            text = write_page(survey, result, central, warnings, today)
            temporary.write_text(text, encoding="utf-8")
    write_document(_make_document(survey, result, central, warnings, today), form, None)
    is_sound = result.holds and (central is None or central.holds)
    if not is_sound or (strict and warnings):
        context.exit(AT_FAULT)


def _make_document(
    survey: Survey | None,
    result: Audit,
    central: CentralAudit | None,
    warnings: list[str],
    today: date,
) -> Document:
    """The audit as labelled lines, and as JSON."""
    facts = {
        **({"survey": _identity(survey, today)} if survey else {}),
        **result.to_json(),
        **({"central": central.to_json()} if central else {}),
        "warnings": warnings,
    }
    lines = list(_describe_survey(survey, today)) if survey else []
    lines += _facts(result, central, survey)
    lines += [("warning", warning) for warning in warnings]
    return Document("\n".join(labelled_lines(lines)), facts=lambda: facts)


@click.command()
@click.argument("survey", metavar="SURVEY.json", type=options.EXISTING)
@click.option("--pledge", "said", type=options.EXISTING, help="What a trusted shuffler pledges.")
def describe(survey: Path, said: Path | None) -> None:
    """Print what a person is asked to agree to, in the words that apps show.

    It says what is asked, what leaves the device, how often and until when, what is not covered,
    and who has signed the survey. `ldpsql audit` checks the promise. With --pledge it says what is
    promised if the shuffler is honest, and what if it is not.
    """
    pledge = None if said is None else Pledge.from_json(read_text(said))
    show_text(describe_survey(read_device_part(survey), pledge))


def _of_survey(
    source: Path, users: int | None, database: Path | None
) -> tuple[Survey, CentralAudit | None]:
    """The survey, and the audit of the batch where reports are shuffled.

    SurveyError where the database holds no batch of this survey.
    """
    survey = Survey.from_json(source)
    if database is not None and survey.shuffled is not None:
        from ldpsql.store import read_store  # noqa: PLC0415  (Arrow, for few audits)

        with read_store(database) as store:
            known = {kept.fingerprint for kept in store.surveys()}
            users = store.smallest_batch(survey.table) if survey.fingerprint in known else None
        if users is None:
            raise SurveyError(
                f"{database} holds no reports of this survey {survey.table}; ingest them, or name "
                "another --db"
            )
    return survey, audit_central(survey, users)


def _of_mechanism(
    name: str,
    epsilon: str,
    domain: str,
    measures: int,
    sensitive: str | None,
    chosen: dict[str, Any],
) -> Design:
    codes = domain_of_codes(domain, measures, sensitive)
    maker, budget = mechanism(name), Epsilon.parse(epsilon)
    if sum(codes.sizes) > _LONG:
        show_text(
            f"designing {name} for {sum(codes.sizes):,} codes; this may take minutes", err=True
        )
    return maker.design(codes, budget, chosen)


def _warnings(result: Audit, warn_above: float) -> Iterator[str]:
    """Warnings of promises that hold as they are stated, and are weak."""
    guarantee = result.design.guarantee
    if guarantee.delta > _LARGE_DELTA:
        yield (
            f"delta {float(guarantee.delta):g} of one report is above {_LARGE_DELTA:g}: so likely "
            "does the promise not hold for a person"
        )
    if guarantee.epsilon is not None and float(guarantee.epsilon) > warn_above:
        yield (
            f"epsilon {guarantee.epsilon} of one report is above {warn_above:g}: it lets a belief "
            f"of 50 % become {largest_belief(guarantee.epsilon)}"
        )


def _identity(survey: Survey, today: date) -> dict[str, Any]:
    return {
        "table": survey.table,
        "label": survey.label,
        "labels": dict(survey.schema.labels),
        "fingerprint": survey.fingerprint,
        "audited": today.isoformat(),
        "author": survey.author,
        "public": [column.name for column in survey.schema.public],
        "person": None if survey.person is None else survey.person.to_keys(),
    }


def _describe_survey(survey: Survey, today: date) -> Iterator[tuple[str, str]]:
    """Which survey it is, whose, and what it reads."""
    yield "survey", name_with_label(survey.table, survey.label)
    yield "fingerprint", survey.fingerprint
    yield "audited", f"{today} (UTC)"
    yield "author", author_line(survey)
    yield "answered", describe_schedule(survey.schedule)
    yield from zip(chain(["columns"], repeat("")), column_lines(survey), strict=False)
    yield "in clear", public_line(survey)
    if survey.person is not None:
        yield "persons", survey.person.describe()


def _facts(
    result: Audit, central: CentralAudit | None, survey: Survey | None
) -> Iterator[tuple[str, str]]:
    """The findings, by label."""
    design, guarantee = result.design, result.design.guarantee
    yield "one report", belief_line(result)
    if survey is not None and (year := year_line(survey)) is not None:
        yield "one person", year
    yield "mechanism", f"{design.name}, {_domain(design.domain)}"
    yield "guarantee", str(guarantee)
    exact = "epsilon unbounded, delta 0"
    if result.divergence is not None:
        exact = (
            f"delta {float(result.divergence):.12g} of {float(guarantee.delta):g} at epsilon "
            f"{design.epsilon}, over all sets of reports and ordered pairs of records"
        )
    elif result.epsilon is not None:
        exact = f"epsilon {result.epsilon:f} of {design.epsilon}, rounded up, delta 0"
    yield "exact", exact
    yield "established", f"by {METHODS[result.method]}"
    yield from _describe_enumerated(result, survey)
    yield "protects", guarantee.protects
    for item in list_not_covered(guarantee if survey is None else survey.guarantee, survey):
        yield "not covered", item
    yield from _exposures(result)
    yield "report", f"{design.report_format.bits_per_report:.1f} bits"
    yield from _empirical(result, survey)
    yield from _device(result)
    if central is not None:
        trust, reports = central.trust, central.reports
        achieved = "no epsilon" if central.epsilon is None else f"epsilon {central.epsilon:f}"
        yield (
            "shuffled",
            f"{achieved} of {trust.epsilon} at delta {trust.delta}, rounded up, in a batch of "
            f"{reports:,} reports ({trust.people_of(reports):,} honest people)",
        )
        yield "", "by the blanket of the plan"
    for problem in (*result.problems, *(central.problems if central else ())):
        yield "problem", problem
    verdict = {True: "holds", False: "DOES NOT HOLD"}
    yield "verdict", f"the promise {'of one report ' if central else ''}{verdict[result.holds]}"
    if central is not None:
        yield "", f"the promise of the shuffled batch {verdict[central.holds]}"


def _describe_enumerated(result: Audit, survey: Survey | None) -> Iterator[tuple[str, str]]:
    """The channel that was enumerated, and its witness."""
    found = result.enumerated
    if found is None:
        yield "enumerated", "nothing: even on two codes there are too many different reports"
        return
    domain, odds = found.design.domain, found.worst.odds
    epsilon = "unbounded" if odds is None else f"{epsilon_of(odds):f}"
    text = f"{_domain(domain)}: {len(found.law.outputs)} reports, epsilon {epsilon}"
    if found.design.guarantee.kind in (
        "local",
        "none",
    ):  # other definitions do not speak of questions
        question = "independent of" if found.asks_blindly else "DEPENDENT ON"
        text += f", question {question} the record"
    yield "enumerated", text
    if (worst := result.witness) is not None:
        yield "witness", f"report ({', '.join(map(str, worst.report))})"
        sender, other = (_record(each, domain, survey) for each in (worst.record, worst.other))
        yield "", f"sent by {sender} with probability {float(worst.likely):.6g}"
        yield "", f"never by {other}"


def _exposures(result: Audit) -> Iterator[tuple[str, str]]:
    """Who is protected against which alternatives; the specification's table, for this channel."""
    if not result.exposures:
        return
    head = ("the owner's record", "against records that differ in", "odds", "promised by")
    rows = [(row.owner, row.differs, row.text, row.promised) for row in result.exposures]
    first, *others = table_lines(head, rows, [False] * 4)
    yield "who is safe", first
    yield from (("", line) for line in others)
    if result.method != "enumeration":
        yield (
            "",
            "on the reduced domain: the same odds are bounded as on this one, but values are given "
            "away with other probabilities",
        )


def _empirical(result: Audit, survey: Survey | None) -> Iterator[tuple[str, str]]:
    """The odds seen in reports of the device code, if it was run."""
    found = result.empirical
    if found is None:
        return
    domain = found.domain
    confidence = f"except with probability {found.alpha:g}"
    yield "empirical", f"epsilon >= {found.epsilon_at_least:.4f} {confidence} ({_domain(domain)})"
    sender, other = (_record(each, domain, survey) for each in (found.record, found.other))
    seen = f"{found.seen} of {found.trials} reports of {sender}"
    yield "", f"{seen} against {found.seen_other} of {other}"
    if found.pairs:
        yield (
            "",
            f"{found.equal} of {found.pairs} pairs of reports are equal, "
            f"{found.expected_equal:.1f} expected of independent ones",
        )
    known = "the exact law" if found.pairs else "the shares of the questions"
    yield "", f"reports as far from {known} have probability {found.fit:.3g}"


def _device(result: Audit) -> Iterator[tuple[str, str]]:
    """The part of the device's law that was seen from outside, and the part that was not."""
    if (check := result.device) is not None:
        scope = (
            ", report by report" if check.is_whole else ", in its choices and the questions asked"
        )
        verb = "DOES NOT FOLLOW" if check.problems else "follows"
        yield "device", f"{verb} the law of its plan{scope}"
        yield (
            "",
            f"{check.records:,} made-up records, every code of every column; of {check.compared:,} "
            f"the exact law of answers to {check.questions:,} of {result.design.plan.questions:,} "
            "questions",
        )
    if (tried := result.records) is not None:
        yield (
            "records",
            f"{'NOT ALL' if tried.problems else 'all'} are answered alike: with a value inside "
            f"({tried.inside:,}), outside ({tried.outside:,}), missing or of a wrong type "
            f"({tried.missing:,})",
        )
    for item in result.not_established:
        yield "not checked", item


def _domain(domain: RecordDomain) -> str:
    sizes = "x".join(map(str, domain.sizes)) or "no dimension"
    signs = f" and {pluralize(len(domain.bounds), 'measure')}" if domain.bounds else ""
    sensitive = ""
    if not domain.is_all_sensitive:
        codes = (str(len(domain.sensitive_codes(axis))) for axis in range(len(domain.sizes)))
        sensitive = f", {'x'.join(codes)} of them sensitive"
    return f"{sizes}{' codes' if domain.sizes else ''}{sensitive}{signs}"


def _record(record: Outcome, domain: RecordDomain, survey: Survey | None) -> str:
    """The values of a made-up record by name, of a measure what its level stands for; codes where a
    column was reduced for the audit, and where there is no survey."""
    names = (*domain.names, *domain.measure_names)
    axes = {} if survey is None else {axis.name: axis for axis in survey.schema.dimensions}
    roundings = domain.roundings or (TWO_LEVELS,) * len(domain.bounds)
    levels = [space_levels(*own) for own in domain.nullable]
    levels += [space_levels(*own, *how) for own, how in zip(domain.bounds, roundings, strict=True)]
    shown = list(map(str, record))
    first = domain.first_level_axis
    for place, name in enumerate(domain.names[:first]):
        is_whole = name in axes and axes[name].size == domain.sizes[place]
        shown[place] = code_names(axes[name])[record[place]] if is_whole else f"code {shown[place]}"
    for place, own in enumerate(levels, first):
        shown[place] = f"{own[record[place]]:g}" if record[place] < len(own) else "NULL"
    return "(" + ", ".join(f"{n} = {c}" for n, c in zip(names, shown, strict=True)) + ")"
