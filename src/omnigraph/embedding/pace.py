"""How fast and how often a provider is called, and what calling it came to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final, TypeVar

from omnigraph.errors import UsageError
from omnigraph.model.frozen import frozen
from omnigraph.model.phrases import counted

N = TypeVar("N", int, float)

DEADLINE: Final = 60.0
TIMEOUT: Final = 30.0
RETRIES: Final = 4
BACKOFF: Final = 0.2

_MILLISECONDS: Final = {
    "OMNIGRAPH_EMBED_DEADLINE_MS": "deadline",
    "OMNIGRAPH_EMBED_TIMEOUT_MS": "timeout",
    "OMNIGRAPH_EMBED_RETRY_BACKOFF_MS": "first_wait",
}
_RETRIES: Final = "OMNIGRAPH_EMBED_RETRY_ATTEMPTS"


@frozen
class Pace:
    """How fast and how often a provider is called."""

    batch: int = 128
    """Texts per request."""
    per_second: float | None = None
    """Most texts per second; None: as many as it takes."""
    attempts: int = RETRIES + 1
    """How often a request is sent, the first time included."""
    first_wait: float = BACKOFF
    """Seconds before the second attempt; twice as long before each further one."""
    longest_wait: float = 30.0
    batch_bytes: int = 1 << 18
    """Bytes of text per request; a longer text goes by itself."""
    in_flight: int = 16
    """Requests under way at once."""
    timeout: float | None = TIMEOUT
    """Seconds that one attempt may take."""
    deadline: float | None = DEADLINE
    """Seconds that a request may take with all its attempts; None: as long as it takes."""

    def __post_init__(self) -> None:
        least = {"batch": 1, "attempts": 1, "batch_bytes": 1, "in_flight": 1}
        for name, fewest in least.items():
            if getattr(self, name) < fewest:
                raise UsageError(f"{name} cannot be {getattr(self, name)}", hint=f"It is at least {fewest}.")
        for name in ("timeout", "deadline", "per_second"):
            given = getattr(self, name)
            if given is not None and not given > 0:
                what = f"{given} texts per second is too slow" if name == "per_second" else f"{name} cannot be {given} s"
                raise UsageError(what, hint="Give a number above 0, or none.")
        for name in ("first_wait", "longest_wait"):
            if not getattr(self, name) >= 0:
                raise UsageError(f"{name} cannot be {getattr(self, name)} s", hint="Give seconds, 0 or more.")

    def __repr__(self) -> str:
        rate = "as fast as it answers" if self.per_second is None else f"at most {self.per_second:g} texts a second"
        under_way = f"{counted(self.in_flight, 'request')} at once"
        return f"Pace: {counted(self.batch, 'text')} a request, {under_way}, {rate}, {counted(self.attempts, 'attempt')}"

    def shared_by(self, workers: int) -> Pace:
        """The pace of each of several that work side by side."""
        rate = None if self.per_second is None else self.per_second / max(1, workers)
        return replace(self, per_second=rate, in_flight=max(1, self.in_flight // max(1, workers)))

    @classmethod
    def of(cls, environment: Mapping[str, str], batch: int = 128) -> Pace:
        """The pace that the environment asks for."""
        given: dict[str, Any] = {}
        for variable, name in _MILLISECONDS.items():
            milliseconds = _whole_number(environment, variable)
            if milliseconds is not None:
                given[name] = milliseconds / 1000
        if given.get("deadline") == 0:
            given["deadline"] = None
        if given.get("timeout") == 0:
            given["timeout"] = None
        retries = _whole_number(environment, _RETRIES)
        if retries is not None:
            given["attempts"] = retries + 1
        return replace(cls(batch=batch), **given)


def _whole_number(environment: Mapping[str, str], variable: str) -> int | None:
    text = environment.get(variable, "").strip()
    if not text:
        return None
    if not text.isdecimal():
        raise UsageError(f"{variable} is {text!r}, not a whole number", hint="Write digits alone, or unset it.")
    return int(text)


@frozen
class Usage:
    """What calling a provider came to."""

    texts: int = 0
    """Texts that were answered."""
    requests: int = 0
    """Requests that were sent, repeated ones included."""
    retries: int = 0
    """Those of them that repeated another."""
    tokens: int | None = None
    """Tokens, as the provider counts them; None: it does not say."""
    cost: float | None = None
    """What it asks for, in its currency, if it says so in its answers."""
    seconds: float = 0.0
    """Time that requests took, added up: several are under way at once."""

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            self.texts + other.texts,
            self.requests + other.requests,
            self.retries + other.retries,
            _sum(self.tokens, other.tokens),
            _sum(self.cost, other.cost),
            self.seconds + other.seconds,
        )

    def __repr__(self) -> str:
        return f"Usage: {self}"

    def __str__(self) -> str:
        said = [counted(self.texts, "text"), counted(self.requests, "request")]
        if self.retries:
            said.append(counted(self.retries, "retry"))
        if self.tokens is not None:
            said.append(counted(self.tokens, "token"))
        if self.cost is not None:
            said.append(f"cost {self.cost:.6g}")
        return ", ".join(said)


def _sum(one: N | None, other: N | None) -> N | None:
    return other if one is None else one if other is None else one + other
