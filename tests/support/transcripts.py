"""Runs the transcripts of Markdown files: fenced blocks whose first line starts with `$ ldpsql`.

The blocks of a file run in their order in one folder, which also gets every block whose first line
is the name of a TOML or CSV file (`# survey.toml`). A line `<!-- transcript: last -->` before a
block has it run after all others, for what a page shows before it explains how one gets there. A
line `...` stands for any number of lines that the page leaves out.

`python -m support.transcripts FILE...`, with tests/ on the path, writes what the commands print now
into the files.
"""

from __future__ import annotations

import doctest
import io
import re
import shlex
import sys
import tempfile
import traceback
from collections.abc import Iterator
from contextlib import redirect_stdout
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow.parquet as pq
from click.testing import CliRunner

from ldpsql.cli.main import cli
from ldpsql.randomize.people import make_people

ROOT = Path(__file__).parents[2]
DATABASE = "people.duckdb"
"""The database that a command of docs/ asks without --db; README names it."""

_FENCE = re.compile(r"^```\w*$")
_ELLIPSIS = "..."
_LAST = "<!-- transcript: last -->"
_NUMBER = r"-?\d[\d,]*(?:\.\d+)?(?:e[-+]?\d+)?"
# A number with its error, an interval, and what else the devices' randomness decides.
_RANDOM = re.compile(
    rf"{_NUMBER} ± {_NUMBER}|\[{_NUMBER}, {_NUMBER}\]|typ\. {_NUMBER}"
    rf"|(?<=standard error of these reports: ){_NUMBER}|(?<=interval: ± ){_NUMBER}"
    rf"|(?<=epsilon >= ){_NUMBER}|{_NUMBER} of {_NUMBER}(?= reports of| pairs of)"
    rf"|(?<=against ){_NUMBER}(?= of)|(?<=are equal, ){_NUMBER}"
    rf"|(?<=have probability ){_NUMBER}"
    rf"|{_NUMBER}(?= made-up records)|(?<=column; of ){_NUMBER}|(?<=answers to ){_NUMBER}"
    r"|\b\d{4}-\d\d-\d\d(?= \(UTC\))"
    r"|\b[0-9a-f]{12}\b|\b[0-9a-f]{64}\b"  # a survey's fingerprint, where every rounding shows
    r"|-{2,}"  # a rule is as wide as the numbers under it
)


@dataclass
class Step:
    """A command of a transcript and what it printed. line: of the file, counted from 1."""

    line: int
    command: str
    output: list[str] = field(default_factory=list)


def steps_of(text: str) -> list[Step]:
    """The commands of a page in the order in which they run."""
    steps, last = [], []
    for start, block, is_last in _blocks(text):
        if block and block[0].startswith("$ ldpsql"):
            own = last if is_last else steps
            for number, line in enumerate(block, start=start):
                if line.startswith("$ "):
                    own.append(Step(number, line[2:]))
                else:
                    own[-1].output.append(line)
    return [*steps, *last]


def files_of(text: str) -> dict[str, str]:
    """The files that a page shows: blocks that start with their name, which CSV does not keep."""
    files = {}
    for _, block, _ in _blocks(text):
        named = re.fullmatch(r"(?:#|--) ([\w.-]+\.(toml|csv|sql))", block[0]) if block else None
        if named:
            rows = block[1:] if named[2] == "csv" else block
            files[named[1]] = "\n".join(rows) + "\n"
    return files


def find_file(text: str, name: str) -> str:
    """A file that a page shows whole: the block whose first line is a comment with its name."""
    mark = r"(?:# |// |<!-- )"
    found = re.search(
        rf"^```\w+\n({mark}{re.escape(name)}\b.*?)^```$", text, re.DOTALL | re.MULTILINE
    )
    assert found, name
    return found[1]


