"""What is served as the applied revision of a cluster says it: its ledger and the copies it names, never `cluster.yaml`'s wishes.

What is wrong with the cluster as a whole refuses it, with every reason. What is wrong with one graph quarantines that graph: it
is logged, not listed, and not found; the others are served.

    refused        no ledger, a copy that was changed, a policy that cannot be read, two policies for one scope, no graph left
    quarantined    a graph that cannot be opened, whose queries do not fit it, whose secret is missing, or that an apply has not
                   finished with

A server that runs already is never worse off for looking: while an apply is not finished with a graph that is served, or a graph
that is served cannot be reached for the moment, what is to be served is not served yet, and all stays as it is.
"""

from __future__ import annotations

import hashlib
import logging
import re
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import msgspec

from omnigraph.cluster.config.diagnostics import Diagnostic
from omnigraph.cluster.serving.revision import (
    AppliedGraph,
    ClusterNotReady,
    ServedProvider,
    ServingRevision,
    applied_cas,
    no_healthy_graphs,
    read_serving,
)
from omnigraph.cluster.serving.revision import Bundle as AppliedBundle
from omnigraph.embedding import Embedder, InvalidProfile, Profile, configured
from omnigraph.errors import BrokenQueries, GraphError, UsageError
from omnigraph.language.source import Source
from omnigraph.policy.authoriser import PolicyAuthoriser
from omnigraph.policy.bundle import Bundle, Kind, read_bundle
from omnigraph.policy.port import Authoriser
from omnigraph.policy.states import ServedReadOnly
from omnigraph.service.graphs import GraphRef
from omnigraph.service.open_graphs import OpenGraphs, Opening, served_blobs
from omnigraph.service.stored import StoredQueries
from omnigraph.surfaces.http.graphs import Registry, ServedGraph, is_graph_id
from omnigraph.surfaces.http.process.given import files_of_tokens, fingerprint_of, tokens_for
from omnigraph.surfaces.http.process.settings import Access, ServerSettings
from omnigraph.surfaces.http.process.stored import require_fitting
from omnigraph.surfaces.http.revisions import Applied, Quarantined, Revision

_log = logging.getLogger("omnigraph.http")

_PENDING: Final = "cluster_recovery_pending"
_UNREACHED: Final = "graph_unreachable"
_VARIABLE: Final = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")
_PATIENCE: Final = 2.0
"""Seconds that an apply has to finish with a graph that is served, before a reload is given up."""


