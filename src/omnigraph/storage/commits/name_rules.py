"""The rules of names: what a branch or a tag may be called, and which of the two a text means.

    01JC5V0Q3F2N8K7M6P5R4S3T2V      reads like the id of a commit, and means that commit
    agent/7                         a branch, or else a tag

**One name, one thing.** A name is a branch or a tag, never both, and never reads like an id. Branches and tags are objects in two
folders, so two who give one name at once could both succeed. Whoever has put a tag looks whether there is a branch of that name,
and takes the tag back if there is. Whoever has put a branch looks for a tag, waits a moment for it to be taken back, and gives
way if it stays: then it was there first.

Graphs of earlier versions may hold a name twice. They stay readable by the same order: commit, branch, tag.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Final
from urllib.parse import quote, unquote

from omnigraph.errors import AlreadyExists, NotFound, UsageError
from omnigraph.model.limits import MAX_NAME_BYTES

REFS: Final = "__refs"
TAGS: Final = "__tags"

GIVE_WAY_SECONDS: Final = 1.0
"""How long a new branch waits for a tag of its name to be taken back."""

_LONGEST: Final = 255
"""What a file system takes; names were as long once."""
_SEGMENT: Final = re.compile(r"[A-Za-z0-9._-]+\Z")
_ID: Final = re.compile(r"[0-7][0-9A-HJKMNP-TV-Z]{25}\Z", re.IGNORECASE)


def reads_like_id(name: str) -> bool:
    """Whether a text has the form of a commit id."""
    return _ID.match(name) is not None


def is_possible(name: str) -> bool:
    """Whether something could have this name: what cannot is not looked for."""
    return ".." not in name and all(_SEGMENT.match(p) and p != "." for p in name.split("/")) and _length(name) <= _LONGEST


def _length(name: str) -> int:
    return len(quote(name, safe="", errors="replace"))


def ref_path(branch: str) -> str:
    """Where a branch is kept."""
    return f"{REFS}/{quote(branch, safe='')}"


def tag_path(tag: str) -> str:
    """Where a tag is kept."""
    return f"{TAGS}/{quote(tag, safe='')}"


def name_in(path: str) -> str:
    """The name of what is kept at a path."""
    return unquote(path.rpartition("/")[2])


def check_branch_name(name: str, existing: Iterable[str]) -> None:
    """Refuse names that cannot be branches, and names that would shadow or be shadowed by a live one."""
    check_name(name, "branch")
    for other in existing:
        if other == name:
            raise branch_exists(name)
        if other.startswith(f"{name}/") or name.startswith(f"{other}/"):
            found = UsageError(f"branch `{name}` and branch `{other}` cannot both exist: one is a path inside the other")
            found.unlisted = UsageError(
                f"branch `{name}` cannot exist beside another one: one is a path inside the other", hint="Choose another name."
            )
            raise found


def check_name(name: str, what: str) -> None:
    """Refuse what cannot be the name of a branch or a tag."""
    if reads_like_id(name):
        raise UsageError(
            f"`{name}` cannot be the name of a {what}: it looks like a commit id",
            hint="Use a name that is not 26 digits and letters.",
        )
    if _length(name) > MAX_NAME_BYTES:
        raise UsageError(
            f"the name of a {what} has at most {MAX_NAME_BYTES} characters, where `/` counts as three: {name[:40]}…",
            hint="Choose a shorter name.",
        )
    if not is_possible(name) or name.endswith(".lock") or name == "__schema_apply_lock__":
        raise UsageError(
            f"`{name}` cannot be the name of a {what}",
            hint="Use letters, digits, `.`, `_`, `-`, and `/` between parts; no part `.`, no `..`, no `.lock` at the end.",
        )


def taken(name: str, by: str) -> AlreadyExists:
    """What is said when a name belongs to the other kind."""
    return AlreadyExists(f"`{name}` is the name of a {by}: a name is a branch or a tag, never both", hint="Choose another name.")


def branch_exists(name: str) -> AlreadyExists:
    """What to say when there is such a branch."""
    return AlreadyExists(f"branch `{name}` exists already", what="branch", name=name, hint="Choose another name.")


def no_such_state(name: str, branches: Sequence[str]) -> NotFound:
    """What to say when nothing of that name can be read."""
    message = f"no branch, tag or commit `{name}`"
    moments = "A moment is written as 2024-05-01T10:00:00Z, or as main@2024-05-01T10:00:00Z."
    found = NotFound(message, what="commit", name=name, hint=f"There are the branches {some(branches)}. {moments}")
    found.unlisted = NotFound(message, what="commit", name=name, hint=moments)
    return found


def no_branch(name: str, *, branches: Sequence[str] = (), hint: str | None = None) -> NotFound:
    """What to say when there is no such branch."""
    message = f"no branch `{name}`"
    found = NotFound(message, what="branch", name=name, hint=hint or f"There are {some(branches)}.")
    if hint is None:
        found.unlisted = NotFound(message, what="branch", name=name)
    return found


def some(names: Sequence[str]) -> str:
    """Names for a message: a few, and how many there are."""
    return ", ".join(names) if len(names) <= 12 else f"{', '.join(names[:10])} and {len(names) - 10} more"


def gives_way(taken: Callable[[], bool]) -> bool:
    """Whether no tag has the name of a new branch: one that was put at the same moment is about to be taken back."""
    until = time.monotonic() + GIVE_WAY_SECONDS
    while taken():
        if time.monotonic() > until:
            return False
        time.sleep(GIVE_WAY_SECONDS / 50)
    return True
