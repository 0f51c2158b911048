"""The shape of the code itself: layers, lightness, size, documentation."""

from __future__ import annotations

import ast
import importlib
import os
import pkgutil
import re
import shutil
import statistics
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

import omnigraph

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "src" / "omnigraph"
MODULES = sorted(PACKAGE.rglob("*.py"))
EXTRAS = {"omnigraph.memory.langgraph": "langgraph", "omnigraph.memory.llamaindex": "llama_index"}
"""Modules that are nothing without a package, which need not be installed."""
HEAVY = ("lance", "pyarrow", "numpy", "pandas", "pyspark", "fastapi")


def lint_imports(folder: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", "from importlinter.cli import lint_imports_command as c; c()", "--no-cache"]
    environment = {**os.environ, "PYTHONPATH": str(folder / "src")}
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


@pytest.fixture
def copy_of_the_package(tmp_path: Path) -> Path:
    shutil.copytree(PACKAGE, tmp_path / "src" / "omnigraph", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    return tmp_path


def test_layers_hold(copy_of_the_package: Path) -> None:
    result = lint_imports(copy_of_the_package)
    assert result.returncode == 0, result.stdout + result.stderr


@pytest.mark.parametrize(
    ("module", "statement"),
    [
        ("errors.py", "import omnigraph.model.types"),
        ("model/types.py", "import omnigraph.language.source"),
        ("language/source.py", "import omnigraph.catalog.shape"),
        ("language/source.py", "import pyarrow"),
        ("catalog/shape.py", "import omnigraph.surfaces.cli.output"),
        ("catalog/shape.py", "import rich"),
        ("engine/graph.py", "import omnigraph.pipeline.session"),
        ("engine/graph.py", "import pyspark"),
        ("pipeline/tasks.py", "import lance"),
        ("storage/files/place.py", "import omnigraph.storage.tables.table"),
        ("storage/tables/table.py", "import omnigraph.storage.commits.manifest"),
        ("engine/snapshot/nodes.py", "import omnigraph.engine.execution.run"),
        ("engine/write/commit.py", "import omnigraph.engine.history.merge"),
        ("engine/load/read/json_lines/parse.py", "import omnigraph.engine.load.run.request"),
        ("engine/load/read/rows/types.py", "import omnigraph.engine.load.read.inputs.sources"),
        ("engine/load/read/delimited/reader.py", "import omnigraph.engine.load.read.columnar.frames"),
        ("surfaces/cli/commands/query.py", "import omnigraph.engine.graph"),
        ("surfaces/cli/commands/query.py", "def late():\n    from omnigraph.storage.graph_store import GraphStore"),
        ("visualization/drawings.py", "import omnigraph.pipeline.load"),
        ("surfaces/view.py", "import omnigraph.surfaces.cli.output"),
        ("surfaces/cli/commands/view.py", "def late():\n    from omnigraph.surfaces.view import view"),
        ("service/operations/query.py", "import omnigraph.service.service"),
        ("service/service.py", "import click"),
        ("policy/port.py", "import omnigraph.language.source"),
        ("engine/graph.py", "import omnigraph.service.service"),
    ],
)
def test_a_wrong_import_is_caught(copy_of_the_package: Path, module: str, statement: str) -> None:
    path = copy_of_the_package / "src" / "omnigraph" / module
    path.write_text(path.read_text() + f"\n{statement}\n")
    result = lint_imports(copy_of_the_package)
    assert result.returncode != 0, result.stdout
    assert "BROKEN" in result.stdout


def test_a_module_outside_of_every_room_is_caught(copy_of_the_package: Path) -> None:
    (copy_of_the_package / "src/omnigraph/engine/loose.py").write_text('"""A module without a room."""\n')
    assert "loose" in lint_imports(copy_of_the_package).stdout


@pytest.mark.parametrize(
    "arguments",
    [
        ["--help"],
        ["version"],
        ["lint", "--schema", "examples/company-memory/schema.pg", "--query", "examples/company-memory/queries/search.gq"],
        [
            "lint",
            "--json",
            "--schema",
            "examples/company-memory/schema.pg",
            "--query",
            "examples/company-memory/queries/beyond.gq",
        ],
        ["fmt", "--check", "examples"],
        ["schema", "show", "examples/company-memory/schema.pg"],
    ],
    ids=" ".join,
)
def test_light_commands_import_nothing_heavy(arguments: list[str]) -> None:
    code = (
        "import sys; from omnigraph.surfaces.cli.main import run; "
        f"code = run({arguments!r}); heavy = [m for m in {HEAVY!r} if m in sys.modules]; "
        "print(heavy, file=sys.stderr); sys.exit(code or bool(heavy))"
    )
    result = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stdout + result.stderr


def test_modules_are_small() -> None:
    lines = {path: len(path.read_text().splitlines()) for path in MODULES}
    assert {str(p): n for p, n in lines.items() if n > 600} == {}
    assert statistics.median(lines.values()) <= 200


def test_no_module_is_called_after_nothing() -> None:
    vague = {"utils", "util", "helpers", "manager", "core", "base", "common", "misc"}
    assert [str(p) for p in MODULES if p.stem in vague] == []


def test_every_module_says_what_it_owns() -> None:
    assert [str(p) for p in MODULES if not ast.get_docstring(ast.parse(p.read_text()))] == []


def test_public_functions_and_errors_are_documented() -> None:
    """Functions and exception classes that other modules may use carry a docstring; a dataclass may speak by its fields."""
    missing = []
    for path in MODULES:
        for item in ast.parse(path.read_text()).body:
            if not isinstance(item, ast.FunctionDef | ast.ClassDef) or item.name.startswith("_"):
                continue
            if isinstance(item, ast.ClassDef) and item.decorator_list:
                continue
            if ast.get_docstring(item) is None and not _speaks_for_itself(path, item):
                missing.append(f"{path.relative_to(PACKAGE)}:{item.lineno} {item.name}")
    assert missing == []


def _speaks_for_itself(path: Path, item: ast.FunctionDef | ast.ClassDef) -> bool:
    closed_set = isinstance(item, ast.ClassDef) and any(getattr(b, "id", "") in ("Enum", "NamedTuple") for b in item.bases)
    lint_rule = path.parent.name == "rules"  # documented by its module
    to_json = item.name.endswith("_json")
    return closed_set or lint_rule or to_json


def test_every_module_can_be_imported() -> None:
    missing = {module for module, needed in EXTRAS.items() if find_spec(needed) is None}
    for module in pkgutil.walk_packages(omnigraph.__path__, "omnigraph."):
        if not module.name.endswith("__main__") and module.name not in missing:
            importlib.import_module(module.name)


def _named_in_agents(heading: str) -> set[str]:
    """The first column of the table below a heading of AGENTS.md."""
    _, _, rest = (ROOT / "AGENTS.md").read_text().partition(f"| {heading} |")
    rows = rest.partition("\n\n")[0]
    return set(re.findall(r"`([\w/.]+)`", " ".join(row.split("|")[1] for row in rows.splitlines() if row.startswith("| `"))))


def _parts_of(folder: Path) -> set[str]:
    rooms = {p.name for p in folder.iterdir() if p.is_dir() and p.name != "__pycache__"}
    return rooms | {p.name for p in folder.glob("*.py") if p.name != "__init__.py"}


OF_ERRORS = ("errors.py", "conflict_errors.py", "graph_error.py", "hints.py", "error_details.py")


def test_agents_file_has_a_line_for_every_package_and_room() -> None:
    packages = {p for p in _parts_of(PACKAGE) if not p.endswith(".py")} | set(OF_ERRORS)
    assert _named_in_agents("package under `src/omnigraph/`") == packages
    assert _named_in_agents("room of `storage`") == _parts_of(PACKAGE / "storage")
    assert _named_in_agents("room of `engine`") == _parts_of(PACKAGE / "engine")
    assert _named_in_agents("room of `cluster`") == _parts_of(PACKAGE / "cluster")
    assert _named_in_agents("room of `engine/load/read`") == _parts_of(PACKAGE / "engine" / "load" / "read")


def test_agents_file_says_where_things_are_changed_and_they_are_there() -> None:
    _, _, section = (ROOT / "AGENTS.md").read_text().partition("## Where do I change …?")
    rows = [row for row in section.partition("\n## ")[0].splitlines() if row.startswith("| a")]
    assert len(rows) >= 11
    paths = [path for row in rows for path in re.findall(r"`([\w./]+/[\w./]*|\w+\.py)`", row) if path != "__init__.py"]
    folders = {path: ROOT if path.startswith(("tests/", "docs/")) else PACKAGE for path in paths}
    assert [path for path, folder in folders.items() if not (folder / path).exists()] == []


def test_no_test_patches_a_module_by_its_path() -> None:
    """A path in a string is not followed when a module moves: patch the module itself (`setattr(module, "name", …)`)."""
    pattern = re.compile(r"(?:patch|setattr|setitem)\(\s*f?[\"']omnigraph[.]")
    assert [str(p) for p in sorted((ROOT / "tests").rglob("*.py")) if pattern.search(p.read_text())] == []


def test_no_function_calls_a_phrase_by_a_name_that_it_gave_to_something_else() -> None:
    """A value of an untyped library may be called as far as mypy knows."""
    phrases = {n.name for n in ast.parse((PACKAGE / "model" / "phrases.py").read_text()).body if isinstance(n, ast.FunctionDef)}
    wrong = []
    for path in MODULES:
        for function in ast.walk(ast.parse(path.read_text())):
            if isinstance(function, ast.FunctionDef):
                names = [node for node in ast.walk(function) if isinstance(node, ast.Name)]
                called = {c.func.id for c in ast.walk(function) if isinstance(c, ast.Call) and isinstance(c.func, ast.Name)}
                rebound = {name.id for name in names if isinstance(name.ctx, ast.Store)} & called & phrases
                wrong += [(path.name, function.name, name) for name in sorted(rebound)]
    assert wrong == []


def test_the_repository_names_no_registry() -> None:
    pattern = re.compile(r"files\.pythonhosted|pypi\.org|registry\.npmjs|repo\d?\.maven")
    tracked = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=False).stdout.split()
    texts = [ROOT / name for name in tracked if not name.endswith((".png", ".zip"))]
    assert [str(p) for p in texts if p.exists() and p != Path(__file__) and pattern.search(p.read_text(errors="ignore"))] == []
