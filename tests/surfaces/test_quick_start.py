"""What a command that asks one question imports and compiles: counted, because times depend on the machine."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.surfaces.calling import NAMES

from omnigraph.surfaces.cli.compiled_methods import CompiledMethods

WITHOUT = (
    *(f"omnigraph.{name}" for name in ("pipeline", "spark", "catalog.migration", "storage.reclaiming", "storage.rewriting")),
    *(f"omnigraph.engine.{name}" for name in ("analytics", "inspect", "blobs.settling", "schema.apply")),
    *(f"omnigraph.engine.{name}" for name in ("export.lines", "export.subgraph", "history.merge", "history.past")),
    *(f"omnigraph.engine.{name}" for name in ("load.read", "load.run.request", "upkeep.embedding", "upkeep.reconcile", "write")),
    *("omnigraph.storage.commits.publisher", "omnigraph.engine.execution.explain"),
    *("pandas", "polars", "pyspark", "rich", "yaml", "asyncio", "multiprocessing"),
)
"""What has nothing to do with a read. `storage.rewriting.derived` and `indexes` describe what tables have."""

ALLOWED = ("omnigraph.storage.rewriting", "omnigraph.storage.rewriting.derived", "omnigraph.storage.rewriting.indexes")
MOST = 240
"""Modules of ours that a query imports at most. 285 before those that only writes need were left for later."""

PROGRAM = """
import json, sys
from omnigraph.surfaces.cli import quick_start
quick_start.begin()
from omnigraph.surfaces.cli.main import run
code = run(sys.argv[1:])
print(json.dumps({"code": code, "modules": sorted(sys.modules), "compiled": len(quick_start._methods.compiled)}), file=sys.stderr)
quick_start.end(code)
"""


def started(cache: Path, *arguments: str) -> dict[str, Any]:
    environment = {**os.environ, "PYTHONPYCACHEPREFIX": str(cache)}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    ran = subprocess.run(
        [sys.executable, "-c", PROGRAM, *arguments], env=environment, capture_output=True, text=True, check=False
    )
    told: dict[str, Any] = json.loads(ran.stderr.splitlines()[-1])
    assert told["code"] == 0, ran.stderr
    return told


def test_a_query_imports_what_it_needs_and_compiles_methods_once(people: Path, tmp_path: Path) -> None:
    arguments = ("query", "--store", str(people), "-e", NAMES)
    first = started(tmp_path / "cache", *arguments)
    imported = first["modules"]
    assert [m for m in imported if any(m == w or m.startswith(f"{w}.") for w in WITHOUT) and m not in ALLOWED] == []
    assert len([m for m in imported if m.startswith("omnigraph")]) <= MOST
    assert first["compiled"] > 500
    assert started(tmp_path / "cache", *arguments)["compiled"] == 0
    (kept,) = (tmp_path / "cache").rglob("*.methods")
    damaged = bytearray(kept.read_bytes())
    damaged[len(damaged) // 2] ^= 1
    kept.write_bytes(damaged)
    assert started(tmp_path / "cache", *arguments)["compiled"] == first["compiled"], "a damaged file counts as empty"
    assert started(tmp_path / "cache", *arguments)["compiled"] == 0


def test_help_imports_little(tmp_path: Path) -> None:
    imported = started(tmp_path / "cache", "--help")["modules"]
    assert [m for m in imported if m.split(".")[0] in ("lance", "numpy", "pyarrow", "rich", "yaml", "msgspec")] == []
    assert len([m for m in imported if m.startswith("omnigraph")]) <= 30


@pytest.mark.parametrize("content", [b"", b"nonsense", b"i\x01\x00\x00\x00"])
def test_a_file_that_is_not_ours_counts_as_empty(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "x").write_bytes(content)
    kept = CompiledMethods(str(tmp_path / "x"))
    kept.read()
    scope: dict[str, Any] = {}
    kept.run("def f(a: int): return a + 1", {}, scope)
    assert (scope["f"](1), scope["f"].__annotations__, len(kept.compiled)) == (2, {"a": int}, 1)
    kept.write()
    again = CompiledMethods(str(tmp_path / "x"))
    again.read()
    again.run("def f(a: int): return a + 1", {}, scope)
    assert (scope["f"](2), again.compiled) == (3, {})


def test_where_nothing_can_be_written_nothing_is(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    kept = CompiledMethods(str(tmp_path / "file" / "below"))
    kept.run("x = 1", {}, {})
    kept.write()
    assert sorted(p.name for p in tmp_path.iterdir()) == ["file"]


LATE = """
import sys
from omnigraph.surfaces.cli import quick_start
quick_start.make_computations_late()
import pyarrow as pa, pyarrow.compute as pc
names = [n for n in sys.argv[1].split(",") if not hasattr(pc, n)]
extra = [n for n in ("hash_sum", "count_all", "__path__", "nonsense") if hasattr(pc, n)]
both = pc.and_(pa.array([True, False]), True).to_pylist()
print(names, extra, both, pc.sum(pa.array([1, 2])).as_py(), pa.table({"a": [2, 1]}).sort_by("a")["a"].to_pylist())
print(pc.equal.__doc__ is not None, len(pc.function_registry().list_functions()) > 200, "utf8_zfill" in vars(pc))
"""


def test_computations_of_arrow_that_are_written_late_are_all_there() -> None:
    import pyarrow.compute as pc

    names = ",".join(name for name in dir(pc) if not name.startswith("__"))
    ran = subprocess.run([sys.executable, "-c", LATE, names], capture_output=True, text=True, check=False)
    assert ran.stdout.splitlines() == ["[] [] [True, False] 3 [1, 2]", "True True True"], ran.stderr
