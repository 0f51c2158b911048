"""Every command that touches a graph goes through the door: a denial stops it before any effect, and what it changes is signed."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.service.doors import Refusing, Watched, every_operation
from tests.storage.aging import MovedClock
from tests.surfaces.calling import Ran, leaves
from tests.surfaces.test_contract import CALLS, words

import omnigraph as og_api
from omnigraph.cluster.applying.operations import Deploy, ListDeployments, PlanDeployment, ShowDeployment
from omnigraph.engine.parts import parts_of
from omnigraph.policy.port import Action
from omnigraph.service.caller import Origin
from omnigraph.service.operations.delete_graph import DeleteGraph
from omnigraph.service.operations.describe_branch import DescribeBranch
from omnigraph.service.operations.embed import Embed
from omnigraph.service.operations.forget import Forget
from omnigraph.service.operations.get_entity import GetEntity
from omnigraph.service.operations.invoke_query import InvokeQuery
from omnigraph.service.operations.list_deleted_tags import ListDeletedTags
from omnigraph.service.operations.list_neighbors import ListNeighbors
from omnigraph.service.operations.list_queries import ListQueries
from omnigraph.service.operations.put_entity import PutEntity
from omnigraph.service.operations.recall import Recall
from omnigraph.service.operations.record_embedding_model import RecordEmbeddingModel
from omnigraph.service.operations.relate import Relate
from omnigraph.service.operations.remember import Remember
from omnigraph.service.operations.show_embedding_model import ShowEmbeddingModel
from omnigraph.service.operations.stream_export import StreamExport
from omnigraph.storage.commits.reclaimed_commits import ledger
from omnigraph.surfaces.cli.main import run
from omnigraph.surfaces.cli.scope import Capability, Command

LEAVES = {name: command for name, command in leaves() if isinstance(command, Command)}
FRIENDS = "query q() { match { $p: Person  $p knows $f } return { $f.name } }"
ALSO = {
    "view a diff": ["view", "{graph}", "--diff", "main", "work", "--out", "{out}", "--no-open"],
    "view an answer": ["view", "{graph}", "-e", FRIENDS, "--out", "{out}", "--no-open"],
    "cleanup for good": ["cleanup", "{graph}", "--keep", "1", "--confirm"],
    "merge and delete": ["branch", "merge", "work", "--uri", "{graph}", "--delete-branch"],
    "preview of a merge": ["branch", "merge", "work", "--uri", "{graph}", "--dry-run"],
    "load into a new branch": ["load", "{graph}", "--data", "{jsonl}", "--mode", "merge", "--branch", "etl", "--from", "main"],
    "ingest": ["ingest", "{graph}", "--data", "{jsonl}"],
}
"""Further ways through the commands of `CALLS`."""

ELSEWHERE = (Capability.LOCAL, Capability.CONTROL)
"""What touches no graph, and what touches those of a cluster, as far as they differ from what is wanted: `tests/cluster`."""
TOUCHING = [n for n in CALLS if n == "alias" or (n in LEAVES and LEAVES[n].capability not in ELSEWHERE)]
NOTHING_TO_SIGN = ("branch list", "export", "mcp", "schema show", "shell", "snapshot")
"""Reads that take an actor all the same: scripts name one wherever the contract lets them, and what is typed at a prompt, or asked by
an agent, may write."""
NOT_OFFERED = {
    PlanDeployment: "`cluster plan` is for whoever holds the keys of the storage root; a server plans what it is sent",
    Deploy: "`cluster apply` likewise",
    ListDeployments: "what a server was sent is told by the server",
    ShowDeployment: "the same",
    DeleteGraph: "graphs of a cluster are deleted by `cluster apply`, once somebody has approved of it",
    InvokeQuery: "a query is stored by a server, whose door it goes through",
    ListQueries: "the same",
    DescribeBranch: "where a branch came from is said by `branches.get`, here and over HTTP",
    GetEntity: "the command asks queries; programs get single entities from Python or over HTTP",
    ListNeighbors: "the same",
    PutEntity: "the command has `mutate` and `load`; programs put single entities from Python or over HTTP",
    ListDeletedTags: "deleted tags are listed by `tags.deleted`, here and over HTTP",
    Embed: "`embed GRAPH` needs a provider and a schema with `@embed`: `tests/embedding` runs it",
    ShowEmbeddingModel: "`omnigraph.memory` asks a server before it compares vectors that it made",
    RecordEmbeddingModel: "the same, before it writes them",
    Remember: "agents remember through their tools, programs through `omnigraph.memory`",
    Recall: "the same",
    Relate: "the same",
    Forget: "the same",
    StreamExport: "the command writes to a file or to stdout; lines are sent while they are made by the server",
}


@pytest.fixture
def call(
    capsysbinary: pytest.CaptureFixture[bytes], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> Callable[[Watched, list[str]], Ran]:
    monkeypatch.setenv("OMNIGRAPH_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("OMNIGRAPH_PROFILE", raising=False)

    def called(service: Watched, arguments: list[str]) -> Ran:
        code = run(arguments, service=service)
        captured = capsysbinary.readouterr()
        return Ran(code, captured.out.decode("utf-8", "replace"), captured.err.decode())

    return called


Called = Callable[[Watched, list[str]], Ran]


def line(name: str, filled: dict[str, str]) -> list[str]:
    if name in CALLS:
        return words(name, filled)
    return [filled[w[1:-1]] if w.startswith("{") and w[1:-1] in filled else w for w in ALSO[name]]


def contents(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


def test_every_operation_is_offered_by_the_command_line(call: Called, filled: dict[str, str], tmp_path: Path) -> None:
    offered: set[Any] = set()
    for number, name in enumerate((*TOUCHING, *ALSO)):
        copied = shutil.copytree(filled["graph"], tmp_path / f"{number}.omni")
        service = Watched()
        ran = call(service, line(name, {**filled, "graph": str(copied), "out": str(tmp_path / f"{number}.out")}))
        assert ran.code == 0, (name, ran.err)
        assert service.asked, name
        assert all(caller.origin is Origin.CLI for caller, _ in service.asked)
        assert len({caller.request_id for caller, _ in service.asked}) == 1, "one call, one request id"
        offered |= service.ran
    assert offered == every_operation() - set(NOT_OFFERED)


HIDDEN = {"commit changes"}
"""What is answered to those who may not have it as if it were not there."""


@pytest.mark.parametrize("name", [*TOUCHING, *ALSO])
def test_a_denial_stops_it_before_any_effect(call: Called, filled: dict[str, str], tmp_path: Path, name: str) -> None:
    before = contents(tmp_path)
    service = Watched(Refusing())
    ran = call(service, [*line(name, filled), "--json"])
    said = "not_found" if name in HIDDEN else "forbidden"
    assert (ran.code, ran.json["code"]) == (1, said), ran.err
    assert contents(tmp_path) == before
    assert {(r.kind, r.outcome) for r in service.audit.records} == {("decision", "denied")}


WRITES = (
    Action.CHANGE,
    Action.SCHEMA_APPLY,
    Action.BRANCH_CREATE,
    Action.BRANCH_DELETE,
    Action.BRANCH_MERGE,
    Action.REVIEW_CREATE,
    Action.REVIEW_COMMENT,
    Action.REVIEW_APPROVE,
    Action.REVIEW_MERGE,
    Action.ADMIN,
)


@pytest.mark.parametrize(
    "name", [n for n in (*CALLS, *ALSO) if n in ALSO or (n in LEAVES and "as" in LEAVES[n].usable and n != "alias")]
)
def test_whoever_may_only_read_changes_nothing(call: Called, filled: dict[str, str], tmp_path: Path, name: str) -> None:
    before = contents(Path(filled["graph"]))
    service = Watched(Refusing(*WRITES))
    ran = call(service, [*line(name, filled), "--json"])
    if any(operation.writes for _, operation in service.asked):
        assert (ran.code, ran.json["code"]) == (1, "forbidden"), ran.err
    assert contents(Path(filled["graph"])) == before
    assert not Path(filled["new"]).exists()
    assert not [r for r in service.audit.records if r.kind == "write"]


@pytest.mark.parametrize("name", TOUCHING)
def test_as_is_taken_by_exactly_what_may_write(call: Called, filled: dict[str, str], name: str) -> None:
    service = Watched()
    arguments = [*line(name, filled), *(["--confirm"] if name == "cleanup" else [])]
    assert call(service, arguments).code == 0
    named = "as" in LEAVES[name].usable and name not in ("alias", *NOTHING_TO_SIGN)
    assert any(operation.writes for _, operation in service.asked) is named


# ── what was changed carries the actor ───────────────────────────────────────────────────────────────────────────────────────


def newest(filled: dict[str, str], branch: str = "main") -> str | None:
    with og_api.open(filled["graph"]) as g:
        return g._store.commits(branch, limit=1)[0].actor


def of_tag(filled: dict[str, str]) -> str | None:
    with og_api.open(filled["graph"]) as g:
        return {tag.name: tag for tag in g.tags.list()}["v1"].created_by


def of_deleted_tag(filled: dict[str, str]) -> str | None:
    with og_api.open(filled["graph"]) as g:
        return g.tags.deleted()[0].deleted_by


def of_new_branch(filled: dict[str, str]) -> str | None:
    with og_api.open(filled["graph"]) as g:
        return g.branches.get("new").created_by


def of_new_graph(filled: dict[str, str]) -> str | None:
    with og_api.open(filled["new"]) as g:
        assert g.commits()[0].actor == g.branches.get("main").created_by
        return g.commits()[0].actor


def of_cleanup(filled: dict[str, str]) -> str | None:
    with og_api.open(filled["graph"]) as g:
        return ledger(g._store.place).record.by


def of_review(filled: dict[str, str], number: int = 1) -> str | None:
    with og_api.open(filled["graph"]) as g:
        return g.reviews.get(number).events[-1].actor


RECORDED: dict[str, Callable[[dict[str, str]], str | None]] = {
    "init": of_new_graph,
    "load": newest,
    "mutate": newest,
    "branch create": of_new_branch,
    "branch merge": newest,
    "review create": lambda filled: of_review(filled, 3),
    "review comment": of_review,
    "review approve": of_review,
    "review request-changes": of_review,
    "review merge": of_review,
    "review close": of_review,
    "review reopen": lambda filled: of_review(filled, 2),
    "tag create": of_tag,
    "tag delete": of_deleted_tag,
    "revert": newest,
    "schema apply": newest,
    "optimize": newest,
    "cleanup": of_cleanup,
}
"""What a command changed, and where it says who did."""


class Later(Watched):
    """The door, at a time when what is stored is old enough to be cleaned up."""

    def run(self, caller: Any, operation: Any, permit: Any = None) -> Any:
        clock = MovedClock()
        clock.pass_time()
        vars(parts_of(self.graphs.open(operation.graph)).store)["_clock"] = clock
        return super().run(caller, operation, permit)


@pytest.mark.parametrize(
    "name", [n for n in TOUCHING if "as" in LEAVES[n].usable and n not in ("alias", "branch delete", *NOTHING_TO_SIGN)]
)
def test_what_was_changed_carries_the_actor(call: Called, filled: dict[str, str], name: str) -> None:
    service = Later() if name == "cleanup" else Watched()
    arguments = ["cleanup", filled["graph"], "--keep", "1", "--confirm"] if name == "cleanup" else line(name, filled)
    ran = call(service, ["--as", "ada", *arguments, "--json"])
    assert ran.code == 0, ran.err
    assert RECORDED[name](filled) == "ada"
    told = ran.json
    for said in (told, told.get("commit")):
        if isinstance(said, dict):
            assert said.get("actor_id", "ada") == "ada", "what is said is what was recorded"
    (written,) = (r for r in service.audit.records if r.kind == "write")
    assert (written.actor, written.outcome, written.origin) == ("ada", "done", "cli")
    without = name in ("optimize", "cleanup") or (name.startswith("review ") and name != "review merge")
    assert (written.commit is None) is without
    assert written.rule == "direct-access"


def test_a_deleted_branch_ends_with_a_commit_of_whoever_deleted_it(call: Called, filled: dict[str, str]) -> None:
    with og_api.open(filled["graph"]) as g:
        manifest = g._store.manifest(g.branches.get("work"))
        service = Watched()
        told = call(service, ["--as", "ada", "branch", "delete", "work", "--uri", filled["graph"], "--json"]).json
        last = manifest.load().recent[-1]
        assert (told["actor_id"], last.actor, last.operation) == ("ada", "ada", "branch delete")
        assert [r.commit for r in service.audit.records if r.kind == "write"] == [last.id]


def test_nobody_is_said_to_have_done_what_was_not_done(call: Called, filled: dict[str, str]) -> None:
    nothing = 'query q() { delete Person where name = "nobody" }'
    service = Watched()
    ran = call(service, ["--as", "ada", "mutate", "--store", filled["graph"], "-e", nothing])
    assert "ada" not in ran.out
    assert [r.outcome for r in service.audit.records if r.kind == "write"] == ["unchanged"]
    merged = ["--as", "ada", "branch", "merge", "work", "--uri", filled["graph"], "--json"]
    assert call(Watched(), merged).json["actor_id"] == "ada"
    assert call(Watched(), merged).json["actor_id"] is None
