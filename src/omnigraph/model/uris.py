"""URIs of objects outside a graph: read strictly, so that what is compared is what is opened.

    s3://media/2024/a%20b.png      scheme s3, bucket media, segments 2024 and `a b.png`
    file:///data/images/x.png      scheme file, no host, segments data, images and x.png

A URI that two readers could understand in two ways is refused: dot segments, empty segments, percent-encoded letters, slashes or
percent signs, a user or a port, a query, a fragment. What is left has one normal spelling, and is compared segment by segment:
`s3://media/a` is above `s3://media/a/b` and not above `s3://media/ab`.
"""

from __future__ import annotations

import re
from string import ascii_letters, digits
from typing import Final
from urllib.parse import quote, unquote_to_bytes

from omnigraph.model.frozen import frozen

OBJECT_STORES: Final = frozenset({"s3"})
LOCAL: Final = "file"

_PLAIN: Final = "!$&'()*+,;=:@-._~"
"""What stands for itself in a segment, beside letters and digits."""

_FORM = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*+)://([^/?#]*+)([^?#]*+)(\?[^#]*+)?+(#.*+)?+", re.DOTALL)
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*+://")
_SEGMENT = re.compile(r"(?:[A-Za-z0-9!$&'()*+,;=:@._~-]|%[0-9A-Fa-f]{2})++")
_ENCODED = re.compile(r"%([0-9A-Fa-f]{2})")
_BUCKET = re.compile(r"[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]")
_AMBIGUOUS: Final = frozenset((ascii_letters + digits + "-._~/\\%\x7f").encode()) | frozenset(range(32))
"""Bytes that are not percent-encoded: they stand for themselves, or separate segments, or are nothing to name an object with."""
_SHOWN: Final = 200


class BadUri(ValueError):
    """Why a text is not the URI of an object. Its text goes on after the URI: `… has a query`."""


@frozen
class Uri:
    """An object, or a folder of them, in its normal spelling."""

    scheme: str
    bucket: str
    """Empty for files."""
    segments: tuple[str, ...]
    """Decoded."""

    def __str__(self) -> str:
        return f"{self.scheme}://{self.bucket}" + "".join(f"/{quote(s, safe=_PLAIN)}" for s in self.segments or ("",))

    @property
    def path(self) -> str:
        """The key in its bucket, or the path on a disk."""
        return "/".join(self.segments) if self.bucket else "/" + "/".join(self.segments)

    def is_above(self, other: Uri) -> bool:
        """Whether another one is inside this folder."""
        head = other.segments[: len(self.segments)]
        same = (self.scheme, self.bucket, self.segments) == (other.scheme, other.bucket, head)
        return same and len(other.segments) > len(self.segments)


def parse_uri(text: str, *, folder: bool = False) -> Uri:
    """The object a text names; with `folder`, the folder, which may end in a slash. Raises `BadUri`."""
    form = _FORM.fullmatch(text)
    if form is None:
        raise BadUri("is not an absolute URI")
    scheme, host, path, query, fragment = form.groups()
    scheme = scheme.lower()
    if "@" in host:
        raise BadUri("holds a user name or a password")
    if query is not None:
        raise BadUri("has a query")
    if fragment is not None:
        raise BadUri("has a fragment")
    if scheme == LOCAL:
        if host not in ("", "localhost"):
            raise BadUri("names a host: files are local")
        host = ""
    elif scheme not in OBJECT_STORES:
        raise BadUri(f"is neither {', '.join(f'{s}://' for s in sorted(OBJECT_STORES))} nor {LOCAL}://")
    elif not _BUCKET.fullmatch(host):
        raise BadUri("does not name a bucket")
    return Uri(scheme, host, _segments(path, folder))


def _segments(path: str, folder: bool) -> tuple[str, ...]:
    if folder:
        path = path.removesuffix("/")
        if not path:
            return ()
    elif path in ("", "/"):
        raise BadUri("names no object")
    elif path.endswith("/"):
        raise BadUri("names a folder, not an object")
    return tuple(_segment(part) for part in path[1:].split("/"))


def _segment(text: str) -> str:
    if text in ("", ".", ".."):
        raise BadUri("has an empty segment" if not text else f"has a `{text}` segment")
    if not _SEGMENT.fullmatch(text):
        raise BadUri("holds a character that must be percent-encoded")
    if any(int(code, 16) in _AMBIGUOUS for code in _ENCODED.findall(text)):
        raise BadUri("is percent-encoded in an ambiguous way")
    try:
        return unquote_to_bytes(text).decode()
    except UnicodeDecodeError:
        raise BadUri("does not spell UTF-8") from None


def shown_uri(text: str) -> str:
    """A URI for a message, whatever was given: without what may be a secret, and not too long."""
    try:
        shown = str(parse_uri(text))
    except BadUri:
        scheme = _SCHEME.match(text)
        if "@" in text:  # a password may hold anything
            shown = f"{scheme[0] if scheme else ''}…"
        else:
            head, *rest = re.split("[?#]", text, maxsplit=1)
            shown = f"{head}?…" if rest else head
    shown = "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in shown)
    return shown if len(shown) <= _SHOWN else shown[:_SHOWN] + "…"
