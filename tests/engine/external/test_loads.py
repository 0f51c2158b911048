"""Loads with URIs in place of bytes: denied unless allowed, copied in or kept, looked for once, within limits."""

from __future__ import annotations

import base64
import io
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.engine.external.media import BASE, Crowd, Media, bytes_of, gallery, media, photo, uri_of, violations
from tests.engine.load.loading import counts, exported, written
from tests.engine.load.test_chunks import InChunks

import omnigraph as og
from omnigraph.engine.load.read.parallel import chunks as chunks
from omnigraph.engine.load.read.parallel import tasks
from omnigraph.model.blobs import MARK, reference
from omnigraph.model.limits import MAX_EXTERNAL_BYTES, MAX_EXTERNAL_CELLS, MAX_EXTERNAL_PROBES, MAX_EXTERNAL_URI_BYTES
from omnigraph.storage.files import external_objects
from omnigraph.storage.files.external_objects import Outside

ENGINES: list[Any] = ["local", InChunks(3)]
MODES = ("merge", "append", "overwrite")


@pytest.fixture
def bucket(monkeypatch: pytest.MonkeyPatch) -> Iterator[Media]:
    with media(monkeypatch) as found:
        yield found


@pytest.fixture
def images(tmp_path: Path) -> Path:
    """A folder of files, as a base."""
    folder = tmp_path / "images"
    folder.mkdir()
    for name in ("a", "b"):
        (folder / f"{name}.png").write_bytes(name.encode() * 5)
    return folder


FORMS = ("jsonl", "compatible", "csv", "parquet", "records", "rows", "arrow", "pandas")


def given(form: str, folder: Path, rows: list[dict[str, Any]]) -> tuple[Any, dict[str, Any], bool]:
    """Photos in some form, further options, and whether lines have a file."""
    match form:
        case "jsonl" | "compatible":
            path = written(folder / "in.jsonl", [photo(**row) for row in rows])
            return path, {"dialect": "strict" if form == "jsonl" else "compatible"}, True
        case "csv":
            pd.DataFrame(rows).to_csv(folder / "Photo.csv", index=False)
            return folder / "Photo.csv", {}, True
        case "parquet":
            pq.write_table(pa.Table.from_pylist(rows), folder / "Photo.parquet")
            return folder / "Photo.parquet", {}, True
        case "records":
            return [photo(**row) for row in rows], {}, False
        case "rows":
            return {"Photo": rows}, {}, False
        case "arrow":
            return {"Photo": pa.Table.from_pylist(rows)}, {}, False
    return {"Photo": pd.DataFrame(rows)}, {}, False


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("engine", ENGINES, ids=["local", "chunks"])
def test_every_form_is_denied_by_default_with_its_lines(tmp_path: Path, images: Path, form: str, engine: Any) -> None:
    if form == "compatible" and engine != "local":
        pytest.skip("records of the compatible dialect are read one after the other")
    g = gallery(tmp_path)
    rows = [{"name": "a", "content": "base64:AAEC"}, {"name": "b", "content": f"file://{images}/b.png"}]
    source, options, is_file = given(form, tmp_path, rows)
    with pytest.raises(og.ValidationError, match="no policy allows any") as found:
        g.load(source, engine=engine, **options)
    (violation,) = violations(found.value)
    assert (violation.rule, violation.type, violation.property, violation.entity) == ("blob", "Photo", "content", "b")
    assert (violation.line, violation.file) == (3 if form == "csv" else 2, str(source) if is_file else None)
    assert violation.value == f"file://{images}/b.png"
    assert counts(g) == {}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("mode", MODES)
def test_every_form_is_copied_in_or_kept(tmp_path: Path, images: Path, form: str, mode: Any) -> None:
    g = gallery(tmp_path, f"file://{images}")
    uri = f"file://{images}/b.png"
    source, options, _ = given(form, tmp_path, [{"name": "a", "content": "base64:AAEC"}, {"name": "b", "content": uri}])
    g.load(source, mode=mode, **options)
    assert bytes_of(g, "a") == b"\0\1\2"
    if mode == "overwrite":
        assert uri_of(g, "b") == uri
    else:
        assert bytes_of(g, "b") == b"bbbbb"


