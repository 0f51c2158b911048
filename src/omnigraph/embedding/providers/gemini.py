"""Google's Gemini. A text that is looked for is embedded otherwise than one that is found (`taskType`).

POST {base_url}/models/{model}:embedContent          one text     → {"embedding": {"values": […]}}
POST {base_url}/models/{model}:batchEmbedContents    several      → {"embeddings": [{"values": […]}, …]}
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Final
from urllib.parse import quote

import msgspec

from omnigraph.embedding.port import Answer, Purpose
from omnigraph.embedding.providers.http import HttpProvider, read_as
from omnigraph.model.frozen import frozen

_TASKS: Final = {Purpose.DOCUMENT: "RETRIEVAL_DOCUMENT", Purpose.QUERY: "RETRIEVAL_QUERY"}


class _Values(msgspec.Struct):
    values: list[float]


class _Usage(msgspec.Struct, rename="camel"):
    prompt_token_count: int | None = None


class _Said(msgspec.Struct, rename="camel"):
    embedding: _Values | None = None
    embeddings: list[_Values] = []
    usage_metadata: _Usage | None = None


_SAID: Final = msgspec.json.Decoder(_Said)


@frozen(slots=False)
class Gemini(HttpProvider):
    """Google's Gemini."""

    kind: ClassVar[str] = "gemini"

    def _request(self, texts: Sequence[str], dimension: int, purpose: Purpose) -> tuple[str, object]:
        model = f"models/{self.model.removeprefix('models/')}"
        each = [
            {
                "model": model,
                "content": {"parts": [{"text": text}]},
                "taskType": _TASKS[purpose],
                "outputDimensionality": dimension,
            }
            for text in texts
        ]
        path = f"/{quote(model, safe='/')}"
        if len(each) == 1:
            return f"{path}:embedContent", each[0]
        return f"{path}:batchEmbedContents", {"requests": each}

    def _headers(self, key: str) -> dict[str, str]:
        return {"x-goog-api-key": key}

    def _read(self, body: bytes, texts: int) -> Answer:
        said = read_as(body, _SAID)
        found = said.embeddings if said.embedding is None else [said.embedding]
        tokens = None if said.usage_metadata is None else said.usage_metadata.prompt_token_count
        return Answer([vector.values for vector in found], tokens)
