"""The matrix: every operation, on every surface that offers it, asked without a token, with a wrong one, by somebody who may not,
by somebody who may, and on a protected branch.

A row says how an operation is made and how it is asked for over HTTP. The Python client runs the same operation on a connected
graph, which is also what the command line does behind `--server`; the commands themselves are asked below. A new operation needs
a row. What is denied has no effect and leaves one record of a denial; what is allowed leaves a record for each decision, and one
for a write. Who has no token that the server knows is turned away before anything is decided, which leaves one record, too.
"""

from __future__ import annotations

import io
import json
import os
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx
import pytest
from tests.engine.served import Server
from tests.service.doors import Kept, every_operation
from tests.surfaces.http.conftest import people

import omnigraph as og
from omnigraph.embedding import DEFAULT_MODEL
from omnigraph.errors import Forbidden, NotFound
from omnigraph.language.source import Source
from omnigraph.model.frozen import frozen
from omnigraph.policy.authoriser import PolicyAuthoriser
from omnigraph.policy.bundle import Kind, read_bundle
from omnigraph.service import Caller, GraphRef, Origin
from omnigraph.service.open_graphs import OpenGraphs
from omnigraph.service.operation import Operation
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
from omnigraph.surfaces.cli.main import run
from omnigraph.surfaces.http.application import Application
from omnigraph.surfaces.http.graphs import Registry, named_graphs
from omnigraph.surfaces.http.revisions import Revision
from omnigraph.surfaces.http.tokens import Tokens

READ = "[read, export, change, load_overwrite]"
REVIEWS = "review_create, review_comment, review_approve, review_merge"
TARGET = f"[schema_apply, branch_create, branch_delete, branch_merge, {REVIEWS}]"
POLICY = f"""
version: 1
groups: {{ all: [anna], some: [carl], none: [dora], schemas: [sven] }}
protected_branches: [main, guarded]
rules:
  - {{ id: everything, allow: {{ actors: {{ group: all }}, actions: {READ[:-1]}, {TARGET[1:-1]}, invoke_query, admin] }} }}
  - {{ id: branches, allow: {{ actors: {{ group: some }}, actions: {READ}, branch_scope: unprotected }} }}
  - {{ id: targets, allow: {{ actors: {{ group: some }}, actions: {TARGET}, target_branch_scope: unprotected }} }}
  - {{ id: schemas, allow: {{ actors: {{ group: schemas }}, actions: [schema_apply] }} }}
  - {{ id: queries, allow: {{ actors: {{ group: some }}, actions: [invoke_query], queries: [names] }} }}
"""
ROOT = "{version: 1, groups: {all: [anna]}, rules: [{id: server, allow: {actors: {group: all}, actions: [graph_list]}}]}"
TOKENS = {
    "anna": "may-do-everything",
    "carl": "keeps-off-protected-branches",
    "dora": "may-do-nothing",
    "sven": "may-apply-schemas",
}
MEMORY = "agents reach their memory by MCP: tests/surfaces/mcp/test_policies.py"
NOTED = {"type": "Note", "property": "vec", "made_up": True}
MODELS = "a connected graph asks by the route itself: tests/memory/test_memory.py"
NOBODY, STRANGER = "", "token-of-nobody"
NAMES = "query names() { match { $p: Person } return { $p.name } }"
KNOWS = "query knows() { match { $p: Person  $p knows $q } return { $p.name, $q.name } }"
ADD = "query add($n: String) { insert Person { name: $n } }"
PEOPLE = GraphRef("people")


@frozen
class At:
    """What a row is asked about: a branch, a name that is free, a commit of the branch, and the schema of the graph."""

    branch: str
    name: str
    commit: str
    schema: str
    review: int = 0
    """A review that asks to merge into the branch, for rows about reviews."""

    @property
    def record(self) -> str:
        return json.dumps({"type": "Person", "data": {"name": self.name}}) + "\n"


Request = tuple[str, str, Any]


