"""What a terminal is sent: nothing that it would obey, whoever wrote it into a graph. What a pipe is sent: every byte as it is."""

from __future__ import annotations

import json
import os
import pty
import re
import subprocess
import sys
from pathlib import Path

import pytest
from msgspec.structs import replace
from tests.surfaces.test_contract import CALLS

import omnigraph as og
from omnigraph.cluster.config.resources import Resource
from omnigraph.cluster.ledger.records import Lock
from omnigraph.cluster.ledger.state import Ledger, Status, pretty
from omnigraph.model.printable import printable
from omnigraph.service.audit import AuditRecord
from omnigraph.service.audit_log import FileSink
from omnigraph.surfaces.cli import output
from omnigraph.surfaces.cli.main import run

EVIL = "\x1b[31mEvil\u202e\x9b1m\x07\rend"
SCHEMA = "node Person { name: String @key  bio: String?  photo: Blob? }\nedge Knows: Person -> Person\n"
FORBIDDEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]|\r(?!\r*\n)")
ALL = "query all() { match { $p: Person } return { $p.name, $p.bio } }"
CHILD = """
import json, sys
from omnigraph.surfaces.cli.main import run
for call in json.load(open(sys.argv[1])):
    print("##", json.dumps(call), flush=True)
    print("==", run(call), flush=True)
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A graph in which every text that somebody can choose is hostile, also those that are refused today."""
    folder = tmp_path_factory.mktemp("terminal")
    graph = og.init(folder / "g", SCHEMA)
    graph.branches.create("work")
    for branch, name in (("main", EVIL), ("work", f"{EVIL} too")):
        data = {"name": name, "bio": f"{EVIL} once", "photo": "base64:G1szMW0="}
        graph.load([{"type": "Person", "data": data}], branch=branch)
        change = "query set($n: String) { update Person set { bio: $n } where name = $n }"
        og.Graph.mutate.__wrapped__(graph, change, {"n": name}, branch=branch, actor=EVIL, message=f"{EVIL}\nfaked line")  # type: ignore[attr-defined]
    graph.tags.create("kept", "main")
    (folder / f"{EVIL}.gq").write_text(f'query q() {{ match {{ $p: Person {{ name: "{EVIL}" }} $p: Nope }} return {{ $p.x }} }}')
    (folder / f"{EVIL}.pg").write_text(f"node Person {{ name: String @key }} // {EVIL}\n node {EVIL}")
    (folder / f"{EVIL}.jsonl").write_text(json.dumps({"type": "Person", "data": {"name": EVIL, "nope": EVIL}}) + "\n")
    (folder / f"{EVIL}.yaml").write_text(json.dumps({"version": 1, "rules": [{"id": EVIL, EVIL: EVIL}]}))
    for name, config in (("cluster", {"metadata": {"name": EVIL}, EVIL: EVIL}), ("kept", {}), ("locked", {})):
        (folder / f"{EVIL} {name}" / "__cluster").mkdir(parents=True)
        (folder / f"{EVIL} {name}" / "cluster.yaml").write_text(json.dumps({"version": 1, **config}))
    ledger = replace(Ledger.empty(), state_revision=1).with_resource("graph.old", Resource(""))
    ledger = ledger.with_status("graph.old", Status("drifted", (), EVIL))
    (folder / f"{EVIL} kept" / "__cluster" / "state.json").write_bytes(ledger.encoded())
    lock = Lock(1, EVIL, EVIL, "2026-05-01T12:00:00Z", 7)
    (folder / f"{EVIL} locked" / "__cluster" / "lock.json").write_bytes(pretty(lock))
    sink = FileSink(folder / f"{EVIL} audit")
    sink.write(AuditRecord("write", "2026-05-01T12:00:00.000Z", EVIL, EVIL, "http", "mutate", EVIL, "done", "change", EVIL))
    return folder


def calls(folder: Path) -> list[list[str]]:
    """Every command, by its own name, on the hostile graph; and ways to fail."""
    filled = {
        "graph": str(folder / "g"), "new": str(folder / f"{EVIL} new"), "pg": str(folder / f"{EVIL}.pg"),
        "gq": str(folder / f"{EVIL}.gq"), "jsonl": str(folder / f"{EVIL}.jsonl"), "out": str(folder / f"{EVIL}.out"),
        "spec": str(folder / f"{EVIL}.spec"), "head": og.open(folder / "g").commits()[0].id,
        "policy": str(folder / f"{EVIL}.yaml"), "cases": str(folder / f"{EVIL}.yaml"), "audit": str(folder / f"{EVIL} audit"),
        "cluster": str(folder / f"{EVIL} cluster"), "kept": str(folder / f"{EVIL} kept"), "locked": str(folder / f"{EVIL} locked"),
    }  # fmt: skip
    found = [[part.format_map(filled) if re.fullmatch(r"\{\w+\}", part) else part for part in call] for call in CALLS.values()]
    at = ["--store", filled["graph"]]
    for form in ("table", "kv", "csv", "json", "jsonl"):
        found.append(["query", *at, "-e", ALL, "--format", form])
    found += [
        ["export", filled["graph"]],
        ["blob", "get", "node", "Person", EVIL, "photo", "--uri", filled["graph"]],
        ["blob", "stat", "node", "Person", EVIL, "photo", "--uri", filled["graph"]],
        ["diff", "main", "work", "--uri", filled["graph"], "--json"],
        ["commit", "list", filled["graph"], "--json"],
        ["query", *at, "--query", filled["gq"], EVIL],
        ["query", *at, "--branch", EVIL, "-e", ALL],
        ["query", *at, "-e", f"query {EVIL}"],
        ["branch", "create", EVIL, "--uri", filled["graph"]],
        [
            "mutate",
            *at,
            "-e",
            "query q($n: String) { insert Person { name: $n } }",
            "--params",
            json.dumps({EVIL: EVIL}),
            "--as",
            EVIL,
        ],
        ["load", filled["graph"], "--data", filled["jsonl"], "--mode", "append"],
        [EVIL],
        ["query", f"--{EVIL}"],
        ["branch", "merge", "work", "--into", "main", "--uri", filled["graph"], "--dry-run"],
    ]
    return found


