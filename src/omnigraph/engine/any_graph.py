"""What a graph is to those who use it, wherever it is: open in this process (`og.open`) or behind a server (`og.connect`).

    def newest(graph: og.AnyGraph) -> str:
        return graph.commits(limit=1)[0].id

Both have these methods, with the same parameters, results and errors; a test compares their signatures. What one of them cannot
do it refuses with a `ScopeError` that says what to do: a server takes the actor from the token, and has no place for a
quarantine, for Spark, or for a provider of one's own. Graph analytics and transactions are of an open graph alone, and queries
are stored by a server alone.
"""

from __future__ import annotations

import builtins
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import timedelta
from pathlib import Path
from threading import Event
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, Protocol

from omnigraph.engine.export.bounds import SUBGRAPH_ROWS
from omnigraph.engine.history.bounds import DEFAULT_BYTES, DEFAULT_CHANGES, DEFAULT_COMMITS

if TYPE_CHECKING:
    from omnigraph.catalog.catalog import Kind
    from omnigraph.catalog.migration import MigrationPlan
    from omnigraph.catalog.signature import QuerySignature
    from omnigraph.embedding import Embedder
    from omnigraph.embedding.pace import Pace
    from omnigraph.engine.calls.arguments import AnyPath, State
    from omnigraph.engine.execution.explain import Explanation
    from omnigraph.engine.execution.result import Result
    from omnigraph.engine.execution.stream import Stream
    from omnigraph.engine.export.entities import Direction, Edge, Key, Neighbor, Node
    from omnigraph.engine.export.lines import ByteSink, Exported
    from omnigraph.engine.export.subgraph import Subgraph
    from omnigraph.engine.history.baseline import Baseline
    from omnigraph.engine.history.blocks import Block
    from omnigraph.engine.history.conflicts import Resolve
    from omnigraph.engine.history.diff import Diff
    from omnigraph.engine.history.entity import EntityHistory
    from omnigraph.engine.history.feed import ChangePage
    from omnigraph.engine.history.merge import Merge
    from omnigraph.engine.history.past import Names
    from omnigraph.engine.inspect import Blob, GraphSnapshot, Stats
    from omnigraph.engine.load.read.inputs.sources import Source
    from omnigraph.engine.load.read.rows.modes import ModeName
    from omnigraph.engine.load.run.progress import Report
    from omnigraph.engine.load.run.result import LoadResult
    from omnigraph.engine.load.run.runners import Runner
    from omnigraph.engine.planning.prepared import QueryText
    from omnigraph.engine.query_files import Queries
    from omnigraph.engine.reading import TraversalName
    from omnigraph.engine.reviews.front import AnyReview
    from omnigraph.engine.reviews.review import Review, ReviewDiff, ReviewList, ReviewState
    from omnigraph.engine.schema.apply import Backfills, Expressions, SchemaApplied
    from omnigraph.engine.upkeep.embedding import Embedded
    from omnigraph.engine.upkeep.reconcile import Optimized, TypeOutcome
    from omnigraph.engine.write.receipt import Receipt
    from omnigraph.policy.port import ReviewRule
    from omnigraph.storage.commits.deleted_tags import DeletedTag
    from omnigraph.storage.commits.lineage import Commit, CommitList
    from omnigraph.storage.commits.refs import Ref, Tag
    from omnigraph.storage.reclaiming.reclaim import ReclaimReport
    from omnigraph.storage.reclaiming.verify import VerifyReport


class AnySession(Protocol):
    """Several reads of one commit: `with g.session() as s: s.query(…)`."""

    def __enter__(self) -> AnySession:
        """As a context."""
        ...

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        """Its end."""
        ...

    @property
    def graph_commit_id(self) -> str:
        """The commit that is read."""
        ...

    def query(
        self,
        source: QueryText,
        params: Mapping[str, object] | None = None,
        *,
        name: str | None = None,
        timeout: float | None = None,
        memory_limit: int | None = None,
        cancel: Event | None = None,
    ) -> Result:
        """The answer to a read."""
        ...