@frozen
class Row:
    """How an operation is made, and how it is asked for over HTTP; a text says why it is not."""

    make: Callable[[At], Operation[Any]]
    http: Callable[[At], Request] | str
    client: str | None = None
    """Why a connected graph does not offer it, if it does not."""
    first: Callable[[Any, At], object] = lambda graph, at: None
    """What must be there before."""
    unscoped: bool = False
    """Whether no branch is named, so that rules about branches do not match."""
    reviewed: bool = False
    """Whether it is about a review that asks to merge into the branch."""
    review_of: bool = False
    """Whether it is about a review of the branch itself, that asks to merge it into another."""
    hidden: tuple[str, ...] = ()
    """Whose denial is answered as if there were nothing."""


ROWS: list[Row] = [
    Row(lambda at: Query(PEOPLE, NAMES, branch=at.branch), lambda at: ("POST", "/query", {"query": NAMES, "branch": at.branch})),
    Row(
        lambda at: Query(PEOPLE, NAMES, branch=at.branch),
        lambda at: ("POST", "/read", {"query_source": NAMES, "branch": at.branch}),
    ),
    Row(lambda at: Query(PEOPLE, NAMES, at=at.commit), lambda at: ("POST", "/query", {"query": NAMES, "snapshot": at.commit})),
    Row(
        lambda at: Explain(PEOPLE, NAMES, branch=at.branch),
        lambda at: ("POST", "/explain", {"query": NAMES, "branch": at.branch}),
    ),
    Row(
        lambda at: Subgraph(PEOPLE, KNOWS, branch=at.branch),
        lambda at: ("POST", "/subgraph", {"query": KNOWS, "branch": at.branch}),
    ),
    Row(lambda at: Snapshot(PEOPLE, at.branch), lambda at: ("GET", f"/snapshot?branch={at.branch}", None)),
    Row(lambda at: Stats(PEOPLE, at.branch), lambda at: ("GET", f"/stats?branch={at.branch}", None)),
    Row(
        lambda at: ReadBlob(PEOPLE, "node", "Person", "Bob", "photo", branch=at.branch),
        lambda at: ("GET", f"/blob?entity=node&type=Person&id=Bob&property=photo&branch={at.branch}", None),
    ),
    Row(lambda at: ReadNodes(PEOPLE, {}, at.branch), "it completes pictures of an open graph", client="the same"),
    Row(
        lambda at: GetEntity(PEOPLE, "Person", "Ada", branch=at.branch),
        lambda at: ("POST", "/get", {"type": "Person", "key": "Ada", "branch": at.branch}),
    ),
    Row(
        lambda at: ListNeighbors(PEOPLE, "Person", "Ada", branch=at.branch),
        lambda at: ("POST", "/neighbors", {"type": "Person", "key": "Ada", "branch": at.branch}),
    ),
    Row(
        lambda at: PutEntity(PEOPLE, "Person", {"name": at.name}, branch=at.branch),
        lambda at: ("POST", "/put", {"type": "Person", "values": {"name": at.name}, "branch": at.branch}),
    ),
    Row(lambda at: ListBranches(PEOPLE), lambda at: ("GET", "/branches", None), unscoped=True),
    Row(lambda at: ShowBranch(PEOPLE, at.branch), "the command resolves names by it; a commit has a route of its own"),
    Row(lambda at: DescribeBranch(PEOPLE, at.branch), lambda at: ("GET", f"/branches/{at.branch}", None)),
    Row(lambda at: ListTags(PEOPLE), lambda at: ("GET", "/tags", None), unscoped=True),
    Row(lambda at: ListDeletedTags(PEOPLE), lambda at: ("GET", "/tags/deleted", None), unscoped=True),
    Row(lambda at: ListCommits(PEOPLE, at.branch), lambda at: ("GET", f"/commits?branch={at.branch}", None)),
    Row(lambda at: ShowCommit(PEOPLE, at.commit), lambda at: ("GET", f"/commits/{at.commit}", None)),
    Row(lambda at: ShowCommit(PEOPLE, at.branch), lambda at: ("GET", f"/commits/{at.branch}", None)),
    Row(
        lambda at: CommitChanges(PEOPLE, at.commit),
        lambda at: ("GET", f"/commits/{at.commit}/changes", None),
        hidden=("denied", "protected branch"),
    ),
    Row(
        lambda at: PollChanges(PEOPLE, "beginning", at.branch),
        lambda at: ("GET", f"/changes?start=beginning&branch={quote(f' {at.branch} ')}", None),
    ),
    Row(
        lambda at: EntityHistory(PEOPLE, "Person", ("Ada",), branch=at.branch),
        lambda at: ("GET", f"/history?type=Person&key=Ada&branch={at.branch}", None),
    ),
    Row(lambda at: Diff(PEOPLE, at.branch, "work"), lambda at: ("GET", f"/diff?from={at.branch}&to=work", None)),
    Row(lambda at: ShowSchema(PEOPLE), lambda at: ("GET", "/schema", None), unscoped=True),
    Row(lambda at: ShowSchema(PEOPLE), lambda at: ("GET", "/schema/accepted", None), unscoped=True),
    Row(lambda at: ShowSchema(PEOPLE, at.branch), lambda at: ("GET", f"/schema?branch={at.branch}", None)),
    Row(lambda at: ShowSchema(PEOPLE, at=at.commit), lambda at: ("GET", f"/schema?snapshot={at.commit}", None)),
    Row(
        lambda at: ShowSchema(PEOPLE, at.branch),
        lambda at: ("GET", f"/schema/accepted?branch={at.branch}", None),
    ),
    Row(
        lambda at: PlanSchema(PEOPLE, Source(at.schema), at.branch),
        lambda at: ("POST", "/schema/plan", {"schema_source": at.schema, "branch": at.branch}),
    ),
    Row(lambda at: Export(PEOPLE, io.BytesIO(), branch=at.branch), "a server streams: `export stream`"),
    Row(
        lambda at: StreamExport(PEOPLE, branch=at.branch),
        lambda at: ("POST", "/export", {"branch": at.branch}),
        client="a connected graph exports to a file: `export`",
    ),
    Row(lambda at: Baseline(PEOPLE, at.branch), lambda at: ("POST", "/changes/baseline", {"branch": at.branch})),
    Row(
        lambda at: Mutate(PEOPLE, ADD, {"n": at.name}, branch=at.branch),
        lambda at: ("POST", "/mutate", {"query": ADD, "params": {"n": at.name}, "branch": f" {at.branch} "}),
    ),
    Row(
        lambda at: Mutate(PEOPLE, ADD, {"n": at.name}, branch=at.branch),
        lambda at: ("POST", "/change", {"query_source": ADD, "params": {"n": at.name}, "branch": at.branch}),
    ),
    Row(
        lambda at: Load(PEOPLE, io.BytesIO(at.record.encode()), "merge", at.branch),
        lambda at: ("POST", "/load", {"data": at.record, "branch": at.branch}),
    ),
    Row(
        lambda at: Load(PEOPLE, io.BytesIO(at.record.encode()), "merge", at.branch),
        lambda at: ("POST", f"/load/ndjson?branch={at.branch}", at.record.encode()),
    ),
    Row(
        lambda at: Load(PEOPLE, io.BytesIO(at.record.encode()), "merge", at.name, from_=at.branch),
        lambda at: ("POST", "/load", {"data": at.record, "branch": at.name, "from": at.branch}),
    ),
    Row(
        lambda at: Embed(PEOPLE, branch=at.branch),
        lambda at: ("POST", "/embed", {"branch": at.branch}),
    ),
    Row(
        lambda at: ShowEmbeddingModel(PEOPLE, "Note", "vec", at.branch),
        lambda at: ("GET", f"/embedding-model?type=Note&property=vec&branch={at.branch}", None),
        client=MODELS,
    ),
    Row(
        lambda at: RecordEmbeddingModel(PEOPLE, "Note", "vec", DEFAULT_MODEL, True, at.branch),
        lambda at: ("POST", "/embedding-model", {**NOTED, "model": DEFAULT_MODEL, "branch": at.branch}),
        client=MODELS,
    ),
    Row(
        lambda at: Revert(PEOPLE, at.commit, at.branch),
        lambda at: ("POST", "/revert", {"commit": at.commit, "branch": at.branch}),
    ),
    Row(
        lambda at: Revert(PEOPLE, at.commit, at.branch, dry_run=True),
        lambda at: ("POST", "/revert", {"commit": at.commit, "branch": at.branch, "dry_run": True}),
    ),
    Row(
        lambda at: ApplySchema(PEOPLE, at.schema, at.branch),
        lambda at: ("POST", "/schema/apply", {"schema_source": at.schema, "branch": at.branch}),
    ),
    Row(
        lambda at: CreateBranch(PEOPLE, at.name, "work"),
        lambda at: ("POST", "/branches", {"name": at.name, "from": "work"}),
    ),
    Row(
        lambda at: DeleteBranch(PEOPLE, at.name),
        lambda at: ("DELETE", f"/branches/{at.name}", None),
        first=lambda graph, at: graph.branches.create(at.name, "work"),
    ),
    Row(
        lambda at: Merge(PEOPLE, at.name, at.branch),
        lambda at: ("POST", "/branches/merge", {"source": at.name, "target": at.branch}),
        first=lambda graph, at: graph.branches.create(at.name, at.branch),
    ),
    Row(
        lambda at: Merge(PEOPLE, at.branch, "side", dry_run=True),
        lambda at: ("POST", "/branches/merge", {"source": at.branch, "target": "side", "dry_run": True}),
    ),
    Row(
        lambda at: CreateTag(PEOPLE, at.name, at.commit),
        lambda at: ("POST", "/tags", {"name": at.name, "commit": at.commit}),
    ),
    Row(
        lambda at: DeleteTag(PEOPLE, at.name),
        lambda at: ("DELETE", f"/tags/{at.name}", None),
        first=lambda graph, at: graph.tags.create(at.name, at.commit),
    ),
    Row(lambda at: Optimize(PEOPLE, at.branch), lambda at: ("POST", "/optimize", {"branch": at.branch}), unscoped=True),
    Row(lambda at: Cleanup(PEOPLE), lambda at: ("POST", "/cleanup", {"dry_run": True}), unscoped=True),
    Row(lambda at: Verify(PEOPLE), lambda at: ("POST", "/verify", {}), unscoped=True),
    Row(lambda at: ListQueries(PEOPLE), lambda at: ("GET", "/queries", None), unscoped=True),
    Row(
        lambda at: InvokeQuery(PEOPLE, "names", branch=at.branch),
        lambda at: ("POST", "/queries/names", {"branch": at.branch}),
        hidden=("denied",),
    ),
    Row(lambda at: ListReviews(PEOPLE), lambda at: ("GET", "/reviews", None), unscoped=True),
    Row(lambda at: ShowReview(PEOPLE, at.review), lambda at: ("GET", f"/reviews/{at.review}", None), review_of=True),
    Row(lambda at: DiffReview(PEOPLE, at.review), lambda at: ("GET", f"/reviews/{at.review}/diff", None), reviewed=True),
    Row(
        lambda at: CreateReview(PEOPLE, "side", "please", at.branch),
        lambda at: ("POST", "/reviews", {"source": "side", "target": at.branch, "title": "please"}),
    ),
    Row(
        lambda at: CommentReview(PEOPLE, at.review, "hm"),
        lambda at: ("POST", f"/reviews/{at.review}/comments", {"text": "hm"}),
        reviewed=True,
    ),
    Row(lambda at: ApproveReview(PEOPLE, at.review), lambda at: ("POST", f"/reviews/{at.review}/approve", {}), reviewed=True),
    Row(
        lambda at: RequestChanges(PEOPLE, at.review, "no"),
        lambda at: ("POST", f"/reviews/{at.review}/request-changes", {"text": "no"}),
        reviewed=True,
    ),
    Row(lambda at: MergeReview(PEOPLE, at.review), lambda at: ("POST", f"/reviews/{at.review}/merge", {}), reviewed=True),
    Row(lambda at: CloseReview(PEOPLE, at.review), lambda at: ("POST", f"/reviews/{at.review}/close", {}), reviewed=True),
    Row(
        lambda at: ReopenReview(PEOPLE, at.review),
        lambda at: ("POST", f"/reviews/{at.review}/reopen", {}),
        first=lambda graph, at: graph.reviews.close(at.review),
        reviewed=True,
    ),
    Row(lambda at: Remember(PEOPLE, "Ada likes tea", at.branch), MEMORY, client=MEMORY),
    Row(lambda at: Recall(PEOPLE, "tea?", at.branch), MEMORY, client=MEMORY),
    Row(lambda at: Relate(PEOPLE, "Ada", "likes", "tea", at.branch), MEMORY, client=MEMORY),
    Row(lambda at: Forget(PEOPLE, at.branch, about="Ada"), MEMORY, client=MEMORY),
    Row(lambda at: Repair(PEOPLE), "there is nothing that a served graph could need", client="the same"),
    Row(lambda at: Init(PEOPLE, ""), "a server makes no graphs", client="the same"),
    Row(lambda at: DeleteGraph(PEOPLE), "a server deletes no graphs; a cluster does", client="the same"),
]


