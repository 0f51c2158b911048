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

from omnigraph.engine.load.run.runners import offer
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
    from omnigraph.engine.blobs.policy import ExternalBlobs
    from omnigraph.engine.execution.result import Result
    from omnigraph.engine.graph import Graph
    from omnigraph.engine.opening import init, open
    from omnigraph.surfaces.view import view

offer("spark", "omnigraph.pipeline.load", "run", needs="pyspark")

_ON_DEMAND = {
    "ExternalBlobs": "omnigraph.engine.blobs.policy",
    "Graph": "omnigraph.engine.graph",
    "Result": "omnigraph.engine.execution.result",
    "init": "omnigraph.engine.opening",
    "open": "omnigraph.engine.opening",
    "view": "omnigraph.surfaces.view",
}


def __getattr__(name: str) -> object:
    module = _ON_DEMAND.get(name)
    if module is None:
        raise AttributeError(f"module `omnigraph` has no attribute `{name}`")
    from importlib import import_module

    return getattr(import_module(module), name)


__all__ = [
    "AlreadyExists",
    "BlobRefused",
    "BlobUnavailable",
    "ChangeFeedGap",
    "ChangesUnreadable",
    "CleanupUnderWay",
    "ConflictError",
    "CursorRejected",
    "DamagedRecord",
    "EmbeddingFailed",
    "ExternalBlobs",
    "Graph",
    "GraphError",
    "HistoryReclaimed",
    "InputError",
    "KeyConflict",
    "KeyValueError",
    "LanguageError",
    "MergeConflict",
    "MixedMutationError",
    "NoSuchRow",
    "NotConfirmed",
    "NotFound",
    "ParameterError",
    "ParentlessCommit",
    "ParseError",
    "PreconditionFailed",
    "QueryCancelled",
    "QueryError",
    "ReadSetChanged",
    "ResourceLimit",
    "Result",
    "SchemaBoundary",
    "SchemaChangeError",
    "SchemaError",
    "SchemaIdentityError",
    "ScopeError",
    "SparkUnavailable",
    "StalledWrite",
    "StorageError",
    "TaskFailed",
    "TypeCheckError",
    "UnexpectedError",
    "UnsupportedChange",
    "UnsupportedFormat",
    "UsageError",
    "ValidationError",
    "VoidConstraint",
    "WouldEmpty",
    "__version__",
    "init",
    "open",
    "view",
]
