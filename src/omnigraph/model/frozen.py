"""`@frozen`: a dataclass that does not change, and costs little to declare.

`@dataclass(frozen=True, slots=True)` writes seven methods of each class as text and compiles them when its module is imported:
0.4 ms a class, and a question needs some 240 classes. Here a class compiles its constructor alone; what else its instances do
is said once, below, for all. They are dataclasses in every other way: `fields`, `replace`, `match`, `copy` and `pickle` know
them, they are equal and hash by their fields, and they refuse to be changed with `FrozenInstanceError`.

Order, `InitVar` and instances that change are left to `dataclasses`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import MISSING, Field, FrozenInstanceError, InitVar, dataclass, field, fields
from operator import attrgetter
from reprlib import recursive_repr
from types import MemberDescriptorType
from typing import Any, TypeVar, dataclass_transform

T = TypeVar("T")


class _ByFactory:
    """Stands for an argument that was not given and that a factory makes."""

    def __repr__(self) -> str:
        return "<factory>"


_BY_FACTORY = _ByFactory()


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def frozen(cls: type[Any] | None = None, *, slots: bool = True, eq: bool = True) -> Any:
    """Declare a dataclass whose instances do not change.

    `slots=False` is for those that keep what they have computed, `eq=False` for those that are equal to themselves alone.
    """
    if cls is None:
        return lambda cls: _made(cls, slots, eq)
    return _made(cls, slots, eq)


def _made(cls: type[T], slots: bool, eq: bool) -> type[T]:
    own = vars(cls)
    described = cls.__doc__
    made: Any = dataclass(init=False, repr=False, eq=False, slots=slots)(_with_words(cls))
    its = fields(made)
    if any(_is_init_var(f) for f in made.__dataclass_fields__.values()):
        raise TypeError(f"`{cls.__qualname__}`: a value for the constructor alone (InitVar) is for dataclasses")
    if "__init__" not in own:
        made.__init__ = _constructor(made, its)
    if described is None:
        made.__doc__ = f"{cls.__name__}({', '.join(f.name for f in its if f.init)})"
    if eq and "__eq__" not in own:
        made.__eq__ = _equality(_reader(tuple(f.name for f in its if f.compare)))
    if eq and own.get("__hash__") is None:  # none of its own; Python says None beside an equality of its own
        made.__hash__ = _hashing(_reader(tuple(f.name for f in its if (f.compare if f.hash is None else f.hash))))
    if "__repr__" not in own:
        made.__repr__ = _shown
    if slots:
        made.__getstate__, made.__setstate__ = _state, _restore
    made.__setattr__, made.__delattr__ = _refuse_to_set, _refuse_to_delete
    return made  # type: ignore[no-any-return]


def _with_words(cls: type[T]) -> type[T]:
    """A class without a description gets one for a moment: a dataclass would work out its signature to write one."""
    if cls.__doc__ is None:
        cls.__doc__ = cls.__name__
    return cls


def _is_init_var(f: Field[Any]) -> bool:
    return f.type is InitVar or isinstance(f.type, InitVar) or (isinstance(f.type, str) and "InitVar" in f.type)


def _constructor(cls: Any, its: tuple[Field[Any], ...]) -> Callable[..., None]:
    """`__init__`, compiled. What a default or a factory is it finds by name in `known`.

    It puts values where they are kept: to ask `object.__setattr__` for each takes half as long again in slots, and twice as long
    in a dictionary.
    """
    known: dict[str, Any] = {"_BY_FACTORY": _BY_FACTORY}
    positional: list[str] = []
    by_name: list[str] = []
    lines: list[str] = []
    for f in its:
        name, given, value = f.name, f.name, f.name
        if f.default_factory is not MISSING:
            known[f"_factory_{name}"] = f.default_factory
            given = f"{name}=_BY_FACTORY"
            value = f"_factory_{name}() if {name} is _BY_FACTORY else {name}" if f.init else f"_factory_{name}()"
        elif f.default is not MISSING:
            known[f"_default_{name}"] = f.default
            given = f"{name}=_default_{name}"
            value = name if f.init else f"_default_{name}"
        elif not f.init:  # for `__post_init__`
            continue
        if f.init:
            (by_name if f.kw_only else positional).append(given)
        slot = getattr(cls, name, None)
        if isinstance(slot, MemberDescriptorType):
            known[f"_set_{name}"] = slot.__set__
            lines.append(f" _set_{name}(self, {value})")
        else:
            lines.append(f" self.__dict__[{name!r}] = {value}")
    if hasattr(cls, "__post_init__"):
        lines.append(" self.__post_init__()")
    parameters = ", ".join(["self", *positional, *(["*", *by_name] if by_name else [])])
    exec(f"def __init__({parameters}):\n" + ("\n".join(lines) or " pass"), known)
    made: Callable[..., None] = known["__init__"]
    made.__qualname__ = f"{cls.__qualname__}.__init__"
    made.__module__ = cls.__module__
    made.__annotations__ = {**{f.name: f.type for f in its if f.init}, "return": None}
    return made


def _reader(names: tuple[str, ...]) -> Callable[[Any], tuple[Any, ...]]:
    """What gives these fields of an instance, as a tuple."""
    if len(names) > 1:
        return attrgetter(*names)
    if not names:
        return lambda _: ()
    one = attrgetter(*names)
    return lambda it: (one(it),)


def _equality(read: Callable[[Any], tuple[Any, ...]]) -> Callable[[Any, Any], bool]:
    def __eq__(self: Any, other: Any) -> bool:  # noqa: N807 - shown by this name
        if other.__class__ is not self.__class__:
            return NotImplemented
        return read(self) == read(other)

    return __eq__


def _hashing(read: Callable[[Any], tuple[Any, ...]]) -> Callable[[Any], int]:
    def __hash__(self: Any) -> int:  # noqa: N807 - shown by this name
        return hash(read(self))

    return __hash__


@recursive_repr()
def _shown(self: Any) -> str:
    shown = ", ".join(f"{f.name}={getattr(self, f.name)!r}" for f in fields(self) if f.repr)
    return f"{self.__class__.__qualname__}({shown})"


def _state(self: Any) -> list[Any]:
    return [getattr(self, f.name) for f in fields(self)]


def _restore(self: Any, state: list[Any]) -> None:
    for f, value in zip(fields(self), state, strict=True):
        object.__setattr__(self, f.name, value)


def _refuse_to_set(self: Any, name: str, value: Any) -> None:
    raise FrozenInstanceError(f"cannot assign to field {name!r}")


def _refuse_to_delete(self: Any, name: str) -> None:
    raise FrozenInstanceError(f"cannot delete field {name!r}")
