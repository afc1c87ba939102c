"""Public. Sees parameters. What a design with sensitive values promises, in words."""

from __future__ import annotations

from collections.abc import Sequence

from ldpsql_device.epsilon import Epsilon
from ldpsql_device.guarantee import Guarantee, local_guarantee
from ldpsql_device.schema import RecordDomain

_ALL_HELD = "every record has a sensitive value, so it would protect all, as others do better"


def by_name(kind: str, domain: RecordDomain) -> str | None:
    """Why `auto` leaves out a mechanism with such a guarantee; None where it may compete."""
    if domain.is_all_sensitive:
        return "no value is declared sensitive, so it would protect all, as others do better"
    if kind == "uldp":
        return None if domain.has_nonsensitive_records else _ALL_HELD
    if kind == "local":
        return "it is grr under another name"
    return "its promise is weaker than that of cprr; name it to have it"


def promise(
    kind: str, domain: RecordDomain, epsilon: Epsilon, disclosures: Sequence[float]
) -> Guarantee:
    """The guarantee of a kind, or plain LDP where it spares nobody: where every value is sensitive,
    and for "uldp" where every record has a sensitive value.

    disclosures: the largest probability that a value which is not sensitive is given away: for
    "uldp-joint" one per dimension, else one of the whole record.
    """
    general = local_guarantee(epsilon)
    spares = {"uldp": domain.has_nonsensitive_records, "uldp-joint": not domain.is_all_sensitive}
    if not spares.get(kind, False):
        return general
    words = _whole_record if kind == "uldp" else _each_value
    protects, spared = words(domain, epsilon, disclosures)
    return Guarantee(kind, epsilon, protects, (*spared, *general.not_protected))


def _whole_record(
    domain: RecordDomain, epsilon: Epsilon, disclosures: Sequence[float]
) -> tuple[str, tuple[str, ...]]:
    """Product ULDP: specification uldp, sections 1.1 and 1.3."""
    single = len(domain.sizes) == 1
    owner = "a sensitive value" if single else "a record with a sensitive value, all of it"
    other = "value" if single else "record without a sensitive value"
    return (
        f"{owner}: no report of its owner is more than e^{epsilon} times likelier than under any "
        f"other {'value' if single else 'record'}",
        (
            f"a {other}{' that is not sensitive' if single else ''}: the report gives it away "
            f"with probability {max(disclosures):.3g}, and with it that its owner has no sensitive "
            "value",
            "a report that gives nothing away makes a sensitive value likelier, by a factor of at "
            f"most e^{epsilon}",
        ),
    )


def _each_value(
    domain: RecordDomain, epsilon: Epsilon, disclosures: Sequence[float]
) -> tuple[str, tuple[str, ...]]:
    """Definition 3: specification uldp, section 1.2."""
    given = ", ".join(
        f"{name} up to {chance:.3g}"
        for name, chance in zip(domain.names, disclosures, strict=True)
        if chance
    )
    return (
        f"a record that is sensitive in every attribute: no report of its owner is more than "
        f"e^{epsilon} times likelier than under any other record; the sensitive values of other "
        f"records: within e^{epsilon} against all values that could stand in their place, the rest "
        "of the record being the same",
        (
            "a value that is not sensitive, even beside a sensitive one: a report gives it away "
            f"with a probability of {given}",
            "a record with a value that is not sensitive, against records that differ in it",
            "what a value that was given away says about the sensitive one beside it: where "
            "attributes are correlated, this comes before the factor of "
            f"e^{epsilon} (cprr protects such records as a whole)",
        ),
    )
