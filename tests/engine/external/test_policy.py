"""The policy about external Blobs: what may be a base, and which URIs are inside of one."""

from __future__ import annotations

import json
import os
import pickle
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import omnigraph as og
from omnigraph import ExternalBlobs
from omnigraph.engine.blobs.policy import Refusal, TooLong
from omnigraph.model.limits import MAX_EXTERNAL_URI_BYTES

NAMES = st.sampled_from(["a", "ab", "b", "a b", "é", "a+b"])
PATHS = st.lists(NAMES, min_size=0, max_size=3).map(tuple)
BUCKETS = st.sampled_from(["one", "two", "one.two"])
FOLDERS = st.tuples(BUCKETS, PATHS)
OBJECTS = st.tuples(BUCKETS, st.lists(NAMES, min_size=1, max_size=5).map(tuple))


def spelt(bucket: str, path: tuple[str, ...]) -> str:
    encoded = {" ": "%20", "é": "%C3%A9"}
    return "/".join([f"s3://{bucket}", *("".join(encoded.get(c, c) for c in part) for part in path)])


def allowed(policy: ExternalBlobs, text: str) -> bool:
    try:
        policy.approve(text)
    except Refusal:
        return False
    return True


def overlap(one: tuple[str, tuple[str, ...]], other: tuple[str, tuple[str, ...]]) -> bool:
    short = min(len(one[1]), len(other[1]))
    return one[0] == other[0] and one[1][:short] == other[1][:short]


@given(st.lists(FOLDERS, min_size=1, max_size=3), OBJECTS)
def test_a_uri_is_allowed_if_it_is_inside_a_base_and_bases_may_not_overlap(
    folders: list[tuple[str, tuple[str, ...]]], object_: tuple[str, tuple[str, ...]]
) -> None:
    pairs = [(one, other) for at, one in enumerate(folders) for other in folders[at + 1 :]]
    if any(overlap(one, other) for one, other in pairs):
        with pytest.raises(og.UsageError, match="overlap"):
            ExternalBlobs.allow(*(spelt(*f) for f in folders))
        return
    policy = ExternalBlobs.allow(*(spelt(*f) for f in folders))
    bucket, path = object_
    inside = any(bucket == b and len(path) > len(p) and path[: len(p)] == p for b, p in folders)
    assert allowed(policy, spelt(bucket, path)) is inside
    assert not allowed(ExternalBlobs.deny(), spelt(bucket, path))


@given(st.lists(FOLDERS, min_size=1, max_size=3, unique_by=lambda f: f[0]), st.randoms())
def test_equal_policies_are_equal_values_with_equal_json(folders: list[tuple[str, tuple[str, ...]]], random: object) -> None:
    uris = [spelt(*f) for f in folders]
    policy = ExternalBlobs.allow(*uris)
    assert policy == ExternalBlobs.allow(*(f"{u.replace('s3', 'S3')}/" for u in reversed(uris)))
    again = ExternalBlobs.from_dict(json.loads(json.dumps(policy.to_dict())))
    assert (again, again.to_dict(), pickle.loads(pickle.dumps(policy))) == (policy, policy.to_dict(), policy)
    assert policy.server_safe() == policy


@pytest.mark.parametrize(
    "uri",
    [
        "media",
        "/data",
        "https://host/x",
        "s3://",
        "s3://key:SECRET@media/a",
        "s3://media/a?token=SECRET",
        "s3://media/a#x",
        "s3://media/../a",
        "s3://media/a//b",
        "s3://media/%2e%2e",
        "s3://media/a%2Fb",
        "file://host/data",
        "file:///there/is/no/such/folder",
    ],
)
def test_what_cannot_be_a_base(uri: str) -> None:
    with pytest.raises(og.UsageError, match="cannot be a base") as found:
        ExternalBlobs.allow("s3://other", uri)
    assert "SECRET" not in str(found.value)


def test_a_file_is_no_base(tmp_path: Path) -> None:
    (tmp_path / "x").touch()
    with pytest.raises(og.UsageError, match="not a folder"):
        ExternalBlobs.allow(f"file://{tmp_path}/x")
    with pytest.raises(og.UsageError, match="without a base"):
        ExternalBlobs.allow()


