"""`GraphError`, what every error is; `errors` has the tree of them."""

from __future__ import annotations

from typing import ClassVar

from omnigraph.error_details import visible
from omnigraph.hints import Advice, Hint


class GraphError(Exception):
    """Base of every error raised by OmniGraph. `hint` says what to do next in Python's words, `advice` is the same as a value."""

    code: ClassVar[str] = "graph_error"
    retryable: bool = False
    default_hint: ClassVar[Hint | str] = ""
    unlisted: GraphError | None = None
    """The same for somebody who may not list branches; None if no branch is named but those that were asked for."""

    def __init__(self, message: str, *, hint: Advice = None) -> None:
        super().__init__(message)
        self.message = message
        advice = self.default_hint if hint is None else hint
        self.advice = advice if isinstance(advice, Hint) else Hint(advice)
        self.hint = str(self.advice)
        if self.hint:
            self.add_note(visible(self.hint))  # a traceback shows it, too

    def __reduce__(self) -> tuple[object, ...]:
        """Errors travel between processes with everything they carry, whatever their constructors take."""
        return _again, (type(self), self.args, dict(self.__dict__))

    def __str__(self) -> str:
        """The message as it may be shown on a terminal; `message` has it as it is."""
        return visible(self.message)

    def to_dict(self) -> dict[str, object]:
        """The error as JSON-ready data."""
        data: dict[str, object] = {"error": self.message, "code": self.code, "retryable": self.retryable}
        if self.hint:
            data["hint"] = self.hint
        return data


def _again(cls: type[GraphError], args: tuple[object, ...], state: dict[str, object]) -> GraphError:
    """An error as it was."""
    error = cls.__new__(cls)
    error.args = args
    error.__dict__.update(state)
    return error
