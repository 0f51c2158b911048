"""Modules that are imported when one of their names is first used: what a read does not need, it does not wait for.

if TYPE_CHECKING:
    from omnigraph.engine.history import merge as merging
else:
    merging = Deferred("omnigraph.engine.history.merge")
"""

from __future__ import annotations

from importlib import import_module


class Deferred:
    """Stands for a module until somebody asks it for something."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, attribute: str) -> object:
        found = getattr(import_module(self._name), attribute)
        if not attribute.startswith("__"):
            vars(self)[attribute] = found
        return found
