"""Tables with lists of unsigned numbers can be filtered; and Lance alone still cannot."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

import omnigraph as og
from omnigraph.storage.lance_mends import lances_answer


@pytest.mark.parametrize("type_", ["U32", "U64"])
def test_a_type_with_a_list_of_unsigned_numbers_is_found_by_id_and_by_value(tmp_path: Path, type_: str) -> None:
    schema = f"node Thing {{ name: String @key  size: I32? @index  counts: [{type_}]? }}"
    with og.init(tmp_path / "g", schema=schema, durability="os") as graph:
        for size in (1, 2):
            graph.load([{"type": "Thing", "data": {"name": "a", "size": size, "counts": [7, 8]}}])
        found = graph.query("query q() { match { $t: Thing { size: 2 } } return { $t.name, $t.counts } }")
        assert found.rows == [{"t.name": "a", "t.counts": [7, 8]}]


def test_lance_still_needs_the_mend() -> None:
    assert not lances_answer(pa.list_(pa.uint64()))
    assert lances_answer(pa.list_(pa.float32(), 3))
