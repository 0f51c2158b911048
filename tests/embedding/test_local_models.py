"""Models that run in this process, loaded for real from a folder that the test makes: a word has a vector, a text their mean."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import omnigraph as og
from omnigraph.embedding.paced import Paced

WORDS = ["[PAD]", "[UNK]", "ada", "bob", "likes", "tea"]
DIMENSION = 6
TABLE = np.random.default_rng(7).normal(size=(len(WORDS), DIMENSION)).astype("<f4")


def expected(text: str) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    rows = [TABLE[WORDS.index(w) if w in WORDS else 1].astype(np.float64) for w in text.split()]
    mean = np.mean(rows, axis=0)
    return mean / np.linalg.norm(mean)  # type: ignore[no-any-return]


# ── a model as ONNX, by hand: last_hidden_state = Gather(table, input_ids) ───────────────────────────────────────────────────


def _varint(number: int) -> bytes:
    out = b""
    while number > 0x7F:
        out, number = out + bytes([number & 0x7F | 0x80]), number >> 7
    return out + bytes([number])


def _field(number: int, value: int | bytes | str) -> bytes:
    if isinstance(value, int):
        return _varint(number << 3) + _varint(value)
    data = value.encode() if isinstance(value, str) else value
    return _varint(number << 3 | 2) + _varint(len(data)) + data


def _tensor(name: str, kind: int, axes: list[str | int]) -> bytes:
    shape = b"".join(_field(1, _field(2, axis) if isinstance(axis, str) else _field(1, axis)) for axis in axes)
    return _field(1, name) + _field(2, _field(1, _field(1, kind) + _field(2, shape)))


def onnx_model() -> bytes:
    """Two operators: `Gather` of the rows of a table, by token."""
    data = _field(1, len(WORDS)) + _field(1, DIMENSION) + _field(2, 1) + _field(8, "table") + _field(9, TABLE.tobytes())
    node = _field(1, "table") + _field(1, "input_ids") + _field(2, "last_hidden_state") + _field(4, "Gather")
    inputs = _field(11, _tensor("input_ids", 7, ["batch", "tokens"])) + _field(
        11, _tensor("attention_mask", 7, ["batch", "tokens"])
    )
    output = _field(12, _tensor("last_hidden_state", 1, ["batch", "tokens", DIMENSION]))
    graph = _field(1, node) + _field(2, "words") + _field(5, data) + inputs + output
    return _field(1, 8) + _field(7, graph) + _field(8, _field(1, "") + _field(2, 13))


def tokenizer(folder: Path) -> None:
    said: dict[str, object] = {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [],
        "normalizer": {"type": "Lowercase"},
        "pre_tokenizer": {"type": "Whitespace"},
        "post_processor": None,
        "decoder": None,
        "model": {"type": "WordLevel", "vocab": {w: n for n, w in enumerate(WORDS)}, "unk_token": "[UNK]"},
    }
    (folder / "tokenizer.json").write_text(json.dumps(said))
    config = {"model_max_length": 32, "pad_token": "[PAD]", "unk_token": "[UNK]", "tokenizer_class": "PreTrainedTokenizerFast"}
    (folder / "tokenizer_config.json").write_text(json.dumps(config))
    (folder / "special_tokens_map.json").write_text(json.dumps({"pad_token": "[PAD]", "unk_token": "[UNK]"}))
    (folder / "config.json").write_text(json.dumps({"hidden_size": DIMENSION, "pad_token_id": 0, "model_type": "bert"}))


@pytest.fixture
def onnx_folder(tmp_path: Path) -> Path:
    pytest.importorskip("fastembed", reason="the extra `fastembed` is not installed")
    folder = tmp_path / "model"
    folder.mkdir()
    tokenizer(folder)
    (folder / "model.onnx").write_bytes(onnx_model())
    return folder


def test_fastembed_runs_a_model_of_a_folder(onnx_folder: Path, tmp_path: Path) -> None:
    name = f"tests/{tmp_path.name}"
    model = og.embedding_provider("fastembed", model=name, base_url=str(onnx_folder))
    texts = ["ada likes tea", "bob", "ada somebody"]
    assert np.allclose(model.embed(texts, DIMENSION), [expected(t) for t in texts], atol=1e-5)
    with pytest.raises(og.UsageError, match=rf"have {DIMENSION} numbers, not 8"):
        model.embed(["ada"], 8)
    schema = f'node Doc {{ slug: String @key  text: String?  vec: Vector({DIMENSION})? @embed("text", model="{name}") }}'
    with og.init(tmp_path / "g", schema=schema, embedder=model) as graph:
        done = graph.load([{"type": "Doc", "data": {"slug": t, "text": t}} for t in texts], embed=True)
        assert done.embedded is not None
        assert done.embedded.vectors == 3
        near = 'query q() { match { $d: Doc } return { $d.slug } order { nearest($d.vec, "tea likes ada") } limit 1 }'
        assert graph.query(near).rows == [{"d.slug": "ada likes tea"}]


def test_a_model_that_cannot_be_loaded_is_an_error_before_anything_is_written(tmp_path: Path) -> None:
    pytest.importorskip("fastembed", reason="the extra `fastembed` is not installed")
    for url, said in ((None, "does not know a model `nobody/nothing`"), (str(tmp_path), "holds no model.onnx")):
        with pytest.raises(og.UsageError, match=said):
            og.embedding_provider("fastembed", model="nobody/nothing", base_url=url).embed(["x"], 4)


def test_sentence_transformers_runs_a_model_of_a_folder(tmp_path: Path) -> None:
    pytest.importorskip("sentence_transformers", reason="it needs torch, which is too large for the environment of the tests")
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.models import BoW

    folder = tmp_path / "model"
    words = WORDS[2:]
    SentenceTransformer(modules=[BoW(vocab=words)], device="cpu").save(str(folder))
    model = og.embedding_provider("sentence-transformers", model="tests/bag", base_url=str(folder))
    found = Paced(model).embed(["ada likes tea", "bob"], len(words))
    assert np.allclose(found[1], [0, 1, 0, 0])
    assert np.allclose(found[0], np.array([1, 0, 1, 1]) / np.sqrt(3), atol=1e-6)
    with pytest.raises(og.UsageError, match="have 4 numbers, not 8"):
        model.embed(["ada"], 8)
