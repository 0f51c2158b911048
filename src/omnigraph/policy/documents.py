"""Documents that people write as YAML, read strictly: what is twice there, unknown or of the wrong kind is refused in its place.

    document = read_document(text, source="policy.yaml", error=PolicyError)
    members = document.members("version", "groups", required=("version",))
    members["version"].number()

A value knows its line and its path, so that whoever reads it can refuse it in one sentence:

    policy.yaml:7: rules[0].allow: unknown key `action`; did you mean `actions`?

YAML's own conversions apply: `yes`, `12` and `2024-01-01` are no texts unless they are quoted.
"""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, Final, NoReturn

from omnigraph.errors import InputError, UsageError
from omnigraph.model.frozen import frozen
from omnigraph.model.phrases import counted

if TYPE_CHECKING:
    from yaml import Node

LARGEST: Final = 1 << 20
"""The most characters that a document may have."""

_TEXT: Final = "tag:yaml.org,2002:str"
_NUMBER: Final = "tag:yaml.org,2002:int"
_FLAG: Final = "tag:yaml.org,2002:bool"
_NULL: Final = "tag:yaml.org,2002:null"


@frozen
class Value:
    """Something in a document, and where it is."""

    node: Node
    source: str
    path: str
    error: type[InputError]

    @property
    def line(self) -> int:
        """Its line, counted from 1."""
        return int(self.node.start_mark.line) + 1

    def refuse(self, what: str, hint: str = "") -> NoReturn:
        """Say what is wrong with it."""
        where = f"{self.source}:{self.line}: "
        raise self.error(f"{where}{f'{self.path}: ' if self.path else ''}{what}", hint=hint)

    @property
    def is_list(self) -> bool:
        """Whether it is a list."""
        return bool(self.node.id == "sequence")

    def members(self, *known: str, required: Iterable[str] = ()) -> dict[str, Value]:
        """The members of a mapping. Without `known`, any key will do."""
        if self.node.id != "mapping":
            self.refuse("must be a mapping of keys to values", "Write `key: value` lines.")
        found: dict[str, Value] = {}
        for key, value in self.node.value:
            at = Value(key, self.source, self.path, self.error)
            if key.id != "scalar" or key.tag != _TEXT:
                at.refuse(f"the key {_shown(key)} is not a text", "Quote it.")
            name = str(key.value)
            if known and name not in known:
                near = get_close_matches(name, known, 1)
                meant = f"; did you mean `{near[0]}`?" if near else ""
                at.refuse(f"unknown key `{name}`{meant}", f"Known here: {', '.join(known)}.")
            if name in found:
                at.refuse(f"key `{name}` is there twice", "Write it once.")
            found[name] = Value(value, self.source, f"{self.path}.{name}" if self.path else name, self.error)
        for name in required:
            if name not in found:
                self.refuse(f"key `{name}` is missing", f"Add `{name}:`.")
        return found

    def items(self) -> list[Value]:
        """The items of a list."""
        if not self.is_list:
            self.refuse("must be a list", "Write `[a, b]`, or a line with `- ` for each item.")
        return [Value(item, self.source, f"{self.path}[{n}]", self.error) for n, item in enumerate(self.node.value)]

    def text(self, what: str) -> str:
        """A text that is not blank, as it is meant: without space around it."""
        if self.node.id != "scalar" or self.node.tag != _TEXT:
            self.refuse(f"{what} must be a text, not {_shown(self.node)}", "Quote it.")
        text = str(self.node.value).strip()
        if not text:
            self.refuse(f"{what} is blank", "Give it a name, or leave it out.")
        return text

    def number(self, what: str) -> int:
        """A whole number."""
        text = str(self.node.value)
        if self.node.id != "scalar" or self.node.tag != _NUMBER or not text.lstrip("+-").isdecimal() or len(text) > 18:
            self.refuse(f"{what} must be a whole number, not {_shown(self.node)}")
        return int(text)

    def flag(self, what: str) -> bool:
        """True or false."""
        if self.node.id != "scalar" or self.node.tag != _FLAG:
            self.refuse(f"{what} must be true or false, not {_shown(self.node)}")
        return str(self.node.value).lower() in ("true", "yes", "on")

    def word(self, what: str, known: Iterable[str]) -> str:
        """One of some words."""
        text, words = self.text(what), tuple(known)
        if text not in words:
            near = get_close_matches(text, words, 1)
            meant = f"; did you mean `{near[0]}`?" if near else ""
            self.refuse(f"`{text}` is not {what}{meant}", f"Known: {', '.join(words)}.")
        return text


def read_document(text: str, *, source: str, error: type[InputError] = UsageError) -> Value:
    """A document; what is wrong with it is raised as `error`."""
    import yaml

    if len(text) > LARGEST:
        raise error(f"{source}: it has {counted(len(text), 'character')}, the most is {LARGEST}", hint="Split it.")
    try:
        node: Any = yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.MarkedYAMLError as problem:
        mark = problem.problem_mark or problem.context_mark
        line = "" if mark is None else f":{mark.line + 1}"
        raise error(f"{source}{line}: it is not YAML: {problem.problem or problem.context}", hint="Correct the line.") from None
    except (yaml.YAMLError, RecursionError) as problem:
        said = "it is nested too deeply" if isinstance(problem, RecursionError) else str(problem).splitlines()[0]
        raise error(f"{source}: it is not YAML: {said}", hint="Correct the file.") from None
    if node is None:
        raise error(f"{source}: it is empty", hint="Write at least `version: 1`.")
    return Value(node, source, "", error)


def _shown(node: Any) -> str:
    kinds = {"mapping": "a mapping", "sequence": "a list"}
    return kinds.get(node.id) or ("nothing" if node.tag == _NULL else f"{str(node.value)[:60]!r}")
