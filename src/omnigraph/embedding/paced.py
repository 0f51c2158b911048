"""Many texts through a provider: in batches, several under way, no faster than allowed, and again when it stumbles.

    texts ──batches──▶ wait for a turn ──▶ provider ──▶ vectors, checked
                                             └ stumbled: wait twice as long as before, or as long as it asks for

A batch is as many texts as a request may hold, by number and by bytes. What is worth another try: what says so itself, and errors
of the network. Everything else is raised at once, as `EmbeddingFailed`; what is under way then is waited for, so that no answer
that was paid for is lost. Whoever leaves early (Ctrl-C) does not wait: requests are made by threads that the process does not
wait for either. When a provider asks to be left alone for a while (Retry-After), all requests wait.

    requests = Requests(Paced(provider, pace))
    requests.add("first", texts, 64)
    requests.done()                        [("first", batch, vectors), …] as soon as there is any
"""

from __future__ import annotations

import math
import random
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from threading import Condition, Event, Lock, Thread
from types import TracebackType
from typing import Final, Generic, TypeVar

import numpy as np

from omnigraph.embedding.pace import Pace, Usage
from omnigraph.embedding.port import Answer, Embedder, Provider, Purpose, Stumbled, Vectors, as_failure, checked, is_passing
from omnigraph.errors import EmbeddingFailed, GraphError

K = TypeVar("K")

_LONGEST_ASKED: Final = 300.0
"""Seconds a provider may ask to wait, at most."""

_SHORTEST: Final = 0.01
"""Seconds that an attempt may take at least: who waited for a turn until the deadline has one more."""

_LOOK: Final = 0.2
"""Seconds after which somebody who waits can be interrupted."""


def pace_of(embedder: Embedder, pace: Pace | None) -> Pace:
    """How a provider is called: as somebody says, or as itself says."""
    if pace is not None:
        return pace
    return embedder.pace if isinstance(embedder, Provider) else Pace()


def batches(texts: Sequence[str], pace: Pace) -> Iterator[Sequence[str]]:
    """Texts in parts that fit in one request."""
    start = held = 0
    for at, text in enumerate(texts):
        size = len(text.encode())
        if at > start and (at - start == pace.batch or held + size > pace.batch_bytes):
            yield texts[start:at]
            start, held = at, 0
        held += size
    if start < len(texts):
        yield texts[start:]


class Paced:
    """A provider, called at a pace. Safe from any thread."""

    def __init__(
        self,
        embedder: Embedder,
        pace: Pace | None = None,
        sleep: Callable[[float], object] | None = None,
        clock: Callable[[], float] = time.monotonic,
        purpose: Purpose = Purpose.DOCUMENT,
    ) -> None:
        self.embedder, self.pace = embedder, pace_of(embedder, pace)
        self.stopped = Event()
        """Nobody waits for vectors any more."""
        self._sleep = self.stopped.wait if sleep is None else sleep
        self._clock, self._purpose = clock, purpose
        self._free_at = -math.inf
        self._lock = Lock()
        self.usage = Usage()

    def embed(self, texts: Sequence[str], dimension: int) -> Vectors:
        """One vector per text."""
        found = np.empty((len(texts), dimension), np.float32)
        parts = list(batches(texts, self.pace))
        starts = np.cumsum([0, *map(len, parts)]).tolist()
        if len(parts) == 1 or self.pace.in_flight == 1:
            for at, part in zip(starts, parts, strict=False):
                found[at : at + len(part)] = self.request(part, dimension)
            return found
        with Requests[int](self) as requests:
            for at, part in zip(starts, parts, strict=False):
                requests.add(at, part, dimension)
            while requests.pending:
                for at, part, vectors in requests.done():
                    found[at : at + len(part)] = vectors
        return found

    def request(self, batch: Sequence[str], dimension: int) -> Vectors:
        """The vectors of what fits in one request, tried as often as the pace says."""
        started, pace = self._clock(), self.pace
        for attempt in range(1, pace.attempts + 1):
            self._wait_for_turn(len(batch))
            if self.stopped.is_set():
                raise EmbeddingFailed("embedding was stopped", model=self.embedder.model, retryable=True)
            left = None if pace.deadline is None else max(_SHORTEST, pace.deadline - (self._clock() - started))
            sent = self._clock()
            try:
                answer = self._answer(batch, dimension, left)
            except Exception as error:
                self._count(Usage(requests=1, retries=int(attempt > 1), seconds=self._clock() - sent))
                wait = self._wait_after(error, attempt)
                late = pace.deadline is not None and self._clock() - started + wait >= pace.deadline
                if attempt == pace.attempts or late or self.stopped.is_set() or not is_passing(error):
                    raise self._failure(error, attempt, late=late and is_passing(error)) from _cause(error)
                self._sleep(wait)
                continue
            vectors = checked(answer.vectors, len(batch), dimension, self.embedder)
            spent = self._clock() - sent
            self._count(Usage(len(batch), 1, int(attempt > 1), answer.tokens, answer.cost, spent))
            return vectors
        raise AssertionError("unreachable")

    def _answer(self, batch: Sequence[str], dimension: int, left: float | None) -> Answer:
        embedder = self.embedder
        if not isinstance(embedder, Provider):
            return Answer(embedder.embed(batch, dimension))
        limits = [limit for limit in (self.pace.timeout, left) if limit is not None]
        return embedder.ask(batch, dimension, self._purpose, min(limits) if limits else None)

    def _failure(self, error: Exception, attempt: int, *, late: bool) -> GraphError:
        if isinstance(error, GraphError):
            return error
        failure = as_failure(error, self.embedder)
        if attempt == 1 and not late:
            return failure
        tried = f" (tried {attempt} times{f', {self.pace.deadline:g} s are over' if late else ''})"
        return EmbeddingFailed(failure.message + tried, model=failure.model, retryable=failure.retryable)

    def _wait_after(self, error: Exception, attempt: int) -> float:
        """Seconds to wait before the next attempt; as long as the provider asks for, nobody else sends anything either."""
        asked = error.after if isinstance(error, Stumbled) else None
        if asked is not None:
            wait = min(asked, _LONGEST_ASKED)
            with self._lock:
                self._free_at = max(self._free_at, self._clock() + wait)
            return wait
        longest = min(self.pace.longest_wait, self.pace.first_wait * 2 ** (attempt - 1))
        return random.uniform(longest / 2, longest)

    def _count(self, more: Usage) -> None:
        with self._lock:
            self.usage += more

    def _wait_for_turn(self, texts: int) -> None:
        """A queue of turns: each request takes the time its texts may take, and waits until those before it are over."""
        with self._lock:
            now = self._clock()
            start = max(now, self._free_at)
            if self.pace.per_second is not None:
                self._free_at = start + texts / self.pace.per_second
        if start > now:
            self._sleep(start - now)


