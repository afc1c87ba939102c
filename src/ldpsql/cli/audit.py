"""Public. Sees parameters. `audit` checks what a survey, or a mechanism, promises."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ldpsql.cli import options
from ldpsql.cli.failure import AT_FAULT

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ldpsql.audit.result import Audit, Empirical, Enumerated
    from ldpsql.mechanisms.base import Design, Outcome, Worst
    from ldpsql.schema import RecordDomain

_FEWEST, _MOST, _USUAL = 1000, 4_000_000, 100_000
_LONG = 20_000


@click.command(short_help="Check what a survey promises to each person.")
@click.argument("source", metavar="[SURVEY.json]", required=False, type=options.survey_file)
@click.option("--mechanism", "name", metavar="NAME", help="Audit a mechanism instead of a survey.")
@click.option("--epsilon", help="Its epsilon.")
@click.option("--domain", metavar="4x4", help="Its codes per dimension.")
@click.option("--measures", type=click.IntRange(0, 8), default=0, help="Its private measures.")
@click.option(
    "--option", "settings", multiple=True, metavar="KEY=VALUE", help="Its options; repeatable."
)
@click.option("--empirical", is_flag=True, help="Run the device code too, on made-up records.")
@click.option(
    "--reports",
    type=click.IntRange(_FEWEST, _MOST),
    help=f"Reports per record for --empirical.  [default: {_USUAL}]",
)
@click.option(
    "--format",
    "form",
    type=click.Choice(["table", "json"]),
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
    measures: int,
    settings: tuple[str, ...],
    empirical: bool,
    reports: int | None,
    form: str,
) -> None:
    """Check the promise of a survey, in exact fractions from the integers that devices compare.

    Without a survey, --mechanism, --epsilon and --domain say what to check. Exit code 1 where
    the promise does not hold.
    """
    if reports is not None and not empirical:
        raise click.UsageError("--reports is for --empirical")
    chosen = options.read_settings(settings)
    if source is not None:
        if name or epsilon or domain or measures or chosen:
            raise click.UsageError("name either a survey or a mechanism, not both")
        design, chosen = _of_survey(source)
    elif name and epsilon and domain:
        design = _of_mechanism(name, epsilon, domain, measures, chosen)
    else:
        raise click.UsageError("name a survey, or --mechanism with --epsilon and --domain")

    from ldpsql.audit import audit_design  # noqa: PLC0415

    found = audit_design(design, chosen, reports=(reports or _USUAL) if empirical else 0)
    text = json.dumps(found.to_json(), indent=1) if form == "json" else "\n".join(_lines(found))
    click.echo(text)
    if not found.holds:
        context.exit(AT_FAULT)


def _of_survey(source: Path) -> tuple[Design, dict[str, Any]]:
    from ldpsql.survey import Survey  # noqa: PLC0415

    survey = Survey.from_json(source)
    return survey.design, dict(survey.options)


def _of_mechanism(
    name: str, epsilon: str, domain: str, measures: int, chosen: dict[str, Any]
) -> Design:
    from ldpsql.audit.domains import made_up  # noqa: PLC0415
    from ldpsql.mechanisms.registry import mechanism  # noqa: PLC0415
    from ldpsql.privacy import Epsilon  # noqa: PLC0415

    maker, asked, budget = mechanism(name), made_up(domain, measures), Epsilon.parse(epsilon)
    codes = sum(asked.sizes)
    if codes > _LONG:
        click.echo(f"designing {name} for {codes:,} codes; this may take minutes", err=True)
    return maker.design(asked, budget, chosen)


def _lines(found: Audit) -> Iterator[str]:
    from ldpsql.audit.result import METHODS  # noqa: PLC0415

    yield f"mechanism    {found.mechanism}, {_domain(found.domain)}"
    yield f"guarantee    {found.guarantee}"
    yield f"exact        {_exact(found)}, delta {found.guarantee.delta}"
    yield f"established  by {METHODS[found.method]}"
    if found.enumerated is None:
        yield "enumerated   nothing: even on two codes there are too many different reports"
    else:
        yield f"enumerated   {_enumerated(found.enumerated)}"
    if found.enumerated is not None and found.witness is not None:
        yield from _witness(found.witness, found.enumerated.domain)
    yield f"protects     {found.guarantee.protects}"
    for item in found.guarantee.not_protected:
        yield f"not covered  {item}"
    yield f"report       {found.report_bits:.1f} bits"
    if found.empirical is not None:
        yield from _empirical(found.empirical)
    for problem in found.problems:
        yield f"problem      {problem}"
    yield f"verdict      the promise {'holds' if found.holds else 'DOES NOT HOLD'}"


def _witness(worst: Worst, domain: RecordDomain) -> Iterator[str]:
    chance = float(worst.likely)
    yield f"witness      report {_numbers(worst.report)}"
    yield f"             sent by {_record(worst.record, domain)} with probability {chance:.6g}"
    yield f"             never by {_record(worst.other, domain)}"


def _exact(found: Audit) -> str:
    if found.epsilon is not None:
        where = " on the reduced domain" if found.method == "reduced" else ""
        return f"epsilon {found.epsilon:f} of {found.nominal}, rounded up{where}"
    return "epsilon not established" if found.method == "none" else "epsilon unbounded"


def _enumerated(found: Enumerated) -> str:
    selector = "independent of" if found.independent else "DEPENDENT ON"
    epsilon = "unbounded" if found.epsilon is None else f"{found.epsilon:f}"
    return (
        f"{_domain(found.domain)}: {found.reports} reports, epsilon {epsilon}, "
        f"selector {selector} the record"
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


def _domain(domain: RecordDomain) -> str:
    sizes = "x".join(map(str, domain.sizes)) or "no dimension"
    measures = len(domain.bounds)
    signs = f" and {measures} measure{'s' if measures > 1 else ''}" if measures else ""
    return f"{sizes}{' codes' if domain.sizes else ''}{signs}"


def _record(record: Outcome, domain: RecordDomain) -> str:
    """The codes and signs of a made-up record, by name."""
    names = (*domain.names, *(f"sign of {name}" for name in domain.measure_names))
    return "(" + ", ".join(f"{n}={c}" for n, c in zip(names, record, strict=True)) + ")"


def _numbers(row: Outcome) -> str:
    return "(" + ", ".join(map(str, row)) + ")"
