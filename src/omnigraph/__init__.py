"""OmniGraph: a lakehouse-native typed property graph for fleets of AI agents.

The package gives its names on demand, so that importing it costs nothing until something is used:

    >>> import omnigraph as og
    >>> og.__version__
    '0.1.0'
    >>> issubclass(og.ParseError, og.GraphError)
    True
"""

from __future__ import annotations

from omnigraph.errors import (
    AlreadyExists,
    ConflictError,
    GraphError,
    HistoryReclaimed,
    InputError,
    KeyConflict,
    KeyValueError,
    LanguageError,
    MergeConflict,
    MixedMutationError,
    NotFound,
    ParameterError,
    ParseError,
    PreconditionFailed,
    QueryError,
    ReadSetChanged,
    ResourceLimit,
    SchemaChangeError,
    SchemaError,
    SchemaIdentityError,
    StorageError,
    TypeCheckError,
    UnsupportedChange,
    UnsupportedFormat,
    UsageError,
    ValidationError,
)
from omnigraph.model.versions import __version__

__all__ = [
    "AlreadyExists",
    "ConflictError",
    "GraphError",
    "HistoryReclaimed",
    "InputError",
    "KeyConflict",
    "KeyValueError",
    "LanguageError",
    "MergeConflict",
    "MixedMutationError",
    "NotFound",
    "ParameterError",
    "ParseError",
    "PreconditionFailed",
    "QueryError",
    "ReadSetChanged",
    "ResourceLimit",
    "SchemaChangeError",
    "SchemaError",
    "SchemaIdentityError",
    "StorageError",
    "TypeCheckError",
    "UnsupportedChange",
    "UnsupportedFormat",
    "UsageError",
    "ValidationError",
    "__version__",
]
