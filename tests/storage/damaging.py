"""A graph with every kind of file, ways to damage one, and a process that asks it everything.

The questions are asked by a process of their own, over a pipe: a damaged file may take the process with it, and that is to be seen.
"""

from __future__ import annotations

import os
import random
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from functools import partial
from hashlib import sha256
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from tests.children import CONTEXT
from tests.engine.history.graphs import calm

import omnigraph as og
from omnigraph.storage.commits.reclaim_fence import announce
from omnigraph.storage.commits.reclaimed_commits import Ledger, Reclaimed, put_record
from omnigraph.storage.tables.rows import scan_images

SCHEMA = """
node Doc { k: String @key  n: I64 @index  u: U32? @unique  text: String? @index  vec: Vector(4)? @index  photo: Blob? }
edge Cites: Doc -> Doc { weight: F64? }
"""

ROWS = 300
PAGE = 4096

_TEXT = re.compile(rb"[ -~]{8,}")
_NAME = re.compile(rb"/lance\.[a-zA-Z0-9.]+")
"""How Lance names the encodings of pages, in files of its own."""


def doc(number: int) -> dict[str, Any]:
    vec = [float(number % 7), float(number % 5), number / 10, 1.0]
    return {
        "type": "Doc",
        "data": {"k": f"d{number}", "n": number, "u": number, "text": f"word{number % 9} about {number}", "vec": vec},
    }


def make(folder: Path) -> Path:
    """The graph: small and large blobs, deletions of both kinds, folds, indexes, branches, tags, a lease, records of cleanup."""
    graph = og.init(folder / "g", SCHEMA, durability="os")
    calm(graph)
    graph.load([doc(n) for n in range(ROWS)])
    cites = [{"edge": "Cites", "from": f"d{n}", "to": f"d{(n * 7) % ROWS}", "data": {"weight": n / 3}} for n in range(ROWS)]
    graph.load(cites)
    old = graph.commits()[0].id
    blob = "query m($p: Blob?) { update Doc set { photo: $p } where n = %d }"
    for number, size in ((3, 100), (4, 70_000), (5, 5_000_000)):
        graph.mutate(blob % number, params={"p": bytes([number]) * size})
    graph.optimize()
    graph.branches.create("work")
    graph.load([doc(n) for n in range(ROWS, ROWS + 20)], branch="work")
    graph.mutate("query m() { delete Doc where n = 17 }")
    graph.mutate("query m() { delete Doc where n < 3 }")
    for number in range(3):
        graph.mutate(f'query m() {{ update Doc set {{ text: "changed" }} where n = {20 + number} }}')
    graph.tags.create("v1", old)
    graph.tags.create("v2", graph.commits()[1].id)
    graph.tags.create("v3", old)
    graph.tags.delete("v3", actor="ada")
    graph._store.lease_for(timedelta(days=1))
    put_record(graph._store.place, Ledger(), Reclaimed(1, {"01J0000000000000000000000A": ((0, 3),)}))
    announce(graph._store.place, ["nodes/0-0/data/gone.lance"], 0)
    graph.close()
    return folder / "g"


def _told(value: object) -> object:
    """A value of a row; of a long one its hash, for all answers go through a pipe and megabytes of them would take most of the time."""
    return (len(value), sha256(value).hexdigest()) if isinstance(value, bytes) and len(value) > 1000 else value


def contents(graph: og.Graph, branch: str | None = None, at: str | None = None) -> list[str]:
    """Everything, complete, as complete rows are read."""
    view = graph._view(branch, at)
    return [
        str({name: _told(value) for name, value in row.items()})
        for type_ in (view.catalog.nodes["Doc"], view.catalog.edges["Cites"])
        for batch in scan_images(view.stored(type_).table)
        for row in batch.to_pylist()
    ]


QUESTIONS: dict[str, Callable[[og.Graph], Any]] = {
    "main": lambda g: contents(g),
    "work": lambda g: contents(g, "work"),
    "v1": lambda g: contents(g, at="v1"),
    "v2": lambda g: contents(g, at="v2"),
    "hops": lambda g: sorted(map(str, g.query("query q() { match { $a: Doc  $a cites $b } return { $a.k, $b.k, $b.n } }").rows)),
    "by key": lambda g: g.query('query q() { match { $a: Doc { k: "d40" } } return { $a.n, $a.text } }').rows,
    "by value": lambda g: g.query("query q() { match { $a: Doc { n: 41 } } return { $a.k } }").rows,
    "words": lambda g: g.query('query q() { match { $a: Doc  search($a.text, "word5") } return { $a.k } order { $a.k } }').rows,
    "near": lambda g: (
        g.query(
            "query q($v: Vector(4)) { match { $a: Doc } return { $a.k } order { nearest($a.vec, $v) } limit 3 }",
            params={"v": [1.0, 2.0, 3.0, 1.0]},
        ).rows
    ),
    "commits": lambda g: [c.to_dict() for c in g.commits()],
    "names": lambda g: (g.branches.list(), [(t.name, t.commit) for t in g.tags.list()]),
    "deleted tags": lambda g: [(d.tag.name, d.tag.commit, d.deleted_by, d.deleted_at) for d in g.tags.deleted()],
}


