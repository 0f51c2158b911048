"""An answer that is lost on the way: a write with a key is sent again and happens once, also through another server."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from tests.engine.served import Server

import omnigraph as og

SCHEMA = "node Note { text: String }"
NOTE = "query note($t: String) { insert Note { text: $t } }"
RECORDS = [{"type": "Note", "data": {"text": "a"}}]


@contextmanager
def losing(first: str, then: str) -> Iterator[str]:
    """An address that passes the first write on to a server and loses what it answers; other connections go to the other one."""
    listening = socket.create_server(("127.0.0.1", 0))
    to_lose = ["the answer of the first write"]

    def serve() -> None:
        for _ in range(100):
            try:
                client, _ = listening.accept()
            except OSError:
                return
            threading.Thread(target=passed, args=(client,), daemon=True).start()

    def passed(client: socket.socket) -> None:
        begun = client.recv(65536)
        lose = begun.startswith(b"POST") and bool(to_lose) and bool(to_lose.pop())
        where = urlsplit(first if lose else then)
        upstream = socket.create_connection((where.hostname or "", where.port or 0))
        upstream.sendall(begun)
        threading.Thread(target=copied, args=(client, upstream), daemon=True).start()
        try:
            while piece := upstream.recv(65536):
                if lose:  # it was done; nobody hears of it
                    client.shutdown(socket.SHUT_RDWR)
                    return
                client.sendall(piece)
        except OSError:
            pass
        finally:
            client.close()

    def copied(client: socket.socket, upstream: socket.socket) -> None:
        try:
            while piece := client.recv(65536):
                upstream.sendall(piece)
        except OSError:
            pass

    threading.Thread(target=serve, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
    finally:
        listening.close()


@pytest.fixture(scope="module")
def servers() -> Iterator[tuple[Server, Server]]:
    both = Server(), Server()
    yield both
    for server in both:
        server.close()


@pytest.fixture
def way(tmp_path: Path, servers: tuple[Server, Server]) -> Iterator[og.RemoteGraph]:
    """One graph behind two servers, the first of which loses one answer."""
    og.init(tmp_path / "g", SCHEMA, durability="os").branches.create("work")
    ids = [server.graphs.hold(og.open(tmp_path / "g", durability="os")) for server in servers]
    servers[1].graphs._served[ids[0]] = servers[1].graphs._served[ids[1]]
    with losing(servers[0].url, servers[1].url) as url, og.connect(url, graph=ids[0], token="ada") as graph:
        yield graph


def notes(graph: og.RemoteGraph) -> int:
    return int(graph.query("query n() { match { $n: Note } return { count($n) as n } }").rows[0]["n"])


def test_a_mutation(way: og.RemoteGraph) -> None:
    receipt = way.mutate(NOTE, {"t": "a"}, idempotency_key="k")
    assert receipt.commit is not None
    assert (receipt.commit.id, notes(way)) == (way.commits(limit=1)[0].id, 1)


def test_a_load(way: og.RemoteGraph, tmp_path: Path) -> None:
    og.open(tmp_path / "g").load(RECORDS, branch="work")
    with pytest.raises(og.StorageError) as lost:  # a write without a key: its answer is the one that is lost
        way.mutate(NOTE, {"t": "a"})
    assert not lost.value.retryable
    loaded = way.load(RECORDS, idempotency_key="k")
    assert way.load(RECORDS, idempotency_key="k").commit == loaded.commit
    assert notes(way) == 2


def test_a_merge(way: og.RemoteGraph, tmp_path: Path) -> None:
    og.open(tmp_path / "g").load(RECORDS, branch="work")
    merged = way.merge("work", idempotency_key="k")
    assert (merged.outcome, notes(way)) == ("fast_forward", 1)
    assert merged.commit == way.commits(limit=1)[0]


def test_without_a_key_nothing_is_sent_again(way: og.RemoteGraph) -> None:
    with pytest.raises(og.StorageError, match="may have been made or not"):
        way.mutate(NOTE, {"t": "a"})
    assert notes(way) == 1
