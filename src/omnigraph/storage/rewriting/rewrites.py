"""Rewrites: many small fragments become few, and no answer changes.

Each commit that adds rows adds a fragment. A few dozen do not matter; a few hundred make a lookup ten times slower. Two ways lead
back:

* **fold** is for writers, on their way: when a pile of small fragments has grown too high, it becomes one fragment. It rewrites
  at most `FOLD_ROWS` rows, about once every `FOLD_FRAGMENTS` commits, and extends the table's scalar indexes once
  `FOLD_INDEX_ROWS` rows are in none of them.
* **compact** is maintenance: it packs everything below half the target size, and fragments with many deleted rows.

Both commit a `Rewrite` and, on top of it, index segments for the new fragments (a rewrite takes the old ones out of every index):
two detached versions, of which only the second is ever named.

**What a fold takes.** Sort small fragments by size. The *pile* ends at the last fragment that is not larger than all smaller ones
together; beyond it every fragment outweighs everything below, as the digits of a binary number do. Folding the pile when it is
higher than `FOLD_FRAGMENTS` leaves at most that many fragments plus one per power of two, and a row is written again once per
power of two, however the sizes arrive.

    sizes                         pile                      after a fold (with a limit of 3)
    1 1 1                         1 1 1                     not yet
    1 1 1 1                       1 1 1 1                   4
    1 1 1 1 · 4                   1 1 1 1 4                 8          (4 ≤ 1+1+1+1: it is carried)
    1 1 1 1 · 8                   1 1 1 1                   4 · 8      (8 > 4: it is left alone)

Groups are ours, not those of Lance's `Compaction.plan`: that one never puts fragments of different index segments together, so it
would leave exactly those fragments apart that incremental indexing makes.

The work is split into values: other processes can each `rewrite` a group (`run`), and this one commits.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import accumulate
from typing import Final

import pyarrow as pa
from lance import LanceOperation as Op
from lance.fragment import LanceFragment
from lance.optimize import Compaction, CompactionTask

from omnigraph.errors import NotFound
from omnigraph.model.frozen import frozen
from omnigraph.storage.files.checksums import StoredFile
from omnigraph.storage.files.dataset_folders import DATA
from omnigraph.storage.files.effects import Call
from omnigraph.storage.files.lance_errors import translated
from omnigraph.storage.lance_format.fragments import from_texts, names_of, to_texts
from omnigraph.storage.rewriting.derived import outcome, own
from omnigraph.storage.rewriting.indexes import ABSORB_ROWS, IndexSpec, cover, key_indexes, scalar_indexes
from omnigraph.storage.tables.changes import Applied, TableState, unchanged
from omnigraph.storage.tables.table import STORAGE_VERSION, Table, Tables
from omnigraph.storage.tables.work import PinnedTable, Run

FOLD_FRAGMENTS: Final = 32
"""A writer folds when more small fragments than this have piled up."""

FOLD_ROWS: Final = 16_384
"""Most rows that a fold writes. A fragment with more than half of that is no longer small."""

FOLD_INDEX_ROWS: Final = 4_096
"""A fold extends the scalar indexes when at least so many rows are in none: reading through fewer takes a lookup a fraction of a
millisecond, and extending takes the writer several."""

TARGET_ROWS: Final = 1_048_576
"""Rows per fragment that compaction aims for."""

DELETED_SHARE: Final = 0.1
"""Compaction rewrites a fragment of which at least this share is deleted."""


@frozen
class FragmentSize:
    """A fragment, as far as it matters to what is rewritten."""

    number: int
    rows: int
    deleted: int = 0


@frozen
class Rewritten:
    """Fragments and the files that are to stand in their place. Nothing refers to those yet."""

    old: tuple[str, ...]
    """Fragment descriptions as JSON."""
    new: tuple[str, ...]
    files: tuple[str, ...]
    stored: tuple[StoredFile, ...] = ()
    """What these hold, by checksum."""


# ── what to rewrite ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


def choose_fold(sizes: Sequence[FragmentSize]) -> tuple[int, ...]:
    """The fragments of the pile, as many as may be folded at once, if it is too high; else none."""
    small = sorted((s for s in sizes if s.rows * 2 <= FOLD_ROWS), key=lambda s: (s.rows, s.number))
    below = list(accumulate((s.rows for s in small), initial=0))
    height = max((at + 1 for at, size in enumerate(small) if size.rows <= below[at]), default=0)
    if height <= FOLD_FRAGMENTS:
        return ()
    return tuple(sorted(s.number for at, s in enumerate(small[:height]) if below[at + 1] <= FOLD_ROWS))


def choose_compaction(sizes: Sequence[FragmentSize], target_rows: int = TARGET_ROWS) -> tuple[tuple[int, ...], ...]:
    """Groups of fragments, each to become one: small ones together up to the target, worn ones alone or with them."""
    groups: list[tuple[int, ...]] = []
    group: list[FragmentSize] = []
    for size in sizes:
        worn = size.deleted > 0 and size.deleted >= DELETED_SHARE * (size.rows + size.deleted)
        if size.rows * 2 >= target_rows and not worn:
            continue
        group.append(size)
        if sum(s.rows for s in group) >= target_rows:
            groups.append(tuple(s.number for s in group))
            group = []
    if len(group) > 1 or any(s.deleted for s in group):
        groups.append(tuple(s.number for s in group))
    return tuple(groups)


def fragment_sizes(table: Table) -> list[FragmentSize]:
    """The fragments of a table in their order."""
    return [FragmentSize(f.fragment_id, f.metadata.num_rows, f.metadata.num_deletions) for f in table.dataset.get_fragments()]


# ── rewriting ───────────────────────────────────────────────────────────────────────────────────────────────────────────────────


def fold_small_fragments(tables: Tables, state: TableState) -> Applied:
    """Fold the pile of small fragments if it is too high; otherwise the state as it is, at no cost worth naming."""
    if state.fragments <= FOLD_FRAGMENTS:
        return unchanged(state)
    before = own(tables.open(state))
    chosen = choose_fold(fragment_sizes(before))
    if not chosen:
        return unchanged(state)
    after, files, stored = _fold(before, chosen)
    specs = {spec.column: spec for spec in (*key_indexes(before.schema), *scalar_indexes(before))}
    # What a bulk load left is for maintenance, and so are text and vectors: their segments cost more than a writer should pay.
    after, index_files, untrained = cover(after, list(specs.values()), largest=FOLD_ROWS, least=FOLD_INDEX_ROWS)
    return outcome(state, before, after, (*files, *index_files), untrained, stored)


def _fold(table: Table, chosen: Sequence[int]) -> tuple[Table, tuple[str, ...], tuple[StoredFile, ...]]:
    """Put small fragments into one: the table with it, its files, what they hold. Most rows were written here, and are known."""
    if table.has_blobs:
        done = rewrite(table, chosen, 2 * FOLD_ROWS)
        return table.commit(_exchange([done])), done.files, done.stored
    known, unknown = list[pa.Table](), list[LanceFragment]()
    for fragment in (_fragment(table, number) for number in chosen):
        rows = None
        if fragment.metadata.deletion_file is None:
            files = [f"{table.location}/{DATA}/{name}" for name in names_of(fragment.metadata.files)]
            rows = table.recent.of(files[0], table.columns, table.schema) if len(files) == 1 else None
        if rows is None:
            unknown.append(fragment)
        else:
            known.append(rows)
    if unknown:
        with table.reading(f"read {table.location}"):
            known.insert(0, table.scanner(fragments=unknown, scan_in_order=True).to_table())
    written = table.store(pa.concat_tables(known).combine_chunks(), Call.REWRITE_ROWS)
    # Names what goes by its number; a `Rewrite` wants each of these fragments described.
    new = Op.Update(list(chosen), [], list(written.fragments), **table.no_field_changed())
    return table.commit(new), written.unsynced, written.stored


def compact(
    tables: Tables,
    state: TableState,
    specs: Sequence[IndexSpec] = (),
    *,
    target_rows: int = TARGET_ROWS,
    run: Run | None = None,
) -> Applied:
    """Pack small and worn fragments, and complete every index; here, or by whoever `run` is."""
    before = own(tables.open(state))
    groups = choose_compaction(fragment_sizes(before), target_rows)
    if run is None:
        done = [rewrite(before, group, 2 * target_rows) for group in groups]
    else:
        pinned = PinnedTable.of(tables.place, state)
        done = run(_rewrite_elsewhere, [_Task(pinned, group, 2 * target_rows) for group in groups])
    return commit_rewrites(before, state, done, specs, absorb_rows=max(ABSORB_ROWS, target_rows), run=run)


@frozen
class _Task:
    """Fragments for another process to rewrite."""

    table: PinnedTable
    fragments: tuple[int, ...]
    max_rows: int


def _rewrite_elsewhere(task: _Task) -> Rewritten:
    return rewrite(own(task.table.open()), task.fragments, task.max_rows)


def rewrite(table: Table, fragments: Sequence[int], max_rows: int) -> Rewritten:
    """Write the live rows of some fragments into new files."""
    old = [_fragment(table, number).metadata.to_json() for number in fragments]
    with translated(f"rewrite fragments of {table.location}"):
        # A plan for nothing tells every option of this Lance. The task is Lance's (it knows blobs); what is in it is our choice.
        plan = Compaction.plan(table.dataset, {"target_rows_per_fragment": 1, "materialize_deletions": False})
        options = json.loads(plan.json())["options"]  # type: ignore[attr-defined]
        options |= {"target_rows_per_fragment": max_rows, "data_storage_version": STORAGE_VERSION}
        about = {"task": {"fragments": old}, "read_version": table.pin, "options": options}
        task = CompactionTask.from_json(json.dumps(about))  # type: ignore[attr-defined]
        result = json.loads(table.place.effects.run(Call.REWRITE_ROWS, lambda: task.execute(table.dataset)).json())
    new = to_texts(result["new_fragments"])
    files = table.data_files(from_texts(new))
    return Rewritten(to_texts(result["original_fragments"]), new, files, table.stored_files(files))


def commit_rewrites(
    before: Table,
    state: TableState,
    groups: Sequence[Rewritten],
    specs: Sequence[IndexSpec],
    *,
    absorb_rows: int = ABSORB_ROWS,
    largest: int | None = None,
    least: int = 0,
    run: Run | None = None,
) -> Applied:
    """Put rewritten files in the place of the old ones and complete the indexes, as far as `cover` is asked to."""
    after, files = before, list[str]()
    if groups:
        after = before.commit(_exchange(groups))
        files += [file for group in groups for file in group.files]
    after, index_files, untrained = cover(after, specs, absorb_rows=absorb_rows, largest=largest, least=least, run=run)
    stored = [file for group in groups for file in group.stored]
    return outcome(state, before, after, (*files, *index_files), untrained, stored)


def _exchange(groups: Sequence[Rewritten]) -> Op.Rewrite:
    return Op.Rewrite([Op.RewriteGroup(from_texts(group.old), from_texts(group.new)) for group in groups], [])


def _fragment(table: Table, number: int) -> LanceFragment:
    found = table.dataset.get_fragment(number)
    if found is None:
        raise NotFound(f"{table.location} has no fragment {number} at {table.pin}")
    return found
