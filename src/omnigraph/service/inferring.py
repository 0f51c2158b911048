"""A schema proposed from files: it concerns no graph, and asks nobody."""

from __future__ import annotations

from collections.abc import Sequence


def inferred_schema(paths: Sequence[str]) -> str:
    """The text of a schema for some files; comments say what was guessed."""
    from omnigraph.engine.opening import infer_schema

    return infer_schema(list(paths))
