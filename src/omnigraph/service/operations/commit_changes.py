"""What one commit changed: a page of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from omnigraph.errors import Forbidden, GraphError, NotFound
from omnigraph.hints import Action, Hint
from omnigraph.model.frozen import frozen
from omnigraph.policy.port import Access
from omnigraph.service.operation import GraphOperation, Lookup, read_of

if TYPE_CHECKING:
    from omnigraph.engine.any_graph import AnyGraph
    from omnigraph.engine.history.blocks import Block
    from omnigraph.service.caller import Caller


@frozen(slots=False)
class CommitChanges(GraphOperation["Block"]):
    """What one commit changed: a page of it."""

    name: ClassVar = "commit changes"
    commit: str
    page_token: str | None = None
    limit: int = 1_000
    kinds: tuple[str, ...] = ()
    types: tuple[str, ...] = ()
    ops: tuple[str, ...] = ()
    max_bytes: int = 4 << 20

    def access(self, lookup: Lookup) -> tuple[Access, ...]:
        return read_of(lookup, None, self.commit)

    def refusal(self, access: Access, denied: Forbidden) -> GraphError:
        return self._not_found()  # a commit that one may not read and one that is not there are answered alike

    def on(self, graph: AnyGraph, caller: Caller) -> Block:
        try:
            return graph.commit_changes(
                self.commit,
                page_token=self.page_token,
                limit=self.limit,
                max_bytes=self.max_bytes,
                kinds=self.kinds,
                types=self.types,
                ops=self.ops,
            )
        except NotFound as error:
            raise (self._not_found() if error.what == "commit" else error) from None

    def _not_found(self) -> NotFound:
        hint = Hint(Action("list_commits"), " lists those of a branch.")
        return NotFound(f"commit '{self.commit}' not found", what="commit", name=self.commit, hint=hint)
