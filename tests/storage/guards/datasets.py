"""Raw Lance, as the guard tests use it: without a line of ours in between."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import lance
import pyarrow as pa
from lance import LanceDataset
from lance import LanceOperation as Op
from lance.dataset import Index
from lance.fragment import FragmentMetadata, write_fragments
from lance.query import MatchQuery
from lance.schema import LanceSchema

SCHEMA = pa.schema(
    [
        pa.field("id", pa.string(), nullable=False),
        pa.field("n", pa.int64()),
        pa.field("text", pa.string()),
        pa.field("vec", pa.list_(pa.float32(), 4)),
    ]
)
TOP_BIT = 1 << 63


def create(folder: Path, *, stable_row_ids: bool = False) -> LanceDataset:
    """An empty table."""
    return lance.write_dataset(
        SCHEMA.empty_table(), str(folder / "table"), data_storage_version="2.2", enable_stable_row_ids=stable_row_ids
    )


def rows(*numbers: int, text: str = "hello") -> pa.Table:
    """Rows k<number> on a line, at 1, 2, 3, …"""
    columns = {
        "id": [f"k{n}" for n in numbers],
        "n": list(numbers),
        "text": [f"{text} w{n}" for n in numbers],
        "vec": [[float(n), 0.0, 0.0, 0.0] for n in numbers],
    }
    return pa.table(columns, schema=SCHEMA)


def pin(base: LanceDataset, operation: Op.BaseOperation) -> LanceDataset:
    """A version on nobody's lineage."""
    return LanceDataset.commit(base, operation, read_version=base.version, detached=True)


def files_for(base: LanceDataset, data: pa.Table) -> list[FragmentMetadata]:
    return write_fragments(data, base, mode="append", data_storage_version="2.2")


def append(base: LanceDataset, *numbers: int, text: str = "hello") -> LanceDataset:
    return pin(base, Op.Append(files_for(base, rows(*numbers, text=text))))


def deleted(base: LanceDataset, fragment: int, predicate: str) -> FragmentMetadata:
    """A fragment with deletion marks, not yet committed."""
    found = base.get_fragment(fragment)
    assert found is not None
    after = found.delete(predicate)
    assert after is not None
    return after


def segment(base: LanceDataset, column: str, kind: str, fragments: Sequence[int], **options: object) -> Index:
    """An index segment called after its column, not yet committed."""
    built = base.create_index_uncommitted(column, kind, name=column, fragment_ids=list(fragments), replace=True, **options)  # type: ignore[arg-type]
    return base.merge_existing_index_segments([built]) if kind == "INVERTED" else built


def index(base: LanceDataset, column: str, kind: str, fragments: Sequence[int], **options: object) -> LanceDataset:
    return pin(base, Op.CreateIndex([segment(base, column, kind, fragments, **options)], []))


def index_all(base: LanceDataset, fragments: Sequence[int]) -> LanceDataset:
    """`id`, `text` and `vec` with an index each."""
    return pin(
        base,
        Op.CreateIndex(
            [
                segment(base, "id", "BTREE", fragments),
                segment(base, "text", "INVERTED", fragments, with_position=True),
                segment(base, "vec", "IVF_FLAT", fragments, num_partitions=1, metric="l2"),
            ],
            [],
        ),
    )


def coverage(dataset: LanceDataset, name: str) -> list[list[int]]:
    return [sorted(s.fragment_ids) for i in dataset.describe_indices() if i.name == name for s in i.segments]


def ids(dataset: LanceDataset) -> list[str]:
    return sorted(dataset.to_table(columns=["id"])["id"].to_pylist())


def near(dataset: LanceDataset, at: float, k: int, **options: object) -> list[str]:
    """The ids of the k rows nearest to a point of the line."""
    asked = {"column": "vec", "q": [at, 0.0, 0.0, 0.0], "k": k, "metric": "l2", **options}
    return dataset.to_table(columns=["id", "_distance"], nearest=asked, prefilter=True)["id"].to_pylist()  # type: ignore[no-any-return]


def texts(dataset: LanceDataset, words: str, **options: object) -> list[str]:
    query = MatchQuery(words, "text", **options)  # type: ignore[arg-type]
    return sorted(dataset.to_table(columns=["id", "_score"], full_text_query=query, prefilter=True)["id"].to_pylist())


def every_field(dataset: LanceDataset) -> list[int]:
    return [f.id() for f in dataset.lance_schema.fields()]


def apart(schema: LanceSchema) -> tuple[Callable[..., LanceSchema], str, list[bytes]]:
    """What makes a schema: a function, the metadata as JSON, and a message per field."""
    reduced = schema.__reduce__()
    assert isinstance(reduced, tuple)
    make, (metadata, *messages) = reduced
    return make, metadata, messages
