"""A server that is killed while devices send to it."""

from __future__ import annotations

import random
import signal
import subprocess
import threading
import time
from collections.abc import Callable


def kill_among_devices(process: subprocess.Popen[str], send: Callable[[], object]) -> None:
    """Kill a process at a random moment while four devices send to it, each until it fails."""

    def device() -> None:
        for _ in range(100):
            try:
                send()
            except OSError:
                return

    devices = [threading.Thread(target=device) for _ in range(4)]
    for each in devices:
        each.start()
    time.sleep(random.uniform(0.1, 1.0))
    process.send_signal(signal.SIGKILL)
    for each in devices:
        each.join()
