"""Branches that move by a review alone: what else would move one is denied, whatever the rules of a bundle allow."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Final

from omnigraph.model.phrases import counted
from omnigraph.policy.port import Access, Action, Decision, ReviewRule

REVIEW_REQUIRED: Final = "review-required"
"""The rule by which what would move a protected branch past a review is denied."""

_MOVES: Final[Mapping[Action, Callable[[Access], str | None]]] = {
    Action.CHANGE: lambda access: access.branch,
    Action.LOAD_OVERWRITE: lambda access: access.branch,
    Action.SCHEMA_APPLY: lambda access: access.target_branch,
    Action.BRANCH_MERGE: lambda access: access.target_branch,
    Action.BRANCH_DELETE: lambda access: access.target_branch,
}
"""What moves a branch, and which one. Creating a branch moves none, and upkeep changes nothing that a graph says."""


def past_a_review(rules: Iterable[ReviewRule], access: Access) -> Decision | None:
    """The denial of an access that would move a branch past a review, if one is demanded."""
    branch = _MOVES[access.action](access) if access.action in _MOVES else None
    if branch is None:
        return None
    for rule in rules:
        if rule.applies_to(branch):
            group = "" if rule.from_group is None else f" from group '{rule.from_group}'"
            needs = f"{counted(rule.approvals, 'approval')}{group}"
            why = f"branch '{branch}' moves by a review with {needs}: write to a branch of your own, and open a review"
            return Decision(False, REVIEW_REQUIRED, f"policy denied action '{access.action.value}': {why}")
    return None
