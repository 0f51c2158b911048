"""Authorization: the question before anything is done to a graph, and its answer.

An operation asks for one access or several: an action, and the branches it is about. An authoriser decides about each. Actions
and their meaning of branch and target are a contract: policies are written in these words.

    read            branch that is read, or that the commit or tag belongs to; none where nothing of a branch is read (lists of
                    branches and tags, the schema of the graph) and where there is no such thing
    export          branch that is written out
    change          branch that is changed
    load_overwrite  branch whose entities a load replaces; asked beside `change`
    schema_apply    target: the branch that gets the schema
    branch_create   branch or commit it starts from, target: the new name; of a tag as well
    branch_delete   target: the name that goes; of a tag as well
    branch_merge    branch that is merged, target: the one it is merged into
    invoke_query    query: the name of the stored query
    review_…        create, comment, approve, merge: branch that is to be merged, target: the one it is to be merged into
    admin           creating graphs and their upkeep

    graph_list      of the server: which graphs there are
    config_manage   of the server: what it serves and by which rules
    audit_read      of the server: what was decided and written

Whoever works on a folder or bucket directly holds its keys and may do everything (`PermitAll`).
"""

from __future__ import annotations

from dataclasses import field
from enum import Enum
from typing import Final, Protocol

from omnigraph.model.frozen import frozen
from omnigraph.model.phrases import counted, one_line


class Action(Enum):
    """What somebody wants to do, in the words of policies."""

    READ = "read"
    EXPORT = "export"
    CHANGE = "change"
    LOAD_OVERWRITE = "load_overwrite"
    SCHEMA_APPLY = "schema_apply"
    BRANCH_CREATE = "branch_create"
    BRANCH_DELETE = "branch_delete"
    BRANCH_MERGE = "branch_merge"
    INVOKE_QUERY = "invoke_query"
    REVIEW_CREATE = "review_create"
    REVIEW_COMMENT = "review_comment"
    REVIEW_APPROVE = "review_approve"
    REVIEW_MERGE = "review_merge"
    ADMIN = "admin"
    GRAPH_LIST = "graph_list"
    CONFIG_MANAGE = "config_manage"
    AUDIT_READ = "audit_read"


SERVER_ACTIONS: Final = frozenset({Action.GRAPH_LIST, Action.CONFIG_MANAGE, Action.AUDIT_READ})
"""Actions that are about a server, not about one of its graphs."""

NO_GROUPS: Final[frozenset[str]] = frozenset()


@frozen
class Access:
    """One access: an action, and what it is about: branches, the stored query, as far as it is about any.

    Names are trimmed, as they are where they are used: ` main ` is decided about as `main`.
    """

    action: Action
    branch: str | None = None
    target_branch: str | None = None
    query: str | None = None
    found: bool = field(default=False, compare=False, repr=False)
    """Whether its branches are those of a commit, a tag or a review that was named: a denial does not tell them."""

    def __post_init__(self) -> None:
        for name in ("branch", "target_branch"):
            given = getattr(self, name)
            if given is not None:
                object.__setattr__(self, name, given.strip())


@frozen
class Decision:
    """What was decided, by which rule, and why, in words for the caller."""

    allowed: bool
    rule: str | None
    message: str
    by_default: bool = False
    """Whether it was decided so because no policy speaks of it."""
    hint: str | None = None
    """What to do about a denial, where that is known better than in general."""


@frozen
class ReviewRule:
    """What must be approved before a branch moves: so many approvals, by members of a group if one is named."""

    branches: frozenset[str]
    """The branches it protects."""
    approvals: int
    from_group: str | None = None
    members: frozenset[str] | None = None
    """The actors of that group, as the policy lists them; None: whoever may approve."""
    not_author: bool = False
    """Whether the author's own approval does not count."""

    def applies_to(self, branch: str) -> bool:
        """Whether it protects a branch."""
        return branch.strip() in self.branches

    def __repr__(self) -> str:
        group = "" if self.from_group is None else f" from {self.from_group}"
        others = ", not by the author" if self.not_author else ""
        return one_line(f"{counted(self.approvals, 'approval')}{group}{others} for {', '.join(sorted(self.branches))}")


class Authoriser(Protocol):
    """Decides whether an actor may have an access to a graph."""

    def decide(self, actor: str | None, graph: str, access: Access, groups: frozenset[str] = NO_GROUPS) -> Decision:
        """The decision, made without reading the graph and without an effect.

        `groups`: what whoever vouches for the actor says they belong to, besides what a policy says of them.
        """
        ...

    def review_rules(self, graph: str) -> tuple[ReviewRule, ...]:
        """What must be approved before branches of a graph move. Nothing, unless a policy says so."""
        return ()


class PermitAll(Authoriser):
    """Direct access: whoever can open the folder or bucket may do what they like with it."""

    def decide(self, actor: str | None, graph: str, access: Access, groups: frozenset[str] = NO_GROUPS) -> Decision:
        return Decision(True, "direct-access", f"action '{access.action.value}' is allowed by direct access")
