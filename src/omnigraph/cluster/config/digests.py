"""Digests: SHA-256 of what a resource says, in hex. What is the same has the same digest everywhere.

    schema, query, policy   the bytes of the file
    provider                "embedding-provider\\0" and the compact JSON of what is set of its profile
    graph                   its id, the digest of its schema, of its queries by name, of its provider, and its policy for Blobs
    configuration           everything `cluster.yaml` says and the digests of everything it names; comments do not count

A number of parts is joined by zero bytes, which none of them holds.
"""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import sha256
from typing import Any

import msgspec

from omnigraph.cluster.config.cluster_yaml import Config


def of_bytes(content: bytes) -> str:
    """The digest of a file."""
    return sha256(content).hexdigest()


def of_provider(profile: Mapping[str, str]) -> str:
    """The digest of a profile, which has only what is set."""
    ordered = {key: profile[key] for key in ("kind", "base_url", "model", "api_key") if key in profile}
    return of_bytes(b"embedding-provider\0" + msgspec.json.encode(ordered))


def of_graph(
    graph_id: str,
    schema: str | None,
    queries: Mapping[str, str],
    provider: tuple[str, str] | None = None,
    external_blobs: Mapping[str, Any] | None = None,
) -> str:
    """The digest of a graph. `provider`: its address and its digest."""
    parts = ["graph", graph_id, "schema", schema or ""]
    for name in sorted(queries, key=str.encode):
        parts += ["query", name, queries[name]]
    if provider is not None:
        parts += ["embedding_provider", *provider]
    if external_blobs is not None and external_blobs.get("mode") == "allow":
        bases = [{"uri": base["uri"], "scope": base["scope"]} for base in external_blobs["bases"]]
        parts += ["external_blob_policy", msgspec.json.encode({"mode": "allow", "bases": bases}).decode()]
    return of_bytes("".join(f"{part}\0" for part in parts).encode())


def of_config(config: Config, resources: Mapping[str, str]) -> str:
    """The digest of what is wanted as a whole."""
    said = msgspec.json.encode(config, order="sorted")
    digests = "".join(f"{address}\0{resources[address]}\0" for address in sorted(resources, key=str.encode))
    return of_bytes(b"cluster-config\0" + said + b"\0" + digests.encode())


def state_cas(content: bytes) -> str:
    """What a ledger is compared by when it is replaced."""
    return f"sha256:{of_bytes(content)}"
