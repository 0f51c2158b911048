"""What a write was asked to do, as a digest: what tells a write that is repeated from another one with the same key.

Two requests have one digest if they come to the same: the same kind of write, the same content, the same branch and actor. What
is only about how a write is made (its message, its condition, who runs a load, where rejected rows go) does not count.

Whatever cannot be told apart counts as the same: a write that is repeated must never be refused.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from hashlib import blake2b
from itertools import chain
from typing import Final
from uuid import UUID

from omnigraph.engine.export.entities import Edge, Node
from omnigraph.model.given import Instant, plain, tangled

_SPELT: Final = frozenset({type(None), bool, float, Decimal, date, datetime, time, timedelta, UUID, Instant})
"""What says all that it is when it is shown."""

Add = Callable[[bytes], object]
"""Takes what is to be part of a digest."""


def digest_of(kind: str, branch: str, actor: str | None, *content: object) -> str:
    """The digest of a write."""
    made = blake2b(digest_size=16)
    _add(made.update, (kind, branch, actor))
    for value in content:
        add_value(made.update, value)
    return made.hexdigest()


def add_value(add: Add, value: object) -> None:
    """A value that somebody gave, unless it is nested in a way that nobody should follow."""
    if tangled(value) is None:
        _add(add, value)
    else:
        _tagged(add, "tangled", type(value).__name__)


def _add(add: Add, value: object) -> None:
    if isinstance(value, str):
        _tagged(add, "str", value)
    elif isinstance(value, bytes | bytearray | memoryview):
        _tagged(add, "bytes", bytes(value).hex())
    elif type(value) in _SPELT:
        _tagged(add, "value", repr(value))
    elif type(value) is int:
        _tagged(add, "value", f"{value:x}")
    elif isinstance(value, Node | Edge):
        _add_all(add, "entity", (value.type, value.id))
    elif isinstance(value, Mapping):
        pairs: list[tuple[object, object]] = sorted(value.items(), key=lambda pair: str(pair[0]))
        _add_all(add, "mapping", chain.from_iterable(pairs))
    elif isinstance(value, list | tuple):
        _add_all(add, "list", value)
    else:
        _add_foreign(add, value)


def _add_foreign(add: Add, value: object) -> None:
    """A value of another library or class: by its plain form. Of one without, nothing is known but what it is."""
    try:
        found = plain(value)
    except ValueError:
        found = value
    if found is not value:
        _add(add, found)
        return
    if isinstance(value, int):
        _add(add, int(value))
    elif isinstance(value, float):
        _add(add, float(value))
    elif isinstance(value, Decimal | date):
        _tagged(add, "value", str(value))
    else:
        _tagged(add, "other", type(value).__name__)


def _add_all(add: Add, tag: str, values: Iterable[object]) -> None:
    _tagged(add, tag, "")
    for value in values:
        _add(add, value)
    _tagged(add, "end", "")


def _tagged(add: Add, tag: str, text: str) -> None:
    data = text.encode("utf-8", "surrogatepass")
    add(f"{tag}:{len(data)}:".encode())
    add(data)
