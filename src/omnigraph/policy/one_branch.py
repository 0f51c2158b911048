"""One branch and nothing else: for an agent that may work, but not wander.

    read, export, change, load_overwrite    of the branch
    branch_create                           of the branch itself, from main
    review_create                           of the branch, to be merged into main
    review_comment                          of reviews that propose the branch, wherever it is to go
    invoke_query                            asked again as a read or a change of what it touches

Everything else is denied, also an access that names no branch: what it is about might be anything. A denial says the same
whatever was asked for, so that nobody learns by asking which branches, tags and commits there are.
"""

from __future__ import annotations

from typing import Final

from omnigraph.policy.port import NO_GROUPS, Access, Action, Authoriser, Decision, ReviewRule

_OF_THE_BRANCH: Final = frozenset({Action.READ, Action.EXPORT, Action.CHANGE, Action.LOAD_OVERWRITE})


class OneBranch(Authoriser):
    """What somebody else allows, as far as it is about one branch."""

    def __init__(self, branch: str, allowed_by: Authoriser) -> None:
        self.branch = branch
        self._allowed_by = allowed_by

    def decide(self, actor: str | None, graph: str, access: Access, groups: frozenset[str] = NO_GROUPS) -> Decision:
        if not self._covers(access):
            said = f"action '{access.action.value}' is denied: this session is confined to branch '{self.branch}'"
            return Decision(False, "one-branch", said, hint=f"Nothing was done. Work on '{self.branch}', or name no branch.")
        return self._allowed_by.decide(actor, graph, access, groups)

    def review_rules(self, graph: str) -> tuple[ReviewRule, ...]:
        return self._allowed_by.review_rules(graph)

    def _covers(self, access: Access) -> bool:
        if access.action in _OF_THE_BRANCH:
            return access.branch == self.branch and access.target_branch is None
        if access.action is Action.REVIEW_CREATE:  # of others it is not even told whether they are there
            return access.branch == self.branch and access.target_branch == "main"
        if access.action is Action.REVIEW_COMMENT:
            return access.branch == self.branch
        if access.action is Action.BRANCH_CREATE:
            return access.branch == "main" and access.target_branch == self.branch
        return access.action is Action.INVOKE_QUERY
