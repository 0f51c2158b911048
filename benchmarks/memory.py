"""How long a question to 100,000 memories takes, and how often the answer is among what is found.

**Memories.** 100,000 statements about 20,000 people, five each: `<name> <verb> <thing> <where and when>`. Names are made of
syllables and unlike each other; there are 400 ways to say something and 4,000 things. A vector is the direction of what a
statement means, its topic, plus noise that is its own; it knows nothing of names, as models know little of names they never saw.

**Questions** have one right answer, and are of three kinds, as many of each:

    paraphrase    the vector of the answer with noise, in words that the statement does not have: words miss it
    name          the name of the person and a thing, with a vector of no topic in particular: vectors miss it
    both          the name, and a vector near that of the answer

**Quality** is how often the answer is among the first ten. It is asked with `recall`, with its vectors alone and with its words
alone, over the same graph. Hybrid has to find at least as many as the better of the two.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import time
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.measuring import Measurement
from benchmarks.people import DATA, once

COUNT, PER_PERSON, WIDTH, TOPICS, THINGS = 100_000, 5, 384, 2_000, 4_000
QUESTIONS = 150
BEST = 10
BOUND_MS = 50
_SYLLABLES = [a + b for a in "bdfgklmnprstvz" for b in ("a", "e", "i", "o", "u", "ai", "or", "el")]


def measure() -> list[Measurement]:
    """Time questions, and count right answers."""
    folder = once(DATA / f"memory-{COUNT}", lambda into: subprocess.run(_command("fill", into), check=True))
    ran = subprocess.run(_command("ask", folder), capture_output=True, text=True, check=True)
    found: dict[str, Any] = json.loads(ran.stdout.splitlines()[-1])
    missed = {way: 100 * (1 - share) for way, share in found["right"].items()}
    best = min(("vectors", "words"), key=missed.__getitem__)
    return [
        Measurement(f"recall among {COUNT:,} memories, p95", found["p95"], "p50", found["p50"], BOUND_MS),
        Measurement(
            f"recall: answers not among the first {BEST}", missed["hybrid"], f"{best} alone", missed[best], missed[best], "%"
        ),
    ]


def _command(*what: str | Path) -> list[str]:
    return [sys.executable, "-m", "benchmarks.memory", *map(str, what)]


def _name(number: int) -> str:
    """Two words that nobody else is called."""
    size = len(_SYLLABLES)
    first = _SYLLABLES[number % size] + _SYLLABLES[number // size % size]
    return f"{first.title()} {(_SYLLABLES[number * 7 % size] + _SYLLABLES[number // 3 % size] + 'n').title()}"


def _text(number: int) -> str:
    person, topic = _name(number // PER_PERSON), number * 31 % THINGS
    return f"{person} way{number * 17 % 400} thing{topic} in place{number * 13 % 900} on day{number * 11 % 365}"


def _vectors(rng: np.random.Generator) -> np.ndarray[Any, Any]:
    topics = np.random.default_rng(5).normal(size=(TOPICS, WIDTH)).astype(np.float32)
    made = topics[np.arange(COUNT) * 31 % TOPICS] + rng.normal(size=(COUNT, WIDTH)).astype(np.float32)
    made /= np.linalg.norm(made, axis=1)[:, None]
    return made


def fill(folder: Path) -> None:
    """The graph, loaded at once."""
    import pyarrow as pa

    import omnigraph as og
    from omnigraph.memory import schema

    vectors = _vectors(np.random.default_rng(7))
    now = datetime(2026, 1, 1, tzinfo=UTC)
    ids = [f"m{number}" for number in range(COUNT)]
    moments = pa.array([now - timedelta(minutes=number) for number in range(COUNT)], pa.timestamp("ms", "UTC"))
    memories = pa.table(
        {
            "hash": ids,
            "text": [_text(number) for number in range(COUNT)],
            "embedding": pa.FixedSizeListArray.from_arrays(pa.array(vectors.reshape(-1)), WIDTH),
            "kind": ["fact"] * COUNT,
            "created": moments,
            "confirmed": moments,
            "confidence": [1.0] * COUNT,
            "importance": [0.5] * COUNT,
        }
    )
    names = [_name(number) for number in range(COUNT // PER_PERSON)]
    about = pa.table({"from": ids, "to": [names[number // PER_PERSON] for number in range(COUNT)]})
    with og.init(folder / "g.omni", schema=schema("memory", dimension=WIDTH)) as graph:
        graph.load({"Memory": memories, "Entity": pa.table({"name": sorted(set(names))}), "About": about})
        graph.optimize()
        assert graph.verify().ok


def ask(folder: Path) -> None:
    """The questions, in each of the ways."""
    import omnigraph as og
    from omnigraph.memory import Memory

    stored, rng = _vectors(np.random.default_rng(7)), np.random.default_rng(11)
    known: dict[str, Sequence[float]] = {}

    class Known:
        """Vectors that were made before: what is measured is ours."""

        model = "known"

        def embed(self, texts: Sequence[str], dimension: int) -> list[Sequence[float]]:
            return [known[text] for text in texts]

    answers: dict[str, str] = {}
    for number in range(QUESTIONS):
        right = int(rng.integers(COUNT))
        near = stored[right] + rng.normal(size=WIDTH).astype(np.float32) / np.sqrt(WIDTH) * 0.8
        nowhere = rng.normal(size=WIDTH).astype(np.float32)
        asked, vector = {
            0: (f"what is it that somebody said, question{number}", near),
            1: (f"what about {_name(right // PER_PERSON)} and thing{right * 31 % THINGS}", nowhere),
            2: (f"what does {_name(right // PER_PERSON)} do", near),
        }[number % 3]
        known[asked] = (vector / np.linalg.norm(vector)).tolist()
        answers[asked] = f"m{right}"
    with og.open(folder / "g.omni") as graph:
        hybrid = Memory(graph, branch="main", embedder=Known())
        times = []
        counts = dict.fromkeys(("hybrid", "vectors", "words"), 0)
        vectors = _ranked(f"Vector({WIDTH})", "nearest($m.embedding, $q)")
        words = _ranked("String", "bm25($m.text, $q)")
        for asked in list(answers)[:10]:
            hybrid.recall(asked)
        for asked, answer in answers.items():
            begun = time.perf_counter()
            found = hybrid.recall(asked, k=BEST)
            times.append((time.perf_counter() - begun) * 1000)
            ways = {
                "hybrid": [one.id for one in found],
                "vectors": [row["id"] for row in graph.query(vectors, {"q": known[asked]}).rows],
                "words": [row["id"] for row in graph.query(words, {"q": asked}).rows],
            }
            for way, ids in ways.items():
                counts[way] += answer in ids
    shares = {way: count / len(answers) for way, count in counts.items()}
    print(json.dumps({"p50": statistics.median(times), "p95": float(np.quantile(times, 0.95)), "right": shares}))


def _ranked(asked: str, by: str) -> str:
    """A query by one ranking alone."""
    return f"query q($q: {asked}) {{ match {{ $m: Memory }} return {{ $m.hash as id }} order {{ {by} }} limit {BEST} }}"


if __name__ == "__main__":
    {"fill": fill, "ask": ask}[sys.argv[1]](Path(sys.argv[2]))