def _blocks(text: str) -> Iterator[tuple[int, list[str], bool]]:
    """(line, content, whether it runs last) of every fenced block."""
    lines = text.splitlines()
    start: int | None = None
    for number, line in enumerate(lines):
        if _FENCE.match(line):
            if start is None:
                start = number + 1
            else:
                is_last = start > 1 and lines[start - 2] == _LAST
                yield start + 1, lines[start:number], is_last
                start = None


def run_step(step: Step, database: str | None = DATABASE) -> list[str]:
    """The lines that a command prints, on both streams, in the current folder.

    None where the page does not show them, but for those of a command that fails.  database: what
    LDPSQL_DB says; None for nothing.
    """
    program, *arguments = shlex.split(step.command)
    assert program == "ldpsql", step
    done = CliRunner().invoke(cli, arguments, env={"LDPSQL_DB": database})
    is_shown = step.output or done.exit_code
    return done.output.splitlines() if is_shown else []


def run_python(text: str) -> Iterator[tuple[int, list[str], list[str]]]:
    """The examples (`>>>`) of a page in their order: line, what it shows, and what is printed now.

    Of an error the page shows the first line of the traceback and the last.
    """
    names: dict[str, object] = {}
    for example in doctest.DocTestParser().get_examples(text):
        printed = io.StringIO()
        with redirect_stdout(printed):
            try:
                exec(compile(example.source, "<page>", "single"), names)
            except Exception as error:
                print("Traceback (most recent call last):")  # noqa: T201
                print(*traceback.format_exception_only(error), sep="", end="")  # noqa: T201
        yield example.lineno + 1, example.want.splitlines(), printed.getvalue().splitlines()


def agree(documented: list[str], shown: list[str]) -> bool:
    """Whether two outputs are the same but for random numbers, which must be alike, and spaces.

    A documented line `...` stands for any number of lines.
    """
    if _ELLIPSIS in documented:
        place = documented.index(_ELLIPSIS)
        rest = documented[place + 1 :]
        return agree(documented[:place], shown[:place]) and any(
            agree(rest, shown[start:]) for start in range(place, len(shown) + 1)
        )
    if len(documented) != len(shown):
        return False
    return all(_agree(*lines) for lines in zip(documented, shown, strict=True))


def _agree(documented: str, shown: str) -> bool:
    if _fixed(documented) != _fixed(shown):
        return False
    pairs = zip(_RANDOM.findall(documented), _RANDOM.findall(shown), strict=True)
    return all(_is_alike(*pair) for pair in pairs)


def _fixed(line: str) -> str:
    return " ".join(_RANDOM.sub("#", line).split())


def _is_alike(documented: str, shown: str) -> bool:
    """Errors within a factor of two, values within three times their intervals.

    Six standard errors of their difference and more: in a billion runs no transcript fails that is
    right.
    """
    if "±" not in documented:
        return True
    (value, half), (other, other_half) = (
        [float(part.replace(",", "")) for part in text.split(" ± ")] for text in (documented, shown)
    )
    return half <= 2 * other_half <= 4 * half and abs(value - other) <= 3 * (half + other_half)


def prepare(folder: Path, *pages: Path) -> None:
    """Put into a folder what the commands of some pages need."""
    pq.write_table(make_people(), folder / "people.parquet")
    for page in pages:
        for name, text in files_of(page.read_text(encoding="utf-8")).items():
            (folder / name).write_text(text, encoding="utf-8")


def rewrite(page: Path) -> None:
    """Write what the commands of a page print now into it."""
    text = page.read_text(encoding="utf-8")
    lines = text.splitlines()
    shown = [
        (step, run_step(step, None if page.name == "README.md" else DATABASE))
        for step in steps_of(text)
    ]
    for step, output in sorted(shown, key=lambda pair: -pair[0].line):
        if not agree(step.output, output):
            lines[step.line : step.line + len(step.output)] = output
    page.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    import os

    given = [Path(name).resolve() for name in sys.argv[1:]]
    with tempfile.TemporaryDirectory() as temporary:
        prepare(Path(temporary), *given)
        os.chdir(temporary)
        for path in given:
            rewrite(path)
