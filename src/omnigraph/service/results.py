"""What operations give, under the names that surfaces render it by. Each is imported when it is first used."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from omnigraph.engine.execution.result import Result as Result
    from omnigraph.engine.export.subgraph import Node as Node
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
    from omnigraph.engine.history.evolution import SchemaChange as SchemaChange
    from omnigraph.engine.history.merge import Merge as Merge
    from omnigraph.engine.load.run.progress import Progress as Progress
    from omnigraph.engine.load.run.progress import Report as Report
    from omnigraph.engine.load.run.result import LoadResult as LoadResult
    from omnigraph.engine.planning.prepared import QueryText as QueryText
    from omnigraph.engine.upkeep.reconcile import TypeOutcome as TypeOutcome
    from omnigraph.engine.write.receipt import Receipt as Receipt
    from omnigraph.storage.commits.lineage import Commit as Commit
    from omnigraph.storage.commits.refs import Tag as Tag

_WHERE: Final = {
    "Baseline": "omnigraph.engine.history.baseline",
    "Block": "omnigraph.engine.history.blocks",
    "Cause": "omnigraph.engine.history.blocks",
    "Change": "omnigraph.engine.history.changes",
    "Commit": "omnigraph.storage.commits.lineage",
    "Conflict": "omnigraph.engine.history.conflicts",
    "Diff": "omnigraph.engine.history.diff",
    "Graph": "omnigraph.engine.graph",
    "LoadResult": "omnigraph.engine.load.run.result",
    "Merge": "omnigraph.engine.history.merge",
    "Node": "omnigraph.engine.export.subgraph",
    "Progress": "omnigraph.engine.load.run.progress",
    "QueryText": "omnigraph.engine.planning.prepared",
    "Receipt": "omnigraph.engine.write.receipt",
    "Report": "omnigraph.engine.load.run.progress",
    "Result": "omnigraph.engine.execution.result",
    "SchemaChange": "omnigraph.engine.history.evolution",
    "ChangeStats": "omnigraph.engine.history.changes",
    "Subgraph": "omnigraph.engine.export.subgraph",
    "Tag": "omnigraph.storage.commits.refs",
    "TypeOutcome": "omnigraph.engine.upkeep.reconcile",
    "shown": "omnigraph.engine.history.changes",
}
"""Name to module."""


def __getattr__(name: str) -> object:
    where = _WHERE.get(name)
    if where is None:
        raise AttributeError(f"module `{__name__}` has no attribute `{name}`")
    from importlib import import_module

    return getattr(import_module(where), name)
