"""Both parts of a survey with a plan: randomized response over one attribute.

Its collector's part is made up, so that nothing but taking reports can be done with it.
"""

from __future__ import annotations

import pyarrow as pa
from support.surveys import ANYTHING

from ldpsql.algebra.record_domain import RecordDomain
from ldpsql.randomize.table import randomize_batch
from ldpsql.reports.survey_file import write_survey
from ldpsql_device.entropy import OsEntropy
from ldpsql_device.epsilon import Epsilon
from ldpsql_device.guarantee import Guarantee
from ldpsql_device.plan import WORDS, Arcs, Digit, Face, Part, Plan, Term
from ldpsql_device.schema import Schema
from ldpsql_device.shuffled import Shuffled
from ldpsql_device.survey import Survey, canonical, sha256

ONE = Epsilon.parse("1")
SCHEMA = Schema.from_keys(
    {
        "dimension": {"age": {"type": "int", "domain": [0, 9]}},
        "public": {"shop": {"type": "text"}},
    }
)
PRIVATE = Schema(SCHEMA.dimensions)
COLLECTOR = canonical({"ldpsql_collector": 1, "mechanism": "none that is known"})


def device_text(schema: Schema = SCHEMA, shuffled: Shuffled | None = None) -> str:
    """The part that devices fetch."""
    sizes = RecordDomain.of(schema).sizes
    part = Part((Digit((Term(0),), sizes[0]),), Arcs(0, (1,)))
    plan = Plan(sizes, (int(ONE.odds * WORDS),), (Face(1, (part,)),))
    guarantee = Guarantee("local", ONE)
    return write_survey("people", schema, guarantee, plan, sha256(COLLECTOR), shuffled=shuffled)


def both_texts(schema: Schema = SCHEMA) -> str:
    """Both parts as one text."""
    return f'{{"collector":{COLLECTOR},"survey":{device_text(schema)}}}'


def device_reports(count: int, text: str | None = None) -> pa.Table:
    """Reports of people, drawn and signed as devices do it, by a survey of `device_text`."""
    survey = Survey.from_json(text or device_text())
    columns = {"age": [i % 10 for i in range(count)]}
    if survey.schema.public:
        columns |= {"shop": ["north"] * count}
    return randomize_batch(survey, pa.table(columns), OsEntropy(), policy=ANYTHING)[0]
