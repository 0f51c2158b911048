"""Every route of the server."""

from __future__ import annotations

from typing import Final

from omnigraph.surfaces.http.handlers import (
    about,
    blobs,
    branches,
    changes,
    exporting,
    history,
    loading,
    reading,
    stored,
    writing,
)
from omnigraph.surfaces.http.routing import LARGE_BODY, Route
from omnigraph.wire import outputs as o
from omnigraph.wire import requests as q

P: Final = "/graphs/{graph_id}"

ROUTES: Final = (
    Route("GET", "/healthz", about.health, "health", "That the server runs", open=True, answer=o.HealthOutput),
    Route("GET", "/readyz", about.ready, "ready", "Whether it takes requests", open=True, answer=o.ReadyOutput),
    Route("GET", "/metrics", about.metrics, "metrics", "Numbers for Prometheus", documented=False),
    Route("GET", "/docs", about.docs, "docs", "This description for people", open=True, documented=False),
    Route("GET", "/openapi.json", about.openapi, "openapi", "This description", open=True, documented=False),
    Route("GET", "/graphs", about.list_graphs, "listGraphs", "The graphs that are served", answer=o.GraphListResponse),
    Route("GET", f"{P}/snapshot", history.snapshot, "cluster_getSnapshot", "What a branch holds", answer=o.SnapshotOutput),
    Route("GET", f"{P}/blob", blobs.blob, "cluster_getBlob", "The bytes of a Blob"),
    Route("POST", f"{P}/query", reading.query, "cluster_query", "A read", body=q.QueryRequest, answer=o.ReadOutput),
    Route(
        "POST",
        f"{P}/read",
        reading.read,
        "cluster_read",
        "A read, as earlier clients spell it",
        body=q.ReadRequest,
        answer=o.LegacyReadOutput,
        deprecated_for="query",
    ),
    Route("POST", f"{P}/mutate", writing.mutate, "cluster_mutate", "A mutation", body=q.ChangeRequest, answer=o.ChangeOutput),
    Route(
        "POST",
        f"{P}/mutate/if-graph-commit",
        writing.mutate_if,
        "cluster_mutate_if_graph_commit",
        "A mutation, if the branch is at a commit",
        body=q.ChangeRequest,
        answer=o.ChangeOutput,
    ),
    Route(
        "POST",
        f"{P}/change",
        writing.mutate,
        "cluster_change",
        "A mutation, as earlier clients spell it",
        body=q.ChangeRequest,
        answer=o.ChangeOutput,
        deprecated_for="mutate",
    ),
    Route(
        "GET", f"{P}/queries", stored.list_queries, "cluster_list_queries", "The stored queries", answer=o.QueriesCatalogOutput
    ),
    Route("POST", f"{P}/queries/{{name}}", stored.invoke, "cluster_invoke_query", "Run a stored query", answer=o.ReadOutput),
    Route(
        "POST",
        f"{P}/queries/{{name}}/if-graph-commit",
        stored.invoke_if,
        "cluster_invoke_query_if_graph_commit",
        "Run a stored mutation, if the branch is at a commit",
        answer=o.ChangeOutput,
    ),
    Route("GET", f"{P}/schema", history.show_schema, "cluster_getSchema", "The schema", answer=o.SchemaOutput),
    Route(
        "POST",
        f"{P}/schema/apply",
        history.apply_schema,
        "cluster_applySchema",
        "Another schema",
        body=q.SchemaApplyRequest,
        answer=o.SchemaApplyOutput,
    ),
    Route(
        "POST",
        f"{P}/load",
        loading.load,
        "cluster_load",
        "Load records",
        body=q.IngestRequest,
        answer=o.IngestOutput,
        largest_body=LARGE_BODY,
    ),
    Route(
        "POST",
        f"{P}/load/ndjson",
        loading.load_ndjson,
        "cluster_loadNdjson",
        "Load a record per line",
        answer=o.GraphBatchLoadOutput,
        largest_body=LARGE_BODY,
    ),
    Route(
        "POST",
        f"{P}/ingest",
        loading.load,
        "cluster_ingest",
        "Load records, as earlier clients spell it",
        body=q.IngestRequest,
        answer=o.IngestOutput,
        largest_body=LARGE_BODY,
        deprecated_for="load",
    ),
    Route("POST", f"{P}/export", exporting.export, "cluster_export", "Everything as JSON lines", body=q.ExportRequest),
    Route("GET", f"{P}/branches", branches.list_branches, "cluster_listBranches", "The branches", answer=o.BranchListOutput),
    Route(
        "POST",
        f"{P}/branches",
        branches.create,
        "cluster_createBranch",
        "A new branch",
        body=q.BranchCreateRequest,
        answer=o.BranchCreateOutput,
    ),
    Route(
        "DELETE",
        f"{P}/branches/{{branch}}",
        branches.delete,
        "cluster_deleteBranch",
        "Delete a branch",
        answer=o.BranchDeleteOutput,
    ),
    Route(
        "POST",
        f"{P}/branches/merge",
        branches.merge,
        "cluster_mergeBranches",
        "Merge a branch into another",
        body=q.BranchMergeRequest,
        answer=o.BranchMergeOutput,
    ),
    Route(
        "GET", f"{P}/commits", history.list_commits, "cluster_listCommits", "The commits of a branch", answer=o.CommitListOutput
    ),
    Route("GET", f"{P}/commits/{{commit_id}}", history.show_commit, "cluster_getCommit", "A commit", answer=o.CommitOutput),
    Route(
        "GET",
        f"{P}/commits/{{commit_id}}/changes",
        changes.commit_changes,
        "cluster_getCommitChanges",
        "What a commit changed",
        answer=o.CommitChangesOutput,
    ),
    Route("GET", f"{P}/changes", changes.poll, "cluster_pollChanges", "The change feed", answer=o.ChangeFeedOutput),
    Route(
        "POST",
        f"{P}/changes/baseline",
        changes.baseline,
        "cluster_captureChangeBaseline",
        "Everything, and where the feed goes on",
        body=q.ChangeBaselineRequest,
    ),
)
