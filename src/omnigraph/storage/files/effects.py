"""Every durable effect of the storage layer, by name.

A crash can only happen between two things that reach the store. So everything that does (a file written, a commit made, a file
synced or removed) goes through `Effects.run` under one of the names of `Call`, and nothing else may: a test reads the source
for it. That makes "what if the process dies *here*" a question with finitely many answers, and the crash tests ask each of
them.

`Effects` itself does nothing but run the action. Tests pass in one that kills the process after the n-th call, fails it, or
counts.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import TypeVar

Result = TypeVar("Result")


class Call(Enum):
    """What can reach the store."""

    PUT_NEW = "put an object that must not exist"
    PUT = "put an object that nobody else writes"
    SWAP = "replace an object that still says what is expected"
    DELETE = "delete an object"
    CREATE_TABLE = "create an empty table"
    WRITE_ROWS = "write data files of a table"
    WRITE_DELETIONS = "write a deletion file of a table"
    WRITE_INDEX = "write an index segment of a table"
    REWRITE_ROWS = "write compacted data files of a table"
    ADD_COLUMNS = "write new columns of a table"
    PIN = "commit a table version nobody sees"
    CREATE_MANIFEST = "create the manifest of a branch"
    WRITE_MANIFEST = "write data files of a manifest"
    PUBLISH = "commit a manifest version: the moment a graph commit becomes visible"
    PRUNE_MANIFEST = "remove old versions of a manifest"
    STAMP = "change the format of a manifest"
    SYNC = "sync files and folders to disk"
    DOOM = "put or correct the list of files that are to be deleted"
    ANNOUNCE = "announce what is about to be reclaimed"
    RECLAIM = "delete unreachable files"


class Effects:
    """Runs durable calls. Subclasses may watch, fail or stop them."""

    def run(self, call: Call, action: Callable[[], Result]) -> Result:
        """Run an action that reaches the store."""
        self.before(call)
        result = action()
        self.after(call)
        return result

    def before(self, call: Call) -> None:
        """About to run."""

    def after(self, call: Call) -> None:
        """Has run."""
