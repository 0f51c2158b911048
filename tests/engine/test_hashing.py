"""Hashes of texts: equal texts have equal hashes wherever they stand, and nothing that repeats is taken for different."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from omnigraph.engine.arrays.hashing import all_differ, hashes, none_occurs_more_often

short = st.text(max_size=6)
texts = st.one_of(short, st.text(min_size=25, max_size=90), st.builds(lambda a, b: "x" * 40 + a + "y" * 40 + b, short, short))


@given(st.lists(texts, max_size=40), st.lists(texts, max_size=40), st.integers(0, 5))
def test_the_hash_of_a_text_depends_on_nothing_else(before: list[str], asked: list[str], skipped: int) -> None:
    alone = [hashes(pa.array([text], pa.string()))[0] for text in asked]
    among = hashes(pa.array([*before, *asked], pa.string()))[len(before) :]
    assert among.tolist() == alone
    sliced = pa.array([*("…" * skipped), *asked], pa.string())[skipped:]
    assert hashes(sliced).tolist() == alone
    assert hashes(pa.array(asked, pa.large_string())).tolist() == alone


@given(st.lists(texts, max_size=40))
def test_texts_that_repeat_never_count_as_different(several: list[str]) -> None:
    column = pa.array(several, pa.string())
    if all_differ(column):
        assert len(set(several)) == len(several)


@given(st.lists(st.sampled_from("abcdef"), max_size=12), st.integers(1, 4))
def test_nothing_occurs_more_often_than_said(several: list[str], times: int) -> None:
    most = max((several.count(text) for text in several), default=0)
    assert none_occurs_more_often(pa.array(several, pa.string()), times) == (most <= times)


def test_texts_of_many_kinds_are_seen_to_differ() -> None:
    """What a load asks about: none of these sends it the long way round."""
    numbers = range(200_000)
    for made in ("{}", "reading{}", "https://example.org/a/rather/long/path/{}/with/more/after/it", "{:026d}", "a" * 70 + "{}"):
        assert all_differ(pa.array([made.format(n) for n in numbers]))


def test_buckets_are_about_equal() -> None:
    found = np.bincount((hashes(pa.array([f"n{n}" for n in range(100_000)])) % np.uint64(7)).astype(np.int64), minlength=7)
    assert found.min() > 0.9 * found.max()
