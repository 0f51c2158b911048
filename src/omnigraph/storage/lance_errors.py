"""What Lance raises, in our words.

Its exceptions are uneven: a lost race is `CommitConflictError` from a commit but a plain `OSError` from compaction, a missing
version is a `ValueError`, a missing file shows up as `ArrowInvalid` in the middle of a scan. This module is the only place that
knows.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pyarrow as pa

from omnigraph.errors import GraphError, NotFound, StorageError

_MISSING = ("was not found", "not found:", "no such file", "does not exist")
_FULL = ("no space left", "disk quota", "storagefull")
_READ_ONLY = ("read-only file system", "permission denied", "access denied", "accessdenied")


class LostRace(Exception):
    """Somebody else committed first. Never leaves the storage layer."""


@contextmanager
def translated(doing: str) -> Iterator[None]:
    """Run Lance calls; what they raise comes out as one of our errors, with what was being done."""
    from lance.commit import CommitConflictError

    try:
        yield
    except CommitConflictError as error:
        raise LostRace(str(error)) from error
    except GraphError:
        raise
    except (OSError, ValueError, RuntimeError, pa.ArrowException) as error:
        raise _translated(doing, error) from error


def _translated(doing: str, error: Exception) -> GraphError:
    text = str(error)
    lowered = text.lower()
    short = text.split(", /home/", 1)[0].split(", rust/", 1)[0]
    if any(word in lowered for word in _FULL):
        return StorageError(f"cannot {doing}: no space left", hint="Free some space, then retry; nothing was changed.")
    if any(word in lowered for word in _READ_ONLY):
        return StorageError(f"cannot {doing}: no permission to write", hint="Check the permissions of the graph folder.")
    if any(word in lowered for word in _MISSING):
        return NotFound(f"cannot {doing}: {short}", hint="A file of the graph is missing; `omnigraph verify` lists what is.")
    return StorageError(f"cannot {doing}: {short}")
