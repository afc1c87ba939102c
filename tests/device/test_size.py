"""What a device loads to answer a survey: few files, and nothing of the collector's."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

MODULES, LINES = 15, 3_800
"""At most; docs/privacy.md and README say so too."""
WITH_LEDGER = 1, 430
"""At most so many more for a ledger, says docs/privacy.md."""

ANSWER = """
import json, sys
from pathlib import Path
from ldpsql_device.policy import Policy
from ldpsql_device.answer import respond
from ldpsql_device.survey import Survey
ledger = None
if len(sys.argv) > 2:
    from ldpsql_device.ledger import Ledger
    ledger = Ledger(sys.argv[2], total=20, per_attribute=20)
[vector] = json.loads(Path(sys.argv[1]).read_text())["surveys"][:1]
survey = Survey.from_json(json.dumps(vector["survey"]))
respond(survey, vector["cases"][0]["record"], policy=Policy(20), ledger=ledger)
for name, module in sorted(sys.modules.items()):
    if name.split(".")[0] in ("ldpsql", "ldpsql_device"):
        print(name, module.__file__)
"""


def load(*ledger: str) -> dict[str, int]:
    """The lines of every module of ours that an answer loads."""
    vectors = Path(__file__).parents[2] / "vectors" / "recipe_fourier.json"
    command = [sys.executable, "-c", ANSWER, str(vectors), *ledger]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    loaded = dict(line.split(" ", 1) for line in done.stdout.splitlines())
    return {name: len(Path(file).read_text().splitlines()) for name, file in loaded.items()}


def test_answering_a_survey_loads_few_lines_and_nothing_of_the_collectors(tmp_path):
    loaded = load()
    assert all(name.split(".")[0] == "ldpsql_device" for name in loaded)
    assert len(loaded) <= MODULES, sorted(loaded)
    assert sum(loaded.values()) <= LINES
    more, lines = WITH_LEDGER
    with_ledger = load(str(tmp_path / "ledger.sqlite"))
    assert len(with_ledger) <= len(loaded) + more, sorted(with_ledger)
    assert sum(with_ledger.values()) <= sum(loaded.values()) + lines
