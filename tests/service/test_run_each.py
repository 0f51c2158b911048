"""Several writes through the door in one go: each is let in, done, written down and told by itself."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from tests.service.doors import Kept, Refusing

import omnigraph as og
from omnigraph.errors import Forbidden, NotFound, TooBusy
from omnigraph.policy.port import Action
from omnigraph.service import Caller, GraphRef, Origin, Service
from omnigraph.service.admission import PerActor
from omnigraph.service.direct import DirectGraphs
from omnigraph.service.graphs import Graphs
from omnigraph.service.operation import Operation
from omnigraph.service.operations.mutate import Mutate, mutate_each

ADD = "query add($n: String) { insert Person { name: $n } }"
EDGE = "query edge($n: String) { insert Knows { from: $n, to: $n } }"


@pytest.fixture
def ref(tmp_path: Path) -> GraphRef:
    og.init(tmp_path / "g", "node Person { name: String @key }  edge Knows: Person -> Person", durability="os").close()
    return GraphRef(str(tmp_path / "g"))


def by(actor: str) -> Caller:
    return Caller(actor, Origin.HTTP)


def test_each_is_let_in_done_and_written_down(ref: GraphRef) -> None:
    audit = Kept()
    service = Service(DirectGraphs(), audit=audit)
    asked = [
        (by("ada"), Mutate(ref, ADD, {"n": "x"})),
        (by("bob"), Mutate(ref, EDGE, {"n": "nobody"})),
        (by("cy"), Mutate(ref, ADD)),
    ]
    first, second, third = service.run_each(asked, mutate_each)
    assert isinstance(first, og.Receipt)
    assert first.actor == "ada"
    assert isinstance(second, og.ValidationError)
    assert isinstance(third, og.ParameterError)
    written = [(r.actor, r.outcome, r.commit is not None, r.error) for r in audit.records if r.kind == "write"]
    assert written == [("ada", "done", True, None), ("bob", "failed", False, second.code), ("cy", "failed", False, third.code)]


def test_who_may_not_is_told_so_and_the_others_write(ref: GraphRef) -> None:
    class BobMayNot(Refusing):
        def decide(self, actor: str | None, *about: Any, **more: Any) -> Any:
            self.actions = (Action.CHANGE,) if actor == "bob" else ()
            return super().decide(actor, *about, **more)

    service = Service(DirectGraphs(), authoriser=BobMayNot())
    came = service.run_each([(by(name), Mutate(ref, ADD, {"n": name})) for name in ("ada", "bob", "cy")], mutate_each)
    assert [type(one) for one in came] == [og.Receipt, Forbidden, og.Receipt]


def test_room_is_taken_by_each_and_given_back(ref: GraphRef) -> None:
    service = Service(DirectGraphs(), admission=PerActor(inflight=2))
    for turn in range(3):
        asked = [(by("ada"), Mutate(ref, ADD, {"n": f"{turn}-{n}"})) for n in range(4)] + [
            (by("bob"), Mutate(ref, ADD, {"n": f"{turn}"}))
        ]
        assert [type(one) for one in service.run_each(asked, mutate_each)] == [
            og.Receipt,
            og.Receipt,
            TooBusy,
            TooBusy,
            og.Receipt,
        ]


def test_what_fails_for_all_is_told_to_each(ref: GraphRef) -> None:
    audit = Kept()
    service = Service(DirectGraphs(), audit=audit, admission=PerActor(inflight=2))
    nowhere = GraphRef(f"{ref.uri}-gone")
    asked = [(by(name), Mutate(nowhere, ADD, {"n": name})) for name in ("ada", "bob")]
    assert [type(one) for one in service.run_each(asked, mutate_each)] == [NotFound, NotFound]

    def broken(graphs: Graphs, asked: Sequence[tuple[Caller, Operation[Any]]]) -> Any:
        raise ZeroDivisionError

    for _ in range(3):  # room was given back
        assert [type(one) for one in service.run_each([(by("ada"), Mutate(ref, ADD, {"n": "x"}))] * 2, broken)] == [
            ZeroDivisionError
        ] * 2
    assert {r.outcome for r in audit.records if r.kind == "write"} == {"failed"}
    assert service.run_each([], mutate_each) == []
