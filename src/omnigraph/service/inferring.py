"""A schema proposed from files: it concerns no graph, and asks nobody."""

from __future__ import annotations

from collections.abc import Callable, Sequence


def inferred_schema(paths: Sequence[str], compatible: Callable[[str], str]) -> str:
    """The text of a schema for some files; comments say what was guessed. `compatible` words how a path is loaded in the
    compatible dialect."""
    from omnigraph.engine.opening import infer_schema_worded

    return infer_schema_worded(list(paths), compatible)


def left_out_columns(schema: str) -> list[str]:
    """What a proposed schema says of columns that it left out."""
    from omnigraph.engine.load.read.any_format.inferring import left_out

    return left_out(schema)
