"""What every command shares in speaking: JSON on stdout, everything else on stderr, colour only where a person looks."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final, TextIO

import click

from omnigraph.error_details import Located
from omnigraph.errors import GraphError, LanguageError, OutputFailed, exit_code
from omnigraph.model.phrases import counted
from omnigraph.model.printable import printable

_OURS: Final = f"\x1b{os.urandom(8).hex()}"
"""How a style of ours begins until it is shown. Nothing that is stored can know it."""


def say(text: object = "", *, err: bool = False, nl: bool = True) -> None:
    """Every word of a command goes out here: on a terminal nothing is left in it that it would obey, elsewhere it is as it is."""
    stream = sys.stderr if err else sys.stdout
    reported = str(text)
    if stream.isatty():
        reported = "\x1b".join(printable(part) for part in reported.split(_OURS))
    with _sent("standard error" if err else "standard output"):
        click.echo(reported, err=err, nl=nl, color=True)


@contextmanager
def _sent(stream: str) -> Iterator[None]:
    """What goes wrong with a stream is one of our errors, unless whoever read it has had enough."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        raise OutputFailed.of(stream, error) from error


def styled(text: str, **style: Any) -> str:
    """A text in a style of ours, for `say`. What looks like a style in the text itself is none."""
    before, _, after = click.style("|", **style).partition("|")
    return before.replace("\x1b", _OURS) + text + after.replace("\x1b", _OURS)


class _Shown:
    """Bytes for a terminal: as text that it does not obey."""

    def write(self, data: bytes, /) -> int:
        """Show some of them."""
        say(bytes(data).decode("utf-8", "replace"), nl=False)
        return len(data)

    def flush(self) -> None:
        """Show all there is."""
        sys.stdout.flush()


class _Sent:
    """Bytes for a file or a pipe: exactly as they are."""

    closed = False

    def write(self, data: bytes, /) -> int:
        """Send some of them."""
        with _sent("standard output"):
            return sys.stdout.buffer.write(data)

    def flush(self) -> None:
        """Send all there is."""
        with _sent("standard output"):
            sys.stdout.buffer.flush()


def data_sink() -> _Shown | _Sent:
    """Where data on stdout goes: exactly as it is, unless that is a terminal."""
    return _Shown() if sys.stdout.isatty() else _Sent()


def one_line(text: str) -> str:
    """A text of several lines on one."""
    return text.replace("\n", "\\n")


def print_json(data: object) -> None:
    """Two-space JSON and a newline on stdout."""
    say(json.dumps(data, indent=2, ensure_ascii=False))


def tell_diagnostic(diagnostic: Located) -> None:
    """A problem in a text, on stderr: in colour, unless the text holds what a terminal would obey."""
    plain = diagnostic.render()
    if use_colour(sys.stderr) and printable(plain) == plain:
        say(diagnostic.render(colour=True).replace("\x1b", _OURS) + "\n", err=True)
    else:
        say(plain + "\n", err=True)


def wants_json(arguments: Sequence[str]) -> bool:
    """Whether the command line asks for JSON, also when it failed before it was understood."""
    return "--json" in arguments


def use_colour(stream: TextIO) -> bool:
    """Colour for people at a terminal, unless they said no (https://no-color.org)."""
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def advice(error: GraphError) -> str:
    """What to do next."""
    from omnigraph.surfaces.wording import COMMAND_LINE

    return error.advice.worded(COMMAND_LINE)


def _as_data(error: GraphError) -> dict[str, object]:
    data = {**error.to_dict(), "hint": advice(error)}
    return {name: value for name, value in data.items() if name != "hint" or value}


def _counted(error: LanguageError) -> str:
    """How many problems there are, and in which file: the problems themselves have just been shown."""
    return f"{counted(len(error.diagnostics), 'problem')} in {error.diagnostics[0].to_dict()['file']}"


_LOST: Final = 4
"""How a command ends whose condition no longer holds."""


def fail(error: GraphError, *, as_json: bool) -> int:
    """Report an error and return its exit code.

    What failed leaves stdout to whoever reads answers there; a condition that no longer holds is an answer that a script reads.
    """
    if as_json:
        said = json.dumps(_as_data(error), indent=2, ensure_ascii=False)
        try:
            say(said, err=exit_code(error) != _LOST)
        except OutputFailed:  # what cannot be said there is said where there is room
            say(said, err=exit_code(error) == _LOST)
    elif isinstance(error, LanguageError):
        for diagnostic in error.diagnostics:
            tell_diagnostic(diagnostic)
        say(f"Error: {_counted(error)}", err=True)
    else:
        say(f"Error: {error.message}", err=True)
        if advice(error):
            say(f"  {advice(error)}", err=True)
    return exit_code(error)
