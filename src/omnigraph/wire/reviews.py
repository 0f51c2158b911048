"""Reviews as they travel: what clients send, and what servers answer."""

from __future__ import annotations

from typing import Any, Literal

import msgspec
from msgspec import UNSET, UnsetType

from omnigraph.wire.outputs import BranchMergeOutput
from omnigraph.wire.own_outputs import DiffOutput

ReviewState = Literal["open", "approved", "changes_requested", "merged", "closed"]
VerdictKind = Literal["approved", "changes_requested"]
EventKind = Literal["created", "comment", "approved", "changes_requested", "closed", "reopened", "merged"]


class ReviewCreateRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A branch that is to be merged into another, main by default. Whoever the token belongs to is the author."""

    source: str
    target: str | None = None
    title: str
    description: str | None = None


class ReviewCommentRequest(msgspec.Struct, frozen=True, kw_only=True):
    """What somebody says: about the whole, about an entity (`type_name` and `entity_id`), or about a property of one."""

    text: str
    type_name: str | None = None
    entity_id: str | None = None
    property: str | None = None


class ReviewApproveRequest(msgspec.Struct, frozen=True, kw_only=True):
    """An approval. With `commit`, only if the source is at that commit: what was seen."""

    commit: str | None = None
    text: str | None = None


class ReviewChangesRequest(msgspec.Struct, frozen=True, kw_only=True):
    """What is to be changed, and perhaps the commit that was seen."""

    text: str
    commit: str | None = None


class ReviewMergeRequest(msgspec.Struct, frozen=True, kw_only=True):
    """How to merge."""

    commit: str | None = None
    """Only if the source is at this commit."""
    resolve: Any = None
    """`ours`, `theirs`, or an object of conflict keys to a side or to values."""
    strict: bool | None = None
    """Changes to the same entity conflict, even in different properties."""
    message: str | None = None
    """For the commit."""


class ReviewCloseRequest(msgspec.Struct, frozen=True, kw_only=True):
    """Why, if somebody says."""

    text: str | None = None


class ReviewCommentOutput(msgspec.Struct, frozen=True, kw_only=True):
    """Something that was said, and about what."""

    actor_id: str | None
    created_at: int
    text: str
    source_commit_id: str | None
    type_name: str | None
    entity_id: str | None
    property: str | None


class ReviewVerdictOutput(msgspec.Struct, frozen=True, kw_only=True):
    """The last word of a reviewer. One about an older commit of the source is stale, and does not count."""

    kind: VerdictKind
    actor_id: str | None
    created_at: int
    source_commit_id: str
    text: str | None
    stale: bool


class ReviewEventOutput(msgspec.Struct, frozen=True, kw_only=True):
    """Something that happened to a review."""

    kind: EventKind
    actor_id: str | None
    created_at: int
    source_commit_id: str | None
    text: str | None


class ReviewMergeOutput(msgspec.Struct, frozen=True, kw_only=True):
    """How a review was merged; without a commit the target had everything already."""

    actor_id: str | None
    created_at: int
    source_commit_id: str | None
    graph_commit_id: str | None
    approved_by: list[str | None]


class ReviewOutput(msgspec.Struct, frozen=True, kw_only=True):
    """A review."""

    id: int
    source: str
    target: str
    title: str
    description: str
    author: str | None
    created_at: int
    state: ReviewState
    base_commit_id: str
    source_commit_id: str | None
    """The newest commit of the source; the last one that was seen if the review is over, or the branch is gone."""
    source_exists: bool
    comments: list[ReviewCommentOutput]
    verdicts: list[ReviewVerdictOutput]
    events: list[ReviewEventOutput]
    merge: ReviewMergeOutput | None
    kept_commit_ids: list[str]
    """Commits that cleanup leaves alone because of it."""
    approvals_given: int | UnsetType = UNSET
    """Approvals that count where the policy demands some before the target moves; not there where it demands none."""
    approvals_needed: int | UnsetType = UNSET
    """How many it demands."""


class UnreadableReview(msgspec.Struct, frozen=True, kw_only=True):
    """A review whose record is damaged."""

    id: int
    message: str


class ReviewListOutput(msgspec.Struct, frozen=True, kw_only=True):
    """Reviews, newest first."""

    reviews: list[ReviewOutput]
    unreadable: list[UnreadableReview]
    next_page_token: str | None
    """Gives the rest; null if this was all."""


class ReviewDiffOutput(msgspec.Struct, frozen=True, kw_only=True):
    """What a review is about: what its source adds, and what merging it now would do."""

    review: ReviewOutput
    diff: DiffOutput
    preview: BranchMergeOutput | None
    problem: str | None
    """Why it cannot be merged as it is, conflicts aside."""
