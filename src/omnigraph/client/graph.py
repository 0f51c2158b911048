"""A graph behind a server: the methods of an open graph, sent over HTTP.

    g = og.connect("https://graphs.example", graph="people", token="…")
    g.query("query q() { match { $p: Person } return { $p.name } }").rows

Results and errors are of the same classes as those of an open graph; in changes, dates and moments are text, as JSON has them.
Who acts is who the token belongs to; so nothing takes an
`actor`. What the server does not offer is not here: previews and resolutions of merges, diffs, reverts, tags, statistics, plans
and maintenance are for whoever has the graph itself.
"""

from __future__ import annotations

import base64
import io
import json
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Final, Literal
from urllib.parse import quote

from omnigraph.client.transport import Transport
from omnigraph.client.values import block_of, commit_of, load_of, page_of, receipt_of, result_of, snapshot_of
from omnigraph.engine.execution.result import Result, wire
from omnigraph.engine.history.blocks import Block
from omnigraph.engine.history.feed import ChangePage
from omnigraph.engine.inspect import Blob, GraphSnapshot
from omnigraph.engine.load.run.result import LoadResult
from omnigraph.engine.write.receipt import Receipt
from omnigraph.errors import NotFound, UsageError
from omnigraph.model.frozen import frozen
from omnigraph.model.outputs import output_file
from omnigraph.model.phrases import counted, one_line, short_id
from omnigraph.storage.commits.lineage import Commit, CommitList
from omnigraph.wire import outputs as o

_ARROW: Final = {"Accept": "application/vnd.apache.arrow.stream"}
_NDJSON: Final = {"Content-Type": "application/x-ndjson"}
_CONDITION: Final = "Omnigraph-If-Graph-Commit"

Names = tuple[str, ...] | list[str]


@frozen
class MergeReceipt:
    """What a merge on a server came to."""

    source: str
    into: str
    outcome: o.MergeOutcome
    actor: str | None
    commit_id: str | None

    def __repr__(self) -> str:
        made = "" if self.commit_id is None else f", commit {short_id(self.commit_id)}"
        return one_line(f"Merge of {self.source} into {self.into}: {self.outcome.replace('_', ' ')}{made}")


@frozen
class RemoteBaseline:
    """Everything at one commit of a branch, and the cursor behind it."""

    commit: str
    cursor: str
    branch: str
    _records: list[dict[str, Any]]

    def records(self) -> Iterator[dict[str, Any]]:
        """Every entity, as an export writes it."""
        return iter(self._records)

    def __repr__(self) -> str:
        return one_line(f"Baseline of {self.branch} at commit {short_id(self.commit)}")


