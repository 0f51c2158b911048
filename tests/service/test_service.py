"""The door itself: in which order it does what, and what each operation needs permission for."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.service.doors import Kept, Refusing, Watched, every_operation
from tests.service.matrix import ROOT, SENT, nobody

import omnigraph as og
from omnigraph.cluster.applying.operations import Deploy, ListDeployments, PlanDeployment, ShowDeployment
from omnigraph.errors import Forbidden, NotFound, ResourceLimit
from omnigraph.language.source import Source
from omnigraph.policy.port import NO_GROUPS, Access, Action, Authoriser, Decision, PermitAll
from omnigraph.service import Caller, GraphRef, Origin, Service
from omnigraph.service.admission import PerActor
from omnigraph.service.direct import DirectGraphs, OneGraph
from omnigraph.service.operation import SMALL, Operation
from omnigraph.service.operations.apply_schema import ApplySchema
from omnigraph.service.operations.approve_review import ApproveReview
from omnigraph.service.operations.baseline import Baseline
from omnigraph.service.operations.cleanup import Cleanup
from omnigraph.service.operations.close_review import CloseReview
from omnigraph.service.operations.comment_review import CommentReview
from omnigraph.service.operations.commit_changes import CommitChanges
from omnigraph.service.operations.create_branch import CreateBranch
from omnigraph.service.operations.create_review import CreateReview
from omnigraph.service.operations.create_tag import CreateTag
from omnigraph.service.operations.delete_branch import DeleteBranch
from omnigraph.service.operations.delete_graph import DeleteGraph
from omnigraph.service.operations.delete_tag import DeleteTag
from omnigraph.service.operations.describe_branch import DescribeBranch
from omnigraph.service.operations.diff import Diff
from omnigraph.service.operations.diff_review import DiffReview
from omnigraph.service.operations.embed import Embed
from omnigraph.service.operations.entity_history import EntityHistory
from omnigraph.service.operations.explain import Explain
from omnigraph.service.operations.export import Export
from omnigraph.service.operations.forget import Forget
from omnigraph.service.operations.get_entity import GetEntity
from omnigraph.service.operations.init import Init
from omnigraph.service.operations.invoke_query import InvokeQuery
from omnigraph.service.operations.list_branches import ListBranches
from omnigraph.service.operations.list_commits import ListCommits
from omnigraph.service.operations.list_deleted_tags import ListDeletedTags
from omnigraph.service.operations.list_neighbors import ListNeighbors
from omnigraph.service.operations.list_queries import ListQueries
from omnigraph.service.operations.list_reviews import ListReviews
from omnigraph.service.operations.list_tags import ListTags
from omnigraph.service.operations.load import Load
from omnigraph.service.operations.merge import Merge
from omnigraph.service.operations.merge_review import MergeReview
from omnigraph.service.operations.mutate import Mutate
from omnigraph.service.operations.optimize import Optimize
from omnigraph.service.operations.plan_schema import PlanSchema
from omnigraph.service.operations.poll_changes import PollChanges
from omnigraph.service.operations.put_entity import PutEntity
from omnigraph.service.operations.query import Query
from omnigraph.service.operations.read_blob import ReadBlob
from omnigraph.service.operations.read_nodes import ReadNodes
from omnigraph.service.operations.recall import Recall
from omnigraph.service.operations.record_embedding_model import RecordEmbeddingModel
from omnigraph.service.operations.relate import Relate
from omnigraph.service.operations.remember import Remember
from omnigraph.service.operations.reopen_review import ReopenReview
from omnigraph.service.operations.repair import Repair
from omnigraph.service.operations.request_changes import RequestChanges
from omnigraph.service.operations.revert import Revert
from omnigraph.service.operations.show_branch import ShowBranch
from omnigraph.service.operations.show_commit import ShowCommit
from omnigraph.service.operations.show_embedding_model import ShowEmbeddingModel
from omnigraph.service.operations.show_review import ShowReview
from omnigraph.service.operations.show_schema import ShowSchema
from omnigraph.service.operations.snapshot import Snapshot
from omnigraph.service.operations.stats import Stats
from omnigraph.service.operations.stream_export import StreamExport
from omnigraph.service.operations.subgraph import Subgraph
from omnigraph.service.operations.verify import Verify
from omnigraph.service.stored import StoredQueries

ADA = Caller("ada", Origin.PYTHON)
G = GraphRef("g.omni")
ADD = "query add($n: String) { insert Person { name: $n } }"
ALL = "query all() { match { $p: Person } return { $p.name } }"


MANAGE = Access(Action.CONFIG_MANAGE)
STORED = StoredQueries.of_texts([Source(ADD, "add.gq"), Source(ALL, "all.gq")])


def invoke(name: str) -> Access:
    return Access(Action.INVOKE_QUERY, query=name)


INVOKE_ALL = invoke("all")


class Known:
    """A graph of which a decision may ask: `work` is a branch, `c1` a commit of it."""

    def branch_of(self, state: str) -> str | None:
        return {"c1": "work", "work": "work", "main": "main"}.get(state)

    def has_branch(self, name: str) -> bool:
        return name in ("main", "work")

    def review(self, number: int, action: Action) -> Access:
        return Access(action, "work", "main") if number == 7 else Access(action)

    def review_branches(self, number: int) -> tuple[Access, ...]:
        return (Access(Action.READ, "work"), Access(Action.READ, "main"))


def read(branch: str | None = None) -> Access:
    return Access(Action.READ, branch)


NEEDED: list[tuple[Operation[Any], tuple[Access, ...]]] = [
    (Query(G, ALL), (read("main"),)),
    (Query(G, ALL, branch=" work "), (read("work"),)),
    (Query(G, ALL, at="c1"), (read("work"),)),
    (Query(G, ALL, at="nowhere"), (read(),)),
    (Explain(G, ALL, at="c1"), (read("work"),)),
    (Subgraph(G, ALL), (read("main"),)),
    (Snapshot(G, "work"), (read("work"),)),
    (Snapshot(G, at="c1"), (read("work"),)),
    (Stats(G), (read("main"),)),
    (ReadBlob(G, "node", "T", "x", "p", at="c1"), (read("work"),)),
    (ReadNodes(G, {}, "c1"), (read("work"),)),
    (GetEntity(G, "T", "x", at="c1"), (read("work"),)),
    (ListNeighbors(G, "T", "x"), (read("main"),)),
    (PutEntity(G, "T", {}, branch="work"), (Access(Action.CHANGE, "work"),)),
    (ListBranches(G), (read(),)),
    (ShowBranch(G, "work"), (read("work"),)),
    (DescribeBranch(G, "work"), (read("work"),)),
    (ListTags(G), (read(),)),
    (ListDeletedTags(G), (read(),)),
    (ListCommits(G, "work"), (read("work"),)),
    (ShowCommit(G, "c1"), (read("work"),)),
    (ShowCommit(G, "work"), (read("work"),)),
    (ShowCommit(G, "nothing"), (read(),)),
    (CommitChanges(G, "c1"), (read("work"),)),
    (PollChanges(G, branch=" main "), (read("main"),)),
    (EntityHistory(G, "Person", ("Ada",), branch="work"), (read("work"),)),
    (Diff(G, "main", "c1"), (read("main"), read("work"))),
    (ShowSchema(G), (read(),)),
    (ShowSchema(G, "work"), (read("work"),)),
    (ShowSchema(G, at="c1"), (read("work"),)),
    (PlanSchema(G, Source("")), (read("main"),)),
    (Export(G, "out", at="c1"), (Access(Action.EXPORT, "work"),)),
    (StreamExport(G, at="c1"), (Access(Action.EXPORT, "work"),)),
    (Baseline(G, "work"), (Access(Action.EXPORT, "work"),)),
    (Mutate(G, ADD, branch="work"), (Access(Action.CHANGE, "work"),)),
    (InvokeQuery(G, "all", STORED["all"]), (INVOKE_ALL, read("main"))),
    (InvokeQuery(G, "all", STORED["all"], at="c1"), (INVOKE_ALL, read("work"))),
    (InvokeQuery(G, "add", STORED["add"], branch="work"), (invoke("add"), Access(Action.CHANGE, "work"))),
    (ListQueries(G, ()), (read("main"),)),
    (Load(G, [], "merge"), (Access(Action.CHANGE, "main"),)),
    (Load(G, [], "merge", "work", from_="main"), (Access(Action.CHANGE, "work"),)),
    (Load(G, [], "merge", "etl", from_="c1"), (Access(Action.CHANGE, "etl"), Access(Action.BRANCH_CREATE, "work", "etl"))),
    (Load(G, [], "overwrite", "work"), (Access(Action.CHANGE, "work"), Access(Action.LOAD_OVERWRITE, "work"))),
    (Embed(G), (Access(Action.CHANGE, "main"),)),
    (ShowEmbeddingModel(G, "Person", "vec", "work"), (read("work"),)),
    (RecordEmbeddingModel(G, "Person", "vec", "m", branch="work"), (Access(Action.CHANGE, "work"),)),
    (
        RecordEmbeddingModel(G, "Person", "vec", "m", branch="agent/a"),
        (Access(Action.CHANGE, "agent/a"), Access(Action.BRANCH_CREATE, "main", "agent/a")),
    ),
    (Remember(G, "text", "work"), (Access(Action.CHANGE, "work"),)),
    (Remember(G, "text", "agent/a"), (Access(Action.CHANGE, "agent/a"), Access(Action.BRANCH_CREATE, "main", "agent/a"))),
    (Relate(G, "a", "likes", "b", "work"), (Access(Action.CHANGE, "work"),)),
    (Forget(G, "work", "id"), (Access(Action.CHANGE, "work"),)),
    (Recall(G, "question", "work"), (read("work"),)),
    (Revert(G, "c1"), (Access(Action.CHANGE, "main"), read("work"))),
    (Revert(G, "c1", dry_run=True), (read("main"), read("work"))),
    (ApplySchema(G, ""), (Access(Action.SCHEMA_APPLY, None, "main"),)),
    (CreateBranch(G, "new", "c1"), (Access(Action.BRANCH_CREATE, "work", "new"),)),
    (DeleteBranch(G, "work"), (Access(Action.BRANCH_DELETE, None, "work"),)),
    (Merge(G, "work"), (Access(Action.BRANCH_MERGE, "work", "main"),)),
    (Merge(G, "work", dry_run=True), (read("work"), read("main"))),
    (CreateTag(G, "v1", "c1"), (Access(Action.BRANCH_CREATE, "work", "v1"),)),
    (DeleteTag(G, "v1"), (Access(Action.BRANCH_DELETE, None, "v1"),)),
    (ListReviews(G, ("open",)), (read(),)),
    (ListReviews(G, source="work"), (read("work"),)),
    (ShowReview(G, 7), (read("work"),)),
    (ShowReview(G, 8), (read(),)),
    (DiffReview(G, 7), (read("work"), read("main"))),
    (CreateReview(G, "work", "title"), (Access(Action.REVIEW_CREATE, "work", "main"),)),
    (CommentReview(G, 7, "text"), (Access(Action.REVIEW_COMMENT, "work", "main"),)),
    (CommentReview(G, 8, "text"), (Access(Action.REVIEW_COMMENT),)),
    (ApproveReview(G, 7), (Access(Action.REVIEW_APPROVE, "work", "main"),)),
    (RequestChanges(G, 7, "text"), (Access(Action.REVIEW_APPROVE, "work", "main"),)),
    (MergeReview(G, 7), (Access(Action.REVIEW_MERGE, "work", "main"),)),
    (CloseReview(G, 7), (Access(Action.REVIEW_CREATE, "work", "main"),)),
    (ReopenReview(G, 7), (Access(Action.REVIEW_CREATE, "work", "main"),)),
    (Init(G, ""), (Access(Action.ADMIN),)),
    (DeleteGraph(G), (Access(Action.ADMIN),)),
    (Optimize(G), (Access(Action.ADMIN, "main"),)),
    (Cleanup(G), (Access(Action.ADMIN),)),
    (Verify(G), (Access(Action.ADMIN),)),
    (Repair(G), (Access(Action.ADMIN),)),
    (PlanDeployment(ROOT, SENT, nobody), (MANAGE,)),
    (Deploy(ROOT, SENT, nobody, "d1"), (MANAGE,)),
    (ListDeployments(ROOT), (MANAGE,)),
    (ShowDeployment(ROOT, "d1"), (MANAGE,)),
]


@pytest.mark.parametrize(("operation", "accesses"), NEEDED, ids=[f"{n}-{o.name}" for n, (o, _) in enumerate(NEEDED)])
def test_what_an_operation_needs_permission_for(operation: Operation[Any], accesses: tuple[Access, ...]) -> None:
    assert tuple(operation.access(Known())) == accesses
    assert operation.size >= 0
    only_reads = all(a.action in (Action.READ, Action.EXPORT, Action.INVOKE_QUERY) for a in accesses)
    assert not (only_reads and operation.writes)
    with pytest.raises(AttributeError):
        operation.graph = G  # type: ignore[misc]


def test_every_operation_is_listed_here_and_has_a_name_of_its_own() -> None:
    assert {type(operation) for operation, _ in NEEDED} == every_operation()
    names = [operation.name for operation in every_operation()]
    assert len(set(names)) == len(names)


def test_estimates_follow_what_is_carried(tmp_path: Path) -> None:
    (tmp_path / "x.jsonl").write_bytes(b"x" * 5_000)
    assert Load(G, [str(tmp_path / "x.jsonl"), "s3://b/k"], "merge").size == SMALL + 5_000
    assert Load(G, [str(tmp_path)], "merge").size == SMALL + 5_000
    assert Mutate(G, ADD, {"n": "x" * 1_000}).size > len(ADD) + 1_000
    assert CreateBranch(G, "x").size == SMALL


# ── order ────────────────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.fixture
def ref(tmp_path: Path) -> GraphRef:
    with og.init(tmp_path / "g.omni", "node Person { name: String @key }", durability="os") as g:
        return GraphRef(g.uri)


class Traced(Authoriser):
    """Says what it is asked, in the order it is asked."""

    def __init__(self, allowed: bool = True, room: bool = True) -> None:
        self.steps: list[str] = []
        self.allowed, self.room = allowed, room

    def decide(self, actor: str | None, graph: str, access: Access, groups: frozenset[str] = NO_GROUPS) -> Decision:
        self.steps.append(f"authorise {access.action.value} for {actor}")
        return Decision(self.allowed, "r1", "no")

    @contextmanager
    def admit(self, caller: Caller, operation: Operation[Any]) -> Iterator[None]:
        self.steps.append(f"admit {operation.name}")
        if not self.room:
            raise ResourceLimit("too much at once")
        yield
        self.steps.append("leave")

    def takes(self, outcome: object) -> bool:
        return True

    def write(self, record: Any) -> None:
        self.steps.append(f"{record.kind} {record.outcome}")


@pytest.mark.parametrize(
    ("allowed", "room", "steps"),
    [
        (True, True, ["authorise change for ada", "decision allowed", "admit mutate", "write done", "leave"]),
        (True, False, ["authorise change for ada", "decision allowed", "admit mutate"]),
        (False, True, ["authorise change for ada", "decision denied"]),
    ],
)
def test_authorise_admit_run_audit(ref: GraphRef, allowed: bool, room: bool, steps: list[str]) -> None:
    traced = Traced(allowed, room)
    service = Service(DirectGraphs(), authoriser=traced, admission=traced, audit=traced)
    mutate = Mutate(ref, ADD, {"n": "Ada"})
    if allowed and room:
        assert service.run(ADA, mutate).commit is not None
    else:
        with pytest.raises(Forbidden if not allowed else ResourceLimit):
            service.run(ADA, mutate)
        assert len(service.run(ADA, ListCommits(ref))) == 1 if allowed and room else True
    assert traced.steps[: len(steps)] == steps
    assert len(og.open(ref.uri).commits()) == (2 if allowed and room else 1)


def test_the_audit_says_who_did_what_where_and_what_came_of_it(ref: GraphRef) -> None:
    service = Watched()
    receipt = service.run(ADA, Mutate(ref, ADD, {"n": "Ada"}))
    decision, written = (record.to_dict() for record in service.audit.records)
    same = {
        "request_id": ADA.request_id,
        "actor": "ada",
        "origin": "python",
        "operation": "mutate",
        "graph": ref.uri,
        "action": "change",
        "branch": "main",
        "rule": "direct-access",
    }
    assert {**decision, **same} == decision
    assert {**written, **same, "commit": receipt.commit.id, "outcome": "done"} == written
    assert set(written) - set(decision) == {"commit", "duration_ms"}


def test_a_write_that_failed_is_in_the_audit_with_its_code(ref: GraphRef) -> None:
    service = Watched()
    with pytest.raises(NotFound):
        service.run(ADA, Mutate(ref, ADD, {"n": "x"}, branch="nowhere"))
    assert [(r.kind, r.outcome, r.error) for r in service.audit.records] == [
        ("decision", "allowed", None),
        ("write", "failed", "not_found"),
    ]


def test_by_default_writes_and_denials_are_logged(ref: GraphRef, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "omnigraph.audit")
    service = Service(DirectGraphs())
    service.run(ADA, Query(ref, ALL))
    service.run(ADA, Mutate(ref, ADD, {"n": "Ada"}))
    with pytest.raises(Forbidden):
        Service(DirectGraphs(), authoriser=Refusing()).run(ADA, Query(ref, ALL))
    said = [json.loads(line.message) for line in caplog.records]
    assert [(line["operation"], line["outcome"], line["actor"]) for line in said] == [
        ("mutate", "done", "ada"),
        ("query", "denied", "ada"),
    ]
    assert caplog.records[0].__dict__["audit"] == said[0]


def test_a_program_may_send_its_open_graph_through_the_door(ref: GraphRef) -> None:
    with og.open(ref.uri) as g:
        opened, audit = OneGraph(g), Kept()
        service = Service(opened, authoriser=PermitAll(), audit=audit)
        service.run(ADA, Mutate(opened.ref, ADD, {"n": "Ada"}))
        assert service.run(ADA, Query(opened.ref, ALL)).rows == [{"p.name": "Ada"}]
        service.close()
        assert g.commits()[0].actor == "ada"


def test_commits_of_a_branch_are_read_with_its_permission(ref: GraphRef) -> None:
    service = Watched()
    service.run(ADA, CreateBranch(ref, "work"))
    commit = service.run(ADA, Mutate(ref, ADD, {"n": "x"}, branch="work")).commit
    service.audit.records.clear()
    for at in ("work", commit.id, "main"):
        service.run(ADA, Query(ref, ALL, at=at))
    assert [record.branch for record in service.audit.records] == ["work", "work", "main"]


def test_writes_of_one_actor_are_bounded_and_reads_are_not() -> None:
    room, ada, bob = PerActor(inflight=2, bytes_=600), Caller("ada", Origin.HTTP), Caller("bob", Origin.HTTP)
    with room.admit(ada, CreateBranch(G, "x")), room.admit(ada, CreateBranch(G, "y")):
        with (
            pytest.raises(og.TooBusy, match="actor in-flight count cap 2 exceeded") as raised,
            room.admit(ada, DeleteBranch(G, "x")),
        ):
            pass
        assert raised.value.retryable
        with room.admit(bob, DeleteBranch(G, "x")), room.admit(ada, ListBranches(G)):
            pass
    with room.admit(ada, DeleteBranch(G, "x")):
        text = "actor byte budget exceeded: would use 756 bytes against cap 600"
        with pytest.raises(og.TooBusy, match=text), room.admit(ada, Mutate(G, "x" * 500)):
            pass
    with room.admit(ada, Mutate(G, "x" * 500)):
        pass
