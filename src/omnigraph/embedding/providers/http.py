"""Providers behind an address: one request and its answer. What each of them says on the way is in its own module.

The value of a provider holds the *name* of the environment variable that holds its key, never the key: so a provider can be
printed, logged and sent to another process, which reads its own environment. The key is read when a request is made, and whatever
a server answers is shown without it. Redirects are not followed: they might lead the key elsewhere.

An answer is read piece by piece with an eye on the clock: a server that sends a byte now and then takes no longer than one that
is silent.
"""

from __future__ import annotations

import os
import time
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from threading import Lock
from typing import TYPE_CHECKING, Any, ClassVar, Final, TypeVar

import msgspec

from omnigraph.embedding.pace import Pace
from omnigraph.embedding.paced import Paced
from omnigraph.embedding.port import Answer, Purpose, Stumbled
from omnigraph.errors import UsageError
from omnigraph.model.frozen import frozen
from omnigraph.model.phrases import size

if TYPE_CHECKING:
    import httpx

T = TypeVar("T")

_PASSING: Final = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 520, 522, 524, 529})
"""Answers after which another attempt may help."""

_BYTES_A_NUMBER: Final = 64
_LEAST_BYTES: Final = 1 << 20
_SHOWN: Final = 300
_CONNECTIONS: Final = 256


@frozen(slots=False)
class HttpProvider(ABC):
    """A provider behind an address."""

    base_url: str
    model: str
    keys: tuple[str, ...] = ()
    """Environment variables that may hold its key, the first one first."""
    pace: Pace = Pace()
    needs_key: bool = False

    kind: ClassVar[str]

    # ── what each provider says ──────────────────────────────────────────────────────────────────────────────────────────────

    @abstractmethod
    def _request(self, texts: Sequence[str], dimension: int, purpose: Purpose) -> tuple[str, object]:
        """The path and the body of a request."""

    @abstractmethod
    def _read(self, body: bytes, texts: int) -> Answer:
        """What an answer says."""

    def _headers(self, key: str) -> dict[str, str]:
        return {"Authorization": f"Bearer {key}"}

    # ── the port ─────────────────────────────────────────────────────────────────────────────────────────────────────────────

    def embed(self, texts: Sequence[str], dimension: int) -> Sequence[Sequence[float]]:
        """One vector per text, by as many requests as it takes."""
        self.prepare(dimension)
        found: Sequence[Sequence[float]] = Paced(self).embed(texts, dimension)  # type: ignore[assignment]
        return found

    def prepare(self, dimension: int) -> None:
        """Raise if it has no key that it needs, or if there is nothing to send requests with."""
        _httpx()
        if self._key() is None and self.needs_key:
            raise UsageError(
                f"the embedding provider {self.kind} needs a key, and {' or '.join(self.keys)} is not set",
                hint="Keys are read from the environment alone: set one, or choose another provider.",
            )

    def ask(self, texts: Sequence[str], dimension: int, purpose: Purpose, timeout: float | None) -> Answer:
        """One request."""
        path, body = self._request(texts, dimension, purpose)
        key = self._key()
        headers = {"Content-Type": "application/json", **({} if key is None else self._headers(key))}
        most = len(texts) * dimension * _BYTES_A_NUMBER + _LEAST_BYTES
        try:
            status, said, content = self._sent(path, msgspec.json.encode(body), headers, timeout, most)
        except Stumbled as error:
            raise Stumbled(_without(str(error), key), again=error.again, after=error.after) from None
        if status != 200:
            shown = _without(_said(content), key)
            raise Stumbled(f"HTTP {status}: {shown}", again=status in _PASSING, after=_retry_after(said))
        try:
            return self._read(content, len(texts))
        except Stumbled as error:
            raise Stumbled(_without(str(error), key), again=error.again) from None

    def _sent(
        self, path: str, body: bytes, headers: Mapping[str, str], timeout: float | None, most: int
    ) -> tuple[int, Mapping[str, str], bytes]:
        httpx, client = _httpx(), _client(self.base_url)
        end = None if timeout is None else time.monotonic() + timeout
        parts: list[bytes] = []
        received = 0
        try:
            sent = client.stream("POST", self.base_url + path, content=body, headers=dict(headers), timeout=timeout)
            with sent as response:
                for part in response.iter_bytes():
                    parts.append(part)
                    received += len(part)
                    if received > most:
                        raise Stumbled(f"the answer has more than {most:,} bytes")
                    if end is not None and time.monotonic() > end:
                        raise Stumbled(f"no answer within {timeout:g} s", again=True)
                return response.status_code, response.headers, b"".join(parts)
        except httpx.TimeoutException:
            raise Stumbled(f"no answer within {timeout:g} s", again=True) from None
        except httpx.HTTPError as error:
            raise Stumbled(f"{type(error).__name__}: {error} ({self.base_url})", again=True) from None

    def _key(self) -> str | None:
        for name in self.keys:
            key = os.environ.get(name, "").strip()
            if key:
                if not key.isascii() or not key.isprintable():
                    raise UsageError(f"the key in {name} is not printable ASCII", hint="Check where it was read from.")
                return key
        return None


