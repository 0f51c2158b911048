"""What callers may do where there is no policy: it depends on how they are known.

OpenAccess      nobody is known: everything of a graph, nothing of the server
TokenHolders    whoever has a token may do everything: a server that somebody started for themselves
ReadOnly        whoever has a token may read; everything else waits for a policy
"""

from __future__ import annotations

from omnigraph.policy.port import NO_GROUPS, SERVER_ACTIONS, Access, Action, Authoriser, Decision


class OpenAccess(Authoriser):
    """Without tokens."""

    def decide(self, actor: str | None, graph: str, access: Access, groups: frozenset[str] = NO_GROUPS) -> Decision:
        if access.action in SERVER_ACTIONS:
            return _denied(access, actor, "managing the server needs tokens and a policy")
        return Decision(True, "open", f"action '{access.action.value}' is open")


class TokenHolders(Authoriser):
    """With tokens that stand for every right."""

    def decide(self, actor: str | None, graph: str, access: Access, groups: frozenset[str] = NO_GROUPS) -> Decision:
        return Decision(True, "token", f"action '{access.action.value}' is allowed to holders of a token")


class ReadOnly(Authoriser):
    """With tokens and without a policy."""

    def decide(self, actor: str | None, graph: str, access: Access, groups: frozenset[str] = NO_GROUPS) -> Decision:
        if access.action is Action.READ:
            return Decision(True, "default-read", f"action 'read' is allowed to actor '{actor}'")
        return _denied(access, actor, "no policy is configured, so only reads are allowed")


class ServedReadOnly(Authoriser):
    """A server that only shows its graphs, whoever asks."""

    def decide(self, actor: str | None, graph: str, access: Access, groups: frozenset[str] = NO_GROUPS) -> Decision:
        if access.action in (Action.READ, Action.EXPORT, Action.INVOKE_QUERY, Action.GRAPH_LIST):
            return Decision(True, "read-only", f"action '{access.action.value}' is allowed: nothing is changed by it")
        return _denied(access, actor, "this server serves its graphs read-only")


def _denied(access: Access, actor: str | None, why: str) -> Decision:
    return Decision(False, None, f"{denial(access, actor)}: {why}", by_default=True)


def denial(access: Access, actor: str | None) -> str:
    """That somebody may not, in the words of the contract."""
    on = f" on branch '{access.branch}'" if access.branch is not None else ""
    target = f" targeting branch '{access.target_branch}'" if access.target_branch is not None else ""
    return f"policy denied action '{access.action.value}'{on}{target} for actor '{actor}'"
