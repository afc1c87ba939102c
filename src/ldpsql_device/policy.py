"""The policy of an app: what any survey may take, decided from the survey alone, before a record is
looked at."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from ldpsql_device.epsilon import Number, decimal_text, exact
from ldpsql_device.errors import InterfaceError, NotAllowed

if TYPE_CHECKING:
    from ldpsql_device.pledge import Pledge
    from ldpsql_device.schema import Schema
    from ldpsql_device.survey import Published

RENEWALS = (None, "day", "month")
MOST_LOCAL_EPSILON = 8
"""What a report may tell a shuffler, and anybody it tells, unless an app says otherwise."""
MOST_SHUFFLED_DELTA = "1e-4"


@dataclass(frozen=True)
class Policy:
    """The most that a survey may take from a person; what it does not name is refused.

    max_epsilon: the largest epsilon of a report: by itself, whatever is promised once it is
    shuffled; or, where it comes with the pledge of one of these shufflers, once it is shuffled.
    max_delta: the largest probability with which the promise of a report by itself may fail.
    disclosure: whether values that a survey does not declare sensitive may be given away.
    no_guarantee: whether a survey may promise nothing; it has no epsilon to limit.  public: the
    columns that may travel in clear.  authors: the public keys (64 hexadecimal digits) one of which
    must have signed a survey, or None.  fingerprints, tables: the only surveys, or names of
    surveys, that are answered, or None.  renewal: "day" or "month" where a ledger's budgets start
    anew with each, or None.  shufflers: the public keys of those who are trusted to mix reports, or
    None.  max_local_epsilon: the largest epsilon by itself of a report that only one of them can
    read: what they learn of it, and can tell.  max_shuffled_delta: the largest delta once
    shuffled.
    """

    max_epsilon: Fraction
    max_delta: Fraction
    disclosure: bool
    no_guarantee: bool
    public: frozenset[str]
    authors: frozenset[str] | None
    fingerprints: frozenset[str] | None
    tables: frozenset[str] | None
    renewal: str | None
    shufflers: frozenset[str] | None
    max_local_epsilon: Fraction
    max_shuffled_delta: Fraction

    def __init__(
        self,
        max_epsilon: Number,
        *,
        max_delta: Number = 0,
        disclosure: bool = False,
        no_guarantee: bool = False,
        public: Collection[str] = (),
        authors: Collection[str] | None = None,
        fingerprints: Collection[str] | None = None,
        tables: Collection[str] | None = None,
        renewal: str | None = None,
        shufflers: Collection[str] | None = None,
        max_local_epsilon: Number = MOST_LOCAL_EPSILON,
        max_shuffled_delta: Number = MOST_SHUFFLED_DELTA,
    ) -> None:
        """Numbers are exact: a float is taken by its shortest decimal form.

        InterfaceError for one that is negative or not finite, a text where a collection of texts is
        wanted, a key or a fingerprint other than 64 lower-case hexadecimal digits, and an
        unknown renewal.
        """
        if renewal not in RENEWALS:
            raise InterfaceError(f'renewal is "day", "month" or None, not {renewal!r:.40}')
        vars(self).update(
            max_epsilon=exact(max_epsilon, "max_epsilon"),
            max_delta=exact(max_delta, "max_delta"),
            disclosure=disclosure is True,
            no_guarantee=no_guarantee is True,
            public=_names("public", public),
            authors=_digests("authors", authors),
            fingerprints=_digests("fingerprints", fingerprints),
            tables=_names("tables", tables),
            renewal=renewal,
            shufflers=_digests("shufflers", shufflers),
            max_local_epsilon=exact(max_local_epsilon, "max_local_epsilon"),
            max_shuffled_delta=exact(max_shuffled_delta, "max_shuffled_delta"),
        )

    def require(self, survey: Published, pledge: Pledge | None = None) -> None:
        """NotAllowed, which depends on the survey and the pledge alone, for one that takes more
        than this, and for a pledge that is nobody's who is trusted, or does not fit the survey.

        Where authors are named, also SurveyError for a signature that is not its author's, and
        NotSupportedError where the library that checks signatures is missing.
        """
        if self.authors is not None and survey.author in self.authors:
            survey.verify()
        if pledge is not None:
            pledge.require(survey, self)
        for excess in self._excesses(survey, pledge):
            raise NotAllowed(f"survey {survey.table} {excess}; nothing was sent")

    def _excesses(self, survey: Published, pledge: Pledge | None) -> Iterator[str]:
        """Each demand of the survey beyond this policy, and how to allow it."""
        guarantee, command = survey.guarantee, "ldpsql randomize"
        asked, central = guarantee.epsilon, guarantee.central
        if pledge is not None and central is not None:
            asked = central.epsilon
        for name, allowed, own in (
            ("name", self.tables, survey.table),
            ("fingerprint", self.fingerprints, survey.fingerprint),
            ("author", self.authors, survey.author),
        ):
            if allowed is not None and own not in allowed:
                yield f"has another {name} than those that the policy allows"
        in_clear = [c.name for c in survey.record_schema.public if c.name not in self.public]
        if in_clear:
            yield (
                f"sends {', '.join(in_clear)} in clear, which the policy does not allow "
                f"(public=..., {command} --public {','.join(in_clear)})"
            )
        if asked is None:
            if not self.no_guarantee:
                yield (
                    "is not differentially private: a report can give a record away "
                    f"(no_guarantee=True, {command} --accept-no-guarantee, if nobody's privacy is "
                    "at stake)"
                )
        elif Fraction(asked.value) > self.max_epsilon:
            yield (
                f"asks for epsilon {asked} of every report, and the policy allows "
                f"{decimal_text(self.max_epsilon)} (max_epsilon=..., {command} --max-epsilon)"
            )
        if guarantee.delta > self.max_delta:
            yield (
                f"sends {', '.join(survey.schema.private_columns)} in clear with probability "
                f"{float(guarantee.delta):g} (max_delta=..., {command} --accept-disclosure)"
            )
        if guarantee.kind in ("uldp", "uldp-joint") and not self.disclosure:
            yield (
                f"does not protect all values of {', '.join(partly_sensitive(survey.schema))}: a "
                "report may give away those that the survey does not declare sensitive "
                f"(disclosure=True, {command} --accept-disclosure)"
            )


def partly_sensitive(schema: Schema) -> tuple[str, ...]:
    """The dimensions of which some values are not declared sensitive."""
    return tuple(d.name for d in schema.dimensions if 0 < len(d.sensitive) < d.size)


def _names(what: str, given: Collection[str] | None) -> frozenset[str] | None:
    # The characters of a text would allow columns that nobody meant.
    if isinstance(given, str | bytes):
        raise InterfaceError(f'{what} is a set of texts, as in {what}={{"city"}}, not one text')
    return None if given is None else frozenset(given)


def _digests(what: str, given: Collection[str] | None) -> frozenset[str] | None:
    names = _names(what, given)
    for name in names or ():
        if not isinstance(name, str) or not re.fullmatch("[0-9a-f]{64}", name):
            raise InterfaceError(
                f"{what} holds texts of 64 lower-case hexadecimal digits, not {name!r:.80}"
            )
    return names
