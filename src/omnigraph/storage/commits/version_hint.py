"""The newest version of a manifest ever written, as it is noted down, and the error if that version is missing.

A version is linked to its name and synced, and then the number of it is noted down beside it, in
`_versions/latest_version_hint.json`, by Lance or, for versions that are made here, as Lance does it. So whoever dies in between
leaves a hint that is behind, and never one that is ahead: not even a power failure does, where commits are synced. It is written
over in its place: to rename another file to its name takes a disk a millisecond, because file systems then write that file first.
Whoever reads it in the middle may see digits of two numbers, so one that is ahead of what is there is read again before anybody
believes it. The hint itself is never synced. Where commits are not, a version that nobody was told of may be missing below a hint
after a power failure: removing the hint is the way on, and the error says so.
"""

from __future__ import annotations

import os
import re
import stat
from typing import Final

from omnigraph.errors import DamagedRecord, NotFound
from omnigraph.storage.files.dataset_folders import VERSIONS
from omnigraph.storage.files.place import Place
from omnigraph.storage.lance_format.file_names import version_file

HINT: Final = f"{VERSIONS}/latest_version_hint.json"

_WRITTEN_OVER: Final = os.O_WRONLY | sum(getattr(os, name, 0) for name in ("O_NOFOLLOW", "O_CLOEXEC", "O_NONBLOCK"))
_VERSION: Final = re.compile(rb'"version":\s*(\d{1,18})\b')


def hinted_version(place: Place, location: str) -> int:
    """The newest version of a dataset that was ever written, as far as Lance has noted; 0: it has not."""
    try:
        found = _VERSION.search(place.get(f"{location}/{HINT}"))
    except NotFound:  # without the hint of Lance there is nothing to compare with
        return 0
    return 0 if found is None else int(found[1])


def noted(number: int) -> bytes:
    """What is noted down."""
    return b'{"version":%d}' % number


def note_version(folder: str, number: int) -> bool:
    """Note down, as Lance does, that a version of a dataset on a disk was written; whether that could be done in its place.

    A file that has a second name, as in a copy made of links, is not written over: the copy is another graph.
    """
    said = noted(number)
    try:
        hint = os.open(f"{folder}/{HINT}", _WRITTEN_OVER)
    except OSError:  # there is none yet, or something else stands there
        return False
    try:
        about = os.fstat(hint)
        if about.st_nlink != 1 or not stat.S_ISREG(about.st_mode):
            return False
        os.write(hint, said)
        if about.st_size > len(said):
            os.ftruncate(hint, len(said))
    except OSError:  # whoever asked for it puts a file in its place
        return False
    finally:
        os.close(hint)
    return True


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
