"""`cluster.yaml`: what is wanted, as far as that one file says it.

    version: 1
    metadata: { name: demo }
    storage: s3://bucket/prefix             # by default this folder
    providers:
      embedding:
        main: { kind: openai, model: text-embedding-3-large, api_key: ${OPENAI_API_KEY} }
    graphs:
      people:
        schema: people/schema.pg
        queries: people/queries/
        embedding_provider: main
        external_blobs: { allow: [{ base: s3://media/approved, scope: server_safe }] }
    policies:
      team: { file: policies/team.yaml, applies_to: [people] }

It is read strictly, and to the end: every unknown key, wrong value and bad name is a diagnostic of its own. What the files say
that it names is found out in `desired`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from pathlib import Path
from typing import Any, Final, Literal
from urllib.parse import urlsplit

from omnigraph.cluster.config import addresses
from omnigraph.cluster.config.diagnostics import Diagnostics
from omnigraph.cluster.config.files import ConfigFiles, FolderFiles
from omnigraph.cluster.config.yaml_text import read_yaml
from omnigraph.model.frozen import frozen

FILE: Final = "cluster.yaml"

RESERVED: Final = ("apply", "env_file", "pipelines", "embeddings", "ui", "aliases", "bindings")
"""Keys of the top level that are kept for later."""

SCOPES: Final = ("server_safe", "embedded_only")


@frozen
class Provider:
    """The profile of an embedding provider: what was set of it. The key is a name of the environment, never a value."""

    kind: str | None = None
    base_url: str | None = None
    model: str | None = None
    api_key: str | None = None

    def to_json(self) -> dict[str, str]:
        """Only what is set, in this order: it is what the digest is made of."""
        given = {"kind": self.kind, "base_url": self.base_url, "model": self.model, "api_key": self.api_key}
        return {name: value for name, value in given.items() if value is not None}


@frozen
class Queries:
    """Where the stored queries of a graph are."""

    form: Literal["path", "files", "named"]
    files: tuple[tuple[str | None, str], ...]
    """Name (of those that are given by name) and path, relative to the folder of the configuration."""


@frozen
class GraphConfig:
    """A graph as `cluster.yaml` declares it."""

    schema: str
    queries: Queries | None = None
    embedding_provider: str | None = None
    """An address."""
    blob_bases: tuple[tuple[str, str], ...] = ()
    """URI and scope of each."""


@frozen
class PolicyConfig:
    """A policy as `cluster.yaml` declares it."""

    file: str
    applies_to: tuple[str, ...] = ()


@frozen
class Config:
    """Everything `cluster.yaml` says."""

    name: str | None = None
    storage: str | None = None
    lock: bool = True
    providers: Mapping[str, Provider] = field(default_factory=dict)
    graphs: Mapping[str, GraphConfig] = field(default_factory=dict)
    policies: Mapping[str, PolicyConfig] = field(default_factory=dict)


def read_config(folder: Path | ConfigFiles, problems: Diagnostics) -> Config | None:
    """The configuration in a folder, as far as it makes sense; None if nothing of it can be read."""
    files = FolderFiles(folder) if isinstance(folder, Path) else folder
    if not files.exists():
        problems.error("config_dir_not_found", files.where, f"there is no folder {files.where}")
        return None
    try:
        text = files.read(FILE).decode("utf-8-sig")
    except FileNotFoundError:
        said = f"there is no {FILE} in {files.where}" if isinstance(files, FolderFiles) else f"{FILE} was not sent"
        problems.error("cluster_config_read_error", FILE, said)
        return None
    except (OSError, UnicodeDecodeError) as error:
        problems.error("cluster_config_read_error", FILE, f"{FILE} cannot be read: {error}")
        return None
    before = len(problems.found)
    value = read_yaml(text, FILE, problems)
    if value is None:
        if len(problems.found) == before:
            problems.error("invalid_cluster_yaml", FILE, "the file says nothing; it begins with `version: 1`")
        return None
    return _Reading(problems).config(value)


class _Reading:
    """Takes a value apart, and notes what is wrong with it."""

    def __init__(self, problems: Diagnostics) -> None:
        self.problems = problems

    def wrong(self, path: str, message: str) -> None:
        self.problems.error("invalid_cluster_yaml", path, message)

    def mapping(self, value: Any, path: str, known: tuple[str, ...]) -> dict[str, Any]:
        """A mapping with some of the known keys."""
        if not isinstance(value, dict):
            self.wrong(path or FILE, f"this is {_kind(value)}, not a mapping")
            return {}
        for key in value:
            if key not in known and not (path == "" and key in RESERVED):
                self.wrong(f"{path}.{key}" if path else str(key), f"nobody knows `{key}` here; there are {', '.join(known)}")
        return {key: value[key] for key in known if key in value and value[key] is not None}

    def named(self, value: Any, path: str) -> dict[str, Any]:
        """A mapping whose keys are ids."""
        if value is None:
            return {}
        if not isinstance(value, dict):
            self.wrong(path, f"this is {_kind(value)}, not a mapping")
            return {}
        for key in value:
            if not addresses.is_id(key):
                message = f"`{key}` is no id: letters, digits, `_` and `-`, and a letter or `_` first"
                self.problems.error("invalid_resource_id", f"{path}.{key}", message)
        return {key: value[key] for key in value if addresses.is_id(key)}

    def text(self, given: dict[str, Any], key: str, path: str) -> str | None:
        """A text that is not blank."""
        value = given.get(key)
        if value is None:
            return None
        if not isinstance(value, str) or not value.strip():
            self.wrong(f"{path}.{key}" if path else key, f"this is {_kind(value)}, not a text")
            return None
        return value.strip()

    def config(self, value: Any) -> Config:
        given = self.mapping(value, "", ("version", "metadata", "storage", "state", "providers", "graphs", "policies"))
        if isinstance(value, dict):
            for key in RESERVED:
                if key in value:
                    self.problems.error("future_phase_field", key, f"`{key}` is kept for a later version")
        version = given.get("version")
        if version != 1 or isinstance(version, bool):
            said = "`version` is missing" if version is None else f"version {version!r} is not known"
            self.problems.error("unsupported_cluster_config_version", "version", f"{said}; write `version: 1`")
        providers = self.mapping(given.get("providers", {}), "providers", ("embedding",))
        graphs = self.named(given.get("graphs"), "graphs")
        for name in [name for name in graphs if not addresses.is_graph_id(name)]:
            message = (
                f"no graph can be called `{name}`: a server has routes of that name, or it is longer than {addresses.LONGEST}"
            )
            self.problems.error("invalid_resource_id", f"graphs.{name}", message)
            del graphs[name]
        policies = self.named(given.get("policies"), "policies")
        profiles = self.named(providers.get("embedding"), "providers.embedding")
        return Config(
            self.name(given),
            self.storage(given),
            self.lock(given),
            {name: self.provider(profile, f"providers.embedding.{name}") for name, profile in profiles.items()},
            {name: self.graph(graph, f"graphs.{name}", set(profiles)) for name, graph in graphs.items()},
            {name: self.policy(policy, f"policies.{name}") for name, policy in policies.items()},
        )

    def name(self, given: dict[str, Any]) -> str | None:
        metadata = self.mapping(given.get("metadata", {}), "metadata", ("name",))
        name = metadata.get("name")
        if isinstance(name, str) and not name.strip():
            self.problems.error("empty_metadata_name", "metadata.name", "the name is blank")
            return None
        return self.text(metadata, "name", "metadata")

    def storage(self, given: dict[str, Any]) -> str | None:
        root = self.text(given, "storage", "")
        if root is None:
            if "storage" in given:
                self.problems.error("invalid_storage_root", "storage", "the root is blank")
            return None
        why = storage_problem(root)
        if why is not None:
            self.problems.error("invalid_storage_root", "storage", why)
            return None
        return root.rstrip("/") or "/"

    def lock(self, given: dict[str, Any]) -> bool:
        state = self.mapping(given.get("state", {}), "state", ("backend", "lock"))
        if state.get("backend", "cluster") != "cluster":
            message = f"`{state['backend']}` is no backend; there is `cluster`"
            self.problems.error("unsupported_state_backend", "state.backend", message)
        lock = state.get("lock", True)
        if not isinstance(lock, bool):
            self.wrong("state.lock", f"this is {_kind(lock)}, not true or false")
            return True
        if not lock:
            message = "without a lock two commands at once may do work twice; only the ledger keeps them apart"
            self.problems.warn("state_lock_disabled", "state.lock", message)
        return lock

    def provider(self, value: Any, path: str) -> Provider:
        given = self.mapping({} if value is None else value, path, ("kind", "provider", "base_url", "model", "api_key"))
        from omnigraph.embedding.configuration import InvalidProfile, Profile

        said = {name: self.text(given, name, path) for name in given}
        try:
            profile = Profile.of({name: text for name, text in said.items() if text is not None})
        except InvalidProfile as error:
            where = f"{path}.api_key" if error.problem.startswith("embedding_api_key") else path
            self.problems.error(error.problem, where, error.message)
            return Provider()
        return Provider(**profile.to_dict())

    def graph(self, value: Any, path: str, providers: set[str]) -> GraphConfig:
        if isinstance(value, dict) and "streaming" in value:
            message = "`streaming` was taken out; loads are streamed anyway"
            self.problems.error("removed_streaming_declaration", f"{path}.streaming", message)
            value = {key: one for key, one in value.items() if key != "streaming"}
        given = self.mapping(value, path, ("schema", "queries", "embedding_provider", "external_blobs"))
        schema = self.text(given, "schema", path)
        if schema is None and isinstance(value, dict) and not isinstance(value.get("schema"), dict | list | int):
            self.wrong(f"{path}.schema", "every graph has a schema: give the path of a .pg file")
        return GraphConfig(
            schema or "",
            self.queries(given.get("queries"), f"{path}.queries"),
            self.bound_provider(given, path, providers),
            self.blob_bases(given.get("external_blobs"), f"{path}.external_blobs"),
        )

    def queries(self, value: Any, path: str) -> Queries | None:
        match value:
            case None:
                return None
            case str() if value.strip():
                return Queries("path", ((None, value.strip()),))
            case list():
                files = [self.text({"": one}, "", f"{path}[{at}]") for at, one in enumerate(value)]
                return Queries("files", tuple((None, file) for file in files if file is not None))
            case dict():
                named = self.named(value, path)
                found = {
                    name: self.text(self.mapping(one, f"{path}.{name}", ("file",)), "file", f"{path}.{name}")
                    for name, one in named.items()
                }
                for name in [name for name, file in found.items() if file is None]:
                    self.wrong(f"{path}.{name}.file", "the file of the query is missing")
                return Queries("named", tuple((name, file) for name, file in found.items() if file is not None))
        self.wrong(path, f"this is {_kind(value)}, not a path, a list of files or a mapping of names to files")
        return None

    def bound_provider(self, given: dict[str, Any], path: str, providers: set[str]) -> str | None:
        reference = self.text(given, "embedding_provider", path)
        if reference is None:
            return None
        name = reference.removeprefix("provider.embedding.")
        if "." in name:
            message = f"`{reference}` is no embedding provider; write its name"
            self.problems.error("wrong_kind_reference", f"{path}.embedding_provider", message)
            return None
        if name not in providers:
            known = f"; there are {', '.join(sorted(providers))}" if providers else ""
            message = f"`{name}` is not declared below providers.embedding{known}"
            self.problems.error("dangling_embedding_provider_reference", f"{path}.embedding_provider", message)
            return None
        return addresses.provider(name)

    def blob_bases(self, value: Any, path: str) -> tuple[tuple[str, str], ...]:
        if value is None:
            return ()
        given = self.mapping(value, path, ("allow",))
        allow = given.get("allow", [])
        if not isinstance(allow, list):
            self.wrong(f"{path}.allow", f"this is {_kind(allow)}, not a list of bases")
            return ()
        found = []
        for at, one in enumerate(allow):
            where = f"{path}.allow[{at}]"
            base = self.mapping(one, where, ("base", "scope"))
            uri, scope = self.text(base, "base", where), self.text(base, "scope", where)
            if uri is None or scope not in SCOPES:
                message = f"a base has `base`, a URI, and `scope`: {' or '.join(SCOPES)}"
                self.problems.error("invalid_external_blob_base", where, message)
            else:
                found.append((uri, scope))
        return tuple(found)

    def policy(self, value: Any, path: str) -> PolicyConfig:
        given = self.mapping(value, path, ("file", "applies_to"))
        file = self.text(given, "file", path)
        if file is None:
            self.wrong(f"{path}.file", "the file of the policy is missing")
        bound = given.get("applies_to", [])
        if isinstance(bound, str):
            bound = [bound]
        if not isinstance(bound, list) or not all(isinstance(one, str) for one in bound):
            self.wrong(f"{path}.applies_to", f"this is {_kind(bound)}, not a list of `cluster` or graphs")
            bound = []
        if not bound:
            message = "the policy is bound to nothing: name `cluster` or graphs"
            self.problems.error("policy_missing_applies_to", f"{path}.applies_to", message)
        return PolicyConfig(file or "", tuple(one.strip() for one in bound))


def storage_problem(root: str) -> str | None:
    """Why a text is no storage root; None if it is one."""
    if "://" not in root:
        return None
    parts = urlsplit(root)
    if parts.scheme not in ("s3", "file"):
        return f"`{parts.scheme}://` is no store for clusters; there are folders, file:// and s3://"
    if "@" in parts.netloc:
        return "an address does not hold credentials; they come from the environment"
    if parts.query or parts.fragment:
        return "an address has no query and no fragment"
    if parts.scheme == "s3" and not parts.netloc:
        return "the bucket is missing: s3://bucket/prefix"
    if parts.scheme == "file" and (parts.netloc or not parts.path.startswith("/")):
        return "write file:// and an absolute path: file:///data/cluster"
    return None


def storage_root(config: Config, folder: Path) -> str:
    """Where the cluster of a configuration lives: what it says, or its own folder."""
    if config.storage is None:
        return str(folder.absolute())
    if "://" in config.storage:
        return config.storage
    return str((folder / Path(config.storage).expanduser()).absolute())


def _kind(value: Any) -> str:
    match value:
        case None:
            return "nothing"
        case bool():
            return "true or false"
        case dict():
            return "a mapping"
        case list():
            return "a list"
        case str():
            return "a text" if value.strip() else "a blank text"
    return f"{value!r}"
