"""What the shell offers at a place."""

from __future__ import annotations

import pytest
from support.surveys import app

from ldpsql.parser import parse
from ldpsql.sql.lookups import PublicTable
from ldpsql.workbench.completion import Names, offer_commands
from ldpsql_device.errors import Error

REGIONS = PublicTable.of("regions", {"state": ["NY"], "region": ["east"]})
NAMES = Names.of([app()], [REGIONS])


def offered(before):
    return [offer.text for offer in NAMES.offers(before)]


@pytest.mark.parametrize(
    ("before", "texts"),
    [
        ("SELECT * FROM ", ["app", "regions"]),
        ("SELECT * FROM app JOIN r", ["regions"]),
        ("SELECT * FROM app, re", ["regions"]),
        ("DESCRIBE A", ["app"]),
        ("SELECT COUNT(*) FROM app WHERE state = ", ["'CA'", "'NY'", "'WA'"]),
        ("SELECT COUNT(*) FROM app WHERE state = n", ["'NY'"]),
        ("SELECT COUNT(*) FROM app WHERE state='", ["'CA'", "'NY'", "'WA'"]),
        ("SELECT COUNT(*) FROM app WHERE state IN ('CA', 'n", ["'NY'"]),
        ('SELECT COUNT(*) FROM app WHERE "state" <> \'c', ["'CA'"]),
        ("SELECT 'FRO", []),
        ("SELECT COU", ["COUNT"]),
        ("SELECT cou", ["count"]),
        ("sel", ["select"]),
        ("SELECT ag", ["age"]),
        ("SELECT regi FROM app WHERE regi", ["regions"]),
        ("SELECT regi FROM app JOIN regions WHERE regi", ["region", "regions"]),
    ],
)
def test_what_can_stand_there_is_offered(before, texts):
    assert [text for text in offered(before) if not text.startswith("REGR")] == texts


def test_an_offer_takes_the_place_of_what_was_begun():
    [offer] = NAMES.offers("SELECT COUNT(*) FROM app WHERE state = 'n")
    assert (offer.text, offer.start_position, offer.display_meta_text) == ("'NY'", -2, "value")
    role = {
        offer.text: offer.display_meta_text for offer in NAMES.offers("SELECT * FROM app WHERE ")
    }
    assert (role["age"], role["spent"]) == ("dimension, int", "measure, float")


def test_every_value_that_is_offered_can_be_asked_for():
    for value in offered("SELECT COUNT(*) FROM app WHERE state = "):
        parse(f"SELECT COUNT(*) FROM app WHERE state = {value}", None, lambda _: app(), no_lookup)
    with pytest.raises(Error):
        parse("SELECT COUNT(*) FROM app WHERE state = 'n'", None, lambda _: app(), no_lookup)


def no_lookup(_):
    return None


def test_commands_and_what_stands_behind_them():
    known = {".mode": ("csv", "json"), ".timer": ("on", "off"), ".help": ()}

    def offers(before):
        return [offer.text for offer in offer_commands(before, known)]

    assert offers(".") == [".mode", ".timer", ".help"]
    assert offers(".m") == [".mode"]
    assert offers(".mode ") == ["csv", "json"]
    assert offers(".mode  J") == ["json"]
    assert offers(".help c") == offers(".nothing c") == []
