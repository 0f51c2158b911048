"""Ollama, which runs models on a machine of yours. It needs no key.

POST {base_url}/api/embed   {"model": …, "input": [text, …], "dimensions": N, "truncate": true}
                         →  {"embeddings": [[…], …], "prompt_eval_count": 8}
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Final

import msgspec

from omnigraph.embedding.port import Answer, Purpose
from omnigraph.embedding.providers.http import HttpProvider, read_as
from omnigraph.model.frozen import frozen


class _Said(msgspec.Struct):
    embeddings: list[list[float]]
    prompt_eval_count: int | None = None


_SAID: Final = msgspec.json.Decoder(_Said)


@frozen(slots=False)
class Ollama(HttpProvider):
    """Ollama."""

    kind: ClassVar[str] = "ollama"

    def _request(self, texts: Sequence[str], dimension: int, purpose: Purpose) -> tuple[str, object]:
        return "/api/embed", {"model": self.model, "input": list(texts), "dimensions": dimension, "truncate": True}

    def _read(self, body: bytes, texts: int) -> Answer:
        said = read_as(body, _SAID)
        return Answer(said.embeddings, said.prompt_eval_count)
