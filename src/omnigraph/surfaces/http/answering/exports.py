"""How many exports run at once: one of each graph."""

from __future__ import annotations

from contextlib import ExitStack
from threading import Lock

from omnigraph.errors import ResourceLimit


class ExportSlots:
    """Gives out the right to export a graph."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._busy: set[str] = set()

    def slot(self, graph_id: str) -> ExitStack:
        """The right, until what is returned is closed."""
        with self._lock:
            if graph_id in self._busy:
                raise ResourceLimit(
                    "the graph is being exported already",
                    resource="stream_export_slots",
                    actual=2,
                    limit=1,
                    hint="Wait for the other export to end.",
                )
            self._busy.add(graph_id)
        held = ExitStack()
        held.callback(self._free, graph_id)
        return held

    def _free(self, graph_id: str) -> None:
        with self._lock:
            self._busy.discard(graph_id)
