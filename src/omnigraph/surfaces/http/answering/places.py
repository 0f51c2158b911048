"""What clients are told of a cluster, without where it lies: its paths are relative to its folder, or to its storage root.

/srv/cluster/__cluster/state.json        __cluster/state.json
/srv/cluster                             .
s3://bucket/team/graphs/people.omni      graphs/people.omni
"""

from __future__ import annotations

import os
import re
from typing import Any


class Places:
    """Places that nobody is told of."""

    def __init__(self, *places: str) -> None:
        self._exact = frozenset(places) - {""}
        every = {spelling for place in places for spelling in _spellings(place)}
        longest_first = sorted(every, key=lambda place: (-len(place), place))
        found = "|".join(re.escape(place).replace("/", "/+") for place in longest_first)
        inside, ended = r"(/+)(?=[^\s/'\"`,;:)\]}])", r"/*(?![\w-]|\.\w)"
        self._pattern = re.compile(rf"(?:file://)?(?<![\w.-])(?:{found})(?:{inside}|{ended})") if found else None

    def left_out(self, said: Any) -> Any:
        """Texts, also inside of lists and objects, without them."""
        match said:
            case str():
                return self._of_text(said)
            case dict():
                return {name: self.left_out(value) for name, value in said.items()}
            case list() | tuple():
                return [self.left_out(one) for one in said]
            case _:
                return said

    def _of_text(self, text: str) -> str:
        if text in self._exact:
            return "."
        return text if self._pattern is None else self._pattern.sub(lambda found: "" if found[1] else ".", text)


def _spellings(place: str) -> set[str]:
    """How a place may be called in a message. A relative name is no secret, and may be a word of anything."""
    if "://" in place:
        return {place.rstrip("/")}
    return {os.path.abspath(place), os.path.realpath(place)} - {"/"} if place else set()
