"""Failures in the background: what failed, when, and how often.

Nobody waits for indexes to be completed or for derived state to be saved, and no answer depends on either, so a failure reaches
no caller. It is logged (below the logger `omnigraph`) and kept where people look: `g.stats()` and `omnigraph stats` show it, and
do so from another process, for it is written to a small file in the cache folder. Work that succeeds later takes it back.

    failures.note("completing indexes", "branch main", error)
    failures.ended("completing indexes", "branch main")        it went well this time

The file is as expendable as everything in that folder: a graph that cannot be written to keeps failures in memory.
"""

from __future__ import annotations

import logging
import os
import time
import uuid
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from threading import Lock
from typing import Any, Final

import msgspec

from omnigraph.errors import GraphError
from omnigraph.model.frozen import frozen
from omnigraph.model.phrases import one_line

_log = logging.getLogger(__name__)

FILE: Final = "failures.json"

MOST: Final = 50
"""Failures that are kept: the latest."""


@frozen
class Failure:
    """Work in the background that failed, and has not succeeded since."""

    work: str
    """What was to be done: `completing indexes`, `saving derived state`, …"""
    about: str
    """Of what: a branch, a type."""
    message: str
    """Why it failed the last time."""
    first_at: float
    last_at: float
    """Seconds since the epoch."""
    times: int = 1

    def to_dict(self) -> dict[str, Any]:
        """The failure as JSON-ready data."""
        moments = {"first_at": self.first_at, "last_at": self.last_at}
        times = {name: datetime.fromtimestamp(at, UTC).isoformat(timespec="seconds") for name, at in moments.items()}
        return {"work": self.work, "about": self.about, "message": self.message, **times, "times": self.times}

    def __repr__(self) -> str:
        return one_line(f"Failure: {self}")

    def __str__(self) -> str:
        last = datetime.fromtimestamp(self.last_at, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
        often = "once" if self.times == 1 else f"{self.times:,} times"
        return f"{self.work} ({self.about}) failed {often}, last at {last}: {self.message}"


class Failures:
    """The failures of one graph. Safe from any thread."""

    def __init__(self, folder: Path, *, read_only: bool = False) -> None:
        self._file = folder / FILE
        self._read_only = read_only
        self._unwritten: dict[tuple[str, str], Failure] = {}
        """Everything that is known, where it could not be written."""
        self._lock = Lock()

    def note(self, work: str, about: str, error: BaseException) -> None:
        """Something failed."""
        message = error.message if isinstance(error, GraphError) else f"{type(error).__name__}: {error}"
        _log.warning("%s (%s) failed: %s", work, about, message, exc_info=None if isinstance(error, GraphError) else error)
        now = time.time()
        with self._lock:
            known = {**self._read(), **self._unwritten}
            before = known.pop((work, about), Failure(work, about, message, now, now, 0))
            known[work, about] = replace(before, message=message, last_at=now, times=before.times + 1)
            self._write(dict(list(known.items())[-MOST:]))

    def ended(self, work: str, about: str) -> None:
        """The same work succeeded."""
        with self._lock:
            known = {**self._read(), **self._unwritten}
            if known.pop((work, about), None) is not None:
                self._write(known)

    def all(self) -> tuple[Failure, ...]:
        """Every failure, also of other processes, the latest last."""
        with self._lock:
            found = {**self._read(), **self._unwritten}
        return tuple(sorted(found.values(), key=lambda failure: failure.last_at))

    def _read(self) -> dict[tuple[str, str], Failure]:
        try:
            found = msgspec.json.decode(self._file.read_bytes(), type=list[Failure])
        except FileNotFoundError:  # nothing has failed
            return {}
        except (OSError, msgspec.DecodeError) as error:
            _log.warning("%s cannot be read: %s", self._file, error)
            return {}
        return {(failure.work, failure.about): failure for failure in found}

    def _write(self, known: dict[tuple[str, str], Failure]) -> None:
        self._unwritten = known
        if self._read_only:
            return
        unfinished = self._file.with_name(f"{FILE}-{uuid.uuid4().hex}")
        try:
            if self._file.parent.is_symlink():
                raise OSError("its folder is a link, and may lead out of the graph")
            self._file.parent.mkdir(parents=True, exist_ok=True)
            unfinished.write_bytes(msgspec.json.encode(list(known.values())))
            os.replace(unfinished, self._file)
            self._unwritten = {}
        except OSError as error:
            _log.warning("%s cannot be written: %s", self._file, error)
            with suppress(OSError):  # why is logged already
                unfinished.unlink()
