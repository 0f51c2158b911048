"""What servers answer on routes that the contract does not have: differences, tags, plans, numbers, upkeep."""

from __future__ import annotations

from typing import Any, Literal

import msgspec
from msgspec import UNSET, UnsetType

from omnigraph.wire.outputs import BranchOutput, CommitOutput, EmbedUsageOutput, EntityChangeOutput, EntityKind


class DiffStats(msgspec.Struct, frozen=True, kw_only=True):
    """Changes in numbers."""

    inserts: int
    updates: int
    deletes: int
    types_affected: list[str]


class DiffOutput(msgspec.Struct, frozen=True, kw_only=True):
    """What differs between two states."""

    from_graph_commit_id: str
    to_graph_commit_id: str
    from_graph_manifest_version: int
    to_graph_manifest_version: int
    schema: dict[str, Any] | UnsetType = UNSET
    """What differs between their schemas, if anything does."""
    changes: list[EntityChangeOutput]
    published_dataset_versions: dict[str, int]
    """Of the second state, by type."""
    stats: DiffStats


class RevisionOutput(msgspec.Struct, frozen=True, kw_only=True):
    """What one commit did to an entity."""

    commit: CommitOutput
    change: EntityChangeOutput
    origins: list[CommitOutput] | UnsetType = UNSET
    """Of a merge: the commits it brought along that changed the entity, newest first."""


class EntityHistoryOutput(msgspec.Struct, frozen=True, kw_only=True):
    """Every commit of a branch that changed an entity, newest first."""

    kind: EntityKind
    type: str
    id: str
    branch: str
    is_complete: bool
    """False if only some were asked for, or older commits were reclaimed."""
    revisions: list[RevisionOutput]


class TagOutput(msgspec.Struct, frozen=True, kw_only=True):
    """A name for a commit."""

    name: str
    graph_commit_id: str
    owner: BranchOutput
    """The branch that the commit is of."""
    created_by: str | None
    created_at: int | None


class TagListOutput(msgspec.Struct, frozen=True, kw_only=True):
    """The tags, by name."""

    tags: list[TagOutput]


class DeletedTagOutput(msgspec.Struct, frozen=True, kw_only=True):
    """A tag as it was, who deleted it, and when."""

    tag: TagOutput
    deleted_by: str | None
    deleted_at: int


class DeletedTagListOutput(msgspec.Struct, frozen=True, kw_only=True):
    """Tags that were deleted, by name; of each name the last deletion."""

    deleted: list[DeletedTagOutput]


class TagDeleteOutput(msgspec.Struct, frozen=True, kw_only=True):
    """A tag that was deleted; null if its record was damaged."""

    name: str
    actor_id: str | None
    deleted: DeletedTagOutput | None


class AcceptedSchemaOutput(msgspec.Struct, frozen=True, kw_only=True):
    """A schema as text and as what it means, with the identities of types and properties, and the commit that has it."""

    graph_commit_id: str
    schema_source: str
    schema_ir: dict[str, Any]


class SchemaPlanOutput(msgspec.Struct, frozen=True, kw_only=True):
    """What it takes to get from the schema of a branch to another one."""

    uri: str
    supported: bool
    step_count: int
    steps: list[dict[str, Any]]


class ExplainStep(msgspec.Struct, frozen=True, kw_only=True):
    """One step of a plan."""

    step: str
    depth: int
    estimated_rows: float | UnsetType = UNSET
    rows: int | UnsetType = UNSET
    milliseconds: float | UnsetType = UNSET
    used: list[str] | UnsetType = UNSET


class ExplainOutput(msgspec.Struct, frozen=True, kw_only=True):
    """How a read is answered, the last step first."""

    query_name: str
    target: str
    analyzed: bool
    plan: list[ExplainStep]
    milliseconds: float | UnsetType = UNSET


class NodeOutput(msgspec.Struct, frozen=True, kw_only=True):
    """A node."""

    type: str
    id: str
    properties: dict[str, Any]


class NodeName(msgspec.Struct, frozen=True, kw_only=True):
    """Which node."""

    type: str
    id: str


class EdgeOutput(msgspec.Struct, frozen=True, kw_only=True):
    """An edge."""

    type: str
    id: str
    source: NodeName
    target: NodeName
    properties: dict[str, Any]


class EntityOutput(msgspec.Struct, frozen=True, kw_only=True):
    """A node or an edge; both are null if there is none."""

    node: NodeOutput | None
    edge: EdgeOutput | None


class NeighborOutput(msgspec.Struct, frozen=True, kw_only=True):
    """A node that an edge connects another one with."""

    node: NodeOutput
    edge: EdgeOutput
    direction: Literal["out", "in"]


class NeighborsOutput(msgspec.Struct, frozen=True, kw_only=True):
    """The nodes next to one, by edge type."""

    neighbors: list[NeighborOutput]


