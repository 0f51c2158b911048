"""The source of a review is merged into its target, if enough of those who have a say have approved it."""

from __future__ import annotations

from dataclasses import field, replace
from typing import TYPE_CHECKING, ClassVar

from omnigraph.model.frozen import frozen
from omnigraph.policy.port import Access, Action, ReviewRule
from omnigraph.service.operation import Lookup, ReviewChange
from omnigraph.service.stored.catalogue import NO_QUERIES, StoredQueries

if TYPE_CHECKING:
    from omnigraph.engine.any_graph import AnyGraph
    from omnigraph.engine.history.conflicts import Resolve
    from omnigraph.engine.reviews.review import Review
    from omnigraph.service.caller import Caller


@frozen(slots=False)
class MergeReview(ReviewChange["Review"]):
    """The source of a review is merged into its target, if enough of those who have a say have approved it."""

    name: ClassVar = "review merge"
    review: int
    commit: str | None = None
    resolve: Resolve = None
    strict: bool = False
    message: str | None = None
    rules: tuple[ReviewRule, ...] = ()
    """What the policy demands of branches of the graph; the service says it."""
    queries: StoredQueries = field(default=NO_QUERIES, compare=False, repr=False)
    """What is stored with the graph: a merge that brings main a schema which one of them does not fit is refused."""

    def access(self, lookup: Lookup) -> tuple[Access, ...]:
        return (lookup.review(self.review, Action.REVIEW_MERGE), *self.deciding(self.resolve, lookup))

    def reveals(self, lookup: Lookup) -> tuple[Access, ...]:
        return lookup.review_branches(self.review)

    def under(self, rules: tuple[ReviewRule, ...]) -> MergeReview:
        return replace(self, rules=rules)

    def on(self, graph: AnyGraph, caller: Caller) -> Review:
        rules: tuple[ReviewRule, ...] = ()
        if self.queries:
            from omnigraph.service.stored.merging import require_fitting_merge

            asked = graph.reviews.get(self.review)
            if asked.source_exists:
                require_fitting_merge(self.queries, graph, asked.source, asked.target)
        if self.rules:
            target = graph.reviews.get(self.review).target
            rules = tuple(rule for rule in self.rules if rule.applies_to(target))
        return graph.reviews.merge(
            self.review,
            commit=self.commit,
            resolve=self.resolve,
            strict=self.strict,
            rules=rules,
            actor=caller.actor,
            message=self.message,
        )

    def commit_of(self, result: Review) -> str | None:
        return None if result.merge is None else result.merge.commit
