"""How Lance names the files of a dataset. Guard tests hold this Lance to it.

_versions/d13849….manifest                 a detached version
_versions/18446744073709551613.manifest    an attached one, counted down, so that the newest is listed first
_deletions/4-138…-77….arrow                deletion marks: fragment, version they were made on, a random number
"""

from __future__ import annotations

from typing import Final

from lance.fragment import FragmentMetadata

from omnigraph.storage.files.dataset_folders import DELETIONS, VERSIONS

DETACHED: Final = 1 << 63
"""The bit that versions on nobody's lineage have."""
_TOP: Final = (1 << 64) - 1


def version_file(version: int) -> str:
    """The name of a version below its dataset."""
    return f"{VERSIONS}/d{version}.manifest" if version >= DETACHED else f"{VERSIONS}/{_TOP - version:020d}.manifest"


def attached_version(name: str) -> int | None:
    """The version a file of `_versions` holds, if it is one on the dataset's own lineage."""
    stem, _, suffix = name.rpartition(".")
    return _TOP - int(stem) if suffix == "manifest" and stem.isdigit() else None


def deletion_file(fragment: FragmentMetadata) -> str:
    """The name of a fragment's deletion file below its dataset."""
    assert fragment.deletion_file is not None
    marks = fragment.deletion_file.asdict()
    suffix = "arrow" if marks["file_type"] == "array" else "bin"
    return f"{DELETIONS}/{fragment.id}-{marks['read_version']}-{marks['id']}.{suffix}"
