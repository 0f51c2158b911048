"""Quotes of CSV files: a file whose quotes are not where they should be is refused, with lines; no value is glued, no row swallowed."""

from __future__ import annotations

import bz2
import csv
import gzip
import io
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tests.engine.load.loading import graph, refused

import omnigraph as og
from omnigraph.engine.load.read.delimited import quoting
from omnigraph.engine.load.read.delimited.quoting import Misquoted, Quotes

SCHEMA = "node P { k: String @key  v: String? }"


def loaded(g: og.Graph) -> dict[str, str | None]:
    rows = g.query("query q() { match { $p: P } return { $p.k as k, $p.v as v } }").rows
    return {row["k"]: row["v"] for row in rows}


def test_text_after_a_closing_quote_and_quotes_that_are_never_closed(tmp_path: Path) -> None:
    g, file = graph(tmp_path, SCHEMA), tmp_path / "P.csv"
    file.write_text('k,v\na,"O\\"Neil"\nb,"x" y\nc,"""right"""\nd,"abc\ne,x\n')
    found = refused(g, file)
    assert [(v.rule, v.file, v.line) for v in found] == [("quoting", str(file), line) for line in (2, 3, 5)]
    assert 'written twice (""), not as \\"' in found[0].message
    assert "` y`" in found[1].message
    assert "never closed" in found[2].message
    with pytest.raises(og.ValidationError, match=r"P\.csv:2: after a closing quote"):
        g.load(file)
    assert loaded(g) == {}


def test_the_rest_of_a_large_file_is_not_swallowed(tmp_path: Path) -> None:
    """Arrow's reader gives up on a cell of many megabytes, for a reason that says nothing."""
    g, file = graph(tmp_path, SCHEMA), tmp_path / "P.csv"
    file.write_text('k,v\r\nx,"abc\r\n' + "".join(f"{n},{n}\r\n" for n in range(1_000_000)))
    assert [(v.rule, v.line) for v in refused(g, file)] == [("quoting", 2)]


@pytest.mark.parametrize("text", ['k,v\na,q"q\nb,5"\nc, "s"\n', 'k,v\na,"q""q"\nb,""\n', '\ufeff"k","v"\n"a",""""\n'])
def test_quotes_where_they_may_be(tmp_path: Path, text: str) -> None:
    g, file = graph(tmp_path, SCHEMA), tmp_path / "P.csv"
    file.write_text(text)
    g.load(file)
    assert loaded(g) == dict(list(csv.reader(io.StringIO(text, newline="")))[1:])


@pytest.mark.parametrize("name", ["P.tsv", "P.csv.gz", "P.csv.bz2"])
def test_every_way_to_text(tmp_path: Path, name: str) -> None:
    text = b'k,v\na,"x" y\n'.replace(b",", b"\t" if name == "P.tsv" else b",")
    packed = {"gz": gzip.compress(text), "bz2": bz2.compress(text), "tsv": text}
    (tmp_path / name).write_bytes(packed[name.rpartition(".")[2]])
    assert [(v.rule, v.line) for v in refused(graph(tmp_path, SCHEMA), tmp_path / name)] == [("quoting", 2)]


def test_nothing_of_such_a_file_is_loaded_beside_a_quarantine(tmp_path: Path) -> None:
    """Where rows begin and end is not known, so none of them can be left out alone."""
    g, file = graph(tmp_path, SCHEMA), tmp_path / "P.csv"
    file.write_text('k,v\nz,z\na,"x" y\n')
    with pytest.raises(og.ValidationError, match=r"P\.csv:3"):
        g.load(file, quarantine=tmp_path / "bad")
    assert loaded(g) == {}


# ── every text ───────────────────────────────────────────────────────────────────────────────────────────────────────────────


def pieces(data: bytes, rng: Random) -> Iterator[bytes]:
    at = 0
    while at < len(data):
        size = rng.choice((1, 1, 2, 5, 30))
        yield data[at : at + size]
        at += size


def looked_at(data: bytes, rng: Random) -> list[quoting.Misplaced]:
    quotes = Quotes(",")
    for piece in pieces(data, rng):
        quotes.look(piece)
    quotes.end()
    return quotes.misplaced


def is_strict(text: str) -> bool:
    """Whether Python's own strict reader takes a text."""
    try:
        list(csv.reader(io.StringIO(text, newline=""), strict=True))
    except csv.Error:
        return False
    return True


@given(st.text('"",,\n\r a\\', max_size=40), st.randoms(use_true_random=False))
@example('a,"x""\n"', Random(1))
@example('"a"\n""b"', Random(1))
def test_what_is_refused_is_what_a_strict_reader_refuses(text: str, rng: Random) -> None:
    found = looked_at(text.encode(), rng)
    assert bool(found) == (not is_strict(text))
    assert [m.at for m in found] == [m.at for m in looked_at(text.encode(), Random(0))] == [m.at for m in whole(text)]


def whole(text: str) -> list[quoting.Misplaced]:
    """Without any pieces, and gone through cell by cell."""
    quotes = Quotes(",")
    quotes._at_a_glance = lambda data, start: False  # type: ignore[method-assign]
    if text:
        quotes.look(text.encode())
    quotes.end()
    return quotes.misplaced


@given(st.lists(st.sampled_from(['a,"x"y', "b,c", 'd,"e\nf"', "", 'g,"h\r\ni"', "é,ü"])), st.sampled_from(["\n", "\r\n", "\r"]))
def test_lines_are_those_that_an_editor_shows(lines: list[str], end: str) -> None:
    text = end.join(lines)
    expected = [n for n, line in enumerate(io.StringIO(text, newline=None), 1) if '"x"y' in line]
    misplaced = looked_at(text.encode(), Random(2))
    assert (
        [line for line, _ in Misquoted.of(misplaced, io.BytesIO(text.encode())).places] == expected if misplaced else not expected
    )
