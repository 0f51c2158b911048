"""Changes of one open graph that a program makes, row by row or by statements.

    query or row ──▶ checked mutation ──staged next to a view──▶ Outcome ──committed──▶ Receipt

A row that is put is the mutation that somebody would write for it: an insert, or for `patch` the insert or update of what is
given. So its checks, its conflicts and its commit are those of any mutation.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Final

from omnigraph.catalog import logical as lg
from omnigraph.catalog.catalog import Catalog, EntityType
from omnigraph.engine.blobs.policy import ExternalBlobs
from omnigraph.engine.blobs.settling import External
from omnigraph.engine.calls.arguments import State
from omnigraph.engine.execution.reader import Read, Reader, Target
from omnigraph.engine.execution.result import Result
from omnigraph.engine.execution.run import Run
from omnigraph.engine.export.entities import Key, keys_of, named, type_of
from omnigraph.engine.history.asked import digest_of
from omnigraph.engine.history.past import Past
from omnigraph.engine.history.repeats import Keyed
from omnigraph.engine.planning.parameters import Value, convert
from omnigraph.engine.planning.prepared import Prepared, QueryText
from omnigraph.engine.snapshot.view import View, Workspace
from omnigraph.engine.write.alike import MOST, are_alike, is_one_insert, look_up_together, planned_together
from omnigraph.engine.write.changeset import ChangeSet
from omnigraph.engine.write.commit import Intent, commit, in_words_of, planned
from omnigraph.engine.write.mutate import Outcome, stage
from omnigraph.engine.write.quick import is_quick
from omnigraph.engine.write.receipt import Receipt
from omnigraph.engine.write.unchanged import inserts_nothing_new
from omnigraph.errors import GraphError, NotFound, PreconditionFailed, UsageError
from omnigraph.hints import Action, Hint
from omnigraph.language.diagnostics import did_you_mean
from omnigraph.model.conversions import Door
from omnigraph.model.frozen import frozen
from omnigraph.model.ids import IdSource
from omnigraph.model.types import PropertyType, Scalar
from omnigraph.storage.commits.lineage import Commit
from omnigraph.storage.commits.manifest import ManifestState
from omnigraph.storage.commits.waiting import Ready, Unprepared
from omnigraph.storage.graph_store import Snapshot

if TYPE_CHECKING:
    from omnigraph.engine.write.vectors import Embedding, Filled, MadeVectors
    from omnigraph.storage.commits.publisher import Publisher

_log = logging.getLogger(__name__)

_ID = PropertyType(Scalar.STRING)


class _Outdated(Exception):
    """The schema is another one than that which a mutation was checked against, or its branch is gone: it is checked anew."""


_NOT_AT_A_GLANCE: Final = (NotFound, _Outdated, Unprepared)
"""Why a mutation fails that may still be done next to the newest state: a closer look tells."""


@frozen
class Onto:
    """Where a change goes, and what is recorded with it."""

    branch: str
    if_commit: str | None = None
    actor: str | None = None
    message: str | None = None
    idempotency_key: str | None = None
    asked: str | None = None
    """A digest of what it was asked to do, if it may be repeated."""
    embedding: Embedding | None = None
    """How it gets the vectors of its texts, if it is to have them."""


@frozen
class Asked:
    """A mutation that somebody asks for."""

    source: QueryText
    params: Mapping[str, object] | None
    name: str | None
    onto: Onto


@frozen
class Row:
    """An entity that is put."""

    type: str
    values: Mapping[str, object]
    ends: tuple[Key, Key] | None = None
    """Of an edge."""
    patch: bool = False


class Writing:
    """Stages and commits mutations. Safe from any thread."""

    def __init__(
        self,
        workspace: Workspace,
        reader: Reader,
        past: Past,
        view: Callable[[str | None, State | None], View],
        view_of: Callable[[Snapshot], View],
        external: Callable[[], ExternalBlobs],
        after_write: Callable[..., None],
    ) -> None:
        self._workspace = workspace
        self._store = workspace.store
        self._reader = reader
        self._past = past
        self._view = view
        self._view_of = view_of
        self._external = external
        self._after_write = after_write

    # ── the newest state of a branch ─────────────────────────────────────────────────────────────────────────────────────────

    def view(self, onto: Onto) -> View:
        """What a change is made next to."""
        self._store.require_writable()
        return self._view(onto.branch, None)

    def require_head(self, view: View, onto: Onto) -> None:
        """Refuse what was meant for another commit."""
        wanted, now = onto.if_commit, view.snapshot.commit
        if wanted not in (None, now, view.snapshot.layout) and not self._past.is_layout(wanted, now):
            raise PreconditionFailed.at(onto.branch, expected=wanted, actual=now)

    def mutate(self, source: QueryText, params: Mapping[str, object] | None, name: str | None, onto: Onto) -> Receipt:
        """Run the statements of a query as one commit."""
        asked = Asked(source, params, name, onto)
        if onto.idempotency_key is not None:
            return self._next_to_the_newest(onto, lambda view: self._mutate_once(view, asked))
        led = self._at_a_glance(asked)
        if led is not None:
            with suppress(*_NOT_AT_A_GLANCE):
                return self._led(led)
        return self._mutate_alone(asked)

    def mutate_each(self, asked: Sequence[Asked]) -> list[Receipt | Exception]:
        """The same of several without keys, in one thread. Each is a commit of its own; quick ones are published together."""
        found: list[Receipt | Exception | None] = [None] * len(asked)
        quick: dict[Publisher, list[tuple[int, _Led]]] = {}
        for at, one in enumerate(asked):
            led = self._at_a_glance(one)
            if led is not None:
                quick.setdefault(led.publisher, []).append((at, led))
        for publisher, some in quick.items():
            try:
                made = publisher.publish_each([led for _, led in some])
            except Exception as error:  # of this branch; what became of others is told by themselves
                made = [error] * len(some)
            for (at, led), came in zip(some, made, strict=True):
                if not isinstance(came, _NOT_AT_A_GLANCE):
                    found[at] = led.told(came)
            try:
                self._after_write(publisher.branch, some[0][1].view.catalog)
            except Exception as error:  # what was committed is committed
                _log.warning("upkeep of branch %s could not be begun: %s", publisher.branch, error)
        return [self._receipt_or_error(one) if done is None else done for done, one in zip(found, asked, strict=True)]

    def _receipt_or_error(self, one: Asked) -> Receipt | Exception:
        try:
            return self._mutate_alone(one)
        except Exception as error:
            return error

    def _mutate_alone(self, asked: Asked) -> Receipt:
        """Run a mutation next to the newest state, in this thread."""

        def mutate(view: View) -> Receipt:
            prepared = self.prepared(view, asked.source, asked.name)
            return self._prepared_here(prepared, self.run(view, prepared, asked.params), asked.onto)

        return self._next_to_the_newest(asked.onto, mutate)

    def _at_a_glance(self, asked: Asked) -> _Led | None:
        """A quick mutation, without a look at the branch: whoever leads looks, once for all. None: it is not quick, or something
        is wrong with it next to what was seen last; whether it still is, a look will tell."""
        onto = asked.onto
        try:
            self._store.require_writable()
            publisher = self._store.publisher(onto.branch)
            state = publisher.manifest.last_known()
            seen = self._view_of(self._store.snapshot_of(onto.branch, state))
            prepared = self.prepared(seen, asked.source, asked.name)
            if not self._is_quick(prepared, onto):
                return None
            return _Led(self, publisher, prepared, self.run(seen, prepared, asked.params), onto)
        except GraphError:  # it is asked again next to the newest state, where what is wrong is told
            return None

    def _next_to_the_newest(self, onto: Onto, write: Callable[[View], Receipt]) -> Receipt:
        """Write next to the newest state; once more if the schema is another one by the time it is prepared."""
        while True:
            with suppress(_Outdated):
                return write(self.view(onto))

    def _mutate_once(self, view: View, asked: Asked) -> Receipt:
        """A mutation with a key, unless it was done before."""
        prepared = self.prepared(view, asked.source, asked.name)
        run = self.run(view, prepared, asked.params)
        text = asked.source if isinstance(asked.source, str) else asked.source.text
        about = ("mutate", text, prepared.query.name, run.parameters)
        return self._once(asked.onto, prepared.query.name, about, lambda onto: self._written(prepared, run, onto))

    def _once(self, onto: Onto, name: str, asked: tuple[object, ...], write: Callable[[Onto], Receipt]) -> Receipt:
        """Write, unless that was done before under its key."""
        if onto.idempotency_key is None:
            return write(onto)
        onto = replace(onto, asked=digest_of("mutate", onto.branch, onto.actor, *asked))
        assert onto.idempotency_key is not None
        assert onto.asked is not None
        keyed = Keyed(onto.branch, onto.idempotency_key, "mutate", onto.asked)
        return self._past.repeats.once(keyed, lambda: write(onto), partial(self._repeated, onto.branch, name))

    def _repeated(self, branch: str, name: str, commit: Commit) -> Receipt:
        """What a mutation did that a commit tells of: the entities that it changed."""
        counts = self._past.written(commit)
        nodes, edges = (sum(counts[kind].values()) for kind in ("node", "edge"))
        return Receipt(branch, name, nodes, edges, commit.actor, self._past.log.shown(commit))

    def put(self, row: Row, onto: Onto) -> Receipt:
        """One node or edge, as one commit."""

        def put(view: View) -> Receipt:
            name = type_of(view.catalog, row.type).name

            def write(onto: Onto) -> Receipt:
                prepared, values = put_query(view, row)
                return self._written(prepared, self.given(view, values), onto)

            return self._once(onto, f"put_{name}", ("put", name, row.values, row.ends, row.patch), write)

        return self._next_to_the_newest(onto, put)

    # ── staging ──────────────────────────────────────────────────────────────────────────────────────────────────────────────

    def prepared(self, view: View, source: QueryText, name: str | None) -> Prepared:
        """A mutation of a text, checked."""
        found = self._reader.prepare(view, source, name)
        if not isinstance(found.query, lg.MutationQuery):
            raise UsageError(f"`{found.query.name}` only reads", hint=Hint("To read, use ", Action("query"), "."))
        return found

    def run(self, view: View, prepared: Prepared, params: Mapping[str, object] | None) -> Run:
        """A mutation about to run, with its parameters bound."""
        return self._reader.run(view, prepared, params)

    def given(self, view: View, values: dict[str, Value]) -> Run:
        """The same with values that are checked already."""
        return Run(view, values, self._store.clock)

    def staged(self, prepared: Prepared, run: Run) -> Outcome:
        """What the statements come to, next to the view of the run."""
        assert isinstance(prepared.query, lg.MutationQuery)
        external = External.of(self._external(), self._store.place.options, copies=True)
        return stage(prepared.query, run, self._store.ids, external)

    def committed(self, view: View, name: str, outcome: Outcome, onto: Onto) -> Receipt:
        """Publish what was staged next to a view."""
        changes, vectors = outcome.changes, self._vectors(view, outcome, onto)
        if vectors is not None:
            changes = vectors.changes
        made = None
        if not _is_there(changes, outcome, view, onto):
            made = commit(self._workspace, view, onto.branch, changes, _intent(view, outcome, onto))
        if vectors is not None:
            vectors.committed(self._store.place)
        self._after_write(onto.branch, view.catalog)
        embedded = None if vectors is None else vectors.made
        return _receipt(name, outcome, onto, made, embedded)

    def _written(self, prepared: Prepared, run: Run, onto: Onto) -> Receipt:
        """Run a mutation next to its view, or, if it is quick, next to what there is when its turn comes."""
        if self._is_quick(prepared, onto):
            with suppress(Unprepared):
                return self._led(_Led(self, self._store.publisher(onto.branch), prepared, run, onto))
        return self._prepared_here(prepared, run, onto)

    def _prepared_here(self, prepared: Prepared, run: Run, onto: Onto) -> Receipt:
        """Run a mutation next to its view, in this thread."""
        self.require_head(run.view, onto)
        return self.committed(run.view, prepared.query.name, self.staged(prepared, run), onto)

    # ── in company ───────────────────────────────────────────────────────────────────────────────────────────────────────────

    def is_quick(self, source: QueryText, name: str | None, branch: str) -> bool:
        """Whether a mutation is one of a moment, next to the newest state."""
        onto = Onto(branch)
        return self._is_quick(self.prepared(self.view(onto), source, name), onto)

    def _is_quick(self, prepared: Prepared, onto: Onto) -> bool:
        return onto.embedding is None and self._store.place.is_local and _found_out(prepared, is_quick)

    def _led(self, led: _Led) -> Receipt:
        """Run a quick mutation next to the state that its group finds, in the thread that leads the group."""
        with in_words_of(led.view):
            made = led.publisher.publish_prepared(led)
        self._after_write(led.branch, led.view.catalog)
        return led.receipt(made)

    def at(self, state: ManifestState, onto: Onto) -> View:
        """A state of a branch to write next to; the newest, or what is written turns out void."""
        return self._view_of(self._store.snapshot_of(onto.branch, state))

    def _vectors(self, view: View, outcome: Outcome, onto: Onto) -> Filled | None:
        """The change with the vectors of its texts, if it is to have them."""
        if onto.embedding is None:
            return None
        from omnigraph.engine.write.vectors import with_vectors

        return with_vectors(self._workspace, view, outcome.changes, onto.embedding, onto.actor)

    def answer(self, view: View, read: Read, target: Target) -> Result:
        """The answer to a read of a state that is not committed."""
        return self._reader.answer(view, read, target)

    @property
    def ids(self) -> IdSource:
        """What gives new entities their ids."""
        return self._store.ids

    def new_name(self) -> str:
        """A name that nothing else has."""
        return self._store.ids.next()


class _Led:
    """A quick mutation that whoever leads its group prepares. It is not part of what it is led by: it goes with its own thread.

    Its parameters are bound already: what a caller gave may be an object of any kind, which nobody else waits for.
    """

    __slots__ = ("_onto", "_prepared", "_run", "_writing", "outcome", "publisher")

    def __init__(self, writing: Writing, publisher: Publisher, prepared: Prepared, run: Run, onto: Onto) -> None:
        self.publisher = publisher
        """Of the branch that was seen when it was checked. If that is deleted, and made again by the same name, it says so."""
        self._writing, self._prepared, self._run, self._onto = writing, prepared, run, onto
        self.outcome: Outcome | None = None

    @property
    def view(self) -> View:
        """What was seen last when it was checked."""
        return self._run.view

    @property
    def branch(self) -> str:
        return self._onto.branch

    def receipt(self, made: Commit | None) -> Receipt:
        """What came of it."""
        assert self.outcome is not None
        return _receipt(self._prepared.query.name, self.outcome, self._onto, None if made is None else made.shown())

    def told(self, came: Commit | Exception | None) -> Receipt | Exception:
        """The same of one that may have failed."""
        if not isinstance(came, Exception):
            return self.receipt(came)
        try:
            with in_words_of(self.view):
                raise came
        except Exception as error:
            return error

    @property
    def kind(self) -> Prepared | None:
        """Mutations of one text are prepared together, or what they are about is looked up at once."""
        special = self._onto.if_commit is not None or self._onto.idempotency_key is not None
        return None if special or not _found_out(self._prepared, are_alike) else self._prepared

    def _is_outdated(self, state: ManifestState) -> bool:
        """Whether it was checked against something else than there is: another schema, or a branch that is gone by now."""
        return state.head.schema != self.view.snapshot.schema or state.head.sealed

    def alone(self, state: ManifestState) -> Ready | None:
        """The mutation next to a state."""
        now = self._writing.at(state, self._onto)
        if self._is_outdated(state):
            raise _Outdated
        self._writing.require_head(now, self._onto)
        outcome = self.outcome = self._writing.staged(self._prepared, self._writing.given(now, self._run.parameters))
        if _is_there(outcome.changes, outcome, now, self._onto):
            return None
        return planned(now.workspace, now, self._onto.branch, outcome.changes, self._intent(now, outcome))

    def together(self, state: ManifestState, alike: Sequence[_Led]) -> list[Ready | None]:
        """The same of several; None of those that are to be prepared by themselves."""
        now = self._writing.at(state, self._onto)
        if self._is_outdated(state):
            return [None] * len(alike)
        query = self._prepared.query
        assert isinstance(query, lg.MutationQuery)
        runs = [self._writing.given(now, led._run.parameters) for led in alike]
        if not is_one_insert(query, self._prepared.catalog):
            look_up_together(query, runs)
            return [None] * len(alike)
        intents = [led._intent(now, Outcome(ChangeSet(()))) for led in alike]
        plans = list[Ready | None]()
        for first in range(0, len(alike), MOST):
            some = slice(first, first + MOST)
            made = planned_together(now, self._onto.branch, query, runs[some], intents[some], self._writing.ids)
            for led, found in zip(alike[some], made, strict=True):
                if found is not None:
                    _, led.outcome = found
                plans.append(None if found is None else found[0])
        return plans

    def _intent(self, now: View, outcome: Outcome) -> Intent:
        return _intent(now, outcome, self._onto, looked_since=self._run.view.snapshot.layout)


def _found_out(prepared: Prepared, question: Callable[[lg.MutationQuery, Catalog], bool]) -> bool:
    """The answer to a question about a mutation, which is asked once."""
    found = prepared.answers.get(question)
    if found is None:
        assert isinstance(prepared.query, lg.MutationQuery)
        found = prepared.answers[question] = question(prepared.query, prepared.catalog)
    return found


def _intent(view: View, outcome: Outcome, onto: Onto, looked_since: str | None = None) -> Intent:
    return Intent(
        "mutate",
        onto.actor,
        onto.message,
        None if onto.if_commit is None else view.snapshot.commit,
        idempotency_key=onto.idempotency_key,
        asked=onto.asked,
        looked_since=looked_since,
        **outcome.relied_on,
    )


def _is_there(changes: ChangeSet, outcome: Outcome, view: View, onto: Onto) -> bool:
    """Whether a mutation only inserts what is there already, exactly so: then nothing is committed."""
    only_inserts = onto.idempotency_key is None and not any(outcome.relied_on.values())
    return only_inserts and inserts_nothing_new(changes, view)


def _receipt(name: str, outcome: Outcome, onto: Onto, made: Commit | None, embedded: MadeVectors | None = None) -> Receipt:
    recorded = None if made is None else made.actor
    return Receipt(onto.branch, name, outcome.nodes, outcome.edges, recorded, made, embedded)


def put_query(view: View, row: Row) -> tuple[Prepared, dict[str, Value]]:
    """The mutation that puts a row, and the values of its parameters."""
    type_ = type_of(view.catalog, row.type)
    _require_kind(type_, row)
    values = {name: _value(type_, name, value) for name, value in row.values.items()}
    types = {name: type_.properties[name].type for name in values}
    assigned = tuple(lg.Assign(name, kind, lg.Parameter(name, kind)) for name, kind in types.items())
    name = f"put_{type_.name}"
    if row.ends is None:
        statement: lg.Statement = (lg.PatchNode if row.patch else lg.InsertNode)(type_.name, assigned)
    else:
        ends = zip(("from", "to"), (type_.source, type_.target), row.ends, strict=True)
        ids = {end: named(keys_of(view), view.catalog.nodes[node], key) for end, node, key in ends}
        kind = lg.PatchEdge if row.patch else lg.InsertEdge
        statement = kind(type_.name, _constant(ids["from"]), _constant(ids["to"]), assigned)
    return Prepared(lg.MutationQuery(name, (), (statement,)), view.catalog), values


def only_inserts(prepared: Prepared) -> bool:
    """Whether a mutation comes to the same whatever is there: it looks for nothing."""
    assert isinstance(prepared.query, lg.MutationQuery)
    return all(isinstance(s, lg.InsertNode | lg.InsertEdge) and not s.pattern for s in prepared.query.statements)


def _constant(value: str) -> lg.Constant:
    return lg.Constant(value, _ID)


def _require_kind(type_: EntityType, row: Row) -> None:
    if type_.is_edge and row.ends is None:
        raise UsageError(f"{type_.name} is an edge type", hint="`put_edge` takes its ends, too.")
    if type_.is_node and row.ends is not None:
        raise UsageError(f"{type_.name} is a node type", hint="`put` takes a node.")
    if row.patch and not type_.key:
        raise UsageError(
            f"{type_.name} has no key: which of its {type_.kind}s is to change cannot be told", hint="Use an update."
        )


def _value(type_: EntityType, name: str, value: object) -> Value:
    prop = type_.properties.get(name)
    if prop is None:
        known = list(type_.properties)
        hint = did_you_mean(name, known) or (f"It has {', '.join(known)}." if known else "It has none.")
        raise UsageError(f"{type_.name} has no property `{name}`", hint=hint)
    return convert(name, prop.type, value, f"{type_.name}: property", Door.RECORDS)
