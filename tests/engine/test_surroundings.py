"""When the disk, the folder or the limits of the process fail: typed errors that say truly whether trying again helps."""

from __future__ import annotations

import errno
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import omnigraph as og
from omnigraph.storage.files.lance_errors import in_our_words
from omnigraph.storage.tables.table import Table

SCHEMA = "node P { k: String @key  t: String? }"
ALL = "query all() { match { $p: P } return { $p.k } }"
ADD = "query add($k: String) { insert P { k: $k } }"


@pytest.mark.parametrize(
    ("number", "retryable"),
    [
        (errno.ENOSPC, False),
        (errno.EDQUOT, False),
        (errno.EFBIG, False),
        (errno.EACCES, False),
        (errno.EPERM, False),
        (errno.EROFS, False),
        (errno.ENOTDIR, False),
        (errno.EISDIR, False),
        (errno.ENAMETOOLONG, False),
        (errno.EMFILE, True),
        (errno.EIO, True),
    ],
    ids=lambda v: errno.errorcode.get(v, str(v)) if isinstance(v, int) and not isinstance(v, bool) else str(v),
)
def test_what_a_disk_says(number: int, retryable: bool) -> None:
    told = in_our_words("write a file", OSError(number, os.strerror(number)))
    assert isinstance(told, og.StorageError)
    assert told.retryable is retryable
    assert told.to_dict()["retryable"] is retryable


def test_places_that_hold_no_graph(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    (tmp_path / "empty").mkdir()
    for path in ("missing", "empty", "file", "file/below"):
        with pytest.raises(og.GraphError):
            og.open(tmp_path / path)
    for path in ("file", "file/below"):
        with pytest.raises(og.UsageError, match="is a file"):
            og.init(tmp_path / path, SCHEMA)
    with pytest.raises(og.NotFound):
        og.init(tmp_path / "g", tmp_path / "missing.pg")


@pytest.mark.parametrize(
    "call",
    [
        lambda g: g.query(ALL),
        lambda g: g.mutate(ADD, {"k": "b"}),
        lambda g: g.load([{"type": "P", "data": {"k": "c"}}]),
        lambda g: g.branches.create("b"),
        lambda g: g.branches.list(),
        lambda g: g.tags.list(),
        lambda g: g.commits(),
        lambda g: g.verify(),
        lambda g: g.optimize(),
        lambda g: g.cleanup(),
        lambda g: g.export(Path("/nonexistent/folder/out.jsonl")),
    ],
)
def test_a_folder_that_goes_away(tmp_path: Path, call: Callable[[og.Graph], object]) -> None:
    graph = og.init(tmp_path / "g", SCHEMA, durability="os")
    graph.mutate(ADD, {"k": "a"})
    shutil.rmtree(tmp_path / "g")
    told: Exception | None = None
    try:
        call(graph)
    except (og.GraphError, TypeError) as error:
        told = error
    assert not isinstance(told, og.UnexpectedError | TypeError), told


FULL = f"""
import resource, signal, sys
import omnigraph as og
graph = og.open(sys.argv[1])
graph.query({ALL!r})
before = graph.commits()[0].id
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000))
try:
    graph.load([{{"type": "P", "data": {{"k": str(i), "t": "%030x" % (i * 7919 ** 7)}}}} for i in range(60_000)])
except og.StorageError as error:
    assert not error.retryable, error
    assert og.open(sys.argv[1]).commits()[0].id == before
    print("told:", error)
"""


def test_a_disk_that_is_full(tmp_path: Path) -> None:
    og.init(tmp_path / "g", SCHEMA, durability="os").mutate(ADD, {"k": "a"})
    done = subprocess.run(
        [sys.executable, "-c", FULL, str(tmp_path / "g")], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert "told: cannot" in done.stdout
    graph = og.open(tmp_path / "g")
    assert [r["p.k"] for r in graph.query(ALL)] == ["a"]
    assert graph.verify(deep=True).ok


def test_files_that_go_between_writing_and_their_checksums(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    graph = og.init(tmp_path / "g", SCHEMA, durability="os")
    files = Table.data_files

    def gone(self: Table, fragments: Any) -> tuple[str, ...]:
        found = files(self, fragments)
        for path in found:
            os.unlink(self.place.child(path))
        return found

    before = graph.commits()
    with monkeypatch.context() as m:
        m.setattr(Table, "data_files", gone)
        with pytest.raises(og.StalledWrite) as told:
            graph.load([{"type": "P", "data": {"k": str(i)}} for i in range(5000)])
    assert told.value.retryable
    assert graph.commits() == before
    graph.load([{"type": "P", "data": {"k": str(i)}} for i in range(5000)])
    assert len(graph.query(ALL)) == 5000
