"""Files to load are found by the same rules in an object store as on a disk."""

from __future__ import annotations

from pathlib import Path

import boto3
import pytest
from tests.storage.s3 import BUCKET, server

import omnigraph as og
from omnigraph.storage.files.inputs import files_at, opened

TREE = {
    "a.jsonl": b"1",
    "sub/b c.csv": b"22",
    "sub/é%20 %.tsv": b"333",
    "Person/country=de/part-0.parquet": b"4444",
    "Person/country=a%2Fb/part-00000": b"5",
    "sub/.hidden": b"x",
    ".git/config": b"x",
    "sub/_SUCCESS": b"",
    "notes.txt": b"6",
    "empty.csv": b"",
}
SOURCES = ["", "sub", "sub/", "Person", "Person/country=de", "*", "**/*.csv", "sub/*", "*/*/part-*", "a.jsonl", "sub/b c.csv"]


def test_the_same_files_are_found(tmp_path: Path) -> None:
    root = tmp_path / "in"
    with server() as s3:
        client = boto3.client(
            "s3", endpoint_url=s3.endpoint, aws_access_key_id="test", aws_secret_access_key="test", region_name="us-east-1"
        )
        for name, data in TREE.items():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_bytes(data)
            client.put_object(Bucket=BUCKET, Key=f"in/{name}", Body=data)
        client.put_object(Bucket=BUCKET, Key="in/sub/", Body=b"")  # as consoles mark folders
        client.put_object(Bucket=BUCKET, Key="inside/x.csv", Body=b"another folder")
        for source in SOURCES:
            here = files_at(f"{root}/{source}".rstrip("/") if not source else f"{root}/{source}", {})
            there = files_at(f"s3://{BUCKET}/in/{source}", s3.options)
            told = [(f.path.removeprefix(f"s3://{BUCKET}/in/"), f.size, f.within) for f in there]
            assert told == [(str(Path(f.path).relative_to(root)), f.size, f.within) for f in here], source
            for file in there:
                with opened(file.path, s3.options) as stream:
                    assert stream.read() == TREE[file.path.removeprefix(f"s3://{BUCKET}/in/")]
        client.put_object(Bucket=BUCKET, Key="table/_delta_log/0.json", Body=b"{}")
        with pytest.raises(og.UsageError, match="Delta table"):
            files_at(f"s3://{BUCKET}/table", s3.options)
        with pytest.raises(og.NotFound):
            files_at(f"s3://{BUCKET}/nowhere", s3.options)
