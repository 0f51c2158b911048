"""A graph for agents, and agents for it: one process and one server for all tests that do not need their own."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.surfaces.http.conftest import TOKENS, serving
from tests.surfaces.mcp.agents import Agent, over_http, over_stdio, people


@pytest.fixture(scope="package")
def people_once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return people(tmp_path_factory.mktemp("agents"))


@pytest.fixture
def graph(people_once: Path, tmp_path: Path) -> Path:
    """A graph that a test may change."""
    return Path(shutil.copytree(people_once, tmp_path / "people.omni"))


@pytest.fixture(scope="module")
def stdio(people_once: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Agent]:
    copy = shutil.copytree(people_once, tmp_path_factory.mktemp("stdio") / "people.omni")
    with over_stdio(copy) as agent:
        yield agent


@pytest.fixture(scope="module")
def http(people_once: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Agent]:
    copy = Path(shutil.copytree(people_once, tmp_path_factory.mktemp("http") / "people.omni"))
    with serving(copy) as running, over_http(f"{running.url}/graphs/people/mcp", TOKENS["ada"]) as agent:
        yield agent


@pytest.fixture(params=["stdio", "http"])
def agent(request: pytest.FixtureRequest) -> Agent:
    """Somebody who calls tools, over each of the two ways."""
    found = request.getfixturevalue(request.param)
    assert isinstance(found, Agent)
    return found
