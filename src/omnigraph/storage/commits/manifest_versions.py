"""Versions of a manifest: the newest one is found, any is read, and the next one is added by a swap.

On an object store all of that is Lance's. On a disk it is ours, as far as a version says what is known here (`made_versions`),
because Lance takes a dozen calls for what are three: a file is written beside its place and synced, a link gives it the next
number, which only one can have, and the number is noted down for those who come later (`version_hint`).

    _versions/…4.manifest          the version that was read
    _versions/…5.manifest#8123     what the next one will say; whole and synced before anybody can see it
    _versions/…5.manifest          the link: whoever makes it has won, everybody else has lost

The file is one of Lance's, with the transaction that made it inside: Lance reads it, and one that swaps by Lance finds the
conflict. Whatever is not as expected (another format, other columns, a damaged file) is left to Lance, which says what is wrong.
"""

from __future__ import annotations

import os
import random
import struct
import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from typing import Final

import lance
import pyarrow as pa
from lance import LanceDataset
from lance import LanceOperation as Op
from lance.dataset import Session
from lance.file import LanceFileReader
from lance.fragment import FragmentMetadata

from omnigraph.errors import GraphError, NotFound, StorageError
from omnigraph.model.frozen import frozen
from omnigraph.storage.commits import format as formats
from omnigraph.storage.commits.manifest_rows import StoredEntry, entries_in, entries_of
from omnigraph.storage.commits.version_hint import HINT, hinted_version, lost_version, note_version, noted, other_version
from omnigraph.storage.files.dataset_folders import DATA, VERSIONS
from omnigraph.storage.files.effects import Call
from omnigraph.storage.files.lance_errors import LostRace
from omnigraph.storage.files.place import Place
from omnigraph.storage.files.records import damaged
from omnigraph.storage.lance_format.column_descriptions import Sound
from omnigraph.storage.lance_format.file_names import version_file
from omnigraph.storage.lance_format.filters import Filter
from omnigraph.storage.lance_format.fragments import names_of
from omnigraph.storage.lance_format.made_versions import Unfamiliar, Version

ANCHOR: Final = (1 << 32) - 2
"""Number of a fragment that is in no manifest, and that every swap removes."""

LONG_SWAP: Final = 10.0
"""Seconds after which a swap on an object store is looked at again. On a disk each is: there it costs nothing."""

COARSEST_CLOCK_NS = 5_000_000_000
"""No disk tells the time of a change less exactly than this: FAT has two seconds."""

_STEPS: Final = 256
"""So many versions are looked for one after the other; Lance finds one that is further ahead."""


class Opened:
    """One version of a manifest. It never changes."""

    def __init__(self, versions: ManifestVersions, number: int, dataset: LanceDataset | None, said: Version | None) -> None:
        self._versions = versions
        self.number = number
        if dataset is not None:
            self.__dict__["dataset"] = dataset
        if said is not None:
            self.__dict__["said"] = said

    @cached_property
    def dataset(self) -> LanceDataset:
        """As Lance has it."""
        return self._versions.checkout(self.number)

    @cached_property
    def said(self) -> Version | None:
        """As we read it; None: Lance has to."""
        return self._versions.read(self.number)

    @cached_property
    def fragments(self) -> Mapping[int, int]:
        """Rows of each fragment, by its number."""
        if self.said is not None:
            return {number: entry.rows for number, entry in self.said.entries.items()}
        return {f.fragment_id: f.physical_rows for f in self.dataset.get_fragments()}

    def rows(self, number: int) -> pa.Table:
        """All rows of a fragment."""
        found = None if self.said is None else self._versions.read_file(self.said, number)
        return self.scan([number]) if found is None else found

    def entries(self, number: int) -> list[StoredEntry]:
        """The same, as records and what is said beside them."""
        found = None if self.said is None else self._versions.read_entries(self.said, number)
        return entries_of(self.rows(number)) if found is None else found

    def scan(self, fragments: Sequence[int], where: Filter | None = None) -> pa.Table:
        """Rows of some fragments."""
        dataset = self.dataset
        chosen = [f for f in dataset.get_fragments() if f.fragment_id in fragments]
        self._versions.require_sound(name for fragment in chosen for name in names_of(fragment.metadata.files))
        return dataset.scanner(filter=None if where is None else where.sql, fragments=chosen).to_table()


@frozen(slots=False)
class NextVersion:
    """What a swap is to make visible."""

    base: Opened
    removed: tuple[int, ...]
    fragments: tuple[FragmentMetadata, ...]
    made: Version | None
    """As it will stand there; None: Lance makes it."""
    staged: str | None
    """Where that is written already."""


