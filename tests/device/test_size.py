"""What a device loads to answer a survey: few files, and nothing of the collector's."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

MODULES, LINES = 15, 3_600
"""At most; docs/architecture.md says so too."""

ANSWER = """
import json, sys
from pathlib import Path
from ldpsql_device.respond import respond
from ldpsql_device.survey import Survey
[vector] = json.loads(Path(sys.argv[1]).read_text())["surveys"][:1]
survey = Survey.from_json(json.dumps(vector["survey"]))
respond(survey, vector["cases"][0]["record"])
for name, module in sorted(sys.modules.items()):
    if name.split(".")[0] in ("ldpsql", "ldpsql_device"):
        print(name, module.__file__)
"""


def test_answering_a_survey_loads_few_lines_and_nothing_of_the_collectors():
    vectors = Path(__file__).parents[2] / "vectors" / "recipe_fourier.json"
    done = subprocess.run(
        [sys.executable, "-c", ANSWER, str(vectors)], capture_output=True, text=True, check=True
    )
    loaded = dict(line.split(" ", 1) for line in done.stdout.splitlines())
    assert all(name.split(".")[0] == "ldpsql_device" for name in loaded)
    lines = sum(len(Path(file).read_text().splitlines()) for file in loaded.values())
    assert len(loaded) <= MODULES, sorted(loaded)
    assert lines <= LINES, lines
