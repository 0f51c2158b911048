"""Text analysis: one text, whole columns, and how words are alike."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import lance
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from lance.query import MatchQuery
from tests.engine import reference_search as reference

from omnigraph.engine.schema.indexes import _TEXT_OPTIONS
from omnigraph.engine.search.analyzer import STOP_WORDS, analysed, folded, terms
from omnigraph.engine.search.edits import Lexicon

LETTERS = "abeinrsxyAZ09 .,'_-—\u00a0éßøİ日本ि\n"
TEXTS = st.one_of(st.text(max_size=30), st.text(LETTERS, max_size=60), st.sampled_from(["", "The", "x" * 40, "y" * 41 + " z"]))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Running runs RUN", ["run", "run", "run"]),
        ("foo_bar-baz.qux", ["foo", "bar", "baz", "qux"]),
        ("don't", []),
        ("to the and", []),
        ("Through it all", []),
        ("x" * 40 + " " + "y" * 41, ["x" * 40]),
        ("é" * 40 + " " + "é" * 41, ["e" * 40]),
        ("Café über NAÏVE Ærø", ["cafe", "uber", "naiv", "aero"]),
        ("Straße", ["strasse"]),
        ("word—word\u00a0other", ["word", "word"]),
        ("日本語 テスト", ["日本語", "テスト"]),
        ("яблоко", ["яблоко"]),
        ("a1b2 42", ["a1b2", "42"]),
        ("underlying owns", ["under", "own"]),
        ("", []),
        ("… !?", []),
    ],
)
def test_terms_of_a_text(text: str, expected: list[str]) -> None:
    assert terms(text) == expected


def test_the_stop_words_of_the_specification_are_among_ours() -> None:
    assert reference.STOP_WORDS <= STOP_WORDS


@given(st.lists(st.none() | TEXTS, max_size=12), st.integers(0, 3))
def test_a_column_is_analysed_as_its_texts_are(texts: list[str | None], start: int) -> None:
    column = pa.array(texts, pa.string()).slice(start)
    found = analysed(column)
    spelt = {code: term for term, code in found.terms.items()}
    given_terms = [
        [spelt[code] for code in found.tokens[found.starts[row] : found.starts[row + 1]].tolist()] for row in range(len(column))
    ]
    assert given_terms == [[] if text is None else terms(text) for text in texts[start:]]
    assert sorted(spelt) == list(range(len(spelt)))


@given(st.text(max_size=20))
def test_folding_twice_is_folding_once(word: str) -> None:
    assert folded(folded(word)) == folded(word)


@given(st.lists(st.text("abcé", max_size=7), max_size=20), st.text("abcé", max_size=7), st.integers(0, 5))
def test_words_are_as_near_as_their_edit_distance(words: list[str], word: str, edits: int) -> None:
    expected = [place for place, other in enumerate(words) if reference.edit_distance(word, other) <= edits]
    assert Lexicon(words).near(word, edits).tolist() == expected


def test_an_index_of_lance_loses_nothing_that_we_would_find(tmp_path: Path) -> None:
    """If its stems, folding or cuts differed from ours, a full-text index of a table could not even propose rows."""
    source = Path(reference.__file__).parent
    words = sorted({w for p in source.glob("*.py") for w in p.read_text().replace("_", " ").split() if w.isalpha()})
    words += [
        "Café",
        "naïve",
        "Ærø",
        "Straße",
        "foo_bar",
        "x" * 40,
        "skies",
        "dying",
        "generously",
        "underlying",
        "mostly",
        "not",
    ]
    rows = lance.write_dataset(pa.table({"text": words}), str(tmp_path / "words"))
    options: dict[str, Any] = dict(_TEXT_OPTIONS)
    rows.create_scalar_index("text", "INVERTED", **options)
    ours: dict[str, set[str]] = {}
    for word in words:
        for term in terms(word):
            ours.setdefault(term, set()).add(word)
    lost = {}
    for word in words:
        wanted = {other for term in terms(word) for other in ours[term]}
        found = rows.scanner(columns=["text", "_score"], full_text_query=MatchQuery(word, "text")).to_table()["text"].to_pylist()
        if wanted - set(found):
            lost[word] = wanted - set(found)
    assert lost == {}
