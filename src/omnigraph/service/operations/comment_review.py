"""Somebody says something about a review, about an entity, or about a property of one."""

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
class CommentReview(ReviewChange["Review"]):
    """Somebody says something about a review, about an entity, or about a property of one."""

    name: ClassVar = "review comment"
    review: int
    text: str
    type: str | None = None
    id: str | None = None
    property: str | None = None

    def access(self, lookup: Lookup) -> tuple[Access, ...]:
        return (lookup.review(self.review, Action.REVIEW_COMMENT),)

    def on(self, graph: AnyGraph, caller: Caller) -> Review:
        return graph.reviews.comment(
            self.review, self.text, type=self.type, id=self.id, property=self.property, actor=caller.actor
        )
