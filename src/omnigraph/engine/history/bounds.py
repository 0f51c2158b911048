"""How much one page of changes holds by default."""

from __future__ import annotations

DEFAULT_CHANGES = 1_000
DEFAULT_BYTES = 4 << 20
DEFAULT_COMMITS = 128