@pytest.mark.parametrize(
    "data",
    [
        {},
        {"mode": "deny", "bases": []},
        {"mode": "allow"},
        {"mode": "allow", "bases": []},
        {"mode": "maybe"},
        {"mode": "allow", "bases": ["s3://media"]},
        {"mode": "allow", "bases": [{"uri": "s3://media"}]},
        {"mode": "allow", "bases": [{"uri": "s3://media", "scope": "everybody"}]},
        {"mode": "allow", "bases": [{"uri": "s3://media", "scope": "embedded_only"}]},
        {"mode": "allow", "bases": [{"uri": "s3://media", "scope": "server_safe", "x": 1}]},
    ],
)
def test_json_that_is_no_policy(data: dict[str, object]) -> None:
    with pytest.raises(og.UsageError):
        ExternalBlobs.from_dict(data)


def test_a_server_drops_folders_of_a_machine(tmp_path: Path) -> None:
    policy = ExternalBlobs.allow("s3://media/a", f"file://{tmp_path}")
    assert policy.to_dict() == {
        "mode": "allow",
        "bases": [
            {"uri": f"file://{tmp_path}", "scope": "embedded_only"},
            {"uri": "s3://media/a", "scope": "server_safe"},
        ],
    }
    assert policy.server_safe() == ExternalBlobs.allow("s3://media/a")
    assert ExternalBlobs.allow(f"file://{tmp_path}").server_safe() == ExternalBlobs.deny()
    elsewhere = policy.to_dict()
    elsewhere["bases"][0]["uri"] = "file:///only/on/another/machine"
    assert ExternalBlobs.from_dict(elsewhere, server=True) == ExternalBlobs.allow("s3://media/a")
    assert ExternalBlobs.deny().to_dict() == {"mode": "deny"} == ExternalBlobs().to_dict()
    assert ExternalBlobs.from_dict({"mode": "deny"}) == ExternalBlobs.deny()


def test_links_are_followed_before_files_are_compared(tmp_path: Path) -> None:
    inside, outside = tmp_path / "base" / "deep", tmp_path / "other"
    for folder in (inside, outside):
        folder.mkdir(parents=True)
        (folder / "x").write_text("x")
    os.symlink(outside / "x", inside / "leads-out")
    os.symlink(outside, inside / "folder-out")
    os.symlink(inside / "x", tmp_path / "base" / "leads-in")
    os.symlink(tmp_path / "base", tmp_path / "also-base")
    os.symlink(tmp_path / "base-2", tmp_path / "base" / "dangling")
    policy = ExternalBlobs.allow(f"file://{tmp_path}/also-base")
    assert policy == ExternalBlobs.allow(f"file://{tmp_path}/base"), "a base is its real folder"
    for path in ("base/deep/x", "base/leads-in", "also-base/deep/x", "base/deep/not-there"):
        assert allowed(policy, f"file://{tmp_path}/{path}"), path
    for path in ("base/deep/leads-out", "base/deep/folder-out/x", "base/dangling", "other/x", "base", "based/x"):
        assert not allowed(policy, f"file://{tmp_path}/{path}"), path
    with pytest.raises(Refusal, match="leads out of its base"):
        policy.approve(f"file://{tmp_path}/base/deep/leads-out")


@pytest.mark.parametrize("name", [b"100%", b"back\\slash", b"not-utf-8-\xff"])
def test_a_base_whose_real_path_cannot_be_spelt_is_refused(tmp_path: Path, name: bytes) -> None:
    folder = os.fsencode(tmp_path) + b"/" + name
    os.mkdir(folder)
    os.symlink(folder, tmp_path / "link")
    with pytest.raises(og.UsageError, match="no URI here can spell"):
        ExternalBlobs.allow(f"file://{tmp_path}/link")


def test_a_uri_has_a_longest_length() -> None:
    policy = ExternalBlobs.allow("s3://media")
    longest = "s3://media/" + "a" * (MAX_EXTERNAL_URI_BYTES - len("s3://media/"))
    assert policy.approve(longest).uri == longest
    for one in (policy, ExternalBlobs.deny()):
        with pytest.raises(TooLong):
            one.approve(longest + "a")
