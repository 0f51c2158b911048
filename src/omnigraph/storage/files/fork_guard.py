"""Whether this process may use graphs: not if it was forked from one that did.

The library below the tables works with threads of its own. A fork takes a copy of what they hold and leaves the threads behind,
so that a child waits for ever, in the first write or in any read. Nothing can mend that from here; so it is told at once:

    parent opened a graph ── fork ──▶ child: refused        parent only imported omnigraph ── fork ──▶ child: as any process
    parent opened a graph ── spawn ─▶ child: as any process
"""

from __future__ import annotations

import os

from omnigraph.errors import UsageError

_used = False
_forked = False


def use() -> None:
    """This process is about to use a graph; refused where it could not."""
    global _used
    refuse_after_fork()
    _used = True


def refuse_after_fork() -> None:
    """Refuse to go on in a process that was forked from one that used graphs."""
    if _forked:
        raise UsageError(
            "this process was forked from one that had used a graph, and cannot use one itself: it would wait forever",
            hint='Start it by "spawn" or "forkserver": ProcessPoolExecutor(mp_context=multiprocessing.get_context("spawn")).',
        )


def _after_fork() -> None:
    global _forked
    _forked = _used


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