def read_as(body: bytes, decoder: msgspec.json.Decoder[T]) -> T:
    """A body as JSON of a type; half of one may be whole at the next attempt.

    A decoder is made where its module is imported: what msgspec finds out about a type at its first use, it must not find out in
    two threads at once, or it reads what is not there yet and takes the process down.
    """
    try:
        return decoder.decode(body)
    except msgspec.ValidationError as error:
        raise Stumbled(f"an answer that is not understood: {error}") from None
    except (msgspec.DecodeError, UnicodeDecodeError):
        return _leniently(body, decoder.type)


def _leniently(body: bytes, type_: type[T]) -> T:
    """Some servers write NaN and Infinity, which JSON does not have: let whoever checks the numbers say so."""
    import json

    try:
        found: Any = json.loads(body)
    except ValueError:
        raise Stumbled(f"the answer is cut off, or is no JSON ({size(len(body))})", again=True) from None
    try:
        return msgspec.convert(found, type_)
    except msgspec.ValidationError as error:
        raise Stumbled(f"an answer that is not understood: {error}") from None


def _said(content: bytes) -> str:
    """What a server says about a failure, as one line."""
    text = " ".join(content[: 4 * _SHOWN].decode("utf-8", "replace").split())
    return text if len(text) <= _SHOWN else text[:_SHOWN] + "…"


def _without(text: str, key: str | None) -> str:
    """A text without a secret, whole or in part: servers like to repeat what they were sent."""
    if key is None:
        return text
    text = text.replace(key, "***")
    for letters in range(len(key) - 1, 7, -1):
        text = text.replace(key[:letters], "***").replace(key[-letters:], "***")
    return text


def _retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds that a server asks to wait: a number of them, or a date."""
    text = (headers.get("retry-after") or "").strip()
    try:
        return max(0.0, float(text))
    except ValueError:
        pass
    try:
        return max(0.0, (parsedate_to_datetime(text) - datetime.now(UTC)).total_seconds())
    except (TypeError, ValueError):
        return None


# ── connections ──────────────────────────────────────────────────────────────────────────────────────────────────────────────

_clients: dict[tuple[int, str], httpx.Client] = {}
_lock = Lock()


def _client(base_url: str) -> httpx.Client:
    """The connections of this process to an address: they are kept, since opening one takes longer than many an answer."""
    httpx = _httpx()
    with _lock:
        found = _clients.get((os.getpid(), base_url))
        if found is None:
            limits = httpx.Limits(max_connections=_CONNECTIONS, max_keepalive_connections=_CONNECTIONS)
            tls = base_url.startswith("https:")  # what is sent without it needs no certificates, which take long to read
            found = _clients[os.getpid(), base_url] = httpx.Client(limits=limits, follow_redirects=False, verify=tls)
        return found


def _httpx() -> Any:
    try:
        import httpx
    except ImportError:
        raise UsageError("httpx is not installed", hint="pip install 'omnigraph[embeddings]'") from None
    return httpx
