"""Which model made the vectors of a property, recorded as it was when the first of them were written.

    people.omni/__embeddings/node:3-1.7        {"model": "text-embedding-3-small", "made_up": false, …}     property 7 of type 3

One record for all branches: they are merged, and vectors of different models cannot be compared. It is made before the first
commit of such vectors, so there is none without it, and it does not change: a property gets another model as it does in the
schema, by a new property. Made-up vectors are worth nothing, so a real model may replace them.
"""

from __future__ import annotations

import time
from collections.abc import Sequence

import msgspec

from omnigraph.catalog.catalog import EntityType, Property
from omnigraph.embedding.port import Embedder
from omnigraph.embedding.space import Space
from omnigraph.engine.snapshot.view import Workspace, table_key
from omnigraph.errors import AlreadyExists, NotFound, UsageError
from omnigraph.hints import Action, Hint, Option
from omnigraph.storage.files.place import Place
from omnigraph.storage.files.records import decoded, encoded


class _Record(msgspec.Struct, frozen=True):
    model: str
    made_up: bool
    dimension: int
    created_at: int
    """Microseconds since the epoch."""
    actor: str | None = None


def spaces_of(workspace: Workspace, type_: EntityType, prop: Property) -> list[Space]:
    """What is known of what made the vectors of a property: by the schema, and as it was recorded."""
    pinned = None if prop.embed is None else prop.embed.model
    found = [] if pinned is None else [Space(pinned)]
    path = _path(type_, prop)
    known = workspace.spaces.get(path)
    if known is None:
        known = _read(workspace.store.place, path)
        if known is not None and not known.made_up:  # which never changes again
            workspace.spaces[path] = known
    return found if known is None else [*found, known]


def require_space(workspace: Workspace, type_: EntityType, prop: Property, embedder: Embedder, *, again: bool = False) -> None:
    """Refuse to write vectors that cannot be compared with those that are there. `again`: all of these are replaced."""
    require_one_space(f"{type_.name}.{prop.name}", spaces_of(workspace, type_, prop), Space.of(embedder), again=again)


def require_one_space(field: str, spaces: Sequence[Space], mine: Space, *, again: bool = False) -> None:
    """Refuse vectors that cannot be compared with those of a property, which are in these spaces."""
    for space in spaces:
        if space.is_that_of(mine):
            continue
        if again and space.made_up and not mine.made_up:
            continue
        if space.made_up is None:
            raise UsageError(
                f"{field} is for model `{space.model}`, not `{mine.model}`",
                hint="Vectors of different models cannot be compared: configure the recorded one, or name other types.",
            )
        anew: Hint | str = "Configure that model, or add a Vector property for the other one and drop this one."
        if space.made_up:
            anew = Hint("Make them anew: ", Action("embed", Option("again", True)), ".")
        raise UsageError(f"vectors of {field} were made by {space}, not by {mine}", hint=anew)


def record_space(workspace: Workspace, type_: EntityType, prop: Property, mine: Space, actor: str | None) -> None:
    """Note down what makes vectors that are about to be committed, if nobody has. Of two that differ, one is refused."""
    assert prop.type.dimension is not None
    path = _path(type_, prop)
    if mine in spaces_of(workspace, type_, prop):
        return
    try:
        workspace.store.place.put_new(path, _encoded(path, mine, prop.type.dimension, actor))
    except AlreadyExists:
        require_one_space(f"{type_.name}.{prop.name}", spaces_of(workspace, type_, prop), mine, again=True)


def replace_space(workspace: Workspace, type_: EntityType, prop: Property, embedder: Embedder, actor: str | None) -> None:
    """All vectors were made anew: where they were made up they no longer are."""
    assert prop.type.dimension is not None
    path, mine = _path(type_, prop), Space.of(embedder)
    if mine not in spaces_of(workspace, type_, prop):
        workspace.store.place.put(path, _encoded(path, mine, prop.type.dimension, actor))
        workspace.store.place.sync([path])


def _path(type_: EntityType, prop: Property) -> str:
    return f"__embeddings/{table_key(type_)}.{prop.property_id}"


def _encoded(path: str, space: Space, dimension: int, actor: str | None) -> bytes:
    made = _Record(space.model, bool(space.made_up), dimension, time.time_ns() // 1000, actor)
    return encoded(made, path)


def _read(place: Place, path: str) -> Space | None:
    try:
        found = decoded(place.get(path), _Record, path, "the record of an embedding model")
    except NotFound:
        return None
    return Space(found.model, found.made_up)
