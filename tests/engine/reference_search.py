"""Search as the specification words it (chapter 5), over lists: text analysis, BM25, distance, edit distance, mock embeddings.

Stems are left out: whoever compares with an engine that stems uses words that are their own stem.
"""

from __future__ import annotations

import math
import re
import struct
from collections.abc import Iterable, Sequence

_STOP_WORDS = (
    "a an and are as at be but by for if in into is it no not of on or such that the their then there these they this through to "
    "was will with"
)
STOP_WORDS = frozenset(_STOP_WORDS.split())
LONGEST_TERM = 40
K1, B = 1.2, 0.75
DEFAULT_EDITS = 2
DEFAULT_RRF_K = 60

_MASK = 2**64 - 1


def terms(text: str) -> list[str]:
    """The words of a text that count, in order."""
    words = (word.lower() for word in re.findall(r"[^\W_]+", text) if len(word) <= LONGEST_TERM)
    return [word for word in words if word not in STOP_WORDS]


def matches(text: str | None, query: str | None) -> bool:
    """Does any word of the query occur?"""
    return text is not None and query is not None and not set(terms(text)).isdisjoint(terms(query))


def matches_roughly(text: str | None, query: str | None, edits: int) -> bool:
    """Does any word occur that differs from a word of the query by no more than so many letters?"""
    if text is None or query is None:
        return False
    return any(edit_distance(word, wanted) <= edits for word in terms(text) for wanted in terms(query))


def edit_distance(left: str, right: str) -> int:
    """Letters to insert, delete or replace to get from one word to the other."""
    row = list(range(len(right) + 1))
    for i, a in enumerate(left, 1):
        previous, row = row, [i]
        for j, b in enumerate(right, 1):
            row.append(min(previous[j] + 1, row[j - 1] + 1, previous[j - 1] + (a != b)))
    return row[-1]


def bm25(text: str | None, query: str | None, corpus: Iterable[str | None]) -> float:
    """Relevance of a text among the texts of its type; zero when no word matches."""
    if text is None or query is None:
        return 0.0
    documents = [terms(other) for other in corpus if other is not None]
    average = sum(len(document) for document in documents) / len(documents)
    own = terms(text)
    score = 0.0
    for word in dict.fromkeys(terms(query)):
        frequency = own.count(word)
        holders = sum(word in document for document in documents)
        idf = math.log(1 + (len(documents) - holders + 0.5) / (holders + 0.5))
        if frequency:
            score += idf * frequency * (K1 + 1) / (frequency + K1 * (1 - B + B * len(own) / average))
    return score


def distance(vector: Sequence[float], query: Sequence[float]) -> float:
    """Squared Euclidean distance; the query is narrowed to what a vector holds."""
    return sum((a - single(b)) ** 2 for a, b in zip(vector, query, strict=True))


def single(value: float) -> float:
    """The nearest 32-bit float."""
    try:
        narrowed: float = struct.unpack("<f", struct.pack("<f", value))[0]
    except OverflowError:
        return math.copysign(math.inf, value)
    return narrowed


def mock_embedding(text: str, dimension: int) -> list[float]:
    """The vector the mock provider gives a text (5.6)."""
    state = 14695981039346656037
    for byte in text.encode():
        state = ((state ^ byte) * 1099511628211) & _MASK
    components: list[float] = []
    for _ in range(dimension):
        state ^= (state << 13) & _MASK
        state ^= state >> 7
        state ^= (state << 17) & _MASK
        components.append(single(single(single(state / _MASK) * 2) - 1))
    norm = single(math.sqrt(sum(c * c for c in components)))
    return components if norm <= 2**-23 else [single(c / norm) for c in components]
