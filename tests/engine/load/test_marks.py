"""A mark at the beginning of a text, as some editors write it, is no part of it; in the middle it is."""

from __future__ import annotations

import gzip
import io
from pathlib import Path
from typing import Literal
from unittest.mock import patch

import pytest
from tests.engine.load.loading import EVERYTHING, counts, graph, refused

from omnigraph.engine.load.read.parallel import chunks as chunks

BOM = b"\xef\xbb\xbf"
LINES = [b'{"type": "Plain", "data": {"id": "p%d", "note": "x"}}\n' % n for n in range(40)]


@pytest.mark.parametrize("dialect", ["strict", "compatible"])
def test_lines(tmp_path: Path, dialect: Literal["strict", "compatible"]) -> None:
    g = graph(tmp_path, EVERYTHING)
    (tmp_path / "a.jsonl").write_bytes(BOM + LINES[0])
    (tmp_path / "b.jsonl.gz").write_bytes(gzip.compress(BOM + LINES[1]))
    (tmp_path / "c.jsonl").write_bytes(BOM)
    g.load([tmp_path / name for name in ("a.jsonl", "b.jsonl.gz", "c.jsonl")], dialect=dialect)
    g.load(io.BytesIO(BOM + LINES[2]), dialect=dialect)
    g.load(io.StringIO("\ufeff" + LINES[3].decode()), dialect=dialect)
    assert counts(g) == {"Plain": 4}


def test_cells(tmp_path: Path) -> None:
    g = graph(tmp_path, EVERYTHING)
    (tmp_path / "Counted.csv").write_bytes(BOM + b"number\r\n1\r\n2\r\n")
    (tmp_path / "Pair.tsv.gz").write_bytes(gzip.compress(BOM + b"number\ttenant\n1\tx\n"))
    g.load([tmp_path / "Counted.csv", tmp_path / "Pair.tsv.gz"])
    assert counts(g) == {"Counted": 2, "Pair": 1}
    (tmp_path / "Counted.csv").write_bytes(BOM + b"number\n1\nx\n")
    assert [(v.rule, v.line) for v in refused(g, tmp_path / "Counted.csv")] == [("type", 3)]


@pytest.mark.parametrize("size", [2, 60, 100, 1000])
def test_however_a_file_is_cut(tmp_path: Path, size: int) -> None:
    """Only at the beginning of the file: a part of it that happens to begin with a mark is a line that is no JSON."""
    (tmp_path / "a.jsonl").write_bytes(BOM + b"".join(LINES))
    (tmp_path / "b.jsonl").write_bytes(b"".join(LINES[:20]) + BOM + b"".join(LINES[20:]))
    with patch.object(chunks, "LEAST_CUT", size):
        g = graph(tmp_path, EVERYTHING)
        assert g.load(tmp_path / "a.jsonl", quarantine=tmp_path / "bad").quarantined == 0
        assert counts(g) == {"Plain": 40}
        assert g.load(tmp_path / "b.jsonl", quarantine=tmp_path / "bad").quarantined == 1
