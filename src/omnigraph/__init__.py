"""OmniGraph: a lakehouse-native typed property graph for fleets of AI agents.

The package gives its names on demand, so that importing it costs nothing until something is used:

    >>> import omnigraph as og
    >>> og.__version__
    '0.1.0'
    >>> issubclass(og.ParseError, og.GraphError)
    True
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from omnigraph.engine.load.run.runners import offer, offer_report
from omnigraph.errors import (
    AlreadyExists,
    BlobRefused,
    BlobUnavailable,
    ChangeFeedGap,
    ChangesUnreadable,
    CleanupUnderWay,
    ConflictError,
    CursorRejected,
    DamagedRecord,
    EmbeddingFailed,
    Forbidden,
    GraphError,
    HistoryReclaimed,
    InputError,
    KeyConflict,
    KeyValueError,
    LanguageError,
    MergeConflict,
    MixedMutationError,
    NoSuchRow,
    NotConfirmed,
    NotFound,
    OutputFailed,
    ParameterError,
    ParentlessCommit,
    ParseError,
    PreconditionFailed,
    QueryCancelled,
    QueryError,
    ReadSetChanged,
    ResourceLimit,
    SchemaBoundary,
    SchemaChangeError,
    SchemaError,
    SchemaIdentityError,
    ScopeError,
    SparkUnavailable,
    StalledWrite,
    StorageError,
    TaskFailed,
    TooBusy,
    TypeCheckError,
    UnexpectedError,
    UnsupportedChange,
    UnsupportedFormat,
    UsageError,
    ValidationError,
    VoidConstraint,
    WouldEmpty,
)
from omnigraph.model.versions import __version__

if TYPE_CHECKING:
    from omnigraph.catalog.migration.steps import MigrationPlan as MigrationPlan
    from omnigraph.client.graph import MergeReceipt as MergeReceipt
    from omnigraph.client.graph import RemoteBaseline as RemoteBaseline
    from omnigraph.client.graph import RemoteBranches as RemoteBranches
    from omnigraph.client.graph import RemoteGraph as RemoteGraph
    from omnigraph.client.graph import connect as connect
    from omnigraph.embedding import Embedder as Embedder
    from omnigraph.embedding.paced import Pace as Pace
    from omnigraph.engine.analytics.front import Analytics as Analytics
    from omnigraph.engine.analytics.local import AnalyticsResult as AnalyticsResult
    from omnigraph.engine.blobs.policy import ExternalBlobs as ExternalBlobs
    from omnigraph.engine.branches import Branches as Branches
    from omnigraph.engine.execution.explain import ExplainLine as ExplainLine
    from omnigraph.engine.execution.explain import Explanation as Explanation
    from omnigraph.engine.execution.result import Result as Result
    from omnigraph.engine.export.lines import Exported as Exported
    from omnigraph.engine.export.subgraph import Edge as Edge
    from omnigraph.engine.export.subgraph import Node as Node
    from omnigraph.engine.export.subgraph import Subgraph as Subgraph
    from omnigraph.engine.graph import Graph as Graph
    from omnigraph.engine.history.baseline import Baseline as Baseline
    from omnigraph.engine.history.blocks import Block as Block
    from omnigraph.engine.history.blocks import Cause as Cause
    from omnigraph.engine.history.changes import Change as Change
    from omnigraph.engine.history.changes import ChangeList as ChangeList
    from omnigraph.engine.history.changes import ChangeStats as ChangeStats
    from omnigraph.engine.history.changes import Image as Image
    from omnigraph.engine.history.conflicts import Conflict as Conflict
    from omnigraph.engine.history.diff import Diff as Diff
    from omnigraph.engine.history.evolution import SchemaChange as SchemaChange
    from omnigraph.engine.history.evolution import TypeChange as TypeChange
    from omnigraph.engine.history.feed import ChangePage as ChangePage
    from omnigraph.engine.history.merge import Merge as Merge
    from omnigraph.engine.inspect import Blob as Blob
    from omnigraph.engine.inspect import GraphSnapshot as GraphSnapshot
    from omnigraph.engine.inspect import IndexStats as IndexStats
    from omnigraph.engine.inspect import Stats as Stats
    from omnigraph.engine.inspect import TypeState as TypeState
    from omnigraph.engine.inspect import TypeStats as TypeStats
    from omnigraph.engine.load.read.collected import Mode as Mode
    from omnigraph.engine.load.run.result import LoadResult as LoadResult
    from omnigraph.engine.opening import init as init
    from omnigraph.engine.opening import open as open
    from omnigraph.engine.schema.apply import SchemaApplied as SchemaApplied
    from omnigraph.engine.session import Session as Session
    from omnigraph.engine.snapshot.failures import Failure as Failure
    from omnigraph.engine.snapshot.memory import MemoryUse as MemoryUse
    from omnigraph.engine.snapshot.saved import SavedUse as SavedUse
    from omnigraph.engine.tags import Tags as Tags
    from omnigraph.engine.upkeep.embedding import Embedded as Embedded
    from omnigraph.engine.upkeep.embedding import EmbeddedProperty as EmbeddedProperty
    from omnigraph.engine.upkeep.reconcile import Optimized as Optimized
    from omnigraph.engine.upkeep.reconcile import TypeOutcome as TypeOutcome
    from omnigraph.engine.write.receipt import Receipt as Receipt
    from omnigraph.engine.write.violations import Violation as Violation
    from omnigraph.storage.commits.deleted_tags import DeletedTag as DeletedTag
    from omnigraph.storage.commits.lineage import Commit as Commit
    from omnigraph.storage.commits.lineage import CommitList as CommitList
    from omnigraph.storage.commits.refs import Ref as Ref
    from omnigraph.storage.commits.refs import Tag as Tag
    from omnigraph.storage.reclaiming.reclaim import ReclaimReport as ReclaimReport
    from omnigraph.storage.reclaiming.reclaim import Swept as Swept
    from omnigraph.storage.reclaiming.verify import Problem as Problem
    from omnigraph.storage.reclaiming.verify import ProblemKind as ProblemKind
    from omnigraph.storage.reclaiming.verify import VerifyReport as VerifyReport
    from omnigraph.surfaces.view import view as view
    from omnigraph.visualization.visualization import Visualization as Visualization

offer("spark", "omnigraph.pipeline.load", "run", needs="pyspark")
offer_report("omnigraph.surfaces.progress", "TerminalLine")

_ON_DEMAND = {
    "Analytics": "omnigraph.engine.analytics.front",
    "Baseline": "omnigraph.engine.history.baseline",
    "Blob": "omnigraph.engine.inspect",
    "Block": "omnigraph.engine.history.blocks",
    "Branches": "omnigraph.engine.branches",
    "Cause": "omnigraph.engine.history.blocks",
    "Change": "omnigraph.engine.history.changes",
    "ChangeList": "omnigraph.engine.history.changes",
    "ChangePage": "omnigraph.engine.history.feed",
    "ChangeStats": "omnigraph.engine.history.changes",
    "Commit": "omnigraph.storage.commits.lineage",
    "CommitList": "omnigraph.storage.commits.lineage",
    "Conflict": "omnigraph.engine.history.conflicts",
    "DeletedTag": "omnigraph.storage.commits.deleted_tags",
    "Diff": "omnigraph.engine.history.diff",
    "Edge": "omnigraph.engine.export.subgraph",
    "Embedded": "omnigraph.engine.upkeep.embedding",
    "EmbeddedProperty": "omnigraph.engine.upkeep.embedding",
    "Embedder": "omnigraph.embedding",
    "ExplainLine": "omnigraph.engine.execution.explain",
    "Explanation": "omnigraph.engine.execution.explain",
    "Exported": "omnigraph.engine.export.lines",
    "ExternalBlobs": "omnigraph.engine.blobs.policy",
    "Graph": "omnigraph.engine.graph",
    "GraphSnapshot": "omnigraph.engine.inspect",
    "Image": "omnigraph.engine.history.changes",
    "LoadResult": "omnigraph.engine.load.run.result",
    "AnalyticsResult": "omnigraph.engine.analytics.local",
    "MemoryUse": "omnigraph.engine.snapshot.memory",
    "Merge": "omnigraph.engine.history.merge",
    "MigrationPlan": "omnigraph.catalog.migration.steps",
    "Mode": "omnigraph.engine.load.read.collected",
    "Node": "omnigraph.engine.export.subgraph",
    "Optimized": "omnigraph.engine.upkeep.reconcile",
    "Pace": "omnigraph.embedding.paced",
    "Visualization": "omnigraph.visualization.visualization",
    "Problem": "omnigraph.storage.reclaiming.verify",
    "ProblemKind": "omnigraph.storage.reclaiming.verify",
    "Receipt": "omnigraph.engine.write.receipt",
    "ReclaimReport": "omnigraph.storage.reclaiming.reclaim",
    "Ref": "omnigraph.storage.commits.refs",
    "Result": "omnigraph.engine.execution.result",
    "SavedUse": "omnigraph.engine.snapshot.saved",
    "SchemaApplied": "omnigraph.engine.schema.apply",
    "SchemaChange": "omnigraph.engine.history.evolution",
    "Session": "omnigraph.engine.session",
    "Stats": "omnigraph.engine.inspect",
    "Subgraph": "omnigraph.engine.export.subgraph",
    "Swept": "omnigraph.storage.reclaiming.reclaim",
    "Tag": "omnigraph.storage.commits.refs",
    "Tags": "omnigraph.engine.tags",
    "TypeChange": "omnigraph.engine.history.evolution",
    "TypeOutcome": "omnigraph.engine.upkeep.reconcile",
    "TypeState": "omnigraph.engine.inspect",
    "Failure": "omnigraph.engine.snapshot.failures",
    "IndexStats": "omnigraph.engine.inspect",
    "TypeStats": "omnigraph.engine.inspect",
    "VerifyReport": "omnigraph.storage.reclaiming.verify",
    "Violation": "omnigraph.engine.write.violations",
    "MergeReceipt": "omnigraph.client.graph",
    "RemoteBaseline": "omnigraph.client.graph",
    "RemoteBranches": "omnigraph.client.graph",
    "RemoteGraph": "omnigraph.client.graph",
    "connect": "omnigraph.client.graph",
    "init": "omnigraph.engine.opening",
    "open": "omnigraph.engine.opening",
    "view": "omnigraph.surfaces.view",
}
"""Where each name comes from that is imported when it is asked for."""


def __getattr__(name: str) -> object:
    module = _ON_DEMAND.get(name)
    if module is None:
        raise AttributeError(f"module `omnigraph` has no attribute `{name}`")
    from importlib import import_module

    found = globals()[name] = getattr(import_module(module), name)
    return found


def __dir__() -> list[str]:
    return __all__


__all__ = [
    "AlreadyExists",
    "Analytics",
    "AnalyticsResult",
    "Baseline",
    "Blob",
    "BlobRefused",
    "BlobUnavailable",
    "Block",
    "Branches",
    "Cause",
    "Change",
    "ChangeFeedGap",
    "ChangeList",
    "ChangePage",
    "ChangeStats",
    "ChangesUnreadable",
    "CleanupUnderWay",
    "Commit",
    "CommitList",
    "Conflict",
    "ConflictError",
    "CursorRejected",
    "DamagedRecord",
    "DeletedTag",
    "Diff",
    "Edge",
    "Embedded",
    "EmbeddedProperty",
    "Embedder",
    "EmbeddingFailed",
    "ExplainLine",
    "Explanation",
    "Exported",
    "ExternalBlobs",
    "Failure",
    "Forbidden",
    "Graph",
    "GraphError",
    "GraphSnapshot",
    "HistoryReclaimed",
    "Image",
    "IndexStats",
    "InputError",
    "KeyConflict",
    "KeyValueError",
    "LanguageError",
    "LoadResult",
    "MemoryUse",
    "Merge",
    "MergeConflict",
    "MergeReceipt",
    "MigrationPlan",
    "MixedMutationError",
    "Mode",
    "NoSuchRow",
    "Node",
    "NotConfirmed",
    "NotFound",
    "Optimized",
    "OutputFailed",
    "Pace",
    "ParameterError",
    "ParentlessCommit",
    "ParseError",
    "PreconditionFailed",
    "Problem",
    "ProblemKind",
    "QueryCancelled",
    "QueryError",
    "ReadSetChanged",
    "Receipt",
    "ReclaimReport",
    "Ref",
    "RemoteBaseline",
    "RemoteBranches",
    "RemoteGraph",
    "ResourceLimit",
    "Result",
    "SavedUse",
    "SchemaApplied",
    "SchemaBoundary",
    "SchemaChange",
    "SchemaChangeError",
    "SchemaError",
    "SchemaIdentityError",
    "ScopeError",
    "Session",
    "SparkUnavailable",
    "StalledWrite",
    "Stats",
    "StorageError",
    "Subgraph",
    "Swept",
    "Tag",
    "Tags",
    "TaskFailed",
    "TooBusy",
    "TypeChange",
    "TypeCheckError",
    "TypeOutcome",
    "TypeState",
    "TypeStats",
    "UnexpectedError",
    "UnsupportedChange",
    "UnsupportedFormat",
    "UsageError",
    "ValidationError",
    "VerifyReport",
    "Violation",
    "Visualization",
    "VoidConstraint",
    "WouldEmpty",
    "__version__",
    "connect",
    "init",
    "open",
    "view",
]
