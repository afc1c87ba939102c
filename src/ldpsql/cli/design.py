"""Public. Sees parameters. From a survey file to a published survey."""

from __future__ import annotations

import math
import sys
import zlib
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ldpsql import domains
from ldpsql.cli import options
from ldpsql_device.errors import Error

if TYPE_CHECKING:
    from ldpsql.designer import DesignedSurvey
    from ldpsql.survey import Survey

_MOST_VALUES = 12
_SEE_BELOW = "see below; devices must accept that"


MOST_PEOPLE = 10_000_000_000


@click.command(short_help="Design a survey and publish it as JSON.")
@click.argument("source", metavar="[SURVEY.toml]", type=options.survey_file, required=False)
@click.option("--epsilon", help="Overrides the file's.")
@click.option("--mechanism", help="Overrides the file's; auto takes the most accurate one.")
@click.option(
    "--users",
    type=click.IntRange(min=1, max=MOST_PEOPLE),
    help="Predict the standard errors of the workload for so many people.",
)
@click.option(
    "--target",
    "half_width",
    type=options.HalfWidth(),
    metavar="SHARE",
    help="Say what it takes to count to within this share of the people: ±2%.",
)
@click.option(
    "--plot",
    "picture",
    type=options.OutputFile("a picture", (".png", ".svg")),
    help="Draw what is asked, what a report tells and the expected error; .png or .svg. Needs "
    "`pip install ldpsql[plot]`.",
)
@click.option(
    "--accept-no-guarantee",
    is_flag=True,
    help="Design a survey whose mechanism is not differentially private.",
)
@click.option(
    "--next",
    "finished",
    metavar="ROUND.duckdb",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Design the next round from the reports of a finished one, instead of from a file.",
)
@options.output
def design(
    source: Path | None,
    epsilon: str | None,
    mechanism: str | None,
    users: int | None,
    half_width: float | None,
    picture: Path | None,
    accept_no_guarantee: bool,
    finished: Path | None,
    target: Path | None,
) -> None:
    """Make a survey ready and say what it promises, what leaves a device, and how well it answers.

    The JSON goes to -o and the explanation to stdout; without -o the JSON goes to stdout and
    the explanation to stderr.
    """
    from ldpsql.cli.progress import Progress  # noqa: PLC0415
    from ldpsql.designer import design_survey  # noqa: PLC0415

    for written in (target, picture):
        if written is not None:
            options.keep_inputs(written, source, finished)
            options.check_writable(written)
    if (source is None) == (finished is None):
        raise click.UsageError("name a survey file, or a finished round with --next")
    if source is None:
        assert finished is not None
        if epsilon or mechanism or users or half_width or picture or accept_no_guarantee:
            raise click.UsageError("--next takes everything from the finished round")
        survey = _next_round(finished)
        lines = [*_promise(survey), *_alphabet(survey)]
    else:
        if picture is not None:
            from ldpsql.plots import charts  # noqa: PLC0415

            charts.require_matplotlib()
        with Progress("designing", sys.stderr) as progress:
            found = design_survey(
                source,
                epsilon=epsilon,
                mechanism=mechanism,
                users=users,
                accept_no_guarantee=accept_no_guarantee,
                tell=progress.show,
            )
            survey = found.survey
            progress.show("what to expect")
            lines = [*_promise(survey), *_alphabet(survey), *_forecasts(found, users, half_width)]
            if picture is not None:
                progress.show("drawing")
                from ldpsql.plots.survey import draw_survey  # noqa: PLC0415

                charts.save_figure(draw_survey(found), picture)
                lines.append(f"plot         {picture}")
    if target is None:
        click.echo(survey.to_json())
    else:
        survey.write(target)
    click.echo("\n".join(lines), err=target is None)


def _kilobytes(text: str) -> str:
    """The size of a text as it travels, compressed."""
    return f"{len(zlib.compress(text.encode(), 9)) / 1000:.1f} kB"


def _forecasts(found: DesignedSurvey, users: int | None, half_width: float | None) -> list[str]:
    """What was compared, what is expected, and what a target takes, as far as it was asked; in any
    case how far the survey is from the best, where that is known."""
    survey = found.survey
    hints = (users, survey.users, survey.shuffled, half_width)
    is_expected = any(hint is not None for hint in hints)
    lines = _expectations(found) if found.choice or is_expected else _certificate(found)
    if half_width is not None:
        from ldpsql.cli.forecast import plan  # noqa: PLC0415

        lines += plan(found, half_width)
    return lines


def _expectations(found: DesignedSurvey) -> list[str]:
    from ldpsql.cli.forecast import comparison, forecast  # noqa: PLC0415

    compared = comparison(found.choice, found.people) if found.choice else []
    try:
        return [*compared, *forecast(found)]
    except Error as error:
        return [*compared, _unanswered(error)]


