"""A memory for two agents: remembered on branches of their own, reviewed, merged, forgotten. `python examples/memory.py`."""

from __future__ import annotations

import tempfile
from pathlib import Path

import omnigraph as og
from omnigraph.embedding import MockEmbedder
from omnigraph.memory import Memory, schema


def main() -> None:
    """Tell the story."""
    with tempfile.TemporaryDirectory() as folder:
        graph = og.init(Path(folder) / "team.omni", schema=schema("memory", dimension=16), embedder=MockEmbedder())
        ada, bob = Memory(graph, agent="ada"), Memory(graph, agent="bob")
        print(ada.remember("Grace prefers tea to coffee", about=["Grace"], source="chat-17", half_life_days=90))
        print(ada.remember("Grace prefers tea to coffee", about=["Grace"], source="chat-17"))
        print(bob.remember("The kettle is on the second floor", about=["kettle"], source="chat-18"))
        print(ada.relate("Grace", "works_at", "Acme"))
        for memory in (ada, bob):
            graph.reviews.merge(memory.propose(f"What {memory.agent} learned"), actor="carol")
        shared = Memory(graph, branch="main")
        print(shared.recall("where do I make tea for Grace?"))
        print(shared.forget(about="Grace"))
        graph.close()


if __name__ == "__main__":
    main()
