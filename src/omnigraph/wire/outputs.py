"""What servers answer. Members come in the order they are declared in."""

from __future__ import annotations

from typing import Any, Literal

import msgspec
from msgspec import UNSET, UnsetType

from omnigraph.wire.errors import ErrorOutput
from omnigraph.wire.requests import LoadMode

EntityKind = Literal["node", "edge"]
Op = Literal["insert", "update", "delete"]
MergeOutcome = Literal["already_up_to_date", "fast_forward", "merged", "conflicts"]
RevertOutcome = Literal["reverted", "nothing_to_revert", "conflicts"]


class HealthOutput(msgspec.Struct, frozen=True, kw_only=True):
    """That the server runs, and which contract it speaks."""

    status: Literal["ok"] = "ok"
    version: str
    """Version of the HTTP contract."""
    internal_schema_version: int
    source_version: str | UnsetType = UNSET
    """What it was built from."""
    server: str
    """Version of the product."""


class ReloadFailureOutput(msgspec.Struct, frozen=True, kw_only=True):
    """The last attempt to serve something else. What exactly was wrong is in the log."""

    at: str
    codes: list[str]


class ReadyOutput(msgspec.Struct, frozen=True, kw_only=True):
    """Whether the server takes requests."""

    ready: bool
    status: Literal["serving", "draining", "loading", "degraded", "blocked"]
    served_graph_count: int
    quarantined_graph_count: int
    shutdown_grace_seconds: float
    booted_serving_digest: str | UnsetType = UNSET
    """Of what is served, if it is served from a cluster…"""
    state_revision: int | UnsetType = UNSET
    """…and the state of the cluster that it is from."""
    state_cas: str | UnsetType = UNSET
    reload_failure: ReloadFailureOutput | UnsetType = UNSET
    """Why it does not serve what it is to serve, if it does not."""


class GraphEntry(msgspec.Struct, frozen=True, kw_only=True):
    """A graph that is served."""

    graph_id: str
    uri: str


class GraphListResponse(msgspec.Struct, frozen=True, kw_only=True):
    """The graphs that are served, by id."""

    graphs: list[GraphEntry]


class DiscoveredGraph(msgspec.Struct, frozen=True, kw_only=True):
    """A graph that the caller may work with. Where it is, is for those who may list graphs."""

    graph_id: str


class GraphDiscoveryResponse(msgspec.Struct, frozen=True, kw_only=True):
    """The graphs that the caller may work with, by id."""

    graphs: list[DiscoveredGraph]


class DatasetOutput(msgspec.Struct, frozen=True, kw_only=True):
    """A type, as a branch has it."""

    entity_kind: EntityKind
    type_name: str
    dataset_path: str
    published_dataset_version: int
    native_dataset_branch: str | None
    entity_count: int


class SnapshotOutput(msgspec.Struct, frozen=True, kw_only=True):
    """What a branch holds, type by type."""

    graph_branch: str
    graph_manifest_version: int
    internal_schema_version: int
    graph_commit_id: str
    datasets: list[DatasetOutput]


class CommitOutput(msgspec.Struct, frozen=True, kw_only=True):
    """A commit."""

    graph_commit_id: str
    graph_branch: str | None
    """The branch it was made on; null for the main branch."""
    graph_manifest_version: int
    parent_commit_id: str | None
    merged_parent_commit_id: str | None
    actor_id: str | None
    created_at: int
    """Microseconds since 1970."""
    operation: str | UnsetType = UNSET
    message: str | UnsetType | None = UNSET
    maintenance: bool | UnsetType = UNSET
    idempotency_key: str | UnsetType = UNSET
    """Of a write that may be repeated."""


class CommitListOutput(msgspec.Struct, frozen=True, kw_only=True):
    """Commits, newest first."""

    commits: list[CommitOutput]
    next_page_token: str | UnsetType = UNSET
    """Where older ones begin, if a limit was given and there are more."""


class ReadTarget(msgspec.Struct, frozen=True, kw_only=True):
    """What was read."""

    branch: str | None
    snapshot: str | None


class LegacyReadOutput(msgspec.Struct, frozen=True, kw_only=True):
    """The answer to a read, as earlier clients know it."""

    query_name: str
    target: ReadTarget
    row_count: int
    columns: list[str] | UnsetType = UNSET
    rows: list[dict[str, Any]]


class ReadOutput(LegacyReadOutput, frozen=True, kw_only=True):
    """The answer to a read, and the commit it was read from."""

    graph_commit_id: str | UnsetType = UNSET


class EmbedUsageOutput(msgspec.Struct, frozen=True, kw_only=True):
    """What an embedding provider was asked; tokens and cost as it says them."""

    texts: int
    requests: int
    retries: int
    tokens: int | None
    cost: float | None
    seconds: float


