"""A resource as it is wanted and as it was applied: its digest, and what else is said of its kind."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from omnigraph.cluster.config import addresses, digests

Digest = Annotated[str, Meta(pattern=r"^[0-9a-f]{64}\Z", description="SHA-256, in hexadecimal digits")]


class BlobBase(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A folder whose objects may be referred to."""

    uri: str
    scope: Literal["server_safe", "embedded_only"]


class BlobPolicy(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Which URIs may be given for Blobs of a graph."""

    mode: Literal["allow"]
    bases: tuple[BlobBase, ...]

    def to_json(self) -> dict[str, Any]:
        return {"mode": self.mode, "bases": [{"uri": base.uri, "scope": base.scope} for base in self.bases]}


class Profile(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A provider as it was applied: its key is the name of a variable, `${NAME}`."""

    kind: str | None = None
    base_url: str | None = None
    model: str | None = None
    api_key: str | None = None

    def to_json(self) -> dict[str, str]:
        said: dict[str, str] = msgspec.to_builtins(self)
        return said


class Resource(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A resource as it was applied. What is not said of its kind is left out."""

    digest: Digest
    applies_to: tuple[str, ...] | None = None
    embedding_provider: str | None = None
    embedding_profile: Profile | None = None
    external_blob_policy: BlobPolicy | None = None


def graph_digest(graph_id: str, resources: Mapping[str, Resource]) -> str:
    """The digest that a graph has by its parts."""
    graph = resources.get(addresses.graph(graph_id))
    schema = resources.get(addresses.schema(graph_id))
    prefix = addresses.query(graph_id, "")
    queries = {address.removeprefix(prefix): entry.digest for address, entry in resources.items() if address.startswith(prefix)}
    bound = None if graph is None else graph.embedding_provider
    provider = None if bound is None else (bound, resources[bound].digest if bound in resources else "")
    blobs = None if graph is None or graph.external_blob_policy is None else graph.external_blob_policy.to_json()
    return digests.of_graph(graph_id, None if schema is None else schema.digest, queries, provider, blobs)