class SubgraphOutput(msgspec.Struct, frozen=True, kw_only=True):
    """The nodes and edges that a pattern matched."""

    query_name: str
    graph_commit_id: str
    nodes: list[NodeOutput]
    edges: list[EdgeOutput]
    is_complete: bool


class IndexOutput(msgspec.Struct, frozen=True, kw_only=True):
    """An index, and how many rows it covers."""

    property: str
    kind: str
    rows_covered: int


class TypeStatsOutput(msgspec.Struct, frozen=True, kw_only=True):
    """A type in numbers."""

    name: str
    kind: EntityKind
    rows: int
    indexes: list[IndexOutput]


class MemoryOutput(msgspec.Struct, frozen=True, kw_only=True):
    """How the memory of the process that answered is used."""

    budget_bytes: int
    used_bytes: int
    entries: int
    hits: int
    misses: int
    evicted: int


class SavedOutput(msgspec.Struct, frozen=True, kw_only=True):
    """How saved state was used."""

    read: int
    written: int
    damaged: int
    reasons: list[str]


class FailureOutput(msgspec.Struct, frozen=True, kw_only=True):
    """Work in the background that failed."""

    work: str
    about: str
    message: str
    first_at: str
    last_at: str
    times: int


class StatsOutput(msgspec.Struct, frozen=True, kw_only=True):
    """A graph in numbers."""

    branch: str
    commit: str
    types: list[TypeStatsOutput]
    memory: MemoryOutput
    saved: SavedOutput
    prepared_queries: int
    failures: list[FailureOutput]


class OptimizedType(msgspec.Struct, frozen=True, kw_only=True):
    """What became of one type."""

    type: str
    rows: int
    fragments_before: int
    fragments_after: int
    covered: list[str]
    commit: str | None
    busy: bool


class OptimizeOutput(msgspec.Struct, frozen=True, kw_only=True):
    """What was packed and indexed."""

    branch: str
    types: list[OptimizedType]


class SweptOutput(msgspec.Struct, frozen=True, kw_only=True):
    """What went below one folder."""

    path: str
    files_removed: int
    bytes_removed: int
    files_kept: int
    bytes_kept: int
    is_gone: bool


class CleanupOutput(msgspec.Struct, frozen=True, kw_only=True):
    """What went, or would go."""

    dry_run: bool
    commits_kept: int
    commits_reclaimed: int
    tables: list[SweptOutput]
    manifests: list[SweptOutput]
    probes_removed: int
    files_too_young: int
    spared_seconds: int


class ProblemOutput(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that is wrong, and where."""

    kind: str
    branch: str
    table: str
    path: str
    message: str


class VerifyOutput(msgspec.Struct, frozen=True, kw_only=True):
    """What was looked at, and what is wrong with it."""

    ok: bool
    branches: int
    tags: int
    commits: int
    versions: int
    files: int
    problems: list[ProblemOutput]
    unchecked: int
    content: bool


class EmbeddedOutput(msgspec.Struct, frozen=True, kw_only=True):
    """What was done for one property."""

    type: str
    property: str
    entities: int
    requested: int
    commit: str | None
    usage: EmbedUsageOutput


class EmbedOutput(msgspec.Struct, frozen=True, kw_only=True):
    """Vectors that were made."""

    branch: str
    model: str
    properties: list[EmbeddedOutput]


class EmbeddingModelOutput(msgspec.Struct, frozen=True, kw_only=True):
    """What makes vectors."""

    model: str
    made_up: bool | None
    """Whether by the mock; null: the schema names the model, and nobody has said."""


class EmbeddingModelsOutput(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of what made the vectors of a property: by the schema, and as it was recorded."""

    type: str
    property: str
    models: list[EmbeddingModelOutput]


class WhoamiOutput(msgspec.Struct, frozen=True, kw_only=True):
    """Who asks."""

    actor_id: str | None
    """Null on a server that asks nobody who they are."""
    groups: list[str]


class QuarantinedGraph(msgspec.Struct, frozen=True, kw_only=True):
    """A graph that ought to be served and cannot be."""

    graph_id: str
    code: str


class ReloadOutput(msgspec.Struct, frozen=True, kw_only=True):
    """What is served from now on."""

    activated: bool
    served_graph_count: int
    quarantined_graph_count: int
    quarantined: list[QuarantinedGraph]
    booted_serving_digest: str | UnsetType = UNSET
    state_revision: int | UnsetType = UNSET
    state_cas: str | UnsetType = UNSET


class AuditOutput(msgspec.Struct, frozen=True, kw_only=True):
    """Records of the audit, the oldest first."""

    records: list[dict[str, Any]]


class ProtectedResourceOutput(msgspec.Struct, frozen=True, kw_only=True):
    """Who vouches for callers (RFC 9728)."""

    resource: str
    authorization_servers: list[str]
    bearer_methods_supported: list[str]
