"""`Memory`: what an agent remembers, recalls, forgets and relates, on a graph with the schema of the template.

    memory = Memory(graph, agent="ada", branch="agent/ada")
    memory.remember("Grace prefers tea", about=["Grace"], source="chat-17", half_life_days=90)
    memory.recall("what does Grace drink?", k=3)
    memory.relate("Grace", "works_at", "Acme")
    memory.forget(about="Grace")
    memory.propose("What ada learned today")

The graph is open here or behind a server. Writes go to the branch of the agent, each as one commit; the first one creates it from
`base`, and until then reads show `base`. The id of a memory is a hash of its text and source, and every edge has a key, so
whatever is said twice changes nothing the second time. Messages of commits hold nothing of what was said: they outlive it.

Vectors are made where the memory is used: by `embedder`, by the provider of the open graph, or by the one that the environment
asks for. Without any, memories have none until `g.embed` makes them, and recall goes by words, neighbours and time.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from threading import Event
from typing import TYPE_CHECKING, Any, Final

from omnigraph.embedding import configured
from omnigraph.embedding.paced import Paced
from omnigraph.embedding.port import Embedder, Provider, Purpose, require_embedder
from omnigraph.embedding.query_texts import QueryTexts
from omnigraph.engine.graph import Graph
from omnigraph.engine.parts import accepted_schema, parts_of
from omnigraph.engine.search.spaces import record_space, require_space, spaces_of
from omnigraph.errors import NotFound, UsageError
from omnigraph.memory.checks import (
    days_of,
    dimension_of,
    hash_of,
    moment_of,
    most_of,
    name_of,
    names_of,
    share_of,
    text_of,
)
from omnigraph.memory.recalling import Question, found_by
from omnigraph.memory.recollections import Forgotten, Recalled, Remembered
from omnigraph.model.phrases import one_line

if TYPE_CHECKING:
    from omnigraph.engine.any_graph import AnyGraph, AnySession
    from omnigraph.engine.reviews.review import Review

Record = dict[str, Any]
Moment = datetime | str

MAIN: Final = "main"
_DEFAULTS: Final[Mapping[str, object]] = {"kind": "fact", "confidence": 1.0, "importance": 0.5}

_ABOUT: Final = """query about($name: String) {
    match { $e: Entity { name: $name }  $m about $e }
    return { $m.hash as id }
}"""
_FROM: Final = """query from($name: String) {
    match { $s: Source { name: $name }  $m fromSource $s }
    return { $m.hash as id }
}"""


class Memory:
    """What an agent remembers. Safe from any thread as far as its graph is."""

    def __init__(
        self,
        graph: AnyGraph,
        *,
        agent: str | None = None,
        branch: str | None = None,
        base: str | None = MAIN,
        embedder: Embedder | None = None,
        actor: str | None = None,
    ) -> None:
        """`agent` is who remembers; its branch is `agent/<agent>` unless another one is named, which may be main.

        `base`: what the branch is made from; None if it has to be there. `actor`: who is recorded with commits, the agent by
        default; a server knows it by the token.
        """
        self.agent = None if agent is None else name_of(agent, "agent")
        if branch is None and agent is None:
            raise UsageError("say which `agent` remembers, or on which `branch`", hint="Name one of them.")
        self.branch = f"agent/{self.agent}" if branch is None else name_of(branch, "branch")
        self.base = None if base is None else name_of(base, "base")
        self._graph = graph
        own = graph.embedder if isinstance(graph, Graph) else None
        self._embedder = _provider(embedder if embedder is not None else own)
        self._questions = None if embedder is None and isinstance(graph, Graph) else QueryTexts(self._embedder)
        """What makes vectors of questions; None: the open graph does, which keeps them."""
        self._actor = (actor or self.agent) if isinstance(graph, Graph) else None
        self._dimension: int | None = None
        self._there = False

    def __repr__(self) -> str:
        who = "" if self.agent is None else f" of {self.agent}"
        return one_line(f"Memory{who} on {self.branch} of {self._graph.uri}")

    # ── changing ─────────────────────────────────────────────────────────────────────────────────────────────────────────────

    def remember(
        self,
        text: str,
        *,
        about: Iterable[str] | str = (),
        source: str | None = None,
        kind: str | None = None,
        confidence: float | None = None,
        importance: float | None = None,
        half_life_days: float | None = None,
        valid_from: Moment | None = None,
        valid_until: Moment | None = None,
    ) -> Remembered:
        """Remember a statement, as one commit. From the same source a second time it changes nothing but what is given anew."""
        said, names = text_of(text, "text"), names_of(about, "about")
        origin = None if source is None else name_of(source, "source")
        given: Record = {}
        for name, value, check in (
            ("kind", kind, name_of),
            ("confidence", confidence, share_of),
            ("importance", importance, share_of),
            ("half_life_days", half_life_days, days_of),
            ("valid_from", valid_from, moment_of),
            ("valid_until", valid_until, moment_of),
        ):
            if value is not None:
                given[name] = check(value, name)
        if {"valid_from", "valid_until"} <= set(given) and given["valid_from"] >= given["valid_until"]:
            raise UsageError("`valid_until` must be after `valid_from`", hint="")
        dimension, id_ = self._ready(), hash_of(said, origin)
        known = self._graph.get("Memory", id_, branch=self._read())
        record: Record = {"hash": id_, **given}
        if known is None:
            now = _now()
            record = {"hash": id_, "text": said, "created": now, "confirmed": now, **_DEFAULTS, **given}
            if self._embedder is not None:
                record["embedding"] = self._vector(said, dimension)
        rows = [_node("Memory", record), *self._provenance(id_, names, origin)]
        return self._put(rows, id_, f"remember {id_}")

    def confirm(self, id: str, *, confidence: float | None = None, at: Moment | None = None) -> Remembered:
        """Say that a memory still holds: its confidence decays from now, or from `at`, on."""
        id_ = name_of(id, "id")
        moment = _now() if at is None else moment_of(at, "at")
        given = {} if confidence is None else {"confidence": share_of(confidence, "confidence")}
        self._ready()
        if self._graph.get("Memory", id_, branch=self._read()) is None:
            raise NotFound(f"no memory `{id_}` on {self._read()}", hint="`recall` gives the ids of memories.")
        return self._put([_node("Memory", {"hash": id_, "confirmed": moment, **given})], id_, f"confirm {id_}")

    def relate(self, a: str, how: str, b: str, *, confidence: float | None = None) -> Remembered:
        """Say how an entity relates to another one, as one commit. Entities that are not there are added."""
        from_, verb, to = name_of(a, "a"), name_of(how, "how"), name_of(b, "b")
        given = {} if confidence is None else {"confidence": share_of(confidence, "confidence")}
        self._ready()
        known = self._graph.get("RelatesTo", id=_edge_id(from_, to, verb), branch=self._read())
        new: Record = {} if known is not None else {"confidence": 1.0, "created": _now()}
        rows = [_node("Entity", {"name": name}) for name in dict.fromkeys((from_, to))]
        rows.append(_edge("RelatesTo", from_, to, {"how": verb, **new, **given}))
        return self._put(rows, _edge_id(from_, to, verb), "relate two entities")

    def forget(self, id: str | None = None, *, about: str | None = None, source: str | None = None) -> Forgotten:
        """Delete a memory by its id, or all about an entity, or all from a source, and the entity or the source with them.

        It is one commit on the branch of the agent, and a merge deletes there too. Older commits hold what they held until
        they are reclaimed (`g.cleanup`).
        """
        if sum(one is not None for one in (id, about, source)) != 1:
            raise UsageError("say what is forgotten by one of `id`, `about` and `source`", hint="")
        keys: dict[str, list[str]]
        self._ready()
        if id is not None:
            keys = {"Memory": [name_of(id, "id")]}
        elif about is not None:
            name = name_of(about, "about")
            keys = {"Memory": self._ids(_ABOUT, name), "Entity": [name]}
        else:
            name = name_of(source, "source")
            keys = {"Memory": self._ids(_FROM, name), "Source": [name]}
        found = {type_: [key for key in some if self._has(type_, key)] for type_, some in keys.items()}
        if not any(found.values()):
            return Forgotten(self.branch, None)
        self._create()
        gone = self._graph.delete(
            {type_: some for type_, some in found.items() if some},
            branch=self.branch,
            actor=self._actor,
            message="forget",
        )
        return Forgotten(self.branch, gone.commit.id if gone.changed else None, _some(gone.deleted), _some(gone.cascaded))

    def propose(self, title: str, description: str = "", *, into: str = MAIN) -> Review:
        """Ask for the branch to be merged: the review of it that is open, or a new one."""
        if not self._exists():
            raise NotFound(f"nothing was remembered on {self.branch} yet", hint="Remember something first.")
        reviews = self._graph.reviews
        under_way = reviews.list(state=["open", "approved", "changes_requested"], source=self.branch, target=into, limit=1)
        for review in under_way:
            return review
        return reviews.create(self.branch, into, title=title, description=description, actor=self._actor)

    # ── reading ──────────────────────────────────────────────────────────────────────────────────────────────────────────────

    def recall(
        self,
        question: str,
        *,
        k: int = 10,
        about: Iterable[str] | str = (),
        kinds: Iterable[str] | str = (),
        at: Moment | None = None,
        since: Moment | None = None,
        timeout: float | None = None,
        cancel: Event | None = None,
    ) -> Recalled:
        """The memories that answer a question best, and relations of what they are about.

        `about`: only memories about one of these entities; `kinds`: only of these. `at`: what held at that moment, with the
        confidence it had then; now by default. `since`: only what was remembered since.
        """
        asked, most = text_of(question, "question"), most_of(k)
        names, only = names_of(about, "about"), names_of(kinds, "kinds")
        moment = _now() if at is None else moment_of(at, "at")
        begin = None if since is None else moment_of(since, "since")
        dimension = self._ready()
        wanted = Question(asked, moment, most, self._like(asked, dimension), dimension, names, begin, only)
        branch = self._read()
        with self._graph.session(branch) as session:
            memories, relations = found_by(_asking(session, timeout, cancel), wanted)
            return Recalled(memories, relations, branch, session.graph_commit_id, wanted.like is not None)

    # ── below ────────────────────────────────────────────────────────────────────────────────────────────────────────────────

    def _ready(self) -> int:
        """The dimension of vectors. The first time, that the graph has the schema."""
        if self._dimension is None:
            branch = self._read()
            opened = isinstance(self._graph, Graph)
            shown = parts_of(self._graph).view(branch) if opened else accepted_schema(self._graph, branch)
            dimension = dimension_of(shown.catalog, self._graph.uri)
            if isinstance(self._embedder, Provider):
                self._embedder.prepare(dimension)
            if self._embedder is not None and opened:
                workspace, type_, prop = self._property()
                require_space(workspace, type_, prop, self._embedder)
            self._dimension = dimension
        return self._dimension

    def _property(self) -> tuple[Any, Any, Any]:
        parts = parts_of(self._graph)
        type_ = parts.view(self._read(), None).catalog.nodes["Memory"]
        return parts.workspace, type_, type_.properties["embedding"]

    def _like(self, question: str, dimension: int) -> Sequence[float] | str | None:
        """What memories are to be like: a vector, a text that the graph makes one of, or nothing."""
        if self._embedder is None or self._questions is None:
            return None if self._embedder is None else question
        spaces = spaces_of(*self._property()) if isinstance(self._graph, Graph) else []
        [made] = self._questions.vectors([question], dimension, field="Memory.embedding", spaces=spaces)
        found: list[float] = made.tolist()
        return found

    def _vector(self, text: str, dimension: int) -> list[float]:
        assert self._embedder is not None
        [made] = Paced(self._embedder, purpose=Purpose.DOCUMENT).embed([text], dimension)
        if isinstance(self._graph, Graph):
            record_space(*self._property(), self._embedder, self._actor)
        found: list[float] = made.tolist()
        return found

    def _provenance(self, id_: str, about: tuple[str, ...], source: str | None) -> list[Record]:
        rows = [_node("Entity", {"name": name}) for name in about]
        rows += [_edge("About", id_, name) for name in about]
        if source is not None:
            rows += [_node("Source", {"name": source}), _edge("FromSource", id_, source)]
        if self.agent is not None:
            rows += [_node("Agent", {"name": self.agent}), _edge("ByAgent", id_, self.agent)]
        return rows

    def _put(self, rows: list[Record], id_: str, message: str) -> Remembered:
        done = self._graph.load(
            rows, mode="patch", branch=self.branch, from_=self.base, actor=self._actor, message=message, engine="local"
        )
        self._there = True
        return Remembered(id_, self.branch, done.changed, done.commit.id)

    def _ids(self, query: str, name: str) -> list[str]:
        return [row["id"] for row in self._graph.query(query, {"name": name}, branch=self._read()).rows]

    def _has(self, type_: str, key: str) -> bool:
        return self._graph.get(type_, key, branch=self._read()) is not None

    def _exists(self) -> bool:
        if not self._there:
            self._there = self.branch == MAIN or self.branch in self._graph.branches.list()
        return self._there

    def _read(self) -> str:
        """What is read: the branch, or what it would be made from."""
        return self.branch if self.base is None or self._exists() else self.base

    def _create(self) -> None:
        if self.base is not None and not self._exists():
            self._graph.branches.create(self.branch, self.base, actor=self._actor)
            self._there = True


def _provider(given: object | None) -> Embedder | None:
    found = configured(os.environ) if given is None else given
    return None if found is None else require_embedder(found)


def _asking(session: AnySession, timeout: float | None, cancel: Event | None) -> Any:
    return lambda query, params: session.query(query, params, timeout=timeout, cancel=cancel).rows


def _now() -> datetime:
    return moment_of(datetime.now(UTC), "now")


def _node(type_: str, data: Record) -> Record:
    return {"type": type_, "data": data}


def _edge(type_: str, from_: str, to: str, data: Record | None = None) -> Record:
    return {"edge": type_, "from": from_, "to": to, "data": data or {}}


def _edge_id(from_: str, to: str, how: str) -> str:
    import json

    return json.dumps([from_, to, how], ensure_ascii=False, separators=(",", ":"))


def _some(counts: Mapping[str, int]) -> dict[str, int]:
    return {name: count for name, count in counts.items() if count}
