"""The rule of idempotency keys, the same at every door: 1 to 200 printable ASCII characters, spaces around them aside.

A key travels in a header of HTTP, which holds nothing else for sure, and which trims it.
"""

from __future__ import annotations

from typing import Final

from omnigraph.errors import UsageError

LONGEST: Final = 200
"""Characters of a key."""


def key_of(name: str, given: str) -> str:
    """A key as it is kept. `name` is what the argument or header is called."""
    key = given.strip()
    if not 1 <= len(key) <= LONGEST or not key.isascii() or not key.isprintable():
        raise UsageError(f"{name} is 1 to {LONGEST} printable ASCII characters", hint="A UUID is a good one.")
    return key
