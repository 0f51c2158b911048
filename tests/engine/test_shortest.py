"""F32 as the double that is written with the fewest digits: many at once as one by one."""

from __future__ import annotations

import numpy as np
import pytest

from omnigraph.engine.arrays.plain_values import shortest

BITS = np.random.default_rng(7)
TENS = np.array(
    [float(f"{sign}{digit}e{power}") for sign in "+-" for digit in (1, 5, 9.99) for power in range(-45, 38)], np.float32
)
ODD = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1e-45, 1.1754944e-38, 3.4028235e38, 16777216, 0.1, 9.5367432e-07], np.float32)
VALUES = {
    "any": BITS.integers(0, 2**32, 30_000, dtype=np.uint32).view(np.float32),
    "components": BITS.standard_normal(20_000).astype(np.float32),
    "decimals": np.round(BITS.uniform(-1000, 1000, 20_000), 3).astype(np.float32),
    "powers of ten and their neighbours": np.concatenate([np.nextafter(TENS, np.float32(0)), TENS, np.nextafter(TENS, np.float32(9e37))]),
    "odd ones": np.tile(ODD, 8),
}  # fmt: skip


@pytest.mark.parametrize("kind", VALUES)
def test_many_at_once_as_one_by_one(kind: str) -> None:
    values = VALUES[kind]
    expected = np.array([float(str(value)) for value in values])
    found = shortest(values)
    assert np.array_equal(found, expected, equal_nan=True)
    there = ~np.isnan(values)
    assert np.array_equal(np.signbit(found[there]), np.signbit(expected[there]))
    assert np.array_equal(found.astype(np.float32), values, equal_nan=True)
    assert np.array_equal(shortest(values[:5]), expected[:5], equal_nan=True)
    assert shortest(values[:0]).dtype == np.float64
