"""Entities that must be new: nobody may have their id."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from omnigraph.engine.snapshot.committed import existing
from omnigraph.engine.snapshot.view import View
from omnigraph.engine.write.changeset import Delta
from omnigraph.engine.write.violations import Violation


def check(delta: Delta, view: View) -> Iterator[Violation]:
    """Every row whose id exists, where it must not."""
    if not delta.must_be_new or delta.fresh or delta.replaces_all:
        return
    for row in np.flatnonzero(existing(view, delta.type, delta.ids)).tolist():
        entity = delta.ids[row].as_py()
        file, line = delta.place(row)
        message = f"{delta.type.name} `{entity}` exists already"
        yield Violation("key", delta.type.name, message, "id", entity, entity, file, line)