def _certificate(found: DesignedSurvey) -> list[str]:
    """The distance from the best possible, or why there is none."""
    from ldpsql.cli.forecast import distance  # noqa: PLC0415

    try:
        return distance(found)
    except Error as error:
        return [_unanswered(error)]


def _unanswered(error: Error) -> str:
    return f"warning      it does not answer all of its workload, so no error is expected: {error}"


def _next_round(finished: Path) -> Survey:
    """The next round of the one survey in a database that asks in rounds."""
    from ldpsql.store import open_store  # noqa: PLC0415
    from ldpsql.store.base import Selection  # noqa: PLC0415
    from ldpsql_device.errors import SurveyError  # noqa: PLC0415

    with open_store(finished, read_only=True) as store:
        staged = [s for s in store.surveys() if s.design.asks_in_rounds]
        if len(staged) != 1:
            raise SurveyError(
                f"{finished} holds {len(staged)} surveys that ask in rounds, not one; keep every "
                "round in a database of its own"
            )
        ((_, histogram),) = store.histograms(staged[0].table, Selection())
        return staged[0].next_round(histogram)


def _promise(survey: Survey) -> list[str]:
    guarantee = survey.guarantee
    lines = [
        f"survey       {survey.table} ({survey.fingerprint[:12]}), "
        f"{_kilobytes(survey.device_text)} for each device",
        f"mechanism    {survey.design.name}{', chosen by auto' if survey.chosen else ''}"
        f"{_round(survey)}",
        *_trust(survey),
        f"guarantee    {guarantee}",
        f"protects     {guarantee.protects}",
    ]
    if guarantee.witness:
        lines.append(f"witness      {guarantee.witness}")
    lines += _sensitive(survey)
    if guarantee.delta:
        lines.append(f"warning      A REPORT MAY BE THE RECORD ITSELF, {_SEE_BELOW}")
    return lines + [f"not covered  {item}" for item in guarantee.not_protected]


def _sensitive(survey: Survey) -> list[str]:
    """Which values are sensitive, and what that means for the owners of others."""
    dimensions = survey.schema.dimensions
    if survey.schema.record_domain.is_all_sensitive:
        return []
    lines = []
    for dimension in dimensions:
        labels = domains.labels(dimension)
        held = [_value(labels[code]) for code in dimension.sensitive]
        spared = [_value(v) for c, v in enumerate(labels) if c not in dimension.sensitive]
        if not held:
            lines.append(f"sensitive    {dimension.name}: every value")
        else:
            lines.append(f"sensitive    {dimension.name}: {_some(held)}; not: {_some(spared)}")
    if survey.design.guarantee.kind == "none":
        return [*lines, f"note         {survey.design.name} protects none of them"]
    if survey.design.guarantee.kind == "local":
        return [*lines, f"note         {survey.design.name} treats every value as sensitive"]
    return [*lines, f"warning      VALUES THAT ARE NOT SENSITIVE ARE DISCLOSED, {_SEE_BELOW}"]


def _value(label: object) -> str:
    return "NULL" if label is None else str(label)


def _some(values: list[str]) -> str:
    """The first few of many values."""
    more = f", ... ({len(values) - _MOST_VALUES} more)" if len(values) > _MOST_VALUES else ""
    return ", ".join(values[:_MOST_VALUES]) + more


def _trust(survey: Survey) -> list[str]:
    """Who is promised what, where a shuffler is trusted."""
    trust = survey.shuffled
    if trust is None:
        return []
    honest = (
        f", of which {trust.people_of(trust.users):,} count as honest" if trust.honest < 1 else ""
    )
    return [
        "trust        shuffle: reports are shuffled before the collector sees them",
        f"             against whoever sees the shuffled batch: epsilon {trust.epsilon} at delta "
        f"{trust.delta}, for batches of at least {trust.users:,} reports{honest}",
        f"             against whoever sees a single report: epsilon {survey.epsilon}, which is "
        "what a person's ledger spends",
    ]


def _alphabet(survey: Survey) -> list[str]:

    form = survey.design.report_format
    different = sum(math.prod(row) for row in form.limits.tolist())
    sizes = [form.selectors, *(int(limit) for limit in form.limits.max(axis=0))]
    columns = ", ".join(f"{n} ({s})" for n, s in zip(form.columns, sizes, strict=True))
    remarks = survey.design.remarks
    return [
        f"report       columns (values): {columns}",
        f"             {different:.6g} different reports, {form.bits_per_report:.1f} bits each",
        *(f"note         {remark}" for remark in remarks),
    ]


def _round(survey: Survey) -> str:

    design = survey.design
    if not design.asks_in_rounds:
        return ""
    return f", round {design.round} of {design.rounds}"
