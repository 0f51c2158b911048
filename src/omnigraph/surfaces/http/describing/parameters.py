"""What routes take besides their bodies: parameters of the query string, and an idempotency key. What they do not is refused.

A parameter that nobody reads would be ignored, and a misspelt `branch` would read or write another branch. The document of
OpenAPI is made from the same tables.
"""

from __future__ import annotations

from typing import Any, Final, get_args

from omnigraph.errors import UsageError
from omnigraph.language.diagnostics import did_you_mean
from omnigraph.surfaces.http.routing import Route
from omnigraph.wire.requests import LoadMode
from omnigraph.wire.reviews import ReviewState

Described = tuple[tuple[str, bool, dict[str, Any], str], ...]
"""Parameters: name, whether it must be given, JSON schema, and what it means."""

_STATE: Final[Described] = (
    ("branch", False, {"type": "string"}, "main by default"),
    ("snapshot", False, {"type": "string"}, "a commit or tag, instead of a branch"),
)
_MAINTENANCE: Final = ("maintenance", False, {"type": "boolean"}, "also commits that only changed how the graph is stored")
_FILTERS: Final[Described] = tuple(
    (name, False, {"type": "array", "items": {"type": "string"}}, "only these; may be given several times")
    for name in ("kind", "type", "op")
)
_CHANGES: Final[Described] = (
    ("page_token", False, {"type": "string"}, "where a page ended inside a commit"),
    ("limit", False, {"type": "integer", "minimum": 1, "maximum": 8192}, "changes on a page, 1000 by default"),
    ("max_bytes", False, {"type": "integer", "minimum": 1}, "bytes on a page, about"),
    *_FILTERS,
)
_FEED: Final[Described] = (
    ("branch", False, {"type": "string"}, "main by default"),
    ("cursor", False, {"type": "string"}, "where to go on"),
    ("start", False, {"type": "string"}, "now, beginning or after:<commit id>"),
    ("max_commits", False, {"type": "integer", "minimum": 1}, "commits on a page, 128 by default"),
    *_CHANGES,
)
PARAMETERS: Final[dict[str, Described]] = {
    "audit": (
        ("since", False, {"type": "string"}, "a time, or so long ago: `2h`, `7d`"),
        *((name, False, {"type": "string"}, "only records of this one") for name in ("actor", "action", "graph", "outcome")),
        ("limit", False, {"type": "integer", "minimum": 1, "maximum": 10_000}, "the newest so many; 100 by default"),
    ),
    "cluster_getSnapshot": _STATE,
    "cluster_getAcceptedSchema": _STATE,
    "cluster_stats": _STATE,
    "cluster_getEmbeddingModel": (
        ("type", True, {"type": "string"}, "a node type"),
        ("property", True, {"type": "string"}, "a Vector property of it"),
        ("branch", False, {"type": "string"}, "main by default"),
    ),
    "cluster_diff": (
        ("from", True, {"type": "string"}, "a branch, a tag or a commit"),
        ("to", True, {"type": "string"}, "another one"),
        *_FILTERS,
    ),
    "cluster_getCommit": (_MAINTENANCE,),
    "cluster_listCommits": (
        ("branch", False, {"type": "string"}, "main by default"),
        ("limit", False, {"type": "integer", "minimum": 1}, "all by default"),
        ("page_token", False, {"type": "string"}, "where a page ended"),
        _MAINTENANCE,
    ),
    "cluster_getSchema": _STATE,
    "cluster_loadNdjson": (
        ("branch", False, {"type": "string"}, "main by default"),
        ("from", False, {"type": "string"}, "where the branch starts if it is not there"),
        ("mode", False, {"type": "string", "enum": list(get_args(LoadMode))}, "merge by default"),
    ),
    "cluster_loadFiles": (
        ("branch", False, {"type": "string"}, "main by default"),
        ("from", False, {"type": "string"}, "where the branch starts if it is not there"),
        ("mode", False, {"type": "string", "enum": list(get_args(LoadMode))}, "merge by default"),
        ("lossy", False, {"type": "string", "enum": ["round"]}, "round what a type cannot hold exactly"),
        ("dialect", False, {"type": "string", "enum": ["strict", "compatible"]}, "strict by default"),
        ("allow_empty", False, {"type": "boolean"}, "an overwrite may leave a type without entities"),
        ("embed", False, {"type": "boolean"}, "make the vectors of loaded texts, by the provider of the server"),
        ("message", False, {"type": "string"}, "for the commit"),
    ),
    "cluster_getBlob": (
        ("entity", True, {"type": "string", "enum": ["node", "edge"]}, "a node or an edge"),
        ("type", True, {"type": "string"}, "its type"),
        ("id", True, {"type": "string"}, "its id"),
        ("property", True, {"type": "string"}, "which Blob"),
        ("branch", False, {"type": "string"}, "main by default"),
        ("snapshot", False, {"type": "string"}, "a commit id, instead of a branch"),
    ),
    "cluster_history": (
        ("type", True, {"type": "string"}, "a node or edge type"),
        ("key", False, {"type": "array", "items": {"type": "string"}}, "its key; several values in the order of the schema"),
        ("id", False, {"type": "string"}, "its id, instead of a key"),
        ("branch", False, {"type": "string"}, "main by default"),
        ("limit", False, {"type": "integer", "minimum": 0}, "the newest so many; all by default"),
    ),
    "cluster_listReviews": (
        (
            "state",
            False,
            {"type": "array", "items": {"type": "string", "enum": list(get_args(ReviewState))}},
            "only in these states",
        ),
        ("source", False, {"type": "string"}, "only of this branch"),
        ("target", False, {"type": "string"}, "only into this branch"),
        ("author", False, {"type": "string"}, "only of this author"),
        ("limit", False, {"type": "integer", "minimum": 1, "maximum": 1000}, "reviews on a page, 100 by default"),
        ("page_token", False, {"type": "string"}, "where a page ended"),
    ),
    "cluster_getCommitChanges": _CHANGES,
    "cluster_pollChanges": _FEED,
}
"""What a query string may hold, by operation: nothing where it says nothing."""

