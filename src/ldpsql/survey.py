"""Public. Sees parameters. A survey: what is asked of whom, at which epsilon, by which mechanism.

A survey is written as TOML by a person, designed once (`ldpsql.design`), and published as JSON
with a fingerprint. Devices and the collector read the same JSON; whatever carries another
fingerprint is refused.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from ldpsql.mechanisms.base import Codes, Design, Entropy
from ldpsql.mechanisms.promise import check_promise, design_for
from ldpsql.mechanisms.registry import mechanism
from ldpsql.recipes.base import Promise
from ldpsql.report import Histogram
from ldpsql.workload import Workload
from ldpsql_device.epsilon import Epsilon
from ldpsql_device.errors import FingerprintError, SurveyError
from ldpsql_device.guarantee import SHUFFLE_NOT_PROTECTED, Guarantee, Shuffled
from ldpsql_device.schema import Schema

FORMAT = 1
LARGEST_TEXT = 1 << 25
AUTO = "auto"
_ROLES = ("dimension", "measure", "public")


@dataclass(frozen=True)
class Survey:
    """A public, immutable survey.

    table: the name under which SQL asks it.  schema: its attributes.  design: the mechanism made
    ready for them.  options: of the mechanism, as the survey file or `auto` chose them.
    estimator: which of the design's estimators answers unless the asker says otherwise; None for
    its first.  accept_no_guarantee: whether whoever designed it knows that its mechanism promises
    nothing; without it such a survey is refused.  previous, first: fingerprints of the round before
    and of the first one, for a survey of a later round.  chosen: "auto" where the mechanism was
    chosen by its expected error, else None.  workload: the survey file's table [workload], or None.
    users: how many people were expected, or None.  chosen, workload and users say why the design is
    what it is; nothing is derived from them.  shuffled: what is promised besides once reports are
    shuffled, or None where no shuffler is trusted; checked with the accountant at birth.
    """

    table: str
    schema: Schema
    design: Design
    options: Mapping[str, Any] = field(default_factory=dict)
    estimator: str | None = None
    accept_no_guarantee: bool = False
    previous: str | None = None
    first: str | None = None
    chosen: str | None = None
    workload: Mapping[str, Any] | None = None
    users: int | None = None
    shuffled: Shuffled | None = None

    def __post_init__(self) -> None:
        self._check_rounds()
        self._check_trust()
        promises = self.design.guarantee.kind != "none"
        if not promises and not self.accept_no_guarantee:
            raise SurveyError(
                f"{self.design.name} is not differentially private: a report can tell records "
                "apart for certain. Take another mechanism, or say accept_no_guarantee = true "
                "under [survey] (ldpsql design --accept-no-guarantee) if nobody's privacy is at "
                "stake"
            )
        if promises and self.accept_no_guarantee:
            raise SurveyError(
                f"accept_no_guarantee is for mechanisms without one; {self.design.name} has one"
            )
        if not self.table.isidentifier() or len(self.table) > 100:
            raise SurveyError(f"table must be a plain name, not {self.table!r}")
        if self.design.domain != self.schema.record_domain:
            raise SurveyError("the design was made for another schema")
        if self.estimator is not None and self.estimator not in self.design.estimators:
            raise SurveyError(
                f"[survey]: estimator must be one of {', '.join(self.design.estimators)}, which "
                f"{self.design.name} has, not {self.estimator!r}"
            )
        if self.chosen not in (None, AUTO):
            raise SurveyError(f"a mechanism is chosen by {AUTO!r} or by a person")
        check_users(self.users)
        if not isinstance(self.workload, Mapping | None):
            raise SurveyError("[workload] must be a table")

    def _check_rounds(self) -> None:
        """SurveyError unless the survey names the rounds before it, if there are any."""
        named = (self.previous, self.first)
        if not all(name is None or _is_fingerprint(name) for name in named):
            raise SurveyError("not a survey: an earlier round is named by its fingerprint")
        if not self.design.asks_in_rounds:
            if named != (None, None):
                raise SurveyError(f"{self.design.name} does not ask in rounds")
            return
        if self.schema.public:
            raise SurveyError(
                f"{self.design.name} asks in rounds and knows nothing of the public columns of "
                "earlier ones; leave them out"
            )
        if any((self.design.round > 1) != (name is not None) for name in named):
            raise SurveyError(
                "a later round, and no other survey, names the one before and the first one"
            )
        if (self.design.round == 2) != (self.previous is not None and self.previous == self.first):
            raise SurveyError("the first round is the one before the second, and no other")

    def _check_trust(self) -> None:
        """SurveyError unless what is promised besides the local promise holds."""
        stated = self.design.guarantee.central
        if self.shuffled is None:
            if stated is not None:
                raise SurveyError(
                    f'{self.design.name} was made for shuffled reports: say trust = "shuffle"'
                )
            return
        if self.users is not None:
            raise SurveyError(
                "a survey of shuffled reports says in its trust how many users it has"
            )
        if self.schema.public:
            raise SurveyError(
                'trust = "shuffle" allows no [public] columns: they travel in clear, and a report '
                "would hide only among those with the same values"
            )
        if stated not in (None, self.shuffled.central):
            raise SurveyError(f"{self.design.name} was made for another promise: {stated}")
        check_promise(self.design, self.shuffled)

    @property
    def trust(self) -> str:
        """Whom people need to trust: "local" for nobody, "shuffle" for a shuffler."""
        return "local" if self.shuffled is None else "shuffle"

    @cached_property
    def guarantee(self) -> Guarantee:
        """Everything a person is promised: by the report alone, and once it is shuffled."""
        own = self.design.guarantee
        if self.shuffled is None:
            return own
        beyond = (*own.not_protected, *SHUFFLE_NOT_PROTECTED)
        return replace(own, central=self.shuffled.central, not_protected=beyond)

    @property
    def report_columns(self) -> tuple[str, ...]:
        """Names of the integers of a report."""
        return self.design.report_format.columns

    @property
    def report_widths(self) -> tuple[int, ...]:
        """Bits of the unsigned storage type of each of them."""
        return self.design.report_format.widths

    def draw(self, codes: Codes, entropy: Entropy) -> Sequence[NDArray[Any]]:
        """One report per row of `codes`, as a column per integer of a report."""
        return list(self.design.randomize(codes, entropy).columns.values())

    @property
    def chain(self) -> str:
        """Fingerprint of the first of the rounds that this survey is one of; its own for that one,
        and for a survey that does not ask in rounds. A person answers one survey of a chain."""
        return self.first or self.fingerprint

    @property
    def epsilon(self) -> Epsilon:
        """Total budget of one person's report against whoever sees that report: the local one.

        It is what a person's ledger spends, for a shuffled survey too: whether the shuffler kept
        apart from the collector, and who else took part, no device can know.
        """
        return self.design.epsilon

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 (64 hexadecimal digits) of the survey's canonical JSON."""
        return hashlib.sha256(_canonical(self._content()).encode()).hexdigest()

    def _content(self) -> dict[str, Any]:
        return {
            "format": FORMAT,
            "table": self.table,
            "epsilon": str(self.epsilon),
            "mechanism": self.design.name,
            "options": dict(self.options),
            **self.schema.to_keys(),
            "order": {
                "dimension": [d.name for d in self.schema.dimensions],
                "measure": [m.name for m in self.schema.measures],
                "public": [p.name for p in self.schema.public],
            },
            "design": dict(self.design.to_json()),
            **{key: value for key, value in self._optional().items() if value is not None},
        }

    def _optional(self) -> dict[str, Any]:
        """What a survey need not say; one that does not has none of these keys."""
        return {
            "estimator": self.estimator,
            "accept_no_guarantee": self.accept_no_guarantee or None,
            "previous": self.previous,
            "first": self.first,
            "chosen": self.chosen,
            "workload": None if self.workload is None else dict(self.workload),
            "users": self.users,
            "trust": None if self.shuffled is None else self.shuffled.to_json(),
        }

    def to_json(self) -> str:
        """The survey as published, with its fingerprint."""
        content = {**self._content(), "fingerprint": self.fingerprint}
        return json.dumps(content, indent=1, ensure_ascii=False, allow_nan=False) + "\n"

    @classmethod
    def from_json(cls, source: str | Path) -> Survey:
        """Read a published survey: JSON text (str), or the file that holds it (Path).

        A str is never taken for a path: a survey may come from somebody else, and must not name
        files here. Raises SurveyError for anything that is not a survey, FingerprintError for
        one that was changed after it was published.
        """
        text, where = text_of(source), f"{source}: " if isinstance(source, Path) else ""
        try:
            return cls._checked(json.loads(text))
        except (FingerprintError, SurveyError) as error:
            raise type(error)(f"{where}{error}") from None
        except json.JSONDecodeError:
            problem = "it is no JSON (make one with `ldpsql design`)"
        except (ArithmeticError, LookupError, TypeError, ValueError, AttributeError) as error:
            problem = type(error).__name__
        except RecursionError:
            problem = "nested too deeply"
        raise SurveyError(f"{where}not a survey: {problem}")

    @classmethod
    def _checked(cls, data: Any) -> Survey:
        """A survey from its JSON, if the fingerprint is that of the content."""
        if not isinstance(data, dict) or "fingerprint" not in data:
            raise SurveyError("not a survey: no fingerprint (make one with `ldpsql design`)")
        claimed = data.pop("fingerprint")
        if data.get("format") != FORMAT:
            raise SurveyError("not a survey of a format that this version reads")
        if hashlib.sha256(_canonical(data).encode()).hexdigest() != claimed:
            raise FingerprintError(
                "the survey was changed after it was published: its fingerprint is not that of "
                "its content"
            )
        survey = cls._restored(data)
        if survey.fingerprint != claimed:
            raise SurveyError("not a survey: its content is not what this version would write")
        return survey

    @classmethod
    def _restored(cls, data: Mapping[str, Any]) -> Survey:
        keys = {role: {name: data[role][name] for name in data["order"][role]} for role in _ROLES}
        schema = Schema.from_keys(keys)
        design = mechanism(data["mechanism"]).restore(
            schema.record_domain, Epsilon.parse(data["epsilon"]), data["design"]
        )
        if not isinstance(data["options"], dict):
            raise SurveyError("not a survey: options must be an object")
        kept = ("estimator", "previous", "first", "chosen", "workload", "users")
        optional = {key: data.get(key) for key in kept}
        accepted = data.get("accept_no_guarantee", False) is True
        trust = data.get("trust")
        return cls(
            data["table"],
            schema,
            design,
            data["options"],
            accept_no_guarantee=accepted,
            shuffled=None if trust is None else Shuffled.from_json(trust),
            **optional,
        )

    def next_round(self, histogram: Histogram) -> Survey:
        """The survey of the next round, from the reports of this one.

        It is a survey of its own, with its own fingerprint, and names this one and the first.
        SurveyError for a
        mechanism that does not ask in rounds, and after the last round.
        """
        if not self.design.asks_in_rounds:
            raise SurveyError(f"{self.table}: {self.design.name} does not ask in rounds")
        following = self.design.following(histogram)
        return replace(self, design=following, previous=self.fingerprint, first=self.chain)

    @classmethod
    def of(
        cls,
        table: str,
        schema: Schema,
        epsilon: str | Epsilon | Shuffled,
        name: str,
        options: Mapping[str, Any] | None = None,
        workload: Workload | None = None,
        *,
        accept_no_guarantee: bool = False,
    ) -> Survey:
        """Design a survey from a schema, with a mechanism of the registry.

        epsilon: of every report; or, as `Shuffled`, what is promised once reports are shuffled,
        from which the local epsilon follows. workload: what it should answer best; None for
        `Workload.everyday`. accept_no_guarantee: needed for a mechanism that promises nothing,
        refused for others.
        """
        shuffled = epsilon if isinstance(epsilon, Shuffled) else None
        if isinstance(epsilon, Shuffled):
            promise: Promise = epsilon.central
        else:
            promise = epsilon if isinstance(epsilon, Epsilon) else Epsilon.parse(epsilon)
        chosen = dict(options or {})
        design = design_for(mechanism(name), schema.record_domain, promise, chosen, workload)
        return cls(
            table,
            schema,
            design,
            chosen,
            accept_no_guarantee=accept_no_guarantee,
            shuffled=shuffled,
        )


def check_users(users: Any) -> None:
    """SurveyError for a number of expected people that is none; None stands for no number."""
    if users is not None and (type(users) is not int or users < 1):
        raise SurveyError("[survey]: users must be a whole number of people, at least 1")


def text_of(source: str | Path) -> str:
    """The text itself, or the content of a file; SurveyError where it cannot be read."""
    if isinstance(source, str):
        text = source
    else:
        try:
            with source.open(encoding="utf-8") as file:
                text = file.read(LARGEST_TEXT + 1)
        except OSError as error:
            reason = error.strerror or "no reason given"
            raise SurveyError(f"cannot read the survey {source}: {reason}") from None
        except UnicodeDecodeError:
            raise SurveyError(f"cannot read the survey {source}: it is no UTF-8 text") from None
    if len(text) > LARGEST_TEXT:
        raise SurveyError(f"a survey has at most {LARGEST_TEXT} characters")
    return text


def _is_fingerprint(name: Any) -> bool:
    return isinstance(name, str) and re.fullmatch("[0-9a-f]{64}", name) is not None


def _canonical(content: Mapping[str, Any]) -> str:
    return json.dumps(
        content, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False
    )
