"""What a server needs of the applied revision, and why it may not serve.

    revision = read_serving("s3://bucket/cluster")      reads the ledger and the copies it names, never `cluster.yaml`
    revision.graphs                                     each with its address, queries, provider and policy for Blobs
    revision.quarantined                                graphs that may not be served, each with its diagnostic
    revision.state_cas                                  what a poll compares, to see whether there is another revision

What is wrong with the whole cluster refuses it (`ClusterNotReady`, with every reason): a copy that does not have its digest, a
scope with two policies, a ledger somebody edited. What is wrong with one graph quarantines that graph. A lock does not matter:
the ledger is replaced as a whole, so whoever reads it reads a revision.

`find_graph` is for maintenance: it names a graph by the ledger alone, so that a broken cluster can be repaired.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from pathlib import Path
from typing import Any

from omnigraph.cluster.config import addresses, digests
from omnigraph.cluster.config.cluster_yaml import FILE, read_config, storage_problem, storage_root
from omnigraph.cluster.config.diagnostics import Diagnostic, Diagnostics
from omnigraph.cluster.ledger import layout
from omnigraph.cluster.ledger.state import Ledger, tampered
from omnigraph.cluster.ledger.store import ClusterStore
from omnigraph.cluster.serving.managed import AppliedSchema, read_applied_schema
from omnigraph.errors import GraphError, NotFound, ScopeError, UsageError
from omnigraph.hints import Hint
from omnigraph.model.frozen import frozen
from omnigraph.service.objects import SmallObjects


class ClusterNotReady(UsageError):
    """The applied revision of a cluster cannot be served; `diagnostics` has every reason."""

    default_hint = Hint("Look each code up in the reference of cluster diagnostics.")

    def __init__(self, where: str, reasons: Sequence[Diagnostic]) -> None:
        lines = [f"[{d.code}] {d.path}: {d.message}" for d in reasons]
        super().__init__("\n".join([f"the cluster at '{where}' is not ready to serve:", *lines]))
        self.diagnostics = tuple(reasons)

    def to_dict(self) -> dict[str, object]:
        return {**super().to_dict(), "diagnostics": [d.to_json() for d in self.diagnostics]}


@frozen
class ServedProvider:
    """An embedding provider as it was applied; its key is still the name of a variable."""

    name: str
    profile: Mapping[str, str]
    """`kind`, `base_url`, `model`, `api_key`, as far as they are set."""


@frozen
class AppliedGraph:
    """A graph that is to be served."""

    id: str
    uri: str
    digest: str
    schema: AppliedSchema | None
    queries: Mapping[str, str] = field(default_factory=dict)
    """The text of the file that declares each stored query, by the name of the query."""
    provider: ServedProvider | None = None
    external_blobs: Mapping[str, Any] = field(default_factory=lambda: {"mode": "deny"})


@frozen
class Bundle:
    """A policy that was applied."""

    name: str
    text: str
    digest: str
    applies_to: tuple[str, ...]
    """`cluster`, or `graph.<id>` of each graph."""


@frozen
class ServingRevision:
    """The applied revision, as a server sees it."""

    root: str
    state_revision: int
    state_cas: str
    config_digest: str | None
    graphs: tuple[AppliedGraph, ...]
    """Those that may be served, by id."""
    quarantined: Mapping[str, Diagnostic]
    """Why a graph may not be served, by its id."""
    policies: tuple[Bundle, ...]
    warnings: tuple[Diagnostic, ...] = ()

    @property
    def cluster_policy(self) -> Bundle | None:
        """The bundle for what is about no graph."""
        return self._bound(addresses.CLUSTER)

    def policy_of(self, graph_id: str) -> Bundle | None:
        """The bundle of a graph."""
        return self._bound(addresses.graph(graph_id))

    def _bound(self, scope: str) -> Bundle | None:
        return next((bundle for bundle in self.policies if scope in bundle.applies_to), None)


def find_root(where: str) -> str:
    """The storage root of `--cluster`: an address as it is, a folder by its `cluster.yaml`, or itself if it has none."""
    if "://" in where:
        why = storage_problem(where)
        if why is not None:
            raise ScopeError(f"{where} is no cluster: {why}", hint="Give a folder, file:///folder or s3://bucket/prefix.")
        return where.rstrip("/")
    folder = Path(where).expanduser()
    if not (folder / FILE).exists():
        if (folder / layout.STATE).exists():
            return str(folder.absolute())
        raise ScopeError(
            f"{where} is no cluster: there is no {FILE} and no {layout.STATE}", hint=f"Give the folder that holds {FILE}."
        )
    problems = Diagnostics()
    config = read_config(folder, problems)
    wrong = [d for d in problems.found if d.path == "storage" or config is None]
    if config is None or wrong:
        raise ScopeError(f"{where} names no cluster: {wrong[0].path}: {wrong[0].message}", hint=f"Mend {FILE}.")
    return storage_root(config, folder)


def find_graph(where: str, graph_id: str | None = None) -> tuple[str, str]:
    """The id and the address of a graph of a cluster, by the ledger alone; the only one, if none is named."""
    store = ClusterStore(SmallObjects(find_root(where)))
    problems = Diagnostics()
    state = store.read_state(problems)
    if state is None:
        raise ScopeError(f"the cluster at {where} has no ledger that can be read: {problems.found[0].message}")
    applied = state.ledger.graphs
    if not applied:
        raise ScopeError(f"the cluster at {where} has no applied graphs", hint="Run `omnigraph cluster apply` first.")
    if graph_id is None and len(applied) > 1:
        raise ScopeError(f"the cluster at {where} has several graphs: {', '.join(applied)}", hint="Give --graph.")
    chosen = applied[0] if graph_id is None else graph_id
    if chosen not in applied:
        raise NotFound(
            f"graph '{chosen}' was not applied to the cluster at {where} [graph_not_applied]",
            hint=f"There {'is' if len(applied) == 1 else 'are'} {', '.join(applied)}.",
        )
    return chosen, store.objects.address(layout.graph_root(chosen))


def applied_cas(where: str) -> str | None:
    """What the newest ledger of a cluster is compared by, without reading anything else; None if there is none."""
    problems = Diagnostics()
    state = ClusterStore(SmallObjects(find_root(where))).read_state(problems)
    return None if state is None else state.cas


def read_serving(where: str) -> ServingRevision:
    """The applied revision of a cluster; `ClusterNotReady` with every reason if it cannot be served."""
    root = find_root(where)
    problems = Diagnostics()
    try:
        found = _Reading(ClusterStore(SmallObjects(root)), problems).revision()
    except GraphError as error:
        problems.error("state_read_error", layout.STATE, error.message)
        found = None
    if found is None or not problems.ok:
        raise ClusterNotReady(where, [d for d in problems.found if d.severity == "error"])
    return found


def no_healthy_graphs(quarantined: Mapping[str, Diagnostic]) -> Diagnostic:
    """What to say when every graph is quarantined."""
    why = "; ".join(f"{name}: {d.message}" for name, d in sorted(quarantined.items()))
    return Diagnostic("cluster_no_healthy_graphs", "error", layout.STATE, f"every graph is quarantined: {why}")


class _Reading:
    """Reads a revision, and notes what is wrong with it."""

    def __init__(self, store: ClusterStore, problems: Diagnostics) -> None:
        self.store, self.problems = store, problems
        self.quarantined: dict[str, Diagnostic] = {}

    def revision(self) -> ServingRevision | None:
        state = self.store.read_state(self.problems)
        if state is None:
            return None
        if state.raw is None or state.cas is None:
            message = "there is no ledger; run `omnigraph cluster apply --init`"
            self.problems.error("cluster_state_missing", layout.STATE, message)
            return None
        ledger = state.ledger
        for address in tampered(ledger):
            message = f"the digest of {address} is not that of what the ledger says about it"
            self.problems.error("external_blob_policy_digest_mismatch", address, message)
        if not ledger.graphs:
            self.problems.error("cluster_empty", layout.STATE, "the applied revision has no graph")
        self._sidecars()
        graphs = [self._graph(graph_id, ledger) for graph_id in ledger.graphs]
        policies = self._policies(ledger)
        healthy = tuple(graph for graph in graphs if graph.id not in self.quarantined)
        if ledger.graphs and not healthy:
            self.problems.found.append(no_healthy_graphs(self.quarantined))
        warnings = tuple(d for d in self.problems.found if d.severity == "warning")
        return ServingRevision(
            self.store.objects.uri,
            ledger.state_revision,
            state.cas,
            ledger.applied_revision.config_digest,
            healthy,
            self.quarantined,
            tuple(policies),
            warnings,
        )

    def _sidecars(self) -> None:
        unread = Diagnostics()
        for pending in self.store.read_sidecars(unread):
            graph_id = pending.sidecar.graph_id
            message = f"an apply did not end ({pending.sidecar.kind}); the next `omnigraph cluster apply` settles it"
            self._quarantine(graph_id, "cluster_recovery_pending", pending.path, message)
        for diagnostic in unread.found:
            message = f"nobody knows which graph this sidecar is about: {diagnostic.message}"
            self.problems.error("cluster_recovery_unattributed", diagnostic.path, message)

    def _quarantine(self, graph_id: str, code: str, path: str, message: str) -> None:
        self.quarantined.setdefault(graph_id, Diagnostic(code, "warning", path, message))
        self.problems.warn(code, path, message)

    def _graph(self, graph_id: str, ledger: Ledger) -> AppliedGraph:
        address = addresses.graph(graph_id)
        resource = ledger.resources[address]
        if not self.store.objects.has_graph(layout.graph_root(graph_id)):
            self._quarantine(graph_id, "graph_missing", address, f"there is nothing at {layout.graph_root(graph_id)}")
        prefix = addresses.query(graph_id, "")
        queries = {}
        for query in sorted(one for one in ledger.resources if one.startswith(prefix)):
            content = self._payload(query, ledger.resources[query].digest)
            if content is not None:
                queries[query.removeprefix(prefix)] = content
        blobs = resource.external_blob_policy
        return AppliedGraph(
            graph_id,
            self.store.objects.address(layout.graph_root(graph_id)),
            resource.digest,
            read_applied_schema(self.store, graph_id, ledger.digest(addresses.schema(graph_id))),
            queries,
            self._provider(address, ledger),
            {"mode": "deny"} if blobs is None else blobs.to_json(),
        )

    def _provider(self, graph: str, ledger: Ledger) -> ServedProvider | None:
        bound = ledger.resources[graph].embedding_provider
        if bound is None:
            return None
        resource = ledger.resources.get(bound)
        if resource is None:
            self.problems.error("embedding_provider_missing", graph, f"{bound} is not in the ledger")
            return None
        if resource.embedding_profile is None:
            self.problems.error("embedding_provider_profile_missing", bound, "the ledger has no profile of it")
            return None
        profile = resource.embedding_profile.to_json()
        if digests.of_provider(profile) != resource.digest:
            message = "its profile does not have the digest that the ledger says"
            self.problems.error("embedding_provider_digest_mismatch", bound, message)
        return ServedProvider(addresses.name(bound), profile)

    def _policies(self, ledger: Ledger) -> list[Bundle]:
        taken: dict[str, str] = {}
        found = []
        for address in sorted(one for one in ledger.resources if addresses.kind(one) == "policy"):
            resource, name = ledger.resources[address], addresses.name(address)
            if not resource.applies_to:
                self.problems.error("policy_bindings_missing", address, "the ledger does not say what it is bound to")
            for scope in resource.applies_to or ():
                if scope in taken:
                    message = f"`{scope}` is bound to `{taken[scope]}` and to `{name}`"
                    self.problems.error("duplicate_policy_binding", address, message)
                taken.setdefault(scope, name)
                if scope != addresses.CLUSTER and scope not in ledger.resources:
                    self.problems.warn("graph_not_applied", address, f"it is bound to {scope}, which was not applied")
            content = self._payload(address, resource.digest)
            if content is not None:
                found.append(Bundle(name, content, resource.digest, resource.applies_to or ()))
        return found

    def _payload(self, address: str, digest: str) -> str | None:
        path = layout.payload(address, digest) or address
        try:
            content = self.store.read_payload(address, digest)
        except GraphError as error:
            self.problems.error("catalog_payload_read_error", address, f"{path} cannot be read: {error.message}")
            return None
        if content is None:
            self.problems.error("catalog_payload_missing", address, f"{path} is gone")
            return None
        if digests.of_bytes(content) != digest:
            self.problems.error("catalog_payload_digest_mismatch", address, f"{path} was changed since it was applied")
            return None
        return content.decode("utf-8", "replace")
