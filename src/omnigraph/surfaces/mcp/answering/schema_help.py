"""The part of a schema that a mistaken query needs: so that an agent mends it without reading all of it.

Declarations are taken that the query or the complaints about it name, edges that touch those, and of the rest the names. A schema
that is short anyway is given whole.
"""

from __future__ import annotations

import re
from typing import Final

from omnigraph.language import read_schema
from omnigraph.language.pg.tree import Declaration, Edge
from omnigraph.language.source import Source

MOST: Final = 6 << 10
"""Bytes of the part at most."""
_WHOLE: Final = 2 << 10
"""A schema of so many bytes is given whole."""
_WORD: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def schema_part(schema: str, *texts: str) -> str:
    """What some texts need to know of a schema."""
    if len(schema.encode()) <= _WHOLE:
        return schema.strip()
    tree, _ = read_schema(Source(schema, "<schema>"))
    words = {word.lower() for text in texts for word in _WORD.findall(text)}
    named = [d for d in tree.declarations if d.name.text.lower() in words]
    nodes = {d.name.text for d in named if not isinstance(d, Edge)} | {
        end.text for d in named if isinstance(d, Edge) for end in (d.source, d.target)
    }
    near = [d for d in tree.declarations if d not in named and _touches(d, nodes)]
    shown: list[str] = []
    room = MOST
    told: set[str] = set()
    for declaration in [*named, *near]:
        text = schema[declaration.span.start : declaration.span.end].strip()
        if len(text.encode()) + 1 <= room:
            shown.append(text)
            told.add(declaration.name.text)
            room -= len(text.encode()) + 1
    rest = [_header(d) for d in tree.declarations if d.name.text not in told]
    if rest:
        shown.append("// also: " + ", ".join(rest)[: max(room, 200)])
    return "\n".join(shown)


def _touches(declaration: Declaration, nodes: set[str]) -> bool:
    if isinstance(declaration, Edge):
        return declaration.source.text in nodes or declaration.target.text in nodes
    return declaration.name.text in nodes


def _header(declaration: Declaration) -> str:
    name = declaration.name.text
    return f"{name}: {declaration.source.text} -> {declaration.target.text}" if isinstance(declaration, Edge) else name
