"""What is given to a memory, checked before anything is done; and the schema that it needs."""

from __future__ import annotations

import hashlib
import math
import unicodedata
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from omnigraph.errors import UsageError
from omnigraph.model.limits import MAX_ACTOR_CHARS, MAX_MEMORY_CHARS, MAX_RECALLED
from omnigraph.model.phrases import counted

if TYPE_CHECKING:
    from omnigraph.catalog.catalog import Catalog

MOST_NAMES: Final = 64
_NEEDED: Final = {
    "Memory": {"hash", "text", "embedding", "kind", "created", "confirmed", "valid_from", "valid_until"}
    | {"confidence", "half_life_days", "importance"},
    "Entity": {"name"},
    "Source": {"name"},
    "Agent": {"name"},
}
_EDGES: Final = {"About", "FromSource", "ByAgent", "RelatesTo"}


def is_memory(catalog: Catalog) -> bool:
    """Whether a schema has the types of the template. It may have others, and more properties."""
    nodes = all(name in catalog.nodes and needed <= set(catalog.nodes[name].properties) for name, needed in _NEEDED.items())
    return nodes and set(catalog.edges) >= _EDGES


def dimension_of(catalog: Catalog, where: str) -> int:
    """Numbers of the vectors of memories."""
    if not is_memory(catalog):
        raise UsageError(
            f"{where} has no schema for memories",
            hint="Create the graph from the template `memory`, or apply a schema that holds the types of that template too.",
        )
    return catalog.nodes["Memory"].properties["embedding"].type.dimension or 0


def text_of(given: object, what: str) -> str:
    """A statement or a question."""
    if not isinstance(given, str) or not given.strip():
        raise UsageError(f"`{what}` must be a text that says something", hint="")
    _require_unicode(given, what)
    if len(given) > MAX_MEMORY_CHARS:
        raise UsageError(
            f"`{what}` has {counted(len(given), 'character')}, the most is {MAX_MEMORY_CHARS:,}",
            hint="A memory is one statement: remember several, from the same source.",
        )
    return given.strip()


def name_of(given: object, what: str) -> str:
    """The name of an entity, source, agent or relation."""
    if not isinstance(given, str) or not given.strip():
        raise UsageError(f"`{what}` must be a name", hint="")
    _require_unicode(given, what)
    if len(given) > MAX_ACTOR_CHARS:
        raise UsageError(f"`{what}` has {counted(len(given), 'character')}, the most is {MAX_ACTOR_CHARS}", hint="")
    return given.strip()


def plain_text(given: object, what: str) -> str:
    """A text that can be written down."""
    if not isinstance(given, str):
        raise UsageError(f"`{what}` must be a text, not {type(given).__name__}", hint="")
    _require_unicode(given, what)
    return given


def names_of(given: object, what: str) -> tuple[str, ...]:
    """Several names, each once; one alone may stand for itself."""
    if isinstance(given, str):
        given = [given]
    if not isinstance(given, Iterable):
        raise UsageError(f"`{what}` must be names", hint="")
    found = tuple(dict.fromkeys(name_of(name, what) for name in given))
    if len(found) > MOST_NAMES:
        raise UsageError(f"`{what}` has {counted(len(found), 'name')}, the most is {MOST_NAMES}", hint="")
    return found


def share_of(given: object, what: str) -> float:
    """A number from 0 to 1."""
    if isinstance(given, bool) or not isinstance(given, int | float) or not 0 <= given <= 1:
        raise UsageError(f"`{what}` must be a number from 0 to 1, not {given!r}", hint="")
    return float(given)


def days_of(given: object, what: str) -> float:
    """A number of days."""
    if isinstance(given, bool) or not isinstance(given, int | float) or not 0 < given < math.inf:
        raise UsageError(f"`{what}` must be a number of days above 0, not {given!r}", hint="")
    return float(given)


def moment_of(given: object, what: str) -> datetime:
    """A moment, as a datetime or as ISO text; without a time zone it is meant in UTC."""
    if isinstance(given, str):
        try:
            given = datetime.fromisoformat(given.strip())
        except ValueError:
            raise UsageError(f"`{what}` is no moment: {given!r}", hint="Write it as 2026-01-31T12:00:00Z.") from None
    if not isinstance(given, datetime):
        raise UsageError(f"`{what}` must be a datetime or ISO text, not {type(given).__name__}", hint="")
    try:
        aware = given.replace(tzinfo=UTC) if given.tzinfo is None else given.astimezone(UTC)
    except OverflowError:
        raise UsageError(f"`{what}` is out of range: {given.isoformat()}", hint="Give a year from 1 to 9999 in UTC.") from None
    return aware.replace(microsecond=aware.microsecond // 1000 * 1000)


def most_of(given: object) -> int:
    """How many memories are wanted."""
    if isinstance(given, bool) or not isinstance(given, int) or not 1 <= given <= MAX_RECALLED:
        raise UsageError(f"`k` must be a whole number from 1 to {MAX_RECALLED}, not {given!r}", hint="")
    return given


def hash_of(text: str, source: str | None) -> str:
    """The id of a memory: of its text, however it is spaced, and of its source."""
    said = " ".join(unicodedata.normalize("NFC", text).split())
    return hashlib.blake2b(f"{said}\0{source or ''}".encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


def _require_unicode(given: str, what: str) -> None:
    try:
        given.encode()
    except UnicodeEncodeError:
        raise UsageError(f"`{what}` is not valid Unicode: half of a surrogate pair", hint="") from None
