"""Columns come, go and change their names, without a row being rewritten.

A column is a *field id*; its name is a label. Data files say which field ids they hold, so that

    rename    is a new label for the same id                   no data is touched, indexes go on working
    allow     is the same id with another mark                 no data is touched: rows that exist have a value, new ones may not
    drop      is a schema without the id                       the files keep the bytes until they are rewritten
    add       is a schema with a new id that no file holds     every row reads as null
    compute   is add, with one more file per fragment          the old files stay as they are

**An id never comes back.** A file that still holds the id of a dropped column would bring its values back to life under a new
name; so would rows that were written before the drop and are published after it. Lance counts what the present files hold, and
forgets when they are rewritten. So the greatest id ever used is kept in the table's own metadata (`HIGHEST`) when a column goes.

    schema            id=0 n=1 text=2
    drop text         id=0 n=1            HIGHEST=2
    add mood          id=0 n=1 mood=3     and not mood=2

Field ids are not part of Lance's Arrow schemas. They are in its own schema objects, which come apart into one protobuf message
per field (the form of the file format) and are put together again from such messages. In a protobuf message the last of several
values of a field counts, so a message is edited by appending to it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final

import pyarrow as pa
from lance import LanceDataset
from lance import LanceOperation as Op
from lance.fragment import FragmentMetadata, LanceFragment
from lance.schema import LanceSchema

from omnigraph.errors import AlreadyExists, NotFound, UsageError
from omnigraph.storage.files.effects import Call
from omnigraph.storage.files.lance_errors import translated
from omnigraph.storage.lance_format.protobuf import number, text
from omnigraph.storage.rewriting.derived import outcome, own
from omnigraph.storage.tables.changes import Applied, TableState
from omnigraph.storage.tables.table import Table, Tables

if TYPE_CHECKING:
    from lance.lance.schema import LanceField

HIGHEST: Final = "omnigraph:highest_field_id"
"""Metadata of a table: the greatest field id that was ever used."""

Compute = Callable[[pa.RecordBatch], pa.RecordBatch]
"""New columns of a batch from the columns it reads, row by row."""

_NAME, _ID, _PARENT, _NULLABLE = 2, 3, 4, 6  # field numbers in lance.file.Field


def add_nullable_columns(tables: Tables, state: TableState, fields: Sequence[pa.Field]) -> Applied:
    """Add columns that are null in every row. Reads and writes no data."""
    before = own(tables.open(state))
    schema = _with_new(before, fields)
    fragments = [f.metadata for f in before.dataset.get_fragments()]
    return outcome(state, before, before.commit(Op.Merge(fragments, schema, preserves_nullability=True)))


def add_computed_columns(
    tables: Tables, state: TableState, fields: Sequence[pa.Field], compute: Compute, reads: Sequence[str]
) -> Applied:
    """Add columns whose values follow from others. Writes one file per fragment, with the new columns only."""
    before = own(tables.open(state))
    schema = _with_new(before, fields)
    first = min(f.id() for f in schema.fields() if f.name() in {field.name for field in fields})
    wanted = pa.schema(fields)

    def typed(batch: pa.RecordBatch) -> pa.RecordBatch:
        return compute(batch).select(wanted.names).cast(wanted)

    pairs = [_computed(before, fragment, typed, reads, first) for fragment in before.dataset.get_fragments()]
    files = [f"{before.location}/data/{path}" for _, path in pairs]
    after = before.commit(Op.Merge([fragment for fragment, _ in pairs], schema, preserves_nullability=True))
    return outcome(state, before, after, files)


def drop_columns(tables: Tables, state: TableState, names: Sequence[str]) -> Applied:
    """Remove columns, and the indexes on them. The bytes go when the fragments are rewritten."""
    before = own(tables.open(state))
    for name in names:
        _field(before, name)
    gone = {f.id() for top in before.dataset.lance_schema.fields() if top.name() in names for f in _flat([top])}
    make, metadata, messages = _apart(before.dataset.lance_schema)
    metadata[HIGHEST] = list(str(_highest(before.dataset)).encode())
    kept = [message for id_, message in messages if id_ not in gone]
    schema = make(json.dumps(metadata), *kept)
    return outcome(state, before, before.commit(Op.Project(schema, preserves_nullability=True)))


def rename_columns(tables: Tables, state: TableState, names: Mapping[str, str]) -> Applied:
    """Give columns other names; values and indexes stay."""
    before = own(tables.open(state))
    renamed = {_field(before, old).id(): new for old, new in names.items()}
    others = set(before.schema.names) - names.keys()
    for new in names.values():
        if new in others:
            raise AlreadyExists(f"{before.table} has a column `{new}` already")
    make, metadata, messages = _apart(before.dataset.lance_schema)
    edited = [m + (text(_NAME, renamed[id_]) if id_ in renamed else b"") for id_, m in messages]
    schema = make(json.dumps(metadata), *edited)
    return outcome(state, before, before.commit(Op.Project(schema, preserves_nullability=True)))


def allow_nulls(tables: Tables, state: TableState, names: Sequence[str]) -> Applied:
    """Let columns be null that could not be; values and indexes stay."""
    before = own(tables.open(state))
    allowed = {_field(before, name).id() for name in names}
    make, metadata, messages = _apart(before.dataset.lance_schema)
    edited = [m + (number(_NULLABLE, 1) if id_ in allowed else b"") for id_, m in messages]
    return outcome(state, before, before.commit(Op.Project(make(json.dumps(metadata), *edited))))


# ── fields and their ids ────────────────────────────────────────────────────────────────────────────────────────────────────────


def _with_new(table: Table, fields: Sequence[pa.Field]) -> LanceSchema:
    """The schema with further fields, under ids that were never used."""
    for field in fields:
        if not field.nullable:
            raise UsageError(f"column `{field.name}` cannot be added to {table.table}: rows that exist have no value for it")
        if field.name in table.schema.names:
            raise AlreadyExists(f"{table.table} has a column `{field.name}` already")
    make, metadata, messages = _apart(table.dataset.lance_schema)
    _, _, added = _apart(LanceSchema.from_pyarrow(pa.schema(fields)))
    first = _highest(table.dataset) + 1
    parents = {f.id(): top.id() for top in _flat(LanceSchema.from_pyarrow(pa.schema(fields)).fields()) for f in top.children()}
    shifted = [
        message + number(_ID, id_ + first) + (number(_PARENT, parents[id_] + first) if id_ in parents else b"")
        for id_, message in added
    ]
    return make(json.dumps(metadata), *(message for _, message in messages), *shifted)


def _highest(dataset: LanceDataset) -> int:
    """The greatest field id ever used: by the schema, by a file, or by a column that is gone."""
    kept = int((dataset.schema.metadata or {}).get(HIGHEST.encode(), b"-1"))
    return max(kept, dataset.max_field_id)


def _field(table: Table, name: str) -> LanceField:
    found = table.dataset.lance_schema.field(name)
    if found is None:
        raise NotFound(f"{table.table} has no column `{name}`")
    return found


def _flat(fields: Iterable[LanceField]) -> Iterator[LanceField]:
    for field in fields:
        yield field
        yield from _flat(field.children())


def _apart(schema: LanceSchema) -> tuple[Callable[..., LanceSchema], dict[str, list[int]], list[tuple[int, bytes]]]:
    """What makes a schema, its metadata, and its fields as messages, parents before children."""
    reduced = schema.__reduce__()
    assert isinstance(reduced, tuple)
    make, (metadata, *messages) = reduced
    return make, json.loads(metadata), [(f.id(), m) for f, m in zip(_flat(schema.fields()), messages, strict=True)]


# ── computed values ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


def _computed(
    table: Table, fragment: LanceFragment, compute: Compute, reads: Sequence[str], first: int
) -> tuple[FragmentMetadata, str]:
    """A fragment with one more file, and the file's name. The ids in it are moved to where `first` is the first new one."""
    raised: list[Exception] = []

    def told(batch: pa.RecordBatch) -> pa.RecordBatch:
        try:
            return compute(batch)
        except Exception as error:  # Lance would make a text of it
            raised.append(error)
            raise

    try:
        with translated(f"compute columns of {table.location}"):
            after, schema = table.place.effects.run(Call.ADD_COLUMNS, lambda: fragment.merge_columns(told, columns=list(reads)))
    except Exception:
        if raised:
            raise raised[0] from None
        raise
    described = after.to_json()
    old = {file["path"] for file in fragment.metadata.to_json()["files"]}
    (new,) = (file for file in described["files"] if file["path"] not in old)
    known = set(table.schema.names)
    shift = first - min(f.id() for f in schema.fields() if f.name() not in known)
    new["fields"] = [id_ + shift for id_ in new["fields"]]
    return FragmentMetadata.from_json(json.dumps(described)), new["path"]
