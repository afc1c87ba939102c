"""A survey as its designer and the collector hold it: columns, design, and why it is what it is.

A survey is written as TOML by a person, designed once (`ldpsql.design`), and published in two
parts: one that devices fetch (`ldpsql_device.survey`), whose hash is the survey's fingerprint, and
one that only the collector needs, whose hash the first part names. Whatever carries another
fingerprint is refused.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from numpy.typing import NDArray

from ldpsql.algebra.estimate import Array
from ldpsql.algebra.record_domain import RecordDomain
from ldpsql.algebra.workload import Workload
from ldpsql.estimators.base import AnyDesign as Design
from ldpsql.estimators.base import Codes
from ldpsql.mechanisms.base import Promise, check_promise
from ldpsql.mechanisms.registry import mechanism
from ldpsql.mechanisms.rounds import Rounds
from ldpsql.reports.atomic import replace_file
from ldpsql.reports.persons import PersonRule
from ldpsql.reports.report import Histogram
from ldpsql.reports.survey_file import write_survey
from ldpsql.wording.guarantees import StatedGuarantee
from ldpsql_device.entropy import Entropy
from ldpsql_device.epsilon import Epsilon
from ldpsql_device.errors import FingerprintError, SurveyError
from ldpsql_device.plan import Plan
from ldpsql_device.schema import Schema, check_label, check_name
from ldpsql_device.shuffled import Shuffled
from ldpsql_device.signature import SigningKey, check_author
from ldpsql_device.survey import (
    ANY_DAY,
    PERIOD_COLUMN,
    Published,
    Schedule,
    canonical,
    check_period,
    parse_json,
    read_heading,
    read_text,
    require_hashes,
    require_keys,
    sha256,
    signed_text,
)
from ldpsql_device.survey import Survey as DeviceSurvey

FORMAT = 1
AUTO = "auto"
SHUFFLE_NOT_PROTECTED = (
    "the central promise needs a shuffler that does not work with the collector, and reports that "
    "carry nothing else: no name, address, time or length",
    "a person whose report the collector sees alone has the local promise only",
    "the promises of all reports of a person who answers more than once add up",
)
CENSUS = "census"
_DAMAGED = (ArithmeticError, LookupError, TypeError, ValueError, AttributeError)
Recall = Callable[[int], Mapping[str, Array] | None]
"""Finds what a version derived of a design (`Decoding`), which was checked; None for nothing."""
_HEAD, _MIDDLE = '{"collector":', ',"survey":'
_NEEDED = ("ldpsql_collector", "mechanism", "epsilon", "options", "decoder")
_OPTIONAL = (
    "estimator",
    "population",
    "accept_no_guarantee",
    "chosen",
    "workload",
    "users",
    "person",
)


@dataclass(frozen=True, repr=False)
class Survey(Published):
    """A public, immutable survey.

    table: the name under which SQL asks it.  schema: its attributes.  design: the mechanism made
    ready for them.  options: of the mechanism, as the survey file or `auto` chose them.
    estimator: which of the design's estimators answers unless the asker says otherwise; None for
    its first.  population: "census" where those who answer are all that answers are about, else
    None.  accept_no_guarantee: whether whoever designed it knows that its mechanism promises
    nothing; without it such a survey is refused.  previous, first: fingerprints of the round before
    and of the first one, for a survey of a later round.  chosen: "auto" where the mechanism was
    chosen by its expected error, else None.  workload: the survey file's table [workload], or None.
    users: how many people were expected, or None.  chosen, workload and users say why the design is
    what it is; nothing is derived from them.  shuffled: what is promised besides once reports are
    shuffled, or None where no shuffler is trusted; checked with the accountant at birth.
    schedule: when it is answered.  author, signature: see `sign`.  label: of the table, or None.
    person: which rows of a table are one person's, where there are several; it is about data that
    devices do not have, so it is in the collector's part.
    """

    table: str
    schema: Schema
    design: Design
    options: Mapping[str, Any] = field(default_factory=dict)
    estimator: str | None = None
    population: str | None = None
    accept_no_guarantee: bool = False
    previous: str | None = None
    first: str | None = None
    chosen: str | None = None
    workload: Mapping[str, Any] | None = None
    users: int | None = None
    shuffled: Shuffled | None = None
    schedule: Schedule = ANY_DAY
    author: str | None = None
    signature: str | None = None
    label: str | None = None
    person: PersonRule | None = None

    def __post_init__(self) -> None:
        check_author(self.author, self.signature)
        check_label(self.label)
        # While it is designed, the period's column is there before the period.
        if self.schedule.period or PERIOD_COLUMN not in self.schema.public[:1]:
            check_period(self.schema, self.schedule)
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
        check_name(self.table, "table")
        if self.design.domain != RecordDomain.of(self.schema):
            raise SurveyError("the design was made for another schema")
        if self.estimator is not None and self.estimator not in self.design.estimators:
            raise SurveyError(
                f"[survey]: estimator must be one of {', '.join(self.design.estimators)}, which "
                f"{self.design.name} has, not {self.estimator!r}"
            )
        if self.population not in (None, CENSUS):
            raise SurveyError(
                f"[survey]: population must be {CENSUS!r}, or be left out where those who answer "
                f"are a sample, not {self.population!r}"
            )
        if self.population == CENSUS and self.schedule.sample is not None:
            raise SurveyError(
                "[survey]: with sample those who answer are a part of the people, so leave "
                "population out"
            )
        if self.chosen not in (None, AUTO):
            raise SurveyError(f"a mechanism is chosen by {AUTO!r} or by a person")
        check_users(self.users)
        if self.person is not None:
            self.person.require(self.schema)
        if not isinstance(self.workload, Mapping | None):
            raise SurveyError("[workload] must be a table")

    def _check_rounds(self) -> None:
        """SurveyError unless the survey names the rounds before it, if there are any."""
        named = (self.previous, self.first)
        require_hashes(*named)
        if not isinstance(self.design, Rounds):
            if named != (None, None):
                raise SurveyError(f"{self.design.name} does not ask in rounds")
            return
        if self.schema.public:
            raise SurveyError(
                f"{self.design.name} asks in rounds and knows nothing of the public columns of "
                "earlier ones; leave them and the period out"
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
                'trust = "shuffle" allows no [public] columns and no period: they travel in clear, '
                "and a report would hide only among those with the same values"
            )
        if stated not in (None, self.shuffled.central):
            raise SurveyError(f"{self.design.name} was made for another promise: {stated}")
        check_promise(self.design, self.shuffled)

    @cached_property
    def guarantee(self) -> StatedGuarantee:  # type: ignore[override]
        """Everything a person is promised: by the report alone, and once it is shuffled."""
        own = self.design.guarantee
        if self.shuffled is None:
            return own
        beyond = (*own.not_protected, *SHUFFLE_NOT_PROTECTED)
        return replace(own, central=self.shuffled.central, not_protected=beyond)

    def draw(self, codes: Codes, entropy: Entropy) -> Sequence[NDArray[Any]]:
        """One report per row of `codes`, as a column per integer of a report."""
        return list(self.design.randomize(codes, entropy).columns.values())

    @property
    def epsilon(self) -> Epsilon:
        """Total budget of one person's report against whoever sees that report: the local one.

        It is what a person's ledger spends, for a shuffled survey too: whether the shuffler kept
        apart from the collector, and who else took part, no device can know.
        """
        return self.design.epsilon

    @cached_property
    def plan(self) -> Plan:  # type: ignore[override]
        """The plan that devices interpret."""
        return self.design.plan

    @cached_property
    def collector_text(self) -> str:
        """The part of the published survey that only the collector needs, as JSON."""
        optional = {
            "estimator": self.estimator,
            "population": self.population,
            "accept_no_guarantee": self.accept_no_guarantee or None,
            "chosen": self.chosen,
            "workload": None if self.workload is None else dict(self.workload),
            "users": self.users,
            "person": None if self.person is None else self.person.to_keys(),
        }
        content = {
            "ldpsql_collector": FORMAT,
            "mechanism": self.design.name,
            "epsilon": str(self.epsilon),
            "options": dict(self.options),
            "decoder": {k: v for k, v in self.design.to_json().items() if k != "plan"},
            **{key: value for key, value in optional.items() if value is not None},
        }
        return canonical(content)

    @cached_property
    def device_text(self) -> str:  # type: ignore[override]
        """The part that devices fetch, which names the hash of the other one, as JSON."""
        return write_survey(
            self.table,
            self.schema,
            self.design.guarantee,
            self.plan,
            sha256(self.collector_text),
            previous=self.previous,
            first=self.first,
            shuffled=self.shuffled,
            schedule=self.schedule,
            author=self.author,
            signature=self.signature,
            label=self.label,
        )

    @cached_property
    def fingerprint(self) -> str:  # type: ignore[override]
        """SHA-256 (64 hexadecimal digits) of the part that devices fetch."""
        return sha256(self.device_text)

    def to_json(self) -> str:
        """Both parts in one object, for a store or a pipe."""
        return f"{_HEAD}{self.collector_text}{_MIDDLE}{self.device_text}}}"

    def write(self, path: str | Path) -> Path:
        """Write the part for devices to `path` and the collector's beside it; return the latter's
        path. Raises OSError as the file system does."""
        path = Path(path)
        beside = collector_path(path)
        for target, text in ((beside, self.collector_text), (path, self.device_text)):
            with replace_file(target) as temporary:
                temporary.write_text(text, encoding="utf-8")
        return beside

    @classmethod
    def from_json(cls, source: str | Path) -> Survey:
        """Read a published survey: JSON text (str) of both parts, or a file (Path).

        A file holds both parts, or that for devices with the collector's beside it. A str is never
        taken for a path: a survey may come from somebody else, and must not name files here. Raises
        SurveyError for anything that is not a survey, FingerprintError for a collector's part that
        is not the one that the survey names.
        """
        device, rest = read_parts(source)
        where = f"{source}: " if isinstance(source, Path) else ""
        if rest is None and isinstance(source, Path):
            beside = collector_path(source)
            raise SurveyError(
                f"{where}its collector's part is missing: put {beside.name}, which `ldpsql design "
                f"-o` wrote with it, into {beside.parent}"
            )
        try:
            if rest is None:
                raise SurveyError("not a survey with its collector's part")
            return cls._restore(device, rest)
        except SurveyError as error:
            raise SurveyError(f"{where}{error}") from None
        except _DAMAGED as error:
            problem = type(error).__name__
        raise SurveyError(f"{where}not a survey: the collector's part is damaged ({problem})")

    @classmethod
    def from_kept(cls, text: str, fingerprint: str, recall: Recall = lambda _: None) -> Survey:
        """Read what `to_json` wrote and a store kept; raises as `from_json`.

        fingerprint: that the store wrote down when the survey came. A part for devices that has it
        is that survey's canonical JSON, letter for letter, and need not be parsed with care for
        its form and written anew. What it says is checked as ever, its odds among it, unless
        `recall` returns what was derived of the design when that was done: then the plan is read,
        and checked, when something asks for it.
        """
        with suppress(SurveyError, *_DAMAGED, RecursionError):
            rest, end = json.JSONDecoder().raw_decode(text, len(_HEAD))
            device_text = text[end + len(_MIDDLE) : -1]
            if text[end:].startswith(_MIDDLE) and sha256(device_text) == fingerprint:
                collector = sha256(text[len(_HEAD) : end])
                kept = cls._recall(device_text, collector, rest, recall)
                if kept is not None:
                    return kept
                device = DeviceSurvey.from_data(json.loads(device_text), device_text)
                if collector == device.collector:
                    return cls._restore(device, rest)
        survey = cls.from_json(text)
        if survey.fingerprint != fingerprint:  # its reports would be read by another plan
            raise SurveyError("its text is not the one that its fingerprint names")
        return survey

    @classmethod
    def _recall(cls, device_text: str, collector: str, rest: Any, recall: Recall) -> Survey | None:
        """A survey that was checked before, without its plan; None where too little was kept.

        collector: SHA-256 of its other part, `rest`.
        """
        recipe = mechanism(rest["mechanism"])
        derived = None if recipe.decoding is None else recall(recipe.decoding)
        if derived is None:
            return None
        # Canonical JSON has its keys in order, and a quote within a string behind a backslash.
        start, end = device_text.find(',"plan":{'), len(device_text)
        for following in ("promise", "previous"):
            place = device_text.rfind(f',"{following}":', start, end)
            end = place if place >= 0 else end
        heading = json.loads(device_text[:start] + device_text[end:])
        device = SimpleNamespace(device_text=device_text, **read_heading(heading))
        if collector != device.collector:
            return None
        design = recipe.restore_kept(
            RecordDomain.of(device.schema),
            Epsilon.parse(rest["epsilon"]),
            rest["decoder"],
            derived,
            lambda: DeviceSurvey.from_data(json.loads(device_text), device_text).plan,
        )
        return None if design is None else cls._join(device, design, rest)

    @classmethod
    def _restore(cls, device: DeviceSurvey, rest: Any) -> Survey:
        """A survey from its two parts, of which the first names the second."""
        require_keys(rest, "the collector's part", _NEEDED, _OPTIONAL)
        if rest["ldpsql_collector"] != FORMAT:
            raise SurveyError("not a survey: its collector's part is of an unknown version")
        if not isinstance(rest["options"], dict):
            raise SurveyError("not a survey: options must be an object")
        domain, epsilon = RecordDomain.of(device.schema), Epsilon.parse(rest["epsilon"])
        decoder = {**rest["decoder"], "plan": device.plan}
        design = mechanism(rest["mechanism"]).restore(domain, epsilon, decoder)
        survey = cls._join(device, design, rest)
        if survey.plan != device.plan:  # devices follow the latter, and answers would be wrong
            raise SurveyError(
                f"not a survey: its decoder, as this version of {design.name} makes it, does not "
                "fit its plan; use the version that designed it"
            )
        return survey

    @classmethod
    def _join(cls, device: DeviceSurvey | SimpleNamespace, design: Design, rest: Any) -> Survey:
        """A survey from what its parts say, and its design."""
        survey = cls(
            device.table,
            device.schema,
            design,
            rest["options"],
            estimator=rest.get("estimator"),
            population=rest.get("population"),
            accept_no_guarantee=rest.get("accept_no_guarantee", False) is True,
            previous=device.previous,
            first=device.first,
            chosen=rest.get("chosen"),
            workload=rest.get("workload"),
            users=rest.get("users"),
            shuffled=device.shuffled,
            schedule=device.schedule,
            author=device.author,
            signature=device.signature,
            label=device.label,
            person=_read_person(rest),
        )
        own, stated = survey.design.guarantee, device.guarantee
        keeps = (own.kind, own.epsilon) == (stated.kind, stated.epsilon)
        if not keeps or own.delta > stated.delta:
            raise SurveyError("not a survey: its promise is not that of its mechanism")
        # The texts as they were read: the hash of the second was compared.
        vars(survey).update(device_text=device.device_text, collector_text=canonical(rest))
        return survey

    def next_round(self, histogram: Histogram, key: SigningKey | None = None) -> Survey:
        """The survey of the next round, from the reports of this one.

        It is a survey of its own, with its own fingerprint, and names this one and the first.
        key: its author's, who must be that of this one. SurveyError for another one, for a
        mechanism that does not ask in rounds, and after the last round.
        """
        if not isinstance(self.design, Rounds):
            raise SurveyError(f"{self.table}: {self.design.name} does not ask in rounds")
        if self.author != (key.author if key else None):
            whose = "nobody has signed" if self.author is None else f"{self.author} has signed"
            raise SurveyError(
                f"{self.table}: all rounds have one author; {whose} the first, so sign this one "
                f"{'with no key' if self.author is None else 'with the same key'}"
            )
        following = replace(
            self,
            design=self.design.design_next(histogram),
            previous=self.fingerprint,
            first=self.first or self.fingerprint,
            author=None,
            signature=None,
        )
        return following if key is None else following.sign(key)

    def sign(self, key: SigningKey) -> Survey:
        """The survey with its author's public key and signature, and so another fingerprint."""
        signed = sign_device_part(self, key)
        return replace(self, author=signed.author, signature=signed.signature)

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
        weigh: Callable[[], Workload] | None = None,
        accept_no_guarantee: bool = False,
    ) -> Survey:
        """Design a survey from a schema, with a mechanism of the registry.

        epsilon: of every report; or, as `Shuffled`, what is promised once reports are shuffled,
        from which the local epsilon follows. workload: what it should answer best; None for
        `Workload.everyday`. weigh: see `Recipe.design`. accept_no_guarantee: needed for a mechanism
        that promises nothing, refused for others.
        """
        shuffled = epsilon if isinstance(epsilon, Shuffled) else None
        if isinstance(epsilon, Shuffled):
            promise: Promise = epsilon.central
        else:
            promise = epsilon if isinstance(epsilon, Epsilon) else Epsilon.parse(epsilon)
        chosen = dict(options or {})
        design = mechanism(name).design(RecordDomain.of(schema), promise, chosen, workload, weigh)
        return cls(
            table,
            design.domain.round_measures(schema),
            design,
            chosen,
            accept_no_guarantee=accept_no_guarantee,
            shuffled=shuffled,
        )


