"""Processes of their own for tests that need many of them.

A process that starts from nothing imports for most of a second. These are forked from a server that has imported everything and used
none of it: the storage library does not survive a fork once it runs, and at that moment it has started nothing.

    child = children.started(work, folder, 3)     runs `work(folder, 3)` in a process
    child.join()
"""

from __future__ import annotations

from collections.abc import Callable
from multiprocessing import get_context
from multiprocessing.context import ForkServerProcess

CONTEXT = get_context("forkserver")
CONTEXT.set_forkserver_preload(
    ["tests.engine.write.histories", "tests.storage.writers", "tests.storage.crashing", "omnigraph.engine.reviews.front"]
)


def started(work: Callable[..., None], *given: object) -> ForkServerProcess:
    """A process that does this, with what can be pickled, and ends at the latest with this one."""
    child = CONTEXT.Process(target=work, args=given, daemon=True)
    child.start()
    return child
