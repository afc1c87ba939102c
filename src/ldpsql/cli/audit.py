"""`audit`: checks what a survey, or a mechanism, promises."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ldpsql.cli import options
from ldpsql.cli.failure import AT_FAULT
from ldpsql.cli.formats import FORMATS, Document, write_document
from ldpsql.cli.tables import labelled_lines, table_lines
from ldpsql.numerics import epsilon_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ldpsql.audit.bisection import DeviceCheck
    from ldpsql.audit.check import Audit, CentralAudit
    from ldpsql.audit.exact import EnumeratedChannel
    from ldpsql.audit.sampling import Empirical
    from ldpsql.decoders.base import AnyDesign as Design
    from ldpsql.decoders.law import Outcome
    from ldpsql.record_domain import RecordDomain
    from ldpsql.survey import Survey

_FEWEST, _MOST, _USUAL = 1000, 4_000_000, 100_000
_LONG = 20_000


@click.command(short_help="Check what a survey promises to each person.")
@click.argument("source", metavar="[SURVEY.json]", required=False, type=options.EXISTING)
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
    type=options.EXISTING,
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
    result = audit_design(design, chosen, reports=drawn, device=device)
    holds = result.holds and (central is None or central.holds)
    facts = {**result.to_json(), **({} if central is None else {"central": central.to_json()})}
    write_document(
        Document("\n".join(labelled_lines(_facts(result, central))), facts=facts), form, None
    )
    if not holds:
        context.exit(AT_FAULT)


def _of_survey(
    source: Path, users: int | None, database: Path | None
) -> tuple[Design, dict[str, Any], CentralAudit | None]:
    from ldpsql.audit.check import audit_central  # noqa: PLC0415
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
        result = store.smallest_batch(survey.table) if survey.fingerprint in known else None
    if result is None:
        raise SurveyError(f"{database} holds no reports of this survey {survey.table}")
    return result


def _of_mechanism(name: str, epsilon: str, domain: RecordDomain, chosen: dict[str, Any]) -> Design:
    from ldpsql.recipes.registry import mechanism  # noqa: PLC0415
    from ldpsql_device.epsilon import Epsilon  # noqa: PLC0415

    maker, budget, codes = mechanism(name), Epsilon.parse(epsilon), sum(domain.sizes)
    if codes > _LONG:
        click.echo(f"designing {name} for {codes:,} codes; this may take minutes", err=True)
    return maker.design(domain, budget, chosen)


def _facts(result: Audit, central: CentralAudit | None) -> Iterator[tuple[str, str]]:
    """What was found, by its label."""
    from ldpsql.audit.check import METHODS  # noqa: PLC0415

    design, guarantee = result.design, result.design.guarantee
    yield "mechanism", f"{design.name}, {_domain(design.domain)}"
    yield "guarantee", str(guarantee)
    yield "exact", _exact(result)
    yield "established", f"by {METHODS[result.method]}"
    if result.enumerated is None:
        yield "enumerated", "nothing: even on two codes there are too many different reports"
    else:
        yield "enumerated", _enumerated(result.enumerated)
        if result.witness is not None:
            worst, domain = result.witness, result.enumerated.design.domain
            chance = float(worst.likely)
            yield "witness", f"report ({', '.join(map(str, worst.report))})"
            yield "", f"sent by {_record(worst.record, domain)} with probability {chance:.6g}"
            yield "", f"never by {_record(worst.other, domain)}"
    yield "protects", guarantee.protects
    for item in guarantee.not_protected:
        yield "not covered", item
    yield from _exposures(result)
    yield "report", f"{design.report_format.bits_per_report:.1f} bits"
    if result.empirical is not None:
        yield from _empirical(result.empirical)
    if result.device is not None:
        yield "device", _device(result.device)
    if central is not None:
        trust, reports = central.trust, central.reports
        achieved = "no epsilon" if central.epsilon is None else f"epsilon {central.epsilon:f}"
        yield (
            "shuffled",
            f"{achieved} of {trust.epsilon} at delta {trust.delta}, rounded up, in a batch of "
            f"{reports:,} reports ({trust.people_of(reports):,} honest people)",
        )
        yield "", f"by {central.by}"
    for problem in (*result.problems, *(central.problems if central else ())):
        yield "problem", problem
    if central is None:
        yield "verdict", f"the promise {_verdict(result.holds)}"
    else:
        yield "verdict", f"the promise of one report {_verdict(result.holds)}"
        yield "", f"the promise of the shuffled batch {_verdict(central.holds)}"


def _verdict(holds: bool) -> str:
    return "holds" if holds else "DOES NOT HOLD"


def _exact(result: Audit) -> str:
    nominal, delta = result.design.epsilon, result.design.guarantee.delta
    if result.divergence is not None:
        return (
            f"delta {float(result.divergence):.12g} of {float(delta):g} at epsilon {nominal}, over "
            "all sets of reports and ordered pairs of records"
        )
    if result.epsilon is not None:
        return f"epsilon {result.epsilon:f} of {nominal}, rounded up, delta 0"
    return "epsilon unbounded, delta 0"


def _enumerated(channel: EnumeratedChannel) -> str:
    worst, design = channel.worst.odds, channel.design
    epsilon = "unbounded" if worst is None else f"{epsilon_of(worst):f}"
    text = f"{_domain(design.domain)}: {len(channel.law.outputs)} reports, epsilon {epsilon}"
    if design.guarantee.kind not in ("local", "none"):
        return text  # its definition does not speak of questions
    question = "independent of" if channel.asks_blindly else "DEPENDENT ON"
    return f"{text}, question {question} the record"


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


def _empirical(result: Empirical) -> Iterator[tuple[str, str]]:
    domain = result.domain
    confidence = f"except with probability {result.alpha:g}"
    yield "empirical", f"epsilon >= {result.epsilon_at_least:.4f} {confidence} ({_domain(domain)})"
    yield (
        "",
        f"{result.seen} of {result.trials} reports of {_record(result.record, domain)} against "
        f"{result.seen_other} of {_record(result.other, domain)}",
    )
    if result.pairs:
        yield (
            "",
            f"{result.equal} of {result.pairs} pairs of reports are equal, "
            f"{result.expected_equal:.1f} expected of independent ones",
        )
    known = "the exact law" if result.pairs else "the shares of the questions"
    yield "", f"reports as far from {known} have probability {result.fit:.3g}"


def _device(check: DeviceCheck) -> str:
    verb = "DOES NOT FOLLOW" if check.problems else "follows"
    if check.is_whole:
        return f"{verb} the law of its plan, report by report"
    left = f", except {check.left_out} with too many answers" if check.left_out else ""
    return f"{verb} the law of its plan in its choices and in the questions looked at{left}"


def _domain(domain: RecordDomain) -> str:
    sizes = "x".join(map(str, domain.sizes)) or "no dimension"
    measures = len(domain.bounds)
    signs = f" and {measures} measure{'s' if measures > 1 else ''}" if measures else ""
    sensitive = ""
    if not domain.is_all_sensitive:
        codes = (str(len(domain.sensitive_codes(axis))) for axis in range(len(domain.sizes)))
        sensitive = f", {'x'.join(codes)} of them sensitive"
    return f"{sizes}{' codes' if domain.sizes else ''}{sensitive}{signs}"


def _record(record: Outcome, domain: RecordDomain) -> str:
    """The codes and signs of a made-up record, by name."""
    names = (*domain.names, *(f"sign of {name}" for name in domain.measure_names))
    return "(" + ", ".join(f"{n}={c}" for n, c in zip(names, record, strict=True)) + ")"
