"""One mend of Lance, made when tables are first used.

A filter travels to Lance's core together with the columns of the table, in a form that has no unsigned numbers. Lance puts a
placeholder for columns that the form cannot say, and forgets *lists* of unsigned numbers: a table with such a column could not be
filtered at all, not even by id. Here they get their placeholder. A test fails once Lance does it by itself.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

import pyarrow as pa

_MODULE: Any = import_module("lance.dataset")  # the attribute `lance.dataset` is a function

lances_answer = _MODULE._needs_substrait_placeholder
"""What Lance says by itself."""


def _needs_placeholder(type_: pa.DataType) -> bool:
    is_list = pa.types.is_list(type_) or pa.types.is_large_list(type_)
    return bool(lances_answer(type_) or (is_list and pa.types.is_unsigned_integer(type_.value_type)))


def mend() -> None:
    """Let tables with lists of unsigned numbers be filtered."""
    _MODULE._needs_substrait_placeholder = _needs_placeholder
