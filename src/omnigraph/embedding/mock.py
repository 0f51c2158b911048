"""Vectors made from nothing but the text: the same text has the same vector, everywhere and for ever.

They say nothing about meaning. They are for tests, demos and developing without a network.

    state        FNV-1a of the text, 64 bits
    component    the state after one xorshift (13, 7, 17), as a number between -1 and 1, in 32-bit floats
    vector       the components divided by their length
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from omnigraph.model.frozen import frozen

_MASK = 2**64 - 1
_OFFSET, _PRIME = 14695981039346656037, 1099511628211


@lru_cache(1024)
def mock_vector(text: str, dimension: int) -> tuple[float, ...]:
    """The vector of a text."""
    state = _OFFSET
    for byte in text.encode():
        state = ((state ^ byte) * _PRIME) & _MASK
    states = []
    for _ in range(dimension):
        state ^= (state << 13) & _MASK
        state ^= state >> 7
        state ^= (state << 17) & _MASK
        states.append(state / _MASK)
    components = np.array(states, np.float64).astype(np.float32) * np.float32(2) - np.float32(1)
    norm = np.float32(np.sqrt(sum(float(c) ** 2 for c in components)))
    if norm > np.finfo(np.float32).eps:
        components = components / norm
    return tuple(components.tolist())


@frozen
class MockEmbedder:
    """A provider of such vectors."""

    model: str = "mock"
    """Change it to stand in for a model that a schema records."""

    def embed(self, texts: Sequence[str], dimension: int) -> list[tuple[float, ...]]:
        """One vector per text."""
        return [mock_vector(text, dimension) for text in texts]