def test_every_operation_has_a_row() -> None:
    at = At("work", "x", "c", "")
    assert {type(row.make(at)) for row in ROWS} == every_operation()


# ── a server with a policy ───────────────────────────────────────────────────────────────────────────────────────────────────


class Guarded(Server):
    """A server with a policy, which keeps its audit, and the graph that it serves."""

    def __init__(self, path: Path) -> None:
        queries = StoredQueries.of_texts([Source(NAMES, "names.gq")])
        self.registry = Registry.of([replace(graph, queries=queries) for graph in named_graphs([str(path)])], OpenGraphs())
        authoriser = PolicyAuthoriser(
            {"people": read_bundle(POLICY, source="policy.yaml", kind=Kind.GRAPH)},
            read_bundle(ROOT, source="server.yaml", kind=Kind.SERVER),
        )
        self.audit = Kept()
        super().__init__(Application(Revision(self.registry, authoriser, Tokens.of(TOKENS.items())), audit=self.audit))
        self.graph: Any = self.registry.open(next(iter(self.registry)).ref)
        self.numbers = count()
        self.commits: dict[str, str] = {}
        self.schema = self.graph.schema()
        self.clients = {
            token: httpx.Client(
                base_url=f"{self.url}/graphs/people", headers={"Authorization": f"Bearer {token}"} if token else {}, timeout=60
            )
            for token in (*TOKENS.values(), NOBODY, STRANGER)
        }
        self.connected = {token: og.connect(self.url, graph="people", token=token) for token in self.clients}

    def at(self, branch: str, reviewed: bool = False, review_of: bool = False) -> At:
        name, review = "guarded" if branch == "main" else f"n{next(self.numbers)}", 0
        if reviewed or review_of:
            other = f"s{next(self.numbers)}"
            self.graph.branches.create(other, branch)
            source, target = (other, branch) if reviewed else (branch, other)
            self.graph.mutate(ADD, {"n": other}, branch=source)
            review = self.graph.reviews.create(source, target, title="please", actor="agent").id
        return At(branch, name, self.commits[branch], self.schema, review)

    def state(self) -> object:
        """What is not to change: where branches are, tags, what was deleted."""
        heads = {name: self.graph.commit(name).id for name in self.graph.branches.list()}
        reviews = [(r.id, r.state, len(r.comments), len(r.verdicts)) for r in self.graph.reviews.list()]
        return heads, {tag.name for tag in self.graph.tags.list()}, len(self.graph.tags.deleted()), reviews

    def close(self) -> None:
        for client in self.clients.values():
            client.close()
        for graph in self.connected.values():
            graph.close()
        super().close()
        self.registry.close()


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Guarded]:
    folder = tmp_path_factory.mktemp("guarded")
    os.environ["OMNIGRAPH_EMBEDDINGS_MOCK"] = "1"
    server = Guarded(people(folder))
    server.graph.apply_schema(server.schema + "\nnode Note { body: String  vec: Vector(4)? @embed(body) }\n")
    server.schema = server.graph.schema()
    server.commits = {"main": server.graph.commit("main").id}
    server.graph.branches.create("work", "main")
    for name in ("side", "schemas"):
        server.graph.branches.create(name, "main")
    server.commits["work"] = server.graph.mutate(ADD, {"n": "Worker"}, branch="work").commit.id
    yield server
    server.close()
    del os.environ["OMNIGRAPH_EMBEDDINGS_MOCK"]


