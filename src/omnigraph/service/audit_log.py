"""Records of an audit in files: lines of JSON in a folder, from several processes at once, bounded, and read again.

    audit.jsonl                                 the newest
    audit-20261117T201500.123456-00001.jsonl    older ones, named by when they were put aside

A record is one line. Whoever writes holds the lock of the folder meanwhile (`audit.lock`), so lines of several processes never
mix, and nobody writes to a file that another one has just put aside. A file that has reached its size is put aside, and of those
the oldest go when there are more than are kept. With `sync` each record is on the disk before its request goes on; otherwise the
system writes it when it likes, and a machine that loses power may lose the last ones.

A record that cannot be written (a disk that is full) is logged as an error, with all that it says: what it is about may have
happened already, and a server does not stop for it.
"""

from __future__ import annotations

import fcntl
import json
import logging
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from itertools import count, islice
from pathlib import Path
from threading import Lock
from typing import Any, Final

from omnigraph.errors import NotFound, UsageError
from omnigraph.model.frozen import frozen
from omnigraph.model.times import duration
from omnigraph.service.audit import LOGGER, AuditRecord, Outcome

NEWEST: Final = "audit.jsonl"
_LOCK: Final = "audit.lock"
FILE_BYTES: Final = 64 << 20
KEPT_FILES: Final = 8
SHOWN: Final = 100
"""Records that are shown unless somebody asks for more…"""
MOST: Final = 10_000
"""…and the most that are shown at once."""

_log = logging.getLogger(LOGGER)
_numbers = count(1)


class FileSink:
    """Records as lines of files. `reads`: decisions that allow something, too, and not only denials and writes."""

    def __init__(
        self,
        folder: str | Path,
        *,
        reads: bool = False,
        sync: bool = False,
        file_bytes: int = FILE_BYTES,
        kept_files: int = KEPT_FILES,
    ) -> None:
        self._folder, self._reads, self._sync = Path(folder), reads, sync
        self._file_bytes, self._kept_files = file_bytes, kept_files
        self._thread_lock = Lock()
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            self._lock = os.open(self._folder / _LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise UsageError(f"cannot keep the audit in {folder}: {error.strerror}", hint="Give a folder to write to.") from None

    @property
    def folder(self) -> Path:
        """Where the files are."""
        return self._folder

    def takes(self, outcome: Outcome) -> bool:
        return self._reads or outcome != "allowed"

    def write(self, record: AuditRecord) -> None:
        line = json.dumps(record.to_dict(), ensure_ascii=False, separators=(",", ":")).encode("utf-8", "backslashreplace") + b"\n"
        try:
            with self._alone():
                self._append(line)
        except OSError as error:
            _log.error("the audit in %s cannot be written (%s): %s", self._folder, error.strerror, line.decode().rstrip())

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """The only writer of the folder: of this process, and of all."""
        with self._thread_lock:
            fcntl.flock(self._lock, fcntl.LOCK_EX)
            try:
                yield
            finally:
                fcntl.flock(self._lock, fcntl.LOCK_UN)

    def _append(self, line: bytes) -> None:
        path = self._folder / NEWEST
        file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            size = os.fstat(file).st_size
            if size and not _ends_a_line(path, size):  # somebody died while writing: what they began is not a record
                line = b"\n" + line
            left = line
            while left:
                left = left[os.write(file, left) :]
            if self._sync:
                os.fsync(file)
            full = size + len(line) >= self._file_bytes
        finally:
            os.close(file)
        if full:
            now = datetime.now(UTC).strftime("%Y%m%dT%H%M%S.%f")
            os.rename(path, self._folder / f"audit-{now}-{next(_numbers):05d}.jsonl")
            for old in _put_aside(self._folder)[: -self._kept_files or None]:
                old.unlink(missing_ok=True)


def _ends_a_line(path: Path, size: int) -> bool:
    with path.open("rb") as file:
        file.seek(size - 1)
        return file.read(1) == b"\n"


def _put_aside(folder: Path) -> list[Path]:
    """Older files, the oldest first."""
    return sorted(folder.glob("audit-*.jsonl"))


@frozen
class Wanted:
    """Which records somebody wants: those that are what is said, as far as something is said. The newest `limit` of them."""

    since: datetime | None = None
    actor: str | None = None
    action: str | None = None
    graph: str | None = None
    outcome: str | None = None
    limit: int = SHOWN

    def takes(self, record: Mapping[str, Any]) -> bool:
        """Whether a record is one of them."""
        said = {"actor": self.actor, "action": self.action, "graph": self.graph, "outcome": self.outcome}
        return all(wanted is None or record.get(name) == wanted for name, wanted in said.items())


def moment(text: str, now: datetime | None = None) -> datetime:
    """A time in ISO 8601 (UTC unless it says otherwise), or so long ago: `2h`, `7d`."""
    try:
        found = datetime.fromisoformat(text.strip())
        return found if found.tzinfo is not None else found.replace(tzinfo=UTC)
    except ValueError:
        pass
    try:
        ago: timedelta = duration(text)
    except UsageError:
        raise UsageError(f"{text!r} is neither a time nor a span", hint="Write 2026-11-17T20:00:00Z, or 2h, or 7d.") from None
    return (now or datetime.now(UTC)) - ago


def read_records(folder: str | Path, wanted: Wanted) -> list[dict[str, Any]]:
    """The newest records that somebody wants, the oldest of them first. What is not a record is left out."""
    place = Path(folder)
    if not place.is_dir():
        raise NotFound(f"no audit in {folder}", what="audit", hint="Give the folder that the server keeps its audit in.")
    found = list(islice((record for record in _backwards(place, wanted.since) if wanted.takes(record)), wanted.limit))
    return found[::-1]


def _backwards(folder: Path, since: datetime | None) -> Iterator[dict[str, Any]]:
    for path in [folder / NEWEST, *reversed(_put_aside(folder))]:
        try:
            lines = path.read_bytes().split(b"\n")
        except FileNotFoundError:  # nothing is written yet, or it was put aside just now
            continue
        for line in reversed(lines):
            record = _record(line)
            if record is None:
                continue
            if since is not None and datetime.fromisoformat(record["at"]) < since:
                return
            yield record


def _record(line: bytes) -> dict[str, Any] | None:
    try:
        found = json.loads(line)
        datetime.fromisoformat(found["at"])
    except (ValueError, TypeError, KeyError):
        return None
    return found if isinstance(found, dict) else None
