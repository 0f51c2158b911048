"""`@frozen` does what a frozen dataclass does: every claim is tried with both, and with every frozen class there is."""

from __future__ import annotations

import copy
import importlib
import importlib.util
import inspect
import pickle
import pkgutil
from collections.abc import Callable
from dataclasses import FrozenInstanceError, dataclass, field, fields, is_dataclass, replace
from typing import Any

import pytest

import omnigraph
from omnigraph.model.frozen import frozen

Made = tuple[type[Any], type[Any], type[Any]]


@frozen
class Pickled:
    a: int
    b: list[int] = field(default_factory=list)


@frozen(slots=False)
class PickledToo:
    a: int


def classes(declare: Callable[[Any], Any], with_dict: Callable[[Any], Any]) -> Made:
    @declare
    class Base:
        """A base."""

        a: int
        b: str = "b"
        c: list[int] = field(default_factory=list, compare=False)
        d: int = field(default=4, repr=False)

        def __len__(self) -> int:
            return self.a

    @declare
    class Derived(Base):
        e: float = 0.5
        f: int = field(init=False, compare=False)
        g: int = field(default=7, kw_only=True)
        h: int = field(init=False, default=8)

        def __post_init__(self) -> None:
            object.__setattr__(self, "f", self.a + 1)

    @with_dict
    class One:
        x: Any

        def __eq__(self, other: object) -> bool:
            return isinstance(other, type(self))

    return Base, Derived, One


OURS = classes(frozen, frozen(slots=False))
THEIRS = classes(dataclass(frozen=True, slots=True), dataclass(frozen=True))
BOTH = pytest.mark.parametrize("made", [OURS, THEIRS], ids=["ours", "theirs"])


@BOTH
def test_values_are_made_shown_compared_and_hashed(made: Made) -> None:
    base, derived, one = made
    assert repr(base(1, c=[2])) == f"{base.__qualname__}(a=1, b='b', c=[2])"
    assert repr(derived(1, e=2.0)) == f"{derived.__qualname__}(a=1, b='b', c=[], e=2.0, f=2, g=7, h=8)"
    assert (base(1, c=[2]), base(1), hash(base(1, "b", [9]))) == (base(1), base(1), hash(base(1)))
    assert base(1) != base(2)
    assert base(1) != derived(1)
    assert base(1).__eq__(1) is NotImplemented
    assert base(1).c is not base(1).c
    assert (one(1) == one(2), hash(one(1)) == hash(one(1))) == (True, True)
    assert one(float("nan")) != 1
    assert (derived.__match_args__, base.__doc__) == (("a", "b", "c", "d", "e"), "A base.")
    nan = float("nan")
    assert base(nan) == base(nan), "the same object, as in a tuple"
    loop: list[Any] = []
    loop.append(base(1, c=loop))
    assert "..." in repr(loop[0])


@BOTH
def test_values_do_not_change(made: Made) -> None:
    base, derived, one = made
    for it, name in ((base(1), "a"), (derived(1), "e"), (one(1), "x"), (one(1), "other")):
        with pytest.raises(FrozenInstanceError, match=f"cannot assign to field '{name}'"):
            setattr(it, name, 2)
        with pytest.raises(FrozenInstanceError, match=f"cannot delete field '{name}'"):
            delattr(it, name)
    assert not hasattr(base(1), "__dict__")
    assert hasattr(one(1), "__dict__")


@BOTH
def test_arguments_are_checked(made: Made) -> None:
    base, derived, _ = made
    for cls, given, named in (
        (base, (), {}),
        (base, (1,), {"nothing": 2}),
        (base, (1,), {"a": 2}),
        (derived, (1, "b", [], 4, 0.5, 6), {}),
    ):
        with pytest.raises(TypeError, match=r"__init__\(\)"):
            cls(*given, **named)
    assert derived(1, g=9).g == 9
    shown = [(p.name, p.kind.name, p.annotation) for p in inspect.signature(derived).parameters.values()]
    assert shown[-1] == ("g", "KEYWORD_ONLY", "int")
    assert [name for name, *_ in shown] == ["a", "b", "c", "d", "e", "g"]


@BOTH
def test_other_tools_know_them(made: Made) -> None:
    base, derived, _ = made
    assert is_dataclass(base)
    assert [f.name for f in fields(derived)] == ["a", "b", "c", "d", "e", "f", "g", "h"]
    assert replace(derived(1), a=2) == derived(2)
    assert copy.copy(derived(1)) == derived(1)
    assert copy.deepcopy(derived(1, c=[3])).c == [3]


def test_they_are_pickled() -> None:
    for it in (Pickled(1, [2]), PickledToo(3)):
        assert pickle.loads(pickle.dumps(it)) == it


def test_some_are_equal_to_themselves_alone() -> None:
    @frozen(eq=False)
    class Alone:
        a: int

    one = Alone(1)
    assert (one == Alone(1), one == one, len({one, Alone(1)})) == (False, True, 2)
    with pytest.raises(FrozenInstanceError):
        one.a = 2  # type: ignore[misc]


def test_a_value_for_the_constructor_alone_is_refused() -> None:
    with pytest.raises(TypeError, match="InitVar"):

        @frozen
        class Wrong:
            a: InitVar[int]  # type: ignore[name-defined]  # noqa: F821


EXTRAS = {"omnigraph.memory.langgraph": "langgraph", "omnigraph.memory.llamaindex": "llama_index"}
"""What a module needs that not everybody has installed."""


def modules() -> list[str]:
    found = [m.name for m in pkgutil.walk_packages(omnigraph.__path__, "omnigraph.") if not m.name.endswith("__main__")]
    return [name for name in found if name not in EXTRAS or importlib.util.find_spec(EXTRAS[name]) is not None]


def test_every_class_of_ours_is_declared_as_a_frozen_dataclass_would_declare_it() -> None:
    tried = 0
    for name in modules():
        for cls in vars(importlib.import_module(name)).values():
            if not (isinstance(cls, type) and is_dataclass(cls) and cls.__module__ == name):
                continue
            if cls.__setattr__ is object.__setattr__ or cls.__setattr__.__module__ != "omnigraph.model.frozen":
                continue
            if cls.__init__.__code__.co_filename != "<string>":  # one of its own
                continue
            tried += 1
            body = {k: v for k, v in vars(cls).items() if k == "__post_init__"}
            declared = [(f.name, f.type, _as_declared(f)) for f in fields(cls)]
            theirs: Any = dataclass(frozen=True)(
                type(
                    cls.__name__,
                    (),
                    {"__annotations__": {n: t for n, t, _ in declared}, **{n: f for n, _, f in declared}, **body},
                )
            )
            assert str(inspect.signature(cls)) == str(inspect.signature(theirs)), cls
    assert tried > 300


def _as_declared(f: Any) -> Any:
    return field(
        default=f.default,
        default_factory=f.default_factory,
        init=f.init,
        repr=f.repr,
        hash=f.hash,
        compare=f.compare,
        kw_only=f.kw_only,
    )
