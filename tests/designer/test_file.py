"""Survey files: what they may say, and what comes of them."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
from support.surveys import integer, measure, survey_toml

import ldpsql
from ldpsql import designer
from ldpsql.algebra.record_domain import RecordDomain
from ldpsql.designer import design, design_survey
from ldpsql.designer.file import _COLUMN_KEYS, read_file
from ldpsql.errors import QueryError
from ldpsql.mechanisms.registry import MECHANISMS
from ldpsql.reports.persons import PersonRule
from ldpsql.survey import Survey, read_person
from ldpsql_device.epsilon import Epsilon
from ldpsql_device.errors import FingerprintError, SurveyError
from ldpsql_device.survey import canonical, sha256

TOML = """
[survey]
table = "app"
epsilon = "0.7"
[dimension.age]
type = "int"
domain = [18, 41]
[dimension.member]
type = "bool"
"""
WORKLOAD = """
[workload]
queries = ["SELECT COUNT(*) FROM app WHERE age BETWEEN 20 AND 29"]
max_predicates = 1
[workload.kinds]
age = "prefix"
"""


def named(mechanism: str, more: str = "") -> str:
    return TOML.replace("[dimension.age]", f'mechanism = "{mechanism}"\n{more}[dimension.age]')


def few_ages(text: str) -> str:
    """A file over a domain for which all mechanisms are soon compared."""
    return text.replace("[18, 41]", "[18, 25]")


@pytest.fixture
def compare(monkeypatch):
    """Has `auto` compare some mechanisms alone."""

    def only(*names):
        few = {name: MECHANISMS[name] for name in names}
        monkeypatch.setattr(designer.auto, "MECHANISMS", few)

    return only


def test_the_library_offers_it_by_name():
    assert ldpsql.design is design
    assert ldpsql.design(named("hio")).design.name == "hio"


def test_a_path_may_be_a_str(tmp_path):
    file = tmp_path / "app.toml"
    file.write_text(named("hio"))
    assert ldpsql.design(str(file)).fingerprint == ldpsql.design(file).fingerprint
    ldpsql.design(str(file)).write(str(tmp_path / "app.survey.json"))
    assert (tmp_path / "app.collector.json").exists()
    with pytest.raises(SurveyError, match=r"cannot read the survey .*none\.toml"):
        ldpsql.design(str(tmp_path / "none.toml"))


def test_importing_and_designing_load_no_more_than_they_need():
    """Neither the designer before it is asked for, nor the parser for a design without SQL, nor
    what only some mechanisms need."""
    seen = "print([name for name in {} if name in sys.modules])"
    code = f"import sys, ldpsql; {seen.format(['ldpsql.designer'])}; "
    code += f"ldpsql.design({named('hio')!r}); {seen.format(['sqlglot', 'scipy.optimize'])}"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n[]\n"


@pytest.mark.slow
def test_a_file_that_names_no_mechanism_gets_the_best_one():
    survey = design(few_ages(TOML))
    assert survey == design(few_ages(named("auto")))
    assert survey == design(few_ages(named("hgrr")), mechanism="auto")
    assert survey.chosen == "auto"
    assert survey.design.name != "auto"
    published = json.loads(survey.collector_text)
    assert (published["chosen"], published["mechanism"]) == ("auto", survey.design.name)
    assert published["options"] == dict(survey.options)
    assert Survey.from_json(survey.to_json()) == survey


def test_the_chosen_mechanism_can_be_named_with_its_options(compare):
    """The same design; the survey says that a person chose it."""
    compare("fourier", "hgrr", "grr")
    by_auto = design(few_ages(TOML))
    options = "".join(f"{k} = {json.dumps(v)}\n" for k, v in by_auto.options.items())
    again = design(few_ages(named(by_auto.design.name, f"[survey.options]\n{options}")))
    assert again.design == by_auto.design
    assert again.chosen is None
    assert again.fingerprint != by_auto.fingerprint


def test_what_a_file_does_not_say_is_not_published():
    published = json.loads(design(named("hio")).collector_text)
    assert not {"chosen", "workload", "users"} & set(published)


def test_workload_and_users_are_published_and_part_of_the_fingerprint():
    plain = design(named("hio"))
    with_users = design(named("hio", "users = 5000\n"))
    with_workload = design(named("hio") + WORKLOAD)
    assert len({plain.fingerprint, with_users.fingerprint, with_workload.fingerprint}) == 3
    for survey in (with_users, with_workload):
        assert Survey.from_json(survey.to_json()) == survey
    published = json.loads(with_workload.collector_text)
    assert published["workload"]["kinds"] == {"age": "prefix"}
    assert json.loads(with_users.collector_text)["users"] == 5000


def test_the_mechanism_is_told_the_workload():
    """An optimal allocation for one query is another than for everything."""
    options = '[survey.options]\ninference = "consistent"\nallocation = "optimal"\n'
    query = '[workload]\nqueries = ["SELECT COUNT(*) FROM app WHERE age < 30"]\n'
    assert design(named("hio", options)).design != design(named("hio", options) + query).design


def test_predictions_are_for_the_given_the_files_or_a_usual_number_of_people():
    assert design_survey(named("hio")).people == 100_000
    assert design_survey(named("hio", "users = 5000\n")).people == 5000
    given = design_survey(named("hio", "users = 5000\n"), users=70)
    assert given.people == given.forecast.people == 70
    assert given.survey.users == 5000


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (named("auto", "[survey.options]\nfanout = 3\n"), "options.* belong to a mechanism"),
        (named("hio", "users = 0\n"), "users must be a whole number"),
        (named("hio", "users = 2.5\n"), "users must be a whole number"),
        (named("hio", "people = 3\n"), "unknown key 'people'"),
        (TOML.replace("[dimension.age]", "[workload.age]"), "unknown key 'age'"),
        (TOML + "[measure.pay]\nbounds = [0, 1]\nlevels = 3\n", "is rounded is part of the design"),
        ("workload = 3\n" + TOML, r"\[workload\] must be a table"),
    ],
)
def test_a_bad_file_is_refused(text, message):
    with pytest.raises(SurveyError, match=message):
        design(text)


def test_bad_sql_is_refused_even_where_the_mechanism_ignores_the_workload():
    with pytest.raises(QueryError, match=r"query 1: .*height"):
        design(named("grr") + '[workload]\nqueries = ["SELECT AVG(height) FROM app"]\n')


@pytest.mark.parametrize(
    "change", [{"chosen": "me"}, {"users": 0}, {"users": True}, {"workload": [1]}]
)
def test_reasons_in_a_published_survey_are_checked(change):
    survey = design(named("hio"))
    with pytest.raises(SurveyError):
        Survey(survey.table, survey.schema, survey.design, survey.options, **change)


# -- estimators -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("mechanism", "message"),
    [
        ("fourier", "one of unbiased, smooth, which fourier has, not 'smoth'"),
        ("ahead", "one of adaptive, which ahead has, not 'smoth'"),
        ("auto", "which some mechanism has, not 'smoth'"),
    ],
)
def test_a_misspelt_estimator_is_refused_before_the_design(mechanism, message, monkeypatch):
    def never(*_: object, **__: object) -> None:
        raise AssertionError("designed first")

    monkeypatch.setattr(designer, "choose", never)
    monkeypatch.setattr(designer.Survey, "of", never)
    with pytest.raises(SurveyError, match=message):
        design(named(mechanism, 'estimator = "smoth"\n'))


@pytest.mark.parametrize("name", MECHANISMS)
@pytest.mark.parametrize("sizes", [(12,), (4, 3), (2, 2), (2, 2, 2)], ids=str)
def test_every_estimator_of_a_design_is_declared(name, sizes):
    """What that refusal relies on."""
    domain = RecordDomain(tuple("xyz"[: len(sizes)]), sizes, (), (), ())
    recipe = MECHANISMS[name]
    for options in ({}, {"ways": 2}):
        try:
            estimators = recipe.design(domain, Epsilon.parse("1"), options).estimators
        except SurveyError:
            continue
        assert set(estimators) <= set(recipe.estimator_names)


@pytest.mark.fast(1)
@pytest.mark.parametrize("mechanism", ["auto", "fourier"])
def test_a_survey_that_is_answered_by_smooth_is_designed_for_it(mechanism, compare):
    """For the users it announces; its printed errors are those of the design that it has."""
    compare("fourier", "hio")
    text = survey_toml(
        integer("age", 0, 63), epsilon="1", mechanism=mechanism, estimator="smooth", users=5_000
    )
    made = design_survey(text)
    assert made.survey.options["smooth_for"] == 5_000
    assert any("designed for smooth answers of 5,000 people" in note for note in made.notes)
    assert made.forecast.design is made.survey.design
    plain = design_survey(text.replace('estimator = "smooth"\n', ""))
    assert "smooth_for" not in plain.survey.options
    assert made.forecast.error > plain.forecast.error
    if mechanism == "auto":
        assert made.ranking.left_out["hio"] == "it has no estimator 'smooth' for this survey"
        assert "hio" not in plain.ranking.left_out


@pytest.mark.parametrize("bounds", [(0, 1e-300), (-1e200, 0), (-1e-60, 1e-60)])
def test_bounds_whose_squares_are_no_numbers_are_refused(bounds):
    with pytest.raises(SurveyError, match="measure pay: its larger bound must lie between"):
        design(survey_toml(integer("age", 0, 3), measure("pay", *bounds), mechanism="fourier"))


def test_a_query_that_is_exact_anyway_is_named():
    asked = "SELECT COUNT(*) FROM app WHERE age < 30"
    for exact, words in (
        (["SELECT COUNT(*) FROM app"], "query 2 asks for nothing that reports must tell"),
        (["SELECT COUNT(*) FROM app"] * 2, "queries 2, 3 ask for nothing that reports must tell"),
    ):
        workload = f"[workload]\nqueries = {json.dumps([asked, *exact])}\n"
        (note,) = designer.file.read_file(TOML + workload).notes
        assert words in note
    assert designer.file.read_file(TOML + WORKLOAD).notes == ()


PERSON = """
[survey]
table = "app"
epsilon = "1"
mechanism = "hgrr"
person = "customer_id"
[person]
last_by = "at"
sum = ["spent"]
[dimension.age]
type = "int"
domain = [18, 41]
[measure.spent]
bounds = [0, 10]
required = true
"""


def test_what_is_one_persons_is_the_collectors_business_and_not_the_devices():
    survey = design(PERSON)
    rule = PersonRule("customer_id", "at", ("spent",))
    assert survey.person == rule
    assert Survey.from_json(survey.to_json()).person == rule
    assert "customer_id" in survey.collector_text
    for word in ("customer_id", "person", "last_by", '"at"'):
        assert word not in survey.device_text
    assert design(PERSON.replace("[person]", "[dimension.x]\ntype='bool'\n[person]")).person == rule


def test_the_rule_lies_beside_the_survey(tmp_path):
    path = tmp_path / "app.survey.json"
    beside = design(PERSON).write(path)
    assert read_person(path) == PersonRule("customer_id", "at", ("spent",))
    beside.unlink()
    assert read_person(path) is None
    design(PERSON.replace("customer_id", "other")).write(tmp_path / "b.survey.json")
    (tmp_path / "b.collector.json").rename(beside)
    with pytest.raises(FingerprintError, match="is not the one that the survey names"):
        read_person(path)


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ('person = "customer_id"', "", 'apart, too: person = "COLUMN" under'),
        ('person = "customer_id"', "person = 3", "person must be the name of a column"),
        ('person = "customer_id"', 'person = "age"', "age is a column of the survey"),
        ('last_by = "at"', 'last = "at"', r"\[person\]: unknown key 'last'"),
        ('sum = ["spent"]', 'sum = ["age"]', r"'age' is no \[measure.NAME\]"),
    ],
)
def test_rules_that_are_refused(old, new, reason):
    with pytest.raises(SurveyError, match=reason):
        design(PERSON.replace(old, new))


@pytest.mark.parametrize("said", ["customer_id", 3, {"column": 3}, {"by": "x"}])
def test_a_damaged_rule_is_refused(said):
    survey = design(PERSON)
    part = {**json.loads(survey.collector_text), "person": said}
    device = {**json.loads(survey.device_text), "collector": sha256(canonical(part))}
    with pytest.raises(SurveyError):
        Survey.from_json(json.dumps({"collector": part, "survey": device}))


@pytest.mark.parametrize("users", ["5000", '"5000"', '"5k"', '"0.005m"'])
def test_users_are_written_as_on_the_command_line(users):
    assert design_survey(named("hio", f"users = {users}\n")).survey.users == 5000


@pytest.mark.parametrize("users", ['"1km"', '""', '"0k"', "true", "0"])
def test_what_is_no_number_of_users_is_refused(users):
    with pytest.raises(SurveyError, match="number of people"):
        read_file(named("hio", f"users = {users}\n"))


@pytest.mark.parametrize("role", list(_COLUMN_KEYS))
def test_the_keys_of_a_column_are_those_that_its_role_reads(role):
    """Whatever the list leaves out is refused, and whatever it names a schema knows."""
    starts = {
        "dimension": [f"type = '{kind}'" for kind in ("bool", "int", "category")],
        "measure": ["bounds = [0, 9]"],
        "public": ["type = 'int'"],
    }
    for key in {key for keys in _COLUMN_KEYS.values() for key in keys} - {"type", "bounds"}:
        said = []
        for start in starts[role]:
            text = f"[survey]\ntable = 't'\nepsilon = '1'\n[{role}.x]\n{start}\n"
            with pytest.raises(SurveyError) as error:  # 3.5 is of the wrong type for every key
                read_file(f"{text}{key} = 3.5\n")
            said.append(str(error.value))
        is_known = key in _COLUMN_KEYS[role]
        assert any(f"unknown key {key!r}" not in words for words in said) == is_known, said
        assert all("it knows: " in words for words in said) != is_known, said


def test_a_byte_order_mark_before_a_survey_file_is_passed_over(tmp_path):
    source = tmp_path / "survey.toml"
    source.write_text(TOML, encoding="utf-8-sig")
    assert read_file(source).schema == read_file(TOML).schema
