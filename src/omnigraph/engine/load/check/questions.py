"""Which values might break a rule about sets of rows: checks over data that no single process has to hold in memory.

A rule such as "both ends of an edge exist" is decided by values that meet: ends with ids, ids with ids, unique values with unique
values. A question brings the values of new rows (`new`) and of committed ones (`old`) together and gives *suspects*: every value
of which something may be wrong. It may give too many (a value that one entity lets go while another takes it), never too few. The
rules themselves are then checked for rows with suspect values only (`narrowed`), by the same evaluator as ever. Clean data has no
suspects, and then nothing more is read.

    question    suspects                                              for the rule
    REPEATED    values of two new rows                                an id given twice
    EXISTING    new values that are committed too                     entities that must be new
    SHARED      new values that two entities have                     @unique
    MISSING     new values that are nowhere in `old`                  both ends of an edge
    COUNTED     new values with too few or too many entities          @card
    MOVED       where entities were that are elsewhere now            @card: a source that loses an edge
    GONE        committed values that go and are referred to          a node that is replaced leaves no edge behind

Every question is about one kind of value, so it can be cut: equal values fall into equal buckets (`bucket_of`), and the suspects
of all buckets are the suspects of all data. Who asks is up to the runner: one process, tasks with a bucket each, or joins.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from enum import Enum
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.engine.arrays.chunked import whole
from omnigraph.engine.arrays.hashing import all_differ, hashes
from omnigraph.engine.arrays.numbering import Numbers
from omnigraph.model.frozen import frozen
from omnigraph.storage.tables.rows import fragments, scan_images
from omnigraph.storage.tables.work import PinnedTable

MOST_SUSPECTS: Final = 100_000
"""Most suspects one question gives."""

PAIR: Final = pa.schema([("value", pa.string()), ("entity", pa.string())])

_BATCH: Final = 1 << 18
_BETWEEN: Final = "\x1f"


class Form(Enum):
    """How values are compared."""

    REPEATED = "repeated"
    EXISTING = "existing"
    SHARED = "shared"
    MISSING = "missing"
    COUNTED = "counted"
    MOVED = "moved"
    GONE = "gone"


@frozen(slots=False)
class Values:
    """Values of some columns of a table, each with the entity that has it."""

    table: PinnedTable | None
    columns: tuple[str, ...]
    entity: str = "id"
    besides: pa.Table | None = None
    """Rows that are in no data file."""
    only: int | None = None
    """One of the fragments of the table, by its number; None: all."""

    def pairs(self) -> Iterator[pa.RecordBatch]:
        """Values in text with their entities; a value with a missing part is left out."""
        names = list(dict.fromkeys([*self.columns, self.entity]))
        if self.table is not None:
            chosen = None if self.only is None else [self.only]
            for batch in scan_images(self.table.open(), names, fragments=chosen, batch_rows=_BATCH):
                yield self._pairs(batch)
        if self.besides is not None:
            for batch in self.besides.select(names).combine_chunks().to_batches():
                yield self._pairs(batch)

    def parts(self) -> list[Values]:
        """The same values, in parts that can be read side by side."""
        found = [] if self.besides is None else [replace(self, table=None)]
        if self.table is not None:
            found += [replace(self, besides=None, only=fragment.number) for fragment in fragments(self.table.open())]
        return found

    def _pairs(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        values = in_text([batch.column(name) for name in self.columns])
        made = pa.RecordBatch.from_arrays([values, batch.column(self.entity)], schema=PAIR)
        return made.filter(values.is_valid()) if values.null_count else made


@frozen(slots=False)
class Question:
    """One check of a type."""

    form: Form
    type: str
    """Label of the type whose rows are suspected."""
    columns: tuple[str, ...]
    new: tuple[Values, ...]
    old: tuple[Values, ...] = ()
    referring: tuple[Values, ...] = ()
    low: int = 0
    high: int | None = None


Ask = Callable[[Sequence[Question]], list[pa.Array]]
"""Somebody who answers questions: the suspects of each, no value twice."""


def in_text(columns: Sequence[pa.Array]) -> pa.Array:
    """Values as text: equal values give equal texts, and a combination with a missing part gives none."""
    texts = []
    for column in columns:
        if pa.types.is_floating(column.type):
            column = pc.add(column, 0.0).cast(column.type)  # both zeros are one value
        if pa.types.is_date(column.type) or pa.types.is_timestamp(column.type):
            column = column.cast(pa.int32() if pa.types.is_date(column.type) else pa.int64())
        texts.append(column.cast(pa.string()))
    return texts[0] if len(texts) == 1 else pc.binary_join_element_wise(*texts, _BETWEEN)


def bucket_of(values: pa.Array, buckets: int) -> Numbers:
    """The bucket of each text."""
    return (hashes(values) % np.uint64(buckets)).astype(np.int64)


# ── answering ────────────────────────────────────────────────────────────────────────────────────────────────────────────────


@frozen(slots=False)
class Bucket:
    """A part of a question."""

    question: Question
    number: int = 0
    of: int = 1


def ask_here(questions: Sequence[Question], buckets: int = 1) -> list[pa.Array]:
    """Suspects, found in this process, a bucket at a time."""
    return [joined([suspects_in(Bucket(q, n, buckets)) for n in range(buckets)]) for q in questions]


def joined(parts: Sequence[pa.Array]) -> pa.Array:
    """Suspects of all buckets."""
    return pa.concat_arrays([pa.array([], pa.string()), *parts])[:MOST_SUSPECTS]


def suspects_in(bucket: Bucket) -> pa.Array:
    """The suspects of a question that fall into a bucket."""
    asked = bucket.question
    new, old = _gathered(asked.new, bucket), _gathered(asked.old, bucket)
    return _answer(asked, new, old, bucket).cast(pa.string())[:MOST_SUSPECTS]


def _gathered(sources: Sequence[Values], bucket: Bucket) -> pa.Table:
    parts = []
    for source in sources:
        for pairs in source.pairs():
            if bucket.of > 1:
                pairs = pairs.filter(pa.array(bucket_of(pairs.column(0), bucket.of) == bucket.number))
            parts.append(pairs)
    return pa.Table.from_batches(parts, PAIR)


def _answer(asked: Question, new: pa.Table, old: pa.Table, bucket: Bucket) -> pa.Array:
    values, others = whole(new["value"]), whole(old["value"])
    match asked.form:
        case Form.REPEATED:
            if all_differ(values):
                return values[:0]
            counted = pc.value_counts(values)
            return counted.field("values").filter(pc.greater(counted.field("counts"), 1))
        case Form.EXISTING:
            return pc.unique(values.filter(pc.is_in(values, value_set=others)))
        case Form.MISSING:
            return pc.unique(values.filter(pc.invert(pc.is_in(values, value_set=others))))
        case Form.SHARED:
            return _counted(new, old, 0, 1)
        case Form.COUNTED:
            return _counted(new, old, asked.low, asked.high)
        case Form.MOVED:
            both = old.join(new, "value", join_type="inner", right_suffix="_now", use_threads=False)
            return pc.unique(whole(both.filter(pc.not_equal(both["entity"], both["entity_now"]))["entity"]))
        case Form.GONE:
            gone = pc.unique(others.filter(pc.invert(pc.is_in(others, value_set=values))))
            referred = whole(_gathered(asked.referring, bucket)["value"])
            return gone.filter(pc.is_in(gone, value_set=referred))


def _counted(new: pa.Table, old: pa.Table, low: int, high: int | None) -> pa.Array:
    """New values that fewer or more entities have than may be. An entity of two new rows counts as one, and as two."""
    own = new.group_by("value", use_threads=False).aggregate([("entity", "count"), ("entity", "count_distinct")])
    pairs = pa.concat_tables([new, old]).group_by(["value", "entity"], use_threads=False).aggregate([])
    every = pairs.group_by("value", use_threads=False).aggregate([("entity", "count")]).rename_columns(["value", "every"])
    counts = own.join(every, "value", join_type="inner", use_threads=False)
    least = counts["every"]
    wrong = pc.less(least, low)
    if high is not None:
        most = pc.add(least, pc.subtract(counts["entity_count"], counts["entity_count_distinct"]))
        wrong = pc.or_(wrong, pc.greater(most, high))
    return whole(counts["value"].filter(wrong))
