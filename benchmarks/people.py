"""People who know each other and work somewhere: the data of the query benchmark, the same in every run.

100 k persons, 1 M `Knows` (power law: a few know and are known by thousands), 2 k companies, 100 k `WorksAt` (two persons in
five have no job). No edge is there twice and nobody knows themselves, so that hop, path and walk mean the same in every system.

Tables are made once and kept as Parquet below `benchmarks/.data`, which git ignores.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

DATA = Path(__file__).parent / ".data"
EDITION = 1
"""To be raised when what is made here changes."""

SEED = 2_024
DIMENSIONS = 64
CITIES = 100
COHORTS = 100
WORDS = 5_000
_FAME = 0.6
"""Exponent of the power law of `Knows`."""

Ints = np.ndarray[tuple[int], np.dtype[np.int64]]


@dataclass(frozen=True, slots=True)
class Size:
    """How much of everything."""

    persons: int = 100_000
    knows: int = 1_000_000
    companies: int = 2_000
    jobs: int = 100_000

    @property
    def folder(self) -> Path:
        return DATA / f"people-{EDITION}-{self.persons}-{self.knows}"


SCHEMA = f"""
node Person {{
    name: String @key
    age: I32
    city: String
    cohort: I32
    active: Bool
    score: F64
    joined: Date
    bio: String @index
    vec: Vector({DIMENSIONS}) @index
}}

node Company {{
    name: String @key
    founded: Date
}}

edge Knows: Person -> Person {{
    since: Date
    strength: I32
}}

