"""Text to vectors: the port that providers implement, and the one provider that needs nobody else."""

from omnigraph.embedding.mock import MockEmbedder, mock_vector
from omnigraph.embedding.paced import Pace
from omnigraph.embedding.port import DEFAULT_MODEL, Embedder, configured, embedded

__all__ = ["DEFAULT_MODEL", "Embedder", "MockEmbedder", "Pace", "configured", "embedded", "mock_vector"]
