"""Graphs that belong to a cluster get their schema from it alone; a branch may catch up with what was applied.

`omnigraph cluster apply` changes the schema of `main`. A branch that is older keeps its own, and has to get the new one before it
can be merged. That is the one schema that may be applied to it by hand: the text is that of the applied revision, whoever asks
may at most repeat it, and `main` is not touched.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from omnigraph.cluster.config import addresses, digests
from omnigraph.cluster.config.diagnostics import Diagnostics
from omnigraph.cluster.ledger import layout
from omnigraph.cluster.ledger.store import ClusterStore
from omnigraph.errors import GraphError, ScopeError
from omnigraph.model.frozen import frozen
from omnigraph.service.objects import SmallObjects

_MANAGED: Final = re.compile(r"(.+)/graphs/([A-Za-z_][A-Za-z0-9_-]*)\.omni")

ON_BRANCHES: Final = (
    "A branch that is older may get exactly the schema that was applied, and keeps what it dropped in its history."
)
APPLY: Final = "Change its cluster.yaml, or what that names, and run `omnigraph cluster apply`."


@frozen
class AppliedSchema:
    """The schema that was applied to a graph: its text, if there still is a copy of it, and its digest."""

    digest: str
    text: str | None

    def is_said_by(self, given: str) -> bool:
        """Whether a text is that schema: the same bytes, or the same declarations laid out differently."""
        if digests.of_bytes(given.encode()) == self.digest:
            return True
        if self.text is None:
            return False
        from omnigraph.catalog.declare import declare
        from omnigraph.language.source import Source

        try:
            return declare(Source(given, "<schema>")).hash() == declare(Source(self.text, "<schema>")).hash()
        except GraphError:  # a text that is no schema is not the one that was applied
            return False

    def refusal(self, branches: Iterable[str], given: str | None, *, allow_data_loss: bool = False) -> str | None:
        """Why branches may not get a schema by hand; None if they may. `given`: None for whichever was applied."""
        if "main" in {name.strip() for name in branches}:
            return "the schema of main is applied by the cluster"
        if allow_data_loss:
            return "a cluster drops nothing from what is stored"
        if given is not None and not self.is_said_by(given):
            return "this is not the schema that was applied"
        if self.text is None:
            return "there is no copy of the schema that was applied; `omnigraph cluster refresh` makes one"
        return None


def managing(uri: str) -> tuple[str, str] | None:
    """The cluster that a graph belongs to by its address, `ROOT/graphs/ID.omni`, and its id there; None if it belongs to none."""
    found = _MANAGED.fullmatch(uri.rstrip("/") if "://" in uri else str(Path(uri).expanduser().absolute()))
    if found is None or SmallObjects(found[1]).read(layout.STATE) is None:
        return None
    return found[1], found[2]


def require_unmanaged(uri: str, what: str) -> None:
    """Refuse to change a graph behind the back of its cluster."""
    found = managing(uri)
    if found is not None:
        raise ScopeError(f"{uri} belongs to the cluster at {found[0]}, which would not know of {what}", hint=APPLY)


def read_applied_schema(store: ClusterStore, graph_id: str, digest: str | None) -> AppliedSchema | None:
    """The schema that was applied to a graph, by its digest in the ledger; None if none was."""
    if digest is None:
        return None
    try:
        content = store.read_payload(addresses.schema(graph_id), digest)
    except GraphError:
        content = None
    sound = content is not None and digests.of_bytes(content) == digest
    return AppliedSchema(digest, content.decode("utf-8", "replace") if content is not None and sound else None)


def schema_for_branches(uri: str, given: str | None, branches: Iterable[str], *, allow_data_loss: bool = False) -> str | None:
    """What branches of a graph get: the schema that was applied if it belongs to a cluster, otherwise what was given."""
    found = managing(uri)
    if found is None:
        return given
    root, graph_id = found
    store, problems = ClusterStore(SmallObjects(root)), Diagnostics()
    state = store.read_state(problems)
    if state is None:
        raise ScopeError(f"the cluster at {root} has no ledger that can be read: {problems.found[0].message}")
    applied = read_applied_schema(store, graph_id, state.ledger.digest(addresses.schema(graph_id)))
    if applied is None:
        raise ScopeError(f"{uri} belongs to the cluster at {root}, which would not know of another schema", hint=APPLY)
    why = applied.refusal(branches, given, allow_data_loss=allow_data_loss)
    if why is not None:
        raise ScopeError(f"{uri} belongs to the cluster at {root}: {why}", hint=f"{APPLY} {ON_BRANCHES}")
    return applied.text