class RemoteBranches:
    """The branches of a graph on a server: `g.branches`."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def __repr__(self) -> str:
        names = self.list()
        return one_line(f"{counted(len(names), 'branch')}: {', '.join(names)}")

    def list(self) -> list[str]:
        """Names, sorted."""
        return self._transport.get("/branches", o.BranchListOutput).branches

    def create(self, name: str, from_: str = "main") -> str:
        """A branch that starts where another branch is, or at a commit. Gives its name."""
        return self._transport.post("/branches", {"name": name, "from": from_}, o.BranchCreateOutput).name

    def delete(self, name: str) -> None:
        """Forget a branch."""
        self._transport.send("DELETE", f"/branches/{quote(name, safe='')}")


class RemoteGraph:
    """A graph behind a server."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport
        self.branches = RemoteBranches(transport)

    @property
    def uri(self) -> str:
        """Where it is."""
        return repr(self._transport)

    def __repr__(self) -> str:
        return one_line(f"Graph at {self.uri}")

    def __enter__(self) -> RemoteGraph:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the connections."""
        self._transport.close()

    # ── reading ──────────────────────────────────────────────────────────────────────────────────────────────────────────────

    def query(
        self,
        source: str,
        params: Mapping[str, object] | None = None,
        *,
        name: str | None = None,
        branch: str | None = None,
        at: str | Commit | None = None,
    ) -> Result:
        """The answer to a read, which comes as Arrow. `at` reads the past."""
        body = {"query": source, "name": name, "params": _plain(params), "branch": branch, "snapshot": _id(at)}
        return result_of(self._transport.send("POST", "/query", body=body, headers=_ARROW, again=True).content)

    def snapshot(self, branch: str | None = None) -> GraphSnapshot:
        """What a branch holds, type by type."""
        return snapshot_of(self._transport.get("/snapshot", o.SnapshotOutput, {"branch": branch}))

    def schema(self, branch: str | None = None) -> str:
        """The schema, as it was accepted."""
        return self._transport.get("/schema", o.SchemaOutput, {"branch": branch}).schema_source

    def blob(
        self,
        entity: Literal["node", "edge"],
        type_: str,
        id_: str,
        property_: str,
        *,
        branch: str | None = None,
        at: str | Commit | None = None,
    ) -> Blob:
        """A Blob property: its bytes, or where they are."""
        where = {"entity": entity, "type": type_, "id": id_, "property": property_, "branch": branch, "snapshot": _id(at)}
        found = self._transport.send("GET", "/blob", params=where, again=True)
        commit = found.headers["omnigraph-snapshot-id"].rpartition(":")[2]
        content = found.headers["location"] if found.status_code == 302 else found.content
        return Blob(entity, type_, id_, property_, content, commit)

    def export(self, target: str | Path | IO[bytes], *, types: Names | None = None, branch: str | None = None) -> int:
        """The graph, or some of its types, as JSON lines. Gives the number of bytes."""
        body = {"branch": branch, "type_names": None if types is None else list(types)}
        with self._transport.streamed("/export", body) as found:
            if isinstance(target, str | Path):
                with output_file(target) as file:
                    return _copied(found.iter_bytes(), file)
            return _copied(found.iter_bytes(), target)

    # ── history ──────────────────────────────────────────────────────────────────────────────────────────────────────────────

    def commits(self, branch: str = "main", limit: int | None = None) -> CommitList:
        """The commits of a branch, newest first."""
        said = self._transport.get("/commits", o.CommitListOutput, {"branch": branch, "limit": limit})
        return CommitList(commit_of(c) for c in said.commits)

    def commit(self, commit: str | Commit) -> Commit:
        """One of them."""
        return commit_of(self._transport.get(f"/commits/{quote(_id(commit) or '', safe='')}", o.CommitOutput))

    def changes(
        self,
        since: str = "now",
        *,
        branch: str = "main",
        limit: int = 1_000,
        kinds: Names = (),
        types: Names = (),
        ops: Names = (),
    ) -> ChangePage:
        """What was committed to a branch since a cursor: a page of it."""
        start = since in ("now", "beginning") or since.startswith("after:")
        given = {"start" if start else "cursor": since, "branch": branch, "limit": limit, **_filters(kinds, types, ops)}
        return page_of(self._transport.get("/changes", o.ChangeFeedOutput, given))

    def commit_changes(
        self,
        commit: str | Commit,
        *,
        page_token: str | None = None,
        limit: int = 1_000,
        kinds: Names = (),
        types: Names = (),
        ops: Names = (),
    ) -> Block:
        """What one commit changed: a page of it."""
        path = f"/commits/{quote(_id(commit) or '', safe='')}/changes"
        given = {"page_token": page_token, "limit": limit, **_filters(kinds, types, ops)}
        return block_of(self._transport.get(path, o.CommitChangesOutput, given))

    def baseline(self, branch: str = "main", *, kinds: Names = (), types: Names = ()) -> RemoteBaseline:
        """Everything at the newest commit of a branch, and the cursor behind it."""
        with self._transport.streamed("/changes/baseline", {"branch": branch, "kind": kinds, "type": types}) as found:
            *records, last = [json.loads(line) for line in found.iter_lines() if line]
        where = last["baseline"]
        return RemoteBaseline(where["snapshot_commit_id"], where["resume_cursor"], branch, records)

    # ── writing ──────────────────────────────────────────────────────────────────────────────────────────────────────────────

    def mutate(
        self,
        source: str,
        params: Mapping[str, object] | None = None,
        *,
        name: str | None = None,
        branch: str = "main",
        if_commit: str | Commit | None = None,
    ) -> Receipt:
        """Inserts and updates, or deletes, as one commit. `if_commit`: only while the branch is at this commit."""
        body = {"query": source, "name": name, "params": _plain(params), "branch": branch}
        if if_commit is None:
            return receipt_of(self._transport.post("/mutate", body, o.ChangeOutput))
        condition = {_CONDITION: _id(if_commit) or ""}
        return receipt_of(self._transport.post("/mutate/if-graph-commit", body, o.ChangeOutput, headers=condition))

    def load(
        self,
        source: str | Path | list[dict[str, Any]],
        *,
        mode: Literal["merge", "append", "overwrite"] = "merge",
        branch: str = "main",
        from_: str | None = None,
    ) -> LoadResult:
        """A file of JSON lines, or records, as one commit."""
        content = _lines(source)
        begun = time.perf_counter()
        given = {"branch": branch, "from": from_, "mode": mode}
        found = self._transport.post("/load/ndjson", None, o.GraphBatchLoadOutput, content=content, params=given, headers=_NDJSON)
        seconds = time.perf_counter() - begun
        return load_of(found, self.commits(branch, 1)[0], seconds)

    def merge(self, source: str, into: str = "main") -> MergeReceipt:
        """Merge a branch into another. Conflicts are raised, and nothing is changed then."""
        said = self._transport.post("/branches/merge", {"source": source, "target": into}, o.BranchMergeOutput)
        commit = said.graph_commit_id if isinstance(said.graph_commit_id, str) else None
        return MergeReceipt(said.source, said.target, said.outcome, said.actor_id, commit)

    def apply_schema(self, desired: str | Path, *, allow_data_loss: bool = False) -> o.SchemaApplyOutput:
        """Another schema for the main branch."""
        text = desired.read_text(encoding="utf-8") if isinstance(desired, Path) else desired
        body = {"schema_source": text, "allow_data_loss": allow_data_loss}
        return self._transport.post("/schema/apply", body, o.SchemaApplyOutput)


def connect(url: str, *, graph: str, token: str | None = None, timeout: float = 60.0) -> RemoteGraph:
    """A graph on a server. Without a token, OMNIGRAPH_BEARER_TOKEN of the environment is sent, if it is set."""
    for what, value in (("url", url), ("graph", graph)):
        if not isinstance(value, str) or not value.strip():
            raise UsageError(f"{what} must be a text, not {value!r}", hint="")
    if not url.startswith(("http://", "https://")):
        raise UsageError(f"{url!r} is not the address of a server", hint="It begins with http:// or https://.")
    return RemoteGraph(Transport(url, graph, token, timeout))


def _id(state: str | Commit | None) -> str | None:
    return state.id if isinstance(state, Commit) else state


def _plain(params: Mapping[str, object] | None) -> dict[str, object] | None:
    """Parameters as JSON has them."""
    return None if params is None else {name: json.loads(json.dumps(wire(v), default=_json)) for name, v in params.items()}


def _json(value: object) -> object:
    """What JSON has no form for, as a record spells it."""
    if isinstance(value, bytes):
        return "base64:" + base64.b64encode(value).decode()
    given = value.tolist() if hasattr(value, "tolist") else value
    found = wire(given)
    if found is value:
        raise UsageError(f"JSON has no form for {type(value).__name__}", hint="Give texts, numbers, dates, lists or bytes.")
    return found


def _filters(kinds: Names, types: Names, ops: Names) -> dict[str, object]:
    return {"kind": tuple(kinds), "type": tuple(types), "op": tuple(ops)}


def _lines(source: str | Path | list[dict[str, Any]]) -> bytes:
    if isinstance(source, str | Path):
        if Path(source).suffix.lower() not in (".jsonl", ".ndjson", ".json", ""):
            raise UsageError(f"{source} is not a file of JSON lines", hint="A server takes JSON lines, or a list of records.")
        try:
            return Path(source).read_bytes()
        except OSError as error:
            raise NotFound(f"cannot read {source}: {error.strerror}", what="file", name=str(source)) from None
    if not isinstance(source, list) or not all(isinstance(record, dict) for record in source):
        raise UsageError("a server takes a file of JSON lines, or a list of records", hint="Frames are for an open graph.")
    sink = io.BytesIO()
    for record in source:
        sink.write(json.dumps(record, ensure_ascii=False, default=_json).encode() + b"\n")
    return sink.getvalue()


def _copied(chunks: Iterator[bytes], file: Any) -> int:
    size = 0
    for chunk in chunks:
        file.write(chunk)
        size += len(chunk)
    return size
