"""Vectors of texts that were embedded and are not committed yet.

A provider costs time and money, and work on many texts may fail when most of it is done. So every batch of vectors is put beside
the graph as soon as it is there, under the digest of its texts; whoever starts again, also in another process, finds them. When
the vectors are committed the files go.

    people.omni/__cache/embeddings-1f0c…/01J….arrow      digest, vector        1f0c…: model and dimension
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from omnigraph.embedding.paced import Paced, Vectors
from omnigraph.model.ids import UlidSource
from omnigraph.storage.place import Place

_DIGEST = 16


class EmbedCache:
    """The kept vectors of one model and dimension."""

    def __init__(self, place: Place, model: str, dimension: int) -> None:
        named = hashlib.sha256(f"{model}\0{dimension}".encode()).hexdigest()[:16]
        self._place, self._dimension = place, dimension
        self._folder = f"__cache/embeddings-{named}"
        self._ids = UlidSource()
        self._known: dict[bytes, np.ndarray[tuple[int], np.dtype[np.float32]]] = {}
        self.files: list[str] = []
        self._load()

    def _load(self) -> None:
        for kept in self._place.objects(self._folder):
            if not kept.path.endswith(".arrow"):
                continue
            with pa.ipc.open_stream(self._place.get(kept.path)) as reader:
                table = reader.read_all()
            vectors = _matrix(table["vector"].combine_chunks(), self._dimension)
            self._known.update(zip(table["digest"].to_pylist(), vectors, strict=True))
            self.files.append(kept.path)

    def embed(self, paced: Paced, texts: Sequence[str], portion: int) -> Vectors:
        """One vector per text: kept ones as they are, others from the provider, each text once, and kept from then on."""
        digests = [_digest(text) for text in texts]
        missing = {digest: text for digest, text in zip(digests, texts, strict=True) if digest not in self._known}
        wanted = list(missing.items())
        for at in range(0, len(wanted), portion):
            part = wanted[at : at + portion]
            vectors = paced.embed([text for _, text in part], self._dimension)
            self._keep([digest for digest, _ in part], vectors)
        found = np.empty((len(texts), self._dimension), np.float32)
        for row, digest in enumerate(digests):
            found[row] = self._known[digest]
        return found

    def _keep(self, digests: list[bytes], vectors: Vectors) -> None:
        self._known.update(zip(digests, vectors, strict=True))
        flat = pa.FixedSizeListArray.from_arrays(pa.array(vectors.ravel()), self._dimension)
        table = pa.table({"digest": pa.array(digests, pa.binary(_DIGEST)), "vector": flat})
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, table.schema) as writer:
            writer.write_table(table)
        path = f"{self._folder}/{self._ids.next()}.arrow"
        self._place.put(path, sink.getvalue().to_pybytes())
        self.files.append(path)


def forget(place: Place, files: Sequence[str]) -> None:
    """Their vectors are committed."""
    place.delete(sorted(set(files)))


def _digest(text: str) -> bytes:
    return hashlib.sha256(text.encode()).digest()[:_DIGEST]


def _matrix(vectors: pa.FixedSizeListArray, dimension: int) -> Vectors:
    matrix: Vectors = vectors.flatten().to_numpy(zero_copy_only=False).reshape(-1, dimension)
    return matrix
