"""What errors list, as those who catch them see it: shapes only, so that errors need to know nothing else."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol


class Located(Protocol):
    """A problem in a text: its code, what it is, and how to show it under the source line."""

    @property
    def code(self) -> str: ...

    @property
    def summary(self) -> str: ...

    def render(self, *, colour: bool = False) -> str: ...

    def to_dict(self) -> dict[str, object]: ...


class BrokenRule(Protocol):
    """A row that breaks a rule of the schema: a `Violation`."""

    @property
    def rule(self) -> str: ...

    @property
    def type(self) -> str: ...

    @property
    def message(self) -> str: ...

    @property
    def entity(self) -> str | None: ...

    @property
    def value(self) -> object: ...

    @property
    def file(self) -> str | None: ...

    @property
    def line(self) -> int | None: ...

    def to_dict(self) -> dict[str, object]: ...

    @property
    def property(self) -> str | None: ...  # the last: its name hides the decorator


class Disagreement(Protocol):
    """Something that both sides of a merge changed: a `Conflict`."""

    @property
    def key(self) -> str: ...

    @property
    def kind(self) -> str: ...

    @property
    def entity_kind(self) -> str: ...

    @property
    def type(self) -> str: ...

    @property
    def entity(self) -> str | None: ...

    @property
    def message(self) -> str: ...

    @property
    def properties(self) -> tuple[str, ...]: ...

    @property
    def base(self) -> Mapping[str, object] | None: ...

    @property
    def ours(self) -> Mapping[str, object] | None: ...

    @property
    def theirs(self) -> Mapping[str, object] | None: ...

    def to_dict(self) -> dict[str, object]: ...


def visible(text: str) -> str:
    """A text with everything spelt out that a terminal would obey, or that turns a line around."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(c if c.isprintable() or c in "\n\t" else ascii(c)[1:-1] for c in text)
