"""Methods of dataclasses, compiled once and kept: a command would compile them each time it starts.

A dataclass writes its methods as text and compiles them when its module is imported, five for a frozen one. For one question
that is some 1,900 texts, and a quarter of the time. Modules are compiled once and kept in `__pycache__`; here the same is done
for these methods, in one file beside those of this package. It goes from text to code (by the digest of the text), so what is
kept is never out of date. A file that cannot be read, or is not what its digest says, counts as empty, and where none may be
written (`PYTHONDONTWRITEBYTECODE`, a folder of somebody else) everything is compiled as ever.
"""

from __future__ import annotations

import builtins
import dataclasses
import importlib.util
import marshal
import os
from hashlib import blake2b
from typing import Any

from omnigraph.model.versions import __version__

LARGEST = 16 << 20
"""Bytes of a file that is read."""

_DIGEST = 16
"""Bytes of the digest that a file begins with: of everything after it."""


class CompiledMethods:
    """What has been compiled, by the digest of its text."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.found: dict[bytes, bytes] = {}
        self.compiled: dict[bytes, bytes] = {}
        """What this process had to compile."""

    def read(self) -> None:
        """Take what earlier processes have compiled. Code is unpacked when it is needed."""
        try:
            with open(self.path, "rb") as file:
                if os.fstat(file.fileno()).st_size > LARGEST:
                    return
                digest, packed = file.read(_DIGEST), file.read()
            if digest != blake2b(packed, digest_size=_DIGEST).digest():  # unpacking what is damaged may end the process
                return
            found = marshal.loads(packed)
        except (
            OSError,
            EOFError,
            ValueError,
            TypeError,
        ):  # none, or none of ours: everything is compiled, as it would be without
            return
        if isinstance(found, dict):
            self.found = found

    def run(self, text: str, *scopes: Any) -> None:
        """What `exec` does."""
        key = blake2b(text.encode(), digest_size=16).digest()
        try:
            code = marshal.loads(self.found[key])
        except (KeyError, EOFError, ValueError, TypeError):  # not kept, or damaged
            code = compile(text, "<string>", "exec", dont_inherit=True)
            self.compiled[key] = marshal.dumps(code)
        builtins.exec(code, *scopes)

    def write(self) -> None:
        """Leave what was compiled to later processes: all of it, or nothing."""
        unfinished = f"{self.path}.{os.getpid()}"
        try:
            os.makedirs(os.path.dirname(self.path), exist_ok=True)
            packed = marshal.dumps({**self.found, **self.compiled})
            with open(unfinished, "xb") as file:
                file.write(blake2b(packed, digest_size=_DIGEST).digest() + packed)
            os.replace(unfinished, self.path)
        except OSError:  # a folder that is not ours, a full disk: everything works without
            return


def begin() -> CompiledMethods:
    """From now on methods of dataclasses come from what is kept, in this process."""
    kept = CompiledMethods(f"{importlib.util.cache_from_source(__file__)}.{__version__}.methods")
    kept.read()
    vars(dataclasses)["exec"] = kept.run
    return kept
