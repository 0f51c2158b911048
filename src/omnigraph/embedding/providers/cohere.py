"""Cohere. A text that is looked for is embedded otherwise than one that is found (`input_type`).

POST {base_url}/embed   {"model": …, "texts": […], "input_type": "search_document", "output_dimension": N, …}
                     →  {"embeddings": {"float": [[…], …]}, "meta": {"billed_units": {"input_tokens": 8}}}
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Final

import msgspec

from omnigraph.embedding.port import Answer, Purpose
from omnigraph.embedding.providers.http import HttpProvider, read_as
from omnigraph.model.frozen import frozen

_TYPES: Final = {Purpose.DOCUMENT: "search_document", Purpose.QUERY: "search_query"}


class _Floats(msgspec.Struct):
    float_: list[list[float]] = msgspec.field(name="float")


class _Units(msgspec.Struct):
    input_tokens: float | None = None


class _Meta(msgspec.Struct):
    billed_units: _Units | None = None


class _Said(msgspec.Struct):
    embeddings: _Floats
    meta: _Meta | None = None


_SAID: Final = msgspec.json.Decoder(_Said)


@frozen(slots=False)
class Cohere(HttpProvider):
    """Cohere."""

    kind: ClassVar[str] = "cohere"

    def _request(self, texts: Sequence[str], dimension: int, purpose: Purpose) -> tuple[str, object]:
        return "/embed", {
            "model": self.model,
            "texts": list(texts),
            "input_type": _TYPES[purpose],
            "embedding_types": ["float"],
            "output_dimension": dimension,
        }

    def _read(self, body: bytes, texts: int) -> Answer:
        said = read_as(body, _SAID)
        units = None if said.meta is None else said.meta.billed_units
        tokens = None if units is None or units.input_tokens is None else int(units.input_tokens)
        return Answer(said.embeddings.float_, tokens)
