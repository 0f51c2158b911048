"""Checks for the arguments of public calls, one per kind of argument. Each returns the value in its normal form, or raises.

    actor("actor", "agent-7")        'agent-7'
    actor("actor", 7)                UsageError: actor is a text, not int 7
    state("at", commit)              the id of the commit: commits and tags are as welcome as their names

A check never trusts what it is given: an object may fail when it is compared, iterated or shown. It says what was expected, what
came, and where. Checks know nothing of graphs: whether there is such a branch or type is found out later.
"""

from __future__ import annotations

import math
import operator
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import date, datetime, timedelta
from numbers import Real
from pathlib import Path
from typing import Any, Final, NoReturn, overload

from omnigraph.errors import GraphError, UsageError
from omnigraph.language.source import Source
from omnigraph.model.idempotency_keys import key_of
from omnigraph.model.limits import MAX_ACTOR_CHARS, MAX_I64, MAX_MESSAGE_CHARS
from omnigraph.model.phrases import counted
from omnigraph.model.times import datetime_text, ms_of
from omnigraph.storage.commits.lineage import Commit
from omnigraph.storage.commits.refs import Ref, Tag

Check = Callable[[str, Any], Any]
"""Gives the value as it is meant, or refuses it. The first argument is the name it was given under."""

State = str | Commit | Tag | datetime
"""A state of a graph by the id of a commit, by the name of a branch or tag, as the commit or tag itself, or by a time: the newest
state of `main` then, or of a branch (`agent/7@2024-05-01T10:00:00Z`). A time without a zone is in UTC."""
AnyPath = str | os.PathLike[str]

_SHOWN: Final = 80
_NUMBER: Final = re.compile(r"-?[0-9]+(\.[0-9]+)?")
_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f-\x9f]")
_CONTROL_BUT_LINES: Final = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")


@overload
def name_of(value: State) -> str:
    """A state that is given."""


@overload
def name_of(value: State | None) -> str | None:
    """One that may be left out."""


def name_of(value: State | None) -> str | None:
    """A state by its name or id."""
    if isinstance(value, datetime):
        return _time("time", value)
    return value.id if isinstance(value, Commit) else value.commit if isinstance(value, Tag) else value


def shown(value: object) -> str:
    """A value in an error: its type and what it looks like, whatever it does when it is looked at."""
    kind = type(value).__name__
    if value is None:
        return "None"
    try:
        text = repr(value)
    except Exception:  # it cannot be shown: its type is all there is to say
        return kind
    text = text.encode("utf-8", "backslashreplace").decode()
    return f"{kind} {text}" if len(text) <= _SHOWN else f"{kind} {text[:_SHOWN]}…"


def refuse(name: str, expected: str, value: object, hint: str | None = None) -> NoReturn:
    """Say what was expected, and what came."""
    if hint is None and isinstance(value, str) and "number" in expected and _NUMBER.fullmatch(value):
        hint = f"Leave out the quotes: {value}."
    raise UsageError(f"`{name}` is {expected}, not {shown(value)}", hint=hint)


def unlookable(name: str, error: Exception) -> UsageError:
    """A value that fails when it is looked at: the proxy of an object that is gone, for instance."""
    return UsageError(f"`{name}` cannot be looked at: {shown(error)}", hint="Nothing was changed.")


def place_text(value: object) -> str:
    """A place in a sequence, in an error."""
    return _number(value) if type(value) is int else shown(value)


def text(name: str, value: object) -> str:
    """A text that can be stored and shown."""
    if not isinstance(value, str):
        refuse(name, "a text", value)
    if not value.isascii():
        try:
            value.encode()
        except UnicodeEncodeError:
            raise UsageError(f"`{name}` is not valid Unicode: {shown(value)}", hint="It holds half of a pair.") from None
    return value if type(value) is str else str.__str__(value)


def line(most: int, several: bool = False) -> Check:
    """A text of some length without control characters; several lines if they are allowed."""
    forbidden = _CONTROL_BUT_LINES if several else _CONTROL

    def check(name: str, value: object) -> str:
        given = text(name, value)
        if len(given) > most:
            raise UsageError(f"`{name}` has {counted(len(given), 'character')}; it may have {most:,}", hint="Give a shorter one.")
        found = forbidden.search(given)
        if found is not None:
            raise UsageError(f"`{name}` holds the control character {found[0]!r}", hint="Leave control characters out.")
        return given

    return check


_actor: Final = line(MAX_ACTOR_CHARS)
message: Final = line(MAX_MESSAGE_CHARS, several=True)


def idempotency_key(name: str, value: object) -> str:
    """What tells a write from all others, trimmed."""
    return key_of(f"`{name}`", text(name, value))


