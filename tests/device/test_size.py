"""What a device loads to answer a survey: few files, and nothing of the collector's."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

MODULES, LINES = 15, 4_100
"""At most; docs/privacy.md and README say so too."""
WITH_LEDGER = 1, 645
"""At most so many more for a ledger, says docs/privacy.md."""

ANSWER = """
import json, sys
from pathlib import Path
from ldpsql_device.policy import Policy
from ldpsql_device.answer import respond
from ldpsql_device.survey import Survey

def loaded():
    ours = {n: m for n, m in sys.modules.items() if n.split(".")[0] in ("ldpsql", "ldpsql_device")}
    lines = {n: len(Path(m.__file__).read_text().splitlines()) for n, m in ours.items()}
    print(json.dumps(lines))

[vector] = json.loads(Path(sys.argv[1]).read_text())["surveys"][:1]
survey = Survey.from_json(json.dumps(vector["survey"]))
asked = survey, vector["cases"][0]["record"]
respond(*asked, policy=Policy(20))
loaded()
from ldpsql_device.ledger import Ledger
respond(*asked, policy=Policy(20), ledger=Ledger(sys.argv[2], total=20, per_attribute=20))
loaded()
"""


def test_answering_a_survey_loads_few_lines_and_nothing_of_the_collectors(tmp_path):
    vectors = Path(__file__).parents[2] / "vectors" / "recipe_fourier.json"
    command = [sys.executable, "-c", ANSWER, str(vectors), str(tmp_path / "ledger.sqlite")]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    loaded, with_ledger = map(json.loads, done.stdout.splitlines())
    assert all(name.split(".")[0] == "ldpsql_device" for name in loaded)
    assert len(loaded) <= MODULES, sorted(loaded)
    assert sum(loaded.values()) <= LINES
    more, lines = WITH_LEDGER
    assert len(with_ledger) <= len(loaded) + more, sorted(with_ledger)
    assert sum(with_ledger.values()) <= sum(loaded.values()) + lines
