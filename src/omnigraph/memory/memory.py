"""`Memory`: what an agent remembers, recalls, forgets and relates, on a graph with the schema of the template.

    memory = Memory(graph, agent="ada", branch="agent/ada")
    memory.remember("Grace prefers tea", about=["Grace"], source="chat-17", half_life_days=90)
    memory.recall("what does Grace drink?", k=3)
    memory.relate("Grace", "works_at", "Acme")
    memory.forget(about="Grace")
    memory.propose("What ada learned today")                    after it has caught up with what others proposed

The graph is open here or behind a server. Writes go to the branch of the agent, each as one commit; the first one creates it from
`base`, and until then reads show `base`. The id of a memory is a hash of its text and source, and every edge has a key, so
whatever is said twice changes nothing the second time. Messages of commits hold nothing of what was said: they outlive it.

Vectors are made where the memory is used: by `embedder`, by the provider of the open graph, or by the one that the environment
asks for. Without any, memories have none until `g.embed` makes them, and recall goes by words, neighbours and time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from threading import Event
from typing import TYPE_CHECKING, Any, Final

from omnigraph.errors import MergeConflict, NotFound, UsageError
from omnigraph.memory.agent_branch import MAIN, AgentBranch, Record
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
    from omnigraph.embedding.port import Embedder
    from omnigraph.engine.any_graph import AnyGraph, AnySession
    from omnigraph.engine.history.merge import Merge
    from omnigraph.engine.reviews.review import Review

Moment = datetime | str

_DEFAULTS: Final[Mapping[str, object]] = {"kind": "fact", "confidence": 1.0, "importance": 0.5}

_WITH_TIMES: Final = frozenset({"Memory", "RelatesTo"})
_MEETING: Final[Mapping[str, Callable[[Any, Any], Any]]] = {"created": min, "confirmed": max}
"""What becomes of the times of one memory that two agents have."""

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
        default. A server knows who acts by the token: there is no `actor` then, and an `agent` of another name may not write.
        """
        self._on = AgentBranch(
            graph,
            dimension=dimension_of,
            field=("Memory", "embedding"),
            agent=agent,
            branch=branch,
            base=base,
            embedder=embedder,
            actor=actor,
        )
        self.agent, self.branch, self.base = self._on.agent, self._on.name, self._on.base
        self._graph = graph

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
        self._on.ready()
        id_ = hash_of(said, origin)
        known = self._get("Memory", id_)
        record: Record = {"hash": id_, **given}
        if known is None:
            now = _now()
            record = {"hash": id_, "text": said, "created": now, "confirmed": now, **_DEFAULTS, **given}
            if self._on.embedder is not None:
                [record["embedding"]] = self._on.vectors([said])
        rows = [_node("Memory", record), *self._provenance(id_, names, origin)]
        return self._put(rows, id_, f"remember {id_}")

    def confirm(self, id: str, *, confidence: float | None = None, at: Moment | None = None) -> Remembered:
        """Say that a memory still holds: its confidence decays from now, or from `at`, on."""
        id_ = name_of(id, "id")
        moment = _now() if at is None else moment_of(at, "at")
        given = {} if confidence is None else {"confidence": share_of(confidence, "confidence")}
        self._on.ready()
        if self._get("Memory", id_) is None:
            raise NotFound(f"no memory `{id_}` on {self._on.read()}", hint="`recall` gives the ids of memories.")
        return self._put([_node("Memory", {"hash": id_, "confirmed": moment, **given})], id_, f"confirm {id_}")

    def relate(self, a: str, how: str, b: str, *, confidence: float | None = None) -> Remembered:
        """Say how an entity relates to another one, as one commit. Entities that are not there are added."""
        from_, verb, to = name_of(a, "a"), name_of(how, "how"), name_of(b, "b")
        given = {} if confidence is None else {"confidence": share_of(confidence, "confidence")}
        self._on.ready()
        known = self._graph.get("RelatesTo", id=_edge_id(from_, to, verb), branch=self._on.read())
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
        self._on.ready()
        if id is not None:
            keys = {"Memory": [name_of(id, "id")]}
        elif about is not None:
            name = name_of(about, "about")
            keys = {"Memory": self._ids(_ABOUT, name), "Entity": [name]}
        else:
            name = name_of(source, "source")
            keys = {"Memory": self._ids(_FROM, name), "Source": [name]}
        found = {type_: [key for key in some if self._get(type_, key) is not None] for type_, some in keys.items()}
        if not any(found.values()):
            return Forgotten(self.branch, None)
        gone = self._on.delete({type_: some for type_, some in found.items() if some}, "forget")
        return Forgotten(self.branch, gone.commit.id if gone.changed else None, _some(gone.deleted), _some(gone.cascaded))

    def catch_up(self, base: str = MAIN) -> Merge:
        """Bring what others have proposed and was merged to the branch of the agent.

        What two agents remember from the same source is one memory: it was created when the first of them remembered it, and is
        confirmed since the last did. Other conflicts are raised, and decided by a merge.
        """
        if not self._on.exists():
            raise NotFound(f"nothing was remembered on {self.branch} yet", hint="Remember something first.")
        return self._on.catch_up(base, _WITH_TIMES, _MEETING)

    def propose(self, title: str, description: str = "", *, into: str = MAIN) -> Review:
        """Ask for the branch to be merged, after it has caught up: the review of it that is open, or a new one.

        Where more than what `catch_up` can decide is in conflict, the review says so.
        """
        with suppress(MergeConflict):
            self.catch_up(into)
        reviews = self._graph.reviews
        under_way = reviews.list(state=["open", "approved", "changes_requested"], source=self.branch, target=into, limit=1)
        for review in under_way:
            return review
        return reviews.create(self.branch, into, title=title, description=description, actor=self._on.actor)

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
        dimension = self._on.ready()
        wanted = Question(asked, moment, most, self._on.like(asked), dimension, names, begin, only)
        branch = self._on.read()
        with self._graph.session(branch) as session:
            memories, relations = found_by(_asking(session, timeout, cancel), wanted)
            return Recalled(memories, relations, branch, session.graph_commit_id, wanted.like is not None)

    # ── below ────────────────────────────────────────────────────────────────────────────────────────────────────────────────

    def _provenance(self, id_: str, about: tuple[str, ...], source: str | None) -> list[Record]:
        rows = [_node("Entity", {"name": name}) for name in about]
        rows += [_edge("About", id_, name) for name in about]
        if source is not None:
            rows += [_node("Source", {"name": source}), _edge("FromSource", id_, source)]
        if self.agent is not None:
            rows += [_node("Agent", {"name": self.agent}), _edge("ByAgent", id_, self.agent)]
        return rows

    def _put(self, rows: list[Record], id_: str, message: str) -> Remembered:
        done = self._on.put(rows, message)
        return Remembered(id_, self.branch, done.changed, done.commit.id)

    def _ids(self, query: str, name: str) -> list[str]:
        return [row["id"] for row in self._on.rows(query, {"name": name})]

    def _get(self, type_: str, key: str) -> object | None:
        return self._graph.get(type_, key, branch=self._on.read())


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
