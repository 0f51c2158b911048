"""The rows of the matrix: every operation, how it is made, and how it is asked for over HTTP and as a tool.

A text in place of a request says why a surface does not offer the operation.
"""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from typing import Any
from urllib.parse import quote

from omnigraph.cluster.applying.operations import Deploy, ListDeployments, PlanDeployment, ShowDeployment
from omnigraph.cluster.config.files import SentFiles
from omnigraph.embedding import DEFAULT_MODEL
from omnigraph.language.source import Source
from omnigraph.memory import Memory
from omnigraph.model.frozen import frozen
from omnigraph.service import GraphRef, Service
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

NOTED = {"type": "Note", "property": "vec", "made_up": True}
MODELS = "a connected graph asks by the route itself: tests/memory/test_memory.py"
NAMES = "query names() { match { $p: Person } return { $p.name } }"
KNOWS = "query knows() { match { $p: Person  $p knows $q } return { $p.name, $q.name } }"
ADD = "query add($n: String) { insert Person { name: $n } }"
PEOPLE = GraphRef("people")
TEAM = GraphRef("team")
ROOT = GraphRef("cluster", id="root")
SENT = SentFiles({"cluster.yaml": "version: 1"}, "cluster", "cluster")
OF_A_CLUSTER = "it is about the cluster, not about a graph: tests/surfaces/http/test_deployments.py"
TOOL = "this row is about the tool"


@frozen
class At:
    """What a row is asked about: a branch, a name that is free, a commit of the branch, and the schema of the graph."""

    branch: str
    name: str
    commit: str
    schema: str
    review: int = 0
    """A review that asks to merge into the branch, for rows about reviews…"""
    source: str = ""
    """…and the commit that it asks to merge."""

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
    tool: str = ""
    """The tool that offers it, for rows about tools…"""
    arguments: Callable[[At], dict[str, Any]] = lambda at: {"branch": at.branch}
    """…what it is given…"""
    graph: str = "people"
    """…and of which graph."""


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
    Row(lambda at: Repair(PEOPLE), "there is nothing that a served graph could need", client="the same"),
    Row(lambda at: Init(PEOPLE, ""), "a server makes no graphs", client="the same"),
    Row(lambda at: DeleteGraph(PEOPLE), "a server deletes no graphs; a cluster does", client="the same"),
    Row(lambda at: PlanDeployment(ROOT, SENT, nobody), OF_A_CLUSTER, client="the same"),
    Row(lambda at: Deploy(ROOT, SENT, nobody, "d1"), OF_A_CLUSTER, client="the same"),
    Row(lambda at: ListDeployments(ROOT), OF_A_CLUSTER, client="the same"),
    Row(lambda at: ShowDeployment(ROOT, "d1"), OF_A_CLUSTER, client="the same"),
]


def nobody() -> Service:
    """Who would do it."""
    raise AssertionError("nothing is done here")


def _of_a_review(at: At) -> dict[str, Any]:
    return {"review": at.review, "commit": at.source}


def _remembered(graph: Any, at: At) -> None:
    Memory(graph, agent="ada", branch=at.branch).remember(f"Ada likes {at.name}", about=["Ada"])


