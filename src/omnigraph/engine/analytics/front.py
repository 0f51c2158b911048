"""`g.analytics`: graph algorithms over the nodes of a graph at one commit.

    g.analytics.pagerank(edges="Knows").top(3)
    g.analytics.components(branch="agent/7", write_to="component")
    g.analytics.shortest_paths({"Person": ["Ada"]}, direction="both")

Every method takes the part of the graph to look at (`nodes`, `edges`: see `omnigraph.engine.analytics.scope`) and its state
(`branch` or `at`). With `write_to` the values become a property of the nodes, as one commit on the branch that was read, or on
`onto`. Who computes is a `Runner`: memory here, Spark in the pipeline.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Generic, Protocol, TypedDict, TypeVar, Unpack

from omnigraph.engine.analytics.algorithms import (
    Algorithm,
    Components,
    Degree,
    LabelPropagation,
    PageRank,
    Reach,
    Triangles,
)
from omnigraph.engine.analytics.scope import Direction, DirectionName, Names, Scope, Sources, scope_of, sources_of
from omnigraph.engine.analytics.written import Target, check_target
from omnigraph.engine.calls.arguments import State, ids, name_of
from omnigraph.engine.calls.guard import CHECKS, guarded
from omnigraph.engine.snapshot.view import View
from omnigraph.errors import UsageError
from omnigraph.hints import Hint, Option
from omnigraph.model.frozen import frozen
from omnigraph.model.phrases import one_line
from omnigraph.storage.graph_store import MAIN

ROUNDS = 100
TOLERANCE = 1e-6
LABEL_ROUNDS = 10


@frozen(slots=False)
class Request:
    """An algorithm over a part of a graph at a commit, and where its values are to be written."""

    algorithm: Algorithm
    view: View
    scope: Scope
    branch: str | None
    at: str | None
    target: Target | None


class Options(TypedDict, total=False):
    """Options of every algorithm."""

    nodes: Names
    edges: Names
    branch: str | None
    at: State | None
    write_to: str | None
    """A property that gets the values."""
    onto: str | None
    """The branch that gets them, if not the one that is read."""
    actor: str | None


_OPTIONS: Final = {name: CHECKS[name] for name in Options.__annotations__}
R_co = TypeVar("R_co", covariant=True)


class Runner(Protocol[R_co]):
    """Runs algorithms."""

    def run(self, request: Request) -> R_co:
        """Compute, and write the values if requested."""
        ...


class Analytics(Generic[R_co]):
    """The algorithms of a graph."""

    def __init__(self, find_view: Callable[[str | None, str | None], View], runner: Runner[R_co]) -> None:
        self._find_view = find_view
        self._runner = runner

    def __repr__(self) -> str:
        names = sorted(name for name, member in vars(Analytics).items() if callable(member) and not name.startswith("_"))
        return one_line(f"Analytics: {', '.join(names)}")

    @guarded(**_OPTIONS)
    def degree(
        self,
        *,
        direction: DirectionName = "both",
        **options: Unpack[Options],
    ) -> R_co:
        """How many edges each node has: those that leave it (`out`), enter it (`in`), or `both`."""
        way = Direction.of(direction)
        return self._run(lambda _: Degree(way), options)

    @guarded(**_OPTIONS)
    def pagerank(
        self,
        *,
        damping: float = 0.85,
        rounds: int = ROUNDS,
        tolerance: float = TOLERANCE,
        **options: Unpack[Options],
    ) -> R_co:
        """The share of time a random walker spends at each node. Ranks sum to 1.

        The walker follows a random edge out of the node; with probability 1 - `damping`, or where there is none, goes anywhere.
        Ends when all ranks together moved by no more than `tolerance` in a round, or after so many `rounds`.
        """
        algorithm = PageRank(damping, rounds, tolerance)
        return self._run(lambda _: algorithm, options)

    @guarded(**_OPTIONS)
    def components(
        self,
        **options: Unpack[Options],
    ) -> R_co:
        """Which nodes are connected, whichever way edges point. Components are numbered from 0 by their least (type, id)."""
        return self._run(lambda _: Components(), options)

    @guarded(**_OPTIONS)
    def label_propagation(
        self,
        *,
        rounds: int = LABEL_ROUNDS,
        **options: Unpack[Options],
    ) -> R_co:
        """Communities: in each round every node takes the label that most of its neighbours have.

        Every edge is a vote in both directions, and every node has one vote for the label it has. Among labels with equally many
        votes that of the least (type, id) wins. Communities are numbered from 0 by their least member.
        """
        algorithm = LabelPropagation(rounds)
        return self._run(lambda _: algorithm, options)

    @guarded(**_OPTIONS)
    def triangles(
        self,
        **options: Unpack[Options],
    ) -> R_co:
        """How many triangles each node is a corner of. Direction, parallel edges and loops do not matter."""
        return self._run(lambda _: Triangles(), options)

    @guarded(**_OPTIONS, sources=ids)
    def k_hop(
        self,
        sources: Sources,
        k: int,
        *,
        direction: DirectionName = "out",
        **options: Unpack[Options],
    ) -> R_co:
        """Nodes within `k` hops of some nodes, and how many hops it takes from the nearest one.

        `sources` are ids by node type (`{"Person": ["Ada"]}`), or just ids if there is one node type.
        """
        way = Direction.of(direction)
        return self._run(lambda scope: Reach(sources_of(scope, sources), way, k, paths=False), options)

    @guarded(**_OPTIONS, sources=ids)
    def shortest_paths(
        self,
        sources: Sources,
        *,
        direction: DirectionName = "out",
        max_hops: int | None = None,
        **options: Unpack[Options],
    ) -> R_co:
        """The shortest way to every node that can be reached from some nodes: its hops, and the node before it on the way.

        Following `previous_type` and `previous_id` back leads to the nearest source; of several ways, along the least (type, id).
        """
        way = Direction.of(direction)
        return self._run(lambda scope: Reach(sources_of(scope, sources), way, max_hops, paths=True), options)

    def _run(self, make: Callable[[Scope], Algorithm], options: Options) -> R_co:
        branch, at, onto = options.get("branch"), name_of(options.get("at")), options.get("onto")
        view = self._find_view(branch, at)
        scope = scope_of(view.catalog, options.get("nodes"), options.get("edges"))
        algorithm = make(scope)
        return self._runner.run(Request(algorithm, view, scope, branch, at, self._target(view, scope, algorithm, options, onto)))

    def _target(self, view: View, scope: Scope, algorithm: Algorithm, options: Options, onto: str | None) -> Target | None:
        name, branch = options.get("write_to"), options.get("branch")
        if name is None:
            if onto is not None:
                raise UsageError(
                    f"branch `{onto}` is given, and no property to write to",
                    hint=Hint("Name the property to write to: ", Option("write_to")),
                )
            return None
        if onto is None and options.get("at") is not None:
            raise UsageError("a commit cannot be written to", hint=Hint("Name the branch that gets the values: ", Option("onto")))
        view.workspace.store.require_writable()
        seen = view if onto is None or onto == branch else self._find_view(onto, None)
        target = Target(seen, onto or branch or MAIN, name, options.get("actor"))
        check_target(target, scope.nodes, algorithm)
        return target
