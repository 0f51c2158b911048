"""A server that speaks every protocol, and no settings of whoever runs the tests."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
from tests.embedding.server import KEY, Server


@pytest.fixture(autouse=True)
def only_our_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(os.environ):
        if name.startswith("OMNIGRAPH_EMBED") or name.endswith("_API_KEY"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("TEST_KEY", KEY)


@pytest.fixture
def server() -> Iterator[Server]:
    with Server() as running:
        yield running
