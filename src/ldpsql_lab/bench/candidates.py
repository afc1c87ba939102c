"""The mechanisms that are compared, as they are asked for, and their surveys."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace

from ldpsql.algebra.record_domain import RecordDomain
from ldpsql.designer.auto import choose
from ldpsql.designer.fairness import weigh_fairly
from ldpsql.designer.file import SurveyFile
from ldpsql.mechanisms.registry import MECHANISMS, mechanism
from ldpsql.survey import AUTO, Survey
from ldpsql_device.epsilon import Epsilon
from ldpsql_device.errors import SurveyError


@dataclass(frozen=True)
class CandidateSpec:
    """A mechanism with options and an estimator, as it is asked for.

    options: in JSON, so that they can be compared and hashed.  estimator: None for the
    mechanism's own first.  is_named: whether somebody asked for it by name, which some
    mechanisms wait for.
    """

    mechanism: str
    options: str = "{}"
    estimator: str | None = None
    is_named: bool = True

    @classmethod
    def parse(cls, text: str) -> CandidateSpec:
        """NAME[:KEY=VALUE...][/ESTIMATOR], such as hio:inference=consistent or fourier/smooth."""
        head, _, estimator = text.partition("/")
        name, *pairs = head.split(":")
        options = {}
        for pair in pairs:
            key, equals, value = pair.partition("=")
            if not equals or not key:
                raise SurveyError(
                    f"an option of a mechanism is KEY=VALUE, not {pair!r} in {text!r}"
                )
            try:
                options[key] = json.loads(value)
            except ValueError:  # a plain word
                options[key] = value
        if name != AUTO:
            mechanism(name)
        elif options:
            raise SurveyError(f"{AUTO} chooses the options itself; leave out {pairs[0]!r}")
        return cls(name, json.dumps(options, sort_keys=True), estimator or None)

    @property
    def label(self) -> str:
        """As `parse` reads it."""
        pairs = [
            f":{key}={value if isinstance(value, str) else json.dumps(value)}"
            for key, value in json.loads(self.options).items()
        ]
        return "".join([self.mechanism, *pairs, f"/{self.estimator}" if self.estimator else ""])

    @property
    def waits_for_its_name(self) -> bool:
        """Whether nobody asked for it by name, and that may matter."""
        known = MECHANISMS.get(self.mechanism)
        return known is not None and known.can_be_reserved and not self.is_named

    def survey(self, file: SurveyFile, epsilon: Epsilon, users: int) -> Survey:
        """The survey of `file` with this mechanism at this epsilon.

        The file's options and estimator are taken where it names this mechanism and nobody gave
        others. SurveyError where the mechanism does not fit, or waits for its name in vain.
        """
        # Of a report, or of the shuffled batch where there is one.
        trust = None if file.shuffled is None else replace(file.shuffled, epsilon=epsilon)
        file = replace(file, epsilon=epsilon, shuffled=trust)
        is_as_in_file = file.mechanism == self.mechanism and self.options == "{}"
        estimator = self.estimator or (file.estimator if is_as_in_file else None)
        workload = weigh_fairly(file.workload, epsilon) if file.is_fair else file.workload
        if self.mechanism == AUTO:
            best = choose(workload, file.promise, users, estimator=estimator).best
            design, options = best.forecast.design, dict(best.options)
        else:
            options = dict(file.options) if is_as_in_file else json.loads(self.options)
            domain, recipe = RecordDomain.of(file.schema), mechanism(self.mechanism)
            reason = recipe.reserved(workload)
            if reason is not None and not self.is_named:
                raise SurveyError(reason)
            design = recipe.design(domain, file.promise, options, workload)
        if estimator is not None and estimator not in design.estimators:
            known = ", ".join(design.estimators)
            raise SurveyError(f"{design.name} has no estimator {estimator!r}; it has {known}")
        return Survey(
            file.table,
            design.domain.round_measures(file.schema),
            design,
            options,
            estimator,
            chosen=AUTO if self.mechanism == AUTO else None,
            accept_no_guarantee=design.guarantee.kind == "none",
            shuffled=file.shuffled,
        )


def read_candidates(names: Sequence[str]) -> tuple[CandidateSpec, ...]:
    """Those named, or every mechanism of the registry."""
    if not names:
        return tuple(CandidateSpec(name, is_named=False) for name in MECHANISMS)
    return tuple(dict.fromkeys(CandidateSpec.parse(name) for name in names))
