"""Numbering, adjacency and vectors on disk: derived state that a fresh process maps into memory instead of making it again.

    people.omni/__cache/nodes-5-7/<pin>/     about.json  ids.arrow  order.npy  numbers.npy
                       edges-9-3/<pin>/     about.json  sources.npy  targets.npy  out.starts.npy  out.neighbours.npy  …
                       nodes-5-7-text-4/<pin>/          the terms of the texts of one column
                       nodes-5-7-column-6/<pin>/        about.json  values.npy  valid.npy: the vectors of one column

Everything here may be deleted at any time, and nothing here is ever trusted to be there. A folder is written under another name
and renamed when it is complete. An edge folder names the numberings its numbers come from (`numbering` in `about.json`); it is of
use only to a process that has loaded the same ones.

Saved state of an older pin is as good: `Stored.assembled` copies what both pins share and reads the rest. So a folder is written
again only after more than a tenth of the rows changed.

A graph on S3, and one in a folder that cannot be written, keeps its cache in the user's cache folder. Writing happens in the
background; a failure never reaches a query, and is told by `g.stats()`.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import time
import uuid
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from omnigraph.engine.column import Array
from omnigraph.storage.place import Place
from omnigraph.storage.rows import Piece

VERSION = 1
LEAST_ROWS = 20_000
"""Smaller tables are read as quickly as their cache."""

_SHARED = 0.9
_KEPT = 2
_UNFINISHED = "unfinished-"
_ABANDONED = 3_600.0
"""Seconds after which a folder that is still unfinished belongs to a process that was killed."""


class Folder:
    """One saved pin."""

    def __init__(self, path: Path, about: Mapping[str, Any]) -> None:
        self.path = path
        self.pin = int(about["pin"])
        self.pieces = tuple(
            Piece(p["number"], tuple(p["files"]), p["deletions"], p["written"], p["rows"]) for p in about["pieces"]
        )
        self.numbering: Mapping[str, str] = about["numbering"]
        """Which numbering the numbers of each node table are from."""

    def array(self, name: str) -> Array | None:
        """A saved array, mapped into memory."""
        try:
            mapped = np.load(self.path / f"{name}.npy", mmap_mode="r")
            return mapped.view(np.ndarray)  # type: ignore[no-any-return]  # a plain array: `memmap` slows down every operation
        except (OSError, ValueError):
            return None

    def strings(self, name: str) -> pa.StringArray | None:
        """Saved strings, mapped into memory."""
        try:
            with pa.memory_map(str(self.path / f"{name}.arrow")) as source:
                return pa.ipc.open_file(source).read_all()[name].combine_chunks()
        except (OSError, pa.ArrowInvalid):
            return None

    def shares(self, pieces: tuple[Piece, ...]) -> float:
        """How much of some pieces is saved here."""
        known = {piece.files for piece in self.pieces}
        rows = sum(piece.rows for piece in pieces)
        return sum(piece.rows for piece in pieces if piece.files in known) / rows if rows else 1.0


def vectors_to_arrays(vectors: pa.FixedSizeListArray) -> dict[str, Array | pa.StringArray]:
    """Vectors as arrays that can be saved."""
    width = vectors.type.list_size
    values = vectors.values.slice(vectors.offset * width, len(vectors) * width)
    found: dict[str, Array | pa.StringArray] = {"values": values.to_numpy(zero_copy_only=False)}
    if vectors.null_count:
        found["valid"] = vectors.is_valid().to_numpy(zero_copy_only=False)
    return found


def arrays_to_vectors(array: Callable[[str], Array | None], type_: pa.DataType) -> pa.FixedSizeListArray | None:
    """The vectors that were saved, without a copy; None where they are not, or not of this type."""
    values, valid = array("values"), array("valid")
    if values is None or len(values) % type_.list_size or values.dtype != type_.value_type.to_pandas_dtype():
        return None
    mask = None if valid is None else pa.array(~valid)
    return pa.FixedSizeListArray.from_arrays(pa.array(values), type=type_, mask=mask)


class Saved:
    """The cache folder of a graph."""

    def __init__(self, place: Place, *, read_only: bool) -> None:
        self._root = _root(place, read_only=read_only)
        self._writer: ThreadPoolExecutor | None = None
        self._pending: dict[Path, Future[None]] = {}
        self.failures: list[str] = []
        """Why saving did not work, where it did not."""

    def folders(self, location: str) -> list[Folder]:
        """What is saved of a table, newest first."""
        home = self._home(location)
        try:
            entries = sorted((e for e in home.iterdir() if e.name.isdigit()), key=lambda e: e.stat().st_mtime, reverse=True)
        except OSError:
            return []
        found = []
        for entry in entries:
            try:
                about = json.loads((entry / "about.json").read_bytes())
                if about.get("version") == VERSION:
                    found.append(Folder(entry, about))
            except (OSError, ValueError, KeyError, TypeError):
                continue  # being written or deleted by another process, or damaged: as if it were not there
        return found

    def save(
        self,
        location: str,
        pin: int,
        pieces: tuple[Piece, ...],
        numbering: Mapping[str, str],
        arrays: Callable[[], Mapping[str, Array | pa.StringArray]],
        *,
        least: int | None = None,
    ) -> None:
        """Write a folder in the background, unless one that shares most of its rows is there already."""
        target = self._home(location) / str(pin)
        if target in self._pending or sum(p.rows for p in pieces) < (LEAST_ROWS if least is None else least):
            return
        for folder in self.folders(location):
            if dict(folder.numbering) == dict(numbering) and folder.shares(pieces) >= _SHARED:
                return
        about = {
            "version": VERSION,
            "pin": pin,
            "numbering": dict(numbering),
            "pieces": [
                {"number": p.number, "files": list(p.files), "deletions": p.deletions, "written": p.written, "rows": p.rows}
                for p in pieces
            ],
        }
        if self._writer is None:
            self._writer = ThreadPoolExecutor(1, thread_name_prefix="omnigraph-cache")
        self._pending[target] = self._writer.submit(self._write, target, about, arrays)

    def wait(self) -> None:
        """Until everything is written."""
        for future in list(self._pending.values()):
            future.result()

    def _write(self, target: Path, about: Mapping[str, Any], arrays: Callable[[], Mapping[str, Array | pa.StringArray]]) -> None:
        unfinished = target.with_name(f"{_UNFINISHED}{uuid.uuid4().hex}")
        try:
            unfinished.mkdir(parents=True)
            for name, values in arrays().items():
                if isinstance(values, np.ndarray):
                    np.save(unfinished / f"{name}.npy", values)
                else:
                    table = pa.table({name: values})
                    with pa.OSFile(str(unfinished / f"{name}.arrow"), "wb") as sink, pa.ipc.new_file(sink, table.schema) as out:
                        out.write_table(table)
            (unfinished / "about.json").write_text(json.dumps(about))
            shutil.rmtree(target, ignore_errors=True)
            unfinished.rename(target)
            self._forget_old(target.parent)
        except OSError as error:  # no space, no permission, the graph was removed: the cache is not needed for an answer
            self.failures.append(str(error))
            shutil.rmtree(unfinished, ignore_errors=True)

    def _forget_old(self, home: Path) -> None:
        entries = sorted((e for e in home.iterdir() if e.name.isdigit()), key=lambda e: e.stat().st_mtime, reverse=True)
        abandoned = (e for e in home.iterdir() if e.name.startswith(_UNFINISHED) and time.time() - e.stat().st_mtime > _ABANDONED)
        for entry in [*entries[_KEPT:], *abandoned]:
            shutil.rmtree(entry, ignore_errors=True)

    def _home(self, location: str) -> Path:
        return self._root / location.replace("/", "-")


def _root(place: Place, *, read_only: bool) -> Path:
    if place.is_local and not read_only and os.access(place.uri, os.W_OK):
        return Path(place.uri) / "__cache"
    base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return base / "omnigraph" / hashlib.sha256(place.uri.encode()).hexdigest()[:32]
