"""What a provider of embeddings is, to those who use one.

Anybody's object with `model` and `embed(texts, dimension)` will do (`Embedder`). Those of ours tell more (`Provider`): they send
one request at a time when asked to, say what it was for and what it used, and check beforehand whether they could.

    Embedder    embed(texts, dimension)                       vectors, however it gets them
    Provider    ask(texts, dimension, purpose, timeout)       one request; `Stumbled` if it failed
                prepare(dimension)                            what is wrong, before anything is sent

Vectors of different models cannot be compared, so whoever searches with one says which model the stored vectors are from.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from typing import Protocol, TypeAlias, runtime_checkable

import numpy as np

from omnigraph.embedding.pace import Pace
from omnigraph.errors import EmbeddingFailed, GraphError, UsageError
from omnigraph.model.frozen import frozen
from omnigraph.model.phrases import counted
from omnigraph.model.times import shortened

Vectors: TypeAlias = "np.ndarray[tuple[int, int], np.dtype[np.float32]]"

_NO_LENGTH = float(np.finfo(np.float32).tiny)


class Purpose(Enum):
    """What a text is embedded for. Some models embed what is looked for otherwise than what is found."""

    DOCUMENT = "document"
    QUERY = "query"


@frozen
class Answer:
    """What came back of one request."""

    vectors: Sequence[Sequence[float]]
    tokens: int | None = None
    cost: float | None = None


@runtime_checkable
class Embedder(Protocol):
    """Turns texts into vectors. Safe from any thread."""

    @property
    def model(self) -> str:
        """The full name of the model: equal names, comparable vectors."""
        ...

    def embed(self, texts: Sequence[str], dimension: int) -> Sequence[Sequence[float]]:
        """One vector of the given dimension per text, in the same order."""
        ...


@runtime_checkable
class Provider(Embedder, Protocol):
    """An embedder of ours. It holds no secrets, and can be sent to another process."""

    @property
    def pace(self) -> Pace:
        """How it is called unless somebody says otherwise."""
        ...

    def prepare(self, dimension: int) -> None:
        """Raise what is wrong before anything is sent: a key or a package is missing, or its vectors have another dimension."""
        ...

    def ask(self, texts: Sequence[str], dimension: int, purpose: Purpose, timeout: float | None) -> Answer:
        """One request, once, that takes no longer than `timeout` seconds. `Stumbled` if it failed."""
        ...


class Stumbled(Exception):
    """A request failed. The message holds no secret."""

    def __init__(self, message: str, *, again: bool = False, after: float | None = None) -> None:
        super().__init__(message)
        self.again = again
        """Whether another attempt may help."""
        self.after = after
        """Seconds the provider asks to wait before it."""


def is_passing(error: Exception) -> bool:
    """Whether another attempt may help."""
    if isinstance(error, Stumbled):
        return error.again
    return error.retryable if isinstance(error, GraphError) else isinstance(error, OSError | TimeoutError)


def as_failure(error: Exception, embedder: Embedder) -> EmbeddingFailed:
    """What a provider raised, as one of our errors."""
    who = f"the provider of `{embedder.model}` ({type(embedder).__name__})"
    what = f"{error}" if isinstance(error, Stumbled) else f"{type(error).__name__}: {shortened(error)}"
    return EmbeddingFailed(f"{who} failed: {what}", model=embedder.model, retryable=is_passing(error))


def checked(given: Sequence[Sequence[float]], count: int, dimension: int, embedder: Embedder) -> Vectors:
    """Vectors of length one, if there is one for each text, of this dimension, finite and not all zero."""

    def refused(what: str) -> EmbeddingFailed:
        return EmbeddingFailed(
            f"model `{embedder.model}` did not return {dimension} finite numbers for each text: {what}",
            model=embedder.model,
            hint="Nothing was changed. Check that the model has vectors of the dimension that the schema declares.",
        )

    if len(given) != count:
        raise refused(f"{counted(len(given), 'vector')} for {counted(count, 'text')}")
    try:
        with np.errstate(over="ignore"):
            vectors = np.asarray(given, np.float32)
    except (TypeError, ValueError):
        raise refused("they are of different lengths, or no numbers") from None
    if vectors.shape != (count, dimension):
        raise refused(f"they have {vectors.shape[1] if vectors.ndim == 2 else 0:,}")
    lengths = np.sqrt(np.einsum("ij,ij->i", vectors, vectors, dtype=np.float64))
    if not np.isfinite(lengths).all():
        raise refused("some are not finite")
    if (lengths < _NO_LENGTH).any():
        raise refused("all numbers of a vector are zero")
    off = np.abs(lengths - 1) > 1e-6
    if off.any():
        vectors = vectors.copy()
        vectors[off] = (vectors[off] / lengths[off, None]).astype(np.float32)
    return vectors


def require_embedder(embedder: object) -> Embedder:
    """An object that is one."""
    if not isinstance(embedder, Embedder):
        raise UsageError(
            f"{type(embedder).__name__} is not an embedding provider", hint="It needs `model` and `embed(texts, dimension)`."
        )
    return embedder
