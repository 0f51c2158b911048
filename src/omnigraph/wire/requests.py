"""What clients send. Members that are not known are ignored on routes of the original contract, and refused on our own: with a
misspelt `patch` or `dry_run` more would change than was meant. `null` is as good as absent."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

LoadMode = Literal["append", "merge", "overwrite", "update", "patch"]
TraversalName = Literal["auto", "csr", "btree"]


class QueryRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A read: the text of a query, and what it is asked about."""

    query: str
    name: str | None = None
    """Which query of a text that holds several."""
    params: dict[str, Any] | None = None
    branch: str | None = None
    snapshot: str | None = None
    """A commit id: the graph as it was then."""
    traversal: TraversalName | None = None
    """How neighbours are found; what is best is chosen otherwise."""
    timeout: float | None = None
    """Seconds; the server's own limit holds anyway."""
    memory_limit: int | None = None
    """Bytes; the same."""


class ReadRequest(msgspec.Struct, frozen=True, kw_only=True):
    """The same, as earlier clients spell it."""

    query_source: str
    query_name: str | None = None
    params: dict[str, Any] | None = None
    branch: str | None = None
    snapshot: str | None = None


class ChangeRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A mutation. `query_source` and `query_name` are earlier spellings of `query` and `name`."""

    query: str | None = None
    query_source: str | None = None
    name: str | None = None
    query_name: str | None = None
    params: dict[str, Any] | None = None
    branch: str | None = None
    message: str | None = None
    """For the commit."""
    embed: bool | None = None
    """Whether the vectors of its texts are made first, by the provider that the server has."""


class InvokeStoredQueryRequest(msgspec.Struct, frozen=True, kw_only=True):
    """What a stored query is invoked with."""

    params: dict[str, Any] | None = None
    branch: str | None = None
    snapshot: str | None = None
    expect_mutation: bool | None = None
    """What the caller takes it for: refused if it is something else."""
    message: str | None = None
    """For the commit of a mutation."""


class SchemaApplyRequest(msgspec.Struct, frozen=True, kw_only=True):
    """Another schema for a branch, main unless one is named."""

    schema_source: str
    allow_data_loss: bool | None = None
    branch: str | None = None
    backfill: dict[str, Any] | None = None
    """Values for entities that have none, by `Type.property`."""
    compute: dict[str, str] | None = None
    """Expressions over what entities had, by `Type.property`."""
    also: list[str] | None = None
    """Other branches that get it, each by a commit of its own."""


class IngestRequest(msgspec.Struct, frozen=True, kw_only=True):
    """Records to load, as text: JSON objects separated by white space."""

    data: str
    branch: str | None = None
    from_: str | None = msgspec.field(default=None, name="from")
    """Where the branch starts if it is not there yet."""
    mode: LoadMode | None = None


class ExportRequest(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What to export."""

    branch: str | None = None
    snapshot: str | None = None
    """A commit id: the graph as it was then."""
    type_names: list[str] | None = None


class BranchCreateRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A new branch."""

    name: str
    from_: str | None = msgspec.field(default=None, name="from")


class BranchMergeRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A merge."""

    source: str
    target: str | None = None
    delete_branch: bool | None = None
    """Delete the source once it is merged."""
    dry_run: bool | None = None
    """Say what would change and what conflicts; nothing is changed."""
    resolve: Any = None
    """`ours`, `theirs`, or an object of conflict keys to a side or to values."""
    strict: bool | None = None
    """Changes to the same entity conflict, even in different properties."""
    message: str | None = None
    """For the commit."""


class RevertRequest(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a commit did is to be undone by a new one."""

    commit: str
    branch: str | None = None
    dry_run: bool | None = None
    resolve: Any = None
    strict: bool | None = None
    message: str | None = None


class TagCreateRequest(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A name for a commit, or for the newest one of a branch."""

    name: str
    commit: str | None = None
    branch: str | None = None


class ExplainRequest(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A read, to be explained; with `analyze` it is run."""

    query: str
    name: str | None = None
    params: dict[str, Any] | None = None
    branch: str | None = None
    snapshot: str | None = None
    analyze: bool | None = None
    traversal: TraversalName | None = None


class SubgraphRequest(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A read of which the matched nodes and edges are wanted."""

    query: str
    name: str | None = None
    params: dict[str, Any] | None = None
    branch: str | None = None
    snapshot: str | None = None
    limit: int | None = None


class OptimizeRequest(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which branch is to be packed and indexed."""

    branch: str | None = None


class CleanupRequest(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which commits may go. Without `dry_run: false` it is only said what would."""

    keep: int | None = None
    older_than: str | None = None
    """Such as `7d`."""
    dry_run: bool | None = None


class VerifyRequest(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How thoroughly to look."""

    deep: bool | None = None
    content: bool | None = None


class EmbedRequest(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which vectors are to be made, by the provider that the server has."""

    types: list[str] | None = None
    branch: str | None = None
    again: bool | None = None
    timeout: float | None = None
    """Seconds after which it ends; what was embedded by then is kept for the next time."""


class EmbeddingModelRequest(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which model makes vectors that somebody is about to write."""

    type: str
    property: str
    model: str
    made_up: bool | None = None
    """Whether they are made up, by the mock."""
    branch: str | None = None
    """Where they will be written; main by default."""
    from_: str | None = msgspec.field(name="from", default=None)
    """What the branch will be made from, if it is not there; main by default."""


class ChangeBaselineRequest(msgspec.Struct, frozen=True, kw_only=True):
    """Which entities a baseline holds."""

    branch: str | None = None
    kind: list[str] | None = None
    type: list[str] | None = None
    op: list[str] | None = None


class EntityRequest(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which node or edge: by its key (a value, a list of them, or an object of values by name), or by its id."""

    type: str
    key: Any = None
    id: str | None = None
    branch: str | None = None
    snapshot: str | None = None


class NeighborsRequest(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Whose neighbours, and through which edges."""

    type: str
    key: Any = None
    id: str | None = None
    edges: list[str] | None = None
    direction: Literal["out", "in", "both"] | None = None
    limit: int | None = None
    branch: str | None = None
    snapshot: str | None = None


class PutRequest(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A node, or with `from` and `to` an edge. An end is a key, or `{"node": {"type": …, "id": …}}`."""

    type: str
    values: dict[str, Any] | None = None
    from_: Any = msgspec.field(default=None, name="from")
    to: Any = None
    patch: bool | None = None
    """Only what is given changes; otherwise what has its key is replaced."""
    branch: str | None = None
    if_graph_commit: str | None = None
    """Only while the branch is at this commit."""
    message: str | None = None
