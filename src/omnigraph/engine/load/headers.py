"""The columns that rows of a type may have, checked before any row is looked at."""

from __future__ import annotations

from typing import Final

from omnigraph.catalog.catalog import EdgeType
from omnigraph.engine.load.types import Type
from omnigraph.engine.write.violations import Violation
from omnigraph.language.diagnostics import did_you_mean

ENDS: Final = {"src": ("from", "src"), "dst": ("to", "dst")}
"""How the ends of an edge are spelt in columns."""


def column_violations(type_: Type, names: list[str], file: str | None) -> list[Violation]:
    """What is wrong with the columns of a type, whatever is in them."""
    known = {*type_.properties, "id"} | ({"from", "to", "src", "dst"} if isinstance(type_, EdgeType) else set())
    found = []
    for name in dict.fromkeys(names):
        if names.count(name) > 1:
            message = f"column `{name}` is there {names.count(name)} times"
            found.append(Violation("record", type_.name, message, name, file=file))
        elif name not in known:
            hint = did_you_mean(name, known)
            message = f"{type_.name} has no property `{name}`" + (f": {hint}" if hint else "")
            found.append(Violation("unknown_property", type_.name, message, name, file=file))
    for name, prop in type_.properties.items():
        if not prop.type.nullable and name not in names:
            message = f"column `{name}` is missing, and {type_.name}.{name} must have a value"
            found.append(Violation("required", type_.name, message, name, file=file))
    if isinstance(type_, EdgeType):
        for spellings in ENDS.values():
            if not any(s in names for s in spellings):
                message = f"column `{spellings[0]}` is missing: it names one end of {type_.name}"
                found.append(Violation("record", type_.name, message, spellings[0], file=file))
    return found
