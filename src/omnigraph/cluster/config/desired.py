"""What is wanted: `cluster.yaml` with the files that it names, as resources with addresses, digests and dependencies.

Every file is read once. What was checked is what is applied: the bytes are kept, and `apply` looks again before it copies them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import field
from pathlib import Path
from typing import TYPE_CHECKING

from omnigraph.cluster.config import addresses, checks, digests
from omnigraph.cluster.config.cluster_yaml import Config, GraphConfig, Queries, read_config
from omnigraph.cluster.config.diagnostics import Diagnostics
from omnigraph.cluster.config.files import ConfigFiles, FolderFiles
from omnigraph.cluster.config.resources import BlobPolicy, Profile, Resource, graph_digest
from omnigraph.errors import UsageError
from omnigraph.model.frozen import frozen

if TYPE_CHECKING:
    from omnigraph.catalog.catalog import Catalog


@frozen
class Wanted:
    """A resource that is wanted."""

    address: str
    resource: Resource
    path: str | None = None
    """Of its file, relative to the folder of the configuration."""
    content: bytes | None = field(default=None, repr=False)


@frozen
class Desired:
    """Everything that is wanted."""

    files: ConfigFiles
    config: Config
    root: str
    resources: Mapping[str, Wanted]
    catalogs: Mapping[str, Catalog] = field(default_factory=dict, repr=False)
    """Of the schemas that make sense, by graph."""

    @property
    def digest_map(self) -> dict[str, str]:
        return {address: self.resources[address].resource.digest for address in sorted(self.resources)}

    @property
    def config_digest(self) -> str:
        return digests.of_config(self.config, self.digest_map)

    @property
    def dependencies(self) -> tuple[tuple[str, str], ...]:
        """Pairs (from, to): the first rests on the second."""
        return tuple(sorted(set(self._dependencies())))

    def schema_text(self, graph_id: str) -> str:
        """The schema of a graph."""
        content = self.resources[addresses.schema(graph_id)].content
        assert content is not None
        return content.decode()

    def _dependencies(self) -> Iterator[tuple[str, str]]:
        for address, wanted in self.resources.items():
            kind, graph_id = addresses.kind(address), addresses.graph_of(address)
            if kind in ("schema", "query") and graph_id is not None:
                yield address, addresses.graph(graph_id)
            if kind == "query" and graph_id is not None:
                yield address, addresses.schema(graph_id)
            for bound in wanted.resource.applies_to or ():
                if bound != addresses.CLUSTER:
                    yield address, bound
            if wanted.resource.embedding_provider is not None:
                yield address, wanted.resource.embedding_provider


def read_desired(folder: Path | ConfigFiles, problems: Diagnostics) -> Desired | None:
    """What is wanted, as far as it makes sense; None if the configuration itself cannot be read, or is for another cluster."""
    files = FolderFiles(folder) if isinstance(folder, Path) else folder
    config = read_config(files, problems)
    if config is None:
        return None
    try:
        root = files.root(config)
    except UsageError as error:
        problems.error("storage_root_invalid", "storage", error.message)
        return None
    return _Reading(files, config, problems).desired(root)


class _Reading:
    """Reads the files."""

    def __init__(self, files: ConfigFiles, config: Config, problems: Diagnostics) -> None:
        self.files, self.config, self.problems = files, config, problems
        self.resources: dict[str, Wanted] = {}
        self.catalogs: dict[str, Catalog] = {}

    def desired(self, root: str) -> Desired:
        for name, provider in self.config.providers.items():
            profile = Profile(**provider.to_json())
            digest = digests.of_provider(profile.to_json())
            self._add(addresses.provider(name), Resource(digest, embedding_profile=profile))
        for graph_id, graph in self.config.graphs.items():
            self._graph(graph_id, graph)
        self._policies()
        resources = {address: wanted.resource for address, wanted in self.resources.items()}
        for graph_id, graph in self.config.graphs.items():
            address = addresses.graph(graph_id)
            blobs = self._blob_policy(graph_id, graph)
            resources[address] = Resource("", embedding_provider=graph.embedding_provider, external_blob_policy=blobs)
            digest = graph_digest(graph_id, resources)
            bound = Resource(digest, embedding_provider=graph.embedding_provider, external_blob_policy=blobs)
            self._add(address, bound)
        return Desired(self.files, self.config, root, dict(sorted(self.resources.items())), self.catalogs)

    def _add(self, address: str, resource: Resource, path: str | None = None, content: bytes | None = None) -> None:
        self.resources[address] = Wanted(address, resource, path, content)

    def _read(self, path: str, code: str, where: str) -> bytes | None:
        try:
            content = self.files.read(path)
            content.decode("utf-8")
        except OSError as error:
            self.problems.error(code, where, f"{path} cannot be read: {error.strerror or error}")
            return None
        except UnicodeDecodeError:
            self.problems.error(code, where, f"{path} is not UTF-8 text")
            return None
        return content

    def _graph(self, graph_id: str, graph: GraphConfig) -> None:
        where = f"graphs.{graph_id}"
        if graph.schema:
            content = self._read(graph.schema, "schema_file_missing", f"{where}.schema")
            if content is not None:
                self._add(addresses.schema(graph_id), Resource(digests.of_bytes(content)), graph.schema, content)
                catalog = checks.schema(content.decode(), graph.schema, f"{where}.schema", self.problems)
                if catalog is not None:
                    self.catalogs[graph_id] = catalog
        if graph.queries is None:
            return
        registered = 0
        for name, path in self._query_files(graph.queries, f"{where}.queries"):
            registered += self._queries(graph_id, name, path, f"{where}.queries")
        if registered and graph_id not in self.catalogs:
            message = "queries are not checked, because the schema of the graph is broken"
            self.problems.warn("query_typecheck_skipped", f"{where}.queries", message)

    def _query_files(self, queries: Queries, where: str) -> list[tuple[str | None, str]]:
        if queries.form != "path":
            return list(queries.files)
        ((_, path),) = queries.files
        if not self.files.is_folder(path):
            if path.endswith("/") or not self.files.is_file(path):
                self.problems.error("query_dir_unreadable", where, f"there is no folder and no file {path}")
                return []
            return list(queries.files)
        try:
            files = [name for name in self.files.names(path) if Path(name).suffix == ".gq"]
        except OSError as error:
            self.problems.error("query_dir_unreadable", where, f"{path} cannot be read: {error.strerror or error}")
            return []
        if not files:
            self.problems.error("query_dir_empty", where, f"there is no .gq file in {path}")
        return [(None, f"{path.rstrip('/')}/{name}") for name in files]

    def _queries(self, graph_id: str, wanted: str | None, path: str, where: str) -> int:
        """Register the queries of a file, or the one of a name. Gives their number."""
        where = where if wanted is None else f"{where}.{wanted}"
        content = self._read(path, "query_file_missing", where)
        if content is None:
            return 0
        found = checks.queries(content.decode(), path, where, self.catalogs.get(graph_id), self.problems, wanted)
        if found is None:
            return 0
        if wanted is not None and wanted not in found:
            declared = f"; it declares {', '.join(found)}" if found else ""
            self.problems.error("query_key_mismatch", where, f"{path} declares no query `{wanted}`{declared}")
            return 0
        names = [wanted] if wanted is not None else found
        for name in names:
            address = addresses.query(graph_id, name)
            before = self.resources.get(address)
            if before is not None:
                message = f"`{name}` is declared in {before.path} and in {path}"
                self.problems.error("duplicate_query_name", where, message)
            else:
                self._add(address, Resource(digests.of_bytes(content)), path, content)
        return len(names)

    def _policies(self) -> None:
        taken: dict[str, str] = {}
        for name, policy in self.config.policies.items():
            where = f"policies.{name}"
            bound = self._bindings(policy.applies_to, f"{where}.applies_to")
            kinds = {"cluster" if one == addresses.CLUSTER else "graph" for one in bound}
            if len(kinds) > 1:
                message = "one bundle is either about the cluster or about graphs; make two of it"
                self.problems.error("policy_mixed_binding_kinds", f"{where}.applies_to", message)
            for one in bound:
                if one in taken:
                    message = f"`{one}` is bound to `{taken[one]}` already; a scope has one bundle"
                    self.problems.error("duplicate_policy_binding", f"{where}.applies_to", message)
                else:
                    taken[one] = name
            if not policy.file:
                continue
            content = self._read(policy.file, "policy_file_missing", f"{where}.file")
            if content is None:
                continue
            if len(kinds) == 1:
                checks.policy(content.decode(), policy.file, f"{where}.file", kinds.pop(), self.problems)
            resource = Resource(digests.of_bytes(content), applies_to=tuple(sorted(bound)))
            self._add(addresses.policy(name), resource, policy.file, content)

    def _bindings(self, references: tuple[str, ...], where: str) -> list[str]:
        found = []
        for at, reference in enumerate(references):
            kind, _, name = reference.rpartition(".")
            if reference == addresses.CLUSTER:
                found.append(addresses.CLUSTER)
            elif kind not in ("", "graph"):
                message = f"`{reference}` is no graph; write `cluster`, a graph id, or `graph.<id>`"
                self.problems.error("wrong_kind_reference", f"{where}[{at}]", message)
            elif name not in self.config.graphs:
                known = f"; there are {', '.join(sorted(self.config.graphs))}" if self.config.graphs else ""
                message = f"there is no graph `{name}`{known}"
                self.problems.error("dangling_graph_reference", f"{where}[{at}]", message)
            else:
                found.append(addresses.graph(name))
        return found

    def _blob_policy(self, graph_id: str, graph: GraphConfig) -> BlobPolicy | None:
        return checks.blob_policy(graph.blob_bases, f"graphs.{graph_id}.external_blobs", self.problems)
