"""Answers that fit: as many items as there is room for, and values cut only where one alone is too long.

The bound is on the text of an answer, which is JSON indented by two spaces; the same as data is shorter. A list is filled until
the next item would not fit; what is left is reached by a page token. An item that does not fit alone is cut: long texts and
lists end with `…`, and `truncated` names what was cut, so that nobody takes a part for the whole.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final

from omnigraph.model.limits import MAX_TOOL_BYTES, MAX_TOOL_ITEMS

Json = dict[str, Any]

_ROOM_FOR_TOKEN: Final = 1_024
_SHORTEST: Final = 16
_NAMED: Final = 10
"""How many of the places that were cut are named."""
MARK: Final = "…"


def text_of(value: object) -> str:
    """JSON as tools show it. What cannot be written as UTF-8 is replaced."""
    return json.dumps(value, indent=2, ensure_ascii=False).encode("utf-8", "replace").decode()


def size_of(value: object) -> int:
    """Bytes of its text."""
    return len(text_of(value).encode())


def paged(
    head: Json,
    member: str,
    items: Sequence[Any],
    token_after: Callable[[int], str],
    *,
    most: int = MAX_TOOL_ITEMS,
    room: int = MAX_TOOL_BYTES,
) -> Json:
    """`head` with as many items in a member as fit; if there are others, `next_page_token` is made from how many were taken."""
    found: Json = {**head, member: []}
    left = room - size_of(found) - _ROOM_FOR_TOKEN
    taken: list[Any] = found[member]
    for item in items[:most]:
        size = _inside(item)
        if size > left:
            break
        taken.append(item)
        left -= size
    if not taken and items:
        cut, where = clipped(items[0], max(left - _ROOM_FOR_TOKEN, _SHORTEST))
        taken.append(cut)
        found["truncated"] = [f"{member}[0]{place}" for place in where]
    if len(taken) < len(items):
        found["next_page_token"] = token_after(len(taken))
    return found


def _inside(item: Any) -> int:
    """Bytes of an item in a list in an object."""
    text = text_of(item)
    return len(text.encode()) + 4 * (text.count("\n") + 1) + 2


def bounded(value: Json, room: int = MAX_TOOL_BYTES) -> Json:
    """An answer that fits, cut if it must be."""
    if size_of(value) <= room:
        return value
    cut, where = clipped(value, room - _ROOM_FOR_TOKEN * 2)
    assert isinstance(cut, dict)
    return {**cut, "truncated": where}


def clipped(value: Any, room: int) -> tuple[Any, list[str]]:
    """A value of which the indented text takes at most so many bytes, and where it was cut."""
    longest = room
    while True:
        where: list[str] = []
        cut = _cut(value, longest, where, "")
        if _inside(cut) <= room:
            return cut, [place[:60] for place in where[:_NAMED]]
        if longest <= 1:
            return ({} if isinstance(value, dict) else None), [""]
        longest //= 2


def _cut(value: Any, longest: int, where: list[str], place: str) -> Any:
    if isinstance(value, str) and len(value.encode("utf-8", "replace")) > max(longest, _SHORTEST):
        where.append(place)
        return value.encode("utf-8", "replace")[: max(longest, _SHORTEST)].decode("utf-8", "ignore") + MARK
    many = max(longest // 8, 1)
    if isinstance(value, list):
        if len(value) > many:
            where.append(place)
        return [_cut(item, longest, where, f"{place}[{at}]") for at, item in enumerate(value[:many])]
    if isinstance(value, dict):
        if len(value) > many + _SHORTEST:
            where.append(place)
        return {k: _cut(v, longest, where, f"{place}.{k}") for k, v in _some(value.items(), many + _SHORTEST)}
    return value


def _some(items: Iterable[tuple[str, Any]], many: int) -> list[tuple[str, Any]]:
    return list(items)[:many]
