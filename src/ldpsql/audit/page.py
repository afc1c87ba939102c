"""An audit as a page that a privacy officer reads, prints and signs: one HTML file, in itself."""

from __future__ import annotations

import platform
import sys
from collections.abc import Iterable, Iterator, Sequence
from datetime import date
from importlib.metadata import version

from ldpsql.audit.check import METHODS, Audit, CentralAudit
from ldpsql.audit.lines import (
    COLUMN_HEADS,
    author_line,
    belief_line,
    column_rows,
    list_not_covered,
    public_line,
    year_line,
)
from ldpsql.survey import Survey
from ldpsql.wording.texts import html_text
from ldpsql_device.description import describe_schedule, name_with_label

_STYLE = """
@page { size: A4; margin: 18mm 16mm }
body { font: 10.5pt/1.45 "Liberation Sans", Arial, sans-serif; color: #1a1a1a;
  max-width: 178mm; margin: 2em auto; padding: 0 1em }
h1 { font-size: 17pt; line-height: 1.2; margin: 0 0 .5em }
h2 { font-size: 11.5pt; margin: 1.5em 0 .4em; border-bottom: 1px solid #999; break-after: avoid }
p, ul { margin: .4em 0 }
ul { padding-left: 1.3em }
table { border-collapse: collapse; width: 100%; margin: .5em 0; font-size: 9.5pt }
th, td { text-align: left; vertical-align: top; padding: .25em .7em .25em 0;
  border-bottom: 1px solid #ddd; overflow-wrap: break-word }
thead th { border-bottom-color: #666 }
tr { break-inside: avoid }
table.facts th { width: 24%; font-weight: normal; color: #555 }
code { font: 8.5pt "Liberation Mono", monospace; overflow-wrap: anywhere }
.verdict { border: 2px solid; padding: .6em .9em; margin: 1em 0; break-inside: avoid }
.holds { border-color: #2d6a3f } .fails { border-color: #a11d1d }
.verdict strong { font-size: 12pt }
.sign { display: grid; grid-template-columns: 1fr 1fr; gap: 2.6em 2.5em; margin-top: 3em;
  break-inside: avoid }
.sign div { border-top: 1px solid #333; padding-top: .2em; font-size: 9pt; color: #555 }
@media print { body { margin: 0; padding: 0; max-width: none } }
"""


def write_page(
    survey: Survey,
    audit: Audit,
    central: CentralAudit | None,
    warnings: Sequence[str],
    today: date,
) -> str:
    """The page, as HTML that loads nothing."""
    guarantee, title = survey.guarantee, f"Privacy audit of the survey {survey.table}"
    problems = (*audit.problems, *(central.problems if central else ()))
    schedule = [("Author", author_line(survey)), ("Answered", describe_schedule(survey.schedule))]
    name = name_with_label(survey.table, survey.label)
    persons = ""
    if survey.person is not None:  # devices have one record each
        persons = f"<p>Where a table is randomized: {html_text(survey.person.describe())}.</p>"
    facts = [("Survey", name), ("Date of this audit", f"{today.isoformat()} (UTC)")]
    parts = [
        f"<h1>{html_text(title)}</h1>",
        _table((*facts, *schedule), "facts", code=("Fingerprint", survey.fingerprint)),
        _verdict(problems, warnings),
        "<h2>What is asked</h2>",
        "<p>The answers stay on the person's device. Only columns that are marked IN CLEAR leave "
        "it as they are.</p>",
        _table(column_rows(survey), head=COLUMN_HEADS),
        f"<p>Columns that travel in clear: <strong>{html_text(public_line(survey))}</strong>.</p>",
        persons,
        "<h2>What is promised</h2>",
        "<p>The device sends one report, which it draws at random: every report could have come "
        "from other answers too.</p>",
        f"<p><strong>One report: {html_text(belief_line(audit))}.</strong></p>",
        "" if (year := year_line(survey)) is None else f"<p>Reports of one person: {year}.</p>",
        f"<p>A report protects {html_text(guarantee.protects)}.</p>",
        _central(central),
        "<h2>What is not covered</h2>",
        _list(list_not_covered(guarantee, survey)),
        "<h2>How this was checked</h2>",
        _list(_checks(audit, central)),
        "<h2>What was not checked</h2>",
        _list(audit.not_established),
        "<h2>Versions</h2>",
        f"<p>{html_text(versions())}</p>",
        '<div class="sign"><div>Name and role</div><div>Place and date</div>'
        "<div>Signature</div><div>Remarks</div></div>",
    ]
    body = "\n".join(part for part in parts if part)
    return (
        f'<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta name="viewport" content="width=device-width">\n<title>{html_text(title)}</title>\n'
        f"<style>{_STYLE}</style>\n</head>\n<body>\n{body}\n</body>\n</html>\n"
    )