def shown_on_a_terminal(folder: Path, wanted: list[list[str]], **environment: str) -> str:
    listed = folder / "calls.json"
    listed.write_text(json.dumps(wanted))
    parent, child = pty.openpty()
    surroundings = {
        **os.environ,
        "OMNIGRAPH_HOME": str(folder / "home"),
        "HOME": str(folder / "home"),
        "COLUMNS": "200",
        **environment,
    }
    process = subprocess.Popen(
        [sys.executable, "-c", CHILD, str(listed)],
        stdin=subprocess.DEVNULL,
        stdout=child,
        stderr=child,
        env=surroundings,
        cwd=folder,
    )
    os.close(child)
    told = bytearray()
    while True:
        try:
            piece = os.read(parent, 1 << 16)
        except OSError:  # the other end is closed
            break
        if not piece:
            break
        told += piece
    os.close(parent)
    assert process.wait(timeout=60) == 0, told.decode(errors="replace")[-2000:]
    return told.decode("utf-8")


def test_every_command_on_a_terminal(folder: Path) -> None:
    wanted = calls(folder)
    told = shown_on_a_terminal(folder, wanted, TERM="dumb", NO_COLOR="1")
    assert told.count("== ") >= len(wanted)
    assert told.count("Evil") > 30
    for call, words in zip(wanted, told.split("## ")[1:], strict=True):
        found = FORBIDDEN.search(words)
        assert found is None, (call, words[max(0, found.start() - 80) : found.end() + 80])
    assert not re.search(r"^faked line", told, re.MULTILINE)


def test_our_own_colours_are_shown_and_no_others(folder: Path) -> None:
    first = og.open(folder / "g").commits()[-1].id
    wanted = [["diff", first, "main", "--uri", str(folder / "g")], ["commit", "list", str(folder / "g")]]
    told = shown_on_a_terminal(folder, wanted, TERM="xterm")
    assert "\x1b[32m\x1b[1minsert" in told
    assert "\x1b[31mEvil" not in told
    assert "\\u001b[31mEvil\\u202e" in told
    assert "\x9b" not in told


def test_a_pipe_gets_exact_values(folder: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    at = ["--store", str(folder / "g")]
    for form in ("csv", "kv", "json", "jsonl"):
        assert run(["query", *at, "-e", ALL, "--format", form]) == 0
        told = capfdbinary.readouterr().out.decode("utf-8")
        exact = EVIL in told if form in ("csv", "kv") else EVIL in _values(told)
        assert exact, (form, told)
    assert run(["blob", "get", "node", "Person", EVIL, "photo", "--uri", str(folder / "g")]) == 0
    assert capfdbinary.readouterr().out == b"\x1b[31m"


def _values(told: str) -> list[object]:
    decoder, found, at = json.JSONDecoder(), [], 0
    while at < len(told):
        value, at = decoder.raw_decode(told, at)
        at += len(told[at:]) - len(told[at:].lstrip())
        rows = value.get("rows", [value])
        found += [v for row in rows for v in row.values()]
    return found


@pytest.mark.parametrize("text", [EVIL, "a\u2066b\u2069", "\U000e0041", "\ud800", "plain ä 漢 😀\n\ttab"])
def test_what_is_printable(text: str) -> None:
    made = printable(text)
    assert FORBIDDEN.search(made) is None
    assert printable(made) == made
    assert json.loads(f'"{made}"' if "\n" not in made else '""') == (text if "\n" not in made else "")


def test_commands_speak_by_one_function() -> None:
    """A word that does not go through `say` would reach the terminal as it is."""
    root = Path(output.__file__).parent
    for module in root.rglob("*.py"):
        if module != Path(output.__file__):
            words = module.read_text(encoding="utf-8")
            assert not re.search(r"click\.(echo|secho|style)\(|sys\.(stdout|stderr)\.write|^\s*print\(", words, re.M), module
