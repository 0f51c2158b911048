"""fastembed: models as ONNX, on a processor, without torch. One that it does not know is read from its folder:

model.onnx or onnx/model.onnx    the model: token ids and attention mask in, one vector per token out
tokenizer.json, config.json, …   as every transformer has them; `hidden_size` is the dimension
1_Pooling/config.json            how vectors of tokens become one of the text: their mean, unless it says the first one
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

from omnigraph.embedding.port import Purpose
from omnigraph.embedding.providers.local import LocalModel
from omnigraph.errors import UsageError
from omnigraph.model.frozen import frozen


@frozen(slots=False)
class FastEmbed(LocalModel):
    """A model that fastembed runs."""

    kind: ClassVar[str] = "fastembed"

    def _load(self, folder: str | None) -> tuple[Any, int]:
        from fastembed import TextEmbedding

        known = {m["model"].lower() for m in TextEmbedding.list_supported_models()}
        if self.model.lower() not in known:
            if folder is None:
                raise UsageError(
                    f"fastembed does not know a model `{self.model}`",
                    hint="Name one that it knows, or the folder that holds yours as the base URL.",
                )
            _register(TextEmbedding, self.model, Path(folder))
        more: dict[str, Any] = {} if folder is None else {"specific_model_path": folder, "local_files_only": True}
        made = TextEmbedding(self.model, **more)
        return made, int(made.embedding_size)

    def _vectors(self, loaded: Any, texts: Sequence[str], purpose: Purpose) -> Sequence[Sequence[float]]:
        embed = loaded.query_embed if purpose is Purpose.QUERY else loaded.passage_embed
        return list(embed(list(texts), batch_size=self.pace.batch))


def _register(text_embedding: Any, model: str, folder: Path) -> None:
    """Make a model of a folder known."""
    from fastembed.common.model_description import ModelSource, PoolingType

    files = [name for name in ("model.onnx", "onnx/model.onnx") if (folder / name).is_file()]
    if not files:
        raise UsageError(f"{folder} holds no model.onnx", hint="Export the model as ONNX, with its tokenizer beside it.")
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    pooling = folder / "1_Pooling" / "config.json"
    first = pooling.is_file() and bool(json.loads(pooling.read_text(encoding="utf-8")).get("pooling_mode_cls_token"))
    text_embedding.add_custom_model(
        model=model,
        pooling=PoolingType.CLS if first else PoolingType.MEAN,
        normalization=True,
        sources=ModelSource(hf=model),
        dim=int(config["hidden_size"]),
        model_file=files[0],
    )
