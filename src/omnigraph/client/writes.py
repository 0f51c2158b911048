"""Writes to a graph on a server."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, NoReturn

from msgspec import UNSET, UnsetType

from omnigraph.catalog.catalog import Catalog
from omnigraph.catalog.migration import MigrationPlan
from omnigraph.client import spelling
from omnigraph.client.asking import Asking, given, key_of, keyed, no_actor, only_here, plain, telling, text_of
from omnigraph.client.sending import TAR, Archive
from omnigraph.client.values import commit_of, load_of, receipt_of, some_commit_of
from omnigraph.engine.calls import arguments
from omnigraph.engine.calls.arguments import State, either, flag, function, name_of, texts
from omnigraph.engine.calls.guard import guarded
from omnigraph.engine.execution.result import wire
from omnigraph.engine.export.entities import Key
from omnigraph.engine.load.read.inputs.deleting import deletions
from omnigraph.engine.load.read.inputs.sources import Source
from omnigraph.engine.load.read.rows.modes import ModeName
from omnigraph.engine.load.run.progress import Report
from omnigraph.engine.load.run.result import LoadResult
from omnigraph.engine.load.run.runners import Runner
from omnigraph.engine.planning.keys import KeySchema
from omnigraph.engine.planning.prepared import QueryText
from omnigraph.engine.schema.apply import Backfills, Expressions, SchemaApplied, SchemaRequest
from omnigraph.engine.schema.documents import schema_source
from omnigraph.engine.write.receipt import Receipt
from omnigraph.errors import KeyConflict, NotFound, ValidationError
from omnigraph.wire import outputs as o

CONDITION = "Omnigraph-If-Graph-Commit"


class Writes(Asking):
    """Writes."""

    @guarded()
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
        """Run inserts and updates, or deletes, as one commit. `if_commit`: only while the branch is at this commit.

        With an `idempotency_key` it is sent again when a connection breaks, and happens once.
        """
        no_actor(actor)
        body: dict[str, object] = {
            "query": text_of(source),
            "name": name,
            "params": given(source, name, params),
            "branch": branch,
            "message": message,
        }
        body |= {"embed": True} if embed else {}
        path, headers, again = "/mutate", keyed(idempotency_key), idempotency_key is not None
        if if_commit is not None:
            path, headers = "/mutate/if-graph-commit", {**headers, CONDITION: name_of(if_commit)}
        with telling(source):
            return receipt_of(self._transport.post(path, body, o.ChangeOutput, headers=headers, again=again))

    @guarded()
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
        row = {"type": type, "values": self._values(type, values, branch), "patch": patch}
        return self._put(row, branch, if_commit, actor, message, idempotency_key)

    @guarded(from_=arguments.key, to=arguments.key)
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
        """An edge between two nodes, by their keys, as one commit. It *replaces* the edge with its key, if its type has one; with
        `patch` only what is given changes. A type without a key gets a new edge each time."""
        ends = {"from": key_of(from_), "to": key_of(to)}
        row = {"type": type, "values": self._values(type, values or {}, branch), "patch": patch, **ends}
        return self._put(row, branch, if_commit, actor, message, idempotency_key)

    def _values(self, type_: str, values: Mapping[str, object], branch: str) -> dict[str, object]:
        """Values of an entity, as the wire has them. The schema is asked for if one of them has no form in JSON."""
        if not all(map(spelling.is_native, values.values())):
            catalog = self._catalog(branch)
            found = catalog.nodes.get(type_) or catalog.edges.get(type_)
            values = values if found is None else spelling.properties(found, values)
        return plain(values)

    def _put(
        self,
        row: Mapping[str, object],
        branch: str,
        if_commit: State | None,
        actor: str | None,
        message: str | None,
        idempotency_key: str | None,
    ) -> Receipt:
        no_actor(actor)
        body = {**row, "branch": branch, "if_graph_commit": name_of(if_commit), "message": message}
        headers, again = keyed(idempotency_key), idempotency_key is not None
        return receipt_of(self._transport.post("/put", body, o.ChangeOutput, headers=headers, again=again))

    @guarded()
    def transaction(
        self, branch: str = "main", *, if_commit: State | None = None, actor: str | None = None, message: str | None = None
    ) -> NoReturn:
        """Several changes as one commit are held together by the process that makes them."""
        only_here(
            "a transaction is held by the process that has the graph", "Write one mutation of several statements, or a load."
        )

    @guarded(source=arguments.source, types=texts, progress=either("True, False or a function", flag, function))
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
        """Load files, frames or records as one commit. All that is wrong with them is reported, and then nothing is changed.

        They are sent as they are and read by the server. `source`, `types` and `skip_unknown` mean what they mean for an open
        graph; there is no progress to report.
        """
        no_actor(actor)
        if engine not in ("auto", "local"):
            only_here("`engine` says who loads", "Leave it out: the server loads. To load with Spark, open the graph itself.")
        if quarantine is not None or max_bad is not None:
            only_here("a quarantine is a folder beside the load", "Leave it out, or open the graph itself.")
        begun = time.perf_counter()
        schema = self._schema_for(branch, from_)
        with Archive.of(source, schema, types, skip_unknown=skip_unknown, lossy=lossy is not None) as archive:
            asked = {"branch": branch, "from": name_of(from_), "mode": mode, "message": message, "lossy": lossy}
            asked |= {"dialect": dialect, "allow_empty": "true" if allow_empty else None, "embed": "true" if embed else None}
            try:
                said = self._transport.post(
                    "/load/files",
                    None,
                    o.GraphBatchLoadOutput,
                    content=archive.chunks,
                    params=asked,
                    headers={**TAR, **keyed(idempotency_key)},
                    again=idempotency_key is not None,
                )
            except (ValidationError, KeyConflict) as error:
                archive.refuse(error)
                raise
        head = commit_of(self._transport.get("/commits", o.CommitListOutput, {"branch": branch, "limit": 1}).commits[0])
        return load_of(said, head, time.perf_counter() - begun, archive.skipped)

    @guarded(source=arguments.keys_by_type)
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
        accepted = self._accepted_schema(branch)
        keys = deletions(source, KeySchema(accepted.catalog, lambda: accepted.source))
        return self.load(
            keys,
            mode="update",
            branch=branch,
            actor=actor,
            message=message,
            engine=engine,
            idempotency_key=idempotency_key,
        )

    def _schema_for(self, branch: str, from_: State | None) -> Catalog:
        """The schema that what is loaded is written for: that of the branch, or of what it is to start from."""
        try:
            return self._catalog(branch)
        except NotFound:
            if from_ is None:
                raise
            return self._catalog(at=from_)

    @guarded()
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
        accepted = self._catalog(branch).ir
        request = SchemaRequest(schema_source(schema), allow_data_loss, backfill or {}, compute or {})
        return request.plan(accepted)[0]

    @guarded()
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
        no_actor(actor)
        request = SchemaRequest(schema_source(schema), allow_data_loss, backfill or {}, compute or {})
        filled = None if backfill is None else {name: wire(value) for name, value in backfill.items()}
        body = {
            "schema_source": request.desired.text,
            "branch": branch,
            "also": list(also),
            "allow_data_loss": allow_data_loss,
            "backfill": filled,
            "compute": compute,
        }
        said = self._transport.post("/schema/apply", body, o.SchemaApplyOutput)
        others = {} if said.also is UNSET else said.also
        found = {name: self._schema_applied(other.commit, request) for name, other in others.items()}
        return replace(self._schema_applied(said.commit, request), also=found)

    def _schema_applied(self, said: o.CommitOutput | UnsetType, request: SchemaRequest) -> SchemaApplied:
        """What a server did, with the steps that it does not send: they follow from the schema there was."""
        commit = some_commit_of(said)
        if commit is None or commit.parent is None:
            return SchemaApplied(MigrationPlan(), None)
        return SchemaApplied(request.plan(self._catalog(at=commit.parent).ir)[0], commit)
