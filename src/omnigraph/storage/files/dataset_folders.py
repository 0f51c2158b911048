"""The folders of a Lance dataset. Guard tests hold this Lance to them."""

from __future__ import annotations

from typing import Final

VERSIONS: Final = "_versions"
DATA: Final = "data"
DELETIONS: Final = "_deletions"
INDICES: Final = "_indices"
TRANSACTIONS: Final = "_transactions"
