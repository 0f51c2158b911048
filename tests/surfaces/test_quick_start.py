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

WITHOUT = (
    *(f"omnigraph.{name}" for name in ("pipeline", "spark", "catalog.migration", "storage.reclaiming", "storage.rewriting")),
    *(f"omnigraph.engine.{name}" for name in ("analytics", "inspect", "blobs.settling", "schema.apply")),
    *(f"omnigraph.engine.{name}" for name in ("export.lines", "export.subgraph", "history.merge", "history.past")),
    *(f"omnigraph.engine.{name}" for name in ("load.read", "load.run.request", "upkeep.embedding", "upkeep.reconcile", "write")),
    *("omnigraph.storage.commits.publisher", "omnigraph.engine.execution.explain"),
    *("pandas", "polars", "pyspark", "rich", "yaml", "asyncio", "multiprocessing", "obstore", "shutil", "secrets"),
    *("pyarrow.parquet", "pyarrow._parquet", "pyarrow._s3fs"),
)
"""What has nothing to do with a read. `storage.rewriting.derived` and `indexes` describe what tables have."""

ALLOWED = ("omnigraph.storage.rewriting", "omnigraph.storage.rewriting.derived", "omnigraph.storage.rewriting.indexes")
COMPILED = 12
"""Classes of ours of which a dataclass writes and compiles the constructor: those that change, and one that has an order."""

MOST = 271
"""Modules of ours that a query imports at most, at 0.2 ms each. 285 before those that only writes need were left for later; 240
before known ids, quantized vectors, hints and small files had modules of their own; 266 before the tail of a manifest was read
without Lance, which spares a query more than these take."""

PROGRAM = """
import dataclasses, json, sys
declared = []
made = dataclasses._process_class
def process(cls, init, *rest):
    declared.append((cls.__module__, init))
    return made(cls, init, *rest)
dataclasses._process_class = process
from omnigraph.surfaces.cli import quick_start
quick_start.begin()
from omnigraph.surfaces.cli.main import run
code = run(sys.argv[1:])
compiled = [m for m, init in declared if init and m.startswith("omnigraph")]
print(json.dumps({"code": code, "modules": sorted(sys.modules), "compiled": compiled}), file=sys.stderr)
quick_start.end(code)
"""


def started(cache: Path, *arguments: str) -> dict[str, Any]:
    environment = {**os.environ, "PYTHONPYCACHEPREFIX": str(cache), "HOME": str(cache)}  # nobody's own settings
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    ran = subprocess.run(
        [sys.executable, "-c", PROGRAM, *arguments], env=environment, capture_output=True, text=True, check=False
    )
    told: dict[str, Any] = json.loads(ran.stderr.splitlines()[-1])
    assert told["code"] == 0, ran.stderr
    return told


def test_a_query_imports_what_it_needs(people: Path, tmp_path: Path) -> None:
    told = started(tmp_path / "cache", "query", "--store", str(people), "-e", NAMES)
    imported = told["modules"]
    assert [m for m in imported if any(m == w or m.startswith(f"{w}.") for w in WITHOUT) and m not in ALLOWED] == []
    assert len([m for m in imported if m.startswith("omnigraph")]) <= MOST
    assert len(told["compiled"]) <= COMPILED, "see `model.frozen`"


THREADS = """
import os, sys
from omnigraph.surfaces.cli import quick_start
quick_start.begin()
quick_start.import_engine()
import numpy
print(len(os.listdir("/proc/self/task")), os.environ.get("OPENBLAS_NUM_THREADS"))
"""


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="counts threads where Linux lists them")
@pytest.mark.parametrize(("given", "told"), [(None, "None"), ("2", "2")])
def test_numbers_need_one_thread_unless_somebody_has_said_how_many(given: str | None, told: str) -> None:
    environment = {k: v for k, v in os.environ.items() if k != "OPENBLAS_NUM_THREADS"}
    if given is not None:
        environment["OPENBLAS_NUM_THREADS"] = given
    ran = subprocess.run([sys.executable, "-c", THREADS], env=environment, capture_output=True, text=True, check=True)
    counted, left = ran.stdout.split()
    assert left == told, "processes of ours decide for themselves"
    if given is None:
        assert int(counted) <= 2, "this one, and one of a library's"


def test_parquet_is_written_and_read_by_commands_that_skip_it_for_folders(people: Path, tmp_path: Path) -> None:
    import pyarrow.parquet as pq

    out = tmp_path / "names.parquet"
    started(tmp_path / "cache", "query", "--store", str(people), "-e", NAMES, "--format", "parquet", "--out", str(out))
    assert pq.read_table(out).num_rows > 0


def test_help_imports_little(tmp_path: Path) -> None:
    imported = started(tmp_path / "cache", "--help")["modules"]
    assert [m for m in imported if m.split(".")[0] in ("lance", "numpy", "pyarrow", "rich", "yaml", "msgspec")] == []
    assert len([m for m in imported if m.startswith("omnigraph")]) <= 34  # those of errors, and of what a door is, with two more
