"""Why references to external Blobs are cells of ours and not Lance's (docs/decisions/0010-references-are-cells.md)."""

from __future__ import annotations

from pathlib import Path

import lance
import pyarrow as pa
import pytest
from lance.blob import blob_array, blob_field


def test_lance_follows_its_references_when_bytes_are_asked_for(tmp_path: Path) -> None:
    """If it stopped doing so, its references could be kept in complete rows, and the decision be taken again."""
    file = tmp_path / "a.png"
    file.write_bytes(b"there")
    schema = pa.schema([pa.field("id", pa.string()), blob_field("content")])
    rows = pa.table({"id": ["bytes", "reference"], "content": blob_array([b"here", file.as_uri()])}, schema=schema)
    dataset = lance.write_dataset(rows, str(tmp_path / "d"), data_storage_version="2.2", allow_external_blob_outside_bases=True)
    assert dataset.scanner(blob_handling="all_binary").to_table()["content"].to_pylist() == [b"here", b"there"]
    file.unlink()
    with pytest.raises(pa.ArrowInvalid, match="Not found"):
        dataset.scanner(blob_handling="all_binary").to_table()
