"""The prompt of the shell: several lines, history between sessions, completion of words, types, properties and branches."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from prompt_toolkit import PromptSession
from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document
from prompt_toolkit.history import FileHistory, History, InMemoryHistory
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent

from omnigraph.errors import GraphError
from omnigraph.language import Source, parse_schema
from omnigraph.language.pg import tree as pg
from omnigraph.surfaces.cli.shell.session import HELP, Session
from omnigraph.surfaces.cli.shell.statements import is_command, is_complete

WORDS: Final = (
    *("query", "match", "return", "order", "limit", "offset", "insert", "update", "delete", "set", "where", "not", "maybe"),
    *("and", "or", "in", "asc", "desc", "distinct", "as", "count", "sum", "avg", "min", "max", "contains", "starts_with"),
)
"""Words of the language that are completed."""

_WORD: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")


class Words(Completer):
    """Completes what can stand in a statement."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._known: tuple[str, tuple[str, ...]] | None = None

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterable[Completion]:
        """What the word before the cursor may become."""
        before = document.text_before_cursor
        try:
            yield from self._command(before) if is_command(before) else self._word(before)
        except GraphError:  # nothing is said while somebody types
            return

    def _command(self, before: str) -> Iterable[Completion]:
        words = before.lstrip().split(" ")
        if len(words) == 1:
            known = [command.split()[0] for command in HELP]
        else:
            known = self._session.branches() if words[0] == ".branch" else []
        last = words[-1]
        return [Completion(name, -len(last)) for name in known if name.startswith(last)]

    def _word(self, before: str) -> Iterable[Completion]:
        found = _WORD.search(before)
        if found is None:
            return []
        known = (*WORDS, *self._schema_words())
        return [
            Completion(name, -len(found[0])) for name in dict.fromkeys(known) if name.startswith(found[0]) and name != found[0]
        ]

    def _schema_words(self) -> tuple[str, ...]:
        """Names of types, spellings of edges, and properties, of the branch."""
        if self._known is None or self._known[0] != self._session.branch:
            names: list[str] = []
            for declared in parse_schema(Source(self._session.schema())).declarations:
                name = declared.name.text
                names += [name, name[0].lower() + name[1:]] if isinstance(declared, pg.Edge) else [name]
                names += [] if declared.body is None else [p.name.text for p in declared.body.properties]
            self._known = self._session.branch, tuple(dict.fromkeys(names))
        return self._known[1]


def _keys() -> KeyBindings:
    keys = KeyBindings()

    @keys.add("enter")
    def _(event: KeyPressEvent) -> None:
        """A whole statement is run; another line is begun otherwise."""
        buffer = event.current_buffer
        if is_complete(buffer.text) or (buffer.document.current_line == "" and is_complete(buffer.text + "\n")):
            buffer.validate_and_handle()
        else:
            buffer.insert_text("\n")

    return keys


def _history(path: Path) -> History:
    """What was typed before; only of this session, if the folder cannot be written to."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch(mode=0o600)
        return FileHistory(str(path))
    except OSError:
        return InMemoryHistory()


def prompt_session(session: Session, history: Path) -> PromptSession[str]:
    """A prompt for a session."""
    return PromptSession(
        history=_history(history),
        completer=Words(session),
        complete_while_typing=False,
        key_bindings=_keys(),
        multiline=True,
        prompt_continuation=lambda width, number, is_soft_wrap: " " * max(0, width - 2) + "… ",
    )