Outcome = tuple[str, Any]
"""`answer` and what it is, `refused` and the code of an error of ours, or `raw` and what else was raised."""


def _outcome(question: Callable[[], Any]) -> Outcome:
    try:
        return "answer", question()
    except og.GraphError as error:
        return "refused", error.code
    except BaseException as error:
        return "raw", f"{type(error).__name__}: {error}"[:300]


def ask(folder: str) -> dict[str, Outcome]:
    """Every question and what came of it."""
    opened = _outcome(lambda: og.open(folder, read_only=True))
    if opened[0] != "answer":
        return {"open": opened}
    with opened[1] as graph:
        return {name: _outcome(partial(question, graph)) for name, question in QUESTIONS.items()}


def verified(folder: str) -> dict[str, Outcome]:
    """What verify says."""

    def problems() -> list[str]:
        with og.open(folder, read_only=True) as graph:
            return [f"{p.kind.name} {p.path}" for p in graph.verify(content=True, deep=True).problems]

    return {"verify": _outcome(problems)}


def _serve(pipe: Connection) -> None:
    while True:
        work, folder = pipe.recv()
        pipe.send(work(folder))


class Reader:
    """A process that answers, started again when it dies."""

    def __init__(self) -> None:
        self._start()

    def _start(self) -> None:
        self._pipe, there = CONTEXT.Pipe()
        self._process = CONTEXT.Process(target=_serve, args=(there,), daemon=True)
        self._process.start()
        there.close()

    def run(self, work: Callable[[str], dict[str, Outcome]], folder: Path) -> dict[str, Outcome] | None:
        """What came of it; None: the process died."""
        self._pipe.send((work, str(folder)))
        try:
            found: dict[str, Outcome] = self._pipe.recv()
        except EOFError:
            self._process.join()
            self._start()
            return None
        return found

    def close(self) -> None:
        self._process.terminate()
        self._process.join()


# ── damage ──────────────────────────────────────────────────────────────────────────────────────────────────────────────────────


def kind_of(path: str) -> str:
    """What kind of file it is: where it stands and how it ends, without what is different for each."""
    parts = path.split("/")
    if parts[0] in ("nodes", "edges", "__manifest"):
        inside = parts[2:]
        owner = "manifest" if parts[0] == "__manifest" else "table"
        if inside[0] == "_indices":
            return f"{owner} index {inside[-1].lstrip('0123456789')}"
        if inside[0] == "_versions" and inside[1].endswith("json"):
            return f"{owner} hint"
        if inside[0] == "_versions":
            return f"{owner} {'detached ' if inside[1].startswith('d') else ''}version"
        return f"{owner} {inside[0]}{' blobs' if len(inside) > 2 else ''} {inside[-1].rpartition('.')[2]}"
    return parts[0]


def _flip(data: bytes, seed: int) -> bytes:
    chosen = random.Random(seed)
    at = chosen.randrange(len(data))
    return data[:at] + bytes([data[at] ^ (1 << chosen.randrange(8))]) + data[at + 1 :]


def _zero(data: bytes) -> bytes:
    at = (len(data) // 2) // PAGE * PAGE
    return data[:at] + bytes(min(PAGE, len(data) - at)) + data[at + PAGE :]


def _zero_text(data: bytes, number: int, text: re.Pattern[bytes] = _TEXT) -> bytes:
    """Eight zeros in the middle of one of the texts in a file."""
    found = [m.span() for m in text.finditer(data)]
    if not found:
        return data
    begin, end = found[number % len(found)]
    at = (begin + end) // 2 - 4
    return data[:at] + bytes(8) + data[at + 8 :]


DAMAGES: dict[str, Callable[[bytes, bytes], bytes | None]] = {
    "zeros": lambda data, _: _zero(data),
    "zeros in the last text": lambda data, _: _zero_text(data, -1),
    "zeros in a name": lambda data, _: _zero_text(data, 0, _NAME),
    "cut": lambda data, _: data[: len(data) // 2],
    "last byte": lambda data, _: data[:-1],
    "flip 1": lambda data, _: _flip(data, 1),
    "flip 2": lambda data, _: _flip(data, 2),
    "flip 3": lambda data, _: _flip(data, 3),
    "empty": lambda data, _: b"",
    "removed": lambda data, _: None,
    "older": lambda data, older: older,
}


@contextmanager
def damaged(file: Path, content: bytes | None) -> Iterator[None]:
    """A file that holds something else, or is not there, for a while."""
    was, about = file.read_bytes(), file.stat()
    try:
        file.unlink()
        if content is not None:
            file.write_bytes(content)
        yield
    finally:
        file.unlink(missing_ok=True)
        file.write_bytes(was)
        os.utime(file, ns=(about.st_atime_ns, about.st_mtime_ns))
