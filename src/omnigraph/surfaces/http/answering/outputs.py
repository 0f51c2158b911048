"""What operations give, as structs of the wire."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import msgspec
from msgspec import UNSET

from omnigraph.wire import outputs as o

if TYPE_CHECKING:
    from omnigraph.service.results import Commit, LoadResult, Merge, Receipt


def commit_output(commit: Commit) -> o.CommitOutput:
    """A commit, the same wherever it is answered."""
    return msgspec.convert(commit.to_dict(), o.CommitOutput)


def change_output(receipt: Receipt) -> o.ChangeOutput:
    """What a mutation did."""
    return o.ChangeOutput(
        branch=receipt.branch,
        query_name=receipt.query_name,
        affected_nodes=receipt.affected_nodes,
        affected_edges=receipt.affected_edges,
        actor_id=receipt.actor,
        commit=None if receipt.commit is None else commit_output(receipt.commit),
    )


def load_members(result: LoadResult) -> dict[str, Any]:
    """What a load did, as members of its outputs."""
    return {
        "branch": result.branch,
        "base_branch": result.base_branch,
        "branch_created": result.branch_created,
        "mode": result.mode.value,
        "nodes": [o.LoadedType(name=n, entities_loaded=c) for n, c in sorted(result.nodes_loaded.items())],
        "edges": [o.LoadedType(name=n, entities_loaded=c) for n, c in sorted(result.edges_loaded.items())],
        "total_entities": result.rows,
        "actor_id": result.actor,
        "commit": commit_output(result.commit) if result.changed else None,
    }


def merge_output(merged: Merge, deleted: bool | None = None, delete_error: str | None = None) -> o.BranchMergeOutput:
    """What a merge came to, and what became of its source."""
    return o.BranchMergeOutput(
        source=merged.source,
        target=merged.into,
        outcome=cast("o.MergeOutcome", merged.outcome),
        actor_id=merged.actor,
        branch_deleted=UNSET if deleted is None else deleted,
        branch_delete_error=UNSET if delete_error is None else delete_error,
        graph_commit_id=UNSET if merged.commit is None else merged.commit.id,
    )
