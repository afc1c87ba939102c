"""Public. Sees parameters. Whether a design keeps what its guarantee promises."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Any

from ldpsql.audit.channel import Channel, enumerate_channel
from ldpsql.audit.exposure import Exposure, exposures
from ldpsql.audit.result import Audit, Empirical, Enumerated, Method
from ldpsql.audit.sampling import sample
from ldpsql.mechanisms.base import Design, Entropy, StatesOdds
from ldpsql_device.entropy import OsEntropy


def audit_design(
    design: Design,
    options: Mapping[str, Any] | None = None,
    *,
    reports: int = 0,
    entropy: Entropy | None = None,
) -> Audit:
    """Audit any design through its contract alone.

    options: the mechanism's, for a smaller design of its kind where the domain is too large to
    enumerate.  reports: how many to draw per made-up record from the real device code, 0 for
    none.  entropy: what to draw them from; the operating system's unless a test says otherwise.
    """
    channel = enumerate_channel(design, options or {})
    stated = design.selector_odds() if isinstance(design, StatesOdds) else None
    method = _method(design, channel)
    empirical = sample(design, channel, reports, entropy or OsEntropy()) if reports else None
    found = channel.found if channel else None
    odds = _established(method, stated, channel)
    divergence = _divergence(design, method, channel)
    problems = [
        *_promise_problems(design, method, odds, divergence),
        *_channel_problems(design, method, channel),
        *(_empirical_problems(design, empirical) if empirical else ()),
    ]
    return Audit(
        design.name,
        design.domain,
        design.epsilon,
        design.guarantee,
        design.report_format.bits_per_report,
        method,
        odds,
        divergence,
        found,
        empirical,
        tuple(problems),
        _exposures(design, channel),
    )


def _exposures(design: Design, channel: Channel | None) -> tuple[Exposure, ...]:
    """Who is protected against whom, where that differs from person to person."""
    if channel is None or design.guarantee.kind in ("local", "none"):
        return ()
    return exposures(channel.law, channel.design.domain)


def _method(design: Design, channel: Channel | None) -> Method:
    if channel is not None and channel.design is design:
        return "enumeration"
    if isinstance(design, StatesOdds):
        return "selectors" if design.guarantee.kind in ("local", "none") else "tables"
    if design.round > 1:
        return "none"  # a smaller design of its kind asks the first round's question, not this one
    return "reduced" if channel else "none"


def _established(
    method: Method, stated: Fraction | None, channel: Channel | None
) -> Fraction | None:
    """The odds that the method gives; None where they are unbounded or it gives none."""
    if method in ("selectors", "tables"):
        return stated
    return None if method == "none" or channel is None else channel.found.worst.odds


def _divergence(design: Design, method: Method, channel: Channel | None) -> Fraction | None:
    """What the channel itself has of the delta that is promised; None where none is, or where it
    is too large to enumerate."""
    if not design.guarantee.delta or method != "enumeration" or channel is None:
        return None
    return channel.law.divergence(design.epsilon.odds)


def _promise_problems(
    design: Design, method: Method, odds: Fraction | None, divergence: Fraction | None
) -> Iterator[str]:
    if design.guarantee.kind == "none":
        yield "the mechanism promises nothing"
    delta = design.guarantee.delta
    if delta:
        if divergence is None:
            yield "its delta could not be established: the channel is too large to enumerate"
        elif divergence > delta:
            yield (
                f"some set of reports breaks ({design.epsilon}, {float(delta):g})-LDP: it needs "
                f"delta {float(divergence):.9g}"
            )
    elif method == "none":
        yield "the odds of its reports could not be established"
    elif odds is None:
        yield "the odds of some report are unbounded"
    elif odds > design.epsilon.odds:
        yield f"the odds of some report are above e^{design.epsilon}"


def _channel_problems(design: Design, method: Method, channel: Channel | None) -> Iterator[str]:
    """What the enumerated channel says against the design, or against its reduction."""
    if channel is None:
        return
    found: Enumerated = channel.found
    promises_odds = not design.guarantee.delta
    if (
        promises_odds
        and method in ("selectors", "tables")
        and (found.worst.odds is None or found.worst.odds > design.epsilon.odds)
    ):
        yield f"on a reduced domain the odds of some report are not below e^{design.epsilon}"
    if method in ("selectors", "reduced") and not found.independent:
        yield "the selector of a report depends on the record"
    if channel.definition.strays(channel.law):
        yield "a report names a value that is not sensitive and comes from a record without it"
    if isinstance(channel.design, StatesOdds):
        stated = channel.design.selector_odds()
        if stated != found.worst.odds:
            yield "the odds that the design states are not those of its enumerated channel"


def _empirical_problems(design: Design, empirical: Empirical) -> Iterator[str]:
    if empirical.epsilon > float(design.epsilon):
        yield (
            f"the device code does not keep epsilon {design.epsilon}: its reports show "
            f"at least {empirical.epsilon:.4f}"
        )
    if empirical.dependent:
        yield (
            "reports of one record are not equal as often as independent ones would be: entropy is "
            "used again, or the device code does not follow the law"
        )
