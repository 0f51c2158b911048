"""What a server answers, as the values that an open graph gives."""

from __future__ import annotations

import json
from typing import Any

import pyarrow as pa
from msgspec import UNSET

from omnigraph.engine.arrays.column import Vec
from omnigraph.engine.execution.result import Result
from omnigraph.engine.history.blocks import Block, Cause
from omnigraph.engine.history.changes import Change, Image
from omnigraph.engine.history.evolution import SchemaChange, TypeChange
from omnigraph.engine.history.feed import ChangePage
from omnigraph.engine.inspect import GraphSnapshot, TypeState
from omnigraph.engine.load.read.collected import Mode
from omnigraph.engine.load.run.result import LoadResult
from omnigraph.engine.write.receipt import Receipt
from omnigraph.storage.commits.lineage import Commit, OpClass
from omnigraph.wire import outputs as o


def result_of(stream: bytes) -> Result:
    """The answer to a read."""
    table = pa.ipc.open_stream(stream).read_all()
    about = json.loads((table.schema.metadata or {})[b"omnigraph"])
    parts = [[Vec.of(column.combine_chunks()) for column in table.columns]] if table.num_rows else []
    return Result(
        table.column_names,
        table.schema.types,
        parts,
        query_name=about["query_name"],
        graph_commit_id=about["graph_commit_id"],
        branch=about["branch"],
        snapshot=about["snapshot"],
    )


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
    )


def receipt_of(said: o.ChangeOutput) -> Receipt:
    """What a mutation did."""
    commit = None if said.commit is None else commit_of(said.commit)
    return Receipt(said.branch, said.query_name, said.affected_nodes, said.affected_edges, said.actor_id, commit)


def load_of(said: o.GraphBatchLoadOutput, head: Commit, seconds: float) -> LoadResult:
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
        changed=said.commit is not None,
    )


def snapshot_of(said: o.SnapshotOutput) -> GraphSnapshot:
    """What a branch holds."""
    types = tuple(
        TypeState(d.entity_kind, d.type_name, d.dataset_path, d.published_dataset_version, d.entity_count, 0)
        for d in said.datasets
    )
    return GraphSnapshot(said.graph_branch, said.graph_commit_id, said.graph_manifest_version, types)


def page_of(said: o.ChangeFeedOutput) -> ChangePage:
    """A page of a feed."""
    blocks = [Block(_cause(b.cause), [_change(c) for c in b.changes], schema=_schema(_given(b.schema))) for b in said.blocks]
    return ChangePage(blocks, _given(said.cursor), _given(said.caught_up), _given(said.next_page_token))


def block_of(said: o.CommitChangesOutput) -> Block:
    """What a commit changed."""
    changes = [_change(c) for c in said.changes]
    return Block(_cause(said.cause), changes, _given(said.next_page_token), _schema(_given(said.schema)))


def _schema(said: dict[str, Any] | None) -> SchemaChange | None:
    if said is None:
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


def _given(value: Any) -> Any:
    return None if value is UNSET else value


def _cause(said: o.CauseOutput) -> Cause:
    return Cause(
        said.graph_commit_id,
        _given(said.parent_commit_id),
        _given(said.merged_parent_commit_id),
        said.authored_branch,
        _given(said.actor_id),
        said.authored_at,
    )


def _change(said: o.EntityChangeOutput) -> Change:
    before, after = _image(_given(said.before)), _image(_given(said.after))
    changed: tuple[str, ...] = ()
    if before is not None and after is not None:
        changed = tuple(n for n in after.properties if after.properties[n] != before.properties.get(n))
        if before.endpoints is not None and after.endpoints is not None:
            ends = zip(("from", "to"), before.endpoints, after.endpoints, strict=True)
            changed += tuple(name for name, old, new in ends if old != new)
    return Change(said.kind, said.type.name, said.type.id, said.id, said.op, before, after, changed)


def _image(said: o.ImageOutput | None) -> Image | None:
    if said is None:
        return None
    ends = _given(said.endpoints)
    return Image(said.properties, None if ends is None else (ends.from_, ends.to))
