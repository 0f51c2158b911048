"""Files for running a server: they name programs, options and variables that exist."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from omnigraph.surfaces.http.process.command import serve, server
from omnigraph.surfaces.http.process.settings import ENVIRONMENT

DEPLOY = Path(__file__).parent.parent / "deploy"
PROGRAMS = {"omnigraph-server": server, "omnigraph serve": serve}
OPTIONS = {
    program: {name for parameter in command.params for name in parameter.opts if name.startswith("--")}
    for program, command in PROGRAMS.items()
}
STARTED = re.compile(r"^(?:ExecStart=| *exec omnigraph)", re.MULTILINE)


def words(line: str) -> str:
    """A line that starts a program, as one would type it."""
    return re.sub(r'[",\[\]\s]+', " ", line)


STARTS = {"Containerfile": 0, "entrypoint.sh": 2, "omnigraph.service": 1, "omnigraph-cluster.service": 1, "nginx.conf": 0}
"""How many programs of ours each file starts."""


@pytest.mark.parametrize("name", STARTS)
def test_what_files_name_exists(name: str) -> None:
    text = (DEPLOY / name).read_text(encoding="utf-8")
    assert set(re.findall(r"OMNIGRAPH_[A-Z_]+", text)) <= ENVIRONMENT.keys()
    started = [words(line) for line in text.splitlines() if STARTED.match(line)]
    assert len(started) == STARTS[name]
    for line in started:
        program = next(program for program in PROGRAMS if re.search(rf"[/ ]{program} ", line))
        assert set(re.findall(r"--[a-z-]+", line)) <= OPTIONS[program], line


def test_agents_can_write() -> None:
    """Without a policy `omnigraph-server` only reads: a setup of a single graph with it is of no use to those who write."""
    for name in ("entrypoint.sh", "omnigraph.service"):
        line = next(words(line) for line in (DEPLOY / name).read_text(encoding="utf-8").splitlines() if STARTED.match(line))
        assert "omnigraph serve " in line
        assert "--read-only" not in line


@pytest.mark.parametrize(
    ("arguments", "variables", "code", "said"),
    [
        ((), {}, 64, "OMNIGRAPH_CLUSTER is not set"),
        ((), {"OMNIGRAPH_CLUSTER": ""}, 64, "OMNIGRAPH_CLUSTER is not set"),
        ((), {"OMNIGRAPH_CLUSTER": "s3://b/c"}, 0, "omnigraph-server --cluster s3://b/c --log-format json at 0.0.0.0:8080"),
        (
            (),
            {"OMNIGRAPH_CLUSTER": "c", "OMNIGRAPH_BIND": "[::]:9"},
            0,
            "omnigraph-server --cluster c --log-format json at [::]:9",
        ),
        (("a b.omni", "--read-only"), {}, 0, "omnigraph serve --log-format json a b.omni --read-only at 0.0.0.0:8080"),
    ],
)
def test_what_a_container_runs(
    tmp_path: Path, arguments: tuple[str, ...], variables: dict[str, str], code: int, said: str
) -> None:
    for program in ("omnigraph", "omnigraph-server"):
        (tmp_path / program).write_text(f'#!/bin/sh\necho "{program} $* at $OMNIGRAPH_BIND"\n')
        (tmp_path / program).chmod(0o755)
    environment = {"PATH": f"{tmp_path}:/usr/bin:/bin", **variables}
    command = ["/bin/sh", str(DEPLOY / "entrypoint.sh"), *arguments]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=30, check=False)
    assert (done.returncode, said in done.stdout + done.stderr) == (code, True), done


def test_tokens_are_read_where_they_are_replaced() -> None:
    """What systemd copies at the start (`LoadCredential=`) stays as it was when the unit is reloaded."""
    settings = [
        line for line in (DEPLOY / "omnigraph.service").read_text(encoding="utf-8").splitlines() if not line.startswith("#")
    ]
    assert not any(line.startswith(("LoadCredential", "SetCredential", "DynamicUser")) for line in settings)
    assert "Environment=OMNIGRAPH_SERVER_BEARER_TOKENS_FILE=/etc/omnigraph/tokens.json" in settings
    assert "User=omnigraph" in settings


@pytest.mark.parametrize("name", ["omnigraph.service", "omnigraph-cluster.service"])
def test_the_unit_is_one_that_systemd_takes(tmp_path: Path, name: str) -> None:
    analyze = shutil.which("systemd-analyze")
    if analyze is None:
        pytest.skip("systemd is not installed here")
    unit = tmp_path / name
    unit.write_text(re.sub("/opt/omnigraph/bin/omnigraph(-server)? ", "/bin/true ", (DEPLOY / name).read_text()))
    done = subprocess.run([analyze, "verify", "--man=no", str(unit)], capture_output=True, text=True, timeout=60, check=False)
    assert name not in done.stderr, done.stderr
