"""Cursors and page tokens: the position of a reader of changes, in a short text with a checksum.

    cursor       after a commit                                    g2.eyJ…
    page token   inside a commit: so many of its changes were delivered

Both are bound to the graph, to the branch (and to this incarnation of it: a branch of the same name made later is another one)
and to the filter. They hold everything, so any process can go on where another stopped. One that was altered is rejected.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
from typing import Literal

import msgspec

from omnigraph.engine.history.changes import Filter
from omnigraph.errors import CursorRejected, ResourceLimit
from omnigraph.model.limits import MAX_CHANGE_TOKEN_BYTES
from omnigraph.model.phrases import counted

_CHECK = 8
"""Bytes of the checksum."""


class Token(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a cursor or page token says."""

    kind: Literal["cursor", "page", "commit"]
    """`page`: inside a block of a feed. `commit`: inside the changes of one commit."""
    graph: str
    filter: str
    commit: str
    """The commit that was delivered last; of a page token, the one that is being delivered."""
    incarnation: str = ""
    number: int = 0
    """Of the commit."""
    delivered: int = 0
    """Changes of the commit that were delivered, of those that pass the filter."""
    cut: int = 0
    """Number of the last commit that this round of pages covers."""
    types: tuple[tuple[int, int], ...] = ()
    """The types that the filter names, by identity: they are followed when they are called something else."""


def filter_text(chosen: Filter) -> str:
    """A filter in few bytes."""
    said = msgspec.json.encode(chosen.to_dict(), order="sorted")
    return base64.urlsafe_b64encode(hashlib.sha256(said).digest()[:9]).decode("ascii")


def write_token(token: Token) -> str:
    """A token as text."""
    body = msgspec.json.encode(token)
    text = base64.urlsafe_b64encode(hashlib.sha256(body).digest()[:_CHECK] + body).rstrip(b"=").decode("ascii")
    if len(text) > MAX_CHANGE_TOKEN_BYTES:
        raise ResourceLimit(
            f"a cursor has at most {MAX_CHANGE_TOKEN_BYTES:,} bytes, too few to follow {counted(len(token.types), 'type')}",
            hint="Name fewer types, or follow all of them and choose among the changes.",
        )
    return text


def read_token(text: str) -> Token:
    """A text as token, if it is one."""
    if len(text) > MAX_CHANGE_TOKEN_BYTES:
        raise rejected(f"it is longer than {MAX_CHANGE_TOKEN_BYTES} bytes")
    try:
        raw = base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
    except (binascii.Error, ValueError):
        raise rejected("it is not a cursor") from None
    check, body = raw[:_CHECK], raw[_CHECK:]
    if not body or hashlib.sha256(body).digest()[:_CHECK] != check:
        raise rejected("it is not a cursor, or was altered")
    try:
        return msgspec.json.decode(body, type=Token)
    except msgspec.DecodeError:
        raise rejected("it is of another version of OmniGraph") from None


def require(token: Token, *, graph: str, chosen: Filter, incarnation: str | None = None) -> None:
    """Refuse a token of another graph, branch or filter."""
    if token.graph != graph:
        raise rejected("it belongs to another graph")
    if incarnation is not None and token.incarnation != incarnation:
        raise rejected("it belongs to another branch, or to one that was deleted and created again")
    if token.filter != filter_text(chosen):
        raise rejected("it was made for another filter")


def rejected(why: str) -> CursorRejected:
    """The error of every token that cannot be used."""
    return CursorRejected(f"change cursor rejected: {why}")
