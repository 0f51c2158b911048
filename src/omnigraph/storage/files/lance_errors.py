"""What Lance and the object store raise, in our words.

Its exceptions are uneven: a lost race is `CommitConflictError` from a commit but a plain `OSError` from compaction, a missing
version is a `ValueError`, a missing file shows up as `ArrowInvalid` in the middle of a scan. The errors of `obstore` share a
base with nothing, and a damaged file can make Lance panic, which is not even an `Exception`. This module is the only place that
knows.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

import pyarrow as pa
from lance.commit import CommitConflictError

from omnigraph.errors import GraphError, NotFound, StalledWrite, StorageError
from omnigraph.hints import Action, Hint

_MISSING = ("was not found", "not found:", "no such file", "does not exist")
_FULL = ("no space left", "disk quota", "storagefull", "file too large")
_NO_FOLDER = ("not a directory",)
_NO_FILE = ("is a directory",)
_LONG = ("file name too long",)
_TOO_MANY = ("too many open files",)
_READ_ONLY = ("read-only file system", "permission denied", "operation not permitted", "access denied", "accessdenied")
_DAMAGED = ("magic", "protobuf", "malformed", "truncated", "too small", "sufficient data", "invalid range", "out of range")


class LostRace(Exception):
    """Somebody else committed first. Never leaves the storage layer."""


@contextmanager
def translated(doing: str) -> Iterator[None]:
    """Run calls that reach the store; what they raise comes out as one of our errors, with what was being done."""
    try:
        yield
    except CommitConflictError as error:
        raise LostRace(str(error)) from error
    except GraphError:
        raise
    except KeyError as error:  # a column that every table of this kind has
        raise _damaged(doing, str(error.args[0])) from error
    except (OSError, ValueError, RuntimeError, pa.ArrowException) as error:
        raise in_our_words(doing, error) from error
    except BaseException as error:
        if isinstance(error, Exception) and _of_the_object_store(error):
            raise in_our_words(doing, error) from error
        if type(error).__name__ != "PanicException":
            raise
        raise _damaged(doing, str(error)) from error


@contextmanager
def writing(doing: str) -> Iterator[None]:
    """The same for files that are being written: what is gone before it is whole was taken for garbage by a cleanup."""
    try:
        with translated(doing):
            yield
    except NotFound as gone:
        raise StalledWrite(f"cleanup removed files of a write while it was stalled: {gone.message}") from gone


def _of_the_object_store(error: Exception) -> bool:
    """Did `obstore` raise it? Nothing it raises comes from a process that has not imported it."""
    known = sys.modules.get("obstore.exceptions")
    return known is not None and isinstance(error, known.BaseError)


def _damaged(doing: str, what: str) -> GraphError:
    return StorageError(
        f"cannot {doing}: a file is damaged: {what}",
        hint=Hint(Action("verify"), " lists what is damaged. Restore it from a copy."),
        retryable=False,
    )


def in_our_words(doing: str, error: Exception) -> GraphError:
    """What the store, the disk or Lance raised, as one of our errors. Says truly whether trying again is of use."""
    text = str(error)
    lowered = text.lower()
    short = text.split(", /home/", 1)[0].split(", rust/", 1)[0]
    if any(word in lowered for word in _FULL):
        return StorageError(
            f"cannot {doing}: no space left", hint="Free some space, then retry; nothing was changed.", retryable=False
        )
    if any(word in lowered for word in _READ_ONLY):
        hint = "Check the permissions of the graph folder."
        return StorageError(f"cannot {doing}: permission denied", hint=hint, retryable=False)
    if any(word in lowered for word in _NO_FOLDER):
        hint = "Check the path: a folder is needed where a file stands."
        return StorageError(f"cannot {doing}: {short}", hint=hint, retryable=False)
    if any(word in lowered for word in _NO_FILE):
        hint = "Check the path: a file is needed where a folder stands."
        return StorageError(f"cannot {doing}: {short}", hint=hint, retryable=False)
    if any(word in lowered for word in _LONG):
        return StorageError(f"cannot {doing}: {short}", hint="Choose a shorter name.", retryable=False)
    if any(word in lowered for word in _TOO_MANY):
        return StorageError(f"cannot {doing}: too many open files", hint="Raise the limit (ulimit -n), or retry later.")
    if any(word in lowered for word in _MISSING):
        return NotFound(
            f"cannot {doing}: {short}", hint=Hint("A file of the graph is missing. ", Action("verify"), " lists what is.")
        )
    if any(word in lowered for word in _DAMAGED):
        return _damaged(doing, short)
    return StorageError(f"cannot {doing}: {short}")
