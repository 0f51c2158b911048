"""Policies as a command line names them: a file for each graph or for all of them, and one for the server itself.

    --policy people=people.yaml --policy rest.yaml --server-policy server.yaml

With a policy, callers need tokens, and a graph that has none is for reading. Files are read with each revision: one that cannot
be used is refused at the start, and later leaves what is in force as it is.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from omnigraph.errors import UsageError
from omnigraph.model.frozen import frozen
from omnigraph.policy.authoriser import PolicyAuthoriser
from omnigraph.policy.bundle import Bundle, Kind, read_bundle
from omnigraph.surfaces.http.graphs import is_graph_id
from omnigraph.surfaces.http.process.settings import Access, ServerSettings


@frozen
class PolicyFiles:
    """Which file has the policy of what."""

    graphs: Mapping[str, str]
    """Path by graph id."""
    server: str | None = None

    def __bool__(self) -> bool:
        return bool(self.graphs) or self.server is not None

    @classmethod
    def of(cls, settings: ServerSettings, served: Sequence[str]) -> PolicyFiles:
        """The files that some settings name, for the graphs that are served."""
        named: dict[str, str] = {}
        others: list[str] = []
        for text in settings.policies:
            graph, equals, path = text.partition("=")
            if not equals or not is_graph_id(graph):
                others.append(text)
            elif graph not in served:
                raise UsageError(f"--policy {text}: no graph `{graph}` is served", hint=f"Served: {', '.join(served)}.")
            elif graph in named:
                raise UsageError(f"graph `{graph}` has two policies: {named[graph]} and {path}", hint="Give one of them.")
            else:
                named[graph] = path
        if len(others) > 1:
            raise UsageError(f"two policies are for all graphs: {', '.join(others)}", hint="Name their graphs: GRAPH=FILE.")
        found = cls({**{graph: others[0] for graph in served if others}, **named}, settings.server_policy)
        if found and settings.access is Access.OPEN:
            raise UsageError("a policy needs to know who asks, and --unauthenticated asks for no token", hint="Leave one out.")
        if found and settings.read_only:
            raise UsageError("--read-only and a policy both say what may be done", hint="Leave one out.")
        return found

    def files(self) -> Iterator[str]:
        """The files, each once."""
        yield from dict.fromkeys([*self.graphs.values(), *([] if self.server is None else [self.server])])

    def authoriser(self) -> PolicyAuthoriser:
        """Who decides by what the files say now."""
        graphs = {graph: _read(path, Kind.GRAPH) for graph, path in self.graphs.items()}
        return PolicyAuthoriser(graphs, None if self.server is None else _read(self.server, Kind.SERVER))


def _read(path: str, kind: Kind) -> Bundle:
    try:
        text = Path(path).read_bytes().decode("utf-8")
    except OSError as error:
        raise UsageError(f"cannot read the policy {path}: {error.strerror}", hint="Check the path and its permissions.") from None
    except UnicodeDecodeError:
        raise UsageError(f"the policy {path} is not UTF-8 text", hint="Save it as UTF-8.") from None
    return read_bundle(text, source=path, kind=kind)
