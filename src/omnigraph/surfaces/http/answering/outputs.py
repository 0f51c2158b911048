"""What operations give, as structs of the wire."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import msgspec
from msgspec import UNSET

from omnigraph.wire import outputs as o
from omnigraph.wire import own_outputs as own
from omnigraph.wire.errors import error_output

if TYPE_CHECKING:
    from omnigraph.errors import GraphError
    from omnigraph.service.results import Commit, DeletedTag, LoadResult, MadeVectors, Merge, Receipt, Ref, Tag


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
        embedded=UNSET if receipt.embedded is None else made_output(receipt.embedded),
    )


def made_output(made: MadeVectors) -> o.MadeVectorsOutput:
    """Vectors that a write made."""
    return msgspec.convert(made.to_dict(), o.MadeVectorsOutput)


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
        **{name: dict(found) for name in ("deleted", "cascaded", "missing") if (found := getattr(result, name))},
        **({} if result.embedded is None else {"embedded": made_output(result.embedded)}),
    }


def merge_output(merged: Merge, deleted: bool | None = None, delete_error: GraphError | None = None) -> o.BranchMergeOutput:
    """What a merge came to, and what became of its source."""
    about = _merged(merged)
    if merged.commit is None and not merged.dry_run:
        about["commit"] = None
    if delete_error is not None:
        _, details = error_output(delete_error)
        about |= {"branch_delete_error": details.error, "branch_delete_error_details": details}
    return o.BranchMergeOutput(
        source=merged.source,
        target=merged.into,
        outcome=cast("o.MergeOutcome", merged.outcome),
        actor_id=merged.actor,
        branch_deleted=UNSET if deleted is None else deleted,
        **about,
    )


def revert_output(merged: Merge) -> o.RevertOutput:
    """What a revert came to."""
    return o.RevertOutput(
        source=merged.source,
        target=merged.into,
        outcome=cast("o.RevertOutcome", merged.outcome),
        actor_id=merged.actor,
        **_merged(merged),
    )


def _merged(merged: Merge) -> dict[str, Any]:
    about: dict[str, Any] = {"base_commit_id": merged.base}
    if merged.schema is not None:
        about["schema"] = merged.schema.to_dict()
    if merged.commit is not None:
        about |= {"graph_commit_id": merged.commit.id, "commit": commit_output(merged.commit)}
    if merged.dry_run:
        about |= {
            "dry_run": True,
            "merge_conflicts": [msgspec.convert(c.to_dict(), o.ConflictOutput) for c in merged.conflicts],
            "changes": [change.to_dict() for change in merged.changes or ()],
        }
    return about


def branch_output(ref: Ref) -> o.BranchOutput:
    """A branch, and those it came from."""
    return o.BranchOutput(
        name=ref.branch,
        incarnation=ref.incarnation,
        origin=None if ref.origin is None else branch_output(ref.origin),
        fork_commit_id=ref.fork_commit,
        created_by=ref.created_by,
        created_at=ref.created_at,
    )


def tag_output(tag: Tag) -> own.TagOutput:
    """A tag."""
    return own.TagOutput(
        name=tag.name,
        graph_commit_id=tag.commit,
        owner=branch_output(tag.owner),
        created_by=tag.created_by,
        created_at=tag.created_at,
    )


def deleted_tag_output(deleted: DeletedTag) -> own.DeletedTagOutput:
    """A tag that is gone."""
    return own.DeletedTagOutput(tag=tag_output(deleted.tag), deleted_by=deleted.deleted_by, deleted_at=deleted.deleted_at)
