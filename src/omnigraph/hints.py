"""What to do next, as a value that each surface words for itself.

Whoever raises an error does not know who will read it: somebody at a Python prompt, in a shell, or an agent behind a server. So a
hint is made of text that reads the same everywhere, options of the call that failed, and operations of the product:

    Hint("Nothing was done. To go ahead anyway, set ", Option("allow_empty", True), ".")

    Python          Nothing was done. To go ahead anyway, set allow_empty=True.
    command line    Nothing was done. To go ahead anyway, set --allow-empty.

A hint inside a hint is left out by a surface that has no words for something in it, so that nobody is sent to an option that
their surface does not have:

    Hint("Narrow the pattern or add a limit.", Hint(" Or give the query more time: ", Option("timeout"), "."))

`PYTHON` holds the words of Python, which tracebacks and `error.hint` use; those of commands are in `surfaces/wording.py`,
those of HTTP in `wire/wording.py`. A test refuses text in a hint that only one surface would understand.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Protocol

ANY: Final = "…"
"""The value of an option, where it is for the reader to choose."""


class _Value:
    """Equal and hashed by its fields, which do not change. (Dataclasses are for packages above this one.)"""

    __slots__: tuple[str, ...] = ()

    def _fields(self) -> tuple[object, ...]:
        return tuple(getattr(self, name) for name in self.__slots__)

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and isinstance(other, _Value) and other._fields() == self._fields()

    def __hash__(self) -> int:
        return hash((type(self), repr(self._fields())))

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"{type(self).__name__} does not change")

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(map(repr, self._fields()))})"


class Option(_Value):
    """An option of the operation that failed, by its name in Python."""

    __slots__ = ("name", "value")
    name: str
    value: object

    def __init__(self, name: str, value: object = ANY) -> None:
        object.__setattr__(self, "name", name)
        object.__setattr__(
            self, "value", ANY if isinstance(value, str) and value == ANY else value
        )  # also one that has travelled

    def __reduce__(self) -> tuple[object, ...]:
        return Option, (self.name, self.value)


class Action(_Value):
    """An operation of the product, by its name in `omnigraph.service.operations`, or `help` for the call that failed."""

    __slots__ = ("operation", "options")
    operation: str
    options: tuple[Option, ...]

    def __init__(self, operation: str, *options: Option) -> None:
        object.__setattr__(self, "operation", operation)
        object.__setattr__(self, "options", options)

    def __reduce__(self) -> tuple[object, ...]:
        return Action, (self.operation, *self.options)


class Words(Protocol):
    """How a surface names options and operations; None for those that it does not have."""

    def option(self, option: Option) -> str | None: ...

    def action(self, action: Action) -> str | None: ...


class Hint(_Value):
    """What to do next: text, options, operations, and hints that not every surface can give."""

    __slots__ = ("parts",)
    parts: tuple[str | Option | Action | Hint, ...]

    def __init__(self, *parts: str | Option | Action | Hint) -> None:
        object.__setattr__(self, "parts", parts)

    def __reduce__(self) -> tuple[object, ...]:
        return Hint, self.parts

    def __str__(self) -> str:
        return self.worded(PYTHON)

    def worded(self, words: Words) -> str:
        """The hint in the words of a surface; empty if it has none for what the hint is about."""
        said: list[str] = []
        for part in self.parts:
            match part:
                case str():
                    text: str | None = part
                case Option():
                    text = words.option(part)
                case Action():
                    text = words.action(part)
                case Hint():
                    text = part.worded(words)
            if text is None:
                return ""
            said.append(text)
        return "".join(said)


def _spelt(value: object) -> str:
    """A value as it is written in Python, texts in double quotes."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_spelt(name)}: {_spelt(of)}" for name, of in value.items()) + "}"
    return f'"{value}"' if isinstance(value, str) else repr(value)


Advice = Hint | str | None
"""A hint as it is given to an error: None for that of its class."""


class PythonWords:
    """Keyword arguments, and methods of a graph `g`."""

    def __init__(self, calls: Mapping[str, str]) -> None:
        self.calls = calls

    def option(self, option: Option) -> str:
        """`timeout=…`, `lossy="round"`."""
        value = option.value
        if value is ANY:
            return f"{option.name}={ANY}"
        return f"{option.name}={_spelt(value)}"

    def action(self, action: Action) -> str:
        """`` `g.verify()` ``."""
        arguments = ", ".join(self.option(option) for option in action.options)
        return f"`{self.calls[action.operation].replace('()', f'({arguments})')}`"


PYTHON: Final = PythonWords(
    {
        "apply_schema": "g.apply_schema()",
        "baseline": "g.baseline()",
        "create_review": "g.reviews.create()",
        "embed": "g.embed()",
        "help": "help()",
        "init": "omnigraph.init()",
        "list_commits": "g.commits()",
        "list_reviews": "g.reviews.list()",
        "load": "g.load()",
        "mutate": "g.mutate()",
        "plan_schema": "g.plan_schema()",
        "query": "g.query()",
        "read_blob": "g.blob()",
        "show_schema": "g.schema()",
        "verify": "g.verify()",
    }
)
"""The words of Python."""