@pytest.mark.parametrize("engine", ENGINES, ids=["local", "chunks"])
def test_all_that_is_refused_is_told_with_its_line(tmp_path: Path, images: Path, engine: Any) -> None:
    g = gallery(tmp_path, f"file://{images}", BASE)
    os.symlink("/etc/passwd", images / "link.png")
    path = written(
        tmp_path / "in.jsonl",
        [
            photo("1", content=f"{BASE}/x?X-Amz-Signature=SECRET"),
            photo("2", content="s3://key:SECRET@graphs/media/x"),
            photo("3", content=f"file://{images}/link.png"),
            photo("4", content="s3://graphs/other/x", note=7),
            photo("5", content="nonsense"),
            photo("6", content="", thumb=f"{BASE}/../x"),
            photo("7", content="s3://graphs/media/" + "x" * MAX_EXTERNAL_URI_BYTES),
            {"edge": "Like", "from": "1", "to": "7", "data": {"proof": "https://host/x#SECRET"}},
        ],
    )
    with pytest.raises(og.ValidationError) as found:
        g.load(path, engine=engine)
    told = [(v.line, v.rule, v.property) for v in violations(found.value)]
    assert told == [
        (1, "blob", "content"),
        (2, "blob", "content"),
        (3, "blob", "content"),
        (4, "type", "note"),
        (4, "blob", "content"),
        (5, "blob", "content"),
        (6, "blob", "content"),
        (6, "blob", "thumb"),
        (7, "limit", "content"),
        (8, "blob", "proof"),
    ]
    assert "SECRET" not in str(found.value) + json.dumps(found.value.to_dict())
    assert counts(g) == {}


@pytest.mark.parametrize("mode", MODES)
def test_sixty_four_aliases_cost_one_head_and_one_get(tmp_path: Path, bucket: Media, mode: Any) -> None:
    uri = bucket.put("a b/é+.png", b"once").replace("a b", "a%20b").replace("é", "%c3%a9")
    aliases = [uri, uri.replace("s3:", "S3:"), uri.replace("+", "%2B"), uri.replace("%c3%a9", "%C3%A9")]
    g = gallery(tmp_path, BASE)
    records = [photo(f"{n}", content=aliases[n % 4]) for n in range(32)] + [photo(f"x{n}", thumb=uri) for n in range(32)]
    with bucket.asked() as asked:
        g.load(records, mode=mode)
    if mode == "overwrite":
        assert asked == ["HEAD"]
        assert {uri_of(g, f"{n}") for n in range(32)} == {f"{BASE}/a%20b/%C3%A9+.png"}, "in its normal spelling"
    else:
        assert sorted(asked) == ["GET", "HEAD"]
        assert {bytes_of(g, f"{n}") for n in range(32)} | {bytes_of(g, f"x{n}", "thumb") for n in range(32)} == {b"once"}


def test_a_uri_is_looked_for_once_in_a_load_of_several_chunks(
    tmp_path: Path, bucket: Media, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tasks, "RECORDS", 8)
    g, uri = gallery(tmp_path, BASE), bucket.put("a", b"once")
    with bucket.asked() as asked:
        g.load([photo(f"{n}", content=uri) for n in range(64)])
    assert sorted(asked) == ["GET", "HEAD"]


def test_what_is_read_needs_no_request(tmp_path: Path, bucket: Media) -> None:
    g, uri = gallery(tmp_path, BASE), bucket.put("a", b"there")
    g.load([photo("a", content=uri)], mode="overwrite")
    bucket.delete("a")
    with bucket.asked() as asked:
        assert exported(g)[0]["data"]["content"] == uri
        assert g.blob("node", "Photo", "a", "content").kind == "external"
        g.optimize()
        assert g.verify(deep=True).ok
    assert asked == [], "a reference is not followed, and what it names is not the graph's to verify"


@pytest.mark.parametrize("key", ["a#b", "a?b", "a~b", "a=b&c", "a*b", "[a]", "日本/x", "a'b", "a@b", "a:b"])
def test_the_object_that_is_read_is_the_one_that_is_named(tmp_path: Path, bucket: Media, key: str) -> None:
    bucket.put(key, key.encode())
    encoded = "".join(c if c.isascii() and c not in "#?[]" else "".join(f"%{b:02X}" for b in c.encode()) for c in key)
    g = gallery(tmp_path, BASE)
    g.load([photo("x", content=f"{BASE}/{encoded}")])
    assert bytes_of(g, "x") == key.encode()


