"""A process that answers one question and ends: what it need not wait for.

* pyarrow imports pandas, if it is installed, the first time an array is made. That takes longer than anything else a query
  needs, and no command hands frames over. `skip_pandas` lets pyarrow find out, once, that there is none; everybody else still
  finds it.
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
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import NoReturn

_own_process = False


def begin() -> None:
    """The process is ours. Called before anything else is imported."""
    global _own_process
    _own_process = True


def import_engine(*, frames: bool = False) -> None:
    """Import what opens graphs, quickly. `frames`: pandas may be needed after all."""
    if _own_process:
        warnings.filterwarnings("ignore", message="lance is not fork-safe")  # Spark's Java is another program, not a copy of us
        gc.disable()
        if not frames:
            skip_pandas()
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


def end(code: int) -> NoReturn:
    """Leave at once: what was to be written has been written. Those who asked to be told of the end are told."""
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (BrokenPipeError, ValueError):  # nobody reads it any more
            code = code or 141
        except OSError:  # told when it was written; what is left in the buffer cannot be written either
            code = code or 1
    os._exit(code)
