"""Requests to a server, and what comes of them.

What may be repeated without harm (reads, and writes that carry an idempotency key) is sent again when a connection fails before
an answer came; other writes are not, since nobody knows whether they happened. What a server that is about to stop refused was
not begun, and is sent again whatever it is.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import partial
from socket import SHUT_RDWR, socket
from threading import Event, Thread
from typing import TYPE_CHECKING, Any, Final, TypeVar
from urllib.parse import quote

import msgspec

from omnigraph.client.errors import error_of
from omnigraph.errors import QueryCancelled, StorageError, UsageError
from omnigraph.wire.contract import HEADER, NEWEST
from omnigraph.wire.errors import ErrorOutput

if TYPE_CHECKING:
    import httpx

T = TypeVar("T")

ATTEMPTS: Final = 3
TOKEN: Final = "OMNIGRAPH_BEARER_TOKEN"
_LOOK: Final = 0.02
"""Seconds between two looks at whether a read was cancelled."""


class Transport:
    """The connections to one graph of one server."""

    def __init__(self, url: str, graph: str, token: str | None, timeout: float) -> None:
        try:
            import httpx
        except ImportError:
            raise UsageError("httpx is not installed", hint="pip install 'omnigraph[client]'") from None

        self.url, self.graph = url.rstrip("/"), graph
        self._errors = httpx.TransportError
        given = (token if token is not None else os.environ.get(TOKEN, "")).strip()
        if not given.isascii() or not given.isprintable():
            raise UsageError("a token is printable ASCII", hint="Check where it was read from.")
        headers = {HEADER: NEWEST, **({"Authorization": f"Bearer {given}"} if given else {})}
        base = f"{self.url}/graphs/{quote(graph, safe='')}"
        self._waiting = httpx.Timeout(timeout, read=None)
        """For what takes as long as it takes: the server bounds it."""
        tls = base.startswith("https:")  # what is sent without it needs no certificates, which take long to read
        settings: dict[str, Any] = {"base_url": base, "headers": headers, "timeout": timeout, "verify": tls}
        self._made: Callable[[], httpx.Client] = partial(httpx.Client, **settings)
        self._client = self._made()

    def __repr__(self) -> str:
        return f"{self.url}/graphs/{self.graph}"

    def close(self) -> None:
        """Let go of the connections."""
        self._client.close()

    def get(self, path: str, answer: type[T], params: Mapping[str, Any] | None = None) -> T:
        """Read something."""
        return msgspec.json.decode(self.send("GET", path, params=params, again=True).content, type=answer)

    def post(self, path: str, body: object, answer: type[T], *, again: bool = False, long: bool = True, **more: Any) -> T:
        """Ask for something to be done, however long it takes by default."""
        return msgspec.json.decode(self.send("POST", path, body=body, again=again, long=long, **more).content, type=answer)

    def send(
        self,
        method: str,
        path: str,
        *,
        body: object = None,
        content: Callable[[], Iterator[bytes]] | None = None,
        params: Mapping[str, Any] | None = None,
        headers: Mapping[str, str] | None = None,
        again: bool = False,
        long: bool = False,
        cancel: Event | None = None,
    ) -> httpx.Response:
        """A request and its answer, or the error that it carries. `again`: it may be sent again; `long`: it may take a while."""
        self._require_open()
        given = dict(headers or {})
        if body is not None:
            given["Content-Type"] = "application/json"
        encoded = None if body is None else msgspec.json.encode(body)
        wanted = {name: value for name, value in (params or {}).items() if value is not None and value != ()}
        for left in reversed(range(ATTEMPTS)):
            sent = encoded if content is None else content()
            more: dict[str, Any] = {"content": sent, "params": wanted, "headers": given}
            if long:
                more["timeout"] = self._waiting
            try:
                ask = self._client.request if cancel is None else partial(self._unless, cancel)
                found = ask(method, path, **more)
                if not left or not _not_begun(found):
                    break
            except self._errors as error:
                if not left or not again:
                    raise self._lost(error, again) from error
            time.sleep(0.05 * 4 ** (ATTEMPTS - 1 - left))
        if found.status_code >= 400:
            raise error_of(found.status_code, found.content, found.headers.get("x-request-id"))
        return found

    def _unless(self, cancel: Event, method: str, path: str, **more: Any) -> httpx.Response:
        """A request on a connection of its own, which is closed when nobody wants the answer any more: the server sees it."""
        came: list[Any] = []
        sockets: list[socket] = []

        def connected(event: str, about: Mapping[str, Any]) -> None:
            if event == "connection.connect_tcp.complete":
                sockets.append(about["return_value"].get_extra_info("socket"))

        more["extensions"] = {"trace": connected}
        with self._made() as client:

            def ask() -> None:
                try:
                    came.append(client.request(method, path, **more))
                except Exception as error:  # raised where the answer is waited for
                    came.append(error)

            asking = Thread(target=ask, daemon=True)
            asking.start()
            while asking.is_alive():
                if cancel.is_set():
                    for used in sockets:  # closing alone would wait for whoever reads from it
                        with suppress(OSError):  # it is closed already
                            used.shutdown(SHUT_RDWR)
                    raise QueryCancelled("cancelled while the server was working on it")
                asking.join(_LOOK)
        if isinstance(came[0], Exception):
            raise came[0]
        found: httpx.Response = came[0]
        return found

    @contextmanager
    def streamed(self, path: str, body: object) -> Iterator[httpx.Response]:
        """An answer that is read as it comes."""
        self._require_open()
        given = {"Content-Type": "application/json"}
        try:
            with self._client.stream("POST", path, content=msgspec.json.encode(body), headers=given) as found:
                if found.status_code >= 400:
                    raise error_of(found.status_code, found.read(), found.headers.get("x-request-id"))
                yield found
        except self._errors as error:
            raise self._lost(error, True) from error

    def _require_open(self) -> None:
        if self._client.is_closed:
            raise UsageError("the connection was closed", hint="Connect again.")

    def _lost(self, error: Exception, again: bool) -> StorageError:
        import httpx

        if isinstance(error, httpx.ConnectError | httpx.ConnectTimeout):  # then nothing was sent
            hint = "Check the address, then retry."
            return StorageError(f"{self} cannot be reached ({type(error).__name__})", hint=hint, retryable=True)
        if again and isinstance(error, httpx.TimeoutException):
            hint = "Retry, or give it more time where you connect (`timeout`)."
            return StorageError(f"{self} did not answer in time ({type(error).__name__})", hint=hint, retryable=True)
        happened = "" if again else ": the change may have been made or not"
        hint = "Check the address, then retry." if again else "Look whether it was made before you send it again."
        return StorageError(f"{self} cannot be reached ({type(error).__name__}){happened}", hint=hint, retryable=again)


def _not_begun(found: httpx.Response) -> bool:
    """Whether a server refused it because it is about to stop."""
    if found.status_code != 503:
        return False
    try:
        return msgspec.json.decode(found.content, type=ErrorOutput).code == "service_unavailable"
    except msgspec.DecodeError:  # of somebody between
        return False
