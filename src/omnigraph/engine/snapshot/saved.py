"""Numbering, adjacency, terms and vectors on disk: derived state that a fresh process reads instead of making it again.

    people.omni/__cache/nodes-5-7/          the ids of a node type by number, and the number of each row
                        edges-9-3/          the ends of edges as numbers, and neighbours both ways
                        nodes-5-7-text-4/   the terms of the texts of one column
                        nodes-5-7-column-6/ the vectors of one column
                        nodes-5-7-quantized-6/  the same in eight bits per number, where there are many
                                  └ 1f0c….9ab3….sealed       checksums of everything (`omnigraph.engine.snapshot.sealed_file`)

Everything here may be deleted at any time, nothing here is trusted to be there, and nothing is believed that does not prove what
it was computed from. A file names (`Origin`): the graph, the kind of state, the pin and the fragments it is made of, which of
their rows were deleted, and for numbers the numbering they come from, by the digest of its ids. A reader compares all that with
what it has itself. What does not fit is of no use to it, what is damaged is counted (`g.stats()`), and both are computed again.

A file is written under another name, synced and renamed when it is complete; no file is ever changed. The newest few of each
kind stay.

Saved state of an older pin is as good: `Stored.assembled` copies what both pins share and reads the rest. So a file is written
again only after more than a tenth of the rows changed.

A graph on S3, and one in a folder that cannot be written, keeps its cache in the user's cache folder, under the identity of the
graph: one that is created again at an old address finds nothing. Writing happens in the background; a failure never reaches a
query, and is reported by `g.stats()`.
"""

from __future__ import annotations

import hashlib
import logging
import os
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from threading import Lock
from typing import Final

import msgspec
import numpy as np
import pyarrow as pa

from omnigraph.engine.arrays.column import Array
from omnigraph.engine.arrays.numbering import Fingerprint, Numbers
from omnigraph.engine.snapshot.failures import Failures
from omnigraph.engine.snapshot.sealed_file import Damaged, Gone, Sealed, decoded, sealed, written
from omnigraph.model.frozen import frozen
from omnigraph.model.phrases import counted, one_line
from omnigraph.storage.files.place import Durability, Place
from omnigraph.storage.tables.rows import Fragment

_log = logging.getLogger(__name__)

LEAST_ROWS: Final = 20_000
"""Smaller tables are read as quickly as their cache, by default."""

_SHARED = 0.9
_KEPT = 2
_ENDING = ".sealed"
_UNFINISHED = "unfinished-"
_ABANDONED = 3_600.0
"""Seconds after which a file that is still unfinished belongs to a process that was killed."""

SAVING: Final = "saving derived state"

_REASONS = 20
"""Reasons that are remembered for `g.stats()`."""

_DELETED = "deleted"
"""The array that says which rows of the fragments were deleted."""

Arrays = Mapping[str, Array]


