"""Hints as they travel: as values, so that whoever receives one words it for its own surface.

Hint("Set ", Option("mode", "merge"), ".")   ↔   ["Set ", {"option": "mode", "value": "merge"}, "."]
"""

from __future__ import annotations

from typing import Any

from omnigraph.hints import ANY, Action, Hint, Option


def advice_output(hint: Hint) -> list[Any]:
    """A hint as JSON has it."""
    return [_part(part) for part in hint.parts]


def _part(part: str | Option | Action | Hint) -> Any:
    match part:
        case str():
            return part
        case Option():
            return {"option": part.name, "value": part.value}
        case Action():
            return {"action": part.operation, "options": [_part(option) for option in part.options]}
        case Hint():
            return {"hint": advice_output(part)}


def advice_of(said: Any) -> Hint:
    """The hint again; what cannot be read is left out."""
    found = (_read(part) for part in said) if isinstance(said, list) else ()
    return Hint(*(part for part in found if part is not None))


def _read(said: Any) -> str | Option | Action | Hint | None:
    match said:
        case str():
            return said
        case {"option": str(name)}:
            return Option(name, said.get("value", ANY))
        case {"action": str(operation)}:
            options = (_read(option) for option in said.get("options", ()))
            return Action(operation, *(option for option in options if isinstance(option, Option)))
        case {"hint": list(parts)}:
            return advice_of(parts)
    return None