def check_users(users: Any) -> None:
    """SurveyError for a number of expected people that is none; None stands for no number."""
    if users is not None and (type(users) is not int or users < 1):
        raise SurveyError("[survey]: users must be a whole number of people, at least 1")


def sign_device_part(survey: Published, key: SigningKey) -> DeviceSurvey:
    """The part for devices, with its author's public key and signature in place of others."""
    data = {**json.loads(survey.device_text), "author": key.author}
    signed = DeviceSurvey.from_data({**data, "signature": key.sign(signed_text(data))})
    signed.verify()
    return signed


def read_device_part(source: str | Path) -> DeviceSurvey:
    """The part of a published survey that is for devices: text or a file of that part, or of
    both."""
    return _read_device_part(source)[0]


def _read_device_part(source: str | Path) -> tuple[DeviceSurvey, Any]:
    """The part for devices, and the other one where the same text holds it, else None."""
    text = read_text(source)
    try:
        data = parse_json(text, floats=True)
        if isinstance(data, dict) and set(data) == {"collector", "survey"}:
            return DeviceSurvey.from_data(data["survey"]), data["collector"]
        return DeviceSurvey.from_data(data), None
    except SurveyError as error:
        where = f"{source}: " if isinstance(source, Path) else ""
        raise SurveyError(f"{where}{error}") from None


