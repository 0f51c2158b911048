"""Mutations with URIs in place of bytes: judged first, then fetched once, then copied in."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.engine.external.media import BASE, Media, bytes_of, gallery, media, photo, uri_of
from tests.engine.load.loading import counts

import omnigraph as og
from omnigraph.model.blobs import reference
from omnigraph.model.limits import MAX_EXTERNAL_BYTES, MAX_EXTERNAL_URI_BYTES

INSERT = "query add($n: String, $c: Blob) { insert Photo { name: $n, content: $c } }"
UPDATE = "query set($n: String, $c: String) { update Photo set { content: $c } where name = $n }"


@pytest.fixture
def bucket(monkeypatch: pytest.MonkeyPatch) -> Iterator[Media]:
    with media(monkeypatch) as found:
        yield found


@pytest.mark.parametrize("text", ["file:///etc/passwd", f"{BASE}/a", "nonsense", ""])
def test_denied_by_default(tmp_path: Path, text: str) -> None:
    g = gallery(tmp_path)
    with pytest.raises(og.BlobRefused, match="no policy allows any") as found:
        g.mutate(INSERT, {"n": "x", "c": text})
    assert found.value.code == "blob_refused"
    assert "base64:" in found.value.hint
    assert counts(g) == {}


def test_inserts_and_updates_copy_the_bytes_in(tmp_path: Path, bucket: Media) -> None:
    g = gallery(tmp_path, BASE)
    g.mutate(INSERT, {"n": "x", "c": bucket.put("a", b"first")})
    assert bytes_of(g, "x") == b"first"
    uri = bucket.put("b", b"second")
    g.mutate(UPDATE, {"n": "x", "c": uri})
    bucket.delete("b")
    assert bytes_of(g, "x") == b"second"
    with pytest.raises(og.BlobUnavailable) as found:
        g.mutate(UPDATE, {"n": "x", "c": uri})
    assert (found.value.uri, found.value.reason) == (uri, "there is no such object")
    assert found.value.to_dict()["external_blob_source"] == {"uri": uri, "reason": "there is no such object"}
    assert bytes_of(g, "x") == b"second"


def test_several_statements_ask_once_for_each_object(tmp_path: Path, bucket: Media) -> None:
    g = gallery(tmp_path, BASE)
    a, b = bucket.put("a", b"a"), bucket.put("b", b"b")
    statements = " ".join(f'insert Photo {{ name: "{n}", content: $a, thumb: $b }}' for n in range(20))
    like = 'insert Like { from: "0", to: "1", proof: $a }'
    with bucket.asked() as asked:
        g.mutate(f"query m($a: Blob, $b: Blob) {{ {statements} {like} }}", {"a": a, "b": b})
    assert sorted(asked) == ["GET", "GET", "HEAD", "HEAD"]
    assert {bytes_of(g, f"{n}") for n in range(20)} == {b"a"}
    assert {bytes_of(g, f"{n}", "thumb") for n in range(20)} == {b"b"}


def test_all_are_judged_before_any_is_looked_for(tmp_path: Path, bucket: Media) -> None:
    g = gallery(tmp_path, BASE)
    params = {"a": bucket.put("a", b"a"), "b": "s3://key:SECRET@graphs/media/b"}
    with bucket.asked() as asked, pytest.raises(og.BlobRefused) as found:
        g.mutate('query m($a: Blob, $b: Blob) { insert Photo { name: "x", content: $a, thumb: $b } }', params)
    assert asked == []
    assert "SECRET" not in str(found.value)


def test_limits(tmp_path: Path, bucket: Media) -> None:
    g = gallery(tmp_path, BASE)
    with pytest.raises(og.ResourceLimit) as found:
        g.mutate(INSERT, {"n": "x", "c": f"{BASE}/" + "x" * MAX_EXTERNAL_URI_BYTES})
    assert found.value.resource == "external Blob URI bytes"
    with bucket.asked() as asked, pytest.raises(og.ResourceLimit) as found:
        g.mutate(INSERT, {"n": "x", "c": bucket.put("large", bytes(MAX_EXTERNAL_BYTES + 1))})
    assert (found.value.resource, found.value.actual) == ("materialized external blob payload bytes", MAX_EXTERNAL_BYTES + 1)
    assert asked == ["PUT", "HEAD"], "its size is known before it is fetched"


def test_an_update_of_something_else_keeps_a_reference(tmp_path: Path, bucket: Media) -> None:
    g, uri = gallery(tmp_path, BASE), bucket.put("a", b"a")
    g.load([photo("x", content=uri)], mode="overwrite")
    bucket.delete("a")
    again = og.open(g._store.place.uri)
    again.mutate('query m() { update Photo set { note: "new" } where name = "x" }')
    assert uri_of(again, "x") == uri, "nothing new came in: no policy is asked, and nothing is looked for"


def test_bytes_that_begin_like_a_reference_are_bytes(tmp_path: Path) -> None:
    import base64

    g, data = gallery(tmp_path), reference(f"{BASE}/a")
    g.mutate(INSERT, {"n": "x", "c": "base64:" + base64.b64encode(data).decode()})
    assert bytes_of(g, "x") == data
