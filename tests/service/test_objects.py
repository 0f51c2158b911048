"""Small objects with conditional puts, in a folder and in a bucket: one of several writers wins, and nothing is half written."""

from __future__ import annotations

import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from tests.storage.s3 import BUCKET, server

import omnigraph as og
from omnigraph.errors import AlreadyExists, CleanupUnderWay
from omnigraph.service import Caller, GraphRef, Origin, Service
from omnigraph.service.direct import DirectGraphs
from omnigraph.service.objects import SmallObjects
from omnigraph.service.operations.delete_graph import DeleteGraph
from omnigraph.storage.graph_store import GraphStore


@pytest.fixture(scope="module")
def bucket() -> Iterator[str]:
    with server() as running, pytest.MonkeyPatch.context() as patch:
        patch.setenv("AWS_ACCESS_KEY_ID", "test")
        patch.setenv("AWS_SECRET_ACCESS_KEY", "test")
        patch.setenv("AWS_REGION", "us-east-1")
        patch.setenv("AWS_ENDPOINT_URL", running.endpoint)
        patch.setenv("AWS_ALLOW_HTTP", "true")
        yield f"s3://{BUCKET}"


@pytest.fixture(params=["folder", "bucket"])
def objects(request: pytest.FixtureRequest, tmp_path: Path) -> SmallObjects:
    if request.param == "folder":
        return SmallObjects(str(tmp_path / "root"))
    return SmallObjects(f"{request.getfixturevalue('bucket')}/{os.urandom(4).hex()}")


def test_one_of_several_creates_wins(objects: SmallObjects) -> None:
    def create(number: int) -> bool:
        try:
            objects.create("a/lock", f"by {number}".encode())
        except AlreadyExists:
            return False
        return True

    with ThreadPoolExecutor(8 if objects.is_local else 1) as pool:  # moto itself looks and then puts
        won = list(pool.map(create, range(8)))
    assert won.count(True) == 1
    assert objects.read("a/lock") == f"by {won.index(True)}".encode()


def test_one_of_several_replaces_wins(objects: SmallObjects) -> None:
    objects.create("a/state", b"0")
    with ThreadPoolExecutor(8 if objects.is_local else 1) as pool:  # moto itself looks and then puts
        won = list(pool.map(lambda number: objects.replace("a/state", f"{number + 1}".encode(), b"0"), range(8)))
    assert won.count(True) == 1
    assert objects.read("a/state") == f"{won.index(True) + 1}".encode()
    assert objects.list("a") == ["a/state"], "nothing is left beside it"


def test_what_is_not_as_expected_stays(objects: SmallObjects) -> None:
    assert not objects.replace("a/state", b"1", b"0"), "there is none"
    objects.create("a/state", b"0")
    assert not objects.replace("a/state", b"1", b"another")
    objects.remove("a/state", b"another")
    assert objects.read("a/state") == b"0"
    objects.remove("a/state", b"0")
    assert objects.read("a/state") is None
    assert objects.list("a") == []
    objects.create("a/state", b"again")
    assert objects.read("a/state") == b"again"


def test_a_graph_goes_as_a_whole(objects: SmallObjects) -> None:
    uri = objects.address("graphs/people.omni")
    og.init(uri, "node Person { name: String @key }").close()
    assert objects.has_graph("graphs/people.omni")
    assert not objects.has_graph("graphs/other.omni")
    service = Service(DirectGraphs())
    assert service.run(Caller("ada", Origin.CLI), DeleteGraph(GraphRef(uri))) > 0
    assert not objects.has_graph("graphs/people.omni")
    assert service.run(Caller("ada", Origin.CLI), DeleteGraph(GraphRef(uri))) == 0
    og.init(uri, "node Person { name: String @key }").close()


def test_a_graph_in_use_stays(tmp_path: Path) -> None:
    g = og.init(tmp_path / "g.omni", "node Person { name: String @key }")
    store: GraphStore = g._store
    service = Service(DirectGraphs())
    with store.in_flight(), pytest.raises(CleanupUnderWay, match="is in use"):
        service.run(Caller("ada", Origin.CLI), DeleteGraph(GraphRef(str(tmp_path / "g.omni"))))
    g.close()
    assert og.open(tmp_path / "g.omni").commits()
    assert service.run(Caller("ada", Origin.CLI), DeleteGraph(GraphRef(str(tmp_path / "g.omni"))))
