"""A process that answers one question and ends: what it need not wait for.

* pyarrow imports pandas, if it is installed, the first time an array is made, and its own readers of Parquet and of Amazon's
  store with `pyarrow.dataset`. No command hands frames over or has pyarrow read a folder; `skip_parts` lets pyarrow find out,
  once, that there are none. Everybody else still finds them.
* numpy makes room for a thread of linear algebra per core when it is imported, which takes as long as the rest of it. The one
  thing that is computed so is the distance of vectors, once for each command: one thread will do.
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
from typing import Final, NoReturn

_own_process = False
_THREADS: Final = "OPENBLAS_NUM_THREADS"


def begin() -> None:
    """The process is ours. Called before anything else is imported."""
    global _own_process
    _own_process = True
    gc.disable()


def import_engine(*, frames: bool = False) -> None:
    """Import what opens graphs, quickly. `frames`: pandas and Parquet may be needed after all."""
    if _own_process:
        warnings.filterwarnings("ignore", message="lance is not fork-safe")  # Spark's Java is another program, not a copy of us
        gc.disable()
        if not frames:
            import_numpy()
            skip_parts()
    import omnigraph.service.direct  # noqa: F401

    if _own_process:
        gc.freeze()
        gc.enable()


def import_numpy() -> None:
    """numpy, with one thread for linear algebra unless somebody has said how many. Processes of ours decide for themselves."""
    if _THREADS in os.environ:
        return
    os.environ[_THREADS] = "1"
    try:
        import numpy  # noqa: F401
    finally:
        del os.environ[_THREADS]


class _Hidden:
    """A finder that says there is none of these modules."""

    def __init__(self, *names: str) -> None:
        self.names = names

    def find_spec(self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None) -> ModuleSpec | None:
        if name in self.names:
            raise ImportError("not needed here")
        return None


def skip_parts() -> None:
    """Let pyarrow do without pandas, and datasets without Parquet, for the rest of this process."""
    if "pandas" in sys.modules or "pyarrow.dataset" in sys.modules:
        return
    import pyarrow as pa

    hidden = _Hidden("pandas", "pyarrow._dataset_parquet", "pyarrow._dataset_parquet_encryption", "pyarrow._dataset_orc")
    sys.meta_path.insert(0, hidden)
    try:
        pa.array([0])
        import pyarrow.dataset  # noqa: F401
    finally:
        sys.meta_path.remove(hidden)


def end(code: int) -> NoReturn:
    """Leave at once: what was to be written has been written. Exit handlers are run."""
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (BrokenPipeError, ValueError):  # nobody reads it any more
            code = code or 141
        except OSError:  # told when it was written; what is left in the buffer cannot be written either
            code = code or 1
    os._exit(code)