def actor(name: str, value: object) -> str:
    """Who changes a graph, trimmed."""
    given: str = _actor(name, value).strip()
    return given or refuse(name, "the name of an actor", value, "Give a name, or leave it out.")


def branch(name: str, value: object) -> str:
    """The name of a branch, trimmed."""
    given = text(name, value.branch if isinstance(value, Ref) else value).strip()
    return given or refuse(name, "the name of a branch", value)


def branches(name: str, value: object) -> tuple[str, ...]:
    """One branch, or several."""
    if isinstance(value, str | Ref):
        return (branch(name, value),)
    if isinstance(value, bytes | Mapping) or not isinstance(value, Iterable):
        refuse(name, "a branch or several", value)
    return tuple(branch(name, item) for item in _listed(name, value))


def state(name: str, value: object) -> str:
    """A state of a graph."""
    if type(value) is str and value.isascii() and value:
        return value.strip() or refuse(name, "a commit, a branch or a tag", value)
    if isinstance(value, Commit):
        return value.id
    if isinstance(value, Tag):
        return value.commit
    if isinstance(value, Ref):
        return value.branch
    if isinstance(value, datetime):
        return _time(name, value)
    if not isinstance(value, str):
        hint = (
            f'Give the moment: datetime({value.year}, {value.month}, {value.day}), or "{value}".'
            if isinstance(value, date)
            else None
        )
        refuse(name, "a commit, a branch, a tag or a time", value, hint)
    given = text(name, value).strip()
    return given or refuse(name, "a commit, a branch or a tag", value)


def _time(name: str, value: datetime) -> str:
    """A time as it is written; one without a zone is in UTC, as everywhere."""
    try:
        ms = ms_of(value, lossy=True)
        return f"{datetime_text(ms).removesuffix('Z')}{value.microsecond % 1000:03}Z"
    except Exception:  # of a zone of somebody's own making
        refuse(name, "a time", value)


def flag(name: str, value: object) -> bool:
    """Yes or no."""
    if isinstance(value, bool):
        return value
    if type(value).__name__ in ("bool_", "bool") and type(value).__module__ == "numpy":
        return bool(value)
    refuse(name, "True or False", value)


def whole(least: int = 0, most: int = MAX_I64) -> Check:
    """A whole number within bounds."""

    def check(name: str, value: object) -> int:
        if isinstance(value, bool) or type(value).__name__ == "bool_" or not hasattr(value, "__index__"):
            refuse(name, "a whole number", value)
        try:
            given = operator.index(value)
        except Exception:  # an array of one number, or worse
            refuse(name, "a whole number", value)
        if not least <= given <= most:
            raise UsageError(f"`{name}` cannot be {_number(given)}", hint=f"It is at least {least:,}, at most {most:,}.")
        return given

    return check


def _number(value: int) -> str:
    return str(value) if abs(value) < 10**40 else f"a number of {value.bit_length():,} bits"


def real(least: float = 0.0, finite: bool = True) -> Check:
    """A number that is no less than a bound."""

    def check(name: str, value: object) -> float:
        if isinstance(value, bool) or not isinstance(value, Real):
            refuse(name, "a number", value)
        try:
            given = float(value)
        except Exception:  # larger than any
            refuse(name, "a number", value)
        if math.isnan(given) or given < least or (finite and math.isinf(given)):
            refuse(name, f"a number of at least {least:g}", value)
        return given

    return check


def path(name: str, value: object) -> str:
    """The path or address of something."""
    if isinstance(value, os.PathLike):
        try:
            value = os.fspath(value)
        except Exception:  # a path of somebody else's making
            refuse(name, "a path", value)
    if not isinstance(value, str):
        refuse(name, "a path", value)
    given = text(name, value)
    if "\0" in given:
        raise UsageError(f"`{name}` holds the character NUL: {shown(given)}", hint="No path can.")
    return given if given.strip() else refuse(name, "a path", value)


def schema(name: str, value: object) -> str | Path:
    """The text of a schema, or the path of a file that holds it."""
    return text(name, value) if isinstance(value, str) else Path(path(name, value))


def query(name: str, value: object) -> str | Source:
    """The text of a query."""
    if isinstance(value, Source):
        return value
    return text(name, value)


def names(name: str, value: object) -> tuple[str, ...]:
    """One name, or several."""
    if isinstance(value, str):
        return (text(name, value),)
    if isinstance(value, bytes | Mapping) or not isinstance(value, Iterable):
        refuse(name, "a name or several", value)
    return tuple(text(name, item) for item in _listed(name, value))


def paths(name: str, value: object) -> list[str]:
    """One path, or several."""
    if isinstance(value, str | os.PathLike):
        return [path(name, value)]
    if isinstance(value, bytes | Mapping) or not isinstance(value, Iterable):
        refuse(name, "a path or several", value)
    return [path(name, item) for item in _listed(name, value)]


