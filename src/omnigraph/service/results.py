"""What operations give, under the names that surfaces render it by. Each is imported when it is first used."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from omnigraph.engine.blobs.policy import ExternalBlobs as ExternalBlobs
    from omnigraph.engine.execution.result import Result as Result
    from omnigraph.engine.execution.result import wire as wire
    from omnigraph.engine.export.entities import Edge as Edge
    from omnigraph.engine.export.entities import Neighbor as Neighbor
    from omnigraph.engine.export.entities import Node as Node
    from omnigraph.engine.export.subgraph import Subgraph as Subgraph
    from omnigraph.engine.graph import Graph as Graph
    from omnigraph.engine.history.baseline import Baseline as Baseline
    from omnigraph.engine.history.blocks import Block as Block
    from omnigraph.engine.history.blocks import Cause as Cause
    from omnigraph.engine.history.changes import Change as Change
    from omnigraph.engine.history.changes import ChangeStats as ChangeStats
    from omnigraph.engine.history.changes import shown as shown
    from omnigraph.engine.history.conflicts import Conflict as Conflict
    from omnigraph.engine.history.diff import Diff as Diff
    from omnigraph.engine.history.entity import Revision as Revision
    from omnigraph.engine.history.entity import shown_values as shown_values
    from omnigraph.engine.history.evolution import SchemaChange as SchemaChange
    from omnigraph.engine.history.merge import Merge as Merge
    from omnigraph.engine.load.run.progress import Progress as Progress
    from omnigraph.engine.load.run.progress import Report as Report
    from omnigraph.engine.load.run.result import LoadResult as LoadResult
    from omnigraph.engine.planning.prepared import QueryText as QueryText
    from omnigraph.engine.reviews.review import Review as Review
    from omnigraph.engine.reviews.review import ReviewDiff as ReviewDiff
    from omnigraph.engine.reviews.review import ReviewList as ReviewList
    from omnigraph.engine.reviews.review import threads as threads
    from omnigraph.engine.schema.apply import SchemaApplied as SchemaApplied
    from omnigraph.engine.upkeep.reconcile import TypeOutcome as TypeOutcome
    from omnigraph.engine.write.receipt import Receipt as Receipt
    from omnigraph.engine.write.vectors import MadeVectors as MadeVectors
    from omnigraph.storage.commits.deleted_tags import DeletedTag as DeletedTag
    from omnigraph.storage.commits.lineage import Commit as Commit
    from omnigraph.storage.commits.refs import Ref as Ref
    from omnigraph.storage.commits.refs import Tag as Tag

_WHERE: Final = {
    "Baseline": "omnigraph.engine.history.baseline",
    "Block": "omnigraph.engine.history.blocks",
    "Cause": "omnigraph.engine.history.blocks",
    "Change": "omnigraph.engine.history.changes",
    "Commit": "omnigraph.storage.commits.lineage",
    "Conflict": "omnigraph.engine.history.conflicts",
    "DeletedTag": "omnigraph.storage.commits.deleted_tags",
    "Diff": "omnigraph.engine.history.diff",
    "Edge": "omnigraph.engine.export.entities",
    "ExternalBlobs": "omnigraph.engine.blobs.policy",
    "Neighbor": "omnigraph.engine.export.entities",
    "Graph": "omnigraph.engine.graph",
    "LoadResult": "omnigraph.engine.load.run.result",
    "MadeVectors": "omnigraph.engine.write.vectors",
    "Merge": "omnigraph.engine.history.merge",
    "Node": "omnigraph.engine.export.entities",
    "Progress": "omnigraph.engine.load.run.progress",
    "QueryText": "omnigraph.engine.planning.prepared",
    "Receipt": "omnigraph.engine.write.receipt",
    "Ref": "omnigraph.storage.commits.refs",
    "Report": "omnigraph.engine.load.run.progress",
    "Result": "omnigraph.engine.execution.result",
    "Review": "omnigraph.engine.reviews.review",
    "ReviewDiff": "omnigraph.engine.reviews.review",
    "ReviewList": "omnigraph.engine.reviews.review",
    "threads": "omnigraph.engine.reviews.review",
    "Revision": "omnigraph.engine.history.entity",
    "SchemaApplied": "omnigraph.engine.schema.apply",
    "shown_values": "omnigraph.engine.history.entity",
    "SchemaChange": "omnigraph.engine.history.evolution",
    "ChangeStats": "omnigraph.engine.history.changes",
    "Subgraph": "omnigraph.engine.export.subgraph",
    "Tag": "omnigraph.storage.commits.refs",
    "TypeOutcome": "omnigraph.engine.upkeep.reconcile",
    "wire": "omnigraph.engine.execution.result",
    "shown": "omnigraph.engine.history.changes",
}
"""Name to module."""


def __getattr__(name: str) -> object:
    where = _WHERE.get(name)
    if where is None:
        raise AttributeError(f"module `{__name__}` has no attribute `{name}`")
    from importlib import import_module

    return getattr(import_module(where), name)
