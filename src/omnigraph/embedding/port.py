"""What a provider of embeddings is, to those who use one.

A provider has the name of its model and turns texts into vectors of the requested dimension. Vectors of different models cannot
be compared, so whoever searches with one says which model the stored vectors are from (`expected`), and a mismatch is an error.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Final, Protocol, runtime_checkable

from omnigraph.embedding.mock import MockEmbedder
from omnigraph.errors import EmbeddingFailed, GraphError, QueryError
from omnigraph.hints import Hint, Option
from omnigraph.model.times import shortened

DEFAULT_MODEL: Final = "openai/text-embedding-3-large"
"""The model that is meant where nobody names one."""

MOCK_VARIABLE: Final = "OMNIGRAPH_EMBEDDINGS_MOCK"
MODEL_VARIABLE: Final = "OMNIGRAPH_EMBED_MODEL"
_YES = frozenset({"1", "true", "yes", "on"})


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


def configured(environment: Mapping[str, str]) -> Embedder | None:
    """The provider the environment asks for, if any. The mock takes the name of the model that is set, to stand in for it."""
    if environment.get(MOCK_VARIABLE, "").strip().lower() in _YES:
        return MockEmbedder(environment.get(MODEL_VARIABLE) or DEFAULT_MODEL)
    return None


def is_passing(error: Exception) -> bool:
    """Whether another attempt may help."""
    return error.retryable if isinstance(error, GraphError) else isinstance(error, OSError | TimeoutError)


def as_failure(error: Exception, embedder: Embedder) -> EmbeddingFailed:
    """What a provider raised, as one of our errors."""
    who = f"the provider of `{embedder.model}` ({type(embedder).__name__})"
    return EmbeddingFailed(
        f"{who} failed: {type(error).__name__}: {shortened(error)}", model=embedder.model, retryable=is_passing(error)
    )


def embedded(
    embedder: object | None, texts: Sequence[str], dimension: int, *, field: str, expected: str | None
) -> list[list[float]]:
    """Vectors of texts, checked: from the model the field records, of its dimension, finite."""
    if embedder is None:
        raise QueryError(
            f"comparing a text with the vectors of `{field}` needs an embedding provider, and none is configured",
            hint=Hint(
                f"Give a vector, or set {MOCK_VARIABLE}=1 for made-up vectors.",
                Hint(" Or pass a provider: ", Option("embedder"), "."),
                " Providers need their key: OPENROUTER_API_KEY or OPENAI_API_KEY.",
            ),
        )
    if not isinstance(embedder, Embedder):
        raise QueryError(
            f"{type(embedder).__name__} is not an embedding provider", hint="It needs `model` and `embed(texts, dimension)`."
        )
    if expected is not None and embedder.model != expected:
        raise QueryError(
            f"`{field}` was embedded with model `{expected}`, the query would use `{embedder.model}`",
            hint="Vectors of different models cannot be compared: configure the recorded model, or give a vector.",
        )
    try:
        given = embedder.embed(texts, dimension)
    except GraphError:
        raise
    except Exception as error:
        raise as_failure(error, embedder) from error
    try:
        vectors = [[float(number) for number in vector] for vector in given]
    except (TypeError, ValueError):
        vectors = []
    if len(vectors) != len(texts) or any(len(v) != dimension or not all(map(math.isfinite, v)) for v in vectors):
        raise QueryError(f"model `{embedder.model}` did not return {dimension} finite numbers for each text")
    return vectors
