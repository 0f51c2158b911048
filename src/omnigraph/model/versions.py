"""Which OmniGraph this is: the product's own version, and the versions of the contracts it keeps."""

from __future__ import annotations

from typing import Final

__version__: Final = "0.1.0"
"""Version of this package."""

API_VERSION: Final = "0.10.0"
"""Version of the public contract (languages, command line, HTTP) that this package follows."""

INTERNAL_SCHEMA_VERSION: Final = 6
"""Version of the contract's internal schema, reported by `omnigraph version`."""
