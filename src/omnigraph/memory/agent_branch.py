"""The branch of an agent: where it reads and writes, who it is, and what makes its vectors.

Writes go to the branch, each as one commit; the first one creates it from `base`, and until then reads show `base`. The graph is
open here or behind a server. Behind a server the actor is who the token belongs to, so an agent of another name is refused: what
somebody remembers is never said to be somebody else's. Vectors are made here in both cases, and only by the model that made those
that are there.
"""

from __future__ import annotations

import os
import random
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

from omnigraph.conflict_errors import ReadSetChanged
from omnigraph.embedding import configured
from omnigraph.embedding.paced import Paced
from omnigraph.embedding.port import Embedder, Provider, Purpose, require_embedder
from omnigraph.embedding.query_texts import QueryTexts
from omnigraph.embedding.space import Space
from omnigraph.engine.graph import Graph
from omnigraph.engine.parts import VectorProperty, accepted_schema, parts_of, vector_property, whoever_acts
from omnigraph.errors import AlreadyExists, NotFound, UsageError
from omnigraph.memory.checks import name_of

if TYPE_CHECKING:
    from omnigraph.catalog.catalog import Catalog
    from omnigraph.engine.any_graph import AnyGraph
    from omnigraph.engine.history.merge import Merge
    from omnigraph.engine.load.run.result import LoadResult

Record = dict[str, Any]

MAIN: Final = "main"
ATTEMPTS: Final = 8
"""Of a write that others come before. What it says is the same whichever comes first."""