def over_http(guarded: Guarded, row: Row, token: str, at: At) -> int:
    assert not isinstance(row.http, str)
    method, path, body = row.http(at)
    if isinstance(body, bytes):
        found = guarded.clients[token].request(method, path, content=body, headers={"Content-Type": "application/x-ndjson"})
    else:
        found = guarded.clients[token].request(method, path, json=body)
    if found.status_code == 404:
        assert found.json()["error"] in (f"commit '{at.commit}' not found", "stored query not found")
    return found.status_code


def by_client(guarded: Guarded, row: Row, token: str, at: At) -> int:
    operation: Any = row.make(at)
    try:
        operation.on(guarded.connected[token], Caller(None, Origin.CLI))
    except NotFound:
        return 404
    except Forbidden as error:
        return 401 if "bearer token" in error.message else 403
    return 200


BEFOREHAND = {"schema show", "commit show"}
"""What a connected graph may have to look at first. Neither names a branch, so a rule about branches does not allow it."""

SURFACES = {"http": over_http, "client": by_client}
CELLS = [
    pytest.param(surface, row, id=f"{surface}-{number}-{row.make(At('work', 'x', 'c', '')).name}")
    for surface in SURFACES
    for number, row in enumerate(ROWS)
    if not isinstance(row.http if surface == "http" else row.client, str)
]


