"""Callers whom an identity provider vouches for: JSON web tokens, verified against its keys.

    OMNIGRAPH_OIDC_ISSUER         who vouches; switches this on
    OMNIGRAPH_OIDC_AUDIENCE       whom tokens must be for: this server
    OMNIGRAPH_OIDC_JWKS           the provider's keys: an https:// address, or a file
    OMNIGRAPH_OIDC_ALGORITHMS     signatures that are accepted (RS256,ES256)
    OMNIGRAPH_OIDC_ACTOR_CLAIM    the claim that names the actor (sub)
    OMNIGRAPH_OIDC_GROUPS_CLAIM   the claim that lists their groups (groups)
    OMNIGRAPH_OIDC_LEEWAY         seconds that clocks may differ (60)

A token is believed if it is signed by a key of the provider, with a signature that is accepted, is for this server, and is valid
now. Which signature is used is this server's choice and never the token's: secrets that are shared (HS256) and `none` are not
among those one can choose. Keys are kept; they are read again when a token names a key that is not known, though not more often
than every ten seconds, and every five minutes otherwise, so a provider may change them at any time. If it cannot be reached, the
keys that are known go on. A token that was verified is remembered by its digest until it ends.

Whatever is wrong with a token, its sender is told that it is invalid and no more; the log says why, and never the token.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import logging
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from pathlib import Path
from threading import Lock
from typing import Any, Final
from urllib.parse import urlsplit
from urllib.request import HTTPRedirectHandler, build_opener

from omnigraph.errors import UsageError
from omnigraph.model.frozen import frozen

_log = logging.getLogger("omnigraph.http")

_FAR: Final = 1 << 40
"""Seconds since the epoch that no token outlives: one that says more means for ever."""

ISSUER: Final = "OMNIGRAPH_OIDC_ISSUER"
AUDIENCE: Final = "OMNIGRAPH_OIDC_AUDIENCE"
JWKS: Final = "OMNIGRAPH_OIDC_JWKS"
ALGORITHMS: Final = "OMNIGRAPH_OIDC_ALGORITHMS"
ACTOR_CLAIM: Final = "OMNIGRAPH_OIDC_ACTOR_CLAIM"
GROUPS_CLAIM: Final = "OMNIGRAPH_OIDC_GROUPS_CLAIM"
LEEWAY: Final = "OMNIGRAPH_OIDC_LEEWAY"

ACCEPTABLE: Final = frozenset({"RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA"})
"""Signatures that only who has the private key can make."""

_AGAIN: Final = 10.0
"""Seconds before keys are read again because of a token that names an unknown one…"""
_OLD: Final = 300.0
"""…and without a reason."""
_KEPT: Final = 1_024
_LARGEST: Final = 1 << 20
_LONGEST: Final = 16_384
"""Bytes of a set of keys, and of a token, at most."""


class InvalidToken(Exception):
    """A token that is not believed, and why: for the log."""


@frozen
class Vouched:
    """Whom a provider vouches for, and until when."""

    actor: str
    groups: frozenset[str]
    until: float


@frozen
class Provider:
    """An identity provider, and what is asked of its tokens."""

    issuer: str
    audience: str
    jwks: str
    algorithms: tuple[str, ...] = ("RS256", "ES256")
    actor_claim: str = "sub"
    groups_claim: str = "groups"
    leeway: float = 60.0

    @classmethod
    def from_environment(cls, environment: Mapping[str, str]) -> Provider | None:
        """The provider that the environment names, if it names one."""
        said = {name: environment.get(name, "").strip() for name in (ISSUER, AUDIENCE, JWKS, ALGORITHMS, LEEWAY)}
        if not said[ISSUER]:
            return None
        for name in (AUDIENCE, JWKS):
            if not said[name]:
                raise UsageError(f"{ISSUER} is set, and {name} is not", hint="Set both, or neither.")
        algorithms = tuple(a.strip() for a in (said[ALGORITHMS] or "RS256,ES256").split(",") if a.strip())
        refused = [a for a in algorithms if a not in ACCEPTABLE]
        if refused or not algorithms:
            raise UsageError(
                f"{ALGORITHMS} names {', '.join(refused) or 'nothing'}", hint=f"There are {', '.join(sorted(ACCEPTABLE))}."
            )
        _require_trusted(said[JWKS])
        leeway = said[LEEWAY] or "60"
        if not (leeway.isascii() and leeway.isdigit() and int(leeway) <= 600):
            raise UsageError(f"{LEEWAY} must be a number of seconds up to 600, not {leeway!r}", hint="")
        return cls(
            said[ISSUER],
            said[AUDIENCE],
            said[JWKS],
            algorithms,
            environment.get(ACTOR_CLAIM, "").strip() or "sub",
            environment.get(GROUPS_CLAIM, "").strip() or "groups",
            float(leeway),
        )


def _require_trusted(jwks: str) -> None:
    """Keys come from a file, or over a connection that nobody can change on the way."""
    parts = urlsplit(jwks)
    if parts.scheme == "http" and parts.hostname not in ("localhost", "127.0.0.1", "::1"):
        hint = "Give an https:// address, or a file."
        raise UsageError(f"{JWKS} is {jwks}: anybody on the way could change the keys", hint=hint)


class Verifier:
    """Verifies tokens of one provider."""

    def __init__(self, provider: Provider, clock: Callable[[], float] = time.time) -> None:
        try:
            import jwt
        except ImportError:
            raise UsageError(f"{ISSUER} is set, and PyJWT is not installed", hint="pip install 'omnigraph[oidc]'") from None
        self.provider = provider
        self._jwt, self._clock = jwt, clock
        self._lock = Lock()
        self._keys: dict[str | None, tuple[str | None, Any]] = {}
        self._read_at = self._tried_at = float("-inf")
        self._known: OrderedDict[bytes, Vouched] = OrderedDict()

    def remembered(self, token: bytes) -> Vouched | None:
        """Whom a token is for, if it was verified lately."""
        found = self._known.get(hashlib.sha256(token).digest())
        return found if found is not None and self._clock() < found.until else None

    async def verified(self, token: bytes) -> Vouched:
        """Whom a token is for. What has to be read for it is read away from the event loop."""
        known = self.remembered(token)
        return await asyncio.to_thread(self.verify, token) if known is None else known

    def verify(self, token: bytes) -> Vouched:
        """Whom a token is for; raises InvalidToken."""
        if len(token) > _LONGEST:
            raise InvalidToken("it is too long")
        try:
            text = token.decode("ascii")
            header = self._jwt.get_unverified_header(text)
            if header.get("alg") not in self.provider.algorithms:
                raise InvalidToken(f"it is signed by {str(header.get('alg'))[:20]!r}")
            claims = self._jwt.decode(
                text,
                self._key(header.get("kid"), header["alg"]),
                algorithms=[header["alg"]],
                audience=self.provider.audience,
                issuer=self.provider.issuer,
                leeway=self.provider.leeway,
                options={"require": ["exp", "iss", "aud"]},
            )
        except (self._jwt.PyJWTError, ValueError, TypeError, RecursionError) as error:
            raise InvalidToken(f"{type(error).__name__}: {error}"[:200]) from None
        found = Vouched(self._actor(claims), self._groups(claims), float(min(claims["exp"], _FAR)) + self.provider.leeway)
        with self._lock:
            self._known[hashlib.sha256(token).digest()] = found
            while len(self._known) > _KEPT:
                self._known.popitem(last=False)
        return found

    def _actor(self, claims: Mapping[str, Any]) -> str:
        found = claims.get(self.provider.actor_claim)
        if not isinstance(found, str) or not found.strip() or not found.isprintable() or len(found) > 200:
            raise InvalidToken(f"its claim `{self.provider.actor_claim}` names nobody")
        return found.strip()

    def _groups(self, claims: Mapping[str, Any]) -> frozenset[str]:
        found = claims.get(self.provider.groups_claim)
        if found is None:
            return frozenset()
        listed = [found] if isinstance(found, str) else found
        if not isinstance(listed, list) or not all(isinstance(name, str) for name in listed):
            raise InvalidToken(f"its claim `{self.provider.groups_claim}` is no list of names")
        return frozenset(name.strip() for name in listed if name.strip())

    # ── keys ─────────────────────────────────────────────────────────────────────────────────────────────────────────────────

    def _key(self, kid: object, algorithm: str) -> Any:
        if kid is not None and not isinstance(kid, str):
            raise InvalidToken("the name of its key is no text")
        with self._lock:
            now = self._clock()
            if now - self._read_at > _OLD or (self._chosen(kid) is None and now - self._tried_at > _AGAIN):
                self._read_again(now)
            found = self._chosen(kid)
        if found is None:
            raise InvalidToken("it is signed by a key that the provider does not have")
        declared, key = found
        if declared not in (None, algorithm):
            raise InvalidToken(f"its key is not for {algorithm}")
        return key

    def _chosen(self, kid: str | None) -> tuple[str | None, Any] | None:
        """The key of a name, and what it is for if that is said; without a name, the only one."""
        if kid is None:
            return next(iter(self._keys.values())) if len(self._keys) == 1 else None
        return self._keys.get(kid)

    def _read_again(self, now: float) -> None:
        if now - self._tried_at <= _AGAIN:
            return
        self._tried_at = now
        try:
            said = json.loads(_read(self.provider.jwks))
            listed = [key for key in said["keys"] if key.get("kty") in ("RSA", "EC", "OKP") and key.get("use", "sig") == "sig"]
            keys = {key.get("kid"): (key.get("alg"), self._jwt.PyJWK.from_dict(key).key) for key in listed}
        except (OSError, ValueError, KeyError, TypeError, AttributeError, self._jwt.PyJWTError) as error:
            _log.error("the keys of %s cannot be read: %s: %s", self.provider.issuer, type(error).__name__, error)
            return
        self._keys, self._read_at = keys, now


class _Here(HTTPRedirectHandler):
    """Keys are read from where they are said to be."""

    def redirect_request(self, *args: Any, **kwargs: Any) -> None:
        return None


def _read(place: str) -> bytes:
    if "://" not in place:
        return Path(place).read_bytes()
    with build_opener(_Here).open(place, timeout=5) as answer:
        content: bytes = answer.read(_LARGEST + 1)
    if len(content) > _LARGEST:
        raise ValueError("too large")
    return content
