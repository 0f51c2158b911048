"""What a person has settled beforehand: `config.yaml` in the operator's folder, and environment variables.

    ~/.omnigraph/config.yaml            or $OMNIGRAPH_HOME/config.yaml

    operator: { actor: act-me }         the actor recorded in commits, unless --as names another
    defaults:
      store: /data/memory.omni          the graph that is meant when none is named
      output: table                     how answers are shown
    servers:
      prod: { url: https://g.example }  --server prod
    clusters:
      brain: { root: s3://bucket/brain } --cluster brain
    profiles:
      dev: { store: dev.omni }          --profile dev
      live: { server: prod, default_graph: knowledge }
    aliases:
      who:                              omnigraph alias who Ada
        store: people.omni
        query: queries/people.gq        a file, relative to config.yaml
        name: find_person               which query of the file
        args: [name]                    positional arguments, by parameter
      lately:
        server: prod
        graph: knowledge
        query: lately                   the name of a stored query

A missing file is an empty one, a broken one is an error. A key nobody knows is told on stderr and otherwise left alone: it may be
of a newer version. `KEYS` and `ENVIRONMENT` say what each is for; the reference page is written from them.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import field
from pathlib import Path
from typing import Any, Final

from omnigraph.errors import NotFound, ScopeError, UsageError
from omnigraph.model.frozen import frozen
from omnigraph.surfaces.cli.output import say

FORMATS: Final = ("table", "kv", "csv", "jsonl", "json", "arrow", "parquet")
SETTABLE_FORMATS: Final = FORMATS[:5]
LAYOUTS: Final = ("truncate", "wrap")
DEFAULT_WIDTH: Final = 80

ENVIRONMENT: Final[Mapping[str, str]] = {
    "OMNIGRAPH_HOME": "folder of `config.yaml`; `~/.omnigraph` unless set",
    "OMNIGRAPH_PROFILE": "the profile that is meant when `--profile` is not given",
    "OMNIGRAPH_TOKEN_<NAME>": "token for the server NAME of `config.yaml`, in upper case, `-` as `_`",
    "OMNIGRAPH_BASE_URL": "`omnigraph mcp`: address of the server that is meant when no graph is named",
    "OMNIGRAPH_GRAPH_ID": "`omnigraph mcp`: graph of that server",
    "OMNIGRAPH_TOKEN": "`omnigraph mcp`: token for that server, or for the one of `--server` if it has none of its own",
    "OMNIGRAPH_DEFAULT_BRANCH": "`omnigraph mcp`: the branch that tools mean when none is named; `main` unless set",
    "OMNIGRAPH_EMBEDDINGS_MOCK": "`1`: made-up vectors instead of a provider, the same for the same text everywhere; it wins",
    "OMNIGRAPH_EMBED_PROVIDER": "who makes vectors: `openai-compatible` (unless set), `openai`, `gemini`, `cohere`, `ollama`, "
    "`fastembed`, `sentence-transformers`, `mock`",
    "OMNIGRAPH_EMBED_BASE_URL": "its address, or the folder of a model that runs here",
    "OMNIGRAPH_EMBED_MODEL": "name of the embedding model that vectors are made with",
    "OMNIGRAPH_EMBED_DEADLINE_MS": "milliseconds that a request for vectors may take with all its attempts; 60000, `0`: no limit",
    "OMNIGRAPH_EMBED_TIMEOUT_MS": "milliseconds that one attempt may take; 30000",
    "OMNIGRAPH_EMBED_RETRY_ATTEMPTS": "how often a failed request is repeated; 4",
    "OMNIGRAPH_EMBED_RETRY_BACKOFF_MS": "milliseconds before the first repetition, twice as long before each further one; 200",
    "OPENROUTER_API_KEY": "key of `openai-compatible`",
    "OPENAI_API_KEY": "key of `openai`, and of `openai-compatible` where the other one is not set",
    "GEMINI_API_KEY": "key of `gemini`",
    "COHERE_API_KEY": "key of `cohere`",
    "JAVA_HOME": "the Java that Spark runs on; without it one is found, or the one of the `spark` extra is used",
    "NO_COLOR": "set: no colour, whatever the terminal",
    "AWS_ACCESS_KEY_ID": "S3: access key",
    "AWS_SECRET_ACCESS_KEY": "S3: secret key",
    "AWS_SESSION_TOKEN": "S3: token of temporary keys",
    "AWS_REGION": "S3: region",
    "AWS_DEFAULT_REGION": "S3: region, where the other one is not set",
    "AWS_ENDPOINT_URL": "S3: address of another store than Amazon's (MinIO, R2, …)",
    "AWS_ENDPOINT_URL_S3": "the same, for S3 alone; it comes first",
    "AWS_ALLOW_HTTP": "S3: `true` to speak to that address without TLS",
}
"""Environment variable to meaning."""

KEYS: Final[Mapping[str, str]] = {
    "operator.actor": "the actor recorded in every commit, unless `--as` names another",
    "defaults.store": "path or `s3://` address of the graph that is meant when none is named",
    "defaults.server": "server that is meant when none is named: a name below `servers`, or its address",
    "defaults.default_graph": "graph of that server",
    "defaults.output": f"how answers are shown: {', '.join(SETTABLE_FORMATS)}",
    "defaults.table_max_column_width": f"widest column of a table; {DEFAULT_WIDTH} unless set",
    "defaults.table_cell_layout": "what happens to longer values: `truncate` (unless set) or `wrap`",
    "profiles.NAME.store": "path or `s3://` address that `--profile NAME` stands for",
    "profiles.NAME.server": "server that `--profile NAME` stands for, instead of a store",
    "profiles.NAME.default_graph": "graph of that server or cluster",
    "profiles.NAME.cluster": "cluster that `--profile NAME` stands for, instead of a store",
    "clusters.NAME.root": "folder or address that `--cluster NAME` stands for",
    "servers.NAME.url": "address that `--server NAME` stands for",
    "aliases.NAME.server": "server the alias asks, instead of a store",
    "aliases.NAME.graph": "graph of that server",
    "aliases.NAME.store": "graph the alias asks; `defaults.store` unless set",
    "aliases.NAME.query": "name of a stored query of the server; or a `.gq` file, relative to the folder of `config.yaml`",
    "aliases.NAME.name": "which query of the file, when it holds several",
    "aliases.NAME.args": "parameters that positional arguments are given to, in order",
    "aliases.NAME.params": "parameters that are always given",
    "aliases.NAME.branch": "branch that is read; `main` unless set",
    "aliases.NAME.format": "how the answer is shown",
}
"""Key of `config.yaml` to meaning."""


@frozen
class Alias:
    """A query with a short name."""

    query: str
    store: str | None = None
    name: str | None = None
    args: tuple[str, ...] = ()
    params: Mapping[str, Any] = field(default_factory=dict)
    branch: str | None = None
    format: str | None = None
    server: str | None = None
    graph: str | None = None
    is_stored: bool = False
    """Whether `query` is the name of a query that is stored there, not a file."""


@frozen
class Binding:
    """What a profile stands for: a store, or a server or cluster and perhaps one of its graphs."""

    kind: str
    target: str
    graph: str | None = None


@frozen(slots=False)
class Settings:
    """Everything that is settled."""

    path: Path
    content: Mapping[str, Any] = field(default_factory=dict)

    def get(self, key: str) -> Any:
        """The value of a key like `defaults.store`, or None."""
        found: Any = self.content
        for part in key.split("."):
            found = found.get(part) if isinstance(found, Mapping) else None
        return found

    @property
    def actor(self) -> str | None:
        value = self.get("operator.actor")
        return None if value is None else str(value)

    @property
    def store(self) -> str | None:
        value = self.get("defaults.store")
        return None if value is None else str(value)

    @property
    def output(self) -> str | None:
        return self._one_of("defaults.output", SETTABLE_FORMATS)

    @property
    def layout(self) -> str:
        return self._one_of("defaults.table_cell_layout", LAYOUTS) or LAYOUTS[0]

    @property
    def width(self) -> int:
        value = self.get("defaults.table_max_column_width")
        if value is None:
            return DEFAULT_WIDTH
        if not isinstance(value, int) or isinstance(value, bool) or value < 1:
            raise UsageError(f"{self.path}: defaults.table_max_column_width is {value!r}, not a number of characters")
        return value

    @property
    def profiles(self) -> list[str]:
        return sorted(self.get("profiles") or {})

    @property
    def aliases(self) -> list[str]:
        return sorted(self.get("aliases") or {})

    @property
    def server(self) -> str | None:
        value = self.get("defaults.server")
        return None if value is None else str(value)

    @property
    def default_graph(self) -> str | None:
        value = self.get("defaults.default_graph")
        return None if value is None else str(value)

    def profile(self, name: str) -> Binding:
        """What a profile stands for."""
        if name not in self.profiles:
            raise NotFound(f"no profile `{name}` in {self.path}", hint=_near(name, "profiles", self.profiles))
        bound = {key: value for key, value in (self.get(f"profiles.{name}") or {}).items() if key in _BINDINGS}
        if len(bound) != 1:
            raise ScopeError(f"profile `{name}` must name exactly one of {', '.join(_BINDINGS)}", hint=f"See {self.path}.")
        graph = self.get(f"profiles.{name}.default_graph")
        (kind, target), *_ = bound.items()
        return Binding(kind, str(target), None if graph is None else str(graph))

    def cluster(self, given: str) -> str:
        """The folder or address of a cluster that is called by its name, or by itself."""
        root = self.get(f"clusters.{given}.root") if given in (self.get("clusters") or {}) else given
        if not isinstance(root, str) or not root.strip():
            raise UsageError(f"{self.path}: clusters.{given}.root is missing", hint="It is the folder or address of the cluster.")
        return root

    def alias(self, name: str) -> Alias:
        """A query with a short name."""
        if name not in self.aliases:
            raise NotFound(f"no alias `{name}`", hint=_near(name, "aliases", self.aliases))
        given = self.get(f"aliases.{name}") or {}
        if "server" in given and "store" in given:
            raise ScopeError(f"alias `{name}` has a store and a server", hint="Remove one of them.")
        if not given.get("query"):
            raise UsageError(f"{self.path}: aliases.{name}.query is missing", hint="It is the name of a stored query, or a file.")
        args = tuple(str(arg) for arg in given.get("args") or ())
        is_stored = "server" in given and not str(given["query"]).endswith(".gq")
        return Alias(
            given["query"] if is_stored else str(self.path.parent / given["query"]),
            given.get("store"),
            given.get("name"),
            args,
            given.get("params") or {},
            given.get("branch"),
            given.get("format"),
            given.get("server"),
            given.get("graph"),
            is_stored,
        )

    def _one_of(self, key: str, choices: tuple[str, ...]) -> str | None:
        value = self.get(key)
        if value is not None and value not in choices:
            raise UsageError(f"{self.path}: {key} cannot be `{value}`", hint=f"It is one of {', '.join(choices)}.")
        return None if value is None else str(value)


_BINDINGS = ("server", "cluster", "store")


def folder(environment: Mapping[str, str] | None = None) -> Path:
    """Where the settings of this person stand."""
    home = (os.environ if environment is None else environment).get("OMNIGRAPH_HOME")
    return Path(home).expanduser() if home else Path.home() / ".omnigraph"


def read() -> Settings:
    """The settings, with a word on stderr about each key that nobody knows."""
    path = folder() / "config.yaml"
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return Settings(path)
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"cannot read {path}: {error}") from None
    content = parse(text, path)
    for key in unknown_keys(content):
        say(f"warning: unknown key `{key}` (newer CLI feature or typo); ignored", err=True)
    defaults = content.get("defaults") or {}
    for other in ("server", "default_graph"):
        if defaults.get("store") is not None and defaults.get(other) is not None:
            raise UsageError(f"{path}: defaults.store and defaults.{other} exclude each other", hint="Remove one of them.")
    return Settings(path, content)


def parse(text: str, path: Path) -> dict[str, Any]:
    """The content of a settings file."""
    import yaml

    try:
        content = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise UsageError(f"{path} is not YAML: {error}", hint="Fix the marked place.") from None
    if content is None:
        return {}
    if not isinstance(content, dict) or any(not isinstance(v, dict | None) for v in content.values()):
        hint = "Write sections with names below them, such as `defaults:` and `  output: table`."
        raise UsageError(f"{path} is not a mapping of sections", hint=hint)
    return content


def unknown_keys(content: Mapping[str, Any]) -> Iterator[str]:
    """Keys that nobody knows, dotted."""
    known = {tuple(key.split(".")) for key in KEYS}
    for section, values in content.items():
        if not any(key[0] == section for key in known):
            yield section
            continue
        for name, value in (values or {}).items():
            named = (section, "NAME") in {key[:2] for key in known}
            if not named and (section, name) not in known:
                yield f"{section}.{name}"
            if named and isinstance(value, Mapping):
                for inner in value:
                    if (section, "NAME", inner) not in known:
                        yield f"{section}.{name}.{inner}"


def _near(name: str, what: str, names: list[str]) -> str:
    from omnigraph.language.diagnostics import did_you_mean

    none = f"There are no {what} yet. Add one below `{what}:` in config.yaml."
    known = f"There are {', '.join(names)}." if names else none
    return did_you_mean(name, names) or known
