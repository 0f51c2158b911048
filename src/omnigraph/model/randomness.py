"""Random bytes for names that nobody else has. Not for secrets, which are asked of the system one by one (`secrets`).

To ask the system for sixteen bytes takes half a microsecond, and a turn: a thread that asks lets others run Python, and waits
until it may again. A commit beside fifteen others has five names to make, and would wait five times. So some are kept ready.
"""

from __future__ import annotations

import os
from threading import Lock
from typing import Final

_AT_ONCE: Final = 4_096

_lock = Lock()
_ready = b""
_taken = 0


def random_bytes(count: int) -> bytes:
    """Bytes that were given to nobody else."""
    global _ready, _taken
    with _lock:
        if _taken + count > len(_ready):
            _ready, _taken = os.urandom(max(count, _AT_ONCE)), 0
        begin, _taken = _taken, _taken + count
        return _ready[begin:_taken]


def _forget() -> None:
    """A child would give away what its parent does. The lock may be held by a thread that is not there."""
    global _lock, _ready, _taken
    _lock, _ready, _taken = Lock(), b"", 0


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)
