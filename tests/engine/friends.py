"""A small graph of people who know each other, and what is read of it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pytest

from omnigraph.engine.snapshot import quantized_vectors, stored
from omnigraph.storage.tables import rows as stored_rows

SCHEMA = """
node Person { name: String @key  age: I32? }
edge Knows: Person -> Person
"""
FRIENDS = "query friends() { match { $p: Person  $p knows $f } return { $p.name, $f.name, $f.age } order { $p.name, $f.name } }"


def people(*names: str) -> list[dict[str, object]]:
    return [{"name": name, "age": len(name)} for name in names]


def knows(*pairs: str) -> list[dict[str, object]]:
    return [{"id": f"e{pair}", "src": pair[0], "dst": pair[1]} for pair in pairs]


def counted_reads(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many rows each read of whole fragments was for."""
    read: list[int] = []

    def counting(table: Any, chosen: Any, columns: Any) -> pa.Table:
        read.append(sum(fragment.rows for fragment in chosen))
        return stored_rows.read_fragments(table, chosen, columns)

    def counting_scans(table: Any, chosen: Any, columns: Any) -> Iterator[pa.RecordBatch]:
        read.append(sum(fragment.rows for fragment in chosen))
        return stored_rows.scan_fragments(table, chosen, columns)

    monkeypatch.setattr(stored, "read_fragments", counting)
    monkeypatch.setattr(quantized_vectors, "scan_fragments", counting_scans)
    return read
