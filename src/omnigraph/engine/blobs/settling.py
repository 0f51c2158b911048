"""Resolving the URIs that one operation gives for Blobs: each is checked once, and its bytes are fetched or a reference is kept.

A `Settling` takes texts as they come, approves them, looks for what they name (a few at a time, each URI once, however often it
is given) and gives the cell to store for each: the bytes where they are copied in, the reference where it is kept.

    settling = Settling(External(ExternalBlobs.allow("s3://media"), options, copies=True))
    settling.settle(["s3://media/a.png", "s3://media/a.png"])        one HEAD and one GET
    settling.use                                                     2 cells, twice the bytes of a.png

It counts, and stops asking stores once there is too much; `Use.require` refuses then. Uses can be added up: when several
processes settle parts of one operation, whoever puts the parts together refuses.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TypeVar

from omnigraph.engine.blobs.policy import Approved, ExternalBlobs, Refusal
from omnigraph.errors import ResourceLimit
from omnigraph.model.blobs import managed, reference
from omnigraph.model.frozen import frozen
from omnigraph.model.limits import MAX_EXTERNAL_BYTES, MAX_EXTERNAL_CELLS, MAX_EXTERNAL_PROBES
from omnigraph.storage.files.external_objects import Measured, Outside, Unreachable, reach

T = TypeVar("T")
R = TypeVar("R")


@frozen(slots=False)
class External:
    """What an operation does with URIs. A value that any worker can be given."""

    policy: ExternalBlobs = field(default_factory=ExternalBlobs.deny)
    options: Mapping[str, str] = field(default_factory=dict)
    """How object stores are reached."""
    copies: bool = True
    """Whether bytes are copied in; otherwise references are kept."""

    @classmethod
    def of(cls, policy: ExternalBlobs, options: Mapping[str, str], *, copies: bool) -> External:
        """By a policy, from a graph that was opened with some options."""
        return cls(policy, reach(options) if policy.bases else {}, copies)


@dataclass
class Use:
    """How much was given."""

    cells: int = 0
    bytes: int = 0
    """What is copied in, for every cell."""

    def __add__(self, other: Use) -> Use:
        return Use(self.cells + other.cells, self.bytes + other.bytes)

    @property
    def is_too_much(self) -> bool:
        return self.cells > MAX_EXTERNAL_CELLS or self.bytes > MAX_EXTERNAL_BYTES

    def require(self) -> None:
        """Refuse what is too much."""
        exceeded = ("external Blob reference cells", self.cells, MAX_EXTERNAL_CELLS)
        hint = "Give fewer URIs at a time, or the bytes themselves as `base64:…`."
        if self.cells <= MAX_EXTERNAL_CELLS:
            exceeded = ("materialized external blob payload bytes", self.bytes, MAX_EXTERNAL_BYTES)
            hint = "Give fewer URIs at a time, or load with mode overwrite, which keeps references."
        resource, actual, limit = exceeded
        if actual > limit:
            text = f"resource limit exceeded for {resource}: actual {actual}, limit {limit}"
            raise ResourceLimit(text, resource=resource, actual=actual, limit=limit, hint=hint)


class Settling:
    """The URIs of one operation, or of a part of it."""

    def __init__(self, external: External) -> None:
        self.external = external
        self.use = Use()
        self._outside = Outside(external.options)
        self._found: dict[str, Measured | Unreachable] = {}
        self._cells: dict[str, bytes | Unreachable] = {}

    def settle(self, texts: Sequence[str]) -> dict[str, bytes | Unreachable]:
        """The cell for each URI, or why there is none. Those that are refused, and what is too much, are left out."""
        counts = Counter(texts)
        approved = {text: one for text in counts if (one := self._approved(text)) is not None}
        self.use.cells += sum(counts[text] for text in approved)
        if self.use.is_too_much or not approved:
            return {}
        self._found |= _each([one for one in approved.values() if one.uri not in self._found], self._outside.measure)
        if self.external.copies:
            self.use.bytes += sum(counts[text] * self._size(one.uri) for text, one in approved.items())
            if self.use.is_too_much:
                return {}
        self._cells |= _each([one for one in approved.values() if one.uri not in self._cells], self._cell)
        return {text: self._cells[one.uri] for text, one in approved.items()}

    def _approved(self, text: str) -> Approved | None:
        try:
            return self.external.policy.approve(text)
        except Refusal:
            return None

    def _size(self, uri: str) -> int:
        found = self._found[uri]
        return 0 if isinstance(found, Unreachable) else found.size

    def _cell(self, one: Approved) -> bytes:
        measured = self._found[one.uri]
        if isinstance(measured, Unreachable):
            raise measured
        return managed(self._outside.fetch(one, measured)) if self.external.copies else reference(one.uri)


def _each(wanted: Sequence[Approved], ask: Callable[[Approved], R]) -> dict[str, R | Unreachable]:
    """Answers by URI, a few asked for at a time, each once."""
    distinct = {one.uri: one for one in wanted}

    def answer(one: Approved) -> R | Unreachable:
        try:
            return ask(one)
        except Unreachable as error:
            return error

    if not distinct:
        return {}
    with ThreadPoolExecutor(min(len(distinct), MAX_EXTERNAL_PROBES), thread_name_prefix="omnigraph-blobs") as pool:
        return dict(zip(distinct, pool.map(answer, distinct.values()), strict=True))
