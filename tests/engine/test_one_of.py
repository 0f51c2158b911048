"""Whether values are in a set: texts are compared as columns, and as Python would."""

from __future__ import annotations

import pyarrow as pa
import pytest

from omnigraph.engine.arrays.column import Vec
from omnigraph.engine.execution.compare import one_of

TEXTS = ["a", None, "", "é", "a\nb", "A", "a"]


@pytest.mark.parametrize("known", [set(), {"a"}, {"é", ""}, {"a\nb", "a"}, {"\ud800", "a"}, {None, "a"}, {7, "a"}])
def test_texts(known: set[object]) -> None:
    expected = [item is not None and item in known for item in TEXTS]
    assert one_of(Vec.of(pa.array(TEXTS, pa.string())), known).tolist() == expected
