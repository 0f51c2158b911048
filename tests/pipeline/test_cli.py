"""`omnigraph load` as a process of its own, by this process and by Spark: the same graph, words and exit codes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.engine.load.loading import EVERYTHING, comparable, graph, written

from omnigraph.errors import SparkUnavailable
from omnigraph.pipeline import load as pipeline_load
from omnigraph.surfaces.cli.main import run

pytestmark = pytest.mark.slow

RECORDS: list[object] = [
    *({"type": "Thing", "data": {"name": f"t{n}", "i32": n}} for n in range(50)),
    *({"edge": "Near", "from": f"t{n}", "to": f"t{n + 1}"} for n in range(49)),
]
WRONG: list[object] = [
    "nonsense",
    {"type": "Thing", "data": {"name": "big", "i32": 1000}},
    {"edge": "Near", "from": "t0", "to": "big"},
]


def omnigraph(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "omnigraph", *arguments]
    environment = {**os.environ, "TMPDIR": str(folder)}
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


def test_load_by_either_engine(tmp_path: Path) -> None:
    """By Spark with a report beside; the path of the data is relative, and Spark's own words stay out of the terminal."""
    here, there = graph(tmp_path, EVERYTHING), graph(tmp_path, EVERYTHING)
    written(tmp_path / "all.jsonl", [*RECORDS, *WRONG])
    names = [Path(g._store.place.uri).name for g in (here, there)]
    refused = omnigraph(tmp_path, "load", names[0], "--data", "all.jsonl", "--mode", "merge", "--engine", "auto")
    assert refused.returncode == 1
    assert "all.jsonl:100: " in refused.stderr
    assert comparable(here) == []
    told = []
    for name, engine in zip(names, ("auto", "spark"), strict=True):
        given = ("load", name, "--data", "all.jsonl", "--mode", "merge", "--engine", engine, "--quarantine", f"{engine}-bad")
        more = ("--master", "local[1]", "--conf", "spark.sql.shuffle.partitions=1") if engine == "spark" else ()
        ran = omnigraph(tmp_path, *given, *more, "--json", "--quiet")
        assert (ran.returncode, ran.stderr) == (0, "")
        said = json.loads(ran.stdout)
        told.append((said["nodes"], said["edges"], said["total_entities"], said["quarantined"], said["commit"]["operation"]))
    assert (
        told[0]
        == told[1]
        == ([{"name": "Thing", "entities_loaded": 50}], [{"name": "Near", "entities_loaded": 49}], 99, 3, "load")
    )
    kept = [[file.read_text() for file in (tmp_path / f"{engine}-bad").iterdir()] for engine in ("auto", "spark")]
    assert len(kept[0]) == 1
    assert kept[0] == kept[1]
    assert comparable(here) == comparable(there)


def test_master_and_settings_are_those_of_the_session(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    asked: list[dict[str, object]] = []

    def session(**given: object) -> object:
        asked.append(given)
        raise SparkUnavailable("not here")

    monkeypatch.setattr(pipeline_load, "session", session)
    name = graph(tmp_path, EVERYTHING)._store.place.uri
    data = str(written(tmp_path / "all.jsonl", RECORDS))
    load = ["load", name, "--data", data, "--mode", "merge"]
    conf = ["--conf", "spark.executor.memory=4g", "--conf", "spark.driver.extraJavaOptions=-Da=b"]
    wanted = {"spark.executor.memory": "4g", "spark.driver.extraJavaOptions": "-Da=b"}
    for given, master, config in (
        (["--master", "spark://h:7077"], "spark://h:7077", {}),
        (["--master", "local[3]", *conf, "--engine", "spark"], "local[3]", wanted),
        (conf, None, wanted),
    ):
        assert run([*load, *given]) == 1
        assert "not here" in capsys.readouterr().err
        assert asked.pop() == {"master": master, "config": config, "quick": True}
    for wrong, code in ((["--master", "local", "--engine", "local"], 2), (["--conf", "nonsense"], 1), (["--conf", "=4"], 1)):
        assert run([*load, *wrong]) == code
    assert asked == []