def _cause(error: Exception) -> BaseException | None:
    """What is attached to a failure: nothing of a request of ours, which might say what was sent."""
    return None if isinstance(error, Stumbled) else error.__cause__ if isinstance(error, GraphError) else error


class Requests(Generic[K]):
    """Batches under way, as many at once as the pace says."""

    def __init__(self, paced: Paced) -> None:
        self._paced = paced
        self._changed = Condition()
        self._waiting: deque[tuple[K, Sequence[str], int]] = deque()
        self._under_way = 0
        self._threads = 0
        self._answered: list[tuple[K, Sequence[str], Vectors]] = []
        self._failed: BaseException | None = None
        self._over = False

    def __enter__(self) -> Requests[K]:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        """What is under way ends by itself; nobody waits for it."""
        with self._changed:
            self._over = True
            self._waiting.clear()
            self._changed.notify_all()
        if kind is not None:
            self._paced.stopped.set()

    @property
    def pending(self) -> bool:
        """Whether there is anything to wait for."""
        with self._changed:
            return bool(self._waiting or self._under_way or self._answered or self._failed)

    def add(self, key: K, batch: Sequence[str], dimension: int) -> None:
        """One more batch."""
        with self._changed:
            self._waiting.append((key, batch, dimension))
            if self._threads < self._paced.pace.in_flight and self._threads - self._under_way < len(self._waiting):
                self._threads += 1
                Thread(target=self._work, name="omnigraph-embed", daemon=True).start()
            self._changed.notify()

    def done(self, until: float | None = None, gathers: float = 0.0) -> list[tuple[K, Sequence[str], Vectors]]:
        """What was answered since the last call, at least one batch, or none if it is later than `until` (of `time.time`).

        `gathers`: seconds to wait for more, as long as there is more to come. After a failure: what else was answered, then the
        failure.
        """
        with self._changed:
            ends = time.monotonic() + gathers
            while True:
                late = until is not None and time.time() > until
                if self._answered and (late or self._failed is not None or not self._under_way or time.monotonic() >= ends):
                    break
                if late:
                    return []
                if self._failed is not None and not self._under_way:
                    raise self._failed
                if self._failed is None and not self._under_way and not self._waiting:
                    return []
                self._changed.wait(min(_LOOK, max(0.0, ends - time.monotonic())) if self._answered else _LOOK)
            found, self._answered = self._answered, []
            return found

    def _work(self) -> None:
        while True:
            with self._changed:
                while not self._waiting and not self._over:
                    self._changed.wait()
                if self._over or self._failed is not None:
                    self._threads -= 1
                    self._changed.notify_all()
                    return
                key, batch, dimension = self._waiting.popleft()
                self._under_way += 1
            vectors, failed = None, None
            try:
                vectors = self._paced.request(batch, dimension)
            except BaseException as error:
                failed = error
            with self._changed:
                self._under_way -= 1
                if vectors is not None:
                    self._answered.append((key, batch, vectors))
                elif self._failed is None:
                    self._failed = failed
                    self._waiting.clear()
                    self._paced.stopped.set()  # what is under way may end, but is not tried again
                self._changed.notify_all()
