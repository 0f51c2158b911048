"""Requests to a server, and what comes of them.

Reads are sent again when a connection fails before an answer came; writes are not, since nobody knows whether they happened.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final, TypeVar

import msgspec

from omnigraph.client.errors import error_of
from omnigraph.errors import StorageError, UsageError

if TYPE_CHECKING:
    import httpx

T = TypeVar("T")

ATTEMPTS: Final = 3
TOKEN: Final = "OMNIGRAPH_BEARER_TOKEN"


class Transport:
    """The connections to one graph of one server."""

    def __init__(self, url: str, graph: str, token: str | None, timeout: float) -> None:
        try:
            import httpx
        except ImportError:
            raise UsageError("httpx is not installed", hint="pip install 'omnigraph[client]'") from None
        from urllib.parse import quote

        self.url, self.graph = url.rstrip("/"), graph
        self._errors = httpx.TransportError
        given = (token if token is not None else os.environ.get(TOKEN, "")).strip()
        if not given.isascii() or not given.isprintable():
            raise UsageError("a token is printable ASCII", hint="Check where it was read from.")
        headers = {"Authorization": f"Bearer {given}"} if given else {}
        base = f"{self.url}/graphs/{quote(graph, safe='')}"
        self._client = httpx.Client(base_url=base, headers=headers, timeout=timeout)

    def __repr__(self) -> str:
        return f"{self.url}/graphs/{self.graph}"

    def close(self) -> None:
        """Let go of the connections."""
        self._client.close()

    def get(self, path: str, answer: type[T], params: Mapping[str, Any] | None = None) -> T:
        """Read something."""
        return msgspec.json.decode(self.send("GET", path, params=params, again=True).content, type=answer)

    def post(self, path: str, body: object, answer: type[T], *, again: bool = False, **more: Any) -> T:
        """Ask for something to be done."""
        return msgspec.json.decode(self.send("POST", path, body=body, again=again, **more).content, type=answer)

    def send(
        self,
        method: str,
        path: str,
        *,
        body: object = None,
        content: Any = None,
        params: Mapping[str, Any] | None = None,
        headers: Mapping[str, str] | None = None,
        again: bool = False,
    ) -> httpx.Response:
        """A request and its answer, or the error that it carries. `again`: it may be sent again."""
        self._require_open()
        given = dict(headers or {})
        if body is not None:
            content, given["Content-Type"] = msgspec.json.encode(body), "application/json"
        wanted = {name: value for name, value in (params or {}).items() if value is not None and value != ()}
        for attempt in range(ATTEMPTS if again else 1):
            try:
                found = self._client.request(method, path, content=content, params=wanted, headers=given)
                break
            except self._errors as error:
                if attempt + 1 == (ATTEMPTS if again else 1):
                    raise self._lost(error, again) from error
                time.sleep(0.05 * 4**attempt)
        if found.status_code >= 400:
            raise error_of(found.status_code, found.content, found.headers.get("x-request-id"))
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
        happened = "" if again else ": the change may have been made or not"
        hint = "Check the address, then retry." if again else "Look whether it was made before you send it again."
        return StorageError(f"{self} cannot be reached ({type(error).__name__}){happened}", hint=hint, retryable=again)
