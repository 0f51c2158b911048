"""The command as a process of its own: pipes, Ctrl-C, terminals, completion, what is imported."""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.surfaces.calling import NAMES, PHOTO, make_people

import omnigraph as og_api

COMMAND = [sys.executable, "-m", "omnigraph"]


@pytest.fixture
def home(tmp_path: Path) -> dict[str, str]:
    return {**os.environ, "OMNIGRAPH_HOME": str(tmp_path / "home"), "TERM": "xterm"}


def call(*arguments: object, home: dict[str, str], input: bytes | None = None) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run([*COMMAND, *map(str, arguments)], env=home, capture_output=True, input=input, check=False, timeout=120)


def test_ctrl_c_leaves_the_graph_untouched_and_says_so(people: Path, home: dict[str, str]) -> None:
    """More than the pipe holds is written, so the command is reading; then somebody stops it."""
    with og_api.open(people) as g:
        head = g.commits(limit=1)[0].id
    arguments = [*COMMAND, "load", str(people), "--data", "-", "--mode", "append"]
    process = subprocess.Popen(arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=home)
    assert process.stdin is not None
    for number in range(5_000):
        record = {"type": "Person", "data": {"name": f"person {number}", "bio": "x" * 200}}
        process.stdin.write(json.dumps(record).encode() + b"\n")
    process.stdin.flush()
    process.send_signal(signal.SIGINT)
    assert process.wait(60) == 130
    process.stdin.close()
    assert process.stdout is not None
    assert process.stderr is not None
    told = process.stderr.read().decode()
    assert f"Stopped. Nothing was changed: branch `main` is still at {head}." in told
    assert "Traceback" not in told
    with og_api.open(people) as g:
        assert g.commits(limit=1)[0].id == head
        assert g.verify(deep=True).ok
    process.stdout.close()
    process.stderr.close()


@pytest.mark.slow
def test_ctrl_c_on_a_branch_that_was_to_be_made(people: Path, home: dict[str, str]) -> None:
    arguments = [*COMMAND, "load", str(people), "--data", "-", "--mode", "append", "--branch", "etl", "--from", "main"]
    with subprocess.Popen(arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=home) as process:
        assert process.stdin is not None
        for number in range(5_000):
            process.stdin.write(json.dumps({"type": "Person", "data": {"name": f"p{number}", "bio": "x" * 200}}).encode() + b"\n")
        process.stdin.flush()
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 130
        assert process.stderr is not None
        assert b"branch `etl` does not exist." in process.stderr.read()
    with og_api.open(people) as g:
        assert "etl" not in g.branches.list()


@pytest.mark.slow
def test_ctrl_c_while_indexes_are_completed(tmp_path: Path, home: dict[str, str]) -> None:
    """What was loaded is told as soon as it is committed; nobody has to wait for what comes after."""
    columns = [f"c{n}" for n in range(12)]
    schema = "node Row { name: String @key " + " ".join(f"{c}: String? @index" for c in columns) + " }"
    og_api.init(tmp_path / "g", schema=schema).close()
    lines = [
        ",".join(["name", *columns]),
        *(",".join([f"r{n}", *(f"{n * 7919 % 104729}" for _ in columns)]) for n in range(100_000)),
    ]
    (tmp_path / "Row.csv").write_text("\n".join(lines))
    arguments = [*COMMAND, "load", str(tmp_path / "g"), "--data", str(tmp_path / "Row.csv"), "--mode", "append"]
    with subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=home, text=True) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert "100,000 entities" in process.stdout.readline()
        time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 130
        told = process.stderr.read()
    with og_api.open(tmp_path / "g") as g:
        head = g.commits(limit=1)[0].id
        assert told.splitlines()[-1] == (
            f"Stopped while indexes were being completed. Commit {head} is there; `omnigraph optimize` completes them."
        )
        assert g.verify(deep=True).ok
        assert g.optimize().tables


@pytest.mark.slow
def test_bytes_go_through_a_pipe_as_they_are(people: Path, home: dict[str, str]) -> None:
    assert call("blob", "get", "node", "Person", "Ada", "photo", "--uri", people, home=home).stdout == PHOTO
    arrow = call("query", "--store", people, "-e", NAMES, "--format", "arrow", home=home)
    import pyarrow as pa

    assert pa.ipc.open_stream(arrow.stdout).read_all().num_rows == 3


@pytest.mark.slow
def test_an_export_is_piped_into_a_load(people: Path, tmp_path: Path, home: dict[str, str]) -> None:
    schema = tmp_path / "s.pg"
    schema.write_bytes(call("schema", "show", people, home=home).stdout)
    assert call("init", tmp_path / "b.omni", "--schema", schema, home=home).returncode == 0
    exported = call("export", people, home=home).stdout
    assert call("load", tmp_path / "b.omni", "--data", "-", "--mode", "append", home=home, input=exported).returncode == 0
    assert call("export", tmp_path / "b.omni", home=home).stdout == exported


@pytest.mark.slow
def test_a_reader_that_has_had_enough(people: Path, home: dict[str, str]) -> None:
    line = f"{sys.executable} -m omnigraph export {people} | head -c 10"
    ran = subprocess.run(["bash", "-c", line], env=home, capture_output=True, check=False, timeout=60)
    assert ran.stdout == b'{"edge":"K'
    assert b"Traceback" not in ran.stderr


