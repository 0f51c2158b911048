"""A call of the command line, a settings folder of its own, and a graph to work on."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from tests.surfaces.calling import Call, Ran, make_people

from omnigraph.surfaces.cli.main import run


@pytest.fixture
def og(capsysbinary: pytest.CaptureFixture[bytes], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Call:
    monkeypatch.setenv("OMNIGRAPH_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("OMNIGRAPH_PROFILE", raising=False)

    def call(*arguments: str | Path) -> Ran:
        code = run([str(a) for a in arguments])
        captured = capsysbinary.readouterr()
        return Ran(code, captured.out.decode("utf-8", "replace"), captured.err.decode())

    return call


@pytest.fixture(scope="session")
def people_once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("people") / "people.omni"
    make_people(folder)
    return folder


@pytest.fixture
def people(people_once: Path, tmp_path: Path) -> Path:
    """A graph that a test may change: a graph is a folder, so a copy is a graph."""
    return Path(shutil.copytree(people_once, tmp_path / "people.omni"))
