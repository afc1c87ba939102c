"""The page of a survey's usual charts: one HTML file that loads nothing, and has no script."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import date

from ldpsql.errors import pluralize
from ldpsql.survey import Survey
from ldpsql.terminal.figures import Curve, Panel, draw_figure, svg_of
from ldpsql.wording.numbers import Figure
from ldpsql.wording.texts import html_text
from ldpsql.workbench.timelines.choice import Charts, Timeline, compare_last
from ldpsql_device.description import name_with_label, sum_of_year

_STYLE = """
:root { color-scheme: light dark }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem }
h1 { font-size: 1.6rem; line-height: 1.2 } h2 { font-size: 1.2rem; margin-top: 2.5rem }
figure { margin: 0; overflow-x: auto }
table { border-collapse: collapse; font-variant-numeric: tabular-nums }
caption { text-align: left }
th, td { padding: .2rem .8rem .2rem 0; text-align: right; white-space: nowrap;
  border-bottom: 1px solid rgb(128 128 128 / 40%) }
th:first-child, td:first-child { text-align: left }
.scroll { overflow-x: auto } .note { font-size: .9rem; margin: .3rem 0 }
code { overflow-wrap: anywhere }
"""


def write_timelines(charts: Charts, respondents: Charts, today: date, min_people: int) -> str:
    """The page as HTML; NotSupportedError without matplotlib. respondents: see `compare_last`."""
    survey = charts.survey
    title = name_with_label(survey.table, survey.label)
    body = [
        f"<h1>{html_text(title)}</h1>",
        *_paragraphs(_introduce(charts, today, min_people)),
        *_compare(charts, respondents),
    ]
    for timeline in charts.timelines:
        body += _draw(timeline, charts)
    if charts.refused:
        body += ["<h2>What is not shown</h2>"]
        body += _paragraphs(f"{name}: {why}" for name, why in charts.refused.items())
    return (
        '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<meta http-equiv="Content-Security-Policy" content="default-src \'none\'; '
        "style-src 'unsafe-inline'\">"
        f"<title>{html_text(title)}</title><style>{_STYLE}</style></head>"
        f"<body><main>{''.join(body)}</main></body></html>\n"
    )


def _introduce(charts: Charts, today: date, min_people: int) -> Iterable[str]:
    survey, days = charts.survey, charts.periods
    what = pluralize(len(days), survey.schedule.period or "period")
    yield f"{what}, named by first days: {days[0]} to {days[-1]}. Written on {today} (UTC)."
    yield _promise(survey)
    yield (
        f"Bands, ± and brackets are {100 * charts.level:g} % intervals. The current "
        f"{survey.schedule.period} is left out. Late answers may still change the latest numbers."
    )
    if min_people > 1:
        yield f"Groups of fewer than {min_people} people are not shown by themselves."
    if charts.hidden:
        yield f"Left out, as too few people answered: {pluralize(charts.hidden, 'period')}."


def _promise(survey: Survey) -> str:
    said = f"Every report was randomized before it left a device: {survey.guarantee}."
    year = sum_of_year(survey)
    return said if year is None else f"{said} Answers of one person: {year}."


def _compare(charts: Charts, respondents: Charts) -> list[str]:
    rows = [
        (title, label, str(old), str(new), _signed(change))
        for title, label, old, new, change in compare_last(charts, respondents)
    ]
    if not rows:
        return []
    before, last = charts.periods[-2:]
    head = ("", "", str(before), str(last), "difference")
    return [
        f"<h2>{str(charts.survey.schedule.period).capitalize()} against "
        f"{charts.survey.schedule.period}</h2>",
        _table(head, rows),
        *_paragraphs(
            [
                "A difference whose interval contains 0 may be due to chance.",
                _basis(charts, respondents),
            ]
        ),
    ]


def _basis(charts: Charts, respondents: Charts) -> str:
    """What the chance in a difference is."""
    if charts.survey.schedule.sample is not None:
        return (
            "Different installations answered in the two, and who they were is part of the chance."
        )
    if respondents is not charts:
        return (
            "Installations answer every time, so a difference is between those who answered, and "
            "who they were is no part of the chance."
        )
    return (
        "Where the same installations answered both times, the interval of a difference tends to "
        "be too wide, not too narrow."
    )


def _signed(change: Figure) -> str:
    return f"+{change}" if change.value > 0 else str(change)


def _draw(timeline: Timeline, charts: Charts) -> list[str]:
    """A heading, the picture, and the same numbers as a table."""
    days = charts.periods
    curves = tuple(
        Curve(
            label,
            days,
            [_at(figures.get(day), "value") for day in days],
            [_at(figures.get(day), "low") for day in days],
            [_at(figures.get(day), "high") for day in days],
        )
        for label, figures in timeline.lines.items()
    )
    panel = Panel(timeline.title, "", timeline.unit, curves, zero=True)
    rows = [
        (str(day), *(str(own.get(day, "")) for own in timeline.lines.values()))
        for day in reversed(days)
    ]
    drawn = svg_of(lambda: draw_figure("", [panel]))
    named = html_text(f"{timeline.title}, {timeline.unit}, by {charts.survey.schedule.period}")
    return [
        f"<h2>{html_text(timeline.title)}</h2>",
        f'<figure role="img" aria-label="{named}; the numbers are in the table below">',
        f"{drawn}</figure><details><summary>Numbers, and the SQL</summary>",
        _table((charts.survey.schedule.period or "", *timeline.lines), rows),
        f"<p><code>{html_text(timeline.sql)}</code></p></details>",
        *_paragraphs(timeline.notes),
    ]


def _at(figure: Figure | None, side: str) -> float:
    return float("nan") if figure is None else float(getattr(figure, side))


def _paragraphs(texts: Iterable[str]) -> list[str]:
    return [f'<p class="note">{html_text(text)}</p>' for text in texts]


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    def row(tag: str, cells: Sequence[str]) -> str:
        return f"<tr>{''.join(f'<{tag}>{html_text(cell)}</{tag}>' for cell in cells)}</tr>"

    body = "".join(row("td", cells) for cells in rows)
    return (
        f'<div class="scroll"><table><thead>{row("th", head)}</thead><tbody>{body}</tbody>'
        "</table></div>"
    )