def test_an_empty_object_is_an_empty_blob(tmp_path: Path, images: Path, bucket: Media) -> None:
    (images / "empty").touch()
    g = gallery(tmp_path, BASE, f"file://{images}")
    g.load([photo("x", content=bucket.put("empty", b""), thumb=f"file://{images}/empty")])
    assert (bytes_of(g, "x"), bytes_of(g, "x", "thumb")) == (b"", b"")


@pytest.mark.parametrize("engine", ENGINES, ids=["local", "chunks"])
@pytest.mark.parametrize("mode", MODES)
def test_what_leads_nowhere_has_an_error_of_its_own(tmp_path: Path, images: Path, bucket: Media, engine: Any, mode: Any) -> None:
    g = gallery(tmp_path, f"file://{images}", BASE, "s3://no-such-bucket/x")
    (images / "sub.png").mkdir()
    os.mkfifo(images / "pipe.png")
    missing = [f"{BASE}/missing", f"file://{images}/c.png", f"file://{images}/sub.png", f"file://{images}/pipe.png"]
    path = written(
        tmp_path / "in.jsonl", [photo("a", content=bucket.put("a", b"a")), *(photo(u[-8:], content=u) for u in missing)]
    )
    with pytest.raises(og.BlobUnavailable) as found:
        g.load(path, mode=mode, engine=engine)
    error = found.value
    assert (error.code, error.retryable, error.uri, error.reason) == (
        "blob_unavailable",
        True,
        f"{BASE}/missing",
        "there is no such object",
    )
    assert error.to_dict()["external_blob_source"] == {"uri": f"{BASE}/missing", "reason": "there is no such object"}
    told = [(v.rule, v.line, v.value, v.reason) for v in violations(error)]
    reasons = ["there is no such object", "there is no such file", "it is not a file", "it is not a file"]
    assert told == [("blob_source", n, u, r) for n, (u, r) in enumerate(zip(missing, reasons, strict=True), 2)]
    assert counts(g) == {}


def test_other_mistakes_come_first_and_nothing_is_left_out(tmp_path: Path, images: Path) -> None:
    g = gallery(tmp_path, f"file://{images}")
    with pytest.raises(og.ValidationError) as found:
        g.load([photo("a", content=f"file://{images}/c.png"), photo("b", note=1)])
    assert [v.rule for v in violations(found.value)] == ["blob_source", "type"]


def test_a_store_that_does_not_answer_or_refuses_tells_no_secret(
    tmp_path: Path, bucket: Media, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(external_objects, "_TRIES", 0)
    uri = bucket.put("a", b"a")
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "SECRETKEY")
    with pytest.raises(og.BlobUnavailable, match="does not answer as it should") as found:
        gallery(tmp_path, BASE).load([photo("a", content=uri)])
    assert "SECRETKEY" not in str(found.value) + repr(found.value.__cause__) + json.dumps(found.value.to_dict())


