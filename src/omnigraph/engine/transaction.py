"""Several changes as one commit.

    with g.transaction(message="hire") as t:
        t.put("Person", {"name": "Eve"})
        t.put_edge("WorksAt", "Eve", "Acme")
        t.query("query …")                       sees Eve
    t.receipt.commit                             one commit, or none if the block raised

A transaction begins with the newest state of its branch and keeps to it. Its own changes are collected in memory; only when
something is read do they become a state of their own, which nobody else can find. In the end all of them are committed as one
mutation would be: what they searched or named must not have been changed by others meanwhile, and every rule holds. The receipt
counts what is different then, each entity once.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from threading import RLock
from types import TracebackType

from omnigraph.engine.calls import arguments
from omnigraph.engine.calls.guard import guarded, inside
from omnigraph.engine.execution.reader import Read, Target
from omnigraph.engine.execution.result import Result
from omnigraph.engine.export.entities import Direction, Edge, Key, Neighbor, Node, get, neighbors
from omnigraph.engine.history.effect import different
from omnigraph.engine.planning.prepared import QueryText
from omnigraph.engine.snapshot.view import View
from omnigraph.engine.write.accumulated import Accumulated, with_changes
from omnigraph.engine.write.mutate import Outcome
from omnigraph.engine.write.receipt import Receipt
from omnigraph.engine.writing import Onto, Row, Writing, only_inserts, put_query
from omnigraph.errors import UsageError
from omnigraph.model.frozen import frozen
from omnigraph.model.phrases import counted, one_line


@frozen
class Staged:
    """What one call of a transaction did. It is committed with the rest."""

    query_name: str
    affected_nodes: int
    affected_edges: int

    def __repr__(self) -> str:
        nodes, edges = counted(self.affected_nodes, "node"), counted(self.affected_edges, "edge")
        return one_line(f"Staged: {self.query_name}, {nodes} and {edges}")


class Transaction:
    """Several changes as one commit: `with g.transaction() as t: …`."""

    def __init__(self, writing: Writing, onto: Onto) -> None:
        self._writing = writing
        self._onto = onto
        self._view: View | None = None
        """The graph with what was done so far, except what is pending."""
        self._all: Accumulated | None = None
        self._pending: Accumulated | None = None
        self._receipt: Receipt | None = None
        self._over = False
        self._lock = RLock()

    def __reduce__(self) -> tuple[object, ...]:
        raise TypeError("a transaction belongs to whoever began it: it can be neither copied nor sent to another process")

    def __enter__(self) -> Transaction:
        with inside("begin a transaction"):
            if self._over or self._view is not None:
                raise UsageError("a transaction is entered once", hint="Begin another one.")
            view = self._writing.view(self._onto)
            self._writing.require_head(view, self._onto)
        self._view, self._all, self._pending = view, Accumulated(view), Accumulated(view)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        with self._lock:
            all_, self._over = self._all, True
            self._view = self._all = self._pending = None
            if kind is None and all_ is not None:
                with inside("commit a transaction"):
                    self._receipt = self._committed(all_)

    def _committed(self, all_: Accumulated) -> Receipt:
        """What came of it. What leaves everything as it was is as good as nothing, unless it is to be known by its key."""
        outcome = _counted(all_)
        if not outcome.nodes and not outcome.edges and self._onto.idempotency_key is None:
            return Receipt(self._onto.branch, "transaction", 0, 0, None, None)
        return self._writing.committed(all_.base, "transaction", outcome, self._onto)

    def __repr__(self) -> str:
        if self._receipt is not None:
            said = "with nothing to commit" if self._receipt.commit is None else "committed"
            return one_line(f"Transaction on {self._onto.branch}, {said}")
        if self._all is None:
            return one_line(f"Transaction on {self._onto.branch}, {'discarded' if self._over else 'not begun'}")
        nodes, edges = counted(self._all.nodes, "node"), counted(self._all.edges, "edge")
        return one_line(f"Transaction on {self._onto.branch}, so far {nodes} and {edges}")

    @property
    def receipt(self) -> Receipt:
        """What the transaction did, once it is committed."""
        if self._receipt is None:
            said = "was discarded" if self._over else "is not committed yet"
            raise UsageError(f"the transaction {said}", hint="There is a receipt after the block that ends well.")
        return self._receipt

    # ── changing ─────────────────────────────────────────────────────────────────────────────────────────────────────────────

    @guarded()
    def mutate(self, source: QueryText, params: Mapping[str, object] | None = None, *, name: str | None = None) -> Staged:
        """Run inserts, updates or deletes. They see what was done before; updates and deletes count as reads."""
        with self._lock:
            prepared = self._writing.prepared(self._begun(), source, name)
            view = self._begun() if only_inserts(prepared) else self._now()
            outcome = self._writing.staged(prepared, self._writing.run(view, prepared, params))
            return self._add(prepared.query.name, outcome)

    @guarded()
    def put(self, type: str, values: Mapping[str, object], *, patch: bool = False) -> Staged:
        """A node, as `Graph.put` takes it. With `patch` it is looked for: that counts as a read."""
        return self._put(Row(type, values, None, patch))

    @guarded(from_=arguments.key, to=arguments.key)
    def put_edge(
        self, type: str, from_: Key, to: Key, values: Mapping[str, object] | None = None, *, patch: bool = False
    ) -> Staged:
        """An edge, as `Graph.put_edge` takes it. With `patch` it is looked for: that counts as a read."""
        return self._put(Row(type, values or {}, (from_, to), patch))

    def _put(self, row: Row) -> Staged:
        with self._lock:
            view = self._now() if row.patch else self._begun()
            prepared, values = put_query(view, row)
            return self._add(prepared.query.name, self._writing.staged(prepared, self._writing.given(view, values)))

    def _add(self, name: str, outcome: Outcome) -> Staged:
        assert self._all is not None
        assert self._pending is not None
        self._all.add(outcome)
        self._pending.add(outcome)
        return Staged(name, outcome.nodes, outcome.edges)

    # ── reading ──────────────────────────────────────────────────────────────────────────────────────────────────────────────

    @guarded()
    def query(self, source: QueryText, params: Mapping[str, object] | None = None, *, name: str | None = None) -> Result:
        """The answer to a read of the state the transaction began with, and of what it has done since."""
        with self._lock:
            return self._writing.answer(self._now(), Read(source, params, name), Target(self._onto.branch))

    @guarded()
    def get(self, type: str, key: Key | None = None, *, id: str | None = None) -> Node | Edge | None:
        """A node or an edge, as `Graph.get` gives it."""
        with self._lock:
            return get(self._now(), type, key, id)

    @guarded()
    def neighbors(
        self,
        type: str,
        key: Key,
        *,
        edges: Iterable[str] | str | None = None,
        direction: Direction = "both",
        limit: int | None = None,
    ) -> list[Neighbor]:
        """The nodes next to one, as `Graph.neighbors` gives them."""
        with self._lock:
            return neighbors(self._now(), type, key, edges, direction, limit)

    def _begun(self) -> View:
        if self._view is None:
            said = "is over" if self._over else "is not begun"
            raise UsageError(f"the transaction {said}", hint="Use it inside of its `with` block.")
        return self._view

    def _now(self) -> View:
        """The graph with everything that was done. What is pending has to be valid."""
        view = self._begun()
        assert self._pending is not None
        if not self._pending.is_empty:
            view = self._view = with_changes(view, self._pending.outcome.changes, self._writing.new_name())
            self._pending = Accumulated(view)
        return view


def _counted(all_: Accumulated) -> Outcome:
    """What is to be committed, counted by what it leaves different."""
    outcome = all_.outcome
    nodes, edges = different(outcome.changes, all_.base)
    return replace(outcome, nodes=nodes, edges=edges)
