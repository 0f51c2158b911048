"""Where the next page begins, as a text that whoever gets it may send to any process.

A token holds a position and a digest of the question: the tool, the graph, and its arguments without the token itself. Nothing is
kept between two calls, so a server may be restarted, or be another one. A token gives no rights: what it leads to is asked of the
door like everything else.

    commits_list {"branch": "main"}                          → … "next_page_token": "WyI0ZjE…"
    commits_list {"branch": "main", "pageToken": "WyI0ZjE…"} → the commits after those
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
from typing import Any, Final

from omnigraph.errors import UsageError
from omnigraph.model.limits import MAX_CHANGE_TOKEN_BYTES
from omnigraph.surfaces.mcp.session import Call

_NOT_ASKED: Final = frozenset({"pageToken", "limit"})
"""Arguments that say which part of an answer is wanted, not of which answer."""


def token(call: Call, *position: Any) -> str:
    """The token of a position."""
    said = json.dumps([_digest(call), *position], separators=(",", ":"))
    return base64.urlsafe_b64encode(said.encode()).decode().rstrip("=")


def position(call: Call, given: str | None, *kinds: type) -> list[Any] | None:
    """The position of a token, each part of which is of a kind; None without a token."""
    if given is None:
        return None
    try:
        if len(given) > MAX_CHANGE_TOKEN_BYTES:
            raise ValueError
        said = json.loads(base64.urlsafe_b64decode(given.encode() + b"=" * (-len(given) % 4)))
    except (ValueError, binascii.Error, RecursionError):
        raise _refused("cannot be read") from None
    if not isinstance(said, list) or not said or said[0] != _digest(call):
        raise _refused("belongs to another request")
    found = said[1:]
    if len(found) != len(kinds) or not all(type(part) is kind for part, kind in zip(found, kinds, strict=True)):
        raise _refused("cannot be read")
    if any(isinstance(part, int) and part < 0 for part in found):
        raise _refused("cannot be read")
    return found


def _refused(why: str) -> UsageError:
    return UsageError(
        f"the page token {why}", hint="Send the same arguments as before with it, or start again without `pageToken`."
    )


def _digest(call: Call) -> str:
    asked = {name: value for name, value in call.arguments.items() if name not in _NOT_ASKED and value is not None}
    said = json.dumps([call.tool, call.graph.name, asked], sort_keys=True, default=str)
    return hashlib.blake2s(said.encode("utf-8", "replace"), digest_size=8).hexdigest()
