"""Providers of embeddings, one module each: what they are called, what they need, and where they are. Each is imported at its
first use, since some bring large packages with them.

    kind                     default address                     default model                       key
    openai-compatible        https://openrouter.ai/api/v1        openai/text-embedding-3-large       OPENROUTER_…, OPENAI_API_KEY
    openai                   https://api.openai.com/v1           text-embedding-3-large              OPENAI_API_KEY
    gemini                   https://generativelanguage…         gemini-embedding-2                  GEMINI_API_KEY
    cohere                   https://api.cohere.com/v2           embed-v4.0                          COHERE_API_KEY
    ollama                   http://localhost:11434              nomic-embed-text                    –
    fastembed                –                                   BAAI/bge-small-en-v1.5              –
    sentence-transformers    –                                   all-MiniLM-L6-v2                    –
    mock                     –                                   –                                   –
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from omnigraph.model.frozen import frozen


@frozen
class Kind:
    """A kind of provider."""

    name: str
    module: str
    """Where its class is, below this package…"""
    cls: str
    """… and what it is called."""
    model: str
    base_url: str | None = None
    """Where it is, unless somebody says otherwise. None: it runs in this process."""
    keys: tuple[str, ...] = ()
    """Environment variables that may hold its key, the first one first. None: it needs no key."""
    batch: int = 128
    """Texts per request."""

    @property
    def needs_key(self) -> bool:
        return bool(self.keys)


MOCK: Final = "mock"
DEFAULT: Final = "openai-compatible"

KINDS: Final[Mapping[str, Kind]] = {
    kind.name: kind
    for kind in (
        Kind(
            DEFAULT,
            "openai",
            "OpenAICompatible",
            "openai/text-embedding-3-large",
            "https://openrouter.ai/api/v1",
            ("OPENROUTER_API_KEY", "OPENAI_API_KEY"),
        ),
        Kind("openai", "openai", "OpenAI", "text-embedding-3-large", "https://api.openai.com/v1", ("OPENAI_API_KEY",)),
        Kind(
            "gemini",
            "gemini",
            "Gemini",
            "gemini-embedding-2",
            "https://generativelanguage.googleapis.com/v1beta",
            ("GEMINI_API_KEY",),
            100,
        ),
        Kind("cohere", "cohere", "Cohere", "embed-v4.0", "https://api.cohere.com/v2", ("COHERE_API_KEY",), 96),
        Kind("ollama", "ollama", "Ollama", "nomic-embed-text", "http://localhost:11434"),
        Kind("fastembed", "fastembed", "FastEmbed", "BAAI/bge-small-en-v1.5"),
        Kind(
            "sentence-transformers",
            "sentence_transformers",
            "SentenceTransformers",
            "sentence-transformers/all-MiniLM-L6-v2",
        ),
        Kind(MOCK, "", "", "openai/text-embedding-3-large"),
    )
}
"""Every kind, by its name."""