def _listed(name: str, value: Iterable[object]) -> list[object]:
    try:
        return list(value)
    except Exception as error:
        raise UsageError(f"`{name}` cannot be read: {type(error).__name__}: {shown(error)}") from error


def mapping(name: str, value: object) -> dict[str, Any]:
    """Values by name."""
    if type(value) is dict:
        given = value.copy()
    elif not isinstance(value, Mapping):
        refuse(name, "a mapping from names", value)
    else:
        try:
            given = dict(value.items())
        except Exception as error:
            raise UsageError(f"`{name}` cannot be read: {type(error).__name__}: {shown(error)}") from error
    for key in given:
        if type(key) is str and key.isascii():
            continue
        if not isinstance(key, str):
            raise UsageError(f"`{name}` must have texts as names, not {shown(key)}", hint="Give each name as a text.")
        text(name, key)
    return given


def keys_by_type(name: str, value: object) -> dict[str, Any]:
    """Keys of entities, by type."""
    if not isinstance(value, Mapping):
        refuse(name, "a mapping from types to keys", value, hint='Name the type: {"Person": ["Ada", "Bob"]}.')
    return mapping(name, value)


def key(name: str, value: object) -> object:
    """The key of an entity: a value, several in a tuple, or values by name. What they are worth is found out with the type."""
    if isinstance(value, Mapping):
        return mapping(name, value)
    if isinstance(value, tuple | list):
        return tuple(_listed(name, value))
    return refuse(name, "the key of an entity", value) if value is None else value


def ids(name: str, value: object) -> tuple[str, ...] | dict[str, tuple[str, ...]]:
    """Ids of nodes, by type if there are several."""
    if isinstance(value, Mapping):
        return {key: names(f"{name}[{key!r}]", item) for key, item in mapping(name, value).items()}
    return names(name, value)


def texts(name: str, value: object) -> dict[str, str]:
    """Texts by name."""
    return {key: text(f"{name}[{key!r}]", item) for key, item in mapping(name, value).items()}


def one_of(*choices: str) -> Check:
    """One of some words."""

    def check(name: str, value: object) -> str:
        given = text(name, value) if isinstance(value, str) else None
        if given in choices:
            return given
        reported = shown(value) if given is None or len(given) > _SHOWN else f"`{given}`"
        raise UsageError(f"{name} cannot be {reported}", hint=f"It is one of {', '.join(choices)}.")

    return check


def source(name: str, value: object) -> object:
    """What is to be loaded. What fails when it is read is reported as a mistake in it."""
    if isinstance(value, str | os.PathLike):
        return path(name, value)
    if isinstance(value, Mapping):
        return {key: item if isinstance(item, Mapping) else source(key, item) for key, item in mapping(name, value).items()}
    if isinstance(value, Sequence) or any(hasattr(value, sign) for sign in ("__arrow_c_stream__", "read", "sparkSession")):
        return value
    if hasattr(value, "__array__") or hasattr(value, "__array_interface__"):
        refuse(name, "something whose columns have names", value, "Make a frame of it, or a list of mappings.")
    return _read(name, value) if isinstance(value, Iterable) else value


def _read(name: str, value: Iterable[object]) -> Iterator[object]:
    try:
        yield from value
    except GraphError:
        raise
    except Exception as error:
        raise UsageError(f"`{name}` cannot be read to its end: {shown(error)}", hint="Nothing was changed.") from error


def function(name: str, value: object) -> object:
    """Something to call."""
    return value if callable(value) else refuse(name, "a function", value)


def having(expected: str, *attributes: str) -> Check:
    """An object that can do some things."""

    def check(name: str, value: object) -> object:
        if isinstance(value, type) or not all(hasattr(value, a) for a in attributes):
            refuse(name, expected, value)
        return value

    return check


def instance(kind: str, expected: str) -> Check:
    """A value of a class that is known by its full name: this room comes before those of the classes."""

    def check(name: str, value: object) -> object:
        classes = type(value).__mro__
        return value if any(f"{c.__module__}.{c.__qualname__}" == kind for c in classes) else refuse(name, expected, value)

    return check


def either(expected: str, *checks: Check) -> Check:
    """What one of several checks takes."""

    def check(name: str, value: object) -> object:
        for attempt in checks:
            try:
                return attempt(name, value)
            except UsageError:
                continue
        return refuse(name, expected, value)

    return check


def span(name: str, value: object) -> object:
    """A span of time, as such or in text."""
    if isinstance(value, timedelta):
        return value if value >= timedelta(0) else refuse(name, "a span of time of at least 0", value)
    return text(name, value) if isinstance(value, str) else refuse(name, "a span of time", value)


def anything(name: str, value: object) -> object:
    """What is checked further inside, before anything is done."""
    return value
