"""Kinds of Arrow columns, whichever of its layouts they have."""

from __future__ import annotations

import pyarrow as pa


def bare(type_: pa.DataType) -> pa.DataType:
    """The type of values, however often each is there."""
    return type_.value_type if pa.types.is_dictionary(type_) else type_


def is_text(type_: pa.DataType) -> bool:
    """Text, or nothing at all."""
    return bool(
        pa.types.is_null(type_) or pa.types.is_string(type_) or pa.types.is_large_string(type_) or pa.types.is_string_view(type_)
    )


def is_bytes(type_: pa.DataType) -> bool:
    """Bytes, of any or of one length."""
    kinds = ("is_binary", "is_large_binary", "is_fixed_size_binary", "is_binary_view")
    return any(getattr(pa.types, name)(type_) for name in kinds)


def is_number(type_: pa.DataType) -> bool:
    """Integers, floats, decimals."""
    return bool(pa.types.is_integer(type_) or pa.types.is_floating(type_) or pa.types.is_decimal(type_))


def is_list(type_: pa.DataType) -> bool:
    """Lists, of any or of one length."""
    kinds = ("is_list", "is_large_list", "is_fixed_size_list", "is_list_view", "is_large_list_view")
    return any(getattr(pa.types, name)(type_) for name in kinds)
