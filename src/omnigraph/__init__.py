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
    ApprovalMissing,
    BlobRefused,
    BlobUnavailable,
    BrokenQueries,
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
    KeyReused,
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
    PolicyError,
    PreconditionFailed,
    QueryCancelled,
    QueryError,
    ReadSetChanged,
    ResourceLimit,
    ReviewError,
    ReviewOver,
    ReviewStale,
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
    from omnigraph.catalog.signature import QueryParameter as QueryParameter
    from omnigraph.catalog.signature import QuerySignature as QuerySignature
    from omnigraph.client.awaitable import AsyncBranches as AsyncBranches
    from omnigraph.client.awaitable import AsyncGraph as AsyncGraph
    from omnigraph.client.awaitable import AsyncReviews as AsyncReviews
    from omnigraph.client.awaitable import AsyncSession as AsyncSession
    from omnigraph.client.awaitable import AsyncTags as AsyncTags
    from omnigraph.client.awaitable import connect_async as connect_async
    from omnigraph.client.awaitable import open_async as open_async
    from omnigraph.client.graph import RemoteGraph as RemoteGraph
    from omnigraph.client.graph import connect as connect
    from omnigraph.client.reads import RemoteSession as RemoteSession
    from omnigraph.client.refs import RemoteBranches as RemoteBranches
    from omnigraph.client.refs import RemoteTags as RemoteTags
    from omnigraph.client.reviews import RemoteReviews as RemoteReviews
    from omnigraph.embedding import Embedder as Embedder
    from omnigraph.embedding import Usage as Usage
    from omnigraph.embedding import embedding_provider as embedding_provider
    from omnigraph.embedding.pace import Pace as Pace
    from omnigraph.engine.analytics.front import Analytics as Analytics
    from omnigraph.engine.analytics.local import AnalyticsResult as AnalyticsResult
    from omnigraph.engine.any_graph import AnyBranches as AnyBranches
    from omnigraph.engine.any_graph import AnyGraph as AnyGraph
    from omnigraph.engine.any_graph import AnyReviews as AnyReviews
    from omnigraph.engine.any_graph import AnySession as AnySession
    from omnigraph.engine.any_graph import AnyTags as AnyTags
    from omnigraph.engine.blobs.policy import ExternalBlobs as ExternalBlobs
    from omnigraph.engine.branches import Branches as Branches
    from omnigraph.engine.execution.explain import ExplainLine as ExplainLine
    from omnigraph.engine.execution.explain import Explanation as Explanation
    from omnigraph.engine.execution.result import Result as Result
    from omnigraph.engine.execution.stream import Stream as Stream
    from omnigraph.engine.export.entities import Edge as Edge
    from omnigraph.engine.export.entities import Neighbor as Neighbor
    from omnigraph.engine.export.entities import Node as Node
    from omnigraph.engine.export.lines import Exported as Exported
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
    from omnigraph.engine.history.entity import EntityHistory as EntityHistory
    from omnigraph.engine.history.entity import Revision as Revision
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
    from omnigraph.engine.load.read.rows.modes import Mode as Mode
    from omnigraph.engine.load.run.result import LoadResult as LoadResult
    from omnigraph.engine.opening import infer_schema as infer_schema
    from omnigraph.engine.opening import init as init
    from omnigraph.engine.opening import open as open
    from omnigraph.engine.query_files import Queries as Queries
    from omnigraph.engine.query_files import QueryFunction as QueryFunction
    from omnigraph.engine.reviews.front import Reviews as Reviews
    from omnigraph.engine.reviews.review import Review as Review
    from omnigraph.engine.reviews.review import ReviewComment as ReviewComment
    from omnigraph.engine.reviews.review import ReviewDiff as ReviewDiff
    from omnigraph.engine.reviews.review import ReviewEvent as ReviewEvent
    from omnigraph.engine.reviews.review import ReviewList as ReviewList
    from omnigraph.engine.reviews.review import ReviewMerge as ReviewMerge
    from omnigraph.engine.reviews.review import ReviewVerdict as ReviewVerdict
    from omnigraph.engine.schema.apply import SchemaApplied as SchemaApplied
    from omnigraph.engine.session import Session as Session
    from omnigraph.engine.snapshot.failures import Failure as Failure
    from omnigraph.engine.snapshot.memory import MemoryUse as MemoryUse
    from omnigraph.engine.snapshot.saved import SavedUse as SavedUse
    from omnigraph.engine.tags import Tags as Tags
    from omnigraph.engine.transaction import Staged as Staged
    from omnigraph.engine.transaction import Transaction as Transaction
    from omnigraph.engine.upkeep.embedding import Embedded as Embedded
    from omnigraph.engine.upkeep.embedding import EmbeddedProperty as EmbeddedProperty
    from omnigraph.engine.upkeep.reconcile import Optimized as Optimized
    from omnigraph.engine.upkeep.reconcile import TypeOutcome as TypeOutcome
    from omnigraph.engine.write.receipt import Receipt as Receipt
    from omnigraph.engine.write.vectors import MadeVectors as MadeVectors
    from omnigraph.engine.write.violations import Violation as Violation
    from omnigraph.policy.port import ReviewRule as ReviewRule
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
    "AnyBranches": "omnigraph.engine.any_graph",
    "AnyGraph": "omnigraph.engine.any_graph",
    "AnySession": "omnigraph.engine.any_graph",
    "AnyTags": "omnigraph.engine.any_graph",
    "AsyncBranches": "omnigraph.client.awaitable",
    "AsyncGraph": "omnigraph.client.awaitable",
    "AsyncSession": "omnigraph.client.awaitable",
    "AsyncTags": "omnigraph.client.awaitable",
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
    "Edge": "omnigraph.engine.export.entities",
    "Embedded": "omnigraph.engine.upkeep.embedding",
    "EmbeddedProperty": "omnigraph.engine.upkeep.embedding",
    "Embedder": "omnigraph.embedding",
    "MadeVectors": "omnigraph.engine.write.vectors",
    "Usage": "omnigraph.embedding",
    "embedding_provider": "omnigraph.embedding",
    "EntityHistory": "omnigraph.engine.history.entity",
    "Revision": "omnigraph.engine.history.entity",
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
    "Mode": "omnigraph.engine.load.read.rows.modes",
    "Neighbor": "omnigraph.engine.export.entities",
    "Node": "omnigraph.engine.export.entities",
    "Optimized": "omnigraph.engine.upkeep.reconcile",
    "Pace": "omnigraph.embedding.pace",
    "Visualization": "omnigraph.visualization.visualization",
    "Problem": "omnigraph.storage.reclaiming.verify",
    "ProblemKind": "omnigraph.storage.reclaiming.verify",
    "Queries": "omnigraph.engine.query_files",
    "QueryFunction": "omnigraph.engine.query_files",
    "QueryParameter": "omnigraph.catalog.signature",
    "QuerySignature": "omnigraph.catalog.signature",
    "Receipt": "omnigraph.engine.write.receipt",
    "ReclaimReport": "omnigraph.storage.reclaiming.reclaim",
    "Ref": "omnigraph.storage.commits.refs",
    "Result": "omnigraph.engine.execution.result",
    "SavedUse": "omnigraph.engine.snapshot.saved",
    "SchemaApplied": "omnigraph.engine.schema.apply",
    "SchemaChange": "omnigraph.engine.history.evolution",
    "Session": "omnigraph.engine.session",
    "Staged": "omnigraph.engine.transaction",
    "Stats": "omnigraph.engine.inspect",
    "Stream": "omnigraph.engine.execution.stream",
    "Subgraph": "omnigraph.engine.export.subgraph",
    "Swept": "omnigraph.storage.reclaiming.reclaim",
    "Tag": "omnigraph.storage.commits.refs",
    "Tags": "omnigraph.engine.tags",
    "AnyReviews": "omnigraph.engine.any_graph",
    "Reviews": "omnigraph.engine.reviews.front",
    "Review": "omnigraph.engine.reviews.review",
    "ReviewComment": "omnigraph.engine.reviews.review",
    "ReviewDiff": "omnigraph.engine.reviews.review",
    "ReviewEvent": "omnigraph.engine.reviews.review",
    "ReviewList": "omnigraph.engine.reviews.review",
    "ReviewMerge": "omnigraph.engine.reviews.review",
    "ReviewVerdict": "omnigraph.engine.reviews.review",
    "ReviewRule": "omnigraph.policy.port",
    "AsyncReviews": "omnigraph.client.awaitable",
    "RemoteReviews": "omnigraph.client.reviews",
    "Transaction": "omnigraph.engine.transaction",
    "TypeChange": "omnigraph.engine.history.evolution",
    "TypeOutcome": "omnigraph.engine.upkeep.reconcile",
    "TypeState": "omnigraph.engine.inspect",
    "Failure": "omnigraph.engine.snapshot.failures",
    "IndexStats": "omnigraph.engine.inspect",
    "TypeStats": "omnigraph.engine.inspect",
    "VerifyReport": "omnigraph.storage.reclaiming.verify",
    "Violation": "omnigraph.engine.write.violations",
    "RemoteBranches": "omnigraph.client.refs",
    "RemoteGraph": "omnigraph.client.graph",
    "RemoteSession": "omnigraph.client.reads",
    "RemoteTags": "omnigraph.client.refs",
    "connect": "omnigraph.client.graph",
    "connect_async": "omnigraph.client.awaitable",
    "infer_schema": "omnigraph.engine.opening",
    "init": "omnigraph.engine.opening",
    "open": "omnigraph.engine.opening",
    "open_async": "omnigraph.client.awaitable",
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
    "AnyBranches",
    "AnyGraph",
    "AnyReviews",
    "AnySession",
    "AnyTags",
    "ApprovalMissing",
    "AsyncBranches",
    "AsyncGraph",
    "AsyncReviews",
    "AsyncSession",
    "AsyncTags",
    "Baseline",
    "Blob",
    "BlobRefused",
    "BlobUnavailable",
    "Block",
    "Branches",
    "BrokenQueries",
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
    "EntityHistory",
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
    "KeyReused",
    "KeyValueError",
    "LanguageError",
    "LoadResult",
    "MadeVectors",
    "MemoryUse",
    "Merge",
    "MergeConflict",
    "MigrationPlan",
    "MixedMutationError",
    "Mode",
    "Neighbor",
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
    "PolicyError",
    "PreconditionFailed",
    "Problem",
    "ProblemKind",
    "Queries",
    "QueryCancelled",
    "QueryError",
    "QueryFunction",
    "QueryParameter",
    "QuerySignature",
    "ReadSetChanged",
    "Receipt",
    "ReclaimReport",
    "Ref",
    "RemoteBranches",
    "RemoteGraph",
    "RemoteReviews",
    "RemoteSession",
    "RemoteTags",
    "ResourceLimit",
    "Result",
    "Review",
    "ReviewComment",
    "ReviewDiff",
    "ReviewError",
    "ReviewEvent",
    "ReviewList",
    "ReviewMerge",
    "ReviewOver",
    "ReviewRule",
    "ReviewStale",
    "ReviewVerdict",
    "Reviews",
    "Revision",
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
    "Staged",
    "StalledWrite",
    "Stats",
    "StorageError",
    "Stream",
    "Subgraph",
    "Swept",
    "Tag",
    "Tags",
    "TaskFailed",
    "TooBusy",
    "Transaction",
    "TypeChange",
    "TypeCheckError",
    "TypeOutcome",
    "TypeState",
    "TypeStats",
    "UnexpectedError",
    "UnsupportedChange",
    "UnsupportedFormat",
    "Usage",
    "UsageError",
    "ValidationError",
    "VerifyReport",
    "Violation",
    "Visualization",
    "VoidConstraint",
    "WouldEmpty",
    "__version__",
    "connect",
    "connect_async",
    "embedding_provider",
    "infer_schema",
    "init",
    "open",
    "open_async",
    "view",
]
