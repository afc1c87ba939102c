"""Files of commands and of what they print, as `tests/cli/sessions/audit.txt`.

Under a line `$ ldpsql ...` stand the lines of stdout, those of stderr after `! `, and the exit code
in brackets where it is not 0. A line `# ...` is a comment.
"""

from __future__ import annotations

import re
import shlex

from support.command_line import run

from ldpsql_device.survey import utc_today

_START = "$ ldpsql "
# Fingerprints, in which every rounding shows, and sizes of files.
_VARYING = re.compile(r"(?<!\.)\b[0-9a-f]{12}\b|\b[0-9a-f]{64}\b|[\d.,]+(?= MB)")


def replay(session: str) -> str:
    """The commands of a session in the current folder, each with what it prints now."""
    lines: list[str] = []
    for line in session.splitlines():
        if line.startswith("# "):
            lines.append(line)
        elif line.startswith(_START):
            lines += [line, *_shown(line.removeprefix(_START))]
    return "\n".join(lines) + "\n"


def _shown(command: str) -> list[str]:
    done = run(*shlex.split(command))
    errors = [f"! {line}" for line in done.stderr.splitlines()]
    code = [f"[{done.exit_code}]"] if done.exit_code else []
    text = "\n".join([*done.stdout.splitlines(), *errors, *code])
    return _VARYING.sub("#", text.replace(utc_today().isoformat(), "<today>")).splitlines()
