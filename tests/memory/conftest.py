"""Tests of memories run on an open graph and on one behind a server."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from tests.engine.served import Server

import omnigraph as og
from omnigraph.embedding import MockEmbedder
from omnigraph.memory import Memory, schema

DIMENSION = 16
EMBEDDER = MockEmbedder()


@pytest.fixture(scope="session")
def memory_server() -> Iterator[Server]:
    server = Server()
    yield server
    server.close()


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[og.Graph]:
    """A graph for memories, open here."""
    with og.init(tmp_path / "team.omni", schema=schema("memory", dimension=DIMENSION), durability="os") as graph:
        yield graph


@pytest.fixture(params=["here", "served"])
def graph(request: pytest.FixtureRequest, opened: og.Graph) -> Iterator[Any]:
    """The same, open here or connected to as ada."""
    if request.param == "here":
        yield opened
        return
    server: Server = request.getfixturevalue("memory_server")
    with og.connect(server.url, graph=server.graphs.hold(opened), token="ada") as connected:
        yield connected


@pytest.fixture
def seen_by(graph: Any) -> Iterator[Callable[[str], Any]]:
    """The same graph as somebody else has it: open here it is the same, connected it needs their token."""
    with ExitStack() as connections:

        def found(actor: str) -> Any:
            if isinstance(graph, og.Graph):
                return graph
            url, _, graph_id = graph.uri.partition("/graphs/")
            return connections.enter_context(og.connect(url, graph=graph_id, token=actor))

        yield found


@pytest.fixture
def memory(graph: Any) -> Memory:
    """The memory of an agent that has a provider."""
    return Memory(graph, agent="ada", embedder=EMBEDDER)
