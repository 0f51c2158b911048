"""Files and streams that commands write: complete or not there, nothing replaced that is no file, failures in our words."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from pathlib import Path
from threading import Thread

import pytest
from tests.surfaces.calling import NAMES, PHOTO, Call

import omnigraph

COMMAND = [sys.executable, "-m", "omnigraph"]
WRITERS: dict[str, list[str]] = {
    **{
        form: ["query", "--store", "GRAPH", "-e", NAMES, "--format", form]
        for form in ("csv", "json", "jsonl", "kv", "table", "arrow", "parquet")
    },
    "blob": ["blob", "get", "node", "Person", "Ada", "photo", "--store", "GRAPH"],
    "export": ["export", "GRAPH"],
    "view": ["view", "GRAPH", "--no-open"],
    "baseline": ["changes", "baseline", "--store", "GRAPH"],
}
"""Every way to have a file written."""

every_writer = pytest.mark.parametrize("writer", list(WRITERS))


def words(writer: str, graph: Path, *more: object) -> list[str]:
    return [str(graph) if word == "GRAPH" else word for word in WRITERS[writer]] + [str(word) for word in more]


@every_writer
@pytest.mark.parametrize("where", ["no/such/o", "folder", "full"])
def test_a_place_that_cannot_be_written_is_told(og: Call, people: Path, tmp_path: Path, writer: str, where: str) -> None:
    (tmp_path / "folder").mkdir()
    if where == "full":
        (tmp_path / "full").symlink_to("/dev/full")
    ran = og(*words(writer, people, "--out", tmp_path / where))
    assert ran.code in ((1, 2) if where == "no/such/o" and writer in ("view", "baseline") else (1,)), ran.err
    assert ran.err.startswith("Error: ")
    assert str(tmp_path / where).removesuffix("/o") in ran.err
    assert "Errno" not in ran.err
    assert (tmp_path / "folder").is_dir()
    assert list(tmp_path.glob(".*.part")) == []
    assert stat.S_ISCHR(os.stat("/dev/full").st_mode)


def test_what_cannot_be_written_is_json_for_programs(og: Call, people: Path, tmp_path: Path) -> None:
    ran = og("query", "--store", people, "-e", NAMES, "--json", "--out", tmp_path)
    assert ran.code == 1
    assert ran.json["code"] == "output_failed"
    ran = og("blob", "get", "node", "Person", "Ada", "photo", "--store", people, "--json", "--out", tmp_path / "no" / "x")
    assert ran.code == 1
    assert ran.json["code"] == "not_found"


@every_writer
def test_a_link_stays_a_link_and_a_file_keeps_its_permissions(og: Call, people: Path, tmp_path: Path, writer: str) -> None:
    (tmp_path / "elsewhere").mkdir()
    target, link, dangling = tmp_path / "elsewhere" / "target", tmp_path / "link", tmp_path / "dangling"
    target.write_bytes(b"before")
    target.chmod(0o600)
    link.symlink_to("elsewhere/target")
    dangling.symlink_to("elsewhere/new")
    for out, written in ((link, target), (dangling, tmp_path / "elsewhere" / "new")):
        assert og(*words(writer, people, "--out", out)).code == 0
        assert out.is_symlink()
        assert not written.is_symlink()
        assert written.read_bytes() not in (b"", b"before")
    assert stat.S_IMODE(target.stat().st_mode) == 0o600


@every_writer
def test_a_pipe_is_written_into(og: Call, people: Path, tmp_path: Path, writer: str) -> None:
    pipe, found = tmp_path / "pipe", list[bytes]()
    os.mkfifo(pipe)
    reader = Thread(target=lambda: found.append(pipe.read_bytes()), daemon=True)
    reader.start()
    assert og(*words(writer, people, "--out", pipe)).code == 0
    reader.join(20)
    assert pipe.is_fifo()
    assert found[0]
    if writer == "blob":
        assert found == [PHOTO]


def test_a_config_that_is_a_link_stays_one(og: Call, tmp_path: Path) -> None:
    (tmp_path / "home").mkdir()
    (tmp_path / "dotfiles").write_text("# mine\n")
    (tmp_path / "home" / "config.yaml").symlink_to(tmp_path / "dotfiles")
    assert og("config", "set", "defaults.output", "csv").code == 0
    assert (tmp_path / "home" / "config.yaml").is_symlink()
    assert "csv" in (tmp_path / "dotfiles").read_text()


SPEAKERS = [
    ["query", "--store", "GRAPH", "-e", NAMES, "--format", "csv"],
    ["query", "--store", "GRAPH", "-e", NAMES, "--format", "arrow"],
    ["query", "--store", "GRAPH", "-e", NAMES, "--json"],
    ["stats", "GRAPH"],
    ["stats", "GRAPH", "--json"],
    ["export", "GRAPH"],
    ["blob", "get", "node", "Person", "Ada", "photo", "--store", "GRAPH"],
    ["--help"],
]


@pytest.mark.parametrize("speaker", SPEAKERS, ids=[f"{w[0].strip('-')}-{w[-1].strip('-')}" for w in SPEAKERS])
def test_a_full_disk_behind_standard_output_is_told(people: Path, tmp_path: Path, speaker: list[str]) -> None:
    arguments = [*COMMAND, *(str(people) if word == "GRAPH" else word for word in speaker)]
    home = {**os.environ, "OMNIGRAPH_HOME": str(tmp_path / "home")}
    with Path("/dev/full").open("wb") as full:
        ran = subprocess.run(arguments, env=home, stdout=full, stderr=subprocess.PIPE, check=False, timeout=60)
    told = ran.stderr.decode()
    assert ran.returncode == 1
    if "--json" in speaker:
        assert json.loads(told)["code"] == "output_failed"
    else:
        assert told.startswith("Error: cannot write standard output: No space left on device\n")


def test_an_export_whose_reader_has_gone_ends_without_a_word(tmp_path: Path) -> None:
    with omnigraph.init(tmp_path / "g", "node P { k: I64 @key  t: String }", durability="os") as g:
        g.load({"P": [{"k": k, "t": "x" * 1_000} for k in range(1_000)]})
    process = subprocess.Popen([*COMMAND, "export", str(tmp_path / "g")], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.read(10)
    process.stdout.close()
    assert process.stderr.read() == b""
    process.stderr.close()
    process.wait(60)
