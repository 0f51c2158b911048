"""Many texts through a provider: in batches, no faster than allowed, and again when it stumbles.

    texts ──batches of `batch`──▶ wait for a turn ──▶ provider ──▶ vectors
                                                        └ stumbled: wait twice as long as before, at most `attempts` times

What is worth another try: errors that say so themselves (`retryable`), and those of the network. Everything else is raised at
once, as `EmbeddingFailed`. Several threads may share one `Paced`: the rate is that of all of them together.
"""

from __future__ import annotations

import math
import random
import time
from collections.abc import Callable, Sequence
from threading import Lock

import numpy as np

from omnigraph.embedding.port import Embedder, as_failure, is_passing
from omnigraph.errors import GraphError, QueryError, UsageError
from omnigraph.model.frozen import frozen
from omnigraph.model.phrases import counted

Vectors = np.ndarray[tuple[int, int], np.dtype[np.float32]]


@frozen
class Pace:
    """How fast and how often a provider is called."""

    batch: int = 128
    """Texts per request."""
    per_second: float | None = None
    """Most texts per second; None: as many as it takes."""
    attempts: int = 5
    first_wait: float = 0.2
    longest_wait: float = 30.0

    def __post_init__(self) -> None:
        for name, given, least in (("batch", self.batch, 1), ("attempts", self.attempts, 1)):
            if given < least:
                raise UsageError(f"{name} cannot be {given}", hint=f"It is at least {least}.")
        if self.per_second is not None and self.per_second <= 0:
            raise UsageError(f"{self.per_second} texts per second is too slow", hint="Give a number above 0, or none.")

    def __repr__(self) -> str:
        rate = "as fast as it answers" if self.per_second is None else f"at most {self.per_second:g} texts a second"
        return f"Pace: {counted(self.batch, 'text')} a request, {rate}, {counted(self.attempts, 'attempt')}"

    def shared_by(self, workers: int) -> Pace:
        """The pace of each of several that work side by side."""
        rate = None if self.per_second is None else self.per_second / max(1, workers)
        return Pace(self.batch, rate, self.attempts, self.first_wait, self.longest_wait)


class Paced:
    """A provider, called at a pace. Safe from any thread."""

    def __init__(
        self,
        embedder: Embedder,
        pace: Pace,
        sleep: Callable[[float], None] = time.sleep,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._embedder, self._pace = embedder, pace
        self._sleep, self._clock = sleep, clock
        self._free_at = -math.inf
        self._lock = Lock()
        self.requested = 0
        """Texts that were answered."""

    def embed(self, texts: Sequence[str], dimension: int) -> Vectors:
        """One vector per text."""
        found = np.empty((len(texts), dimension), np.float32)
        for at in range(0, len(texts), self._pace.batch):
            batch = texts[at : at + self._pace.batch]
            found[at : at + len(batch)] = self._tried(batch, dimension)
            self.requested += len(batch)
        return found

    def _tried(self, batch: Sequence[str], dimension: int) -> Vectors:
        for attempt in range(1, self._pace.attempts + 1):
            self._wait_for_turn(len(batch))
            try:
                given = self._embedder.embed(batch, dimension)
            except Exception as error:
                if attempt == self._pace.attempts or not is_passing(error):
                    if isinstance(error, GraphError):
                        raise
                    raise as_failure(error, self._embedder) from error
                longest = min(self._pace.longest_wait, self._pace.first_wait * 2 ** (attempt - 1))
                self._sleep(random.uniform(longest / 2, longest))
                continue
            return self._checked(given, len(batch), dimension)
        raise AssertionError("unreachable")

    def _checked(self, given: Sequence[Sequence[float]], count: int, dimension: int) -> Vectors:
        try:
            vectors = np.asarray(given, np.float32)
        except ValueError:  # of different lengths
            vectors = np.empty((0, 0), np.float32)
        if vectors.shape != (count, dimension) or not np.isfinite(vectors).all():
            raise QueryError(f"model `{self._embedder.model}` did not return {dimension} finite numbers for each text")
        return vectors

    def _wait_for_turn(self, texts: int) -> None:
        """A queue of turns: each request takes the time its texts may take, and waits until those before it are over."""
        if self._pace.per_second is None:
            return
        with self._lock:
            now = self._clock()
            start = max(now, self._free_at)
            self._free_at = start + texts / self._pace.per_second
        if start > now:
            self._sleep(start - now)