class Origin(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What some state was computed from."""

    graph: str
    home: str
    """Of which table, and what of it."""
    made_by: str
    """What made it, where that may change: the way texts are cut into terms."""
    pin: int
    fragments: tuple[Fragment, ...] = msgspec.field(name="pieces")
    """Called so in the files."""
    fingerprints: dict[str, Fingerprint] = msgspec.field(name="marks")
    """The numberings that numbers are from, by node table: each has to begin with the ids that were numbered then."""

    @property
    def rows(self) -> int:
        return sum(fragment.rows for fragment in self.fragments)


@frozen
class SavedUse:
    """How saved state was used since the graph was opened."""

    read: int
    """Files that something was taken from."""
    written: int
    damaged: int
    """Files that were not what had been written, and were computed again."""
    reasons: tuple[str, ...]
    """What was damaged and what could not be written, the last of them."""

    def __repr__(self) -> str:
        why = f": {self.reasons[-1]}" if self.reasons else ""
        return one_line(
            f"Saved state: {counted(self.read, 'file')} read, {self.written:,} written, {self.damaged:,} damaged{why}"
        )


class State:
    """One saved file."""

    def __init__(self, saved: Saved, path: Path, file: Sealed, origin: Origin) -> None:
        self._saved = saved
        self._file = file
        self.path = path
        self.origin = origin

    @property
    def pin(self) -> int:
        return self.origin.pin

    @property
    def fragments(self) -> tuple[Fragment, ...]:
        return self.origin.fragments

    def is_of(self, pin: int, fragments: tuple[Fragment, ...]) -> bool:
        """Whether this is the state of a pin."""
        return self.pin == pin and self.fragments == fragments

    def shares(self, fragments: Sequence[Fragment]) -> float:
        """How much of some fragments is saved here."""
        known = {fragment.files for fragment in self.fragments}
        rows = sum(fragment.rows for fragment in fragments)
        return sum(fragment.rows for fragment in fragments if fragment.files in known) / rows if rows else 1.0

    def take(self, types: Mapping[str, str]) -> dict[str, Array] | None:
        """Arrays of some names and types; None if one of them is damaged or missing, which is counted."""
        try:
            found = {name: self._file.array(name, dtype) for name, dtype in types.items()}
        except Gone:  # another process wrote a newer one
            return None
        except Damaged as error:
            self.refuse(str(error))
            return None
        self._saved.count_read(self.path)
        return found

    def refuse(self, reason: str) -> None:
        """Never look at this file again: it is not what it should be."""
        self._saved.count_damaged(self.path, reason)

    def has(self, name: str) -> bool:
        """Whether there is an array of a name."""
        return self._file.has(name)

    def deleted(self) -> dict[Fragment, Numbers] | None:
        """Which rows of the fragments were deleted then, by where they stood; None if that is damaged."""
        changed = [fragment for fragment in self.fragments if fragment.deletions is not None]
        if not changed:
            return {}
        arrays = self.take({_DELETED: "<u4"})
        if arrays is None:
            return None
        found: dict[Fragment, Numbers] = {}
        at = 0
        for fragment in changed:
            gone = arrays[_DELETED][at : at + fragment.written - fragment.rows].astype(np.int64)
            at += fragment.written - fragment.rows
            if len(gone) and (int(gone[-1]) >= fragment.written or bool((np.diff(gone) <= 0).any())):
                break
            found[fragment] = gone
        if at != len(arrays[_DELETED]) or len(found) != len(changed):
            self.refuse("deleted rows are none of its fragments")
            return None
        return found


def deleted_to_array(fragments: Sequence[Fragment], deleted: Callable[[Fragment], Numbers]) -> dict[str, Array]:
    """Which rows of some fragments are deleted, as `State.deleted` wants it."""
    gone = [deleted(fragment) for fragment in fragments if fragment.deletions is not None]
    return {_DELETED: np.concatenate(gone).astype(np.uint32)} if gone else {}


def texts_to_arrays(name: str, texts: pa.StringArray) -> dict[str, Array]:
    """Texts, none of which is missing, as arrays that can be saved."""
    _, offsets, data = texts.buffers()
    if not len(texts):
        return {f"{name}.starts": np.zeros(1, np.int32), f"{name}.bytes": np.empty(0, np.uint8)}
    starts = np.frombuffer(offsets, np.int32)[texts.offset : texts.offset + len(texts) + 1]
    letters = np.empty(0, np.uint8) if data is None else np.frombuffer(data, np.uint8)[starts[0] : starts[-1]]
    return {f"{name}.starts": starts - starts[0], f"{name}.bytes": letters}


def arrays_to_texts(starts: Array, letters: Array) -> pa.StringArray | None:
    """The texts that were saved, without a copy; None where there can be none."""
    if not len(starts) or starts[0] != 0 or starts[-1] != len(letters) or bool((starts[1:] < starts[:-1]).any()):
        return None
    return pa.StringArray.from_buffers(len(starts) - 1, pa.py_buffer(starts), pa.py_buffer(letters))


def vectors_to_arrays(vectors: pa.FixedSizeListArray) -> dict[str, Array]:
    """Vectors as arrays that can be saved."""
    width = vectors.type.list_size
    values = vectors.values.slice(vectors.offset * width, len(vectors) * width)
    found: dict[str, Array] = {"values": values.to_numpy(zero_copy_only=False)}
    if vectors.null_count:
        found["valid"] = vectors.is_valid().to_numpy(zero_copy_only=False)
    return found


def state_to_vectors(state: State, type_: pa.DataType) -> pa.FixedSizeListArray | None:
    """The vectors that were saved, without a copy; None where they are not."""
    arrays = state.take({"values": "<f4", "valid": "|b1"} if state.has("valid") else {"values": "<f4"})
    if arrays is None:
        return None
    values, valid = arrays["values"], arrays.get("valid")
    if len(values) != state.origin.rows * type_.list_size or (valid is not None and len(valid) != state.origin.rows):
        state.refuse("there is not one vector per row")
        return None
    mask = None if valid is None else pa.array(~valid)
    return pa.FixedSizeListArray.from_arrays(pa.array(values), type=type_, mask=mask)


class Saved:
    """The cache folder of a graph. `least`: from how many rows on state is saved; None: nothing is, and nothing there is used."""

    def __init__(self, place: Place, graph: str, *, read_only: bool, least: int | None = LEAST_ROWS) -> None:
        self._root = _root(place, graph, read_only=read_only)
        shared = Path(place.uri) / "__cache" if place.is_local else self._root
        self.failures = Failures(shared, read_only=read_only)
        self._graph = graph
        self._sync = place.durability is Durability.FULL
        self._least = least
        self._writer: ThreadPoolExecutor | None = None
        self._pending: list[Future[None]] = []
        self._damaged: set[Path] = set()
        self._read: set[Path] = set()
        self._written = 0
        self._reasons: list[str] = []
        self._lock = Lock()

    def worth(self, rows: int) -> bool:
        """Whether so many rows are worth a file."""
        return self._least is not None and rows >= self._least

    def use(self) -> SavedUse:
        """Numbers for people."""
        with self._lock:
            return SavedUse(len(self._read), self._written, len(self._damaged), tuple(self._reasons))

    def count_read(self, path: Path) -> None:
        """Something was taken from a file."""
        with self._lock:
            self._read.add(path)

    def count_damaged(self, path: Path, reason: str) -> None:
        """A file is not what was written. It goes, and what cannot go (a folder in its place) is not looked at again."""
        with self._lock:
            if path not in self._damaged:
                self._damaged.add(path)
                self._tell(f"{path}: {reason}")
                _log.warning("%s is damaged, and is made anew: %s", path, reason)
        with suppress(OSError):  # it stays, and is in the list of those that are not looked at
            path.unlink()

    def _tell(self, reason: str) -> None:
        self._reasons = [*self._reasons[1 - _REASONS :], reason]

    # ── reading ──────────────────────────────────────────────────────────────────────────────────────────────────────────────

    def states(self, home: str, made_by: str = "") -> list[State]:
        """What is saved of a kind, newest first."""
        if self._least is None:
            return []
        folder = self._folder(home)
        found = []
        for path in _newest_first(folder):
            if path in self._damaged:
                continue
            try:
                file = Sealed.open(path)
                origin: Origin = decoded(file.about, Origin)
            except Gone:
                continue
            except Damaged as error:
                self.count_damaged(path, str(error))
                continue
            if origin.home != home:
                self.count_damaged(path, f"it is of {origin.home}")
            elif origin.graph == self._graph and origin.made_by == made_by:
                found.append(State(self, path, file, origin))
        return found

    # ── writing ──────────────────────────────────────────────────────────────────────────────────────────────────────────────

    def save(
        self,
        home: str,
        pin: int,
        fragments: tuple[Fragment, ...],
        make: Callable[[], tuple[Arrays, Mapping[str, Fingerprint]]],
        *,
        fits: Callable[[State], bool] = lambda _: True,
        made_by: str = "",
        kept: int = _KEPT,
    ) -> None:
        """Write a file in the background, unless one that fits and shares most of its rows is there already.

        The newest so many stay (`kept`): more than some where one is only a part of what there is.
        """
        if self._least is None:
            return

        def work() -> None:
            if any(fits(state) and state.shares(fragments) >= _SHARED for state in self.states(home, made_by)):
                return
            arrays, fingerprints = make()
            self._write(self._folder(home), kept, Origin(self._graph, home, made_by, pin, fragments, dict(fingerprints)), arrays)

        with self._lock:
            if self._writer is None:
                self._writer = ThreadPoolExecutor(1, thread_name_prefix="omnigraph-cache")
            self._pending = [f for f in self._pending if not f.done()]
            self._pending.append(self._writer.submit(self._quietly, home, work))

    def wait(self) -> None:
        """Until everything is written."""
        with self._lock:
            pending = list(self._pending)
        for future in pending:
            future.result()

    def _quietly(self, home: str, work: Callable[[], None]) -> None:
        try:
            work()
        except Exception as error:
            # No space, no permission, the graph or the pin was removed: the cache is not needed for an answer.
            with self._lock:
                self._tell(f"not saved: {error}")
            self.failures.note(SAVING, home, error)
        else:
            self.failures.ended(SAVING, home)

    def _write(self, folder: Path, kept: int, origin: Origin, arrays: Arrays) -> None:
        for place in (folder, folder.parent):
            if place.is_symlink():
                raise OSError(f"{place} is a link, and may lead out of the graph")
        folder.mkdir(parents=True, exist_ok=True)
        name = uuid.uuid4().hex
        unfinished = folder / f"{_UNFINISHED}{name}"
        try:
            written(sealed(origin, arrays), unfinished, sync=self._sync)
            unfinished.rename(folder / f"{origin.pin:x}.{name[:16]}{_ENDING}")
        except BaseException:
            with suppress(OSError):  # why it was not finished is raised; what is left goes after a while
                unfinished.unlink()
            raise
        if self._sync:
            _sync_folder(folder)
        with self._lock:
            self._written += 1
        self._forget_old(folder, kept)

    def _forget_old(self, folder: Path, count: int) -> None:
        """Keep the newest that are sound. What a killed process left goes too, and what an older OmniGraph saved in folders."""
        sound = [path for path in _newest_first(folder) if path not in self._damaged]
        kept = {path.name for path in sound[:count]}
        with os.scandir(folder) as entries:
            for entry in entries:
                if entry.name in kept or (entry.name.startswith(_UNFINISHED) and _age(entry) < _ABANDONED):
                    continue
                if entry.name.endswith(_ENDING) or entry.name.startswith(_UNFINISHED) or entry.name.isdigit():
                    with suppress(OSError):  # another process was faster, or the next one will be
                        if entry.is_dir(follow_symlinks=False):
                            from shutil import rmtree  # only what an older OmniGraph saved needs it

                            rmtree(entry.path)
                        else:
                            os.unlink(entry.path)

    def _folder(self, home: str) -> Path:
        return self._root / home.replace("/", "-")


def _newest_first(folder: Path) -> list[Path]:
    if folder.is_symlink() or folder.parent.is_symlink():
        return []
    found: list[tuple[float, Path]] = []
    with suppress(OSError), os.scandir(folder) as entries:  # no folder: nothing was saved
        for entry in entries:
            if entry.name.endswith(_ENDING):
                with suppress(OSError):  # deleted by another process since
                    found.append((entry.stat(follow_symlinks=False).st_mtime, folder / entry.name))
    return [path for _, path in sorted(found, reverse=True)]


def _age(entry: os.DirEntry[str]) -> float:
    try:
        return time.time() - entry.stat(follow_symlinks=False).st_mtime
    except OSError:  # deleted by another process since: whatever its age was, it is not too old
        return 0.0


def _sync_folder(folder: Path) -> None:
    at = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(at)
    finally:
        os.close(at)


def _root(place: Place, graph: str, *, read_only: bool) -> Path:
    if place.is_local and not read_only and os.access(place.uri, os.W_OK):
        return Path(place.uri) / "__cache"
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return Path(base) / "omnigraph" / hashlib.sha256(f"{place.uri}\0{graph}".encode()).hexdigest()[:32]
