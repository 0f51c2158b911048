"""A baseline: everything there is at one commit, and the cursor that starts right after it.

Whoever keeps a copy of a graph up to date begins with a baseline and then follows the change feed. Nothing is missed and nothing
comes twice, whatever is committed while the baseline is read: the records are those of one commit, the cursor stands on it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import field
from typing import Any

import msgspec

from omnigraph.engine.export.lines import chunks, exported_types
from omnigraph.engine.history.changes import Filter
from omnigraph.engine.snapshot.view import View
from omnigraph.model.frozen import frozen
from omnigraph.model.phrases import one_line, short_id

_DECODER = msgspec.json.Decoder()


@frozen(slots=False)
class Baseline:
    """A snapshot to start from."""

    commit: str
    cursor: str
    """Give it to `changes` as `since`."""
    branch: str
    _chunks: Callable[[], Iterator[tuple[int, bytes]]] = field(repr=False, compare=False)

    def __repr__(self) -> str:
        return one_line(f"Baseline of {self.branch} at commit {short_id(self.commit)}")

    def chunks(self) -> Iterator[tuple[int, bytes]]:
        """Every entity as an export writes it, as lines of JSON, a chunk at a time, with the number of entities in it."""
        return self._chunks()

    def records(self) -> Iterator[dict[str, Any]]:
        """The same, decoded."""
        for _, lines in self.chunks():
            yield from _DECODER.decode_lines(lines)

    @property
    def last_record(self) -> dict[str, Any]:
        """What follows the records where they are sent on: where to go on."""
        return {"baseline": {"snapshot_commit_id": self.commit, "resume_cursor": self.cursor}}

    def __iter__(self) -> Iterator[dict[str, Any]]:
        """The records, and at last the one that says where to go on."""
        yield from self.records()
        yield self.last_record


def chunks_of(view: View, chosen: Filter) -> Iterator[tuple[int, bytes]]:
    """The entities of a view that a filter wants."""
    return chunks(view, [t for t in exported_types(view.catalog) if chosen.wants(t)])
