"""What a load does with what is there."""

from __future__ import annotations

from enum import Enum
from typing import Literal

ModeName = Literal["merge", "append", "overwrite", "update", "patch"]


class Mode(Enum):
    """What a load does with what is there."""

    MERGE = "merge"
    """Rows replace those with their id, as a whole."""
    APPEND = "append"
    """Every row must be new."""
    OVERWRITE = "overwrite"
    """The rows become all there is of their types."""
    UPDATE = "update"
    """Entities that exist change in what is given."""
    PATCH = "patch"
    """The same, and entities that do not exist are inserted."""

    @property
    def is_partial(self) -> bool:
        """Whether what a row does not give stays as it is."""
        return self in (Mode.UPDATE, Mode.PATCH)

    @property
    def may_replace(self) -> bool:
        """Whether entities that exist get another image."""
        return self is Mode.MERGE or self.is_partial
