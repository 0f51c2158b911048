"""Vectors of texts that were embedded and are not committed yet.

A provider costs time and money, and work on many texts may fail when most of it is done. So every batch of vectors is put beside
the graph as soon as it is there, under the digest of its texts; whoever starts again, also in another process, finds them. When
the vectors are committed the files go.

    people.omni/__cache/embeddings-1f0c…/01J….sealed     digests, vectors      1f0c…: model and dimension

These vectors will be committed, so a file has to prove what it holds (`snapshot.sealed_file`): its bytes by checksums, and
that it is of this model and dimension by what it says of itself. One that does not is as if it were not there, and goes with the
others.
"""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Sequence

import msgspec
import numpy as np

from omnigraph.embedding.paced import Paced, Vectors
from omnigraph.engine.arrays.column import Array
from omnigraph.engine.snapshot.sealed_file import Damaged, Sealed, decoded, sealed
from omnigraph.errors import NotFound, StorageError
from omnigraph.model.ids import UlidSource
from omnigraph.storage.files.place import Place

_log = logging.getLogger(__name__)

_DIGEST = 16
_ENDING = ".sealed"


class _About(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    embeddings: str
    """The model."""
    dimension: int


class EmbedCache:
    """The kept vectors of one model and dimension."""

    def __init__(self, place: Place, model: str, dimension: int) -> None:
        named = hashlib.sha256(f"{model}\0{dimension}".encode()).hexdigest()[:16]
        self._place, self._dimension = place, dimension
        self._about = _About(model, dimension)
        self._folder = f"__cache/embeddings-{named}"
        self._ids = UlidSource()
        self._known: dict[bytes, np.ndarray[tuple[int], np.dtype[np.float32]]] = {}
        self.files: list[str] = []
        self._load()

    def _load(self) -> None:
        for kept in self._place.names(self._folder):
            self.files.append(kept.path)
            try:
                self._known.update(self._read(self._place.get(kept.path)))
            except (Damaged, NotFound, StorageError) as error:  # or committed by another process: texts are embedded again
                _log.info("%s is not used: %s", kept.path, error)

    def _read(self, data: bytes) -> dict[bytes, np.ndarray[tuple[int], np.dtype[np.float32]]]:
        file = Sealed.of(data)
        if decoded(file.about, _About) != self._about:
            raise Damaged("it is of another model or dimension")
        digests, vectors = file.array("digests", "|u1"), file.array("vectors", "<f4")
        if len(digests) % _DIGEST or len(vectors) != len(digests) // _DIGEST * self._dimension:
            raise Damaged("there is not one vector per text")
        said = digests.tobytes()
        keys = [said[at : at + _DIGEST] for at in range(0, len(said), _DIGEST)]
        return dict(zip(keys, vectors.reshape(-1, self._dimension), strict=True))

    def embed(self, paced: Paced, texts: Sequence[str], chunk: int) -> Vectors:
        """One vector per text: kept ones as they are, others from the provider, each text once, and kept from then on."""
        digests = [_digest(text) for text in texts]
        missing = {digest: text for digest, text in zip(digests, texts, strict=True) if digest not in self._known}
        wanted = list(missing.items())
        for at in range(0, len(wanted), chunk):
            part = wanted[at : at + chunk]
            vectors = paced.embed([text for _, text in part], self._dimension)
            self._keep([digest for digest, _ in part], vectors)
        found = np.empty((len(texts), self._dimension), np.float32)
        for row, digest in enumerate(digests):
            found[row] = self._known[digest]
        return found

    def _keep(self, digests: list[bytes], vectors: Vectors) -> None:
        self._known.update(zip(digests, vectors, strict=True))
        arrays: dict[str, Array] = {
            "digests": np.frombuffer(b"".join(digests), np.uint8),
            "vectors": vectors.astype(np.float32).ravel(),
        }
        path = f"{self._folder}/{self._ids.next()}{_ENDING}"
        self._place.put(path, b"".join(sealed(self._about, arrays)))
        self._place.sync([path])
        self.files.append(path)


def forget(place: Place, files: Sequence[str]) -> None:
    """Their vectors are committed."""
    place.delete(sorted(set(files)))


def _digest(text: str) -> bytes:
    return hashlib.sha256(text.encode()).digest()[:_DIGEST]
