"""How a server process asks the system for memory, and looks for garbage.

glibc gives each thread a heap of its own, up to eight for every core, and hardly ever gives back what was freed in the middle of
one. A server has dozens of threads that each work on large answers now and then, and its size creeps upwards for hours without
anything being kept: 27 % in ten minutes of mixed load. So all threads share two heaps, and what is free in them is given back
every now and then: a tenth of a server was such gaps.

Python looks for objects that refer to each other in circles after every 700 that were made, which is several times a request, and
now and then at all there are. That took 50 ms, during which nobody was answered, mostly in modules that had just been imported.
"""

from __future__ import annotations

import ctypes
import gc
import os
import sys
from typing import Final

HEAPS: Final = 2

GARBAGE: Final = (10_000, 20, 20)
"""After how many new objects, and how many looks at these, garbage is looked for."""

GIVEN_BACK_EVERY: Final = 15.0
"""Seconds between two times that what is free is given back."""

_M_ARENA_MAX: Final = -8
_ASKED_FOR: Final = "MALLOC_ARENA_MAX"


def share_heaps() -> None:
    """Have all threads of this process share few heaps, unless the environment says how many there are. Elsewhere than on glibc
    there is nothing to do."""
    if not sys.platform.startswith("linux") or os.environ.get(_ASKED_FOR):
        return
    choose = getattr(ctypes.CDLL(None), "mallopt", None)
    if choose is not None:
        choose(_M_ARENA_MAX, HEAPS)


def give_back() -> None:
    """Have the system take back what is free in the heaps of this process."""
    if sys.platform.startswith("linux"):
        trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
        if trim is not None:
            trim(0)


def keep_what_is_there() -> None:
    """What was made until now stays: from now on nobody looks for garbage in it, and seldom in the rest."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(*GARBAGE)
