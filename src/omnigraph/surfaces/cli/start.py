"""The first thing the `omnigraph` command does: Ctrl-C ends it without a word, at every moment.

While modules are imported there is nothing to take back and nobody to tell, so an interrupt ends the process at once. From then
on it is a `KeyboardInterrupt`, which the entry point and the commands answer; at the very end, when the exit code is settled, it
comes too late. A shell that starts the command with interrupts ignored (`nohup`, a job in the background) is obeyed.

This module imports nothing that takes time.
"""

from __future__ import annotations

import os
import signal
from typing import Final

INTERRUPTED: Final = 130
"""The exit code of a command that was interrupted, as shells count."""


def main() -> None:
    """The `omnigraph` script."""
    obeyed = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if obeyed:
        signal.signal(signal.SIGINT, lambda *_: os._exit(INTERRUPTED))
    from omnigraph.surfaces.cli import quick_start

    quick_start.begin()
    from omnigraph.surfaces.cli.main import run

    code = INTERRUPTED
    try:
        try:
            if obeyed:
                signal.signal(signal.SIGINT, signal.default_int_handler)
            code = run()
        finally:
            signal.signal(signal.SIGINT, signal.SIG_IGN)
    except KeyboardInterrupt:  # once more, while the first one was being told
        code = INTERRUPTED
    quick_start.end(code)
