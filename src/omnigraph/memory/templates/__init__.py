"""Schemas that come with the package, as plain `.pg` text: `omnigraph init GRAPH --template memory`.

A template is a file here and a line in `TEMPLATES`. Vectors have the dimension of the model that makes them, which a template
cannot know: it is written into the text when somebody asks for another one.

    schema("memory")                     the text, with vectors of 384 numbers
    schema("memory", dimension=1536)     the same for a model with longer ones
"""

from __future__ import annotations

import re
from importlib.resources import files
from typing import Final

from omnigraph.errors import NotFound, UsageError
from omnigraph.language.diagnostics import did_you_mean

TEMPLATES: Final = {
    "memory": "what agents remember, with provenance, validity and confidence: see the guide on memory",
    "items": "JSON values by namespace and key, for LangGraph: see the guide on memory",
    "labelled": "nodes and relations with properties of any kind, for LlamaIndex: see the guide on memory",
}
"""Each with what it is for."""

DIMENSION: Final = 384
"""Of vectors, by default: that of many small models."""
MOST_DIMENSIONS: Final = 65_536

_VECTOR: Final = re.compile(r"\bVector\(\d+\)")


def schema(template: str, *, dimension: int = DIMENSION) -> str:
    """The text of a template."""
    if template not in TEMPLATES:
        meant = did_you_mean(template, TEMPLATES) or f"There are: {', '.join(TEMPLATES)}."
        raise NotFound(f"no template `{template}`", hint=meant)
    if isinstance(dimension, bool) or not isinstance(dimension, int) or not 1 <= dimension <= MOST_DIMENSIONS:
        raise UsageError(f"a vector has from 1 to {MOST_DIMENSIONS:,} numbers, not {dimension!r}", hint="Say that of your model.")
    text = (files(__package__) / f"{template}.pg").read_text(encoding="utf-8")
    return _VECTOR.sub(f"Vector({dimension})", text)
