"""OpenAI, and whoever speaks as it does: OpenRouter, vLLM, llama.cpp, LM Studio, text-embeddings-inference, …

POST {base_url}/embeddings   {"model": …, "input": [text, …], "dimensions": N}
                          →  {"data": [{"index": 0, "embedding": […]}, …], "usage": {"total_tokens": 8}}
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Final

import msgspec

from omnigraph.embedding.port import Answer, Purpose, Stumbled
from omnigraph.embedding.providers.http import HttpProvider, read_as
from omnigraph.model.frozen import frozen


class _Item(msgspec.Struct):
    embedding: list[float]
    index: int | None = None


class _Usage(msgspec.Struct):
    prompt_tokens: int | None = None
    total_tokens: int | None = None
    cost: float | None = None


class _Said(msgspec.Struct):
    data: list[_Item]
    usage: _Usage | None = None


_SAID: Final = msgspec.json.Decoder(_Said)


@frozen(slots=False)
class OpenAICompatible(HttpProvider):
    """A server that speaks as OpenAI's does."""

    kind: ClassVar[str] = "openai-compatible"

    def _request(self, texts: Sequence[str], dimension: int, purpose: Purpose) -> tuple[str, object]:
        return "/embeddings", {"model": self.model, "input": list(texts), "dimensions": dimension}

    def _read(self, body: bytes, texts: int) -> Answer:
        said = read_as(body, _SAID)
        numbers = [item.index for item in said.data]
        items = said.data
        if None not in numbers:
            if sorted(numbers) != list(range(len(numbers))):  # type: ignore[type-var]
                raise Stumbled("an answer whose vectors are not numbered one after the other")
            items = sorted(items, key=lambda item: item.index or 0)
        usage = said.usage or _Usage()
        tokens = usage.prompt_tokens if usage.total_tokens is None else usage.total_tokens
        return Answer([item.embedding for item in items], tokens, usage.cost)


@frozen(slots=False)
class OpenAI(OpenAICompatible):
    """OpenAI itself."""

    kind: ClassVar[str] = "openai"
