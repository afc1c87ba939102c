"""`audit`: checks what a survey, or a mechanism, promises."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ldpsql.cli import options
from ldpsql.cli.failure import AT_FAULT
from ldpsql.cli.formats import FORMATS, Document, write_document
from ldpsql.cli.tables import table_lines

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ldpsql.audit.bisection import DeviceCheck
    from ldpsql.audit.central import CentralAudit
    from ldpsql.audit.check import Audit, Enumerated
    from ldpsql.audit.sampling import Empirical
    from ldpsql.mechanisms.base import Design, Outcome, Worst
    from ldpsql.survey import Survey
    from ldpsql_device.guarantee import Guarantee
    from ldpsql_device.schema import RecordDomain

_FEWEST, _MOST, _USUAL = 1000, 4_000_000, 100_000
_LONG = 20_000


@click.command(short_help="Check what a survey promises to each person.")
@click.argument("source", metavar="[SURVEY.json]", required=False, type=options.survey_file)
@click.option("--mechanism", "name", metavar="NAME", help="Audit a mechanism instead of a survey.")
@click.option("--epsilon", help="Its epsilon.")
@click.option("--domain", metavar="4x4", help="Its codes per dimension.")
@click.option(
    "--sensitive",
    metavar="2x1",
    help="How many codes of each dimension, the first ones, are sensitive; all unless it is given.",
)
@click.option("--measures", type=click.IntRange(0, 8), default=0, help="Its private measures.")
@click.option(
    "--option", "settings", multiple=True, metavar="KEY=VALUE", help="Its options; repeatable."
)
@click.option(
    "--users",
    type=click.IntRange(min=1),
    help="Reports in the shuffled batch.  [default: those the survey was designed for]",
)
@click.option(
    "--db",
    "database",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Take the number of reports from the smallest batch that this database holds.",
)
@click.option("--empirical", is_flag=True, help="Run the device code too, on made-up records.")
@click.option(
    "--device",
    is_flag=True,
    help="Find the exact law of the device code from outside, and compare it with the plan's.",
)
@click.option(
    "--reports",
    type=click.IntRange(_FEWEST, _MOST),
    help=f"Reports per record for --empirical.  [default: {_USUAL}]",
)
@click.option(
    "--format",
    "form",
    type=click.Choice([known.name for known in FORMATS if known.takes == "all"]),
    default="table",
    show_default=True,
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
    empirical: bool,
    device: bool,
    reports: int | None,
    form: str,
) -> None:
    """Check the promise of a survey, in exact fractions from the integers that devices compare.

    Of a survey of shuffled reports the central epsilon that a batch of --users reports achieves, or
    the smallest batch in --db, is checked besides with the exact accountant. Without a survey,
    --mechanism, --epsilon and --domain say what to check. Exit code 1 where a promise does not
    hold.
    """
    if reports is not None and not empirical:
        raise click.UsageError("--reports is for --empirical")
    chosen = options.read_settings(settings)
    central = None
    if source is not None:
        if name or epsilon or domain or sensitive or measures or chosen:
            raise click.UsageError("name either a survey or a mechanism, not both")
        if users is not None and database is not None:
            raise click.UsageError("--users and --db both say how many reports there are")
        design, chosen, central = _of_survey(source, users, database)
    elif name and epsilon and domain:
        from ldpsql.audit.exact import made_up  # noqa: PLC0415

        design = _of_mechanism(name, epsilon, made_up(domain, measures, sensitive), chosen)
    else:
        raise click.UsageError("name a survey, or --mechanism with --epsilon and --domain")
    if central is None and (users is not None or database is not None):
        raise click.UsageError("--users and --db are for a survey of shuffled reports")

    from ldpsql.audit import audit_design  # noqa: PLC0415

    drawn = (reports or _USUAL) if empirical else 0
    found = audit_design(design, chosen, reports=drawn, device=device)
    holds = found.holds and (central is None or central.holds)
    facts = {**found.to_json(), **({} if central is None else {"central": central.to_json()})}
    write_document(Document("\n".join(_lines(found, central)), facts=facts), form, None)
    if not holds:
        context.exit(AT_FAULT)


def _of_survey(
    source: Path, users: int | None, database: Path | None
) -> tuple[Design, dict[str, Any], CentralAudit | None]:
    from ldpsql.audit.central import audit_central  # noqa: PLC0415
    from ldpsql.survey import Survey  # noqa: PLC0415

    survey = Survey.from_json(source)
    reports = users if database is None else _smallest_batch(survey, database)
    return survey.design, dict(survey.options), audit_central(survey, reports)


def _smallest_batch(survey: Survey, database: Path) -> int:
    """SurveyError where the database holds no batch of this survey."""
    from ldpsql.store import open_store  # noqa: PLC0415
    from ldpsql_device.errors import SurveyError  # noqa: PLC0415

    with open_store(database, read_only=True) as store:
        known = {kept.fingerprint for kept in store.surveys()}
        found = store.smallest_batch(survey.table) if survey.fingerprint in known else None
    if found is None:
        raise SurveyError(f"{database} holds no reports of this survey {survey.table}")
    return found


def _of_mechanism(name: str, epsilon: str, domain: RecordDomain, chosen: dict[str, Any]) -> Design:
    from ldpsql.mechanisms.registry import mechanism  # noqa: PLC0415
    from ldpsql_device.epsilon import Epsilon  # noqa: PLC0415

    maker, budget, codes = mechanism(name), Epsilon.parse(epsilon), sum(domain.sizes)
    if codes > _LONG:
        click.echo(f"designing {name} for {codes:,} codes; this may take minutes", err=True)
    return maker.design(domain, budget, chosen)


def _lines(found: Audit, central: CentralAudit | None) -> Iterator[str]:
    from ldpsql.audit.check import METHODS  # noqa: PLC0415

    yield f"mechanism    {found.mechanism}, {_domain(found.domain)}"
    yield f"guarantee    {found.guarantee}"
    yield f"exact        {_exact(found)}"
    yield f"established  by {METHODS[found.method]}"
    if found.enumerated is None:
        yield "enumerated   nothing: even on two codes there are too many different reports"
    else:
        yield f"enumerated   {_enumerated(found.enumerated, found.guarantee)}"
    if found.enumerated is not None and found.witness is not None:
        yield from _witness(found.witness, found.enumerated.domain)
    yield f"protects     {found.guarantee.protects}"
    for item in found.guarantee.not_protected:
        yield f"not covered  {item}"
    yield from _exposures(found)
    yield f"report       {found.report_bits:.1f} bits"
    if found.empirical is not None:
        yield from _empirical(found.empirical)
    if found.device is not None:
        yield f"device       {_device(found.device)}"
    if central is not None:
        yield from _central(central)
    for problem in (*found.problems, *(central.problems if central else ())):
        yield f"problem      {problem}"
    if central is None:
        yield f"verdict      the promise {_verdict(found.holds)}"
    else:
        yield f"verdict      the promise of one report {_verdict(found.holds)}"
        yield f"             the promise of the shuffled batch {_verdict(central.holds)}"


def _verdict(holds: bool) -> str:
    return "holds" if holds else "DOES NOT HOLD"


def _central(central: CentralAudit) -> Iterator[str]:
    trust = central.trust
    achieved = "no epsilon" if central.epsilon is None else f"epsilon {central.epsilon:f}"
    people = f"{trust.people_of(central.reports):,} honest people"
    yield (
        f"shuffled     {achieved} of {trust.epsilon} at delta {trust.delta}, rounded up, in a "
        f"batch of {central.reports:,} reports ({people})"
    )
    yield f"             by {central.by}"


def _witness(worst: Worst, domain: RecordDomain) -> Iterator[str]:
    chance = float(worst.likely)
    yield f"witness      report {_numbers(worst.report)}"
    yield f"             sent by {_record(worst.record, domain)} with probability {chance:.6g}"
    yield f"             never by {_record(worst.other, domain)}"


def _exact(found: Audit) -> str:
    if found.guarantee.delta:
        if found.divergence is None:
            return "delta not established"
        return (
            f"delta {float(found.divergence):.12g} of {float(found.guarantee.delta):g} at epsilon "
            f"{found.nominal}, over all sets of reports and ordered pairs of records"
        )
    if found.epsilon is not None:
        where = " on the reduced domain" if found.method == "reduced" else ""
        return f"epsilon {found.epsilon:f} of {found.nominal}, rounded up{where}, delta 0"
    unknown = "epsilon not established" if found.method == "none" else "epsilon unbounded"
    return f"{unknown}, delta 0"


def _enumerated(found: Enumerated, guarantee: Guarantee) -> str:
    epsilon = "unbounded" if found.epsilon is None else f"{found.epsilon:f}"
    text = f"{_domain(found.domain)}: {found.reports} reports, epsilon {epsilon}"
    if guarantee.kind not in ("local", "none"):
        return text  # its definition does not speak of questions
    question = "independent of" if found.asks_blindly else "DEPENDENT ON"
    return f"{text}, question {question} the record"


def _exposures(found: Audit) -> Iterator[str]:
    """Who is protected against which alternatives; the specification's table, for this channel."""
    if not found.exposures:
        return
    head = ("the owner's record", "against records that differ in", "odds", "promised by")
    rows = [(row.owner, row.differs, row.text, row.promised) for row in found.exposures]
    for number, line in enumerate(table_lines(head, rows, [False] * 4)):
        yield f"{'' if number else 'who is safe':<13}{line}"
    if found.method != "enumeration":
        yield (
            "             on the reduced domain: the same odds are bounded as on this one, but "
            "values are given away with other probabilities"
        )


