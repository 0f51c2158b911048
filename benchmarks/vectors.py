"""How long the nearest of 300,000 vectors of 768 numbers take: with a condition and without, in memory and beyond it, at once.

Vectors are drawn around 2,000 centres, as embeddings are. Every measurement is a process of its own that asks the same questions.
The baseline is numpy with all vectors in memory as 32-bit floats: a matrix product and the ten smallest, read from one file where
the first question of a process counts.

*Beyond memory*: 256 MB may be used, and the index of the property is asked. It may miss a neighbour, so how many it misses is
measured as well. In memory every answer has to be the right one.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.measuring import Measurement
from benchmarks.people import DATA, once

COUNT, WIDTH, CENTRES, BEST = 300_000, 768, 2_000, 10
QUESTIONS = 30
SMALL, LARGE = 256 << 20, 4 << 30
FIRST_RUNS = 5
KINDS = 10
"""A condition holds for one node in so many."""

SCHEMA = f"""
node Doc {{
    slug: String @key
    kind: String @index
    vec: Vector({WIDTH}) @index
}}
"""
_ALL, _SOME = "$d: Doc", "$d: Doc { kind: $kind }"


def measure() -> list[Measurement]:
    """Time questions about the nearest vectors."""
    folder = once(DATA / f"vectors-{COUNT}-{WIDTH}", lambda into: subprocess.run(_command("fill", into), check=True))
    bare = {condition: _run("numpy", folder, condition) for condition in ("", "some")}
    kept = {condition: _run("ours", folder, condition, str(LARGE)) for condition in ("", "some")}
    beyond = {condition: _run("ours", folder, condition, str(SMALL)) for condition in ("", "some")}
    first, first_bare = (
        [_run(who, folder, "", str(LARGE), "first")["ms"] for _ in range(FIRST_RUNS)] for who in ("ours", "numpy")
    )
    assert all(_agree(kept[c]["found"], bare[c]["found"]) == 1 for c in kept), "the nearest in memory are not the nearest"
    what, numpy = f"nearest {BEST} of {COUNT:,} × {WIDTH}", "numpy, 32-bit floats"
    measured = []
    for condition, words in (("", ""), ("some", f", one in {KINDS} chosen by a condition")):
        base = bare[condition]["ms"]
        measured.append(Measurement(f"{what}{words}", kept[condition]["ms"], numpy, base, base))
    slow = beyond[""]["ms"]
    measured += [
        Measurement(f"{what}, 256 MB of memory", slow, numpy, bare[""]["ms"]),
        Measurement(
            f"{what}, 256 MB of memory, one in {KINDS} chosen", beyond["some"]["ms"], "without a condition", slow, 5 * slow
        ),
        *(
            Measurement(f"{what}, 256 MB of memory{words}, not found", 100 * (1 - share), "the bound", 5, 5, "%")
            for words, share in (
                ("", _agree(beyond[""]["found"], bare[""]["found"])),
                (f", one in {KINDS} chosen", _agree(beyond["some"]["found"], bare["some"]["found"])),
            )
        ),
        Measurement(
            f"{what}, first question of a process",
            statistics.median(first),
            "numpy: the file and a product",
            statistics.median(first_bare),
            statistics.median(first_bare),
        ),
        Measurement(f"{what}, memory for it", kept[""]["mb"], "32-bit floats", COUNT * WIDTH * 4 / 2**20, unit="MB"),
    ]
    return measured


def _agree(ours: Sequence[Sequence[str]], right: Sequence[Sequence[str]]) -> float:
    return sum(len(set(a) & set(b)) for a, b in zip(ours, right, strict=True)) / sum(len(b) for b in right)


def _command(*what: str | Path) -> list[str]:
    return [sys.executable, "-m", "benchmarks.vectors", *map(str, what)]


def _run(who: str, folder: Path, *more: str) -> dict[str, Any]:
    ran = subprocess.run(_command(who, folder, *more), capture_output=True, text=True, check=True)
    found: dict[str, Any] = json.loads(ran.stdout.splitlines()[-1])
    return found


def _questions() -> np.ndarray[Any, Any]:
    """Vectors that are asked about: drawn as those that are stored."""
    return _drawn(np.random.default_rng(11), QUESTIONS)


def _drawn(rng: np.random.Generator, count: int) -> np.ndarray[Any, Any]:
    centres = np.random.default_rng(5).normal(size=(CENTRES, WIDTH)).astype(np.float32)
    found = centres[rng.integers(0, CENTRES, count)] + rng.normal(size=(count, WIDTH)).astype(np.float32)
    found /= np.linalg.norm(found, axis=1)[:, None]
    return found


def _kind(number: int) -> str:
    return f"k{number * 7 % KINDS}"


def fill(folder: Path) -> None:
    """The graph, its indexes and whatever it saves for the next process, and the same vectors in one file."""
    import pyarrow as pa

    import omnigraph as og

    vectors = _drawn(np.random.default_rng(7), COUNT)
    np.save(folder / "vectors.npy", vectors)
    column = pa.FixedSizeListArray.from_arrays(pa.array(vectors.ravel()), WIDTH)
    slugs, kinds = [f"d{n}" for n in range(COUNT)], [_kind(n) for n in range(COUNT)]
    with og.init(folder / "graph", schema=SCHEMA, memory=LARGE) as graph:
        graph.load({"Doc": pa.table({"slug": slugs, "kind": kinds, "vec": column})}, mode="append")
        graph.optimize()
        _ask(graph, _questions()[0], "")


def _ask(graph: Any, question: np.ndarray[Any, Any], condition: str) -> list[str]:
    match, more = (_SOME, ", $kind: String") if condition else (_ALL, "")
    tail = f"order {{ nearest($d.vec, $v) }} limit {BEST}"
    text = f"query q($v: Vector({WIDTH}){more}) {{ match {{ {match} }} return {{ $d.slug }} {tail} }}"
    given = {"v": question.tolist(), **({"kind": _kind(3)} if condition else {})}
    return [row["d.slug"] for row in graph.query(text, given).rows]


def _ours(folder: Path, condition: str, memory: int, first: bool) -> dict[str, Any]:
    import omnigraph as og

    questions = _questions()
    _ = og.open  # loads what it needs: a program does that once, whatever it then opens
    started = time.perf_counter()
    with og.open(folder / "graph", memory=memory) as graph:
        found = [_ask(graph, questions[0], condition)]
        if first:
            return {"ms": (time.perf_counter() - started) * 1000}
        for question in questions[:3]:
            _ask(graph, question, condition)
        times = []
        for question in questions[1:]:
            started = time.perf_counter()
            found.append(_ask(graph, question, condition))
            times.append((time.perf_counter() - started) * 1000)
        return {"ms": statistics.median(times), "found": found, "mb": graph.stats().memory.used / 2**20}


def _numpy(folder: Path, condition: str, first: bool) -> dict[str, Any]:
    questions = _questions()
    chosen = np.flatnonzero([_kind(n) == _kind(3) for n in range(COUNT)]) if condition else None
    started = time.perf_counter()
    vectors = np.load(folder / "vectors.npy")
    lengths = np.einsum("ij,ij->i", vectors, vectors)

    def ask(question: np.ndarray[Any, Any]) -> list[str]:
        far = lengths - 2 * (vectors @ question) if chosen is None else lengths[chosen] - 2 * (vectors[chosen] @ question)
        best = np.argpartition(far, BEST)[:BEST]
        return [f"d{n}" for n in (best if chosen is None else chosen[best])]

    found = [ask(questions[0])]
    if first:
        return {"ms": (time.perf_counter() - started) * 1000}
    times = []
    for question in questions[1:]:
        started = time.perf_counter()
        found.append(ask(question))
        times.append((time.perf_counter() - started) * 1000)
    return {"ms": statistics.median(times), "found": found}


if __name__ == "__main__":
    who, place, *more = sys.argv[1:]
    if who == "fill":
        fill(Path(place))
    else:
        asked, only_first = more[0] if more else "", more[2:] == ["first"]
        answer = _numpy(Path(place), asked, only_first) if who == "numpy" else _ours(Path(place), asked, int(more[1]), only_first)
        print(json.dumps(answer))
