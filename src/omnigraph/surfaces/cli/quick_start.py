"""A process that answers one question and ends: what it need not wait for.

* pyarrow imports pandas, if it is installed, the first time an array is made. That takes longer than anything else a query
  needs, and no command hands frames over. `skip_pandas` lets pyarrow find out, once, that there is none; everybody else still
  finds it.
* pyarrow writes a Python function with its documentation for each of some 300 computations when `pyarrow.compute` is imported.
  `make_computations_late` has each written when it is first asked for.
* Dataclasses have their methods compiled whenever a module is imported. `compiled_methods` keeps what was compiled.
* What is made while modules are imported stays, so nobody has to look for garbage in it.
* At the end the operating system takes back memory and threads by itself, faster than the interpreter.

Only `start` does this: it may, because the process is its own.
"""

from __future__ import annotations

import atexit
import gc
import os
import sys
import warnings
from collections.abc import Sequence
from importlib import import_module
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any, NoReturn

from omnigraph.surfaces.cli import compiled_methods
from omnigraph.surfaces.cli.compiled_methods import CompiledMethods

_own_process = False
_methods: CompiledMethods | None = None


def begin() -> None:
    """The process is ours. Called before anything else is imported."""
    global _own_process, _methods
    _own_process = True
    _methods = compiled_methods.begin()


def import_engine(*, frames: bool = False) -> None:
    """Import what opens graphs, quickly. `frames`: pandas may be needed after all."""
    if _own_process:
        warnings.filterwarnings("ignore", message="lance is not fork-safe")  # Spark's Java is another program, not a copy of us
        gc.disable()
        if not frames:
            skip_pandas()
        make_computations_late()
    import omnigraph.service.direct  # noqa: F401

    if _own_process:
        gc.freeze()
        gc.enable()


class _Hidden:
    """A finder that says there is no pandas."""

    def find_spec(self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None) -> ModuleSpec | None:
        if name == "pandas":
            raise ImportError("not needed here")
        return None


def skip_pandas() -> None:
    """Let pyarrow do without pandas for the rest of this process."""
    if "pandas" in sys.modules:
        return
    import pyarrow as pa

    hidden = _Hidden()
    sys.meta_path.insert(0, hidden)
    try:
        pa.array([0])
    finally:
        sys.meta_path.remove(hidden)


_ASKED_FOR = ("utf8_zero_fill",)
"""Computations that `pyarrow.compute` itself uses while it is imported."""


class _Few:
    """The computations that are written at once."""

    def __init__(self, whole: Any) -> None:
        self._whole = whole

    def list_functions(self) -> list[str]:
        return list(_ASKED_FOR)

    def get_function(self, name: str) -> Any:
        return self._whole.get_function(name)


def make_computations_late() -> None:
    """Let `pyarrow.compute` write its functions when they are asked for. A pyarrow that is made in another way is left alone."""
    if "pyarrow.compute" in sys.modules:
        return
    import pyarrow._compute as registered

    whole = registered.function_registry
    registered.function_registry = lambda: _Few(whole())
    try:
        compute = import_module("pyarrow.compute")
        wrap = compute._wrap_function
    except (KeyError, AttributeError, AssertionError):  # another version: as it is, only slower
        sys.modules.pop("pyarrow.compute", None)
        return
    finally:
        registered.function_registry = whole
    registry, names = whole(), vars(compute)
    names["function_registry"] = whole

    def late(name: str) -> Any:
        try:
            found = registry.get_function({"and_": "and", "or_": "or"}.get(name, name))
        except KeyError:
            raise AttributeError(f"module 'pyarrow.compute' has no attribute '{name}'") from None
        if found.kind == "hash_aggregate" or (found.kind == "scalar_aggregate" and found.arity == 0):  # none of its functions
            raise AttributeError(f"module 'pyarrow.compute' has no attribute '{name}'")
        names[name] = wrap(name, found)
        return names[name]

    names["__getattr__"] = late


def end(code: int) -> NoReturn:
    """Leave at once: what was to be written has been written. Those who asked to be told of the end are told."""
    atexit._run_exitfuncs()
    if _methods is not None and _methods.compiled and not sys.dont_write_bytecode:
        _methods.write()
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (BrokenPipeError, ValueError):  # nobody reads it any more
            code = code or 141
        except OSError:  # told when it was written; what is left in the buffer cannot be written either
            code = code or 1
    os._exit(code)
