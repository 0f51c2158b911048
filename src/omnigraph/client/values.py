"""What a server answers, as the values that an open graph gives."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from functools import cached_property
from typing import Any

import pyarrow as pa
from msgspec import UNSET, UnsetType, to_builtins

from omnigraph.client.typed import Typed
from omnigraph.embedding.pace import Usage
from omnigraph.engine.arrays.column import Vec
from omnigraph.engine.execution.explain import ExplainLine, Explanation
from omnigraph.engine.execution.result import Result
from omnigraph.engine.export.entities import Edge, Node
from omnigraph.engine.export.subgraph import Subgraph
from omnigraph.engine.history.blocks import Cause
from omnigraph.engine.history.changes import Change, ChangeList, ChangeStats
from omnigraph.engine.history.conflicts import Conflict
from omnigraph.engine.history.evolution import SchemaChange, TypeChange
from omnigraph.engine.history.merge import Merge
from omnigraph.engine.inspect import GraphSnapshot, IndexStats, Stats, TypeState, TypeStats
from omnigraph.engine.load.read.rows.modes import Mode
from omnigraph.engine.load.run.result import LoadResult
from omnigraph.engine.snapshot.failures import Failure
from omnigraph.engine.snapshot.memory import MemoryUse
from omnigraph.engine.snapshot.saved import SavedUse
from omnigraph.engine.upkeep.embedding import Embedded, EmbeddedProperty
from omnigraph.engine.upkeep.reconcile import Optimized, TypeOutcome
from omnigraph.engine.write.receipt import Receipt
from omnigraph.engine.write.vectors import MadeVectors
from omnigraph.storage.commits.deleted_tags import DeletedTag
from omnigraph.storage.commits.lineage import Commit, OpClass
from omnigraph.storage.commits.refs import Ref, Tag
from omnigraph.storage.reclaiming.reclaim import ReclaimReport, Swept
from omnigraph.storage.reclaiming.verify import Problem, ProblemKind, VerifyReport
from omnigraph.wire import outputs as o
from omnigraph.wire import own_outputs as own


def given(value: Any) -> Any:
    """What an answer may leave out."""
    return None if value is UNSET else value


def result_of(stream: bytes, branch: str | None = None, snapshot: str | None = None) -> Result:
    """The answer to a read. `branch` and `snapshot`: what it was asked of, where the answer cannot know."""
    table = pa.ipc.open_stream(stream).read_all()
    about = json.loads((table.schema.metadata or {})[b"omnigraph"])
    parts = [[Vec.of(column.combine_chunks()) for column in table.columns]] if table.num_rows else []
    asked = branch is not None or snapshot is not None
    return Result(
        table.column_names,
        table.schema.types,
        parts,
        query_name=about["query_name"],
        graph_commit_id=about["graph_commit_id"],
        branch=branch if asked else about["branch"],
        snapshot=snapshot if asked else about["snapshot"],
    )


# ── commits, branches, tags ──────────────────────────────────────────────────────────────────────────────────────────────────


def commit_of(said: o.CommitOutput) -> Commit:
    """A commit. What it changed is asked for separately."""
    return Commit(
        said.graph_commit_id,
        said.graph_manifest_version - 1,
        said.parent_commit_id,
        said.merged_parent_commit_id,
        said.graph_branch or "main",
        said.actor_id,
        said.created_at,
        OpClass.MAINTENANCE if said.maintenance is True else OpClass.LOGICAL,
        said.operation if isinstance(said.operation, str) else "",
        said.message if isinstance(said.message, str) else None,
        "",
        mark=given(said.idempotency_key),
    )


def some_commit_of(said: Any) -> Commit | None:
    """A commit that may not be there."""
    return None if said is None or said is UNSET else commit_of(said)


def ref_of(said: o.BranchOutput) -> Ref:
    """A branch."""
    origin = None if said.origin is None else ref_of(said.origin)
    return Ref(said.name, said.incarnation, origin, said.fork_commit_id, said.created_by, said.created_at)


def tag_of(said: own.TagOutput) -> Tag:
    """A tag."""
    return Tag(said.name, said.graph_commit_id, ref_of(said.owner), said.created_by, said.created_at)


def deleted_tag_of(said: own.DeletedTagOutput) -> DeletedTag:
    """A tag that is gone."""
    return DeletedTag(tag_of(said.tag), said.deleted_by, said.deleted_at)


# ── writes ───────────────────────────────────────────────────────────────────────────────────────────────────────────────────


def receipt_of(said: o.ChangeOutput) -> Receipt:
    """What a mutation did."""
    commit = some_commit_of(said.commit)
    return Receipt(
        said.branch, said.query_name, said.affected_nodes, said.affected_edges, said.actor_id, commit, made_of(said.embedded)
    )


def made_of(said: o.MadeVectorsOutput | UnsetType) -> MadeVectors | None:
    """Vectors that a write made."""
    return None if isinstance(said, UnsetType) else MadeVectors(said.model, said.vectors, Usage(**to_builtins(said.usage)))


def load_of(said: o.GraphBatchLoadOutput, head: Commit, seconds: float, skipped: tuple[str, ...] = ()) -> LoadResult:
    """What a load did; `head` is where the branch is, which says it if nothing was committed."""
    return LoadResult(
        said.branch,
        said.base_branch,
        said.branch_created,
        Mode(said.mode),
        {t.name: t.entities_loaded for t in said.nodes},
        {t.name: t.entities_loaded for t in said.edges},
        head if said.commit is None else commit_of(said.commit),
        said.actor_id,
        seconds,
        skipped=skipped,
        changed=said.commit is not None,
        deleted=given(said.deleted) or {},
        cascaded=given(said.cascaded) or {},
        missing=given(said.missing) or {},
        embedded=made_of(said.embedded),
    )


class GivenChanges(ChangeList):
    """Changes that came from a server."""

    def __init__(self, changes: Iterable[Change]) -> None:
        super().__init__((), "")
        self._changes: Sequence[Change] = tuple(changes)

    def __len__(self) -> int:
        return len(self._changes)

    def between(self, start: int, stop: int, *, batch: int = 1024) -> Iterator[Change]:
        """Some of them."""
        return iter(self._changes[max(start, 0) : stop])

    @cached_property
    def stats(self) -> ChangeStats:
        """How many of what."""
        ops = [change.op for change in self._changes]
        types = tuple(sorted({change.type for change in self._changes}))
        return ChangeStats(ops.count("insert"), ops.count("update"), ops.count("delete"), types)


def conflict_of(said: o.ConflictOutput) -> Conflict:
    """Something that two sides do not agree about, its values as JSON has them."""
    kind: Any = said.kind
    properties = tuple(given(said.properties) or ())
    return Conflict(
        kind, said.entity_kind, said.type_name, said.entity_id, said.message, properties, said.base, said.ours, said.theirs
    )


def merge_of(said: o.BranchMergeOutput | o.RevertOutput, typed: Typed | None) -> Merge:
    """What a merge or revert did, or would do; `typed` reads the values of a preview."""
    conflicts = tuple(conflict_of(c) for c in given(said.merge_conflicts) or ())
    changes = None
    if typed is not None:
        conflicts = tuple(map(typed.conflict, conflicts))
        changes = GivenChanges(typed.change(c) for c in given(said.changes) or ())
    return Merge(
        said.outcome,
        said.source,
        said.target,
        given(said.base_commit_id) or "",
        said.dry_run is True,
        some_commit_of(said.commit),
        conflicts,
        changes,
        said.actor_id,
        schema_change_of(said.schema),
    )


# ── what there is ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def snapshot_of(said: o.SnapshotOutput) -> GraphSnapshot:
    """What a branch holds."""
    types = tuple(
        TypeState(d.entity_kind, d.type_name, d.dataset_path, d.published_dataset_version, d.entity_count, 0)
        for d in said.datasets
    )
    return GraphSnapshot(said.graph_branch, said.graph_commit_id, said.graph_manifest_version, types)


def explanation_of(said: own.ExplainOutput) -> Explanation:
    """How a read is answered."""
    lines = tuple(
        ExplainLine(s.step, s.depth, given(s.estimated_rows), given(s.rows), given(s.milliseconds), tuple(given(s.used) or ()))
        for s in said.plan
    )
    return Explanation(said.query_name, said.target, lines, said.analyzed, given(said.milliseconds))


def node_of(said: own.NodeOutput, typed: Typed) -> Node:
    """A node."""
    return Node(said.type, said.id, typed.properties("node", said.type, said.properties))


def edge_of(said: own.EdgeOutput, typed: Typed) -> Edge:
    """An edge."""
    ends = (said.source.type, said.source.id), (said.target.type, said.target.id)
    return Edge(said.type, said.id, *ends, typed.properties("edge", said.type, said.properties))


def subgraph_of(said: own.SubgraphOutput, typed: Typed) -> Subgraph:
    """Nodes and edges."""
    return Subgraph(
        said.query_name,
        said.graph_commit_id,
        tuple(node_of(node, typed) for node in said.nodes),
        tuple(edge_of(edge, typed) for edge in said.edges),
        said.is_complete,
    )


def stats_of(said: own.StatsOutput) -> Stats:
    """A graph in numbers: memory and saved state are those of the process that answered."""
    memory, saved = said.memory, said.saved
    return Stats(
        said.branch,
        said.commit,
        tuple(
            TypeStats(t.name, t.kind, t.rows, tuple(IndexStats(i.property, i.kind, i.rows_covered, t.rows) for i in t.indexes))
            for t in said.types
        ),
        MemoryUse(memory.budget_bytes, memory.used_bytes, memory.entries, memory.hits, memory.misses, memory.evicted),
        SavedUse(saved.read, saved.written, saved.damaged, tuple(saved.reasons)),
        said.prepared_queries,
        tuple(Failure(f.work, f.about, f.message, _seconds(f.first_at), _seconds(f.last_at), f.times) for f in said.failures),
    )


def _seconds(text: str) -> float:
    return datetime.fromisoformat(text).timestamp()


# ── upkeep ───────────────────────────────────────────────────────────────────────────────────────────────────────────────────


def optimized_of(said: own.OptimizeOutput) -> Optimized:
    """What was packed and indexed."""
    types = tuple(
        TypeOutcome(t.type, t.rows, t.fragments_before, t.fragments_after, tuple(t.covered), t.commit, t.busy) for t in said.types
    )
    return Optimized(said.branch, types)


def reclaimed_of(said: own.CleanupOutput) -> ReclaimReport:
    """What went, or would go."""
    return ReclaimReport(
        said.dry_run,
        said.commits_kept,
        said.commits_reclaimed,
        tuple(Swept(**to_builtins(s)) for s in said.tables),
        tuple(Swept(**to_builtins(s)) for s in said.manifests),
        said.probes_removed,
        said.files_too_young,
        said.spared_seconds,
    )


def verified_of(said: own.VerifyOutput) -> VerifyReport:
    """What was looked at, and what is wrong with it."""
    problems = tuple(Problem(ProblemKind(p.kind), p.branch, p.table, p.path, p.message) for p in said.problems)
    return VerifyReport(said.branches, said.tags, said.commits, said.versions, said.files, problems, said.unchecked, said.content)


def embedded_of(said: own.EmbedOutput) -> Embedded:
    """Vectors that were made."""
    return Embedded(said.branch, said.model, tuple(_embedded_property(p) for p in said.properties))


def _embedded_property(said: own.EmbeddedOutput) -> EmbeddedProperty:
    usage = Usage(**to_builtins(said.usage))
    return EmbeddedProperty(said.type, said.property, said.entities, said.requested, said.commit, usage)


# ── changes ──────────────────────────────────────────────────────────────────────────────────────────────────────────────────


def schema_change_of(said: Any) -> SchemaChange | None:
    """What a commit did to the schema."""
    if said is UNSET or said is None:
        return None
    return SchemaChange(
        tuple(
            TypeChange(
                t["kind"],
                t["type"]["id"],
                t["op"],
                t["type"]["name"],
                t.get("renamed_from"),
                tuple(t.get("added", ())),
                tuple(t.get("dropped", ())),
                t.get("renamed", {}),
            )
            for t in said.get("types", ())
        )
    )


def cause_of(said: o.CauseOutput) -> Cause:
    """The commit behind some changes."""
    return Cause(
        said.graph_commit_id,
        given(said.parent_commit_id),
        given(said.merged_parent_commit_id),
        said.authored_branch,
        given(said.actor_id),
        said.authored_at,
    )
