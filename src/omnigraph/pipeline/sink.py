"""A stream into a graph, each batch as one commit, exactly once.

    people.writeStream.foreachBatch(ogs.sink(g, "Person", name="people")).option("checkpointLocation", …).start()

Spark repeats a batch under the same number when it does not know whether it was done: after a crash of the driver between the
commit and the checkpoint, or when an old driver lives on beside a new one. So the commit says which batch of which stream it is
(its *mark*, `stream/people/17`), in the same swap that makes the rows visible, and a batch whose number is not above the last
one in the lineage is left out. Two drivers that get past this question at once are told apart by the publisher: the second finds
the mark among the commits in between.

    batch 17 → commit with mark stream/people/17 → crash before the checkpoint
    batch 17 → the youngest mark of the stream is 17: nothing to do
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final, Literal

from pyspark.sql import DataFrame

from omnigraph.engine import arguments
from omnigraph.engine.door import door
from omnigraph.engine.external.policy import ExternalBlobs
from omnigraph.engine.graph import Graph
from omnigraph.engine.graph import open as open_graph
from omnigraph.engine.load.request import Request
from omnigraph.engine.load.result import LoadResult
from omnigraph.engine.view import View, Workspace
from omnigraph.errors import AlreadyExists, UsageError
from omnigraph.pipeline.load import on
from omnigraph.storage.graph_store import MAIN
from omnigraph.storage.lineage import Commit

_NAME: Final = re.compile(r"[A-Za-z0-9_.-]{1,100}")

Split = Callable[[DataFrame], Mapping[str, DataFrame]]
"""Makes frames by type of a batch."""


@dataclass
class Sink:
    """Writes the batches of one stream. Give it to `foreachBatch`."""

    uri: str
    storage: Mapping[str, str]
    types: str | Split
    name: str
    mode: Literal["merge", "append", "overwrite"]
    branch: str
    actor: str | None
    external_blobs: ExternalBlobs
    allow_empty: bool = False
    _graph: Graph | None = field(default=None, repr=False, compare=False)

    def __call__(self, frame: DataFrame, batch: int) -> None:
        """Commit a batch, unless that was done before."""
        self.write(frame, batch)

    def write(self, frame: DataFrame, batch: int) -> Commit | None:
        """The same; gives the commit, or None if the batch was there already."""
        if batch <= self.last():
            return None
        if isinstance(self.types, str):
            return self._loaded({self.types: frame}, frame, batch)
        frame.persist()  # each type reads it
        try:
            return self._loaded(dict(self.types(frame)), frame, batch)
        finally:
            frame.unpersist()

    def last(self) -> int:
        """The number of the last batch that is in the graph; -1: none is."""
        found = self.graph.store.marked(self.branch, self._mark(""))
        return -1 if found is None or found.mark is None else int(found.mark.rpartition("/")[2])

    @property
    def graph(self) -> Graph:
        """The graph, opened in this process."""
        if self._graph is None:
            self._graph = open_graph(self.uri, storage_options=self.storage, external_blobs=self.external_blobs)
        return self._graph

    def _loaded(self, frames: dict[str, DataFrame], frame: DataFrame, batch: int) -> Commit | None:
        run = on(frame.sparkSession)

        def marked(workspace: Workspace, view: View, request: Request) -> LoadResult:
            return run(workspace, view, replace(request, mark=self._mark(batch)))

        message = f"stream {self.name}, batch {batch}"
        try:
            done = self.graph.load(
                frames,
                mode=self.mode,
                branch=self.branch,
                actor=self.actor,
                message=message,
                engine=marked,
                allow_empty=self.allow_empty,
            )
        except AlreadyExists:  # somebody else wrote the same batch a moment ago
            return None
        return done.commit

    def _mark(self, batch: object) -> str:
        return f"stream/{self.name}/{batch}"

    def __getstate__(self) -> dict[str, Any]:
        """Without the open graph: a batch may be written in another process."""
        return {**self.__dict__, "_graph": None}


@door(types=arguments.either("the name of a type, or a function", arguments.text, arguments.function))
def sink(
    graph: Graph,
    types: str | Split,
    *,
    name: str,
    mode: Literal["merge", "append", "overwrite"] = "merge",
    branch: str = MAIN,
    actor: str | None = None,
    allow_empty: bool = False,
) -> Sink:
    """What `foreachBatch` needs to write a stream into a graph exactly once.

    `types` is the type all rows have, or a function that makes frames by type of a batch; all of them are one commit. `name`
    tells the stream from others on the same branch: keep it for as long as you keep the checkpoint, and no longer. With
    `allow_empty`, a batch of an overwrite that has no rows leaves no entities; otherwise it is refused.
    """
    if not _NAME.fullmatch(name):
        raise UsageError(f"a stream cannot be called `{name}`", hint="Use letters, digits, dot, dash and underscore.")
    graph.store.require_writable()
    place = graph.store.place
    return Sink(place.uri, dict(place.options), types, name, mode, branch, actor, graph.external_blobs, allow_empty, graph)
