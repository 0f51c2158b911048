"""The newest version of a manifest ever written, as noted by Lance, and the error if that version is missing.

Lance links a version to its name and then writes the number of it beside it, into `_versions/latest_version_hint.json`. So a
process that dies in between leaves a hint that is behind, and never one that is ahead. The same holds after a power failure where
a disk keeps the order in which names of one folder changed, as every file system with a journal does. The hint itself is never
synced. Where nothing keeps that order, a version that nobody was told of may be missing below a hint: removing the hint is the
way on, and the error says so.
"""

from __future__ import annotations

import re
from typing import Final

from omnigraph.errors import DamagedRecord, NotFound
from omnigraph.storage.files.dataset_folders import VERSIONS
from omnigraph.storage.files.place import Place
from omnigraph.storage.lance_format.file_names import version_file

HINT: Final = f"{VERSIONS}/latest_version_hint.json"

_VERSION: Final = re.compile(rb'"version":\s*(\d{1,18})\b')


def hinted_version(place: Place, location: str) -> int:
    """The newest version of a dataset that was ever written, as far as Lance has noted; 0: it has not."""
    try:
        found = _VERSION.search(place.get(f"{location}/{HINT}"))
    except NotFound:  # without the hint of Lance there is nothing to compare with
        return 0
    return 0 if found is None else int(found[1])


def lost_version(place: Place, location: str, newest: int, found: int) -> DamagedRecord:
    """What is said of a version that was written and is missing."""
    return DamagedRecord(
        f"the newest version of the manifest {location} is lost: {location}/{version_file(newest)} was written, and the newest "
        f"that is there is version {found} of {newest}. Commits would be missing",
        hint=f"Restore the file from a copy. To go on without these commits, remove {place.child(f'{location}/{HINT}')}.",
    )


def other_version(place: Place, location: str, version: int, found: int) -> DamagedRecord:
    """What is said of a file that holds another version than its name says."""
    file = f"{location}/{version_file(version)}"
    return DamagedRecord(
        f"{file} is damaged: it holds version {found} of the manifest, and not version {version}. Commits would be missing",
        hint=f"Restore {place.child(file)} from a copy.",
    )
