"""Somebody approves what the source of a review has; with `commit`, only if it is at that commit."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from omnigraph.model.frozen import frozen
from omnigraph.policy.port import Access, Action
from omnigraph.service.operation import Lookup, ReviewChange

if TYPE_CHECKING:
    from omnigraph.engine.any_graph import AnyGraph
    from omnigraph.engine.reviews.review import Review
    from omnigraph.service.caller import Caller


@frozen(slots=False)
class ApproveReview(ReviewChange["Review"]):
    """Somebody approves what the source of a review has; with `commit`, only if it is at that commit."""

    name: ClassVar = "review approve"
    review: int
    commit: str | None = None
    text: str | None = None

    def access(self, lookup: Lookup) -> tuple[Access, ...]:
        return (lookup.review(self.review, Action.REVIEW_APPROVE),)

    def on(self, graph: AnyGraph, caller: Caller) -> Review:
        return graph.reviews.approve(self.review, commit=self.commit, text=self.text, actor=caller.actor)
