"""A memory for agents: statements with provenance in a graph, on a branch of the agent's own.

    from omnigraph.memory import Memory

    memory = Memory(og.open("team.omni"), agent="ada", branch="agent/ada")
    memory.remember("Grace prefers tea", about=["Grace"], source="chat-17")
    memory.recall("what does Grace drink?")

The schema is `templates/memory.pg`; what a question finds, and in which order, is said in `recalling`.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from omnigraph.memory.memory import Memory as Memory
    from omnigraph.memory.recollections import Forgotten as Forgotten
    from omnigraph.memory.recollections import Recalled as Recalled
    from omnigraph.memory.recollections import Recollection as Recollection
    from omnigraph.memory.recollections import Relation as Relation
    from omnigraph.memory.recollections import Remembered as Remembered
    from omnigraph.memory.templates import schema as schema

_WHERE = {
    "Forgotten": "recollections",
    "Memory": "memory",
    "Recalled": "recollections",
    "Recollection": "recollections",
    "Relation": "recollections",
    "Remembered": "recollections",
    "schema": "templates",
}


def __getattr__(name: str) -> object:
    module = _WHERE.get(name)
    if module is None:
        raise AttributeError(f"module `omnigraph.memory` has no attribute `{name}`")
    from importlib import import_module

    found = globals()[name] = getattr(import_module(f"omnigraph.memory.{module}"), name)
    return found


__all__ = ["Forgotten", "Memory", "Recalled", "Recollection", "Relation", "Remembered", "schema"]
