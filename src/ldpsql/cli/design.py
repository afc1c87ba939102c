"""Public. Sees parameters. From a survey file to a published survey."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ldpsql.cli import options

if TYPE_CHECKING:
    from ldpsql.survey import Survey


@click.command(short_help="Design a survey and publish it as JSON.")
@click.argument("source", metavar="SURVEY.toml", type=options.survey_file)
@click.option("--epsilon", help="Overrides the file's.")
@click.option("--mechanism", help="Overrides the file's.")
@click.option(
    "--users",
    type=click.IntRange(min=1),
    help="Predict the standard errors of typical queries for so many people.",
)
@click.option(
    "--accept-no-guarantee",
    is_flag=True,
    help="Design a survey whose mechanism is not differentially private.",
)
@options.output
def design(
    source: Path,
    epsilon: str | None,
    mechanism: str | None,
    users: int | None,
    accept_no_guarantee: bool,
    target: Path | None,
) -> None:
    """Make a survey ready and say what it promises, what leaves a device, and how well it answers.

    The JSON goes to -o and the explanation to stdout; without -o the JSON goes to stdout and
    the explanation to stderr.
    """
    from ldpsql.survey import Survey  # noqa: PLC0415

    survey = Survey.from_toml(
        source, epsilon=epsilon, mechanism=mechanism, accept_no_guarantee=accept_no_guarantee
    )
    lines = [*_promise(survey), *_alphabet(survey)]
    if users is not None:
        from ldpsql.cli.forecast import forecast  # noqa: PLC0415

        lines += forecast(survey, users)
    if target is None:
        click.echo(survey.to_json(), nl=False)
    else:
        from ldpsql.client.atomic import replacing  # noqa: PLC0415

        with replacing(target) as temporary:
            temporary.write_text(survey.to_json(), encoding="utf-8")
    click.echo("\n".join(lines), err=target is None)


def _promise(survey: Survey) -> list[str]:
    guarantee = survey.design.guarantee
    lines = [
        f"survey       {survey.table} ({survey.fingerprint[:12]})",
        f"mechanism    {survey.design.name}",
        f"guarantee    {guarantee}",
        f"protects     {guarantee.protects}",
    ]
    if guarantee.witness:
        lines.append(f"witness      {guarantee.witness}")
    return lines + [f"not covered  {item}" for item in guarantee.not_protected]


def _alphabet(survey: Survey) -> list[str]:
    form = survey.design.report_format
    different = sum(math.prod(row) for row in form.limits.tolist())
    sizes = [form.selectors, *(int(limit) for limit in form.limits.max(axis=0))]
    columns = ", ".join(f"{n} ({s})" for n, s in zip(form.columns, sizes, strict=True))
    return [
        f"report       columns (values): {columns}",
        f"             {different:.6g} different reports, {form.bits_per_report:.1f} bits each",
    ]
