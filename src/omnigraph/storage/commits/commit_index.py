"""Which commits each manifest holds, noted down: whoever looks for a commit opens only the manifests that changed since.

    people.omni/__cache/commit-ids.json      per manifest: its newest version, and digests of the ids of its commits
                                             per branch: its ref

It is derived: it may be deleted at any time, and nothing in it is believed that does not prove itself. The file is a record with
a checksum (`records`) and names its graph. What it says of a manifest names the version it was read from and what the files of
that version were like: on a disk its inode, size and times, and which version was the last that was ever noted down
(`version_hint`); on an object store what that calls the version. It counts only
while that version is the newest and its files are the same, which a look at their names tells. So a manifest that was published
to since, that has lost a version, or that was restored from a copy is opened. The same holds for a ref, which on a disk counts
only if it was long written when it was read: a name may be given again within one tick of the clock of a disk.

Nothing is found here: an entry says that a manifest does *not* hold a commit. One that may is opened, and asked.

It is written when many manifests had to be opened, by whoever opened them, and never by a reader that may not write.
"""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from threading import Lock
from typing import Final

from xxhash import xxh3_64

from omnigraph.errors import GraphError, NotFound, StorageError
from omnigraph.model.frozen import frozen
from omnigraph.storage.commits.manifest import Manifest
from omnigraph.storage.commits.manifest_versions import COARSEST_CLOCK_NS
from omnigraph.storage.commits.refs import Ref
from omnigraph.storage.commits.version_hint import HINT
from omnigraph.storage.files.place import Place, StoredObject, file_version
from omnigraph.storage.files.records import decoded, encoded
from omnigraph.storage.lance_format.file_names import version_file

_log = logging.getLogger(__name__)

PATH: Final = "__cache/commit-ids.json"

WORTH_WRITING: Final = 16
"""So many manifests or refs were read that the next process had better not."""

MOST_COMMITS: Final = 4_096
"""A manifest with more commits is opened: branches with as many are few."""

_DIGEST: Final = 8

Versions = Callable[[str, int], str | None]
"""What the files of a version of a manifest are like; None if it is not the newest."""


@frozen
class NotedManifest:
    """What a manifest held."""

    version: int
    files: str
    """What the files of the version were like."""
    sealed: bool
    commits: bytes
    """A digest of each id, one after the other."""
    carried: bytes
    """The same of commits that merges brought along."""

    def may_hold(self, commit: str, *, carried: bool) -> bool:
        """Whether it has to be asked."""
        wanted = _digest(commit)
        return _holds(self.commits, wanted) or (carried and _holds(self.carried, wanted))


@frozen
class NotedRef:
    """A branch, and what its file was like."""

    file: str
    ref: Ref


@frozen
class CommitIds:
    """What is written down."""

    graph: str
    """The incarnation of its main branch."""
    manifests: Mapping[str, NotedManifest]
    """By incarnation."""
    refs: Mapping[str, NotedRef]
    """By name."""


