"""The format of a stored graph: which versions this code reads, and how an older one becomes a newer one.

Every manifest carries a stamp. A stamp above `CURRENT` was written by a newer OmniGraph and is refused; one below `FLOOR` is too
old to be migrated and is refused, too. One in between is refused until the graph was migrated: opening never writes.

`migrate` takes every manifest of a graph through the registered steps, one after another, work first and stamp last. Whoever
dies on the way leaves manifests that are stamped and some that are not, and migrating again finishes it. A step must therefore
bear being run twice. Other processes notice by the stamp, at the latest before they publish.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

import lance

from omnigraph.errors import UnsupportedFormat
from omnigraph.storage.files.effects import Call
from omnigraph.storage.files.lance_errors import translated
from omnigraph.storage.files.place import Place
from omnigraph.storage.lance_format.file_names import version_file

STAMP_KEY: Final = "omnigraph:internal_schema_version"
"""Where the stamp stands in the metadata of a manifest."""

CURRENT: Final = 1
"""The format this code writes."""

FLOOR: Final = 1
"""The oldest format this code can still migrate."""

Step = Callable[[Place, str], None]
"""Does the work of one migration on the manifest at a location. The stamp is not its business."""

MIGRATIONS: Mapping[int, Step] = {}
"""From a format to the next."""


def check_stamp(stamp: str | None, where: str) -> int:
    """The format of a manifest that can be read as it is, or `UnsupportedFormat`."""
    found = _known(stamp, where)
    if found < CURRENT:
        raise UnsupportedFormat(
            f"{where} has format {found}; this OmniGraph writes {CURRENT}", hint="Migrate it first; nothing was changed."
        )
    return found


def _known(stamp: str | None, where: str) -> int:
    """The format of a manifest that can be read or migrated."""
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


def migrate(place: Place) -> int:
    """Bring every manifest of a graph to the present format; how many steps that took. Safe to repeat."""
    locations = sorted({"/".join(o.path.split("/")[:2]) for o in place.objects("__manifest")})
    stamps = {location: _known(_stamp_of(place, location), place.child(location)) for location in locations}
    taken = 0
    for location, stamp in stamps.items():
        for step in range(stamp, CURRENT):
            MIGRATIONS[step](place, location)
            _write_stamp(place, location, step + 1)
            taken += 1
    return taken


def _stamp_of(place: Place, location: str) -> str | None:
    with translated(f"read the manifest {location}"):
        dataset = lance.dataset(place.child(location), storage_options=dict(place.options) or None)
        stamp = (dataset.schema.metadata or {}).get(STAMP_KEY.encode())
    return None if stamp is None else stamp.decode()


def _write_stamp(place: Place, location: str, stamp: int) -> None:
    with translated(f"stamp the manifest {location}"):
        dataset = lance.dataset(place.child(location), storage_options=dict(place.options) or None)
        place.effects.run(Call.STAMP, lambda: dataset.update_schema_metadata({STAMP_KEY: str(stamp)}))
    place.sync([f"{location}/{version_file(dataset.version)}"])
