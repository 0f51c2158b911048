"""Which provider is meant: what a program says, then a profile, then the environment, then defaults.

    embedding_provider("gemini", model="gemini-embedding-2")                      said by a program
    {kind: openai, model: text-embedding-3-small, api_key: ${KEY}}      a profile of a cluster
    OMNIGRAPH_EMBED_PROVIDER, _BASE_URL, _MODEL                         the environment

`OMNIGRAPH_EMBEDDINGS_MOCK=1` wins over all of them, with a warning where it overrules one. Keys are named, never given: `${NAME}`
is an environment variable, and only whoever sends a request reads it. Nothing is sent because of a default alone: without a key,
a provider or an address there is no provider.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping
from importlib import import_module
from typing import Any, Final
from urllib.parse import urlsplit

from omnigraph.embedding.mock import MockEmbedder
from omnigraph.embedding.pace import Pace
from omnigraph.embedding.port import Embedder
from omnigraph.embedding.providers import DEFAULT, KINDS, MOCK, Kind
from omnigraph.errors import UsageError
from omnigraph.model.frozen import frozen

_log = logging.getLogger(__name__)

DEFAULT_MODEL: Final = KINDS[DEFAULT].model
"""The model that is meant where nobody names one."""

MOCK_VARIABLE: Final = "OMNIGRAPH_EMBEDDINGS_MOCK"
PROVIDER_VARIABLE: Final = "OMNIGRAPH_EMBED_PROVIDER"
URL_VARIABLE: Final = "OMNIGRAPH_EMBED_BASE_URL"
MODEL_VARIABLE: Final = "OMNIGRAPH_EMBED_MODEL"
_YES = frozenset({"1", "true", "yes", "on"})

_NAMED_KEY: Final = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")
_KEYS: Final = ("kind", "base_url", "model", "api_key")
_HINT: Final = "Write {kind: openai-compatible, base_url: https://…, model: …, api_key: ${NAME}}."

INVALID: Final = "invalid_embedding_provider"
INLINE: Final = "embedding_api_key_inline"
REQUIRED: Final = "embedding_api_key_required"


class InvalidProfile(UsageError):
    """A profile that cannot be meant. `problem` is the code that a cluster reports it under."""

    def __init__(self, problem: str, message: str) -> None:
        super().__init__(message, hint=_HINT)
        self.problem = problem


@frozen
class Profile:
    """A provider as a configuration names it. What is None is left to the environment and to defaults."""

    kind: str | None = None
    base_url: str | None = None
    model: str | None = None
    api_key: str | None = None
    """`${NAME}`: the environment variable that holds the key. Never the key."""

    def __post_init__(self) -> None:
        if self.kind is not None and self.kind not in KINDS:
            raise InvalidProfile(INVALID, f"there is no embedding provider `{self.kind}`: there are {', '.join(KINDS)}")
        if self.base_url is not None:
            _require_url(self.base_url, KINDS[self.kind or DEFAULT])
        if self.model is not None and not self.model.strip():
            raise InvalidProfile(INVALID, "the model of an embedding provider is blank")
        if self.api_key is not None and _NAMED_KEY.fullmatch(self.api_key) is None:
            raise InvalidProfile(INLINE, "api_key of an embedding provider is not the name of an environment variable")

    @classmethod
    def of(cls, given: object) -> Profile:
        """A profile as the file of a cluster says it: complete, with its key named."""
        if not isinstance(given, Mapping) or any(not isinstance(value, str) for value in given.values()):
            raise InvalidProfile(INVALID, "an embedding provider is a mapping of names to texts")
        said = dict(given)
        kinds = {said.pop(name) for name in ("kind", "provider") if name in said}
        unknown = [str(name) for name in said if name not in _KEYS]
        if unknown or len(kinds) > 1:
            what = f"does not know {', '.join(unknown)}" if unknown else "names two kinds"
            raise InvalidProfile(INVALID, f"an embedding provider {what}")
        made = cls(next(iter(kinds), None), said.get("base_url"), said.get("model"), said.get("api_key"))
        if made.api_key is None and KINDS[made.kind or DEFAULT].needs_key:
            raise InvalidProfile(REQUIRED, f"the embedding provider {made.kind or DEFAULT} needs an api_key")
        return made

    def to_dict(self) -> dict[str, str]:
        """What is set, in the order of its digest."""
        return {name: getattr(self, name) for name in _KEYS if getattr(self, name) is not None}

    def __repr__(self) -> str:
        return f"Profile: {', '.join(f'{name} {value}' for name, value in self.to_dict().items()) or 'defaults'}"

    def over(self, other: Profile) -> Profile:
        """This profile, and what it leaves open as another says."""
        return Profile(*(mine if mine is not None else theirs for mine, theirs in zip(self._all(), other._all(), strict=True)))

    def _all(self) -> tuple[str | None, ...]:
        return self.kind, self.base_url, self.model, self.api_key

    def provider(self, environment: Mapping[str, str], pace: Pace | None = None) -> Embedder:
        """The provider. Nothing is sent, and no key is read."""
        kind = KINDS[self.kind or DEFAULT]
        model = self.model or kind.model
        if kind.name == MOCK:
            return MockEmbedder(model)
        made: Any = getattr(import_module(f"omnigraph.embedding.providers.{kind.module}"), kind.cls)
        if kind.base_url is None:
            return made(model, self.base_url, **({} if pace is None else {"pace": pace}))  # type: ignore[no-any-return]
        pace = Pace.of(environment, kind.batch) if pace is None else pace
        named = None if self.api_key is None else _NAMED_KEY.fullmatch(self.api_key)
        keys = kind.keys if named is None else (named[1],)
        url = (self.base_url or kind.base_url).rstrip("/")
        by_itself = kind.name == DEFAULT and url != kind.base_url and named is None  # a server of yours may want no key
        needs_key = bool(keys) and not by_itself
        return made(url, model, keys, pace, needs_key)  # type: ignore[no-any-return]


def _require_url(text: str, kind: Kind) -> None:
    if kind.name == MOCK or kind.base_url is None:
        return  # the folder of a model
    parts = urlsplit(text)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise InvalidProfile(INVALID, f"the base URL of {kind.name} is no http:// or https:// address")
    if parts.username or parts.password or parts.query or parts.fragment:
        raise InvalidProfile(INVALID, f"the base URL of {kind.name} has credentials, a query or a fragment")


def of_environment(environment: Mapping[str, str]) -> Profile:
    """What the environment says."""
    said = (environment.get(name, "").strip() or None for name in (PROVIDER_VARIABLE, URL_VARIABLE, MODEL_VARIABLE))
    return Profile(*said)


def embedding_provider(
    kind: str | None = None,
    *,
    base_url: str | None = None,
    model: str | None = None,
    api_key: str | None = None,
    pace: Pace | None = None,
    profile: Profile | None = None,
    environment: Mapping[str, str] | None = None,
) -> Embedder:
    """An embedding provider: what is given here, then what a profile says, then the environment, then defaults.

    `api_key` names the environment variable that holds the key, as `${NAME}`; by default it is the variable that the provider is
    known for. `OMNIGRAPH_EMBEDDINGS_MOCK` wins over everything.

        embedding_provider("openai", model="text-embedding-3-small")
        embedding_provider("openai-compatible", base_url="http://localhost:8000/v1", model="bge-m3")
    """
    environment = _environment() if environment is None else environment
    said = Profile(kind, base_url, model, api_key).over(profile or Profile())
    mock = _mock(environment, said)
    return mock if mock is not None else said.over(of_environment(environment)).provider(environment, pace)


def configured(environment: Mapping[str, str], profile: Profile | None = None) -> Embedder | None:
    """The provider that a profile or the environment asks for, if any."""
    mock = _mock(environment, profile)
    if mock is not None:
        return mock
    if profile is not None:
        return embedding_provider(profile=profile, environment=environment)
    asked = any(environment.get(name, "").strip() for name in (PROVIDER_VARIABLE, URL_VARIABLE, *KINDS[DEFAULT].keys))
    return embedding_provider(environment=environment) if asked else None


def _mock(environment: Mapping[str, str], profile: Profile | None) -> MockEmbedder | None:
    """Made-up vectors, if the environment wants them; they stand in for the model that is set."""
    if environment.get(MOCK_VARIABLE, "").strip().lower() not in _YES:
        return None
    said = (profile or Profile()).over(Profile(model=environment.get(MODEL_VARIABLE, "").strip() or None))
    overruled = said.kind or said.base_url or environment.get(PROVIDER_VARIABLE, "").strip()
    if overruled and overruled != MOCK:
        _log.warning("%s is set: vectors are made up, and %s is not asked", MOCK_VARIABLE, overruled)
    return MockEmbedder(said.model or DEFAULT_MODEL)


def _environment() -> Mapping[str, str]:
    import os

    return os.environ
