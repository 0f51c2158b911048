"""How names of a schema are written in queries."""

from __future__ import annotations


def edge_spelling(name: str) -> str:
    """An edge the way a query best writes it: `worksAt` for `WorksAt`, `has_event` for `HAS_EVENT`.

    Any case would do, but the first letter must be small: it tells a traversal from a binding.
    """
    return name.lower() if name.isupper() else name[:1].lower() + name[1:]
