"""References are values: they go through branches, merges, reverts, diffs, the feed, compaction and exports as they are."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from tests.engine.external.media import bytes_of, gallery, photo, uri_of
from tests.engine.history.graphs import calm, told
from tests.engine.load.loading import exported

import omnigraph as og
from omnigraph.engine.export.parts import export_parts
from omnigraph.model.blobs import MARK
from omnigraph.storage.tables.work import in_threads

BYTES = MARK + b"Rlooks like one"


@pytest.fixture
def images(tmp_path: Path) -> Path:
    folder = tmp_path / "images"
    folder.mkdir()
    for name in "abcd":
        (folder / name).write_bytes(name.encode())
    return folder


@pytest.fixture
def kept(tmp_path: Path, images: Path) -> og.Graph:
    """References and bytes side by side. What the references name is gone."""
    g = gallery(tmp_path, f"file://{images}")
    calm(g)
    records = [photo(n, content=f"file://{images}/{n}") for n in "abc"]
    likes = [{"edge": "Like", "from": "a", "to": "b", "data": {"id": "l", "proof": f"file://{images}/d"}}]
    g.load([*records, photo("bytes", content=BYTES), photo("none"), *likes], mode="overwrite")
    for file in images.iterdir():
        file.unlink()
    other = og.open(g._store.place.uri)
    calm(other)
    return other


def spelt(g: og.Graph, **options: Any) -> dict[str, Any]:
    return {r["data"]["id"]: r["data"].get("content") or r["data"].get("proof") for r in exported(g, **options)}


def test_an_export_spells_the_uri_and_loads_back(kept: og.Graph, images: Path, tmp_path: Path) -> None:
    lines = exported(kept)
    assert spelt(kept)["a"] == f"file://{images}/a"
    assert spelt(kept)["l"] == f"file://{images}/d"
    for name in "abcd":
        (images / name).write_bytes(b"there again")
    other = gallery(tmp_path, f"file://{images}")
    sink = io.BytesIO()
    kept.export(sink)
    other.load(io.BytesIO(sink.getvalue()), mode="overwrite")
    assert exported(other) == lines
    with pytest.raises(og.ValidationError):
        gallery(tmp_path).load(io.BytesIO(sink.getvalue()), mode="overwrite")


def test_an_export_in_parts_spells_the_uri_and_parquet_refuses_it(kept: og.Graph, images: Path, tmp_path: Path) -> None:
    where = kept._store.place
    export_parts(kept._view(), where, str(tmp_path / "lines"), format_="jsonl", run=in_threads(1))
    found = [json.loads(line) for file in (tmp_path / "lines").glob("*.jsonl") for line in file.read_text().splitlines()]
    assert {r["data"]["id"]: r["data"].get("content") for r in found}["b"] == f"file://{images}/b"
    with pytest.raises(og.UsageError, match=f"refers to another place: file://{images}/"):
        export_parts(kept._view(), where, str(tmp_path / "columns"), types=["Photo"], run=in_threads(1))
    kept.mutate('query m() { update Photo set { note: "x" } where name = "bytes" }')
    kept.load([photo(n, content=b"bytes now") for n in "abc"])
    export_parts(kept._view(), where, str(tmp_path / "bytes"), types=["Photo"], run=in_threads(1))
    (file,) = (tmp_path / "bytes").glob("*.parquet")
    rows = {r["name"]: r["content"] for r in pq.read_table(file).to_pylist()}
    assert rows == {"a": b"bytes now", "b": b"bytes now", "c": b"bytes now", "bytes": BYTES, "none": None}


def test_compaction_and_reclaim_keep_references(kept: og.Graph) -> None:
    before = spelt(kept)
    for n in range(5):
        kept.mutate(f'query m() {{ update Photo set {{ note: "{n}" }} where name = "a" }}')
    kept.optimize()
    kept.cleanup(keep=1, older_than="0s", dry_run=False)
    assert spelt(og.open(kept._store.place.uri)) == before
    assert kept.verify(deep=True).ok
    assert bytes_of(kept, "bytes") == BYTES


def test_diff_feed_and_revert_show_and_restore_the_uri(kept: og.Graph, images: Path) -> None:
    uri, start = f"file://{images}/a", kept.commits()[0].id
    changed = kept.mutate('query m($c: Blob) { update Photo set { content: $c } where name = "a" }', {"c": "base64:AAEC"}).commit
    assert changed is not None
    (change,) = kept.diff(start, "main").changes
    assert change.before is not None
    assert change.after is not None
    assert (change.before.properties["content"], change.after.properties["content"]) == (uri, b"\0\1\2")
    assert change.to_dict()["before"]["properties"]["content"] == uri
    assert change.to_dict()["after"]["properties"]["content"] == "base64:AAEC"
    fed = [c.to_dict() for block in kept.changes(since=f"after:{start}").blocks for c in block.changes]
    assert [c["before"]["properties"]["content"] for c in fed] == [uri]
    kept.revert(changed.id)
    assert uri_of(kept, "a") == uri
    baseline = b"".join(part for _, part in kept.baseline().chunks())
    assert json.dumps(uri).encode() in baseline


def test_a_diff_shows_bytes_that_look_like_a_reference_as_bytes(kept: og.Graph) -> None:
    start = kept.commits()[0].id
    kept.mutate('query m() { delete Photo where name = "bytes" }')
    (change,) = kept.diff(start, "main").changes
    assert change.before is not None
    assert change.before.properties["content"] == BYTES


def test_merges_keep_references_and_tell_conflicts_by_their_uri(kept: og.Graph, images: Path) -> None:
    kept.branches.create("side")
    note = "query m($n: String) {{ update Photo set {{ {what} }} where name = $n }}"
    kept.mutate(note.format(what='note: "main"'), {"n": "a"})
    kept.mutate(
        note.format(what="thumb: $t").replace("$n: String", "$n: String, $t: Blob"), {"n": "a", "t": "base64:AA=="}, branch="side"
    )
    kept.mutate('query m() { delete Photo where name = "c" }', branch="side")
    kept.merge("side", into="main")
    assert (uri_of(kept, "a"), bytes_of(kept, "a", "thumb")) == (f"file://{images}/a", b"\0")
    assert "c" not in spelt(kept)

    kept.branches.create("other")
    change = 'query m($c: Blob) { update Photo set { content: $c } where name = "b" }'
    kept.mutate(change, {"c": "base64:AA=="})
    kept.mutate(change, {"c": "base64:AQ=="}, branch="other")
    with pytest.raises(og.MergeConflict) as found:
        kept.merge("other", into="main")
    (conflict,) = [c.to_dict() for c in told(found.value)]
    assert (conflict["base"], conflict["ours"], conflict["theirs"]) == (
        {"content": f"file://{images}/b"},
        {"content": "base64:AA=="},
        {"content": "base64:AQ=="},
    )
    with pytest.raises(og.BlobRefused, match="cannot be a URI"):
        kept.merge("other", into="main", resolve={conflict["key"]: {"content": f"file://{images}/b"}})
    kept.merge("other", into="main", resolve={conflict["key"]: {"content": BYTES}})
    assert bytes_of(kept, "b") == BYTES


def test_a_schema_change_keeps_references(kept: og.Graph, images: Path) -> None:
    schema = kept.schema().replace("content: Blob?", 'picture: Blob? @rename_from("content")  more: String?')
    kept.apply_schema(schema)
    assert uri_of(kept, "a", "picture") == f"file://{images}/a"


def test_a_blob_says_what_it_is(kept: og.Graph, images: Path) -> None:
    blob = kept.blob("node", "Photo", "a", "content")
    assert (blob.kind, blob.uri) == ("external", f"file://{images}/a")
    for what in ("data", "size", "etag"):
        with pytest.raises(og.UsageError, match=f"the Blob is external: file://{images}/a") as found:
            getattr(blob, what)
        assert "g.blob()" in found.value.hint
    edge = kept.blob("edge", "Like", "l", "proof")
    assert edge.uri == f"file://{images}/d"
