"""Which handler a path belongs to.

Paths are matched as they were sent: `%2F` inside a segment is part of a name and does not split it, so a segment is decoded only
after it has been matched. Names stand in one place of a pattern at most, and a segment that is spelt out goes before one that is
a name.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Final, Literal
from urllib.parse import unquote_to_bytes

from omnigraph.errors import UsageError
from omnigraph.model.frozen import frozen

if TYPE_CHECKING:
    from starlette.responses import Response

    from omnigraph.surfaces.http.calls import Call

Method = Literal["GET", "POST", "DELETE"]
Handler = Callable[["Call"], Awaitable["Response"]]

SMALL_BODY: Final = 1 << 20
LARGE_BODY: Final = 32 << 20
DEPLOYMENT_BODY: Final = 16 << 20

ROUTE: Final = "omnigraph.route"
"""Where a request's scope says which route it was for."""

_NAME: Final = "*"
_KEPT: Final = 1_024
_SHORT: Final = 256
"""How many paths are remembered, and of which length at most."""


@frozen
class Route:
    """A method and a path, and who answers. `{x}` in a path is a name; those below `/graphs/{graph_id}` are of one graph."""

    method: Method
    path: str
    handler: Handler
    operation_id: str
    summary: str
    open: bool = False
    """Whether it answers without a token."""
    body: type | None = None
    """What the request holds, if it is JSON."""
    answer: type | None = None
    """What the answer holds, if it is JSON."""
    other_answer: type | None = None
    """What else it may hold."""
    optional_body: bool = False
    """Whether the body may be left out."""
    largest_body: int = SMALL_BODY
    deprecated_for: str | None = None
    """What takes its place, if it is there for earlier clients only."""
    documented: bool = True

    @property
    def of_graph(self) -> bool:
        """Whether it is about one graph."""
        return self.path.startswith(_OF_GRAPH)


_OF_GRAPH: Final = "/graphs/{graph_id}"


@frozen
class Match:
    """A route, and the segments that its names stand for, as they were sent."""

    route: Route
    names: Mapping[str, str]


class WrongMethod(Exception):
    """The path is known, but not for this method."""

    def __init__(self, allowed: Iterable[str]) -> None:
        self.allowed = tuple(sorted(set(allowed)))


class Router:
    """Finds routes."""

    def __init__(self, routes: Iterable[Route]) -> None:
        self._routes: dict[tuple[str, ...], dict[str, Route]] = {}
        self._places: dict[tuple[str, ...], dict[int, str]] = {}
        self._found: dict[tuple[str, bytes], Match] = {}
        """Paths that were asked for lately."""
        for route in routes:
            segments = route.path.split("/")[1:]
            key = tuple(_NAME if s.startswith("{") else s for s in segments)
            self._routes.setdefault(key, {})[route.method] = route
            self._places[key] = {at: s[1:-1] for at, s in enumerate(segments) if s.startswith("{")}

    def find(self, method: str, raw_path: bytes) -> Match | None:
        """The route of a request; None if there is no such path. HEAD is answered wherever GET is."""
        known = self._found.get((method, raw_path))
        if known is not None:
            return known
        found = self._search(method, raw_path)
        if found is not None and len(raw_path) <= _SHORT:
            if len(self._found) >= _KEPT:
                self._found.clear()
            self._found[method, raw_path] = found
        return found

    def _search(self, method: str, raw_path: bytes) -> Match | None:
        segments = raw_path.decode("latin-1").split("/")[1:]
        wanted = "GET" if method == "HEAD" else method
        allowed: list[str] = []
        for key in _keys(segments):
            found = self._routes.get(key)
            if found is None or not all(segments[at] for at in self._places[key]):
                continue
            if wanted in found:
                return Match(found[wanted], {name: segments[at] for at, name in self._places[key].items()})
            allowed += found
        if allowed:
            raise WrongMethod([*allowed, *(["HEAD"] if "GET" in allowed else [])])
        return None


def _keys(segments: list[str]) -> list[tuple[str, ...]]:
    """What a path may be, the more it is spelt out the earlier: itself, of a graph, of something of a graph or of the cluster."""
    keys = [tuple(segments)]
    if len(segments) > 2 and segments[0] == "graphs":
        keys.append(("graphs", _NAME, *segments[2:]))
    if len(segments) > 3 and segments[0] == "graphs":
        keys.append(("graphs", _NAME, segments[2], _NAME, *segments[4:]))
    if len(segments) == 3 and segments[0] == "cluster":
        keys.append(("cluster", segments[1], _NAME))
    return keys


def decoded(segment: str) -> str:
    """A segment of a path as it is meant."""
    if "%" not in segment and segment.isascii():
        return segment
    try:
        return unquote_to_bytes(segment).decode()
    except UnicodeDecodeError:
        raise UsageError("the path is not UTF-8") from None