def read_person(path: Path) -> PersonRule | None:
    """Which rows are one person's, as the collector's part of a published survey says; None where
    it says nothing, or is not there. Errors as of `read_parts`."""
    _, rest = read_parts(path)
    return _read_person(rest) if isinstance(rest, dict) else None


def _read_person(rest: Mapping[str, Any]) -> PersonRule | None:
    said = rest.get("person")
    if not isinstance(said, Mapping | None):
        raise SurveyError("not a survey: person must be an object")
    return None if said is None else PersonRule.from_keys(said)


def read_parts(source: str | Path) -> tuple[DeviceSurvey, Any]:
    """The part for devices, and the data of the collector's part: of the same text, or of the file
    that lies beside it; None where there is none.

    SurveyError names the file at fault, FingerprintError a collector's part that is not the one
    that the survey names.
    """
    device, rest = _read_device_part(source)
    where = f"{source}: " if isinstance(source, Path) else ""
    if rest is None and isinstance(source, Path) and collector_path(source).exists():
        where = f"{source}: its collector's part {collector_path(source)}: "
        try:
            rest = parse_json(read_text(collector_path(source)), floats=True)
        except SurveyError as error:
            raise SurveyError(f"{where}{error}") from None
    if rest is not None and sha256(canonical(rest)) != device.collector:
        raise FingerprintError(f"{where}the collector's part is not the one that the survey names")
    return device, rest


def collector_path(path: Path) -> Path:
    """Where the collector's part of a survey lies: people.collector.json by people.survey.json."""
    stem = path.name.removesuffix(".json").removesuffix(".survey")
    return path.with_name(f"{stem}.collector.json")
