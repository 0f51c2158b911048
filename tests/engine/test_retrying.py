"""`retryable` is true: what says so succeeds when its cause is over, without any change; what does not goes on failing."""

from __future__ import annotations

import errno
import os
import shutil
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from tests.test_errors import LEAVES

import omnigraph as og
from omnigraph import errors
from omnigraph.embedding import MockEmbedder
from omnigraph.embedding.pace import Pace
from omnigraph.storage.files.lance_errors import in_our_words

SCHEMA = """
node P { k: String @key  n: I32?  t: String?  v: Vector(2)? @embed(t, model="m")  b: Blob? }
edge E: P -> P
"""
ALL = "query all() { match { $p: P } return { $p.k } }"
ADD = "query add($k: String, $n: I32?) { insert P { k: $k, n: $n } }"


def nothing() -> None:
    """The cause is in the call itself: time alone changes nothing."""


@dataclass
class Case:
    """A call that fails, and what ends its cause."""

    call: Callable[[], object]
    over: Callable[[], object] = nothing


def _graph(folder: Path) -> og.Graph:
    graph = og.init(folder / "g", SCHEMA, durability="os", external_blobs=og.ExternalBlobs.allow(f"file://{folder}/"))
    graph.load([{"type": "P", "data": {"k": "a", "t": "text"}}])
    return graph


def _unavailable(folder: Path) -> Case:
    graph, file = _graph(folder), folder / "blob"
    record = {"type": "P", "data": {"k": "x", "b": f"file://{file}"}}
    return Case(lambda: graph.load([record]), lambda: file.write_bytes(b"x"))


def _cancelled(folder: Path) -> Case:
    graph, stop = _graph(folder), threading.Event()
    stop.set()
    return Case(lambda: graph.query(ALL, cancel=stop), stop.clear)


def _provider(error: Exception) -> Callable[[Path], Case]:
    def case(folder: Path) -> Case:
        graph, down = _graph(folder), [True]

        class Provider(MockEmbedder):
            def embed(self, texts: Any, dimension: int) -> Any:
                if down:
                    raise error
                return super().embed(texts, dimension)

        return Case(lambda: graph.embed(embedder=Provider("m"), pace=Pace(attempts=1)), down.clear if _passes(error) else nothing)

    return case


def _passes(error: Exception) -> bool:
    return isinstance(error, OSError)


def _moved(folder: Path) -> Case:
    """The schema changes while a write is prepared."""
    graph, other = _graph(folder), og.open(folder / "g", durability="os")
    wanted = [SCHEMA.replace("n: I32?", f"n: I32?  m{i}: I32?") for i in range(2)]
    between = [lambda: other.apply_schema(wanted[0])]
    publish = graph._store.publish

    def moved(*args: Any, **kwargs: Any) -> Any:
        while between:
            between.pop()()
        return publish(*args, **kwargs)

    graph._store.publish = moved  # type: ignore[method-assign]
    both = SCHEMA.replace("n: I32?", "n: I32?  m0: I32?  m1: I32?")
    return Case(lambda: graph.apply_schema(both))


def _away(folder: Path) -> Case:
    """A graph that cannot be found."""
    _graph(folder)
    shutil.move(folder / "g", folder / "elsewhere")
    return Case(lambda: og.open(folder / "g"))


def _damaged(folder: Path) -> Case:
    _graph(folder)
    graph = og.open(folder / "g")
    graph.branches.create("b")
    (ref,) = (folder / "g" / "__refs").glob("*b*")
    ref.write_bytes(b"x")
    return Case(lambda: og.open(folder / "g").query(ALL, branch="b"))


def _conflict(folder: Path) -> Case:
    graph = _graph(folder)
    graph.branches.create("b")
    for branch in ("main", "b"):
        change = f'query q() {{ update P set {{ t: "{branch}" }} where k = "a" }}'
        graph.mutate(change, branch=branch)
    return Case(lambda: graph.merge("b"))


def _precondition(folder: Path) -> Case:
    graph = _graph(folder)
    before = graph.commits()[0]
    graph.mutate(ADD, {"k": "b"})
    return Case(lambda: graph.mutate(ADD, {"k": "c"}, if_commit=before))


def _review(graph: og.Graph) -> og.Review:
    graph.branches.create("b")
    graph.mutate(ADD, {"k": "b"}, branch="b")
    return graph.reviews.create("b", title="t")


def _over(folder: Path) -> Case:
    graph = _graph(folder)
    review = graph.reviews.close(_review(graph))
    return Case(lambda: graph.reviews.approve(review.id))


def _stale(folder: Path) -> Case:
    """The source of a review moves after somebody looked at it."""
    graph = _graph(folder)
    review = _review(graph)
    graph.mutate(ADD, {"k": "c"}, branch="b")
    return Case(lambda: graph.reviews.approve(review))


def _unapproved(folder: Path) -> Case:
    graph = _graph(folder)
    review = graph.reviews.request_changes(_review(graph), "not yet")
    return Case(lambda: graph.reviews.merge(review))


def _reused(folder: Path) -> Case:
    graph = _graph(folder)
    graph.mutate(ADD, {"k": "b"}, idempotency_key="one")
    return Case(lambda: graph.mutate(ADD, {"k": "c"}, idempotency_key="one"))