class ManifestVersions:
    """The versions of one manifest."""

    def __init__(self, place: Place, location: str, session: Session, *, ignores_hint: bool) -> None:
        self.place, self.location, self.ignores_hint = place, location, ignores_hint
        self._session = session
        self._sound = Sound(place)
        self._folder = place.child(location)
        self._versions = f"{self._folder}/{VERSIONS}"
        self._handle: LanceDataset | None = None
        self._names: tuple[int, str, str] | None = None
        """Files that a probe looks for: those of the version after this one, and of this one."""
        self._unchanged_since: int | None = None
        """When the folder of versions last changed, if that was long before a probe found nothing new."""

    # ── reading ──────────────────────────────────────────────────────────────────────────────────────────────────────────────

    def first(self) -> Opened:
        """The newest version, looked for the first time."""
        compared = self.place.is_local and not self.ignores_hint
        hinted = hinted_version(self.place, self.location) if compared else 0  # first: somebody may publish meanwhile
        self.place.require_dataset(self.location)
        dataset = lance.dataset(self._folder, storage_options=dict(self.place.options) or None, session=self._session)
        opened = self._opened(self._checked(dataset))
        if self.place.is_local and (opened.number < hinted or not self.is_latest(opened)):
            opened = self.newest(opened)
        while opened.number < hinted:
            again = hinted_version(self.place, self.location)
            if again == hinted:
                raise lost_version(self.place, self.location, hinted, opened.number)
            hinted, opened = again, self.newest(opened)  # it was read while it was written
        return opened

    def newest(self, known: Opened) -> Opened:
        """The newest version, as its file says, which neither holds another one nor is older than what was there."""
        number = self._ahead(known.number) if self.place.is_local else None
        said = None if number is None or known.said is None else self.read(number)
        if number is not None and said is not None and known.said is not None and said.rest == known.said.rest:
            return Opened(self, number, None, said)
        handle = self.handle
        latest = handle.latest_version
        opened = self._opened(self._checked(handle.checkout_version(latest)))
        if opened.number != latest:
            raise other_version(self.place, self.location, latest, opened.number)
        if latest < known.number:
            raise lost_version(self.place, self.location, known.number, latest)
        return opened

    def _ahead(self, known: int) -> int | None:
        """The newest version on a disk, if it is not far from one that is known, and that is still there afterwards: then none in
        between was pruned, and none stands where one was."""
        for number in range(known, known + _STEPS):
            if not os.path.exists(self._file(number + 1)):
                return number if os.path.exists(self._file(known)) else None
        return None

    def _file(self, number: int) -> str:
        return f"{self._folder}/{version_file(number)}"

    def is_latest(self, opened: Opened) -> bool:
        """Whether there is no newer version. On a disk that is a look at two names, however many versions there are.

        Versions are numbered without gaps and pruned oldest first: where this one is and the next one is not, nothing follows.
        A folder that did not change since then holds nothing new either, which one look tells. Clocks of disks are coarse, so
        that counts only when the last change is long past: a second one within the same tick would leave no trace.
        """
        version = opened.number
        if not self.place.is_local:
            return bool(opened.dataset.latest_version == version)
        try:
            changed = os.stat(self._versions).st_mtime_ns
        except FileNotFoundError:  # the branch is gone, which whoever opens the manifest says better
            return False
        if self._unchanged_since == changed and self._names is not None and self._names[0] == version:
            return True
        if self._names is None or self._names[0] != version:
            self._names = (version, self._file(version + 1), self._file(version))
        latest = not os.path.exists(self._names[1]) and os.path.exists(self._names[2])
        self._unchanged_since = changed if latest and time.time_ns() - changed > COARSEST_CLOCK_NS else None
        return latest

    def at(self, number: int) -> Opened:
        """Some version."""
        return Opened(self, number, None, None)

    def checkout(self, number: int) -> LanceDataset:
        """A version as Lance has it."""
        handle = self.handle
        if handle.version != number:
            handle = self._handle = handle.checkout_version(number)
        return handle

    @property
    def handle(self) -> LanceDataset:
        """Some version as Lance has it: the columns are the same in all of them."""
        if self._handle is None:
            return self.first().dataset
        return self._handle

    @cached_property
    def columns(self) -> tuple[tuple[str, int], ...]:
        """Names and identities of the columns."""
        return tuple((field.name(), field.id()) for field in self.handle.lance_schema.fields())

    def read(self, number: int) -> Version | None:
        """A version as we read it; None where it is for Lance to read, or to say what is wrong with it."""
        if not self.place.is_local:
            return None
        with suppress(Unfamiliar, NotFound, struct.error, ValueError, LookupError, ArithmeticError):
            said = Version.read(number, self.place.get(f"{self.location}/{version_file(number)}"))
            if said.number == number and not said.indexed and all(e.deletions is None for e in said.entries.values()):
                return said
        return None

    def read_file(self, said: Version, number: int) -> pa.Table | None:
        """All rows of a fragment; None: it is not one file of so many rows that can be read."""
        entry = said.entries[number]
        if len(entry.files) != 1:
            return None
        (name,) = entry.files
        self.require_sound([name])
        try:
            rows = LanceFileReader(f"{self._folder}/{DATA}/{name}").read_all(batch_size=entry.rows + 1).to_table()
        except (OSError, ValueError, RuntimeError, pa.ArrowException):  # Lance tells more of it when it is asked for a fragment
            return None
        return rows if rows.num_rows == entry.rows else None

    def read_entries(self, said: Version, number: int) -> list[StoredEntry] | None:
        """All rows of a fragment, if its file is as they are made here; anything that is wrong with it is for others to tell."""
        entry = said.entries[number]
        if len(entry.files) != 1:
            return None
        with suppress(GraphError):  # Lance is asked for the rows then, and says what is wrong
            return entries_in(self.place.get(f"{self.location}/{DATA}/{entry.files[0]}"), entry.rows)
        return None

    def require_sound(self, files: Sequence[str] | Iterator[str]) -> None:
        """Refuse data files that Lance may not read."""
        self._sound.require((f"{self.location}/{DATA}/{name}" for name in files), values=True)

    def _opened(self, dataset: LanceDataset) -> Opened:
        self._handle = dataset
        return Opened(self, int(dataset.version), dataset, None)

    def _checked(self, dataset: LanceDataset) -> LanceDataset:
        stamp = (dataset.schema.metadata or {}).get(formats.STAMP_KEY.encode())
        if stamp is None and not dataset.schema.names:  # nobody's table: Lance reads zeros as a version that says nothing
            raise damaged(f"the manifest {self.location}", "its newest version has no columns")
        formats.check_stamp(None if stamp is None else stamp.decode(), self.place.uri)
        return dataset

    # ── writing ──────────────────────────────────────────────────────────────────────────────────────────────────────────────

    def prepared(self, base: Opened, removed: Sequence[int], fragments: Sequence[FragmentMetadata]) -> NextVersion:
        """The version after one, without some fragments and with some more. Nobody sees it."""
        gone = (*removed, ANCHOR)
        made = staged = None
        with suppress(Unfamiliar):
            made = None if base.said is None else base.said.followed(gone, fragments, str(uuid.uuid4()))
        if made is None:
            _ = base.dataset  # if it is gone, that is said here
        else:
            staged = f"{self.location}/{version_file(made.pin)}#{random.getrandbits(48)}"
            self.place.put_unseen(staged, made.content(), Call.WRITE_MANIFEST)
        return NextVersion(base, gone, tuple(fragments), made, staged)

    def swap(self, wanted: NextVersion) -> Opened:
        """Make a version the newest; `LostRace` if there is another of its number."""
        begun = _running()
        if wanted.made is not None and wanted.staged is not None:
            made, staged = wanted.made, self.place.child(wanted.staged)
            self.place.effects.run(Call.PUBLISH, lambda: self._link(staged, made.pin))
            published = Opened(self, made.pin, None, made)
        else:
            operation = Op.Update(
                removed_fragment_ids=list(wanted.removed),
                updated_fragments=[],
                new_fragments=list(wanted.fragments),
                fields_modified=[f.id() for f in self.handle.lance_schema.fields()],
            )
            dataset, number = wanted.base.dataset, wanted.base.number
            published = self._opened(
                self.place.effects.run(
                    Call.PUBLISH, lambda: LanceDataset.commit(dataset, operation, read_version=number, max_retries=0)
                )
            )
        if self.place.is_local or _running() - begun > LONG_SWAP:
            self._require_in_time(wanted.base.number)
        return published

    def _link(self, staged: str, number: int) -> None:
        try:
            if not os.path.exists(self._file(number - 1)):  # then the number was used and pruned, however free it looks
                raise LostRace(f"version {number - 1} of {self.location} was pruned")
            os.utime(staged)  # reclaim goes by when a version came to be, which is now, however long the sync took
            os.link(staged, self._file(number))
        except FileExistsError as taken:
            if os.stat(staged).st_nlink < 2:  # a file system over a network may have made the link and lost the answer
                raise LostRace(f"version {number} of {self.location} is there already") from taken
        except FileNotFoundError as gone:  # it stood there for so long that reclaim took it for garbage
            raise LostRace(f"what was to be version {number} of {self.location} is gone") from gone
        finally:
            with suppress(OSError):  # it is a second name of the same file, or nobody's
                os.unlink(staged)

    def note(self, number: int) -> None:
        """Note down, as Lance does, which version is there. That is a courtesy: it is behind when it fails, never ahead."""
        if not self.place.is_local or note_version(self._folder, number):
            return
        with suppress(GraphError):  # a courtesy, see above
            self.place.put(f"{self.location}/{HINT}", noted(number))

    def _require_in_time(self, version: int) -> None:
        """Refuse to call a swap done that was made on a version which is gone: somebody may have swapped and pruned meanwhile.

        To one that stood still in the middle of its swap, a number that was used and pruned looks free, and what it puts there
        is before the newest version: nobody would ever see it. Versions are pruned oldest first, so where the one before a swap
        is still there, the number after it was never used.
        """
        file = f"{self.location}/{version_file(version)}"
        if not self.place.exists(file):
            raise StorageError(f"the outcome of a swap in {self.location} is unclear: it took so long that {file} was pruned")


def _running() -> float:
    """Seconds for which this machine has been running, those asleep included where the system tells."""
    return time.clock_gettime(time.CLOCK_BOOTTIME) if hasattr(time, "CLOCK_BOOTTIME") else time.monotonic()