edge WorksAt: Person -> Company {{
    salary: I32
}}
"""

TYPES = ("Person", "Company", "Knows", "WorksAt")


def tables(size: Size) -> dict[str, pa.Table]:
    """Everything by type: nodes with their properties, edges with `src`, `dst` and theirs."""
    paths = parquet(size)
    return {name: pq.read_table(path) for name, path in paths.items()}


def parquet(size: Size) -> dict[str, Path]:
    """Where the tables of each type stand, made first if need be."""
    folder = size.folder / "tables"

    def make(into: Path) -> None:
        for name, table in _make(size).items():
            pq.write_table(table, into / f"{name}.parquet")

    once(folder, make)
    return {name: folder / f"{name}.parquet" for name in TYPES}


def once(folder: Path, make: Callable[[Path], object]) -> Path:
    """A folder that is made whole or not at all, and only if it is not there."""
    if not folder.exists():
        unfinished = folder.with_name(folder.name + ".unfinished")
        shutil.rmtree(unfinished, ignore_errors=True)
        unfinished.mkdir(parents=True)
        make(unfinished)
        unfinished.rename(folder)
    return folder


def vocabulary() -> list[str]:
    """Words of a language that no stemmer knows: equal words are equal in every system."""
    consonants, vowels = "bdfgklmnprtvz", "aou"
    syllables = [c + v for c in consonants for v in vowels]
    count = len(syllables)
    return [
        syllables[n % count] + syllables[n // count % count] + syllables[(n * 7 + n // count**2) % count] for n in range(WORDS)
    ]


def city(number: int) -> str:
    """The name of a city."""
    return f"city {number:02d}"


def name(number: int) -> str:
    """The name of a person."""
    return f"{vocabulary_word(number)}-{number:06d}"


_VOCABULARY = vocabulary()


def vocabulary_word(number: int) -> str:
    """Some word, the same for equal numbers."""
    return _VOCABULARY[number * 7_919 % WORDS]


def _make(size: Size) -> dict[str, pa.Table]:
    random = np.random.default_rng(SEED)
    persons = _persons(size, random)
    names, companies = persons["name"].combine_chunks(), pa.array([f"company {n:04d}" for n in range(size.companies)])
    founded = _days(random, size.companies, date(1950, 1, 1), 25_000)
    sources, targets = _friends(size, random)
    knows = pa.table(
        {
            "src": names.take(pa.array(sources)),
            "dst": names.take(pa.array(targets)),
            "since": _days(random, size.knows, date(2000, 1, 1), 9_000),
            "strength": pa.array(random.integers(1, 11, size.knows), pa.int32()),
        }
    )
    who, where = _jobs(size, random)
    works_at = pa.table(
        {
            "src": names.take(pa.array(who)),
            "dst": companies.take(pa.array(where)),
            "salary": pa.array(random.integers(20_000, 200_000, size.jobs), pa.int32()),
        }
    )
    return {
        "Person": persons,
        "Company": pa.table({"name": companies, "founded": founded}),
        "Knows": knows,
        "WorksAt": works_at,
    }


def _persons(size: Size, random: np.random.Generator) -> pa.Table:
    n = size.persons
    numbers = np.arange(n)
    centres = random.normal(size=(50, DIMENSIONS))
    vectors = centres[random.integers(0, 50, n)] + random.normal(scale=0.7, size=(n, DIMENSIONS))
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    return pa.table(
        {
            "name": pa.array([name(i) for i in range(n)]),
            "age": pa.array(random.integers(18, 91, n), pa.int32()),
            "city": pa.array([city(c) for c in _zipf(random, CITIES, n, 0.5).tolist()]),
            "cohort": pa.array(numbers % COHORTS, pa.int32()),
            "active": pa.array(random.random(n) < 0.7),
            "score": pa.array(random.random(n).round(6)),
            "joined": _days(random, n, date(2010, 1, 1), 5_000),
            "bio": pa.array(_bios(random, n)),
            "vec": pa.FixedSizeListArray.from_arrays(pa.array(vectors.astype(np.float32).reshape(-1)), DIMENSIONS),
        }
    )


def _bios(random: np.random.Generator, count: int) -> list[str]:
    lengths = random.integers(8, 24, count)
    words = [_VOCABULARY[w] for w in _zipf(random, WORDS, int(lengths.sum()), 0.8).tolist()]
    ends = np.cumsum(lengths).tolist()
    starts = [0, *ends[:-1]]
    return [" ".join(words[a:b]) for a, b in zip(starts, ends, strict=True)]


def _zipf(random: np.random.Generator, values: int, count: int, exponent: float) -> Ints:
    weight = np.arange(1, values + 1, dtype=np.float64) ** -exponent
    return np.searchsorted(np.cumsum(weight / weight.sum())[:-1], random.random(count)).astype(np.int64)


def _days(random: np.random.Generator, count: int, first: date, span: int) -> pa.Array:
    start = (first - date(1970, 1, 1)).days
    return pa.array((start + random.integers(0, span, count)).astype(np.int32), pa.int32()).cast(pa.date32())


def _friends(size: Size, random: np.random.Generator) -> tuple[Ints, Ints]:
    """Distinct pairs; who knows many is known by many."""
    fame = random.permutation(size.persons)
    pairs = np.empty(0, np.int64)
    while len(pairs) < size.knows:
        missing = size.knows - len(pairs)
        sources = fame[_zipf(random, size.persons, missing + missing // 4 + 10, _FAME)]
        targets = fame[_zipf(random, size.persons, len(sources), _FAME)]
        fresh = (sources * size.persons + targets)[sources != targets]
        pairs = np.unique(np.concatenate([pairs, fresh]))
    pairs = random.permutation(pairs)[: size.knows]
    return pairs // size.persons, pairs % size.persons


def _jobs(size: Size, random: np.random.Generator) -> tuple[Ints, Ints]:
    employed = random.permutation(size.persons)[: size.persons * 4 // 5]
    pairs = np.empty(0, np.int64)
    while len(pairs) < size.jobs:
        who = employed[random.integers(0, len(employed), size.jobs)]
        where = _zipf(random, size.companies, size.jobs, 0.4)
        pairs = np.unique(np.concatenate([pairs, who * size.companies + where]))
    pairs = random.permutation(pairs)[: size.jobs]
    return pairs // size.companies, pairs % size.companies
