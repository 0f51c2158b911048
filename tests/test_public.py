"""The public API is a list: what `omnigraph` exports, and everything that can be got from it."""

from __future__ import annotations

import ast
import builtins
import importlib
import inspect
import re
import sys
from collections.abc import Iterator
from functools import cache, cached_property
from pathlib import Path
from types import ModuleType
from typing import Any

import omnigraph as og
from omnigraph import migration

INTERNAL = {
    "OpClass": "storage's own word for what a commit is for",
    "TableChange": "what a commit pinned; storage's own",
    "Logical": "where a commit stands among those that are shown; a shown commit has it in its own fields",
    "Hint": "a hint as surfaces word it; people read `error.hint`",
    "Base": "a rule of the policy, as it is kept",
    "Approved": "a URI on its way through the policy",
}
"""Classes that a public method gives and that are not for people, and why."""


@cache
def names_of(module: ModuleType) -> dict[str, str]:
    """Where each name that a module imports comes from, also those that only type checkers see."""
    assert module.__file__ is not None
    found = {}
    for node in ast.walk(ast.parse(Path(module.__file__).read_text())):
        if isinstance(node, ast.ImportFrom) and node.module is not None:
            found.update({alias.asname or alias.name: node.module for alias in node.names})
    return found


def resolved(name: str, module: ModuleType) -> object:
    """What a name of an annotation stands for."""
    if hasattr(module, name):
        return getattr(module, name)
    if name in names_of(module):
        return getattr(importlib.import_module(names_of(module)[name]), name)
    return getattr(builtins, name, None)


def classes_in(annotation: object, module: ModuleType) -> Iterator[type]:
    """Our own classes that an annotation names; aliases are followed."""
    text = annotation if isinstance(annotation, str) else repr(annotation)
    for name in set(re.findall(r"[A-Za-z_]\w*", text)):
        found = resolved(name, module)
        if isinstance(found, type) and found.__module__.startswith("omnigraph"):
            yield found
        elif found is not None and not isinstance(found, type | ModuleType) and getattr(found, "__args__", None):
            yield from (a for a in found.__args__ if isinstance(a, type) and a.__module__.startswith("omnigraph"))  # type: ignore[attr-defined]


def given_by(cls: type) -> Iterator[tuple[str, type]]:
    """Classes of what public methods, properties and fields of a class give."""
    module = sys.modules[cls.__module__]
    for name, annotation in inspect.get_annotations(cls).items():
        if not name.startswith("_"):
            yield from ((f"{cls.__name__}.{name}", c) for c in classes_in(annotation, module))
    ours = [base for base in cls.__mro__ if base.__module__.startswith("omnigraph")]
    for name, member in (item for base in ours for item in vars(base).items()):
        if name.startswith("_"):
            continue
        function: Any = member.fget if isinstance(member, property) else getattr(member, "func", member)
        function = inspect.unwrap(getattr(function, "__func__", function)) if callable(function) else None
        if inspect.isfunction(function) or isinstance(member, cached_property):
            annotation = function.__annotations__.get("return")
            yield from ((f"{cls.__name__}.{name}", c) for c in classes_in(annotation, sys.modules[function.__module__]))


def test_what_is_listed_is_what_there_is() -> None:
    assert sorted(og.__all__) == og.__all__
    assert set(dir(og)) == set(og.__all__)
    for name in og.__all__:
        assert getattr(og, name) is not None


def test_everything_that_can_be_got_has_a_public_name() -> None:
    listed = [getattr(module, name) for module in (og, migration) for name in module.__all__]
    public = {found for found in listed if isinstance(found, type)}
    missing = {
        f"{where} gives {cls.__module__}.{cls.__qualname__}"
        for known in public
        for where, cls in given_by(known)
        if cls not in public and cls.__name__ not in INTERNAL and not cls.__name__.startswith("_")
    }
    assert sorted(missing) == []
