"""Waiting for the end of processes that are not children of the test."""

import pathlib
import time

from messages import TIMEOUT


def ended(pid):
    """Whether a process has ended, and can be waited for if nobody has done so yet. The state
    is that of its first thread, which may end before the others."""
    try:
        state, *fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2].split()
        return state == "Z" and int(fields[16]) <= 1
    except OSError:  # it goes at any moment, between opening the file and reading it too
        return True


def gone(pids, seconds=TIMEOUT):
    """Wait for processes to end."""
    deadline = time.monotonic() + seconds
    while not all(ended(pid) for pid in pids):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True