class AnyBranches(Protocol):
    """The branches of a graph: `g.branches`."""

    def create(self, name: str, from_: State = "main", *, actor: str | None = None) -> Ref:
        """A branch that starts where another branch is, or at a commit or tag. `actor` created it."""
        ...

    def get(self, name: str) -> Ref:
        """A branch: where it came from, who created it and when."""
        ...

    def list(self) -> list[str]:
        """Names, sorted."""
        ...

    def delete(self, name: str, *, actor: str | None = None) -> Commit | None:
        """Forget a branch. Its commits stay reachable through branches made from it, and tags."""
        ...


class AnyTags(Protocol):
    """The tags of a graph: `g.tags`."""

    def create(self, name: str, commit: State, *, actor: str | None = None) -> Tag:
        """A name for a commit (or for the newest of a branch), which is then never reclaimed. `actor` created it."""
        ...

    def deleted(self) -> builtins.list[DeletedTag]:
        """Tags that were deleted, by name: what they named, who deleted them and when. Of each name the last deletion."""
        ...

    def list(self) -> builtins.list[Tag]:
        """Every tag, by name."""
        ...

    def delete(self, name: str, *, actor: str | None = None) -> DeletedTag | None:
        """Forget a name. That `actor` deleted it is recorded until the name is deleted again; None if the tag was damaged."""
        ...


class AnyReviews(Protocol):
    """The reviews of a graph: `g.reviews`. A review is named by its number, or given as it was read."""

    def create(self, source: str, target: str = "main", *, title: str, description: str = "", actor: str | None = None) -> Review:
        """Ask for a branch to be merged into another. `actor` is the author."""
        ...

    def get(self, review: AnyReview) -> Review:
        """A review as it is now."""
        ...

    def list(
        self,
        *,
        state: Iterable[ReviewState] | ReviewState | None = None,
        source: str | None = None,
        target: str | None = None,
        author: str | None = None,
        limit: int | None = None,
        before: int | None = None,
    ) -> ReviewList:
        """Reviews, newest first: in these states, of this source, target or author; so many, older than a number."""
        ...

    def diff(self, review: AnyReview) -> ReviewDiff:
        """What the source of a review adds since it parted from the target, and what merging it now would do."""
        ...

    def comment(
        self,
        review: AnyReview,
        text: str,
        *,
        type: str | None = None,
        id: str | None = None,
        property: str | None = None,
        actor: str | None = None,
    ) -> Review:
        """Say something about a review, about an entity (its `type` and `id`), or about a `property` of one."""
        ...

    def approve(
        self, review: AnyReview, *, commit: State | None = None, text: str | None = None, actor: str | None = None
    ) -> Review:
        """Approve what the source of a review has now. `commit` is what was seen: refused if the source has moved."""
        ...

    def request_changes(self, review: AnyReview, text: str, *, commit: State | None = None, actor: str | None = None) -> Review:
        """Ask for changes: until the source moves, or whoever asked approves, the review is not merged."""
        ...

    def merge(
        self,
        review: AnyReview,
        *,
        commit: State | None = None,
        resolve: Resolve = None,
        strict: bool = False,
        rules: Sequence[ReviewRule] = (),
        actor: str | None = None,
        message: str | None = None,
    ) -> Review:
        """Merge the source of a review into its target, and write down who did and who had approved."""
        ...

    def close(self, review: AnyReview, *, text: str | None = None, actor: str | None = None) -> Review:
        """End a review without a merge. What it kept readable may be reclaimed afterwards."""
        ...

    def reopen(self, review: AnyReview, *, text: str | None = None, actor: str | None = None) -> Review:
        """Go on with a review that was closed. Its source must be there."""
        ...


