"""Who sends a request: bearer tokens, and the actors they stand for.

Tokens come from the environment and are kept as digests only. A request's token is hashed and compared with every one of them,
so that how long it takes says nothing about any. Identity comes from the token and from nowhere else.

    OMNIGRAPH_SERVER_BEARER_TOKENS_AWS_SECRET   a secret's id, and then the only source: {"actor": "token", …}
    OMNIGRAPH_SERVER_BEARER_TOKEN               one token, of the actor `default`
    OMNIGRAPH_SERVER_BEARER_TOKENS_FILE         a file of {"actor": "token", …}
    OMNIGRAPH_SERVER_BEARER_TOKENS_JSON         the same, inline

Beside them an identity provider may vouch for callers (`oidc`).
"""

from __future__ import annotations

import hashlib
import hmac
import json
import logging
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

from omnigraph.errors import UsageError
from omnigraph.model.frozen import frozen
from omnigraph.surfaces.http.oidc import InvalidToken, Provider, Verifier

_PREFIX: Final = "OMNIGRAPH_SERVER_BEARER_TOKEN"
SECRET: Final = f"{_PREFIX}S_AWS_SECRET"
ONE: Final = _PREFIX
FILE: Final = f"{_PREFIX}S_FILE"
INLINE: Final = f"{_PREFIX}S_JSON"

_SCHEME: Final = b"Bearer "
_log = logging.getLogger("omnigraph.http")


class Unauthorized(Exception):
    """No token, or one that nobody has."""


@frozen
class Tokens:
    """Digests of tokens, and whose they are."""

    entries: tuple[tuple[bytes, str], ...] = ()
    verifier: Verifier | None = None
    """Who verifies tokens of an identity provider, if there is one."""

    def __bool__(self) -> bool:
        return bool(self.entries) or self.verifier is not None

    @classmethod
    def of(cls, pairs: Iterable[tuple[str, str]]) -> Tokens:
        """Tokens by actor."""
        found: dict[bytes, str] = {}
        actors = set[str]()
        for actor, token in ((a.strip(), t.strip()) for a, t in pairs):
            if not actor or not token:
                raise UsageError("a token or its actor is blank", hint="Give each actor a token of its own.")
            digest = hashlib.sha256(token.encode()).digest()
            if actor in actors:
                raise UsageError(f"actor '{actor}' has two tokens", hint="Give each actor one token.")
            if digest in found:
                raise UsageError(
                    f"actors '{found[digest]}' and '{actor}' have the same token", hint="Give each a token of its own."
                )
            found[digest] = actor
            actors.add(actor)
        return cls(tuple(found.items()))

    @classmethod
    def from_environment(cls, environment: Mapping[str, str]) -> Tokens:
        """Tokens from where the environment says they are."""
        pairs = _pairs(_secret(environment[SECRET]), SECRET) if environment.get(SECRET) else cls._local(environment)
        found, provider = cls.of(pairs), Provider.from_environment(environment)
        return found if provider is None else cls(found.entries, Verifier(provider))

    @staticmethod
    def _local(environment: Mapping[str, str]) -> list[tuple[str, str]]:
        pairs = [("default", environment[ONE])] if environment.get(ONE) else []
        if environment.get(FILE):
            try:
                text = Path(environment[FILE]).read_text(encoding="utf-8")
            except (OSError, UnicodeDecodeError) as error:
                raise UsageError(f"cannot read the tokens in {FILE}: {_reason(error)}", hint="Check the path.") from None
            pairs += _pairs(text, FILE)
        elif environment.get(INLINE):
            pairs += _pairs(environment[INLINE], INLINE)
        return pairs

    async def identified(self, headers: list[bytes]) -> tuple[str | None, frozenset[str]]:
        """Who sends a request, and which groups their provider says they are in."""
        try:
            return self.actor_of(headers), frozenset()
        except Unauthorized:
            if self.verifier is None or len(headers) != 1 or not headers[0].startswith(_SCHEME) or headers[0].count(b".") != 2:
                raise
        try:
            found = await self.verifier.verified(headers[0][len(_SCHEME) :])
        except InvalidToken as reason:
            _log.info("a token of %s is not believed: %s", self.verifier.provider.issuer, reason)
            raise Unauthorized("invalid bearer token") from None
        return found.actor, found.groups

    def actor_of(self, headers: list[bytes]) -> str:
        """Whose token the `Authorization` headers carry."""
        if len(headers) != 1 or not headers[0].startswith(_SCHEME):
            raise Unauthorized("missing bearer token")
        digest = hashlib.sha256(headers[0][len(_SCHEME) :]).digest()
        found: str | None = None
        for known, actor in self.entries:  # all of them, whichever it is
            if hmac.compare_digest(known, digest):
                found = actor
        if found is None:
            raise Unauthorized("invalid bearer token")
        return found


def _reason(error: OSError | UnicodeDecodeError) -> str:
    return (error.strerror or "it cannot be opened") if isinstance(error, OSError) else "it is not UTF-8"


def _pairs(text: str, source: str) -> list[tuple[str, str]]:
    try:
        found = json.loads(text, object_pairs_hook=tuple)  # actors that are there twice are seen
    except ValueError:
        found = None
    if not isinstance(found, tuple) or not all(isinstance(token, str) for _, token in found):
        raise UsageError(f"the tokens in {source} are not a JSON object of texts", hint='Write {"actor": "token", …}.')
    return list(found)


def _secret(name: str) -> str:
    try:
        import boto3
    except ImportError:
        raise UsageError(f"{SECRET} is set, and boto3 is not installed", hint="pip install boto3") from None
    try:
        text = boto3.client("secretsmanager").get_secret_value(SecretId=name)["SecretString"]
    except Exception as error:
        raise UsageError(
            f"cannot read the secret {name}: {type(error).__name__}", hint="Check its id and the credentials."
        ) from error
    assert isinstance(text, str)
    return text