class MadeVectorsOutput(msgspec.Struct, frozen=True, kw_only=True):
    """Vectors that a write made."""

    model: str
    vectors: int
    usage: EmbedUsageOutput


class ChangeOutput(msgspec.Struct, frozen=True, kw_only=True):
    """What a mutation did. Without a commit it changed nothing."""

    branch: str
    query_name: str
    affected_nodes: int
    affected_edges: int
    actor_id: str | None
    commit: CommitOutput | None
    embedded: MadeVectorsOutput | UnsetType = UNSET
    """Vectors that were made for it, where that was asked for."""


class ParameterOutput(msgspec.Struct, frozen=True, kw_only=True):
    """A parameter of a stored query."""

    name: str
    kind: Literal["string", "bool", "int", "bigint", "float", "date", "datetime", "blob", "vector", "list"]
    item_kind: str | UnsetType = UNSET
    vector_dim: int | UnsetType = UNSET
    nullable: bool


class StoredQueryOutput(msgspec.Struct, frozen=True, kw_only=True):
    """A stored query."""

    name: str
    tool_name: str
    description: str | UnsetType = UNSET
    instruction: str | UnsetType = UNSET
    mutation: bool
    params: list[ParameterOutput]


class QueriesCatalogOutput(msgspec.Struct, frozen=True, kw_only=True):
    """The stored queries, by name."""

    queries: list[StoredQueryOutput]


class SystemColumnsOutput(msgspec.Struct, frozen=True, kw_only=True):
    """What the columns are called that a schema does not declare: of every entity, and of the ends of an edge."""

    id: str
    src: str
    dst: str


class SchemaOutput(msgspec.Struct, frozen=True, kw_only=True):
    """The schema, word for word as it was accepted."""

    schema_source: str
    system_columns: SystemColumnsOutput | UnsetType = UNSET
    """Where tables of the graph have ids and endpoints."""


class SchemaApplyOutput(msgspec.Struct, frozen=True, kw_only=True):
    """What a schema change did."""

    uri: str
    supported: bool
    applied: bool
    step_count: int
    graph_manifest_version: int
    steps: list[dict[str, Any]]
    commit: CommitOutput | UnsetType = UNSET
    """Left out when the schema says what the old one said."""
    also: dict[str, SchemaApplyOutput] | UnsetType = UNSET
    """Other branches that were named; left out when none was."""


class LoadedType(msgspec.Struct, frozen=True, kw_only=True):
    """How much of a type was loaded."""

    name: str
    entities_loaded: int


class GraphBatchLoadOutput(msgspec.Struct, frozen=True, kw_only=True):
    """What a load did."""

    branch: str
    base_branch: str | None
    """Where the branch was to start, as the request had it."""
    branch_created: bool
    mode: LoadMode
    nodes: list[LoadedType]
    edges: list[LoadedType]
    total_entities: int
    actor_id: str | None
    commit: CommitOutput | None
    deleted: dict[str, int] | UnsetType = UNSET
    """Entities of each type that the records deleted, if any did…"""
    cascaded: dict[str, int] | UnsetType = UNSET
    """… edges that went with them…"""
    missing: dict[str, int] | UnsetType = UNSET
    """… and those that were not there."""
    embedded: MadeVectorsOutput | UnsetType = UNSET
    """Vectors that were made for it, where that was asked for."""


class IngestOutput(msgspec.Struct, frozen=True, kw_only=True):
    """The same, with the graph it went to; spelt out, since its member comes first and structs have one base."""

    uri: str
    branch: str
    base_branch: str | None
    branch_created: bool
    mode: LoadMode
    nodes: list[LoadedType]
    edges: list[LoadedType]
    total_entities: int
    actor_id: str | None
    commit: CommitOutput | None
    deleted: dict[str, int] | UnsetType = UNSET
    """Entities of each type that the records deleted, if any did…"""
    cascaded: dict[str, int] | UnsetType = UNSET
    """… edges that went with them…"""
    missing: dict[str, int] | UnsetType = UNSET
    """… and those that were not there."""
    embedded: MadeVectorsOutput | UnsetType = UNSET
    """Vectors that were made for it, where that was asked for."""


class BranchListOutput(msgspec.Struct, frozen=True, kw_only=True):
    """The branches, by name."""

    branches: list[str]


class BranchCreateOutput(msgspec.Struct, frozen=True, kw_only=True):
    """A branch that was made."""

    uri: str
    from_: str = msgspec.field(name="from")
    name: str
    actor_id: str | None


class BranchDeleteOutput(msgspec.Struct, frozen=True, kw_only=True):
    """A branch that was deleted."""

    uri: str
    name: str
    actor_id: str | None
    commit: CommitOutput | UnsetType = UNSET
    """The last one of the branch, which says who deleted it."""


