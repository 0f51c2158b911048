"""Authorization: the question before anything is done to a graph, and its answer.

An operation asks for one access or several: an action, and the branches it is about. An authoriser decides about each. Actions
and their meaning of branch and target are a contract: policies are written in these words.

    read            branch that is read; none where nothing of a branch is read (branches, tags, commits by id, the schema)
    export          branch that is written out
    change          branch that is changed
    schema_apply    target: the branch that gets the schema
    branch_create   branch or commit it starts from, target: the new name; of a tag as well
    branch_delete   target: the name that goes; of a tag as well
    branch_merge    branch that is merged, target: the one it is merged into
    admin           creating graphs and their upkeep

Whoever works on a folder or bucket directly holds its keys and may do everything (`PermitAll`).
"""

from __future__ import annotations

from enum import Enum
from typing import Protocol

from omnigraph.model.frozen import frozen


class Action(Enum):
    """What somebody wants to do, in the words of policies."""

    READ = "read"
    EXPORT = "export"
    CHANGE = "change"
    SCHEMA_APPLY = "schema_apply"
    BRANCH_CREATE = "branch_create"
    BRANCH_DELETE = "branch_delete"
    BRANCH_MERGE = "branch_merge"
    INVOKE_QUERY = "invoke_query"
    ADMIN = "admin"
    GRAPH_LIST = "graph_list"


@frozen
class Access:
    """One access: an action, and the branches it is about as far as it is about any.

    Names are trimmed, as they are where they are used: ` main ` is decided about as `main`.
    """

    action: Action
    branch: str | None = None
    target_branch: str | None = None

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


class Authoriser(Protocol):
    """Decides whether an actor may have an access to a graph."""

    def decide(self, actor: str | None, graph: str, access: Access) -> Decision:
        """The decision, made without reading the graph and without an effect."""
        ...


class PermitAll:
    """Direct access: whoever can open the folder or bucket may do what they like with it."""

    def decide(self, actor: str | None, graph: str, access: Access) -> Decision:
        return Decision(True, "direct-access", f"action '{access.action.value}' is allowed by direct access")
