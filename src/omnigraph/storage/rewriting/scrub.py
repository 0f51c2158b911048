"""Scrubbing: rewriting a table so that its files contain no data that its version does not show.

Dropping a column makes a version that does not show it; the files, which hold other columns too, keep its bytes, as they keep
deleted rows. For data that is to be lost that is not enough. So every live row is written again, and what the new version refers
to holds nothing else. The old files belong to older versions then, and go with them (`reclaim`).
"""

from __future__ import annotations

from collections.abc import Sequence

from omnigraph.storage.rewriting.derived import own
from omnigraph.storage.rewriting.indexes import IndexSpec
from omnigraph.storage.rewriting.rewrites import TARGET_ROWS, FragmentSize, commit_rewrites, fragment_sizes, rewrite
from omnigraph.storage.tables.changes import Applied, TableState
from omnigraph.storage.tables.table import Tables


def scrub(tables: Tables, state: TableState, specs: Sequence[IndexSpec] = ()) -> Applied:
    """Write every live row again, and complete the indexes."""
    before = own(tables.open(state))
    groups: list[list[FragmentSize]] = []
    for size in fragment_sizes(before):
        if groups and sum(s.rows for s in groups[-1]) + size.rows <= TARGET_ROWS:
            groups[-1].append(size)
        else:
            groups.append([size])
    done = [rewrite(before, [s.number for s in group], 2 * TARGET_ROWS) for group in groups]
    return commit_rewrites(before, state, done, specs, absorb_rows=TARGET_ROWS)