def test_a_graph_opened_with_options_reaches_stores_with_them(
    tmp_path: Path, bucket: Media, monkeypatch: pytest.MonkeyPatch
) -> None:
    uri = bucket.put("a", b"by options")
    for name in ("AWS_ENDPOINT_URL", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_ALLOW_HTTP", "AWS_REGION"):
        monkeypatch.delenv(name)
    where, policy = f"{BASE}/../graph".replace("/media/..", ""), og.ExternalBlobs.allow(BASE)
    schema = "node Photo { name: String @key  content: Blob? }"
    g = og.init(where, schema, storage_options=bucket.server.options, external_blobs=policy)
    g.load([photo("a", content=uri)])
    assert bytes_of(g, "a") == b"by options"
    again = og.open(where, storage_options=bucket.server.options)
    with pytest.raises(og.ValidationError, match="no policy allows any"):
        again.load([photo("b", content=uri)])


# ── limits ───────────────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_no_more_than_a_few_objects_are_looked_for_at_a_time(
    tmp_path: Path, images: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for n in range(40):
        (images / f"{n}").write_bytes(b"x")
    crowd = Crowd(monkeypatch)
    g = gallery(tmp_path, f"file://{images}")
    g.load([photo(f"{n}", content=f"file://{images}/{n}") for n in range(40)], mode="overwrite")
    assert crowd.most == MAX_EXTERNAL_PROBES


@pytest.mark.parametrize("engine", ENGINES, ids=["local", "chunks"])
def test_so_many_cells_and_no_more(tmp_path: Path, images: Path, engine: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chunks, "LEAST_CUT", 100_000)
    g, uri = gallery(tmp_path, f"file://{images}"), f"file://{images}/a.png"
    records = [photo(f"{n}", content=uri, thumb=uri) for n in range(MAX_EXTERNAL_CELLS // 2)]
    g.load(written(tmp_path / "fine.jsonl", records), mode="overwrite", engine=engine)
    assert counts(g) == {"Photo": MAX_EXTERNAL_CELLS // 2}
    path = written(tmp_path / "much.jsonl", [*records, photo("one too many", content=uri)])
    with pytest.raises(og.ResourceLimit) as found:
        g.load(path, mode="overwrite", engine=engine)
    detail = {"resource": "external Blob reference cells", "limit": MAX_EXTERNAL_CELLS, "actual": MAX_EXTERNAL_CELLS + 1}
    assert found.value.to_dict()["resource_limit"] == detail
    assert counts(g) == {"Photo": MAX_EXTERNAL_CELLS // 2}


@pytest.mark.parametrize("engine", ENGINES, ids=["local", "chunks"])
def test_so_many_bytes_are_copied_in_and_no_more(
    tmp_path: Path, bucket: Media, engine: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(chunks, "LEAST_CUT", 60)
    g, uri = gallery(tmp_path, BASE), bucket.put("large", bytes(MAX_EXTERNAL_BYTES // 2))
    fine = [photo("a", content=uri), photo("b", content=uri)]
    g.load(written(tmp_path / "fine.jsonl", fine), engine=engine)
    assert len(bytes_of(g, "b")) == MAX_EXTERNAL_BYTES // 2
    one = bucket.put("small", b"1")
    path = written(tmp_path / "much.jsonl", [photo("c", content=one), *fine])
    with bucket.asked() as asked, pytest.raises(og.ResourceLimit) as found:
        g.load(path, engine=engine)
    detail = {
        "resource": "materialized external blob payload bytes",
        "limit": MAX_EXTERNAL_BYTES,
        "actual": MAX_EXTERNAL_BYTES + 1,
    }
    assert found.value.to_dict()["resource_limit"] == detail
    assert counts(g) == {"Photo": 2}
    if engine == "local":
        assert "GET" not in asked, "sizes are known before anything is fetched"
    g.load(path, mode="overwrite", engine=engine)
    assert uri_of(g, "a") == uri, "an overwrite copies nothing"


def test_an_object_that_changes_between_the_two_looks_is_not_stored(
    tmp_path: Path, bucket: Media, monkeypatch: pytest.MonkeyPatch
) -> None:
    uri, original = bucket.put("a", b"first"), Outside.fetch

    def late(*given: Any) -> bytes:
        bucket.put("a", b"other")
        return original(*given)

    monkeypatch.setattr(Outside, "fetch", late)
    with pytest.raises(og.BlobUnavailable, match="changed while it was read"):
        gallery(tmp_path, BASE).load([photo("a", content=uri)])


def test_a_link_put_in_the_place_of_a_file_is_not_followed(tmp_path: Path, images: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    secret, original = tmp_path / "secret", Outside.fetch
    secret.write_bytes(b"aaaaa")

    def late(*given: Any) -> bytes:
        (images / "a.png").unlink()
        os.symlink(secret, images / "a.png")
        return original(*given)

    monkeypatch.setattr(Outside, "fetch", late)
    with pytest.raises(og.BlobUnavailable):
        gallery(tmp_path, f"file://{images}").load([photo("a", content=f"file://{images}/a.png")])


# ── bytes that look like references ──────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("data", [reference(f"{BASE}/a"), MARK, MARK + b"B", b""])
@pytest.mark.parametrize("form", ["base64", "bytes", "arrow", "large"])
def test_bytes_that_begin_like_a_reference_are_bytes(tmp_path: Path, data: bytes, form: str) -> None:
    g = gallery(tmp_path)
    spelt = "base64:" + base64.b64encode(data).decode()
    source: Any = [photo("a", content=spelt)]
    if form == "bytes":
        source = [photo("a", content=data)]
    elif form in ("arrow", "large"):
        type_ = pa.binary() if form == "arrow" else pa.large_binary()
        source = {"Photo": pa.table({"name": ["z", "a"], "content": pa.array([None, data], type_)})}
    g.load(source)
    assert bytes_of(g, "a") == data
    assert {r["data"]["name"]: r["data"]["content"] for r in exported(g)}["a"] == spelt
    other = gallery(tmp_path)
    sink = io.BytesIO()
    g.export(sink)
    other.load(io.BytesIO(sink.getvalue()))
    assert exported(other) == exported(g)
