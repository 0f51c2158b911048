"""The policy for external Blobs: which URIs may be given in place of bytes. By default, none.

    ExternalBlobs.deny()
    ExternalBlobs.allow("s3://media/approved", "file:///data/images")

A policy is a set of *bases*: folders of an object store, which any process may reach, and folders of this machine, which only
its own processes may (a server drops them). A URI is allowed if it is inside one of them, compared segment by segment; on a disk
links are followed first, so that one that leads out of its base is refused. Bases are normalised when the policy is made, may not
contain one another, and are kept sorted: equal policies are equal values with equal JSON.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from enum import Enum
from typing import Any, Literal

from omnigraph.engine.calls import arguments
from omnigraph.errors import UsageError
from omnigraph.model.frozen import frozen
from omnigraph.model.limits import MAX_EXTERNAL_URI_BYTES
from omnigraph.model.phrases import one_line
from omnigraph.model.uris import LOCAL, BadUri, Uri, parse_uri, shown_uri


class Scope(Enum):
    """Who may use a base."""

    SERVER_SAFE = "server_safe"
    """Everybody: it is in an object store."""
    EMBEDDED_ONLY = "embedded_only"
    """Processes that open the graph themselves: it is a folder of their machine."""


class Refusal(Exception):
    """Why a URI may not be given. Its text goes on after the URI: `… is outside of every allowed base`."""


class TooLong(Refusal):
    """It is longer than any URI may be."""


@frozen
class Approved:
    """A URI that may be given, and where it leads."""

    uri: str
    """In its normal spelling."""
    scheme: str
    bucket: str
    path: str
    """The key in its bucket; on a disk the path with links followed."""


@frozen
class Base:
    """A folder whose objects may be referred to."""

    uri: str
    scope: Scope

    @classmethod
    def at(cls, uri: str) -> Base:
        """A base with the scope that follows from its URI."""
        return cls(uri, Scope.EMBEDDED_ONLY if uri.lower().startswith(f"{LOCAL}:") else Scope.SERVER_SAFE)

    def __post_init__(self) -> None:
        try:
            parsed = parse_uri(self.uri, folder=True)
        except BadUri as error:
            raise _bad_base(self.uri, str(error)) from None
        scope = Scope.EMBEDDED_ONLY if parsed.scheme == LOCAL else Scope.SERVER_SAFE
        if self.scope is not scope:
            raise _bad_base(self.uri, f"is {scope.value}, not {self.scope.value}")
        if parsed.scheme == LOCAL:
            parsed = _real(parsed)
            if not os.path.isdir(parsed.path):
                raise _bad_base(self.uri, "is not a folder of this machine")
            if not _can_be_spelt(parsed):
                raise _bad_base(self.uri, "is a link to a folder whose path no URI here can spell")
        object.__setattr__(self, "uri", str(parsed))

    def holds(self, uri: Uri) -> bool:
        """Whether an object is inside."""
        return parse_uri(self.uri, folder=True).is_above(uri)


def _real(uri: Uri) -> Uri:
    """The same file with links followed."""
    return Uri(LOCAL, "", tuple(s for s in os.path.realpath(uri.path).split("/") if s))


def _can_be_spelt(uri: Uri) -> bool:
    """Whether the path of a folder is one that a URI may have."""
    try:
        return parse_uri(str(uri), folder=True) == uri
    except ValueError:  # a percent sign in a name, or a name that is not UTF-8
        return False


def _bad_base(uri: str, why: str) -> UsageError:
    hint = "A base is a folder: s3://bucket/folder, or file:///folder of this machine."
    return UsageError(f"`{shown_uri(uri)}` cannot be a base of external Blobs: it {why}", hint=hint)


@frozen
class ExternalBlobs:
    """Which URIs may be given for Blobs. Without bases: none."""

    bases: tuple[Base, ...] = ()

    def __post_init__(self) -> None:
        ordered = tuple(sorted(self.bases, key=lambda base: base.uri))
        folders = [(base.uri, parse_uri(base.uri, folder=True)) for base in ordered]
        for at, (one, folder) in enumerate(folders):
            for other, inner in folders[at + 1 :]:
                if folder == inner or folder.is_above(inner) or inner.is_above(folder):
                    raise UsageError(f"bases of external Blobs overlap: {one} and {other}", hint="Keep the outer one.")
        object.__setattr__(self, "bases", ordered)

    def __repr__(self) -> str:
        named = ", ".join(base.uri for base in self.bases)
        return one_line(f"External Blobs: {f'allowed below {named}' if named else 'none allowed'}")

    @classmethod
    def deny(cls) -> ExternalBlobs:
        """No URI at all."""
        return cls()

    @classmethod
    def allow(cls, *bases: str) -> ExternalBlobs:
        """Those inside of some folders: `s3://bucket/folder`, `file:///folder`."""
        if not bases:
            raise UsageError("nothing is allowed without a base", hint="Name a folder: s3://bucket/folder.")
        return cls(tuple(Base.at(arguments.text("base", uri)) for uri in bases))

    @classmethod
    def from_dict(cls, data: Mapping[str, Any], *, server: bool = False) -> ExternalBlobs:
        """A policy from its JSON. `server`: folders of a machine are left out, whether or not they exist on this one."""
        match data:
            case {"mode": "deny", **rest} if not rest:
                return cls.deny()
            case {"mode": "allow", "bases": list(bases), **rest} if not rest and bases:
                return cls(tuple(_bases(bases, server)))
        hint = '{"mode": "deny"} or {"mode": "allow", "bases": [{"uri": …, "scope": …}]}.'
        raise UsageError("not a policy about external Blobs", hint=hint)

    def to_dict(self) -> dict[str, Any]:
        """The policy as JSON-ready data."""
        if not self.bases:
            return {"mode": "deny"}
        return {"mode": self.mode, "bases": [{"uri": b.uri, "scope": b.scope.value} for b in self.bases]}

    @property
    def mode(self) -> Literal["allow", "deny"]:
        """Whether anything is allowed."""
        return "allow" if self.bases else "deny"

    def server_safe(self) -> ExternalBlobs:
        """What is left of it on a server: no folders of a machine."""
        return ExternalBlobs(tuple(b for b in self.bases if b.scope is Scope.SERVER_SAFE))

    def approve(self, text: str) -> Approved:
        """What a URI leads to, if it may be given. Raises `Refusal`."""
        if len(text.encode(errors="replace")) > MAX_EXTERNAL_URI_BYTES:
            raise TooLong(f"is longer than {MAX_EXTERNAL_URI_BYTES >> 10} KiB")
        if not self.bases:
            raise Refusal("is a reference to another place, and no policy allows any")
        try:
            uri = parse_uri(text)
        except BadUri as error:
            raise Refusal(str(error)) from None
        real = _real(uri) if uri.scheme == LOCAL else uri
        if not any(base.holds(real) for base in self.bases):
            linked = real != uri and any(base.holds(uri) for base in self.bases)
            raise Refusal("is a link that leads out of its base" if linked else "is outside of every allowed base")
        return Approved(str(uri), uri.scheme, uri.bucket, real.path)


def _bases(given: Iterable[object], server: bool) -> Iterable[Base]:
    for base in given:
        match base:
            case {"uri": str(uri), "scope": str(scope), **rest} if not rest and scope in {s.value for s in Scope}:
                if not server or scope == Scope.SERVER_SAFE.value:
                    yield Base(uri, Scope(scope))
            case _:
                scopes = " or ".join(s.value for s in Scope)
                raise UsageError("not a base of external Blobs", hint=f'{{"uri": …, "scope": {scopes}}}.')