class CommitIndex:
    """What is noted of one graph. Safe from any thread."""

    def __init__(self, place: Place, *, read_only: bool) -> None:
        self._place = place
        self._read_only = read_only
        self._graph = ""
        self._noted: CommitIds | None = None
        self._fresh_refs: dict[str, NotedRef] = {}
        self._lock = Lock()
        self.in_use = True
        """Whether anything is read from it, or written to it."""

    def open(self, graph: str) -> None:
        """Read what is there, once."""
        with self._lock:
            if self.in_use and self._noted is None:
                self._graph, self._noted = graph, self._read(graph)

    def _read(self, graph: str) -> CommitIds:
        nothing = CommitIds(graph, {}, {})
        try:
            found = decoded(self._place.get(PATH), CommitIds, PATH, "what is noted of commits")
        except NotFound:
            return nothing
        except StorageError as error:
            _log.warning("%s is not used, and is made anew: %s", self._place.child(PATH), error.message)
            return nothing
        return found if found.graph == graph else nothing

    # ── refs ─────────────────────────────────────────────────────────────────────────────────────────────────────────────────

    def refs(self, listed: Mapping[str, StoredObject]) -> dict[str, Ref]:
        """Refs that are as they were noted, of those that are listed, by name."""
        noted = {} if self._noted is None else self._noted.refs
        known = ((name, noted.get(name), found.version) for name, found in listed.items())
        return {name: kept.ref for name, kept, version in known if kept is not None and kept.file == version}

    def note_refs(self, listed: Mapping[str, StoredObject], read: Sequence[Ref]) -> dict[str, Ref]:
        """Refs that were read after they were listed; the same by name."""
        settled = time.time() - COARSEST_CLOCK_NS / 1e9
        for ref in read:
            found = listed.get(ref.branch)
            if found is not None and found.version is not None and (not self._place.is_local or found.modified < settled):
                self._fresh_refs[ref.branch] = NotedRef(found.version, ref)
        return {ref.branch: ref for ref in read}

    # ── manifests ────────────────────────────────────────────────────────────────────────────────────────────────────────────

    def current(self, incarnations: Iterable[str]) -> dict[str, NotedManifest]:
        """What is noted of manifests that did not change since. One look at the names of each, or one listing of all."""
        noted = {} if self._noted is None else self._noted.manifests
        asked = [(incarnation, noted[incarnation]) for incarnation in incarnations if incarnation in noted]
        if not asked:
            return {}
        versions = self._versions()
        return {incarnation: kept for incarnation, kept in asked if versions(incarnation, kept.version) == kept.files}

    def note(self, opened: Sequence[Manifest], untouched: Sequence[str]) -> None:
        """Write down what was read, and where nothing was published yet, if it is much. Whoever cannot write goes without."""
        with self._lock:
            fresh = len(opened) + len(untouched) + len(self._fresh_refs)
            if self._noted is None or self._read_only or fresh < WORTH_WRITING:
                return
            versions = self._versions()
            made = {m.incarnation: entry for m in opened if (entry := _noted(m, versions)) is not None}
            for incarnation in untouched:
                if (files := versions(incarnation, 1)) is not None:
                    made[incarnation] = NotedManifest(1, files, False, b"", b"")
            older = {i: kept for i, kept in self._noted.manifests.items() if versions(i, kept.version) == kept.files}
            self._noted = CommitIds(self._graph, {**older, **made}, {**self._noted.refs, **self._fresh_refs})
            self._fresh_refs = {}
            try:
                self._place.put(PATH, encoded(self._noted, PATH))
            except StorageError as error:
                _log.warning("%s could not be written: %s", self._place.child(PATH), error.message)

    def _versions(self) -> Versions:
        if self._place.is_local:
            return self._on_disk
        stored = {found.path: found.version for found in self._place.objects("__manifest")}

        def listed(incarnation: str, version: int) -> str | None:
            this_one, next_one = (f"__manifest/{incarnation}/{version_file(v)}" for v in (version, version + 1))
            return None if next_one in stored else stored.get(this_one)

        return listed

    def _on_disk(self, incarnation: str, version: int) -> str | None:
        folder = self._place.child(f"__manifest/{incarnation}")
        this_one = _file(f"{folder}/{version_file(version)}")
        if this_one is None or os.path.lexists(f"{folder}/{version_file(version + 1)}"):
            return None
        return f"{this_one} {_content(f'{folder}/{HINT}')}"


def _file(path: str) -> str | None:
    try:
        return file_version(os.lstat(path))
    except OSError:  # gone, or not to be looked at: then nothing is known of it
        return None


def _content(path: str) -> str | None:
    """What a file of a few bytes holds: it may be written over within one tick of the clock of a disk."""
    try:
        file = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOFOLLOW", 0))
        try:
            return os.read(file, 64).decode("latin-1")
        finally:
            os.close(file)
    except OSError:  # gone, or not to be looked at: then nothing is known of it
        return None


def _noted(manifest: Manifest, versions: Versions) -> NotedManifest | None:
    """What a manifest holds, as it was last seen; None if it is too much, changes just now, or cannot be read."""
    try:
        state = manifest.last_known()
        files = versions(manifest.incarnation, state.version)
        if files is None or sum(rows for _, rows in state.packed) > MOST_COMMITS:
            return None
        commits = _digests(commit.id for commit in (manifest.history() if state.packed else state.recent))
        carried = _digests(commit.id for commit in (manifest.carried() if state.packed else ()))
        same = manifest.last_known().version == state.version
    except GraphError:  # whoever looks for a commit in it is told
        return None
    return NotedManifest(state.version, files, state.head.sealed, commits, carried) if same else None


def _digests(ids: Iterable[str]) -> bytes:
    return b"".join(map(_digest, ids))


def _digest(commit: str) -> bytes:
    return xxh3_64(commit.encode(errors="replace")).digest()


def _holds(digests: bytes, wanted: bytes) -> bool:
    at = digests.find(wanted)
    while at >= 0:
        if at % _DIGEST == 0:
            return True
        at = digests.find(wanted, at + 1)
    return False
