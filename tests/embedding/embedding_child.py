"""A process that embeds a graph through a server, and is killed on the way: GRAPH URL."""

from __future__ import annotations

import sys

import omnigraph as og


def main() -> None:
    graph, url = sys.argv[1:]
    provider = og.embedding_provider("openai-compatible", base_url=url, model="m", api_key="${TEST_KEY}")
    with og.open(graph, embedder=provider) as g:
        g.embed(pace=og.Pace(batch=10, in_flight=4))


if __name__ == "__main__":
    main()