TOOL_ROWS: list[Row] = [
    Row(
        lambda at: Query(PEOPLE, NAMES, branch=at.branch),
        TOOL,
        tool="query",
        arguments=lambda at: {"query": NAMES, "branch": at.branch},
    ),
    Row(
        lambda at: Query(PEOPLE, NAMES, at=at.commit),
        TOOL,
        tool="query",
        arguments=lambda at: {"query": NAMES, "snapshot": at.commit},
    ),
    Row(
        lambda at: Explain(PEOPLE, NAMES, branch=at.branch),
        TOOL,
        tool="query_explain",
        arguments=lambda at: {"query": NAMES, "branch": at.branch},
    ),
    Row(
        lambda at: ShowSchema(PEOPLE, at.branch),
        TOOL,
        tool="query_lint",
        arguments=lambda at: {"query": NAMES, "branch": at.branch},
    ),
    Row(lambda at: ShowSchema(PEOPLE, "main"), TOOL, unscoped=True, tool="schema_get", arguments=lambda at: {}),
    Row(lambda at: Snapshot(PEOPLE, at.branch), TOOL, tool="snapshot"),
    Row(lambda at: ListBranches(PEOPLE), TOOL, unscoped=True, tool="branches_list", arguments=lambda at: {}),
    Row(lambda at: ListTags(PEOPLE), TOOL, unscoped=True, tool="tags_list", arguments=lambda at: {}),
    Row(lambda at: ListCommits(PEOPLE, at.branch), TOOL, tool="commits_list"),
    Row(lambda at: ShowCommit(PEOPLE, at.commit), TOOL, tool="commits_get", arguments=lambda at: {"commitId": at.commit}),
    Row(lambda at: ShowCommit(PEOPLE, at.branch), TOOL, tool="commits_get", arguments=lambda at: {"commitId": at.branch}),
    Row(
        lambda at: CommitChanges(PEOPLE, at.commit),
        TOOL,
        hidden=("protected branch",),
        tool="commits_changes",
        arguments=lambda at: {"commitId": at.commit},
    ),
    Row(
        lambda at: PollChanges(PEOPLE, "beginning", at.branch),
        TOOL,
        tool="changes_poll",
        arguments=lambda at: {"start": "beginning", "branch": f" {at.branch} "},
    ),
    Row(
        lambda at: EntityHistory(PEOPLE, "Person", ("Ada",), branch=at.branch),
        TOOL,
        tool="history",
        arguments=lambda at: {"type": "Person", "key": "Ada", "branch": at.branch},
    ),
    Row(
        lambda at: Diff(PEOPLE, at.branch, "work"),
        TOOL,
        tool="diff",
        arguments=lambda at: {"from": at.branch, "to": "work"},
    ),
    Row(
        lambda at: Mutate(PEOPLE, ADD, {"n": at.name}, branch=at.branch),
        TOOL,
        tool="mutate",
        arguments=lambda at: {"query": ADD, "params": {"n": at.name}, "branch": f" {at.branch} "},
    ),
    Row(
        lambda at: Load(PEOPLE, io.BytesIO(at.record.encode()), "merge", at.branch),
        TOOL,
        tool="load",
        arguments=lambda at: {"data": at.record, "mode": "merge", "branch": at.branch},
    ),
    Row(
        lambda at: Load(PEOPLE, io.BytesIO(at.record.encode()), "merge", at.name, from_=at.branch),
        TOOL,
        tool="load",
        arguments=lambda at: {"data": at.record, "mode": "merge", "branch": at.name, "from": at.branch},
    ),
    Row(
        lambda at: CreateBranch(PEOPLE, at.name, at.branch),
        TOOL,
        tool="branches_create",
        arguments=lambda at: {"name": at.name, "from": at.branch},
    ),
    Row(
        lambda at: DeleteBranch(PEOPLE, at.name),
        TOOL,
        first=lambda graph, at: graph.branches.create(at.name, at.branch),
        tool="branches_delete",
        arguments=lambda at: {"name": at.name},
    ),
    Row(
        lambda at: Merge(PEOPLE, at.name, at.branch),
        TOOL,
        first=lambda graph, at: graph.branches.create(at.name, at.branch),
        tool="branches_merge",
        arguments=lambda at: {"source": at.name, "target": at.branch},
    ),
    Row(lambda at: InvokeQuery(PEOPLE, "names", branch=at.branch), TOOL, tool="names"),
    Row(lambda at: ListReviews(PEOPLE), TOOL, unscoped=True, tool="reviews_list", arguments=lambda at: {}),
    Row(
        lambda at: ShowReview(PEOPLE, at.review),
        TOOL,
        review_of=True,
        tool="reviews_show",
        arguments=lambda at: {"review": at.review},
    ),
    Row(
        lambda at: CreateReview(PEOPLE, "side", "please", at.branch),
        TOOL,
        tool="reviews_create",
        arguments=lambda at: {"title": "please", "source": "side", "target": at.branch},
    ),
    Row(
        lambda at: CommentReview(PEOPLE, at.review, "hm"),
        TOOL,
        reviewed=True,
        tool="reviews_comment",
        arguments=lambda at: {"review": at.review, "text": "hm"},
    ),
    Row(lambda at: ApproveReview(PEOPLE, at.review), TOOL, reviewed=True, tool="reviews_approve", arguments=_of_a_review),
    Row(lambda at: MergeReview(PEOPLE, at.review), TOOL, reviewed=True, tool="reviews_merge", arguments=_of_a_review),
    Row(
        lambda at: Remember(TEAM, "Ada likes tea", at.branch),
        TOOL,
        tool="remember",
        arguments=lambda at: {"text": f"Ada likes {at.name}", "branch": at.branch},
        graph="team",
    ),
    Row(
        lambda at: Recall(TEAM, "tea?", at.branch),
        TOOL,
        tool="recall",
        arguments=lambda at: {"question": "tea?", "branch": at.branch},
        graph="team",
    ),
    Row(
        lambda at: Relate(TEAM, "Ada", "likes", "tea", at.branch),
        TOOL,
        tool="relate",
        arguments=lambda at: {"subject": "Ada", "how": "likes", "object": at.name, "branch": at.branch},
        graph="team",
    ),
    Row(
        lambda at: Forget(TEAM, at.branch, about="Ada"),
        TOOL,
        first=_remembered,
        tool="forget",
        arguments=lambda at: {"about": "Ada", "branch": at.branch},
        graph="team",
    ),
]
"""Every tool that asks the door."""
