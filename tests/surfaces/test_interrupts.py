"""Ctrl-C at every moment of a command: exit code 130, and nothing that looks like an accident."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

AT_EVERY_IMPORT = """
import os, signal, sys

log, told = os.open(sys.argv[1], os.O_WRONLY | os.O_APPEND | os.O_CREAT), os.open(sys.argv[2], os.O_WRONLY | os.O_APPEND | os.O_CREAT)


class Everywhere:
    '''At each module that is about to be imported, a copy of this process is interrupted.'''

    def find_spec(self, name, path=None, target=None):
        copy = os.fork()
        if not copy:
            sys.meta_path.remove(self)
            os.dup2(told, 1), os.dup2(told, 2)
            os.kill(os.getpid(), signal.SIGINT)
            return None
        _, status = os.waitpid(copy, 0)
        os.write(log, f"{name} {os.waitstatus_to_exitcode(status)}\\n".encode())


from omnigraph.surfaces.cli.start import main

sys.argv = ["omnigraph", *sys.argv[3:]]
import omnigraph.errors

begun = []
real = signal.signal


def first(*wanted):
    real(*wanted)
    if not begun:
        begun.append(sys.meta_path.insert(0, Everywhere()))


signal.signal = first
main()
"""


@pytest.mark.parametrize("command", [["version"], ["lint", "--schema", "{pg}", "--query", "{gq}"]], ids=lambda c: c[0])
def test_an_interrupt_at_any_import_ends_the_command_with_130(tmp_path: Path, command: list[str]) -> None:
    (tmp_path / "a.pg").write_text("node P { k: String @key }")
    (tmp_path / "a.gq").write_text("query q() { match { $p: P } return { $p.k } }")
    line = [word.format(pg=tmp_path / "a.pg", gq=tmp_path / "a.gq") for word in command]
    log, told = tmp_path / "log", tmp_path / "told"
    script = [sys.executable, "-c", AT_EVERY_IMPORT, str(log), str(told), *line]
    ran = subprocess.run(script, capture_output=True, text=True, timeout=120, check=False)
    assert ran.returncode == 0, ran.stderr
    codes = dict(text.rsplit(" ", 1) for text in log.read_text().splitlines())
    assert len(codes) > 40, "click and the command are imported after the first line of ours"
    assert "click" in codes
    assert {name: code for name, code in codes.items() if code != "130"} == {}
    assert set(told.read_text().splitlines()) <= {"", "Stopped; nothing was changed."}


def test_interrupts_that_were_ignored_stay_ignored() -> None:
    """`nohup`, and jobs in the background of a script."""
    code = "import os, signal\nfrom omnigraph.surfaces.cli.start import main\nos.kill(os.getpid(), signal.SIGINT)\nmain()"

    def ignore() -> None:
        signal.signal(signal.SIGINT, signal.SIG_IGN)

    ran = subprocess.run(
        [sys.executable, "-c", code, "version"],
        capture_output=True,
        preexec_fn=ignore,
        timeout=60,
        check=False,
    )
    assert ran.returncode == 0