@pytest.mark.parametrize(("surface", "row"), CELLS)
def test_who_may_and_who_may_not(guarded: Guarded, surface: str, row: Row) -> None:
    ask, refused = SURFACES[surface], dict.fromkeys(row.hidden, 404)
    answers = (
        ("no token", NOBODY, "work", 401),
        ("wrong token", STRANGER, "work", 401),
        ("denied", TOKENS["dora"], "work", refused.get("denied", 403)),
        ("protected branch", TOKENS["carl"], "main", refused.get("protected branch", 403)),
        ("unprotected branch", TOKENS["carl"], "work", 403 if row.unscoped else 200),
        ("allowed", TOKENS["anna"], "work", 200),
    )
    for column, token, branch, status in answers:
        at = guarded.at(branch, row.reviewed, row.review_of)
        if status == 200:
            row.first(guarded.graph, at)
        before = guarded.state()
        guarded.audit.records.clear()
        answer = ask(guarded, row, token, at)
        records = list(guarded.audit.records)
        denied = [r for r in records if r.outcome == "denied"]
        if surface == "client" and column == "unprotected branch" and (status, answer) == (200, 403):
            assert {r.operation for r in denied} <= BEFOREHAND, column
            status = answer
        assert answer == status, column
        if status == 200:
            operation = row.make(at)
            own = [(r.kind, r.outcome) for r in records if r.operation == operation.name]
            assert not denied, column
            if surface == "http":
                assert {r.rule for r in records} <= {"everything", "branches", "targets", "queries"}, column
                assert ("decision", "allowed") in own, column
                assert len([kind for kind, _ in own if kind == "write"]) == operation.writes, column
        else:
            assert guarded.state() == before, column
            assert len(denied) == 1, column
            if status == 401:
                [record] = denied
                assert (record.actor, record.rule, record.graph, record.origin) == (None, "no-token", "people", "http"), column
                assert record.request_id, column
                assert STRANGER not in json.dumps(record.to_dict()), column
            assert not [r for r in records if r.kind == "write"], column
            if surface == "http" and status != 401:
                assert [r.operation for r in denied] == [row.make(at).name], column