class ClusterGraphs:
    """The graphs of a cluster, as they were applied."""

    def __init__(self, settings: ServerSettings, environment: Mapping[str, str]) -> None:
        assert settings.cluster is not None
        self._settings, self._environment, self._where = settings, environment, settings.cluster
        self._shared = OpenGraphs()
        self._providers: dict[Profile, Embedder | None] = {}

    def fingerprint(self) -> str:
        """Of the ledger, and of the files of tokens."""
        return self._fingerprint(applied_cas(self._where) or "")

    def load(self, before: Revision | None = None) -> Revision:
        """The applied revision, with its graphs open."""
        served = frozenset[str]() if before is None else frozenset(graph.id for graph in before.graphs)
        applied = self._applied(served)
        tokens = tokens_for(self._settings, self._environment)
        authoriser = self._authoriser(applied, bool(tokens))
        quarantined = {graph_id: Quarantined(graph_id, d.code, d.message) for graph_id, d in applied.quarantined.items()}
        wanted: list[tuple[ServedGraph, Opening]] = []
        for one in applied.graphs:
            try:
                wanted.append(self._wanted(one))
            except _Unfit as unfit:
                quarantined[one.id] = Quarantined(one.id, unfit.code, unfit.message)
        graphs, failures = Registry.opened(wanted, self._shared)
        for graph_id, error in failures.items():
            code = _UNREACHED if error.retryable and graph_id in served else "graph_observation_error"
            quarantined[graph_id] = Quarantined(graph_id, code, error.message)
        for graph in graphs:
            try:
                require_fitting(graph, graphs)
            except BrokenQueries as error:
                quarantined[graph.id] = Quarantined(graph.id, "query_typecheck_error", _in_one_line(error))
                graphs.leave_out(graph.id)
            except GraphError as error:
                quarantined[graph.id] = Quarantined(graph.id, "graph_observation_error", error.message)
                graphs.leave_out(graph.id)
        try:
            self._require_enough(quarantined, served, graphs)
        except BaseException:
            graphs.close()
            raise
        known = () if before is None else before.quarantined
        for lost in quarantined.values():
            if lost not in known:
                _log.warning("graph %s is not served: [%s] %s", lost.graph_id, lost.code, lost.message)
        where = self._where if "://" in self._where else str(Path(self._where).expanduser().absolute())
        state = Applied(_digest(applied), applied.state_revision, applied.state_cas, where, applied.root)
        found = tuple(quarantined[graph_id] for graph_id in sorted(quarantined))
        return Revision(graphs, authoriser, tokens, found, state, self._fingerprint(applied.state_cas))

    def _fingerprint(self, cas: str) -> str:
        return f"{cas}+{fingerprint_of(files_of_tokens(self._environment))}"

    def _applied(self, served: frozenset[str]) -> ServingRevision:
        """What was applied. An apply that has written the ledger and not yet taken its notes away is waited for."""
        deadline = time.monotonic() + _PATIENCE
        while True:
            found = read_serving(self._where)
            pending = [name for name in served & found.quarantined.keys() if found.quarantined[name].code == _PENDING]
            if not pending or time.monotonic() > deadline:
                return found
            time.sleep(0.1)

    def _require_enough(self, quarantined: Mapping[str, Quarantined], served: frozenset[str], graphs: Registry) -> None:
        reasons = {q.graph_id: Diagnostic(q.code, "error", f"graph.{q.graph_id}", q.message) for q in quarantined.values()}
        passing = [name for name, q in quarantined.items() if name in served and q.code in (_PENDING, _UNREACHED)]
        if passing:
            raise ClusterNotReady(self._where, [reasons[name] for name in sorted(passing)])
        if not len(graphs):
            raise ClusterNotReady(self._where, [no_healthy_graphs(reasons), *(reasons[name] for name in sorted(reasons))])
        if reasons and self._settings.require_all_graphs:
            raise ClusterNotReady(self._where, [reasons[name] for name in sorted(reasons)])

    def _wanted(self, graph: AppliedGraph) -> tuple[ServedGraph, Opening]:
        if not is_graph_id(graph.id):
            raise _Unfit("invalid_resource_id", f"no route can address `{graph.id}`")
        try:
            queries = StoredQueries.of_names({name: Source(text, f"{name}.gq") for name, text in graph.queries.items()})
        except BrokenQueries as error:
            raise _Unfit("query_parse_error", _in_one_line(error)) from error
        ref = GraphRef(graph.uri, self._settings.read_only, graph.id)
        embedder = None if graph.provider is None else self._embedder(graph.provider)
        return ServedGraph(graph.id, ref, queries, graph.schema), Opening(
            graph.uri, ref.read_only, embedder, served_blobs(graph.external_blobs)
        )

    def _embedder(self, applied: ServedProvider) -> Embedder | None:
        """The provider of a graph, whose key has to be in the environment. Equal profiles have one provider."""
        try:
            profile = Profile.of(applied.profile)
        except InvalidProfile as error:
            raise _Unfit(error.problem, error.message) from error
        for name in _VARIABLE.findall(profile.api_key or ""):
            if not self._environment.get(name, "").strip():
                message = f"the key of provider `{applied.name}` is in {name}, which is not set"
                raise _Unfit("embedding_api_key_required", message)
        if profile not in self._providers:
            self._providers[profile] = configured(self._environment, profile)
        return self._providers[profile]

    def _authoriser(self, applied: ServingRevision, named: bool) -> Authoriser:
        """Who decides: the policies that were applied, or what goes without any."""
        if self._settings.read_only:
            return ServedReadOnly()
        if not applied.policies:
            return self._settings.access.authoriser()
        if self._settings.access is Access.OPEN or not named:
            raise UsageError(
                f"the cluster at '{self._where}' has policies, and callers are not asked who they are",
                hint="Configure tokens (OMNIGRAPH_SERVER_BEARER_TOKEN, …_TOKENS_FILE) and leave --unauthenticated out.",
            )
        problems: list[Diagnostic] = []
        known = [*(g.id for g in applied.graphs), *applied.quarantined]  # who may know of a graph is asked of the others, too
        graphs = {name: self._bundle(applied.policy_of(name), Kind.GRAPH, problems) for name in known}
        server = self._bundle(applied.cluster_policy, Kind.SERVER, problems)
        if problems:
            raise ClusterNotReady(self._where, problems)
        return PolicyAuthoriser({name: bundle for name, bundle in graphs.items() if bundle is not None}, server)

    def _bundle(self, applied: AppliedBundle | None, kind: Kind, problems: list[Diagnostic]) -> Bundle | None:
        if applied is None:
            return None
        try:
            return read_bundle(applied.text, source=f"policy.{applied.name}", kind=kind)
        except GraphError as error:
            problems.append(Diagnostic("policy_invalid", "error", f"policy.{applied.name}", error.message))
            return None


class _Unfit(Exception):
    """Why a graph cannot be served."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code, self.message = code, message


def _in_one_line(error: BrokenQueries) -> str:
    return "; ".join(f"{query}: {why.strip().splitlines()[0]}" for query, why in sorted(error.broken.items()))


def _digest(applied: ServingRevision) -> str:
    """Of everything that is served, in short."""
    said = {
        "graphs": {graph.id: graph.digest for graph in applied.graphs},
        "policies": {bundle.name: [bundle.digest, *sorted(bundle.applies_to)] for bundle in applied.policies},
    }
    return hashlib.sha256(msgspec.json.encode(said, order="sorted")).hexdigest()
