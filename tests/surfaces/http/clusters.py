"""A cluster in a folder, with a ledger that a test writes itself: so it can also be one that no apply would write."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

import omnigraph as og
from omnigraph.cluster.config import addresses, digests
from omnigraph.cluster.config.resources import BlobBase, BlobPolicy, Profile, Resource
from omnigraph.cluster.ledger import layout
from omnigraph.cluster.ledger.state import Ledger

SCHEMA = "node Person { name: String @key  age: I32? }\n"
NAMES = "query names() { match { $p: Person } return { $p.name } }\n"
COUNT = "query people() { match { $p: Person } return { count($p) as n } }\n"
TEAM = """version: 1
groups: { team: [ada], all: [ada, bob] }
protected_branches: [main]
rules:
  - id: read
    allow: { actors: { group: all }, actions: [read, invoke_query] }
  - id: change
    allow: { actors: { group: team }, actions: [change] }
  - id: apply
    allow: { actors: { group: team }, actions: [schema_apply] }
"""
ADMINS = """version: 1
groups: { admins: [ada] }
rules:
  - id: run
    allow: { actors: { group: admins }, actions: [graph_list, config_manage] }
"""


class Cluster:
    """What was applied, as files."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.ledger = Ledger.empty()
        (root / "__cluster").mkdir(parents=True)

    def graph(self, graph_id: str, queries: Mapping[str, str] | None = None, *, exists: bool = True, **extra: Any) -> None:
        """A graph, perhaps with stored queries."""
        where = self.root / layout.graph_root(graph_id)
        if exists and not where.exists():
            made = og.init(where, schema=SCHEMA, durability="os")
            made.load([{"type": "Person", "data": {"name": f"{graph_id}-{n}"}} for n in range(2)])
            made.close()
        resources = dict(self.ledger.resources)
        resources[addresses.graph(graph_id)] = Resource("", **extra)
        resources[addresses.schema(graph_id)] = self._copied(addresses.schema(graph_id), SCHEMA)
        for name, text in (queries or {}).items():
            address = addresses.query(graph_id, name)
            resources[address] = self._copied(address, text)
        self.ledger = self.ledger.with_resources(resources)

    def schema(self, graph_id: str, text: str) -> None:
        """Another schema, as far as the ledger knows."""
        address = addresses.schema(graph_id)
        self.ledger = self.ledger.with_resource(address, self._copied(address, text))

    def policy(self, name: str, text: str, *applies_to: str) -> None:
        resource = msgspec.structs.replace(self._copied(f"policy.{name}", text), applies_to=applies_to or None)
        self.ledger = self.ledger.with_resource(f"policy.{name}", resource)

    def provider(self, name: str, **profile: str) -> str:
        digest = digests.of_provider(profile)
        address = f"provider.embedding.{name}"
        self.ledger = self.ledger.with_resource(address, Resource(digest, embedding_profile=Profile(**profile)))
        return address

    def without(self, address: str) -> None:
        self.ledger = self.ledger.with_resource(address, None)

    def sidecar(self, graph_id: str) -> Path:
        """What an apply leaves that has not ended."""
        names = "schema_version operation_id started_at actor kind graph_id graph_uri observed_manifest_version"
        names += " expected_manifest_version desired_schema_digest state_cas_base approval_id"
        said: dict[str, Any] = dict.fromkeys(names.split())
        said |= {"schema_version": 1, "operation_id": "01J", "started_at": "2026-01-01T00:00:00Z", "kind": "schema_apply"}
        said |= {"graph_id": graph_id, "graph_uri": "x"}
        path = self.root / layout.sidecar("01JZZZZZZZZZZZZZZZZZZZZZZZ")
        path.parent.mkdir(exist_ok=True)
        path.write_text(json.dumps(said))
        return path

    def apply(self) -> None:
        """Publish it."""
        self.ledger = msgspec.structs.replace(self.ledger, state_revision=self.ledger.state_revision + 1)
        aside = self.root / "__cluster/state.new"
        aside.write_bytes(self.ledger.encoded())
        aside.rename(self.root / layout.STATE)

    def copy(self, address: str) -> Path:
        """Where the copy of a resource is."""
        return self.root / (layout.payload(address, self.ledger.resources[address].digest) or "")

    def _copied(self, address: str, text: str) -> Resource:
        digest = digests.of_bytes(text.encode())
        path = self.root / (layout.payload(address, digest) or "")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return Resource(digest)


def allowed(*bases: str) -> BlobPolicy:
    """A policy for Blobs."""
    scopes = {uri: "embedded_only" if uri.startswith("file:") else "server_safe" for uri in bases}
    return BlobPolicy("allow", tuple(BlobBase(uri, scope) for uri, scope in scopes.items()))  # type: ignore[arg-type]
