"""Vectors in eight bits per number: bounds that hold for every vector and query, by every way the processor multiplies."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import simsimd
from hypothesis import given, settings
from hypothesis import strategies as some
from hypothesis.extra import numpy as arrays

from omnigraph.engine.arrays.quantized import Quantized, joined, quantize
from omnigraph.engine.search.vectors import exact, near_quantized

WAYS = ("serial", "haswell", "skylake", "ice", "genoa", "sapphire")
"""Least first. Processors of other makers have one way each."""

Matrix = Any


@pytest.fixture(params=("serial", "haswell", "best"))
def way(request: pytest.FixtureRequest) -> Iterator[str]:
    """How products are made: as this processor can, or as one that can do less."""
    there = simsimd.get_capabilities()
    off = {"serial": WAYS[1:], "haswell": WAYS[2:], "best": ()}[request.param]
    off = tuple(name for name in off if there.get(name))
    for name in off:
        simsimd.disable_capability(name)
    yield request.param
    for name in off:
        simsimd.enable_capability(name)


def distances(vectors: Matrix, query: Matrix) -> Matrix:
    return exact(vectors, query.astype(np.float64))


def check(vectors: Matrix, query: Matrix, there: Matrix | None = None) -> None:
    """Bounds hold, and what is left has all of the nearest in it, with those that are equal to the last."""
    found = quantize(vectors, there)
    wide = query.astype(np.float64)
    below, above = found.bounds(wide)
    with np.errstate(over="ignore", invalid="ignore"):
        real = distances(vectors, query) - float(np.dot(wide, wide))
    present = np.ones(len(vectors), np.bool_) if there is None else there
    unsure = 1e-12 * (np.abs(real) + float(np.dot(wide, wide)))  # 64-bit floats are not exact either
    assert (below[present] <= real[present] + unsure[present]).all()
    assert (above[present] >= real[present] - unsure[present]).all()
    measured = np.where(present, distances(vectors, query), np.inf)
    for best in (1, 3, len(vectors)):
        last = np.sort(measured[present])[: min(best, int(present.sum()))]
        wanted = np.flatnonzero(present & (measured <= last[-1])) if len(last) else np.empty(0)
        assert set(wanted.tolist()) <= set(near_quantized(found, query, best, None).tolist())
        for among in (np.arange(0, len(vectors), 2), np.arange(0, len(vectors), 9)):
            inside = measured[among][present[among]]
            if len(inside):
                limit = np.sort(inside)[: min(best, len(inside))][-1]
                wanted = among[present[among] & (measured[among] <= limit)]
                assert set(wanted.tolist()) <= set(near_quantized(found, query, best, among).tolist())


@pytest.mark.parametrize("width", [1, 3, 64, 100, 768, 1536])
def test_bounds_hold_however_products_are_made(way: str, width: int) -> None:
    rng = np.random.default_rng(width)
    centres = rng.normal(size=(7, width))
    for scale in (1.0, 1e-6, 1e12):
        vectors = ((centres[rng.integers(0, 7, 200)] + rng.normal(size=(200, width)) / 5) * scale).astype(np.float32)
        check(vectors, (centres[3] * scale).astype(np.float32), rng.random(200) > 0.1)
        check(vectors, vectors[5])


def test_sums_at_their_largest_are_exact(way: str) -> None:
    vectors = np.ones((4, 1 << 16), np.float32)
    vectors[1] = -1
    vectors[2, ::2] = -1
    found = quantize(vectors, None)
    assert np.abs(found.codes).min() == 127
    check(vectors, vectors[0])


_NUMBERS = some.floats(width=32, allow_nan=False, allow_infinity=False) | some.sampled_from(
    [0.0, -0.0, 1.0, -1.0, 1e-45, 1e-38, 1e-30, 1e17, 1e19, 3.4e38, -3.4e38]
)


@settings(max_examples=300, deadline=None)
@given(
    arrays.arrays(np.float32, some.tuples(some.integers(1, 12), some.just(5)), elements=_NUMBERS),
    arrays.arrays(np.float32, 5, elements=_NUMBERS),
    some.booleans(),
)
def test_bounds_hold_for_any_numbers(vectors: Matrix, query: Matrix, gaps: bool) -> None:
    check(vectors, query, np.arange(len(vectors)) % 3 != 1 if gaps else None)


def test_what_is_no_number_is_left_to_be_measured() -> None:
    vectors = np.array([[1, 2], [np.nan, 1], [np.inf, 1], [5, 5], [9, 9]], np.float32)
    kept = near_quantized(quantize(vectors, None), np.array([5, 5], np.float32), 1, None)
    assert {1, 2, 3} <= set(kept.tolist())


def test_parts_are_the_whole() -> None:
    vectors = np.random.default_rng(2).normal(size=(1_000, 6)).astype(np.float32)
    whole = quantize(vectors, None)
    parts = joined([quantize(vectors[:400], None), whole.rows(slice(400, 700)), whole.rows(np.arange(700, 1_000))], 6)
    for field in Quantized.__dataclass_fields__:
        assert (getattr(whole, field) == getattr(parts, field)).all()
    assert len(joined([], 6)) == 0


def test_few_are_left() -> None:
    rng = np.random.default_rng(3)
    vectors = rng.normal(size=(20_000, 256)).astype(np.float32)
    assert len(near_quantized(quantize(vectors, None), rng.normal(size=256).astype(np.float32), 10, None)) < 200


def test_no_vectors_have_no_best() -> None:
    nothing = quantize(np.zeros((0, 4), np.float32), None)
    assert nothing.short_list(np.ones(4), 3).tolist() == []
    some = quantize(np.ones((5, 4), np.float32), None)
    assert some.short_list(np.ones(4), 3, np.array([], np.int64)).tolist() == []
