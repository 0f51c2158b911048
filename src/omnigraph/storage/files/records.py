"""Records: every small thing that is written down about a graph, and how it is read again.

A record (a row of a manifest, a branch, a tag, a lease, a list of reclaim) is the JSON of a typed value. What is written is first
read back as that type: a value of a wrong type is refused before anything is stored, for no process could read it afterwards.

Each ends with a checksum of itself and of the place it belongs to, which no reader of before minds:

    {"branch":"main","incarnation":"01J8…",…,"sum":"9c1185a5c5e9fc54"}

So a record in which a bit turned over, or that stands where another belongs, is known to be damaged (`DamagedRecord`, which
names it) and never read as something else. Records that were written before have no checksum and are read as they are.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Final, TypeVar

import msgspec
from xxhash import xxh3_64

from omnigraph.errors import DamagedRecord, NotFound, UsageError

T = TypeVar("T")

_SUM: Final = re.compile(rb',"sum":"([0-9a-f]{16})"\}\Z')


def encoded(value: object, belongs: str) -> bytes:
    """A record as it is stored. `belongs` says where: the path of an object, or what else is said of a row."""
    body = _readable(value)
    return b"".join((body[:-1], b',"sum":"', _sum(body, belongs), b'"}'))


def _readable(value: object) -> bytes:
    try:
        body = msgspec.json.encode(value)
        if msgspec.json.decode(body, type=type(value)) != value:
            raise ValueError("it would be read back as something else")
    except (msgspec.MsgspecError, TypeError, ValueError, OverflowError) as error:
        what = type(value).__name__.lower()
        raise UsageError(
            f"a {what} cannot be stored: {error}", hint="Nothing was changed. Give values of the documented types."
        ) from error
    return body


def decoded(content: bytes, type_: type[T], belongs: str, what: str) -> T:
    """A record, or `DamagedRecord` with what it is."""
    found = _SUM.search(content)
    body = content if found is None else content[: found.start()] + b"}"
    if found is not None and found[1] != _sum(body, belongs):
        raise damaged(what, "its checksum differs")
    try:
        return msgspec.json.decode(body, type=type_)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise damaged(what, str(error)) from error


def damaged(what: str, why: str) -> DamagedRecord:
    """The error for a record that cannot be read."""
    return DamagedRecord(f"{what} is damaged: {why}")


def _sum(body: bytes, belongs: str) -> bytes:
    return xxh3_64(belongs.encode() + b"\n" + body).hexdigest().encode()


def readable(names: Iterable[str], read: Callable[[str], T]) -> tuple[list[T], dict[str, DamagedRecord]]:
    """What has these names, as far as it can be read, and by name why it cannot."""
    found, unread = list[T](), dict[str, DamagedRecord]()
    for name in names:
        try:
            found.append(read(name))
        except NotFound:  # deleted since it was listed
            continue
        except DamagedRecord as error:
            unread[name] = error
    return found, unread


def all_of(found: tuple[list[T], dict[str, DamagedRecord]]) -> list[T]:
    """Everything; `DamagedRecord` if there is something that cannot be read."""
    for error in found[1].values():
        raise error
    return found[0]
