"""Reviews of a graph on a server: `g.reviews`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from msgspec import UNSET

from omnigraph.client.asking import no_actor, only_here
from omnigraph.client.transport import Transport
from omnigraph.client.typed import Typed
from omnigraph.client.values import GivenChanges, merge_of, schema_change_of
from omnigraph.engine.calls import arguments
from omnigraph.engine.calls.arguments import State
from omnigraph.engine.calls.guard import guarded
from omnigraph.engine.history.conflicts import Resolve
from omnigraph.engine.history.diff import Diff, End
from omnigraph.engine.reviews.front import AnyReview, checks, number_of, seen
from omnigraph.engine.reviews.review import (
    Review,
    ReviewComment,
    ReviewDiff,
    ReviewEvent,
    ReviewList,
    ReviewMerge,
    ReviewState,
    ReviewVerdict,
)
from omnigraph.errors import HistoryReclaimed, MergeConflict
from omnigraph.policy.port import ReviewRule
from omnigraph.wire import reviews as w

if TYPE_CHECKING:
    from omnigraph.wire.own_outputs import DiffOutput

_PAGE = 100


class RemoteReviews:
    """The reviews of a graph on a server: `g.reviews`."""

    def __init__(self, transport: Transport, typed: Callable[..., Typed], settled: Callable[[Resolve], object]) -> None:
        self._transport = transport
        self._typed = typed
        self._settled = settled
        """Choices as the wire has them."""

    def __repr__(self) -> str:
        return f"reviews of {self._transport!r}"

    def _do(self, review: AnyReview, what: str, body: dict[str, object]) -> Review:
        return review_of(self._transport.post(f"/reviews/{number_of(review)}/{what}", body, w.ReviewOutput))

    @guarded(**checks("source", "title", "description"), target=arguments.branch)
    def create(self, source: str, target: str = "main", *, title: str, description: str = "", actor: str | None = None) -> Review:
        """Ask for a branch to be merged into another. Whoever the token belongs to is the author."""
        no_actor(actor)
        body = {"source": source, "target": target, "title": title, "description": description}
        return review_of(self._transport.post("/reviews", body, w.ReviewOutput))

    @guarded(**checks("review"))
    def get(self, review: AnyReview) -> Review:
        """A review as it is now."""
        return review_of(self._transport.get(f"/reviews/{number_of(review)}", w.ReviewOutput))

    @guarded(**checks("state", "source", "author", "limit", "before"), target=arguments.branch)
    def list(
        self,
        *,
        state: Iterable[ReviewState] | ReviewState | None = None,
        source: str | None = None,
        target: str | None = None,
        author: str | None = None,
        limit: int | None = None,
        before: int | None = None,
    ) -> ReviewList:
        """Reviews, newest first: in these states, of this source, target or author; so many, older than a number."""
        asked: dict[str, Any] = {"state": state, "source": source, "target": target, "author": author}
        found = ReviewList()
        token = None if before is None else str(before)
        while limit is None or len(found) < limit:
            page = _PAGE if limit is None else min(_PAGE, limit - len(found))
            said = self._transport.get("/reviews", w.ReviewListOutput, {**asked, "limit": page, "page_token": token})
            found += map(review_of, said.reviews)
            found.unreadable.update((damaged.id, damaged.message) for damaged in said.unreadable)
            token = said.next_page_token
            if token is None:
                break
        return found

    @guarded(**checks("review"))
    def diff(self, review: AnyReview) -> ReviewDiff:
        """What the source of a review adds since it parted from the target, and what merging it now would do."""
        said = self._transport.get(f"/reviews/{number_of(review)}/diff", w.ReviewDiffOutput)
        typed = self._typed(said.review.target) if said.preview is not None else None
        preview = None if said.preview is None else merge_of(said.preview, typed)
        return ReviewDiff(review_of(said.review), self._compared(said.diff, said.review), preview, said.problem)

    def _typed_at(self, commit: str, review: w.ReviewOutput) -> Typed:
        """Reads the values of a commit: by the schema of the target if the commit is known from its merge only."""
        try:
            return self._typed(at=commit)
        except HistoryReclaimed:
            return self._typed(review.target)

    def _compared(self, said: DiffOutput, review: w.ReviewOutput) -> Diff:
        old, new = (self._typed_at(commit, review) for commit in (said.from_graph_commit_id, said.to_graph_commit_id))
        return Diff(
            End(said.from_graph_commit_id, said.from_graph_commit_id, said.from_graph_manifest_version),
            End(said.to_graph_commit_id, said.to_graph_commit_id, said.to_graph_manifest_version),
            GivenChanges(new.change(c, old) for c in said.changes),
            said.published_dataset_versions,
            schema_change_of(said.schema),
        )

    @guarded(**checks("review", "text", "id"))
    def comment(
        self,
        review: AnyReview,
        text: str,
        *,
        type: str | None = None,
        id: str | None = None,
        property: str | None = None,
        actor: str | None = None,
    ) -> Review:
        """Say something about a review, about an entity (its `type` and `id`), or about a `property` of one."""
        no_actor(actor)
        return self._do(review, "comments", {"text": text, "type_name": type, "entity_id": id, "property": property})

    @guarded(**checks("review", "text"))
    def approve(
        self, review: AnyReview, *, commit: State | None = None, text: str | None = None, actor: str | None = None
    ) -> Review:
        """Approve what the source of a review has now. `commit` is what was seen: refused if the source has moved."""
        no_actor(actor)
        return self._do(review, "approve", {"commit": seen(review, commit), "text": text})

    @guarded(**checks("review", "text"))
    def request_changes(self, review: AnyReview, text: str, *, commit: State | None = None, actor: str | None = None) -> Review:
        """Ask for changes: until the source moves, or whoever asked approves, the review is not merged."""
        no_actor(actor)
        return self._do(review, "request-changes", {"text": text, "commit": seen(review, commit)})

    @guarded(**checks("review", "rules"))
    def merge(
        self,
        review: AnyReview,
        *,
        commit: State | None = None,
        resolve: Resolve = None,
        strict: bool = False,
        rules: Sequence[ReviewRule] = (),
        actor: str | None = None,
        message: str | None = None,
    ) -> Review:
        """Merge the source of a review into its target, as `g.merge` does. The server's policy says what must be approved."""
        no_actor(actor)
        if rules:
            only_here("`rules` are those of the policy of a server", "Leave them out.")
        body = {"commit": seen(review, commit), "resolve": self._settled(resolve), "strict": strict, "message": message}
        try:
            return self._do(review, "merge", body)
        except MergeConflict as error:
            if error.conflicts:  # whoever may not read them may not read the review either
                typed: Any = self._typed(self.get(review).target)
                error.conflicts = tuple(typed.conflict(c) for c in error.conflicts)
            raise

    @guarded(**checks("review", "text"))
    def close(self, review: AnyReview, *, text: str | None = None, actor: str | None = None) -> Review:
        """End a review without a merge. What it kept readable may be reclaimed afterwards."""
        no_actor(actor)
        return self._do(review, "close", {"text": text})

    @guarded(**checks("review", "text"))
    def reopen(self, review: AnyReview, *, text: str | None = None, actor: str | None = None) -> Review:
        """Go on with a review that was closed. Its source must be there."""
        no_actor(actor)
        return self._do(review, "reopen", {"text": text})


def review_of(said: w.ReviewOutput) -> Review:
    """A review as an open graph gives it."""
    merge = said.merge
    return Review(
        said.id,
        said.source,
        said.target,
        said.title,
        said.description,
        said.author,
        said.created_at,
        said.state,
        said.base_commit_id,
        said.source_commit_id,
        said.source_exists,
        tuple(
            ReviewComment(c.actor_id, c.created_at, c.text, c.source_commit_id, c.type_name, c.entity_id, c.property)
            for c in said.comments
        ),
        tuple(ReviewVerdict(v.kind, v.actor_id, v.created_at, v.source_commit_id, v.text, v.stale) for v in said.verdicts),
        tuple(ReviewEvent(e.kind, e.actor_id, e.created_at, e.source_commit_id, e.text) for e in said.events),
        None
        if merge is None
        else ReviewMerge(
            merge.actor_id, merge.created_at, merge.source_commit_id, merge.graph_commit_id, tuple(merge.approved_by)
        ),
        tuple(said.kept_commit_ids),
        None if said.approvals_given is UNSET else said.approvals_given,
        None if said.approvals_needed is UNSET else said.approvals_needed,
    )
