"""Text analysis: what counts as a term, in a text and in a query alike.

    "The Skies — über Zürich: don't look_up!"
     split at what is no letter or digit      The Skies über Zürich don t look up
     drop words of more than 40 characters
     lower case                               the skies über zürich don t look up
     drop stop words                          skies über zürich look
     English stems (Porter 2)                 sky   über zürich look
     fold to ASCII                            sky   uber zurich look

`terms` does this to one text. `analysed` does it to a whole column, and most of it only once per distinct word: words are cut out
of the bytes of the column with numpy, equal ones found by Arrow's hash table, and the rest done on what is left, which is a few
per cent. Bytes beyond ASCII are taken for letters at first; the distinct words that contain some are cut again, properly.

The analyzer of Lance differs (other stop words, dropped after stemming), so a text index of Lance never decides what matches.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import Stemmer

from omnigraph.engine.arrays.numbering import Numbers
from omnigraph.model.frozen import frozen

ANALYSIS: Final = f"1, PyStemmer {Stemmer.version()}, Unicode {unicodedata.unidata_version}"
"""What decides which terms a text has: this module, the stemmer and the letters. Saved terms of another one are not used."""

LONGEST_WORD: Final = 40
"""Words of more characters than this are not terms."""

STOP_WORDS: Final = frozenset(
    [
        "i",
        "me",
        "my",
        "myself",
        "we",
        "our",
        "ours",
        "ourselves",
        "you",
        "your",
        "yours",
        "yourself",
        "yourselves",
        "he",
        "him",
        "his",
        "himself",
        "she",
        "her",
        "hers",
        "herself",
        "it",
        "its",
        "itself",
        "they",
        "them",
        "their",
        "theirs",
        "themselves",
        "what",
        "which",
        "who",
        "whom",
        "this",
        "that",
        "these",
        "those",
        "am",
        "is",
        "are",
        "was",
        "were",
        "be",
        "been",
        "being",
        "have",
        "has",
        "had",
        "having",
        "do",
        "does",
        "did",
        "doing",
        "a",
        "an",
        "the",
        "and",
        "but",
        "if",
        "or",
        "because",
        "as",
        "until",
        "while",
        "of",
        "at",
        "by",
        "for",
        "with",
        "about",
        "against",
        "between",
        "into",
        "through",
        "during",
        "before",
        "after",
        "above",
        "below",
        "to",
        "from",
        "up",
        "down",
        "in",
        "out",
        "on",
        "off",
        "over",
        "under",
        "again",
        "further",
        "then",
        "once",
        "here",
        "there",
        "when",
        "where",
        "why",
        "how",
        "all",
        "any",
        "both",
        "each",
        "few",
        "more",
        "most",
        "other",
        "some",
        "such",
        "no",
        "nor",
        "not",
        "only",
        "own",
        "same",
        "so",
        "than",
        "too",
        "very",
        "s",
        "t",
        "can",
        "will",
        "just",
        "don",
        "should",
        "now",
    ]
)
"""Words that are in nearly every English text. Case does not matter."""

_WORD = re.compile(r"[^\W_]+")
_SEPARATORS = "".join(chr(code) for code in range(128) if not chr(code).isalnum())
_IS_LETTER = bytes(1 if code >= 128 or chr(code).isalnum() else 0 for code in range(256))
_STOP_WORDS = pa.array(sorted(STOP_WORDS), pa.string())
_FOLDED = {
    "æ": "ae", "œ": "oe", "ø": "o", "đ": "d", "ð": "d", "þ": "th", "ł": "l", "ß": "ss", "ı": "i", "ħ": "h", "ŧ": "t", "ŋ": "n",
    "ɓ": "b", "ƈ": "c", "ɖ": "d", "ɗ": "d", "ƒ": "f", "ɠ": "g", "ɨ": "i", "ƙ": "k", "ɲ": "n", "ɵ": "o", "ƥ": "p", "ʈ": "t",
    "ʉ": "u", "ʋ": "v", "ƴ": "y", "ƶ": "z", "ǝ": "e", "ə": "a", "ɛ": "e", "ĸ": "q",
}  # fmt: skip


@frozen
class Analysed:
    """The terms of some texts: `tokens[starts[i]:starts[i + 1]]` are those of text i, as places in `terms`."""

    terms: dict[str, int]
    """Each term and its code."""
    tokens: np.ndarray[tuple[int], np.dtype[np.int32]]
    starts: Numbers


def terms(text: str) -> list[str]:
    """The terms of a text, in order."""
    return [folded(stem) for stem in _stems(words(text))]


def words(text: str) -> list[str]:
    """The words of a text that become terms, in lower case."""
    found = [word.lower() for word in _WORD.findall(text) if len(word) <= LONGEST_WORD]
    return [word for word in found if word not in STOP_WORDS]


def folded(word: str) -> str:
    """A word with letters of ASCII for those that come from them: `é` is `e`, `æ` is `ae`, `я` stays."""
    return word if word.isascii() else "".join(map(_folded, word))


@lru_cache(4096)
def _folded(letter: str) -> str:
    if letter.isascii():
        return letter
    known = _FOLDED.get(letter)
    if known is not None:
        return known
    bare = "".join(part for part in unicodedata.normalize("NFKD", letter) if not unicodedata.combining(part))
    return bare if bare.isascii() and (bare.isalnum() or not bare) else letter


def _stems(words: list[str]) -> list[str]:
    found: list[str] = Stemmer.Stemmer("english", 0).stemWords(words)  # not for several threads, and made in no time
    return found


def analysed(texts: pa.StringArray) -> Analysed:
    """The terms of a column; a missing text has none."""
    rough, bounds = _cut(texts.fill_null("") if texts.null_count else texts)
    encoded = rough.dictionary_encode()
    vocabulary = _Vocabulary(encoded.dictionary)
    places = encoded.indices.to_numpy()
    if vocabulary.several is None:
        tokens = vocabulary.single[places]
        dropped = np.flatnonzero(tokens < 0)
        if not len(dropped):
            return Analysed(vocabulary.terms, tokens, bounds)
        return Analysed(vocabulary.terms, np.delete(tokens, dropped), bounds - np.searchsorted(dropped, bounds))
    starts, codes = vocabulary.several
    counts = np.diff(starts)[places]
    counted = np.concatenate([[0], np.cumsum(counts, dtype=np.int64)])
    inside = np.arange(counted[-1]) - np.repeat(counted[:-1], counts)
    return Analysed(vocabulary.terms, codes[np.repeat(starts[places], counts) + inside], counted[bounds])


def _cut(texts: pa.StringArray) -> tuple[pa.StringArray, Numbers]:
    """Words with whatever follows them until the next one, and at which of them each text begins."""
    _, offsets, data = texts.buffers()
    rows = len(texts)
    if data is None or rows == 0:
        return pa.array([], pa.string()), np.zeros(rows + 1, np.int64)
    all_offsets = np.frombuffer(offsets, np.int32)[texts.offset : texts.offset + rows + 1]
    base, end = int(all_offsets[0]), int(all_offsets[-1])
    if base == end:
        return pa.array([], pa.string()), np.zeros(rows + 1, np.int64)
    ends = (all_offsets - base).astype(np.int64)
    letters = np.frombuffer(memoryview(data)[base:end].tobytes().translate(_IS_LETTER), np.uint8)
    begins = np.empty(len(letters), np.bool_)
    begins[0] = letters[0]
    np.greater(letters[1:], letters[:-1], out=begins[1:])
    firsts = ends[:-1][ends[:-1] < len(letters)]
    begins[firsts] = letters[firsts]
    starts = np.flatnonzero(begins)
    spans = np.empty(len(starts) + 1, np.int32)
    spans[:-1], spans[-1] = starts, len(letters)
    cut = pa.StringArray.from_buffers(len(starts), pa.py_buffer(spans), data.slice(base, end - base))
    return cut, np.searchsorted(starts, ends)


class _Vocabulary:
    """What becomes of each distinct rough word: no term, one, or (if it was no single word) several."""

    def __init__(self, rough: pa.StringArray) -> None:
        cut = pc.ascii_rtrim(rough, characters=_SEPARATORS)
        plain = pc.string_is_ascii(cut).to_numpy(zero_copy_only=False)
        lower = pc.ascii_lower(cut)
        wanted = plain & (pc.binary_length(cut).to_numpy() <= LONGEST_WORD)
        wanted &= ~pc.is_in(lower, value_set=_STOP_WORDS).to_numpy(zero_copy_only=False)
        distinct = lower.filter(pa.array(wanted)).dictionary_encode()
        stems = _stems(distinct.dictionary.to_pylist())
        self.terms: dict[str, int] = {stem: code for code, stem in enumerate(dict.fromkeys(stems))}
        codes = np.fromiter((self.terms[stem] for stem in stems), np.int32, len(stems))
        self.single = np.full(len(rough), -1, np.int32)
        self.single[wanted] = codes[distinct.indices.to_numpy()]
        self.several: tuple[Numbers, np.ndarray[Any, np.dtype[np.int32]]] | None = None
        if not plain.all():
            self._cut_again(cut, np.flatnonzero(~plain))

    def _cut_again(self, cut: pa.StringArray, places: Numbers) -> None:
        found = [terms(word) for word in cut.take(pa.array(places)).to_pylist()]
        for term in (term for group in found for term in group):
            self.terms.setdefault(term, len(self.terms))
        counts = (self.single >= 0).astype(np.int64)
        counts[places] = [len(group) for group in found]
        starts = np.concatenate([[0], np.cumsum(counts)])
        codes = np.empty(int(starts[-1]), np.int32)
        there = self.single >= 0
        codes[starts[:-1][there]] = self.single[there]
        for place, group in zip(places.tolist(), found, strict=True):
            codes[starts[place] : starts[place + 1]] = [self.terms[term] for term in group]
            if len(group) == 1:
                self.single[place] = self.terms[group[0]]
        if counts.max(initial=0) > 1:
            self.several = (starts, codes)