REPEATABLE: Final = frozenset(
    {
        "cluster_mutate",
        "cluster_mutate_if_graph_commit",
        "cluster_change",
        "cluster_invoke_query",
        "cluster_invoke_query_if_graph_commit",
        "cluster_load",
        "cluster_loadNdjson",
        "cluster_loadFiles",
        "cluster_ingest",
        "cluster_put",
        "cluster_mergeBranches",
    }
)
"""Writes that may be sent again under a key."""

KEYLESS: Final = frozenset(
    {
        "cluster_applySchema",
        "cluster_createBranch",
        "cluster_deleteBranch",
        "cluster_revert",
        "cluster_createTag",
        "cluster_deleteTag",
        "cluster_optimize",
        "cluster_cleanup",
        "cluster_embed",
        "cluster_recordEmbeddingModel",
        "reload",
        "deployment_apply",
        "mcp",
        "graphMcp",
        "cluster_createReview",
        "cluster_commentReview",
        "cluster_approveReview",
        "cluster_requestChanges",
        "cluster_mergeReview",
        "cluster_closeReview",
        "cluster_reopenReview",
    }
)
"""Writes that take none."""


def require_known(route: Route, given: list[tuple[str, str]]) -> None:
    """Refuse a parameter that a route does not take."""
    known = [name for name, *_ in PARAMETERS.get(route.operation_id, ())]
    unknown = next((name for name, _ in given if name not in known), None)
    if unknown is None:
        return
    named = (
        f"There are {', '.join(known)}." if known else f"{route.method} {route.path} takes none{_IN_BODY if route.body else ''}."
    )
    raise UsageError(f"unknown query parameter '{unknown[:100]}'", hint=f"{did_you_mean(unknown, known) or ''} {named}".strip())


_IN_BODY: Final = ": what it is about stands in its body"


def refuse_key(route: Route) -> None:
    """Refuse an idempotency key where it would not be looked at."""
    if route.operation_id in KEYLESS:
        raise UsageError(
            f"{route.method} {route.path} takes no Idempotency-Key",
            hint="Leave it out. If no answer comes, look whether it was done before you send it again.",
        )


_CONDITIONAL: Final = frozenset(
    {
        "cluster_mutate",
        "cluster_mutate_if_graph_commit",
        "cluster_change",
        "cluster_invoke_query",
        "cluster_invoke_query_if_graph_commit",
    }
)
"""Writes that look at the header of a condition, or say which route does."""


def refuse_condition(route: Route) -> None:
    """Refuse a condition where it would not be looked at: the write would happen whatever the branch is at."""
    if route.operation_id in (REPEATABLE | KEYLESS) - _CONDITIONAL:
        hint = "Give `if_graph_commit` in the body." if route.operation_id == "cluster_put" else _MUTATIONS_TAKE_IT
        raise UsageError(f"{route.method} {route.path} takes no Omnigraph-If-Graph-Commit", hint=hint)


_MUTATIONS_TAKE_IT: Final = "Mutations and stored queries take one, at …/if-graph-commit. Nothing was changed."
