"""A real standalone cluster of Spark on this machine: a master and two workers, each a process of its own."""

from __future__ import annotations

import ctypes
import fcntl
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyspark

from omnigraph.pipeline.java import find_java
from omnigraph.pipeline.session import _quick_options

_ON_DEATH_OF_PARENT = 1

_LEAVES_AN_ARCHIVE = """
import json
from pathlib import Path
import omnigraph as og
from omnigraph import spark as ogs
Path("things.jsonl").write_text("".join(json.dumps({"type": "Thing", "data": {"name": f"n{n}", "i": n}}) + "\\n" for n in range(9)))
g = og.init("g", schema="node Thing { name: String @key  i: I32? }", durability="os")
spark = ogs.session(master="local[1]", quick=True, config={"spark.sql.shuffle.partitions": "1"})
ogs.load(g, "things.jsonl", spark=spark)
rows = ogs.table(g, "Thing", spark=spark).selectExpr("name", "i % 3 as k")
rows.groupBy("k").count().join(rows, "k").orderBy("name").toArrow()
java = spark.sparkContext._gateway.proc
spark.stop()
java.stdin.close()
java.wait()
"""

HOSTS = ("127.0.0.1", "127.0.0.2")
"""Two addresses, or Spark would not start a slow task a second time."""


def eventually(what: Callable[[], object], seconds: float = 240) -> None:
    """Wait until something is so."""
    end = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.05)


def archive_of_classes(folder: Path) -> None:
    """Have the archive that Java takes the classes of Spark from, or a session that makes one as it ends.

    A Java without it works for 25 seconds more, and a run of the tests starts some fifteen of them. The session that tests share ends
    last, so on a new machine none of them would have one.
    """
    with (Path(tempfile.gettempdir()) / "omnigraph-archive.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if "SharedArchiveFile" in _quick_options(find_java()):
            return
        with driver(_LEAVES_AN_ARCHIVE, folder) as first:
            first.wait()


def quick_java() -> str:
    """Options for each of the many Javas of a cluster: compile less, and take classes from the archive if a session has left one.

    Only a session makes one: these are killed, and would leave half of it.
    """
    options = _quick_options(find_java())
    return options if "SharedArchiveFile" in options else "-XX:TieredStopAtLevel=1"


def free_port(host: str) -> int:
    with socket.socket() as probe:
        probe.bind((host, 0))
        return int(probe.getsockname()[1])


def _end_with_me() -> None:
    """A process that does not outlive the tests, however these end."""
    ctypes.CDLL(None).prctl(_ON_DEATH_OF_PARENT, signal.SIGKILL)


class Cluster:
    """A running cluster."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._processes: list[subprocess.Popen[bytes]] = []
        port = free_port(HOSTS[0])
        self.master = f"spark://{HOSTS[0]}:{port}"
        self._start(
            "master",
            "org.apache.spark.deploy.master.Master",
            HOSTS[0],
            "--port",
            str(port),
            "--webui-port",
            str(free_port(HOSTS[0])),
        )
        self._workers: list[str] = []
        for number, host in enumerate(HOSTS):
            its_port = free_port(host)
            self._workers.append(f"spark://Worker@{host}:{its_port}")
            more = (
                "--port",
                str(its_port),
                "--cores",
                "1",
                "--memory",
                "1g",
                "--work-dir",
                str(folder / f"work{number}"),
                "--webui-port",
                str(free_port(host)),
            )
            self._start(f"worker{number}", "org.apache.spark.deploy.worker.Worker", host, *more, self.master)
        eventually(lambda: (folder / "master.log").read_text().count("Registering worker") == len(HOSTS))

    def _start(self, name: str, class_: str, host: str, *more: str) -> None:
        home = str(Path(pyspark.__file__).parent)
        log4j = self._folder / "log4j2.properties"
        log4j.write_text(
            "rootLogger.level = info\nrootLogger.appenderRef.stderr.ref = stderr\nappender.stderr.type = Console\n"
            "appender.stderr.name = stderr\nappender.stderr.target = SYSTEM_ERR\n"
            "appender.stderr.layout.type = PatternLayout\nappender.stderr.layout.pattern = %d %p %c: %m%n\n"
        )
        environment = {
            **os.environ,
            "SPARK_HOME": home,
            "JAVA_HOME": find_java().home,
            "SPARK_LOCAL_IP": host,
            "SPARK_DAEMON_MEMORY": "256m",
            "SPARK_DAEMON_JAVA_OPTS": f"-Dlog4j2.configurationFile={log4j} {quick_java()}",
            "SPARK_LOCAL_DIRS": str(self._folder / f"{name}-local"),
        }
        with (self._folder / f"{name}.log").open("wb") as log:
            command = [f"{home}/bin/spark-class", class_, "--host", host, *more]
            started = subprocess.Popen(
                command, env=environment, stdout=log, stderr=log, start_new_session=True, preexec_fn=_end_with_me
            )
        self._processes.append(started)

    def executors(self) -> list[int]:
        """Process ids of the executors of this cluster."""
        found = []
        for entry in Path("/proc").iterdir():
            try:
                command = (entry / "cmdline").read_bytes().decode(errors="replace") if entry.name.isdigit() else ""
            except OSError:
                continue
            if "CoarseGrainedExecutorBackend" in command and any(url in command for url in self._workers):
                found.append(int(entry.name))
        return found

    def stop(self) -> None:
        for process in reversed(self._processes):
            os.killpg(process.pid, signal.SIGTERM)
        for process in self._processes:
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()


@contextmanager
def cluster(folder: Path) -> Iterator[Cluster]:
    """A cluster for as long as the block runs."""
    folder.mkdir(exist_ok=True)
    running = Cluster(folder)
    try:
        yield running
    finally:
        running.stop()


class Driver:
    """A Python process that runs some code and says facts, each as a line of JSON."""

    def __init__(self, code: str, folder: Path) -> None:
        self._out, self._err = folder / "said.txt", folder / "errors.txt"
        root = Path(__file__).parent.parent.parent
        environment = {**os.environ, "PYTHONPATH": f"{root / 'src'}:{root}", "TMPDIR": str(folder)}
        with self._out.open("wb") as out, self._err.open("wb") as err:
            command = [sys.executable, "-c", code]
            self._process = subprocess.Popen(
                command, cwd=folder, env=environment, stdout=out, stderr=err, preexec_fn=_end_with_me
            )

    def said(self) -> dict[str, Any]:
        """All facts so far."""
        facts: dict[str, Any] = {}
        for line in self._out.read_text().splitlines(keepends=True):
            if line.endswith("\n"):
                facts |= json.loads(line)
        return facts

    def errors(self) -> str:
        return self._err.read_text()[-3000:]

    def is_over(self) -> bool:
        return self._process.poll() is not None

    def wait(self) -> None:
        """Until it ends well."""
        assert self._process.wait(600) == 0, self.errors()

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()


@contextmanager
def driver(code: str, folder: Path) -> Iterator[Driver]:
    """A driver that does not outlive the block."""
    started = Driver(code, folder)
    try:
        yield started
    finally:
        started.kill()
