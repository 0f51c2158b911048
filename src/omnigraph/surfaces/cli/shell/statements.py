"""Where a statement of the shell ends, and what it is.

query q($n: String) { … }                a whole query: ends with its last brace
match { $p: Person } return { $p.name }; a read or a change without a name: ends with a semicolon, or an empty line
insert Person { name: "Ada" };
.branches                                a command of the shell: one line
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Final

from omnigraph.error_details import Located
from omnigraph.errors import LanguageError
from omnigraph.language import Source
from omnigraph.language.diagnostics import Diagnostic
from omnigraph.language.layout import find_comments
from omnigraph.language.source import Span

_QUERY: Final = re.compile(r"query\b")
_STRING: Final = re.compile(r'"(?:[^"\\\n]|\\.)*"')
UNNAMED: Final = "shell"
"""What a query is called that was given without a name."""


def _bare(text: str) -> str:
    """A text without its comments and strings, which may hold braces."""
    for comment in reversed(find_comments(text)):
        text = text[: comment.span.start] + " " * (comment.span.end - comment.span.start) + text[comment.span.end :]
    return _STRING.sub(lambda found: "_" * len(found[0]), text)


def is_command(text: str) -> bool:
    """Whether a text is a command of the shell."""
    return text.lstrip().startswith(".")


def is_complete(text: str) -> bool:
    """Whether a text is a whole statement, or none at all."""
    bare = _bare(text)
    said = bare.strip()
    if not said or is_command(text):
        return True
    balanced = bare.count("{") <= bare.count("}")
    if _QUERY.match(said):
        return balanced and "}" in said
    return said.endswith(";") or (balanced and re.search(r"\n[ \t\r]*\n\Z", bare) is not None)


_HEAD: Final = f"query {UNNAMED}() {{ "


def as_query(text: str) -> str:
    """A statement as the text of a query: what has no name is given one. Lines stay where they are."""
    bare = _bare(text)
    if _QUERY.match(bare.strip()):
        return text
    end = len(bare.rstrip())
    body = text[: end - 1] if bare[:end].endswith(";") else text[:end]
    return f"{_HEAD}{body}\n}}"


def as_typed(error: LanguageError, typed: str, source: Source) -> LanguageError:
    """An error about the query that a statement became, about the statement."""
    if source.text == typed:
        return error
    statement, most = Source(typed, source.name), len(typed.rstrip())

    def told(found: Located) -> Located:
        if not isinstance(found, Diagnostic) or found.source.text != source.text:
            return found
        start, end = (min(max(0, offset - len(_HEAD)), most) for offset in found.span)
        return replace(found, source=statement, span=Span(start, end))

    return type(error)([told(found) for found in error.diagnostics], hint=error.advice)