def test_a_query_needs_no_pandas(people: Path) -> None:
    """pyarrow would import it for the first array it makes; that takes longer than the query."""
    code = (
        "import sys\n"
        "from omnigraph.surfaces.cli import quick_start\n"
        "from omnigraph.surfaces.cli.main import run\n"
        "quick_start.begin()\n"
        f"assert run(['query', '--store', {str(people)!r}, '-e', {NAMES!r}]) == 0\n"
        "assert 'pandas' not in sys.modules\n"
        "import pandas\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, timeout=60)


@pytest.mark.slow
def test_a_shell_completes_commands_and_options(home: dict[str, str]) -> None:
    def completed(*words: str) -> str:
        environment = {
            **home,
            "_OMNIGRAPH_COMPLETE": "bash_complete",
            "COMP_WORDS": " ".join(words),
            "COMP_CWORD": str(len(words) - 1),
        }
        return subprocess.run(COMMAND, env=environment, capture_output=True, text=True, check=False, timeout=60).stdout

    assert "plain,branch" in completed("omnigraph", "bra")
    assert "plain,merge" in completed("omnigraph", "branch", "m")
    assert "plain,--resolve" in completed("omnigraph", "branch", "merge", "--res")


# ── at a terminal ────────────────────────────────────────────────────────────────────────────────────────────────────────────


class Terminal:
    """A person at a terminal."""

    def __init__(self, descriptor: int, process: subprocess.Popen[bytes]) -> None:
        self._descriptor = descriptor
        self._process = process
        self.seen = ""

    def until(self, text: str) -> None:
        """Read until something is shown."""
        end = time.monotonic() + 60
        while text not in self.seen:
            assert time.monotonic() < end, self.seen
            self._read()

    def type(self, text: str) -> None:
        self.seen = ""
        os.write(self._descriptor, text.encode())

    def end(self, key: str = "") -> int:
        """Read until the command is done. A key is pressed until then: between two prompts a terminal may swallow it."""
        end = time.monotonic() + 60
        while self._process.poll() is None:
            assert time.monotonic() < end, self.seen
            os.write(self._descriptor, key.encode())
            self._read()
        self._read()
        return self._process.returncode

    def _read(self) -> None:
        import select

        if select.select([self._descriptor], [], [], 0.2)[0]:
            try:
                self.seen += os.read(self._descriptor, 65_536).decode()
            except OSError:  # the other end is closed
                return


@contextmanager
def terminal(*arguments: object, home: dict[str, str]) -> Iterator[Terminal]:
    ours, theirs = pty.openpty()
    line = [*COMMAND, *map(str, arguments)]
    process = subprocess.Popen(line, stdin=theirs, stdout=theirs, stderr=theirs, env=home, start_new_session=True)
    os.close(theirs)
    try:
        yield Terminal(ours, process)
    finally:
        process.kill()
        process.wait()
        os.close(ours)


@pytest.fixture
def divided(tmp_path: Path) -> Path:
    """Two conflicts between main and work: Bob's age, and Ada's."""
    folder = tmp_path / "divided.omni"
    make_people(folder)
    with og_api.open(folder) as g:
        g.mutate('query q() { update Person set { age: 50 } where name = "Bob" }')
        g.mutate('query q() { update Person set { age: 37 } where name = "Ada" }')
        g.mutate('query q() { update Person set { age: 38 } where name = "Ada" }', branch="work")
    return folder


def ages(folder: Path) -> list[int | None]:
    with og_api.open(folder) as g:
        return [row["p.age"] for row in g.query(NAMES).rows]


@pytest.mark.slow
def test_conflicts_are_settled_one_by_one(divided: Path, home: dict[str, str]) -> None:
    with terminal("branch", "merge", "work", "--uri", divided, "--interactive", home=home) as screen:
        screen.until("conflict 1 of 2")
        screen.until("[o]urs")
        screen.type("what?\r")
        screen.until("Write o, t, e or q.")
        screen.until("[o]urs")
        screen.type("e\r")
        screen.until("age [38]")
        screen.type("45\r")
        screen.until("conflict 2 of 2")
        screen.until("[o]urs")
        screen.type("t\r")
        screen.until("Do it?")
        assert "preview of work into main" in screen.seen
        screen.type("y\r")
        assert screen.end() == 0
        assert "merged work into main: merged" in screen.seen
    assert ages(divided)[:2] == [45, 42]


@pytest.mark.slow
@pytest.mark.parametrize("answers", [["q\r"], ["o\r", "o\r", "n\r"]])
def test_nothing_happens_until_somebody_says_so(divided: Path, home: dict[str, str], answers: list[str]) -> None:
    before = ages(divided)
    with terminal("branch", "merge", "work", "--uri", divided, "--interactive", home=home) as screen:
        for answer, prompt in zip(answers, ("[o]urs", "[o]urs", "Do it?"), strict=False):
            screen.until(prompt)
            screen.type(answer)
        assert screen.end() == 130
        assert "nothing was changed" in screen.seen
    assert ages(divided) == before


@pytest.mark.slow
def test_colour_at_a_terminal_only(people: Path, home: dict[str, str]) -> None:
    with terminal("diff", "main", "work", "--uri", people, home=home) as screen:
        assert screen.end() == 0
        assert "\x1b[32m" in screen.seen
    with terminal("diff", "main", "work", "--uri", people, home={**home, "NO_COLOR": "1"}) as screen:
        assert screen.end() == 0
        assert "\x1b[" not in screen.seen
    assert b"\x1b[" not in call("diff", "main", "work", "--uri", people, home=home).stdout


@pytest.mark.slow
def test_a_bar_at_a_terminal(people: Path, home: dict[str, str], tmp_path: Path) -> None:
    with terminal("export", people, "--out", tmp_path / "x.jsonl", home=home) as screen:
        assert screen.end() == 0
        assert "exporting" in screen.seen
        assert "entities" in screen.seen
