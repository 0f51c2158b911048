"""How changes are told to people."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from omnigraph.engine.history.changes import shown


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (float(np.float32(0.85)), "0.85"),
        (0.85, "0.85"),
        (36.0, "36.0"),
        (float(np.float32(1 / 3)), "0.33333334"),
        (1 / 3, "0.3333333333333333"),
        (1e300, "1e+300"),
        (math.inf, "inf"),
        (math.nan, "nan"),
    ],
)
def test_numbers_as_somebody_would_write_them(value: float, text: str) -> None:
    assert shown(value) == text


@given(st.floats(width=32, allow_nan=False))
def test_no_digit_is_missing(value: float) -> None:
    assert np.float32(shown(value)) == np.float32(value)
