"""`PolicyAuthoriser`: decisions of a server that has policies.

Each graph has its own bundle, and the server may have one for what is about no graph. A graph without one is for reading, as
without any policy; without a bundle of the server nothing of it is allowed. Whoever has no name is denied everything.

Decisions are remembered until there are others to go by: `install` puts new bundles in place of all, at once. A decision is made
by the bundles that were there when it began.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from omnigraph.policy.bundle import Bundle
from omnigraph.policy.cedar import SERVER, CedarPolicy
from omnigraph.policy.evaluation import decision_of
from omnigraph.policy.port import NO_GROUPS, SERVER_ACTIONS, Access, Authoriser, Decision, ReviewRule
from omnigraph.policy.states import ReadOnly, denial

REMEMBERED: Final = 4_096
"""Decisions that are remembered of one bundle; then it starts anew."""

_Key = tuple[str, Access, frozenset[str]]


class _Policy:
    """One bundle, and what was decided by it."""

    def __init__(self, bundle: Bundle, graph: str) -> None:
        self.bundle = bundle
        self._cedar = CedarPolicy(bundle, graph)
        self._known: dict[_Key, Decision] = {}

    def decide(self, actor: str, access: Access, groups: frozenset[str]) -> Decision:
        key = (actor, access, groups)
        known = self._known.get(key)
        if known is None:
            known = decision_of(self.bundle, actor, access, groups, self._cedar.decide(actor, access, groups))
            if len(self._known) >= REMEMBERED:
                self._known.clear()
            self._known[key] = known
        return known


class PolicyAuthoriser(Authoriser):
    """Decides by the bundles of a server."""

    def __init__(self, graphs: Mapping[str, Bundle], server: Bundle | None = None) -> None:
        self.install(graphs, server)

    def install(self, graphs: Mapping[str, Bundle], server: Bundle | None = None) -> None:
        """Decide by other bundles from now on. If one of them cannot be used, all stays as it is."""
        policies = {graph: _Policy(bundle, graph) for graph, bundle in graphs.items()}
        self._policies = policies, None if server is None else _Policy(server, SERVER)

    def decide(self, actor: str | None, graph: str, access: Access, groups: frozenset[str] = NO_GROUPS) -> Decision:
        graphs, server = self._policies
        if actor is None:
            return Decision(False, None, f"policy denied action '{access.action.value}' without an actor")
        if access.action in SERVER_ACTIONS:
            if server is None:
                return Decision(False, None, f"{denial(access, actor)}: the server has no policy of its own")
            return server.decide(actor, access, groups)
        policy = graphs.get(graph)
        return _WITHOUT.decide(actor, graph, access) if policy is None else policy.decide(actor, access, groups)

    def review_rules(self, graph: str) -> tuple[ReviewRule, ...]:
        policy = self._policies[0].get(graph)
        return () if policy is None else policy.bundle.reviews


_WITHOUT: Final = ReadOnly()
