"""Somebody asks for a branch to be merged into another."""

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
class CreateReview(ReviewChange["Review"]):
    """Somebody asks for a branch to be merged into another."""

    name: ClassVar = "review create"
    source: str
    title: str
    target: str = "main"
    description: str = ""

    def access(self, lookup: Lookup) -> tuple[Access, ...]:
        return (Access(Action.REVIEW_CREATE, self.source, self.target),)

    def on(self, graph: AnyGraph, caller: Caller) -> Review:
        return graph.reviews.create(self.source, self.target, title=self.title, description=self.description, actor=caller.actor)