class AnyGraph(Protocol):
    """A graph, open here or behind a server."""

    def __enter__(self) -> AnyGraph:
        """As a context."""
        ...

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        """Its end."""
        ...

    @property
    def branches(self) -> AnyBranches:
        """Its branches."""
        ...

    @property
    def tags(self) -> AnyTags:
        """Its tags."""
        ...

    @property
    def reviews(self) -> AnyReviews:
        """Its reviews."""
        ...

    @property
    def uri(self) -> str:
        """Where the graph is: a folder, or an address in an object store."""
        ...

    def close(self) -> None:
        """Let go of the memory, and wait for what is being saved. The graph itself needs no closing."""
        ...

    def query(
        self,
        source: QueryText,
        params: Mapping[str, object] | None = None,
        *,
        name: str | None = None,
        branch: str | None = None,
        at: State | None = None,
        traversal: TraversalName | None = None,
        timeout: float | None = None,
        memory_limit: int | None = None,
        cancel: Event | None = None,
    ) -> Result:
        """The answer to a read. `name` picks one query of a text that holds several; `at` reads the past."""
        ...

    def session(self, branch: str | None = None, at: State | None = None) -> AnySession:
        """One view for several reads: what others commit meanwhile is not seen."""
        ...

    def stream(
        self,
        source: QueryText,
        params: Mapping[str, object] | None = None,
        *,
        name: str | None = None,
        branch: str | None = None,
        at: State | None = None,
        timeout: float | None = None,
        memory_limit: int | None = None,
        cancel: Event | None = None,
    ) -> Stream:
        """The answer as Arrow batches, each as soon as it is there; its `rows()` gives dicts, one after the other."""
        ...

    def explain(
        self,
        source: QueryText,
        params: Mapping[str, object] | None = None,
        *,
        name: str | None = None,
        branch: str | None = None,
        at: State | None = None,
        analyze: bool = False,
        traversal: TraversalName | None = None,
    ) -> Explanation:
        """How a read is answered. With `analyze` it is run, and rows and times are shown."""
        ...

    def subgraph(
        self,
        source: QueryText,
        params: Mapping[str, object] | None = None,
        *,
        name: str | None = None,
        branch: str | None = None,
        at: State | None = None,
        limit: int = SUBGRAPH_ROWS,
    ) -> Subgraph:
        """The nodes and edges that the pattern of a read matched, instead of the values it returns."""
        ...

    def get(
        self, type: str, key: Key | None = None, *, id: str | None = None, branch: str | None = None, at: State | None = None
    ) -> Node | Edge | None:
        """A node or an edge by its key, or by its id; None if there is none."""
        ...

    def neighbors(
        self,
        type: str,
        key: Key,
        *,
        edges: Iterable[str] | str | None = None,
        direction: Direction = "both",
        limit: int | None = None,
        branch: str | None = None,
        at: State | None = None,
    ) -> builtins.list[Neighbor]:
        """The nodes next to one, each with the edge that connects them, by edge type; through all edge types or some."""
        ...

    def blob(
        self, entity: Kind, type: str, id: str, property: str, *, branch: str | None = None, at: State | None = None
    ) -> Blob:
        """A Blob property of one node or edge: its bytes, or the URI it refers to."""
        ...

    def stats(self, branch: str | None = None, at: State | None = None) -> Stats:
        """How many of what there is, what is indexed, and how memory is used."""
        ...

    def snapshot(self, branch: str | None = None, at: State | None = None) -> GraphSnapshot:
        """What stands where at the newest commit of a branch, or at a commit or tag."""
        ...

    def commits(self, branch: str = "main", limit: int | None = None, *, maintenance: bool = False) -> CommitList:
        """Commits of a branch, newest first; with `maintenance` also those that only changed how the graph is stored."""
        ...

    def commit(self, commit: State, *, maintenance: bool = False) -> Commit:
        """A commit by id, or the one that a branch or tag names."""
        ...

    def history(
        self, type: str, key: Key | None = None, *, id: str | None = None, branch: str = "main", limit: int | None = None
    ) -> EntityHistory:
        """Every commit of a branch that changed an entity, newest first, with its values before and after."""
        ...

    def diff(self, before: State, after: State, *, kinds: Names = None, types: Names = None, ops: Names = None) -> Diff:
        """What differs between two branches, tags or commits. What it costs follows what differs."""
        ...

    def changes(
        self,
        since: str = "now",
        *,
        branch: str = "main",
        limit: int = DEFAULT_CHANGES,
        max_bytes: int = DEFAULT_BYTES,
        max_commits: int = DEFAULT_COMMITS,
        kinds: Names = None,
        types: Names = None,
        ops: Names = None,
    ) -> ChangePage:
        """What was committed to a branch since a cursor, `now`, the `beginning`, or `after:<commit>`: a page of it."""
        ...

    def commit_changes(
        self,
        commit: State,
        *,
        page_token: str | None = None,
        limit: int = DEFAULT_CHANGES,
        max_bytes: int = DEFAULT_BYTES,
        kinds: Names = None,
        types: Names = None,
        ops: Names = None,
    ) -> Block:
        """What one commit changed, against its first parent. `next_page_token` leads to the rest, if there is any."""
        ...

    def baseline(self, branch: str = "main", *, kinds: Names = None, types: Names = None, ops: Names = None) -> Baseline:
        """Everything at the newest commit of a branch, and the cursor to follow its changes from there."""
        ...

    def merge(
        self,
        source: str,
        into: str = "main",
        *,
        dry_run: bool = False,
        resolve: Resolve = None,
        strict: bool = False,
        actor: str | None = None,
        message: str | None = None,
        idempotency_key: str | None = None,
    ) -> Merge:
        """Merge a branch into another, as one commit with two parents."""
        ...

    def revert(
        self,
        commit: State,
        branch: str = "main",
        *,
        dry_run: bool = False,
        resolve: Resolve = None,
        strict: bool = False,
        actor: str | None = None,
        message: str | None = None,
    ) -> Merge:
        """Undo what a commit did, by a new commit. What happened since to the same entities comes up as conflicts."""
        ...

    def mutate(
        self,
        source: QueryText,
        params: Mapping[str, object] | None = None,
        *,
        name: str | None = None,
        branch: str = "main",
        if_commit: State | None = None,
        actor: str | None = None,
        message: str | None = None,
        idempotency_key: str | None = None,
        embed: bool = False,
    ) -> Receipt:
        """Run inserts and updates, or deletes, as one commit. `if_commit`: only while the branch is at this commit."""

    def queries(self, path: AnyPath, *, branch: str | None = None, at: State | None = None, actor: str | None = None) -> Queries:
        """The queries of a `.gq` file as functions with typed parameters: `g.queries("lib.gq").friends(n="Ada")`."""
        ...

    def stored_queries(self) -> list[QuerySignature]:
        """The queries that a server stores with the graph, by name, as far as whoever asks may invoke them."""

    def invoke(
        self,
        name: str,
        params: Mapping[str, object] | None = None,
        *,
        branch: str | None = None,
        at: State | None = None,
        if_commit: State | None = None,
        expect_mutation: bool | None = None,
        message: str | None = None,
        idempotency_key: str | None = None,
        cancel: Event | None = None,
    ) -> Result | Receipt:
        """Run a stored query: a read gives a `Result`, a mutation a `Receipt`. `expect_mutation`: which it must be."""

    def put(
        self,
        type: str,
        values: Mapping[str, object],
        *,
        patch: bool = False,
        branch: str = "main",
        if_commit: State | None = None,
        actor: str | None = None,
        message: str | None = None,
        idempotency_key: str | None = None,
    ) -> Receipt:
        """A node, as one commit. It *replaces* the node with its key; with `patch` only what is given changes."""

    def put_edge(
        self,
        type: str,
        from_: Key,
        to: Key,
        values: Mapping[str, object] | None = None,
        *,
        patch: bool = False,
        branch: str = "main",
        if_commit: State | None = None,
        actor: str | None = None,
        message: str | None = None,
        idempotency_key: str | None = None,
    ) -> Receipt:
        """An edge between two nodes, by their keys, as one commit. It replaces the edge with its key as `put` does a node."""

    def load(
        self,
        source: Source,
        *,
        mode: ModeName = "merge",
        branch: str = "main",
        from_: State | None = None,
        actor: str | None = None,
        message: str | None = None,
        dialect: Literal["strict", "compatible"] = "strict",
        progress: bool | Report | None = None,
        engine: Literal["auto", "local", "spark"] | Runner = "auto",
        types: Mapping[str, str] | None = None,
        quarantine: str | os.PathLike[str] | None = None,
        lossy: Literal["round"] | None = None,
        max_bad: float | None = None,
        allow_empty: bool = False,
        skip_unknown: bool = False,
        idempotency_key: str | None = None,
        embed: bool = False,
    ) -> LoadResult:
        """Load files, frames or records as one commit. All that is wrong with them is reported, and then nothing is changed."""

    def delete(
        self,
        source: Mapping[str, Any],
        *,
        branch: str = "main",
        actor: str | None = None,
        message: str | None = None,
        engine: Literal["auto", "local", "spark"] | Runner = "auto",
        idempotency_key: str | None = None,
    ) -> LoadResult:
        """Delete entities by their keys, as one commit: `g.delete({"Person": ["Ada", "Bob"], "Knows": frame_of_ids})`."""
        ...

    def export(
        self,
        target: AnyPath | ByteSink,
        *,
        format: Literal["jsonl", "parquet", "csv"] = "jsonl",
        types: Iterable[str] | None = None,
        branch: str | None = None,
        at: State | None = None,
        progress: Callable[[int], None] | None = None,
    ) -> Exported:
        """Write a graph, or some of its types, as JSON lines, or as a folder of Parquet or CSV files, one per type."""
        ...

    def plan_schema(
        self,
        schema: str | Path,
        *,
        branch: str = "main",
        allow_data_loss: bool = False,
        backfill: Backfills | None = None,
        compute: Expressions | None = None,
    ) -> MigrationPlan:
        """What it takes to get from the schema of a branch to another one. Nothing is changed."""
        ...

    def apply_schema(
        self,
        schema: str | Path,
        *,
        branch: str = "main",
        also: Sequence[str] = (),
        allow_data_loss: bool = False,
        backfill: Backfills | None = None,
        compute: Expressions | None = None,
        actor: str | None = None,
    ) -> SchemaApplied:
        """Give a branch another schema, as one commit. Other branches keep theirs; older commits are read with their own."""
        ...

    def schema(self, branch: str | None = None, at: State | None = None) -> str:
        """The text of the schema."""
        ...

    def optimize(
        self, branch: str = "main", *, progress: Callable[[TypeOutcome], None] | None = None, actor: str | None = None
    ) -> Optimized:
        """Pack small fragments and complete every declared index. Safe beside writers, and never needed for an answer."""

    def embed(
        self,
        *,
        types: Sequence[str] | None = None,
        branch: str = "main",
        embedder: Embedder | None = None,
        pace: Pace | None = None,
        again: bool = False,
        timeout: float | None = None,
        actor: str | None = None,
    ) -> Embedded:
        """Vectors of `@embed` properties where they are missing or their text has changed, one commit per property."""

    def verify(self, *, deep: bool = False, content: bool = False) -> VerifyReport:
        """Whether everything the graph refers to is there; `deep` looks at every retained commit."""
        ...

    def cleanup(
        self, keep: int = 10, older_than: str | timedelta = "7d", *, dry_run: bool = True, actor: str | None = None
    ) -> ReclaimReport:
        """Give back the space of old commits; unless `dry_run` is False it is only said what would go."""
        ...
