"""Tables at pinned versions.

A table is a Lance dataset whose own head never moves after it was created. Every change is a *detached* version: committed on
top of a pinned one, named by a random number, on nobody's lineage. Whoever knows the number can open it; nobody else can see
it. So a change costs what it writes, siblings never conflict, and a crash leaves files that nothing refers to.

    create("nodes/5-7")           version 1, empty                    the only attached version there will ever be
    append on 1                   version 0x9f3…  (detached)          pinned by some graph commit
    append on 0x9f3…              version 0xc01…  (detached)
    append on 0x9f3…              version 0x8aa…  (detached)          a sibling: another branch, or the loser of a race

Handles are cached by (location, pin). A pin never comes back, so an entry can never be stale.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import cached_property, partial
from threading import Lock
from typing import Any, Final, TypeAlias, TypedDict

import lance
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from lance import LanceDataset
from lance import LanceOperation as Op
from lance.dataset import LanceScanner, Session
from lance.fragment import FragmentMetadata, LanceFragment, write_fragments

from omnigraph.errors import AlreadyExists, GraphError, HistoryReclaimed, NotFound, StalledWrite
from omnigraph.model.arrow import is_blob
from omnigraph.storage.files.checksums import StoredFile, stored_file, stored_files
from omnigraph.storage.files.dataset_folders import DATA, INDICES
from omnigraph.storage.files.effects import Call
from omnigraph.storage.files.fork_guard import use
from omnigraph.storage.files.lance_errors import translated, writing
from omnigraph.storage.files.place import Place
from omnigraph.storage.lance_format.column_descriptions import Sound
from omnigraph.storage.lance_format.file_names import deletion_file, version_file
from omnigraph.storage.lance_format.filters import Filter, one_of, text_of
from omnigraph.storage.lance_format.fragments import names_of, plain
from omnigraph.storage.lance_format.made_versions import Unfamiliar
from omnigraph.storage.lance_format.packing import packed
from omnigraph.storage.lance_format.small_files import FILE_WRITER
from omnigraph.storage.tables.changes import (
    NO_ROWS,
    Append,
    Applied,
    Change,
    Delete,
    IndexState,
    Overwrite,
    TableState,
    UnstoredRows,
    Upsert,
    WrittenRows,
    unchanged,
)
from omnigraph.storage.tables.recent_rows import RecentRows, is_small
from omnigraph.storage.tables.versions import Versions, meant, reclaimed_version

STORAGE_VERSION: Final = "2.2"
"""File format of new data files."""
LOOKUP_BATCH = 8_192
"""Most ids in one lookup."""
SCANNED_ABOVE: Final = 4 * LOOKUP_BATCH
"""To find more rows than that, all ids are read once."""

SMALL_FILES: Final = 1 << 20
"""Writes below this many bytes are synced by the publisher, together with everything else it has to sync."""

_HANDLES = 256
_SCANNED_ROWS = 1 << 20

_DATA, _VALUES, _INDEXES = "data", "values", "indexes"
_BY_INDEX: Final = ("filter", "nearest", "full_text_query")
"""What is asked of a scan that may go through an index."""

Rows: TypeAlias = pa.Table | pa.RecordBatchReader | Iterable[pa.RecordBatch]

IsNeeded: TypeAlias = Callable[[str, int], bool]
"""Whether a version that is not there should be, because no reclaim may have taken it: by location and pin."""

INDEX_CACHE, ON_DISK, ELSEWHERE = 1 << 30, 8 << 20, 32 << 20
"""Bytes that Lance keeps of indexes, and of what versions and files say of themselves, which elsewhere is a request to read."""


class _NoFieldChanged(TypedDict):
    fields_modified: list[int]
    fields_for_preserving_frag_bitmap: list[int]
    update_mode: str


class Tables:
    """The tables of one graph, behind one shared session."""

    def __init__(self, place: Place, is_needed: IsNeeded | None = None) -> None:
        use()
        self.place = place
        self._is_needed = is_needed or _may_be_reclaimed
        self.session = Session(INDEX_CACHE, ON_DISK if place.is_local else ELSEWHERE)
        self._handles: dict[tuple[str, int], Table] = {}
        self._writers: dict[str, Table] = {}
        """The handle of each table that was opened last, to write with: at any pin with the columns that are wanted."""
        self.versions = Versions(place)
        self._recent = RecentRows()
        self._sound = Sound(place)
        self._lock = Lock()
        self.opened = self.moved = 0
        """Datasets opened so far, and versions looked at through one that was open: the cost tests count on it."""

    def create(self, table: str, location: str, schema: pa.Schema) -> TableState:
        """A new, empty table. Safe to repeat: what a process that died left there is reused, as long as it is empty."""
        self.place.require_dataset(location)
        with translated(f"create the table at {location}"):
            dataset = self.place.effects.run(Call.CREATE_TABLE, lambda: self._created(location, schema))
        self.place.sync([o.path for o in self.place.objects(location)] if self.place.is_local else [])
        return TableState(table, location, dataset.version, 0, 0)

    def _created(self, location: str, schema: pa.Schema) -> LanceDataset:
        uri, options = self.place.child(location), dict(self.place.options) or None

        def make(mode: str) -> LanceDataset:
            return lance.write_dataset(
                packed(schema).empty_table(),
                uri,
                mode=mode,
                data_storage_version=STORAGE_VERSION,
                enable_stable_row_ids=False,  # several index segments over changed rows go wrong with them: see the guard tests
                storage_options=options,
                session=self.session,
            )

        try:
            return make("create")
        except OSError as error:
            if "already exists" not in str(error).lower():
                raise
        left = lance.dataset(uri, storage_options=options, session=self.session)
        if left.count_rows():
            raise AlreadyExists(f"{uri} already holds rows", hint="Nothing was changed. Choose another place for the graph.")
        # A new version beside it: whoever pinned the old one keeps it, and a reclaim that is about to take it leaves this one.
        return make("overwrite")

    def files_of_new(self, state: TableState) -> tuple[StoredFile, ...]:
        """What the files of a table hold that was just created, by checksum. One that another branch made has others as well."""
        with translated(f"take checksums of files of {state.location}"):
            version = f"{state.location}/{version_file(state.pin)}"
            return stored_files(self.place, state.location, [version] if self.place.exists(version) else [])

    def open(self, state: TableState) -> Table:
        """The table at the pin of a state."""
        key = (state.location, state.pin)
        with self._lock:
            found = self._handles.pop(key, None)
            if found is not None:
                self._handles[key] = found
                return found
        known = self._writers.get(state.location)
        try:
            with translated(f"open {state.location} at {state.pin}"):
                if known is not None:
                    self.moved += 1
                    return self.remember(known.same(meant(known.dataset.checkout_version(state.pin), state)))
                self.place.require_dataset(state.location)
                uri, options = self.place.child(state.location), dict(self.place.options) or None
                dataset = meant(lance.dataset(uri, version=state.pin, storage_options=options, session=self.session), state)
        except NotFound as error:
            if self._is_needed(state.location, state.pin):
                raise
            raise reclaimed_version(state.location, state.pin) from error
        self.opened += 1
        table = Table(self.place, dataset, state.table, state.location, self._recent, self._sound, self._is_needed)
        return self.remember(table)

    def remember(self, table: Table) -> Table:
        """Keep a handle for those who open its pin."""
        with self._lock:
            self._handles[table.location, table.pin] = self._writers[table.location] = table
            while len(self._handles) > _HANDLES:
                self._handles.pop(next(iter(self._handles)))
        return table

    def writer(self, state: TableState) -> Table:
        """The table at a pin with the columns of a state: to write rows it takes no more, and opening each new pin costs more."""
        known = self._writers.get(state.location)
        if known is None or (known.pin != state.pin and not self._alike(state, known)):
            known = self._writers[state.location] = self.open(state)
        return known

    def _alike(self, state: TableState, known: Table) -> bool:
        with suppress(Unfamiliar, GraphError):  # opening it says what is wrong
            return len({self.versions.read(state.location, pin).columns for pin in (state.pin, known.pin)}) == 1
        return False

    def stored(self, table: TableState, written: WrittenRows) -> WrittenRows:
        """Rows in data files; those that are in none are put there, with the columns they were written for."""
        if written.unstored is None:
            return written
        older = written.unstored.pin != table.pin
        try:
            return self.writer(replace(table, pin=written.unstored.pin, rows=0, fragments=0)).store(written.unstored.rows)
        except (NotFound, HistoryReclaimed) as gone:
            raise StalledWrite(f"cleanup removed what a write is based on: {gone.message}") if older else gone from gone

    def apply(self, base: TableState, change: Change) -> Applied:
        """The table with a change on top of a pinned version. Nothing visible moves."""
        if not isinstance(change, Delete):
            change = replace(change, written=self.stored(base, change.written))
        applied, handle = self.open(base).apply(base, change)
        if handle is not None:
            self.remember(handle)
        return applied


class Table:
    """A table at one pin. Reading is safe from any thread; a write makes a new handle and leaves this one alone."""

    def __init__(
        self,
        place: Place,
        dataset: LanceDataset,
        table: str,
        location: str,
        recent: RecentRows,
        sound: Sound,
        is_needed: IsNeeded,
    ) -> None:
        self.place = place
        self.dataset = dataset
        self.table = table
        self.location = location
        self.recent = recent
        """What was written to tables of this graph a moment ago."""
        self.sound = sound
        """Files that Lance may scan."""
        self._is_needed = is_needed
        self._sound_parts = frozenset[str]()  # data, values, indexes: all files of which are known to be
        self._fragments: dict[int, LanceFragment] = {}
        self._paths: dict[int, tuple[str, ...]] = {}
        self.fence = place.fence
        """The newest fence that was known when it was opened: what is made of it is no older."""
        self.about: dict[str, Any] = {}
        """What was found out about this pin, by those who want to find it out once."""

    @cached_property
    def pin(self) -> int:
        return int(self.dataset.version)

    @cached_property
    def schema(self) -> pa.Schema:
        return self.dataset.schema

    @cached_property
    def columns(self) -> tuple[tuple[str, int], ...]:
        """Names and identities of the columns."""
        return tuple((field.name(), field.id()) for field in self.dataset.lance_schema.fields())

    @cached_property
    def has_blobs(self) -> bool:
        """Whether there are columns whose values are stored aside."""
        return any(is_blob(field) for field in self.schema)

    # ── reading ──────────────────────────────────────────────────────────────────────────────────────────────────────────────

    def scanner(
        self, columns: Sequence[str] | None = None, *, fragments: Sequence[LanceFragment] | None = None, **asked: Any
    ) -> LanceScanner:
        """A scan by Lance. None is made without this: a damaged file could end the process (`column_descriptions`)."""
        if self.place.is_local:
            some = any(asked.get(way) is not None for way in _BY_INDEX)
            if (_DATA if some else _VALUES) not in self._sound_parts:
                read = self.dataset.get_fragments() if fragments is None else fragments
                self.sound.require(self._files_of(read), values=not some)
                self._sound_parts |= set() if fragments is not None else {_DATA} if some else {_DATA, _VALUES}
            if some and _INDEXES not in self._sound_parts:
                self.sound.require(self._index_files())
                self._sound_parts |= {_INDEXES}
        return self.dataset.scanner(None if columns is None else list(columns), fragments=fragments, **asked)

    @contextmanager
    def reading(self, doing: str) -> Iterator[None]:
        """Run calls that read this pin. A file that is missing together with the version itself was reclaimed with it."""
        try:
            with translated(doing):
                yield
        except NotFound as error:
            if self.place.exists(f"{self.location}/{version_file(self.pin)}") or self._is_needed(self.location, self.pin):
                raise
            raise reclaimed_version(self.location, self.pin) from error

    def fragments_by_number(self, numbers: Iterable[int]) -> list[LanceFragment]:
        """Some fragments, for a scan."""
        if not self._fragments:
            self._fragments = {fragment.fragment_id: fragment for fragment in self.dataset.get_fragments()}
        return [self._fragments[number] for number in numbers]

    def _files_of(self, fragments: Iterable[LanceFragment]) -> Iterator[str]:
        """Their data files. What Lance says of a fragment is asked once: it takes a tenth of a millisecond."""
        for fragment in fragments:
            known = self._paths.get(fragment.fragment_id)
            if known is None:
                about = fragment.metadata
                files = (*about.files, *(overlay.data_file for overlay in about.overlays))
                known = self._paths[fragment.fragment_id] = tuple(f"{self.location}/{DATA}/{name}" for name in names_of(files))
            yield from known

    def _index_files(self) -> Iterator[str]:
        for index in self.dataset.describe_indices():
            for segment in index.segments:
                folder = f"{self.location}/{INDICES}/{segment.uuid}"
                with suppress(OSError):  # Lance says better what is missing
                    yield from (f"{folder}/{name}" for name in os.listdir(self.place.child(folder)))

    def same(self, dataset: LanceDataset) -> Table:
        """Another handle of this table: at this pin, or at one that was made of it just now."""
        return Table(self.place, dataset, self.table, self.location, self.recent, self.sound, self._is_needed)

    def scan(
        self,
        columns: Sequence[str] | None = None,
        where: Filter | None = None,
        *,
        limit: int | None = None,
        order_by: Sequence[str] | None = None,
        use_index: bool = True,
        batch_rows: int | None = None,
    ) -> Iterator[pa.RecordBatch]:
        """Rows as a stream of batches."""
        with self.reading(f"read {self.location}"):
            scanner = self.scanner(
                columns=list(columns) if columns is not None else None,
                filter=text_of(where),
                limit=limit,
                order_by=list(order_by) if order_by else None,
                use_scalar_index=use_index,
                batch_size=batch_rows,
                prefilter=True,
            )
            yield from scanner.to_batches()

    def read(
        self,
        columns: Sequence[str] | None = None,
        where: Filter | None = None,
        *,
        limit: int | None = None,
        order_by: Sequence[str] | None = None,
    ) -> pa.Table:
        """Rows as one table."""
        batches = list(self.scan(columns, where, limit=limit, order_by=order_by))
        names = list(columns) if columns is not None else self.schema.names
        return pa.Table.from_batches(batches, schema=pa.schema([self.schema.field(n) for n in names]))

    def ids_among(self, ids: Sequence[str], fragments: Iterable[int]) -> list[str]:
        """Which of these ids stand in the given fragments."""
        chosen = [f for f in self.dataset.get_fragments() if f.fragment_id in set(fragments)]
        found: list[str] = []
        with self.reading(f"look up ids in {self.location}"):
            for at in range(0, len(ids) if chosen else 0, LOOKUP_BATCH):
                where = one_of("id", ids[at : at + LOOKUP_BATCH])
                found += self.scanner(columns=["id"], filter=where.sql, fragments=chosen).to_table()["id"].to_pylist()
        return found

    def lookup(self, ids: Sequence[str], columns: Sequence[str] | None = None) -> pa.Table:
        """The rows with these ids, in no particular order."""
        wanted = list(dict.fromkeys(ids))
        parts = [self.read(columns, one_of("id", wanted[at : at + LOOKUP_BATCH])) for at in range(0, len(wanted), LOOKUP_BATCH)]
        return pa.concat_tables(parts) if parts else self.read(columns, limit=0)

    def count(self, where: Filter | None = None) -> int:
        """How many rows there are."""
        if where is None:
            with self.reading(f"count {self.location}"):
                return int(self.dataset.count_rows())
        return sum(batch.num_rows for batch in self.scan(["id"], where))

    def fragment_ids(self) -> list[int]:
        """Numbers of the fragments of this version."""
        return list(self.dataset.fragment_ids())

    def indexes(self) -> tuple[IndexState, ...]:
        """Every index, and how many of the present fragments it covers."""
        present = set(self.fragment_ids())
        covered: dict[str, set[int]] = {}
        about: dict[str, tuple[str, str]] = {}
        with self.reading(f"read the indexes of {self.location}"):
            for index in self.dataset.describe_indices():
                covered[index.name] = {number for segment in index.segments for number in segment.fragment_ids} & present
                about[index.name] = (index.field_names[0], index.index_type)
        return tuple(IndexState(name, *about[name], len(covered[name])) for name in sorted(covered))

    # ── writing ──────────────────────────────────────────────────────────────────────────────────────────────────────────────

    def write(self, rows: Rows) -> WrittenRows:
        """Put rows into data files that nothing refers to yet; a few, which may share a file with others, when it is time."""
        if isinstance(rows, pa.Table) and is_small(rows) and not self.has_blobs and rows.schema.equals(self.schema):
            return WrittenRows((), rows.num_rows, (), unstored=UnstoredRows(rows, self.pin))
        return self.store(rows)

    def store(self, rows: Rows, call: Call = Call.WRITE_ROWS) -> WrittenRows:
        """Put rows into data files now, however few they are."""
        data = rows if isinstance(rows, pa.Table | pa.RecordBatchReader) else pa.RecordBatchReader.from_batches(self.schema, rows)
        if isinstance(data, pa.Table) and data.num_rows == 0:
            return NO_ROWS
        fence, content = self.place.fence, None
        fragments: tuple[FragmentMetadata, ...]
        with writing(f"write rows to {self.location}"):
            if isinstance(data, pa.Table) and is_small(data) and not self.has_blobs:
                file = FILE_WRITER.written(self.dataset, self.columns, self.place, self.location, data, call)
                fragments, content = (file.fragment,), file.content
            else:
                fragments = plain(
                    self.place.effects.run(
                        call, lambda: write_fragments(data, self.dataset, mode="append", data_storage_version=STORAGE_VERSION)
                    )
                )
        files = self.data_files(fragments) if content is None else (f"{self.location}/{DATA}/{fragments[0].files[0].path}",)
        stored = self.stored_files(files) if content is None else (stored_file(self.location, files[0], content),)
        if isinstance(data, pa.Table) and len(files) == 1 and not self.has_blobs:
            self.recent.keep(files[0], self.columns, data)
        if sum(file.file_size_bytes or SMALL_FILES for f in fragments for file in f.files) >= SMALL_FILES:
            self.place.sync(files)  # here, where nobody waits for it but this writer
            files = ()
        return WrittenRows(fragments, sum(f.physical_rows for f in fragments), files, fence, stored=stored)

    def data_files(self, fragments: Iterable[FragmentMetadata]) -> tuple[str, ...]:
        """Data files, and the blobs that were too large for them, which stand in a folder of the same name."""
        data = [f"{self.location}/{DATA}/{file.path}" for fragment in fragments for file in fragment.files]
        folders = [path.rpartition(".")[0] for path in data] if self.place.is_local else []
        return (*data, *(o.path for f in folders if os.path.isdir(self.place.child(f)) for o in self.place.objects(f)))

    def stored_files(self, paths: Iterable[str]) -> tuple[StoredFile, ...]:
        """What some files hold that were just written."""
        try:
            with translated(f"take checksums of files of {self.location}"):
                return stored_files(self.place, self.location, paths)
        except NotFound as gone:
            raise StalledWrite(f"cleanup removed files of {self.location} while their write was stalled") from gone

    def apply(self, state: TableState, change: Change) -> tuple[Applied, Table | None]:
        """Commit a change on top of this pin as a new, unseen version."""
        match change:
            case Append(written) if not written.fragments:
                return unchanged(state), None
            case Append(written):
                after = self.commit(Op.Append(list(written.fragments)))
                return self._appended(state, written, after), after
            case Upsert(written, _, marks) if marks is not None and marks.pin == self.pin:
                return self._exchange(state, written, list(marks.touched), list(marks.emptied), marks.removed)
            case Upsert(written, ids):
                return self._upsert(state, written, ids)
            case Delete(ids):
                return self._upsert(state, NO_ROWS, ids)
            case Overwrite(written):
                # Not Lance's Overwrite: that one forgets the indexes and gives the columns new field ids.
                return self._exchange(state, written, [], self.fragment_ids(), state.rows)

    def _appended(self, state: TableState, written: WrittenRows, after: Table) -> Applied:
        """What an append came to. It changes no fragment that was there, so every index covers what it did."""
        came = sorted(set(after.fragment_ids()) - set(self.fragment_ids()))
        rows, fragments = state.rows + written.rows, state.fragments + len(came)
        new_state = TableState(state.table, state.location, after.pin, rows, fragments, state.indexes)
        version = f"{self.location}/{version_file(after.pin)}"
        stored = (*written.stored, *self.stored_files([version]))
        return Applied(new_state, written.rows, 0, tuple(came), (), (*written.unsynced, version), stored=stored)

    def _upsert(self, state: TableState, written: WrittenRows, ids: Sequence[str]) -> tuple[Applied, Table | None]:
        return self._exchange(state, written, *self._mark_deleted(ids))

    def _exchange(
        self, state: TableState, written: WrittenRows, touched: list[FragmentMetadata], emptied: list[int], removed: int
    ) -> tuple[Applied, Table | None]:
        """New rows for old ones: fragments with new deletion marks, fragments that go, and how many rows that takes away."""
        if not touched and not emptied:
            return self.apply(state, Append(written)) if written.fragments else (unchanged(state), None)
        marks = [f"{self.location}/{deletion_file(f)}" for f in touched]
        operation: Op.BaseOperation
        if written.fragments:
            operation = Op.Update(
                removed_fragment_ids=emptied,
                updated_fragments=touched,
                new_fragments=list(written.fragments),
                **self.no_field_changed(),
            )
        else:
            operation = Op.Delete(updated_fragments=touched, deleted_fragment_ids=emptied, predicate="true")
        return self._pinned(state, operation, written, marks, removed, [f.id for f in touched])

    def no_field_changed(self) -> _NoFieldChanged:
        """What an update says about the fields of fragments that it touches, and of those that come.

        None of the touched fragments changed: naming some would take these fragments out of the indexes on them, and a later
        search for neighbours would miss rows. The new fragments are in no index, either way.
        """
        return {
            "fields_modified": [],
            "fields_for_preserving_frag_bitmap": [f.id() for f in self.dataset.lance_schema.fields()],
            "update_mode": "rewrite_rows",
        }

    def _mark_deleted(self, ids: Sequence[str]) -> tuple[list[FragmentMetadata], list[int], int]:
        """Deletion marks for rows with these ids: fragments with a new deletion file, fragments left empty, rows marked."""
        with self.reading(f"look up ids in {self.location}"):
            addresses = self._addresses(ids)
        return self.mark_deleted(addresses)

    def mark_deleted(
        self, addresses: np.ndarray[tuple[int], np.dtype[np.uint64]]
    ) -> tuple[list[FragmentMetadata], list[int], int]:
        """The same for rows that are known by their addresses. Nobody sees the marks until a version refers to them."""
        touched: list[FragmentMetadata] = []
        emptied: list[int] = []
        numbers = addresses >> np.uint64(32)
        for number in np.unique(numbers).tolist():
            fragment = self.dataset.get_fragment(number)
            assert fragment is not None
            chosen = addresses[numbers == number]
            after = None
            if len(chosen) < fragment.metadata.num_rows:
                with translated(f"mark deleted rows in {self.location}"):
                    after = self.place.effects.run(Call.WRITE_DELETIONS, partial(_delete, fragment, chosen))
            if after is None:
                emptied.append(number)
            else:
                touched.append(after)
        return touched, emptied, len(addresses)

    def _addresses(self, ids: Sequence[str]) -> np.ndarray[tuple[int], np.dtype[np.uint64]]:
        """Where rows with these ids stand: through the index, or for very many by reading all ids once."""
        found = [np.empty(0, np.uint64)]
        if len(ids) <= SCANNED_ABOVE:
            for at in range(0, len(ids), LOOKUP_BATCH):
                where = one_of("id", ids[at : at + LOOKUP_BATCH])
                # No column: the index has it all.
                rows = self.scanner(columns=[], filter=where.sql, with_row_address=True).to_table()
                found.append(rows["_rowaddr"].to_numpy())
        elif self.fragment_ids():
            wanted = pa.array(ids, pa.string())
            for batch in self.scanner(columns=["id"], with_row_address=True, batch_size=_SCANNED_ROWS).to_batches():
                kept = pc.is_in(batch.column("id"), value_set=wanted)
                found.append(batch.column("_rowaddr").filter(kept).to_numpy())
        return np.concatenate(found)

    def _pinned(
        self,
        state: TableState,
        operation: Op.BaseOperation,
        written: WrittenRows,
        marks: Sequence[str],
        removed: int,
        touched: Iterable[int],
    ) -> tuple[Applied, Table]:
        """Commit an operation. `touched` are the fragments that it gave new deletion marks, in files of their own."""
        after = self.commit(operation)
        before_ids, after_ids = set(self.fragment_ids()), set(after.fragment_ids())
        version = f"{self.location}/{version_file(after.pin)}"
        new_state = TableState(
            state.table,
            state.location,
            after.pin,
            state.rows + written.rows - removed,
            len(after_ids),
            after.indexes() if state.indexes else (),
        )
        marked = set(touched)
        return (
            Applied(
                new_state,
                written.rows,
                removed,
                tuple(sorted((after_ids - before_ids) | (marked & after_ids))),
                tuple(sorted((before_ids - after_ids) | (marked & before_ids))),
                (*written.unsynced, *marks, version),
                stored=(*written.stored, *self.stored_files([*marks, version])),
            ),
            after,
        )

    def commit(self, operation: Op.BaseOperation) -> Table:
        """Commit an operation on top of this pin, detached."""
        self.place.require_inside(self.location)
        with translated(f"pin a version of {self.location}"):
            dataset = self.place.effects.run(
                Call.PIN,
                lambda: LanceDataset.commit(self.dataset, operation, read_version=self.dataset.version, detached=True),
            )
        return self.same(dataset)


def _may_be_reclaimed(location: str, pin: int) -> bool:
    return False


def _delete(fragment: LanceFragment, addresses: np.ndarray[tuple[int], np.dtype[np.uint64]]) -> FragmentMetadata | None:
    return fragment.delete(one_of("_rowaddr", addresses.tolist()).sql)
