r"""Reading a text the way a PEG does: ordered choice over characters, no tokens.

Both languages match keywords as plain prefixes (`nodePerson {}` is `node Person {}`), so there is no tokenizer to lean on.
Instead a `Cursor` stands at an offset and tries patterns there. Three rules make it work:

* **Trivia is skipped once, after each token.** The cursor always stands on a character that matters, so an attempt is one
  regular-expression match.
* **`expect` raises `NoMatch`, `accept` returns None.** A choice is a `try`: `mark`, attempt, `reset` on `NoMatch`.
* **The furthest failure is the error.** Every failed attempt notes what would have been right at that offset. When no
  alternative is left, the deepest note is the place the writer's eye should go.

Worked example: `$p.nme = ` in a match block. The clause is tried as a binding (fails at `.`), as a traversal (fails at `.`),
then as a filter, which reads `$p.nme`, `=`, and fails at the end. The deepest failure wins: "expected a value", after the `=`.

One kind of word needs more than its deepest failure: a type that does not exist. `x: Boolean` is read as `x: Bool` and a property
`ean`, whose `:` is missed only on the next line. So the cursor remembers where the latest type began, and a failure at the end of
that word is told as what it is: "no type `Boolean`".

Every pattern is possessive (`*+`, `++`): matching never backtracks inside a regular expression, so time is linear in the text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection

from omnigraph.language.source import Span
from omnigraph.model.limits import MAX_NESTING
from omnigraph.model.types import Scalar

TRIVIA = r"(?:[ \t\r\n]++|//[^\n]*+|/\*(?:[^*]++|\*(?!/))*+\*/)*+"
"""Blanks, line comments, block comments. Nothing else is skipped: no form feed, no BOM, no no-break space."""

_match_trivia = re.compile(TRIVIA).match


def _skip(text: str, pos: int) -> int:
    """Offset of the first character at or after `pos` that is not trivia."""
    found = _match_trivia(text, pos)
    return found.end() if found is not None else pos


_TRIVIA_STARTS = frozenset(" \t\r\n/")
"""Only these characters can begin trivia; a look at one saves the regular expression."""

ESCAPES = {'"': '"', "\\": "\\", "n": "\n", "r": "\r", "t": "\t"}


class NoMatch(Exception):
    """The alternative at hand does not fit here; the caller tries the next one."""


class TextError(Exception):
    """The text is wrong in a way no other alternative can mend: reported as it stands."""

    def __init__(self, code: str, message: str, span: Span, help: str = "", expected: Collection[str] = ()) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.span = span
        self.help = help
        self.expected = expected
        """What would have been right at this place, by the names patterns have in messages."""


class Pattern:
    """A terminal, and its name in messages. Compiled when it is first looked for: a query needs a few of all there are."""

    __slots__ = ("_regex", "expected", "find")

    find: Callable[[str, int], str | None]
    """What of a text, from an offset on, is this terminal; None if nothing is."""

    def __init__(self, regex: str, expected: str) -> None:
        self._regex = regex
        self.expected = expected
        self.find = self._compile

    def _compile(self, text: str, pos: int) -> str | None:
        match = re.compile(self._regex).match

        def find(text: str, pos: int) -> str | None:
            found = match(text, pos)
            return None if found is None else found[0]

        self.find = find
        return find(text, pos)


def word(text: str) -> Pattern:
    """A keyword or sign, matched as a prefix: no boundary is needed after it, and no regular expression."""
    found = Pattern(re.escape(text), f"`{text}`")
    found.find = lambda source, pos: text if source.startswith(text, pos) else None
    return found


def whole_word(text: str) -> Pattern:
    """A keyword that must end here. For words the base grammar does not have: they never bite into a longer name."""
    return Pattern(rf"{re.escape(text)}(?![A-Za-z0-9_])", f"`{text}`")


TYPE_NAME = Pattern(r"[A-Z][A-Za-z0-9_]*+", "a type name (starts with a capital letter)")
IDENT = Pattern(r"[a-z_][A-Za-z0-9_]*+", "a name (starts with a small letter or `_`)")
STRING = Pattern(r'"(?:[^"\\]++|\\[\s\S])*+"', "a string")
INTEGER = Pattern(r"[0-9]++", "a whole number")
BOOL = Pattern(r"true|false", "`true` or `false`")
TYPE = "a property type"
"""What is expected where a type stands."""


Mark = tuple[int, int, int, int]


class Cursor:
    """A place in a text, and the deepest place where reading got stuck."""

    __slots__ = ("_began", "_counted", "_depth", "_type_at", "expected", "furthest", "pos", "start", "text")

    def __init__(self, text: str, pos: int = 0) -> None:
        self.text = text
        self.pos = pos
        """End of the latest token."""
        self.start = _skip(text, pos)
        """Where the next token begins: `pos` plus trivia."""
        self.furthest = pos
        self.expected: dict[str, None] = {}
        self._began = pos
        self._depth = 0
        self._counted: dict[str, int] = {}
        self._type_at = -1

    @property
    def last(self) -> Span:
        """Span of the latest token."""
        return Span(self._began, self.pos)

    def accept(self, pattern: Pattern) -> str | None:
        """Read the pattern if it is here."""
        found = pattern.find(self.text, self.start)
        if found is not None:
            return self._advance(found)
        self._stuck(pattern.expected)
        return None

    def expect(self, pattern: Pattern) -> str:
        """Read the pattern or give up this alternative."""
        found = pattern.find(self.text, self.start)
        if found is not None:
            return self._advance(found)
        self._stuck(pattern.expected)
        raise NoMatch

    def _advance(self, token: str) -> str:
        text = self.text
        self._began = self.start
        self.pos = end = self.start + len(token)
        self.start = _skip(text, end) if text[end : end + 1] in _TRIVIA_STARTS else end
        return token

    def fail(self, expected: str) -> NoMatch:
        """Give up this alternative, saying what would have been right here: `raise cursor.fail("a value")`."""
        self._stuck(expected)
        return NoMatch()

    def looking_at(self, pattern: Pattern) -> bool:
        """Whether the pattern is here, without reading it and without a note."""
        return pattern.find(self.text, self.start) is not None

    def at_end(self) -> bool:
        return self.start == len(self.text)

    def next_char(self) -> str:
        return self.text[self.start : self.start + 1]

    def since(self, start: int) -> Span:
        """Span from an offset to the end of the latest token."""
        return Span(start, self.pos)

    def enter(self) -> None:
        """One level deeper; refuses beyond `MAX_NESTING`. Pair with `leave`."""
        self._depth += 1
        if self._depth > MAX_NESTING:
            start = self.start
            raise TextError(
                "nesting-limit",
                f"nested more than {MAX_NESTING} levels deep",
                Span(start, start + 1),
                "split the text into simpler parts",
            )

    def count(self, what: str, most: int, help: str) -> None:
        """One more of something of which a query may have so many."""
        found = self._counted[what] = self._counted.get(what, 0) + 1
        if found > most:
            raise TextError("size-limit", f"more than {most:,} {what} in a query", Span(self.start, self.start + 1), help)

    def count_anew(self) -> None:
        """Another query begins."""
        self._counted.clear()

    def leave(self) -> None:
        self._depth -= 1

    def begin_type(self) -> None:
        """Note that a type is to be read here."""
        self._type_at = self.pos

    def mark(self) -> Mark:
        """This place, to come back to."""
        return (self.pos, self.start, self._depth, self._began)

    def reset(self, mark: Mark) -> None:
        """Back to an earlier place, to try another alternative. What was noted about failures stays."""
        self.pos, self.start, self._depth, self._began = mark

    def _stuck(self, expected: str) -> None:
        if self.pos > self.furthest:
            self.furthest = self.pos
            self.expected = {expected: None}
        elif self.pos == self.furthest:
            self.expected[expected] = None

    def stuck_error(self) -> TextError:
        """The deepest failure, as an error."""
        start = _skip(self.text, self.furthest)
        if self.text.startswith("/*", start):
            return TextError("unclosed-comment", "this block comment is never closed", Span(start, start + 2), "add `*/`")
        unknown = self._unknown_type()
        if unknown is not None:
            return unknown
        if start >= len(self.text):
            what, span = "the end of the text", Span(len(self.text), len(self.text))
        else:
            if self.text[start] == '"' and STRING.find(self.text, start) is None:
                return TextError("unclosed-string", "this string is never closed", Span(start, start + 1), 'add `"`')
            what, span = _token_at(self.text, start)
        wanted = list(self.expected)
        listed = wanted[0] if len(wanted) == 1 else f"{', '.join(wanted[:-1])} or {wanted[-1]}" if wanted else "something else"
        return TextError("syntax", f"expected {listed}, found {what}", span, expected=wanted)

    def _unknown_type(self) -> TextError | None:
        """An error about the latest type, if reading got stuck on that word and it is none."""
        found = _WORD.match(self.text, _skip(self.text, self._type_at)) if self._type_at >= 0 else None
        if found is None or found[0] in _TYPE_WORDS or not self._type_at <= self.furthest <= found.end():
            return None
        return TextError("syntax", f"no type `{found[0]}`", Span(*found.span()), expected=(TYPE,))


_TYPE_WORDS = frozenset({*(scalar.value for scalar in Scalar if scalar is not Scalar.DURATION), "enum"})
_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]*+")
_SHOWN_TOKEN = re.compile(r'\$?[A-Za-z_][A-Za-z0-9_]*+|[0-9]++|"[^"\n]{0,20}"?|->|\.\.|.', re.DOTALL)


def _token_at(text: str, start: int) -> tuple[str, Span]:
    found = _SHOWN_TOKEN.match(text, start)
    shown = found[0] if found else text[start]
    end = start + len(shown)
    return (f"`{shown}`" if shown.isprintable() else f"the character {shown!r}"), Span(start, end)


def decode_string(raw: str, start: int) -> str:
    """The value of a string literal, quotes included in `raw`. `start` is where it begins, for the error."""
    body = raw[1:-1]
    if "\\" not in body:
        return body
    parts: list[str] = []
    position = 0
    while True:
        slash = body.find("\\", position)
        if slash < 0:
            parts.append(body[position:])
            return "".join(parts)
        parts.append(body[position:slash])
        escaped = body[slash + 1]
        if escaped not in ESCAPES:
            at = start + 1 + slash
            raise TextError(
                "unsupported-escape",
                f"unsupported escape sequence `\\{escaped}`",
                Span(at, at + 2),
                r"the escapes are \" \\ \n \r \t",
            )
        parts.append(ESCAPES[escaped])
        position = slash + 2


def quote_string(value: str) -> str:
    """A string literal with this value."""
    out = value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\r", "\\r").replace("\t", "\\t")
    return f'"{out}"'
