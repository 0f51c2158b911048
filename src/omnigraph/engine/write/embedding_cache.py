"""Vectors of texts that were embedded and are not committed yet.

A provider costs time and money, and work on many texts may fail when most of it is done. So what a provider answers is put beside
the graph before anything else is done with it, under the digests of its texts; whoever starts again, also in another process,
finds it. When the vectors are committed the files go. What comes within a quarter of a second is in one file: thousands of files
would take longer to write and to remove than the vectors take to be committed.

    people.omni/__cache/embeddings-1f0c…/01J….sealed     digests, vectors      1f0c…: what made them, and the dimension

    request(texts)    those that are not there are on their way, each once, several requests at a time
    collect(texts)    waits for them; answers that came since the last look are kept together in one file

These vectors will be committed, so a file has to prove what it holds (`snapshot.sealed_file`): its bytes by checksums, and
that it is of this model and dimension by what it says of itself. One that does not is as if it were not there, and goes with the
others. In memory is what was collected last; the rest is read again if its text comes once more.
"""

from __future__ import annotations

import hashlib
import logging
import time
from collections.abc import Sequence
from types import TracebackType
from typing import Final

import msgspec
import numpy as np

from omnigraph.embedding.pace import Usage
from omnigraph.embedding.paced import Paced, Requests, batches
from omnigraph.embedding.port import Vectors
from omnigraph.embedding.space import Space
from omnigraph.engine.arrays.column import Array
from omnigraph.engine.snapshot.sealed_file import Damaged, Sealed, decoded, sealed
from omnigraph.errors import NotFound, ResourceLimit, StorageError
from omnigraph.hints import Hint, Option
from omnigraph.model.ids import UlidSource
from omnigraph.storage.files.place import Place

_log = logging.getLogger(__name__)

_DIGEST = 16
_ENDING = ".sealed"

_TOGETHER: Final = 0.25
"""Seconds within which answers are kept together."""

_Vector = np.ndarray[tuple[int], np.dtype[np.float32]]


class _About(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    embeddings: str
    """What made them."""
    dimension: int


class EmbedCache:
    """The kept vectors of one model and dimension, and those that are on their way."""

    def __init__(self, place: Place, paced: Paced, dimension: int, until: float | None = None) -> None:
        made_by = str(Space.of(paced.embedder))
        named = hashlib.sha256(f"{made_by}\0{dimension}".encode()).hexdigest()[:16]
        self._place, self._paced, self._dimension, self._until = place, paced, dimension, until
        self._about = _About(made_by, dimension)
        self._folder = f"__cache/embeddings-{named}"
        self._ids = UlidSource()
        self._known: dict[bytes, _Vector] = {}
        self._files: dict[bytes, str] = {}
        self._on_the_way: set[bytes] = set()
        self._requests: Requests[list[bytes]] = Requests(paced)
        self.files: list[str] = []
        """Files that hold vectors, whoever wrote them."""
        self._load()

    def __enter__(self) -> EmbedCache:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._requests.__exit__(kind, error, trace)

    @property
    def usage(self) -> Usage:
        """What the provider was asked."""
        return self._paced.usage

    def _load(self) -> None:
        for kept in self._place.names(self._folder):
            self.files.append(kept.path)
            self._files.update(dict.fromkeys(self._read(kept.path), kept.path))

    def _read(self, path: str) -> dict[bytes, _Vector]:
        try:
            file = Sealed.of(self._place.get(path))
            if decoded(file.about, _About) != self._about:
                raise Damaged("it is of another model or dimension")
            digests, vectors = file.array("digests", "|u1"), file.array("vectors", "<f4")
            if len(digests) % _DIGEST or len(vectors) != len(digests) // _DIGEST * self._dimension:
                raise Damaged("there is not one vector per text")
        except (Damaged, NotFound, StorageError) as error:  # or committed by another process: texts are embedded again
            _log.info("%s is not used: %s", path, error)
            return {}
        said = digests.tobytes()
        keys = [said[at : at + _DIGEST] for at in range(0, len(said), _DIGEST)]
        return dict(zip(keys, vectors.reshape(-1, self._dimension), strict=True))

    def request(self, texts: Sequence[str]) -> None:
        """Ask for what is not there."""
        self._ask([_digest(text) for text in texts], texts)

    def _ask(self, wanted_digests: Sequence[bytes], texts: Sequence[str]) -> None:
        missing: dict[bytes, str] = {}
        for digest, text in zip(wanted_digests, texts, strict=True):
            if digest not in self._known and digest not in self._files and digest not in self._on_the_way:
                missing[digest] = text
        digests, wanted, at = list(missing), list(missing.values()), 0
        for batch in batches(wanted, self._paced.pace):
            self._requests.add(digests[at : at + len(batch)], batch, self._dimension)
            at += len(batch)
        self._on_the_way.update(digests)

    def collect(self, texts: Sequence[str]) -> Vectors:
        """One vector per text, each of which was asked for or is there."""
        digests = [_digest(text) for text in texts]
        wanted = set(digests)
        for path in {self._files[d] for d in wanted if d not in self._known and d in self._files}:
            self._known.update(self._read(path))
        for digest in wanted - self._known.keys() - self._on_the_way:  # its file has gone since
            self._files.pop(digest, None)
        self._ask(digests, texts)
        while not wanted <= self._known.keys():
            self._take()
        found = np.empty((len(texts), self._dimension), np.float32)
        for row, digest in enumerate(digests):
            found[row] = self._known[digest]
        return found

    def forget(self) -> None:
        """Let go of what was collected; it is in files."""
        self._known.clear()

    def _take(self) -> None:
        """Keep what was answered since the last look, in one file."""
        if self._until is not None and time.time() > self._until:
            raise ResourceLimit(
                "embedding took longer than it may",
                hint=Hint("What was embedded is kept: go on where it ended, or give it more time: ", Option("timeout"), "."),
            )
        done = self._requests.done(self._until, _TOGETHER)
        if done:
            digests = [digest for some, _, _ in done for digest in some]
            self._keep(digests, np.concatenate([vectors for _, _, vectors in done]))

    def _keep(self, digests: list[bytes], vectors: Vectors) -> None:
        arrays: dict[str, Array] = {"digests": np.frombuffer(b"".join(digests), np.uint8), "vectors": vectors.ravel()}
        path = f"{self._folder}/{self._ids.next()}{_ENDING}"
        self._place.put(path, b"".join(sealed(self._about, arrays)))
        self._place.sync([path])
        self.files.append(path)
        self._files.update(dict.fromkeys(digests, path))
        self._known.update(zip(digests, vectors, strict=True))
        self._on_the_way.difference_update(digests)


def forget(place: Place, files: Sequence[str]) -> None:
    """Their vectors are committed."""
    place.delete(sorted(set(files)))


def _digest(text: str) -> bytes:
    return hashlib.sha256(text.encode()).digest()[:_DIGEST]
