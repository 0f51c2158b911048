"""sentence-transformers: models on torch, by their name or from a folder. Prompts for queries are used where a model has them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from omnigraph.embedding.port import Purpose
from omnigraph.embedding.providers.local import LocalModel
from omnigraph.model.frozen import frozen


@frozen(slots=False)
class SentenceTransformers(LocalModel):
    """A model that sentence-transformers runs."""

    kind: ClassVar[str] = "sentence-transformers"

    def _load(self, folder: str | None) -> tuple[Any, int]:
        from sentence_transformers import SentenceTransformer

        made = SentenceTransformer(folder or self.model, local_files_only=folder is not None)
        dimension = getattr(made, "get_embedding_dimension", None) or made.get_sentence_embedding_dimension
        return made, int(dimension())

    def _vectors(self, loaded: Any, texts: Sequence[str], purpose: Purpose) -> Sequence[Sequence[float]]:
        prompt = purpose.value if purpose.value in (getattr(loaded, "prompts", None) or {}) else None
        found: Sequence[Sequence[float]] = loaded.encode(
            list(texts), batch_size=self.pace.batch, prompt_name=prompt, convert_to_numpy=True, show_progress_bar=False
        )
        return found
