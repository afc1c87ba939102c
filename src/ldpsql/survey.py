"""Public. Sees parameters. A survey: what is asked of whom, at which epsilon, by which mechanism.

A survey is written as TOML by a person, designed once (`Survey.from_toml`), and published as
JSON with a fingerprint. Devices and the collector read the same JSON; whatever carries another
fingerprint is refused.
"""

from __future__ import annotations

import hashlib
import json
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from ldpsql.errors import FingerprintError, SurveyError
from ldpsql.mechanisms.base import Design, StagedDesign
from ldpsql.mechanisms.registry import mechanism
from ldpsql.privacy import Epsilon
from ldpsql.report import Histogram
from ldpsql.schema import Schema

FORMAT = 1
LARGEST_TEXT = 1 << 25
_ROLES = ("dimension", "measure", "public")


@dataclass(frozen=True)
class Survey:
    """A public, immutable survey.

    table: the name under which SQL asks it.  schema: its attributes.  design: the mechanism made
    ready for them.  options: what the survey file asked of the mechanism.
    accept_no_guarantee: whether whoever designed it knows that its mechanism promises nothing;
    without it such a survey is refused.  previous: fingerprint of the round before, for a survey
    of a later round.
    """

    table: str
    schema: Schema
    design: Design
    options: Mapping[str, Any] = field(default_factory=dict)
    accept_no_guarantee: bool = False
    previous: str | None = None

    def __post_init__(self) -> None:
        if isinstance(self.design, StagedDesign):
            if self.schema.public:
                raise SurveyError(
                    f"{self.design.name} asks in rounds and knows nothing of the public columns of "
                    "earlier ones; leave them out"
                )
            if (self.design.round > 1) != (self.previous is not None):
                raise SurveyError("a later round, and no other survey, names the one before")
        elif self.previous is not None:
            raise SurveyError(f"{self.design.name} does not ask in rounds")
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

    @property
    def epsilon(self) -> Epsilon:
        """Total budget of one person's report."""
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
            **({"accept_no_guarantee": True} if self.accept_no_guarantee else {}),
            **({"previous": self.previous} if self.previous else {}),
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
        text = _text(source)
        try:
            return cls._checked(json.loads(text))
        except (FingerprintError, SurveyError):
            raise
        except (ArithmeticError, LookupError, TypeError, ValueError, AttributeError) as error:
            problem = type(error).__name__
        except RecursionError:
            problem = "nested too deeply"
        raise SurveyError(f"not a survey: {problem}")

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
        accepted = data.get("accept_no_guarantee", False) is True
        return cls(data["table"], schema, design, data["options"], accepted, data.get("previous"))

    def next_round(self, histogram: Histogram) -> Survey:
        """The survey of the next round, from the reports of this one.

        It is a survey of its own, with its own fingerprint, and names this one. SurveyError for a
        mechanism that does not ask in rounds, and after the last round.
        """
        if not isinstance(self.design, StagedDesign):
            raise SurveyError(f"{self.table}: {self.design.name} does not ask in rounds")
        return replace(self, design=self.design.following(histogram), previous=self.fingerprint)

    @classmethod
    def from_toml(
        cls,
        source: str | Path,
        *,
        epsilon: str | None = None,
        mechanism: str | None = None,
        accept_no_guarantee: bool = False,
    ) -> Survey:
        """Design a survey from a survey file: TOML text (str), or the file itself (Path).

        epsilon and mechanism override the file; accept_no_guarantee may stand there too, and is
        needed for a mechanism that promises nothing. Raises SurveyError, which names the key, for a
        missing bound, an unknown key, or anything else that is not as it should be.
        """
        try:
            data = tomllib.loads(_text(source))
        except tomllib.TOMLDecodeError as error:
            raise SurveyError(f"the survey file is not valid TOML: {error}") from None
        head = data.pop("survey", None)
        if not isinstance(head, dict):
            raise SurveyError("the survey file has no [survey] table")
        unknown = set(data) - set(_ROLES)
        if unknown:
            raise SurveyError(f"unknown table [{min(unknown)}] in the survey file")
        table, options = head.pop("table", None), head.pop("options", {})
        budget = epsilon if epsilon is not None else head.pop("epsilon", None)
        name = mechanism if mechanism is not None else head.pop("mechanism", None)
        accepted = head.pop("accept_no_guarantee", False)
        if not isinstance(accepted, bool):
            raise SurveyError("[survey]: accept_no_guarantee must be true or false")
        for key in set(head) - {"epsilon", "mechanism"}:
            raise SurveyError(f"[survey]: unknown key {key!r}")
        for key, value in (("table", table), ("epsilon", budget), ("mechanism", name)):
            if value is None:
                raise SurveyError(f"[survey]: {key} is missing")
        if not isinstance(table, str) or not isinstance(options, dict):
            raise SurveyError("[survey]: table must be a string, options a table")
        return cls.of(
            table,
            Schema.from_keys(data),
            budget,
            str(name),
            options,
            accept_no_guarantee=accepted or accept_no_guarantee,
        )

    @classmethod
    def of(
        cls,
        table: str,
        schema: Schema,
        epsilon: str | Epsilon,
        name: str,
        options: Mapping[str, Any] | None = None,
        *,
        accept_no_guarantee: bool = False,
    ) -> Survey:
        """Design a survey from a schema.

        accept_no_guarantee: needed for a mechanism that promises nothing, refused for others.
        """
        budget = epsilon if isinstance(epsilon, Epsilon) else Epsilon.parse(epsilon)
        chosen = dict(options or {})
        design = mechanism(name).design(schema.record_domain, budget, chosen)
        return cls(table, schema, design, chosen, accept_no_guarantee)


def _text(source: str | Path) -> str:
    """The text itself, or the content of a file."""
    if isinstance(source, str):
        text = source
    else:
        try:
            with source.open(encoding="utf-8") as file:
                text = file.read(LARGEST_TEXT + 1)
        except (OSError, UnicodeDecodeError) as error:
            raise SurveyError(f"cannot read the survey {source}: {error}") from None
    if len(text) > LARGEST_TEXT:
        raise SurveyError(f"a survey has at most {LARGEST_TEXT} characters")
    return text


def _canonical(content: Mapping[str, Any]) -> str:
    return json.dumps(
        content, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False
    )
