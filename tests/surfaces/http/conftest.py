"""A server as its users have it: a process of its own, asked over a socket by a client of another making."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Thread

import httpx
import pytest

import omnigraph as og

SCHEMA = """
node Person { name: String @key  age: I32?  day: Date?  seen: DateTime?  score: F64?  photo: Blob? }
edge Knows: Person -> Person { since: Date? }
"""
TOKENS = {"ada": "token-of-ada", "bob": "token-of-bob"}

NO_CERTIFICATES = False
"""Servers are asked in plain HTTP. Every client would read the certificates of the world first, for 20 ms of work."""


@dataclass
class Running:
    """A server that runs."""

    process: subprocess.Popen[str]
    url: str
    log: list[str]
    """Its log, line by line."""

    def client(self, actor: str | None = "ada", graph: str = "people") -> httpx.Client:
        """Somebody who asks it about a graph."""
        headers = {} if actor is None else {"Authorization": f"Bearer {TOKENS[actor]}"}
        return httpx.Client(base_url=f"{self.url}/graphs/{graph}", headers=headers, timeout=30, verify=NO_CERTIFICATES)


@contextmanager
def serving(
    *graphs: Path,
    command: str = "serve",
    more: tuple[str, ...] = (),
    tokens: dict[str, str] | None = None,
    variables: dict[str, str] | None = None,
) -> Iterator[Running]:
    """Start a server, and stop it."""
    programs = {"serve": "from omnigraph.surfaces.http.process.command import start; start()"}
    programs["server"] = "from omnigraph.surfaces.http.process.command import main; main()"
    environment = {name: value for name, value in os.environ.items() if not name.startswith("OMNIGRAPH_")}
    environment |= variables or {}
    if tokens is None:
        environment["OMNIGRAPH_SERVER_BEARER_TOKENS_JSON"] = json.dumps(TOKENS)
    elif tokens:
        environment["OMNIGRAPH_SERVER_BEARER_TOKENS_JSON"] = json.dumps(tokens)
    arguments = [sys.executable, "-c", programs[command], "--bind", "127.0.0.1:0", *more, *map(str, graphs)]
    with subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment) as process:
        assert process.stdout is not None
        line = process.stdout.readline()
        if not line.startswith("OMNIGRAPH_LISTEN_ADDR="):
            process.kill()
            raise AssertionError(process.communicate()[1])
        try:
            yield Running(process, "http://" + line.strip().partition("=")[2], _drained(process))
        finally:
            process.send_signal(signal.SIGTERM)
            try:
                process.communicate(timeout=40)
            except subprocess.TimeoutExpired:
                process.kill()
                raise


def _drained(process: subprocess.Popen[str]) -> list[str]:
    """The log while it is written: a pipe that nobody reads would stop the server."""
    log: list[str] = []
    stream = process.stderr
    assert stream is not None
    process.stderr = None  # `communicate` reads it no more
    Thread(target=lambda: log.extend(iter(stream.readline, "")), daemon=True).start()
    return log


def people(folder: Path) -> Path:
    """A graph of two people who know each other."""
    graph = og.init(folder / "people.omni", schema=SCHEMA, durability="os")
    graph.load(
        [
            {"type": "Person", "data": {"name": "Ada", "age": 36, "day": "2024-02-29", "seen": "2024-01-02T03:04:05.678Z"}},
            {"type": "Person", "data": {"name": "Bob", "score": 0.5, "photo": "base64:aGVsbG8="}},
            {"edge": "Knows", "from": "Ada", "to": "Bob", "data": {"since": "2020-01-01"}},
        ]
    )
    graph.close()
    return folder / "people.omni"


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """One server for all who do not harm it."""
    with serving(people(tmp_path_factory.mktemp("served"))) as running:
        yield running


@pytest.fixture
def ada(server: Running) -> Iterator[httpx.Client]:
    """Somebody with a token."""
    with server.client("ada") as client:
        yield client