class AgentBranch:
    """A branch of a graph, as an agent uses it. Safe from any thread as far as its graph is."""

    def __init__(
        self,
        graph: AnyGraph,
        *,
        dimension: Callable[[Catalog, str], int],
        field: tuple[str, str],
        agent: str | None,
        branch: str | None,
        base: str | None,
        embedder: Embedder | None,
        actor: str | None,
        makes_vectors: bool = True,
    ) -> None:
        """`dimension` checks a schema and says how long its vectors are; `field` is the type and the property that has them.

        `makes_vectors`: False if they come with what is written, and no provider is to be looked for.
        """
        self.agent = None if agent is None else name_of(agent, "agent")
        if branch is None and agent is None:
            raise UsageError("say which `agent` remembers, or on which `branch`", hint="Name one of them.")
        self.name = f"agent/{self.agent}" if branch is None else name_of(branch, "branch")
        self.base = None if base is None else name_of(base, "base")
        self.graph = graph
        self._is_open = isinstance(graph, Graph)
        if actor is not None and not self._is_open:
            raise UsageError(
                f"`actor` is {actor!r}, and a server takes the actor from the token", hint="Connect with their token."
            )
        own = graph.embedder if isinstance(graph, Graph) else None
        self.embedder = _provider(embedder if embedder is not None else own) if makes_vectors else None
        self._questions = None if embedder is None and self._is_open else QueryTexts(self.embedder)
        """What makes vectors of questions; None: the open graph does, which keeps them."""
        self.actor = (actor or self.agent) if self._is_open else None
        self._of, self._field = dimension, field
        self._dimension: int | None = None
        self._there = False
        self._is_known = False

    def ready(self) -> int:
        """The dimension of vectors. The first time, that the graph has the schema, and that its vectors are of the same model."""
        if self._dimension is None:
            branch = self.read()
            shown = parts_of(self.graph).view(branch) if self._is_open else accepted_schema(self.graph, branch)
            dimension = self._of(shown.catalog, self.graph.uri)
            if isinstance(self.embedder, Provider):
                self.embedder.prepare(dimension)
            if self.embedder is not None:
                self._property().require(Space.of(self.embedder))
            self._dimension = dimension
        return self._dimension

    def like(self, question: str) -> Sequence[float] | str | None:
        """What is to be found is like this: a vector, a text that the graph makes one of, or nothing."""
        dimension = self.ready()
        if self.embedder is None or self._questions is None:
            return None if self.embedder is None else question
        spaces = self._property().spaces()
        [made] = self._questions.vectors([question], dimension, field=".".join(self._field), spaces=spaces)
        found: list[float] = made.tolist()
        return found

    def vectors(self, texts: Sequence[str]) -> list[list[float]]:
        """The vectors of texts that are about to be written; it is noted down which model made them."""
        dimension = self.ready()
        assert self.embedder is not None
        made = Paced(self.embedder, purpose=Purpose.DOCUMENT).embed(texts, dimension)
        self.require_author()
        self._property().record(Space.of(self.embedder), self.name, self.actor)
        found: list[list[float]] = made.tolist()
        return found

    def put(self, rows: list[Record], message: str) -> LoadResult:
        """Write rows, as one commit: what they do not give stays as it is, and what says so is deleted."""
        self.require_author()
        for attempt in range(ATTEMPTS):
            try:
                done = self.graph.load(
                    rows, mode="patch", branch=self.name, from_=self.base, actor=self.actor, message=message, engine="local"
                )
                break
            except (AlreadyExists, ReadSetChanged):  # somebody was the first on this branch, or changed the same meanwhile
                if attempt == ATTEMPTS - 1:
                    raise
                time.sleep(random.uniform(0, 0.01 * 2**attempt))
        self._there = True
        return done

    def delete(self, keys: dict[str, list[str]], message: str) -> LoadResult:
        """Delete nodes by their keys, with their edges, as one commit."""
        self.require_author()
        self._create()
        return self.graph.delete(keys, branch=self.name, actor=self.actor, message=message)

    def rows(self, query: str, params: dict[str, object]) -> list[dict[str, Any]]:
        """What a query finds on what is read."""
        found: list[dict[str, Any]] = self.graph.query(query, params, branch=self.read()).rows
        return found

    def catch_up(self, base: str, types: frozenset[str], meeting: Mapping[str, Callable[[Any, Any], Any]]) -> Merge:
        """Merge another branch into this one. Entities of some types that both have and that differ only in properties of which
        `meeting` says what both of them make are one; other conflicts are raised, and decided by a merge."""
        if not self.exists():
            raise NotFound(f"nothing was written on {self.name} yet", hint="Write something first.")
        found = self.graph.merge(base, self.name, dry_run=True)
        if not found.conflicts:
            return self.graph.merge(base, self.name, actor=self.actor)
        same = {
            one.key: {name: meeting[name](one.ours[name], one.theirs[name]) for name in one.properties}
            for one in found.conflicts
            if one.ours is not None and one.theirs is not None and one.type in types and one.properties
            if all(name in meeting for name in one.properties)
        }
        return self.graph.merge(base, self.name, resolve=same, actor=self.actor)

    def exists(self) -> bool:
        """Whether the branch is there."""
        if not self._there:
            self._there = self.name == MAIN or self.name in self.graph.branches.list()
        return self._there

    def read(self) -> str:
        """What is read: the branch, or what it would be made from."""
        return self.name if self.base is None or self.exists() else self.base

    def require_author(self) -> None:
        """Refuse to write in the name of another agent than the one that a server knows by the token."""
        if self._is_open or self.agent is None or self._is_known:
            return
        actor = whoever_acts(self.graph)
        if actor is not None and actor != self.agent:
            raise UsageError(
                f"the token is that of `{actor}`: what it writes cannot be said to be by `{self.agent}`",
                hint="Connect with the token of that agent, or leave `agent` out and name the `branch`.",
            )
        self._is_known = True

    def _create(self) -> None:
        if self.base is not None and not self.exists():
            with suppress(AlreadyExists):  # somebody else was the first on this branch
                self.graph.branches.create(self.name, self.base, actor=self.actor)
            self._there = True

    def _property(self) -> VectorProperty:
        return vector_property(self.graph, self.read(), *self._field)


def _provider(given: object | None) -> Embedder | None:
    found = configured(os.environ) if given is None else given
    return None if found is None else require_embedder(found)