def of(call: Callable[[og.Graph], object]) -> Callable[[Path], Case]:
    def case(folder: Path) -> Case:
        graph = _graph(folder)
        return Case(lambda: call(graph))

    return case


PROVOKED: dict[str, tuple[type[og.GraphError], Callable[[Path], Case]]] = {
    "parse": (og.ParseError, of(lambda g: g.query("query q("))),
    "schema": (og.SchemaError, of(lambda g: g.apply_schema("node A { k: String  k: String }"))),
    "typing": (og.TypeCheckError, of(lambda g: g.query("query q() { match { $p: Nobody } return { $p } }"))),
    "unsupported": (og.UnsupportedChange, of(lambda g: g.apply_schema(SCHEMA.replace("n: I32?", "n: String?")))),
    "usage": (og.UsageError, of(lambda g: g.branches.create(""))),
    "parameter": (og.ParameterError, of(lambda g: g.mutate(ADD))),
    "validation": (og.ValidationError, of(lambda g: g.load([{"type": "P", "data": {}}]))),
    "would empty": (og.WouldEmpty, of(lambda g: g.load({"P": []}, mode="overwrite"))),
    "cursor": (og.CursorRejected, of(lambda g: g.changes(since="nonsense"))),
    "no row": (og.NoSuchRow, of(lambda g: g.query(ALL)[99])),
    "blob unavailable": (og.BlobUnavailable, _unavailable),
    "not found": (og.NotFound, of(lambda g: g.query(ALL, branch="nope"))),
    "gone": (og.NotFound, _away),
    "exists": (og.AlreadyExists, of(lambda g: g.branches.create("main"))),
    "key": (og.KeyConflict, of(lambda g: g.load([{"type": "P", "data": {"k": "a"}}], mode="append"))),
    "moved": (og.ReadSetChanged, _moved),
    "precondition": (og.PreconditionFailed, _precondition),
    "merge": (og.MergeConflict, _conflict),
    "memory": (og.ResourceLimit, of(lambda g: g.query(ALL, memory_limit=1))),
    "cancelled": (og.QueryCancelled, _cancelled),
    "parentless": (og.ParentlessCommit, of(lambda g: g.commit_changes(g.commits()[-1]))),
    "reclaimed": (og.HistoryReclaimed, of(lambda g: g.query(ALL, at="01ARZ3NDEKTSV4RRFFQ69G5FAV"))),
    "damaged": (og.DamagedRecord, _damaged),
    "key reused": (og.KeyReused, _reused),
    "review over": (og.ReviewOver, _over),
    "review stale": (og.ReviewStale, _stale),
    "approval missing": (og.ApprovalMissing, _unapproved),
    "provider": (og.EmbeddingFailed, _provider(ValueError("no"))),
    "network": (og.EmbeddingFailed, _provider(ConnectionError("reset"))),
}

ELSEWHERE = {
    errors.SchemaIdentityError: "tests/catalog",
    errors.VoidConstraint: "tests/engine/write/test_patterns.py",
    errors.ScopeError: "tests/surfaces",
    errors.NotConfirmed: "tests/surfaces",
    errors.OutputFailed: "tests/surfaces/test_outputs.py",
    errors.Forbidden: "tests/service",
    errors.PolicyError: "tests/policy: a rule about the text",
    errors.BrokenQueries: "tests/service/test_stored.py",
    errors.TooBusy: "tests/service: what is under way ends",
    errors.MixedMutationError: "a rule about the text",
    errors.KeyValueError: "a rule about the value",
    errors.QueryError: "a rule about the data",
    errors.BlobRefused: "a rule about the value: tests/engine/external",
    errors.StalledWrite: "tests/storage: a write that is repeated",
    errors.CleanupUnderWay: "tests/storage: names that are given while another cleanup is under way",
    errors.SchemaBoundary: "tests/engine/history",
    errors.ChangeFeedGap: "tests/engine/history",
    errors.UnsupportedFormat: "tests/storage",
    errors.StorageError: "says it of each failure: tests/engine/test_surroundings.py",
    errors.UnexpectedError: "what is behind it is not known",
    errors.SparkUnavailable: "tests/pipeline",
    errors.TaskFailed: "tests/pipeline/test_tasks.py",
}
"""Errors that are not provoked here, and where they are."""


def test_every_error_is_provoked_or_said_to_be_elsewhere() -> None:
    provoked = {kind for kind, _ in PROVOKED.values()}
    assert {c for c in LEAVES if c not in provoked} <= set(ELSEWHERE)
    assert not provoked & set(ELSEWHERE)


@pytest.mark.parametrize("name", PROVOKED)
def test_it_succeeds_later_if_and_only_if_it_says_so(tmp_path: Path, name: str) -> None:
    kind, prepared = PROVOKED[name]
    case = prepared(tmp_path)
    with pytest.raises(kind) as told:
        case.call()
    assert type(told.value) is kind
    case.over()
    if told.value.retryable:
        case.call()
    else:
        with pytest.raises(kind):
            case.call()


@pytest.mark.parametrize("number", [errno.EIO, errno.EMFILE, errno.ENOSPC, errno.EACCES])
def test_a_store_says_it_of_each_failure(number: int) -> None:
    told = in_our_words("write", OSError(number, os.strerror(number)))
    assert told.retryable is (number in (errno.EIO, errno.EMFILE))
