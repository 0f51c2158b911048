"""Descriptions of fragments: Lance's own, with one expensive property replaced.

Reading the `path` of Lance's `DataFile` defines a new class each time it is asked, and a commit asks for every file it adds.
Files described here have a plain `path`; of others `names_of` gives it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import replace
from operator import attrgetter

from lance.fragment import DataFile, FragmentMetadata


class PlainDataFile(DataFile):
    """A data file with a plain path."""

    path = property(attrgetter("_path"))


def names_of(files: Iterable[DataFile]) -> Iterator[str]:
    """Names of data files, whoever described them."""
    return (file._path for file in files)


def plain(fragments: Iterable[FragmentMetadata]) -> tuple[FragmentMetadata, ...]:
    """Fragments whose files have a plain path."""
    return tuple(replace(fragment, files=[_plain(file) for file in fragment.files]) for fragment in fragments)


def from_texts(texts: Iterable[str]) -> tuple[FragmentMetadata, ...]:
    """Fragments that were described as JSON."""
    return plain(FragmentMetadata.from_json(text) for text in texts)


def to_texts(fragments: Iterable[object]) -> tuple[str, ...]:
    """Fragments as JSON, from their descriptions or from what Lance's tasks say."""
    return tuple(json.dumps(f.to_json() if isinstance(f, FragmentMetadata) else f) for f in fragments)


def _plain(file: DataFile) -> DataFile:
    return PlainDataFile(
        file._path,
        file.fields,
        file.column_indices,
        file.file_major_version,
        file.file_minor_version,
        file.file_size_bytes,
        file.base_id,
    )
