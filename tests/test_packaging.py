"""The package as people install it: the wheel holds what is needed, and a clean environment has a working command."""

from __future__ import annotations

import os
import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("dist")
    line = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", str(folder), str(ROOT)]
    subprocess.run(line, check=True, cwd=folder, timeout=600)
    (found,) = folder.glob("*.whl")
    return found


@pytest.fixture(scope="module")
def environment(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A clean environment with nothing but the wheel and what it asks for."""
    folder = tmp_path_factory.mktemp("clean")
    venv.create(folder)
    line = [sys.executable, "-m", "pip", "--python", str(folder), "install", "--quiet", "--disable-pip-version-check"]
    given = ["--no-compile", "--constraint", str(ROOT / "constraints.txt"), str(wheel)]
    subprocess.run([*line, *given], check=True, cwd=folder, timeout=1200)
    return folder


def test_the_wheel_holds_the_package_and_its_data(wheel: Path) -> None:
    names = set(zipfile.ZipFile(wheel).namelist())
    source = ROOT / "src"
    wanted = {
        str(p.relative_to(source)) for p in (source / "omnigraph").rglob("*") if p.is_file() and p.suffix not in (".pyc", ".orig")
    }
    assert wanted <= names
    assert {"omnigraph/py.typed", "omnigraph/visualization/page.js"} <= names
    assert {name.split("/")[0] for name in names if ".dist-info" not in name} == {"omnigraph"}


def test_a_clean_environment_has_a_working_command(environment: Path, tmp_path: Path) -> None:
    clean = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}

    def run(*line: str) -> str:
        return subprocess.run(line, check=True, cwd=tmp_path, env=clean, capture_output=True, text=True, timeout=300).stdout

    command = str(environment / "bin" / "omnigraph")
    python = str(environment / "bin" / "python")
    assert run(command, "version") == run(python, "-m", "omnigraph", "version")
    (tmp_path / "people.pg").write_text("node Person { name: String @key  age: I32? }\n")
    (tmp_path / "people.jsonl").write_text('{"type": "Person", "data": {"name": "Ada", "age": 36}}\n')
    run(command, "init", "people.omni", "--schema", "people.pg")
    run(command, "load", "people.omni", "--data", "people.jsonl", "--mode", "append")
    ask = "query q() { match { $p: Person } return { $p.name, $p.age } }"
    assert run(command, "query", "--store", "people.omni", "-e", ask, "--format", "csv") == "p.name,p.age\nAda,36\n"
    run(command, "view", "people.omni", "--out", "people.html", "--no-open")
    assert "<svg" in (tmp_path / "people.html").read_text()
    run(python, "-c", "import omnigraph as og; assert og.open('people.omni').query('''" + ask + "''').rows")
