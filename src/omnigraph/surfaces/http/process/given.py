"""What is served as a command line and the environment say it: graphs by their paths, tokens by their variables.

The graphs stay the same as long as the process runs. What stands in files (tokens, policies, stored queries) is read again with
each revision.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from pathlib import Path

from omnigraph.errors import UsageError
from omnigraph.policy.states import ServedReadOnly
from omnigraph.service.open_graphs import OpenGraphs
from omnigraph.surfaces.http.graphs import Registry, named_graphs
from omnigraph.surfaces.http.process.policies import PolicyFiles
from omnigraph.surfaces.http.process.settings import Access, ServerSettings
from omnigraph.surfaces.http.process.stored import files_of, fitting, with_queries
from omnigraph.surfaces.http.revisions import Revision
from omnigraph.surfaces.http.tokens import FILE, INLINE, Tokens


class GivenGraphs:
    """Graphs that are named where the server is started."""

    def __init__(self, settings: ServerSettings, environment: Mapping[str, str]) -> None:
        self._settings, self._environment = settings, environment
        self._served = named_graphs(settings.graphs, read_only=settings.read_only)
        self._policies = PolicyFiles.of(settings, [graph.id for graph in self._served])
        self._shared = OpenGraphs()

    def load(self, before: Revision | None = None) -> Revision:
        """Everything that is served, with its graphs open."""
        fingerprint = self.fingerprint()
        tokens = tokens_for(self._settings, self._environment)
        states = ServedReadOnly() if self._settings.read_only else self._settings.access.authoriser()
        authoriser = self._policies.authoriser() if self._policies else states
        served = with_queries(self._served, self._settings.queries)
        return Revision(fitting(Registry.of(served, self._shared)), authoriser, tokens, fingerprint=fingerprint)

    def fingerprint(self) -> str:
        """Of the files that are read."""
        return fingerprint_of(self._files())

    def _files(self) -> Iterator[str]:
        yield from files_of_tokens(self._environment)
        yield from self._policies.files()
        yield from files_of(self._served, self._settings.queries)


def tokens_for(settings: ServerSettings, environment: Mapping[str, str]) -> Tokens:
    """The tokens that callers need; none if everybody is let in."""
    tokens = Tokens.from_environment(environment)
    if settings.access is Access.OPEN:
        return Tokens()
    if not tokens and (settings.policies or settings.server_policy):
        raise UsageError(
            "no tokens are configured, and a policy says what actors may do",
            hint=f'Give each actor of the policy a token: {INLINE}=\'{{"ada": "a secret of hers"}}\', or {FILE} with the path '
            "of a file that says the same.",
        )
    if not tokens:
        raise UsageError(
            "no tokens are configured", hint="Set OMNIGRAPH_SERVER_BEARER_TOKEN (or …_TOKENS_FILE), or serve --unauthenticated."
        )
    return tokens


def files_of_tokens(environment: Mapping[str, str]) -> Iterator[str]:
    """The files that tokens are read from."""
    if environment.get(FILE):
        yield environment[FILE]


def fingerprint_of(files: Iterator[str]) -> str:
    """What files hold, in short. One that cannot be read has a fingerprint, too: whoever reads it says why."""
    found = hashlib.sha256()
    for path in files:
        try:
            content = Path(path).read_bytes()
        except OSError as error:
            content = f"cannot be read: {error.errno}".encode()
        found.update(hashlib.sha256(content).digest())
    return found.hexdigest()
