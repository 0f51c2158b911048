"""Objects outside a graph: whether they are there, how large they are, and their bytes.

Whoever calls has settled that an object may be read; here is only how. An answer is `Unreachable` with a reason in our own words:
what a store says may hold keys and tokens, and is never handed on.

A file of a disk is opened under its real path and no other: a link that was put in its place meanwhile is not followed.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from datetime import timedelta
from threading import Lock
from typing import TYPE_CHECKING, Final, Protocol

from omnigraph.model.frozen import frozen
from omnigraph.storage.files.environment import options_from

if TYPE_CHECKING:
    from obstore import GetOptions
    from obstore.store import ObjectStore

_PATIENCE: Final = {"connect_timeout": "10 seconds", "timeout": "60 seconds"}
_TRIES: Final = 3
_TRIED_FOR: Final = timedelta(seconds=30)


class Unreachable(Exception):
    """An object cannot be read now; the text says why."""


class Where(Protocol):
    """The place of an object."""

    @property
    def bucket(self) -> str:
        """Its bucket; empty for a file."""
        ...

    @property
    def path(self) -> str:
        """Its key, or the real path of a file."""
        ...


@frozen
class Measured:
    """What is known of an object before it is read."""

    size: int
    version: str | None = None
    """What a store calls this version of it."""


def reach(options: Mapping[str, str]) -> dict[str, str]:
    """How stores are reached: as the environment says, and as a graph was opened."""
    return {**options_from(os.environ), **options}


class Outside:
    """The stores of one operation, each opened once. May be asked by several threads."""

    def __init__(self, options: Mapping[str, str]) -> None:
        self._options = options
        self._stores: dict[str, ObjectStore] = {}
        self._lock = Lock()

    def measure(self, where: Where) -> Measured:
        """How large an object is. One request."""
        if not where.bucket:
            file = _opened(where.path)
            try:
                return Measured(os.fstat(file).st_size)
            finally:
                os.close(file)
        import obstore
        from obstore.exceptions import BaseError

        try:
            found = obstore.head(self._store(where.bucket), where.path)
        except (BaseError, OSError) as error:
            raise Unreachable(_reason(error)) from None
        return Measured(found["size"], found["e_tag"])

    def fetch(self, where: Where, measured: Measured) -> bytes:
        """The bytes of an object that was measured, or `Unreachable` if it is another one by now. One request."""
        if not where.bucket:
            with open(_opened(where.path), "rb") as file:
                data = file.read(measured.size + 1)
        else:
            import obstore
            from obstore.exceptions import BaseError

            options: GetOptions = {} if measured.version is None else {"if_match": measured.version}
            try:
                data = bytes(obstore.get(self._store(where.bucket), where.path, options=options).bytes())
            except (BaseError, OSError) as error:
                raise Unreachable(_reason(error)) from None
        if len(data) != measured.size:
            raise Unreachable("it changed while it was read")
        return data

    def _store(self, bucket: str) -> ObjectStore:
        from obstore.store import S3Store

        with self._lock:
            if bucket not in self._stores:
                config = {k: v for k, v in self._options.items() if k != "allow_http"}
                client = dict(_PATIENCE) | ({"allow_http": True} if self._options.get("allow_http", "").lower() == "true" else {})
                retry = {"max_retries": _TRIES, "retry_timeout": _TRIED_FOR}
                self._stores[bucket] = S3Store(bucket, config=config, client_options=client, retry_config=retry)  # type: ignore[arg-type]
            return self._stores[bucket]


def _opened(path: str) -> int:
    """A file under its real path."""
    try:
        file = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        raise Unreachable("there is no such file") from None
    except OSError as error:
        raise Unreachable(os.strerror(error.errno or 0).lower()) from None
    try:
        about = os.fstat(file)
        if not stat.S_ISREG(about.st_mode):
            raise Unreachable("it is not a file")
        if os.path.realpath(path) != path or not os.path.samestat(about, os.lstat(path)):
            raise Unreachable("it changed while it was opened")
    except OSError:
        os.close(file)
        raise Unreachable("it changed while it was opened") from None
    except Unreachable:
        os.close(file)
        raise
    return file


def _reason(error: Exception) -> str:
    """Why a store refused, without what it said."""
    from obstore.exceptions import NotFoundError, PermissionDeniedError, PreconditionError, UnauthenticatedError

    match error:
        case FileNotFoundError() | NotFoundError():
            return "there is no such object"
        case PermissionDeniedError() | UnauthenticatedError() | PermissionError():
            return "access is denied"
        case PreconditionError():
            return "it changed while it was read"
        case _:
            return "the store does not answer as it should"
