"""Somebody asks for changes before a review is merged."""

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
class RequestChanges(ReviewChange["Review"]):
    """Somebody asks for changes before a review is merged."""

    name: ClassVar = "review request-changes"
    review: int
    text: str
    commit: str | None = None

    def access(self, lookup: Lookup) -> tuple[Access, ...]:
        return (lookup.review(self.review, Action.REVIEW_APPROVE),)

    def on(self, graph: AnyGraph, caller: Caller) -> Review:
        return graph.reviews.request_changes(self.review, self.text, commit=self.commit, actor=caller.actor)
