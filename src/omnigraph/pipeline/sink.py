"""A stream into a graph, each batch as one commit, exactly once.

    people.writeStream.foreachBatch(ogs.sink(g, "Person", name="people")).option("checkpointLocation", …).start()

Spark repeats a batch under the same number when it does not know whether it was done: after a crash of the driver between the
commit and the checkpoint, or when an old driver lives on beside a new one. So the commit says which batch of which checkpoint it
is (its *idempotency key*, `stream/people/<checkpoint>/17`), in the same swap that makes the rows visible, and a batch whose
number is not above the last one in the lineage is left out. Two drivers that get past this check at once are stopped by the
publisher: the second finds the key among the commits in between.

    batch 17 → commit with key stream/people/9f…/17 → crash before the checkpoint
    batch 17 → the newest key of the checkpoint is 17: nothing to do

A checkpoint is known by the id of its query, which Spark writes into it when it is made and keeps when a query goes on from it. A
new checkpoint counts its batches from 0 again, and is another one, whatever the stream is called. Through Spark Connect a batch
does not say whose it is: there the caller does (`checkpoint_id`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final, Literal

from pyspark.sql import DataFrame, SparkSession

from omnigraph.engine.blobs.policy import ExternalBlobs
from omnigraph.engine.calls import arguments
from omnigraph.engine.calls.guard import guarded
from omnigraph.engine.graph import Graph
from omnigraph.engine.load.read.rows.modes import ModeName
from omnigraph.engine.load.run.request import Request
from omnigraph.engine.load.run.result import LoadResult
from omnigraph.engine.opening import open as open_graph
from omnigraph.engine.parts import parts_of
from omnigraph.engine.snapshot.view import View, Workspace
from omnigraph.errors import AlreadyExists, UsageError
from omnigraph.pipeline.load import on
from omnigraph.pipeline.session import is_connect
from omnigraph.storage.commits.lineage import Commit
from omnigraph.storage.graph_store import MAIN

_NAME: Final = re.compile(r"[A-Za-z0-9_.-]{1,100}")

_QUERY: Final = "sql.streaming.queryId"
"""Property of the thread a batch is handed over in: the id of the query, as its checkpoint has it."""

UNSAID: Final = "-"
"""The checkpoint of batches that come from no stream: somebody numbers them."""

_FRAME: Final = arguments.having("a data frame of Spark", "sparkSession", "persist")

Split = Callable[[DataFrame], Mapping[str, DataFrame]]
"""Makes frames by type of a batch."""


@dataclass
class Sink:
    """Writes the batches of one stream. Give it to `foreachBatch`."""

    uri: str
    storage: Mapping[str, str]
    types: str | Split
    name: str
    mode: ModeName
    branch: str
    actor: str | None
    external_blobs: ExternalBlobs
    allow_empty: bool = False
    checkpoint_id: str | None = None
    lossy: Literal["round"] | None = None
    _graph: Graph | None = field(default=None, repr=False, compare=False)

    def __call__(self, frame: DataFrame, batch: int) -> None:
        """Commit a batch, unless that was done before."""
        self.write(frame, batch)

    @guarded(frame=_FRAME, batch=arguments.whole())
    def write(self, frame: DataFrame, batch: int) -> Commit | None:
        """The same; gives the commit, or None if the batch was there already."""
        checkpoint = self._checkpoint(frame.sparkSession)
        if batch <= self.last(checkpoint):
            return None
        key = f"{self._begins(checkpoint)}{batch}"
        if isinstance(self.types, str):
            return self._loaded({self.types: frame}, frame, batch, key)
        frame.persist()  # each type reads it
        try:
            return self._loaded(dict(self.types(frame)), frame, batch, key)
        finally:
            frame.unpersist()

    @guarded(checkpoint=arguments.text)
    def last(self, checkpoint: str | None = None) -> int:
        """The number of the last batch of a checkpoint (the id of its query) that is in the graph; -1: none is."""
        found = parts_of(self.graph).store.commit_with_key(self.branch, self._begins(checkpoint or self.checkpoint_id or UNSAID))
        return -1 if found is None or found.idempotency_key is None else int(found.idempotency_key.rpartition("/")[2])

    def _checkpoint(self, spark: SparkSession) -> str:
        """What tells the checkpoint of the batch at hand from others."""
        if self.checkpoint_id is not None:
            return self.checkpoint_id
        if is_connect(spark):
            raise UsageError(
                f"through Spark Connect a batch does not say which checkpoint it belongs to (stream {self.name})",
                hint="Give sink(…, checkpoint_id=…) a text of your own, and another one when you make a new checkpoint.",
            )
        return spark.sparkContext.getLocalProperty(_QUERY) or UNSAID

    @property
    def graph(self) -> Graph:
        """The graph, opened in this process."""
        if self._graph is None:
            self._graph = open_graph(self.uri, storage_options=self.storage, external_blobs=self.external_blobs)
        return self._graph

    def _loaded(self, frames: dict[str, DataFrame], frame: DataFrame, batch: int, key: str) -> Commit | None:
        run = on(frame.sparkSession)

        def keyed(workspace: Workspace, view: View, request: Request) -> LoadResult:
            return run(workspace, view, replace(request, idempotency_key=key))

        message = f"stream {self.name}, batch {batch}"
        try:
            done = self.graph.load(
                frames,
                mode=self.mode,
                branch=self.branch,
                actor=self.actor,
                message=message,
                engine=keyed,
                allow_empty=self.allow_empty,
                lossy=self.lossy,
            )
        except AlreadyExists:  # somebody else wrote the same batch a moment ago
            return None
        return done.commit

    def _begins(self, checkpoint: str) -> str:
        return f"stream/{self.name}/{checkpoint}/"

    def __getstate__(self) -> dict[str, Any]:
        """Without the open graph: a batch may be written in another process."""
        return {**self.__dict__, "_graph": None}


@guarded(types=arguments.either("the name of a type, or a function", arguments.text, arguments.function))
def sink(
    graph: Graph,
    types: str | Split,
    *,
    name: str,
    mode: ModeName = "merge",
    branch: str = MAIN,
    actor: str | None = None,
    allow_empty: bool = False,
    checkpoint_id: str | None = None,
    lossy: Literal["round"] | None = None,
) -> Sink:
    """What `foreachBatch` needs to write a stream into a graph exactly once.

    `types` is the type all rows have, or a function that makes frames by type of a batch; all of them are one commit. `name`
    tells the stream from others on the same branch. A batch that was committed is known by the name, by the checkpoint of the
    query and by its number; a new checkpoint begins anew. `checkpoint_id` says which checkpoint it is where Spark does not
    (Spark Connect).
    With `allow_empty`, a batch of an overwrite that has no rows leaves no entities; otherwise it is refused.
    `lossy="round"` rounds numbers and times that their types cannot hold exactly; otherwise a batch with such values fails.
    """
    for given in (name, *([] if checkpoint_id is None else [checkpoint_id])):
        if not _NAME.fullmatch(given):
            raise UsageError(f"a stream cannot be called `{given}`", hint="Use letters, digits, dot, dash and underscore.")
    parts_of(graph).store.require_writable()
    place = parts_of(graph).store.place
    blobs = graph.external_blobs
    return Sink(place.uri, dict(place.options), types, name, mode, branch, actor, blobs, allow_empty, checkpoint_id, lossy, graph)
