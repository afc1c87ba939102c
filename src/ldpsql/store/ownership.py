"""Whose a file is that lies beside another one."""

from __future__ import annotations

import os
from pathlib import Path


def is_foreign(found: os.stat_result, folder: Path, *trusted: int) -> bool:
    """Whether a file is that of somebody whom its folder does not belong to.

    In a folder for everybody, such as /tmp, whoever comes first may have put it there. trusted:
    numbers of users, besides the one who asks, the owner of the folder, and root. Systems without
    such owners have no foreign files.
    """
    if os.name != "posix":
        return False
    return found.st_uid not in {os.geteuid(), folder.stat().st_uid, 0, *trusted}
