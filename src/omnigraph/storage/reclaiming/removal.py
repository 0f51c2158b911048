"""A whole graph goes: every object below its root.

Its branches lose their names first. From then on nobody opens it, so whatever becomes of the rest (the process dies, the store
fails) no one ever reads half of a graph; removing it again removes what is left.
"""

from __future__ import annotations

import time

from omnigraph.errors import CleanupUnderWay
from omnigraph.storage.commits.leases import leases
from omnigraph.storage.commits.name_rules import REFS
from omnigraph.storage.files.effects import Call
from omnigraph.storage.files.place import Place


def is_there(place: Place) -> bool:
    """Whether anything is left of a graph: a folder on a disk, an object in a bucket."""
    around, name = _around(place)
    return around.exists(name) if place.is_local else bool(around.objects(name))


def remove_graph(place: Place) -> int:
    """Remove a graph, however much there is left of it. Gives the number of objects that went.

    Refused while something long is under way in it: a load, or whatever else holds a lease.
    """
    now = time.time()
    under_way = [path for path, lease in leases(place).items() if lease.until > now]
    if under_way:
        raise CleanupUnderWay(
            f"{place.uri} is in use: {under_way[0]} is held by something that takes long, as a load or an export does",
            hint="Wait until it has ended. If its process died, the lease runs out within an hour.",
        )
    around, name = _around(place)
    paths = [found.path for found in around.objects(name)]
    paths.sort(key=lambda path: (not path.startswith(f"{name}/{REFS}/"), path))
    around.delete(paths, Call.RECLAIM)
    around.remove_empty_folders(name, Call.RECLAIM)
    return len(paths)


def _around(place: Place) -> tuple[Place, str]:
    """Where a graph lies, and its name there."""
    above, _, name = place.uri.rpartition("/")
    return Place(above, place.options, place.durability, place.effects), name
