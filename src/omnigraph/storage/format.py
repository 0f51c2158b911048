"""The format of a stored graph: which versions this code reads, and how an older one becomes a newer one.

Every manifest carries a stamp. A stamp above `CURRENT` was written by a newer OmniGraph and is refused; one below `FLOOR` is
too old to be migrated. In between, registered migrations run one after another, work first and stamp last, so that a crash in
between only means running a step again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from omnigraph.errors import UnsupportedFormat

STAMP_KEY: Final = "omnigraph:internal_schema_version"
"""Where the stamp stands in the metadata of a manifest."""

CURRENT: Final = 1
"""The format this code writes."""

FLOOR: Final = 1
"""The oldest format this code can still open."""

MIGRATIONS: Mapping[int, Callable[[str], None]] = {}
"""From a format to the next: each takes the address of a manifest and leaves it one stamp higher."""


def check_stamp(stamp: str | None, where: str) -> int:
    """The format of a manifest, or `UnsupportedFormat`."""
    if stamp is None or not stamp.isdigit():
        raise UnsupportedFormat(f"{where} is not the manifest of an OmniGraph graph", hint="Check the path.")
    found = int(stamp)
    if found > CURRENT:
        raise UnsupportedFormat(
            f"{where} has format {found}; this OmniGraph reads up to {CURRENT}", hint="Upgrade omnigraph, then open it again."
        )
    if found < FLOOR:
        raise UnsupportedFormat(
            f"{where} has format {found}; this OmniGraph reads from {FLOOR} on",
            hint="Export it with the version that wrote it and load the export.",
        )
    return found