class BranchOutput(msgspec.Struct, frozen=True, kw_only=True):
    """A branch: where it came from, who created it and when."""

    name: str
    incarnation: str
    """Another one if a branch of that name is deleted and made again."""
    origin: BranchOutput | None
    fork_commit_id: str | None
    created_by: str | None
    created_at: int | None
    """Microseconds since 1970."""


class CauseOutput(msgspec.Struct, frozen=True, kw_only=True):
    """The commit that changes came with."""

    graph_commit_id: str
    parent_commit_id: str | UnsetType = UNSET
    merged_parent_commit_id: str | UnsetType = UNSET
    authored_branch: str
    actor_id: str | UnsetType = UNSET
    authored_at: int


class EndpointsOutput(msgspec.Struct, frozen=True, kw_only=True):
    """The ends of an edge."""

    from_: str = msgspec.field(name="from")
    to: str


class ImageOutput(msgspec.Struct, frozen=True, kw_only=True):
    """An entity before or after a change."""

    properties: dict[str, Any]
    endpoints: EndpointsOutput | UnsetType = UNSET


class TypeOutput(msgspec.Struct, frozen=True, kw_only=True):
    """A type; its id survives a rename."""

    id: str
    name: str


class EntityChangeOutput(msgspec.Struct, frozen=True, kw_only=True):
    """What happened to one entity."""

    kind: EntityKind
    type: TypeOutput
    id: str
    op: Op
    before: ImageOutput | UnsetType = UNSET
    after: ImageOutput | UnsetType = UNSET


class ConflictOutput(msgspec.Struct, frozen=True, kw_only=True):
    """Something that two sides do not agree about, and the key that a resolution names it by."""

    entity_kind: EntityKind
    type_name: str
    entity_id: str | None
    kind: str
    message: str
    key: str
    properties: list[str] | UnsetType = UNSET
    base: dict[str, Any] | None
    ours: dict[str, Any] | None
    theirs: dict[str, Any] | None


class BranchMergeOutput(msgspec.Struct, frozen=True, kw_only=True):
    """What a merge came to, or would. The last three are of a dry run."""

    source: str
    target: str
    outcome: MergeOutcome
    actor_id: str | None
    branch_deleted: bool | UnsetType = UNSET
    branch_delete_error: str | UnsetType = UNSET
    branch_delete_error_details: ErrorOutput | UnsetType = UNSET
    """Why the source was not deleted, as if that had been asked for by itself. The merge stands."""
    graph_commit_id: str | UnsetType = UNSET
    commit: CommitOutput | UnsetType | None = UNSET
    """What the merge committed; null if the target had everything already."""
    base_commit_id: str | UnsetType = UNSET
    """Where the two parted."""
    schema: dict[str, Any] | UnsetType = UNSET
    """What becomes of the target's schema, if anything does."""
    dry_run: bool | UnsetType = UNSET
    merge_conflicts: list[ConflictOutput] | UnsetType = UNSET
    changes: list[EntityChangeOutput] | UnsetType = UNSET


class RevertOutput(msgspec.Struct, frozen=True, kw_only=True):
    """What a revert came to, or would: `source` is the commit that is undone, `target` the branch."""

    source: str
    target: str
    outcome: RevertOutcome
    actor_id: str | None
    graph_commit_id: str | UnsetType = UNSET
    commit: CommitOutput | UnsetType = UNSET
    base_commit_id: str | UnsetType = UNSET
    schema: dict[str, Any] | UnsetType = UNSET
    dry_run: bool | UnsetType = UNSET
    merge_conflicts: list[ConflictOutput] | UnsetType = UNSET
    changes: list[EntityChangeOutput] | UnsetType = UNSET


class CommitChangesOutput(msgspec.Struct, frozen=True, kw_only=True):
    """What one commit changed: a page of it."""

    cause: CauseOutput
    schema: dict[str, Any] | UnsetType = UNSET
    """What it did to the schema, if it did."""
    changes: list[EntityChangeOutput]
    next_page_token: str | UnsetType = UNSET


class ChangeBlockOutput(msgspec.Struct, frozen=True, kw_only=True):
    """Changes of one commit."""

    cause: CauseOutput
    schema: dict[str, Any] | UnsetType = UNSET
    changes: list[EntityChangeOutput]


class ChangeFeedOutput(msgspec.Struct, frozen=True, kw_only=True):
    """A page of a change feed: it ends with a token, inside a commit, or with a cursor, between two."""

    blocks: list[ChangeBlockOutput]
    next_page_token: str | UnsetType = UNSET
    cursor: str | UnsetType = UNSET
    caught_up: bool | UnsetType = UNSET