def test_the_server_itself(guarded: Guarded) -> None:
    found = {token: client.get(f"{guarded.url}/graphs").status_code for token, client in guarded.clients.items()}
    assert found == {token: {NOBODY: 401, STRANGER: 401, TOKENS["anna"]: 200}.get(token, 403) for token in found}


def test_whoever_may_apply_a_schema_need_not_be_allowed_to_read(guarded: Guarded) -> None:
    schema = guarded.schema.replace("age: I32?", "age: I32?  shoe: I32?")
    done = guarded.clients[TOKENS["sven"]].post("/schema/apply", json={"schema_source": schema, "branch": "schemas"})
    assert (done.status_code, done.json()["applied"]) == (200, True), "what was done is not answered as if it were denied"
    assert guarded.clients[TOKENS["sven"]].get("/snapshot?branch=schemas").status_code == 403


# ── the command line ─────────────────────────────────────────────────────────────────────────────────────────────────────────

LINES: dict[str, list[str]] = {
    "query": ["query", "-e", NAMES, "--branch", "{branch}"],
    "mutate": ["mutate", "-e", ADD, "--params", '{"n": "{name}"}', "--branch", "{branch}"],
    "load": ["load", "--data", "{file}", "--mode", "merge", "--branch", "{branch}"],
    "overwrite": ["load", "--data", "{file}", "--mode", "overwrite", "--branch", "{branch}", "--allow-empty", "--yes"],
    "export": ["export", "--branch", "{branch}", "--out", "{out}"],
    "snapshot": ["snapshot", "--branch", "{branch}"],
    "commit list": ["commit", "list", "--branch", "{branch}"],
    "changes poll": ["changes", "poll", "--start", "beginning", "--branch", "{branch}"],
    "branch create": ["branch", "create", "{name}", "--from", "work"],
    "schema apply": ["schema", "apply", "--schema", "{schema}", "--branch", "{branch}"],
    "merge": ["branch", "merge", "side", "--into", "{branch}"],
    "diff": ["diff", "{branch}", "work"],
}


