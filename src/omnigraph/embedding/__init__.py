"""Text to vectors: the port that providers implement, which of them is meant, how they are called, and the mock.

A graph imports this whether it has vectors or not, so everything is imported when it is asked for.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from omnigraph.embedding.configuration import DEFAULT_MODEL as DEFAULT_MODEL
    from omnigraph.embedding.configuration import InvalidProfile as InvalidProfile
    from omnigraph.embedding.configuration import Profile as Profile
    from omnigraph.embedding.configuration import configured as configured
    from omnigraph.embedding.configuration import embedding_provider as embedding_provider
    from omnigraph.embedding.mock import MockEmbedder as MockEmbedder
    from omnigraph.embedding.mock import mock_vector as mock_vector
    from omnigraph.embedding.pace import Pace as Pace
    from omnigraph.embedding.pace import Usage as Usage
    from omnigraph.embedding.port import Embedder as Embedder

_WHERE = {
    "DEFAULT_MODEL": "configuration",
    "Embedder": "port",
    "InvalidProfile": "configuration",
    "MockEmbedder": "mock",
    "Pace": "pace",
    "Profile": "configuration",
    "Usage": "pace",
    "configured": "configuration",
    "embedding_provider": "configuration",
    "mock_vector": "mock",
}


def __getattr__(name: str) -> object:
    module = _WHERE.get(name)
    if module is None:
        raise AttributeError(f"module `omnigraph.embedding` has no attribute `{name}`")
    from importlib import import_module

    found = globals()[name] = getattr(import_module(f"omnigraph.embedding.{module}"), name)
    return found


__all__ = [
    "DEFAULT_MODEL",
    "Embedder",
    "InvalidProfile",
    "MockEmbedder",
    "Pace",
    "Profile",
    "Usage",
    "configured",
    "embedding_provider",
    "mock_vector",
]