def _empirical(found: Empirical) -> Iterator[str]:
    confidence = f"except with probability {found.alpha:g}"
    yield f"empirical    epsilon >= {found.epsilon:.4f} {confidence} ({_domain(found.domain)})"
    yield (
        f"             {found.seen} of {found.trials} reports of "
        f"{_record(found.record, found.domain)} against {found.seen_other} of "
        f"{_record(found.other, found.domain)}"
    )
    if found.pairs:
        yield (
            f"             {found.equal} of {found.pairs} pairs of reports are equal, "
            f"{found.expected:.1f} expected of independent ones"
        )
    if found.fit is not None:
        known = "the exact law" if found.pairs else "the shares of the questions"
        yield f"             reports as far from {known} have probability {found.fit:.3g}"


def _device(found: DeviceCheck) -> str:
    verb = "DOES NOT FOLLOW" if found.problems else "follows"
    if found.is_whole:
        return f"{verb} the law of its plan, report by report"
    left = f", except {found.left_out} with too many answers" if found.left_out else ""
    return f"{verb} the law of its plan in its choices and in the questions looked at{left}"


def _domain(domain: RecordDomain) -> str:
    sizes = "x".join(map(str, domain.sizes)) or "no dimension"
    measures = len(domain.bounds)
    signs = f" and {measures} measure{'s' if measures > 1 else ''}" if measures else ""
    held = "x".join(str(len(domain.sensitive_codes(j))) for j in range(len(domain.sizes)))
    sensitive = "" if domain.is_all_sensitive else f", {held} of them sensitive"
    return f"{sizes}{' codes' if domain.sizes else ''}{sensitive}{signs}"


def _record(record: Outcome, domain: RecordDomain) -> str:
    """The codes and signs of a made-up record, by name."""
    names = (*domain.names, *(f"sign of {name}" for name in domain.measure_names))
    return "(" + ", ".join(f"{n}={c}" for n, c in zip(names, record, strict=True)) + ")"


def _numbers(row: Outcome) -> str:
    return "(" + ", ".join(map(str, row)) + ")"