@pytest.mark.parametrize("name", LINES)
def test_commands_through_a_server(
    guarded: Guarded, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    monkeypatch.setenv("OMNIGRAPH_HOME", str(tmp_path))
    for column, token, branch, code in (
        ("no token", NOBODY, "work", 1),
        ("wrong token", STRANGER, "work", 1),
        ("denied", TOKENS["dora"], "work", 1),
        ("protected branch", TOKENS["carl"], "main", 1),
        ("allowed", TOKENS["anna"], "work", 0),
    ):
        at = guarded.at(branch)
        (tmp_path / "schema.pg").write_text(at.schema)
        (tmp_path / "file.jsonl").write_text(at.record + "".join(replace(at, name=name).record for name in ("Ada", "Bob")))
        values = {"branch": at.branch, "name": at.name, "file": "file.jsonl", "schema": "schema.pg", "out": "out.jsonl"}
        paths = {key: str(tmp_path / value) if key in ("file", "schema", "out") else value for key, value in values.items()}
        words = LINES[name]
        for key, value in paths.items():
            words = [word.replace(f"{{{key}}}", value) for word in words]
        monkeypatch.setenv("OMNIGRAPH_BEARER_TOKEN", token)
        before = guarded.state()
        guarded.audit.records.clear()
        ended = run([*words, "--server", guarded.url, "--graph", "people", "--quiet", "--json"])
        shown = capsysbinary.readouterr()
        assert ended == code, (column, shown)
        if code:
            assert json.loads(shown.out or shown.err)["code"] == "forbidden", column
            assert guarded.state() == before, column
            denied = [r for r in guarded.audit.records if r.outcome == "denied"]
            assert denied, column
            assert all((r.actor is None) is (token in (NOBODY, STRANGER)) for r in denied), column
            assert len({r.request_id for r in denied}) == len(denied), (
                "a command may ask several times, and each leaves one record"
            )
            assert not [r for r in guarded.audit.records if r.kind == "write"], column
