"""Inserts and updates, or deletes, as one commit."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, cast

from omnigraph.model.frozen import frozen
from omnigraph.policy.port import Access, Action
from omnigraph.service.operation import GraphCommit, Lookup, query_size

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from omnigraph.engine.any_graph import AnyGraph
    from omnigraph.engine.graph import Graph
    from omnigraph.engine.planning.prepared import QueryText
    from omnigraph.engine.write.receipt import Receipt
    from omnigraph.service.caller import Caller
    from omnigraph.service.graphs import Graphs
    from omnigraph.service.operation import Operation


@frozen(slots=False)
class Mutate(GraphCommit["Receipt"]):
    """Inserts and updates, or deletes, as one commit."""

    name: ClassVar = "mutate"
    source: QueryText
    params: Mapping[str, object] | None = None
    query_name: str | None = None
    branch: str = "main"
    if_commit: str | None = None
    message: str | None = None
    idempotency_key: str | None = None
    embed: bool = False

    def access(self, lookup: Lookup) -> tuple[Access, ...]:
        return (Access(Action.CHANGE, self.branch),)

    def on(self, graph: AnyGraph, caller: Caller) -> Receipt:
        return graph.mutate(
            self.source,
            self.params,
            name=self.query_name,
            branch=self.branch,
            if_commit=self.if_commit,
            actor=caller.actor,
            message=self.message,
            idempotency_key=self.idempotency_key,
            embed=self.embed,
        )

    @property
    def is_plain(self) -> bool:
        """Whether it may be done together with others: on no condition, and with nothing to be asked of somebody else."""
        return self.if_commit is None and self.idempotency_key is None and not self.embed

    def is_quick(self, graph: Graph) -> bool:
        """Whether it is done in a moment, so that others may wait for it."""
        from omnigraph.engine.in_company import is_quick

        return is_quick(graph, self.source, self.query_name, self.branch)

    @property
    def size(self) -> int:
        return query_size(self.source, self.params)

    def commit_of(self, result: Receipt) -> str | None:
        return None if result.commit is None else result.commit.id


def mutate_each(graphs: Graphs, asked: Sequence[tuple[Caller, Operation[Receipt]]]) -> Sequence[Receipt | Exception]:
    """What comes of several plain ones to one graph, done together: each is a commit of its own."""
    from omnigraph.engine.in_company import Mutation
    from omnigraph.engine.in_company import mutate_each as done

    mutations = [(caller, cast("Mutate", operation)) for caller, operation in asked]
    given = [Mutation(m.source, m.params, m.query_name, m.branch, caller.actor, m.message) for caller, m in mutations]
    return done(graphs.open(mutations[0][1].graph), given)