def versions() -> str:
    """The versions that the audit ran on."""
    libraries = ", ".join(f"{name} {version(name)}" for name in ("numpy", "scipy", "duckdb"))
    python = ".".join(map(str, sys.version_info[:3]))
    return f"ldpsql {version('ldpsql')}, {libraries}, Python {python}, {platform.platform()}"


def _verdict(problems: Sequence[str], warnings: Sequence[str]) -> str:
    kind, text = ("fails", "The promise DOES NOT HOLD.") if problems else ("holds", "")
    text = text or "The promise holds, as far as it was checked (see below)."
    found = _list([*problems, *(f"Warning: {warning}" for warning in warnings)])
    return f'<div class="verdict {kind}"><strong>{text}</strong>{found}</div>'


def _central(central: CentralAudit | None) -> str:
    if central is None:
        return ""
    achieved = "no epsilon" if central.epsilon is None else f"epsilon {central.epsilon:f}"
    return (
        f"<p>Whoever sees reports only in a shuffled batch of {central.reports:,} learns less: "
        f"{achieved} at delta {central.trust.delta}. This needs a shuffler that does not work with "
        "the collector, and no device can check that.</p>"
    )


def _checks(audit: Audit, central: CentralAudit | None) -> Iterator[str]:
    yield f"The largest odds between two records were computed by {METHODS[audit.method]}."
    if central is not None:
        yield "The promise of a shuffled batch was computed from the blanket of the plan."
    if (check := audit.device) is not None:
        yield (
            f"The code that draws reports was run on {check.records:,} made-up records, which have "
            "every code of every column. Of "
            f"{check.compared:,} of them its exact law was found from outside, for "
            f"{check.questions:,} questions, and compared with the plan's, to the last of 2^64 "
            "random words."
        )
    if (tried := audit.records) is not None:
        yield (
            f"Whole records were answered: {tried.inside:,} with a value of the domain in the "
            f"column tried, {tried.outside:,} with one outside, {tried.missing:,} with one that is "
            "missing or of a wrong type. All must be answered, by the same number of random words."
        )
    if (found := audit.empirical) is not None:
        yield (
            f"{found.reports_per_record:,} reports of each of some records were drawn with the "
            "operating system's randomness. They show an epsilon of at least "
            f"{found.epsilon_at_least:.4f}, except with probability {found.alpha:g}."
        )


def _table(
    rows: Iterable[Sequence[str]],
    kind: str = "",
    *,
    head: Sequence[str] = (),
    code: tuple[str, str] | None = None,
) -> str:
    """Rows whose first cell is a heading."""
    lines = [f'<table class="{kind}">']
    if head:
        cells = "".join(f'<th scope="col">{html_text(name)}</th>' for name in head)
        lines.append(f"<thead><tr>{cells}</tr></thead>")
    for first, *others in rows:
        cells = "".join(f"<td>{html_text(cell)}</td>" for cell in others)
        lines.append(f'<tr><th scope="row">{html_text(first)}</th>{cells}</tr>')
    if code is not None:
        name, text = map(html_text, code)
        lines.append(f'<tr><th scope="row">{name}</th><td><code>{text}</code></td></tr>')
    return "\n".join([*lines, "</table>"])


def _list(items: Iterable[str]) -> str:
    found = "".join(f"<li>{html_text(item)}</li>\n" for item in items)
    return f"<ul>\n{found}</ul>" if found else ""
