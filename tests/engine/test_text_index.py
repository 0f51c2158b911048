"""Texts are found where they stand, by a table of hashes: all of them, none that is not there, and alike ones too."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from omnigraph.engine.arrays.hashing import hash_of, hashes
from omnigraph.engine.arrays.numbering import Numbering
from omnigraph.engine.arrays.text_index import TextIndex, TooAlike

texts = st.one_of(st.text(max_size=6), st.text(min_size=25, max_size=90), st.sampled_from("abc"))


@given(st.lists(texts, unique=True, max_size=200), st.lists(st.none() | texts, max_size=200))
def test_every_text_is_found_where_it_stands(known: list[str], others: list[str | None]) -> None:
    index = TextIndex(pa.array(known, pa.string()))
    asked = [*others, *known]
    place = {text: at for at, text in enumerate(known)}
    assert index.find(pa.array(asked, pa.string())).tolist() == [place.get(text, -1) for text in asked]  # type: ignore[arg-type]
    for text in asked:
        if text is not None:
            assert index.place(text) == place.get(text, -1)


@given(texts)
def test_one_text_has_the_hash_it_has_among_many(text: str) -> None:
    assert hash_of(text.encode()) == int(hashes(pa.array([text], pa.string()))[0])


@pytest.mark.parametrize("size", [0, 1, 7, 8, 9, 31, 32, 33, 39, 40, 41, 64, 65, 200])
def test_hashes_agree_at_every_length(size: int) -> None:
    text = "".join(chr(97 + n % 26) for n in range(size))
    assert hash_of(text.encode()) == int(hashes(pa.array([text], pa.string()))[0])


def _alike(count: int) -> list[str]:
    """Texts whose hashes are one: they differ in the middle only."""
    return [f"{'x' * 40}{n:06d}{'y' * 40}" for n in range(count)]


def test_texts_with_one_hash_are_told_apart() -> None:
    known = _alike(100)
    assert len(set(hashes(pa.array(known)).tolist())) == 1
    assert TextIndex(pa.array(known[:50])).find(pa.array(known)).tolist() == [*range(50), *[-1] * 50]


def test_too_many_of_them_make_no_table() -> None:
    with pytest.raises(TooAlike):
        TextIndex(pa.array(_alike(2_000)))


def test_a_numbering_of_such_ids_is_the_same() -> None:
    numbering, known = Numbering(), _alike(2_000)
    assert numbering.intern(pa.array(known)).tolist() == [*range(2_000)]
    assert numbering.number(known[1_234]) == 1_234
    assert numbering.number("nobody") == -1
    assert numbering.find(pa.array([*known[::-1], "nobody"])).tolist() == [*range(1_999, -1, -1), -1]


@given(st.lists(st.lists(texts, max_size=150), max_size=6))
def test_numbers_are_given_in_order_of_appearance(batches: list[list[str]]) -> None:
    numbering = Numbering()
    expected: dict[str, int] = {}
    for batch in batches:
        for text in batch:
            expected.setdefault(text, len(expected))
        assert numbering.intern(pa.array(batch, pa.string())).tolist() == [expected[text] for text in batch]
    asked = [*expected, "…not there…"]
    assert numbering.find(pa.array(asked, pa.string())).tolist() == [expected.get(text, -1) for text in asked]
    assert np.array_equal(numbering.find(pa.array(asked * 3, pa.string())), np.array([expected.get(t, -1) for t in asked * 3]))
