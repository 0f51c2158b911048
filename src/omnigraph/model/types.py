"""Property types: the closed set of things a property can hold.

A `PropertyType` is a scalar plus three modifiers: nullable (`?`), list (`[T]`) and the allowed values of an enum. An enum is
carried by String; a vector has its dimension in the scalar. The display name (`I32?`, `[Date]?`, `enum(a, b)`) is the one
spelling used in every message, plan and document.

Nothing here imports pyarrow: `model.arrow` has the mapping to Arrow, for those who need it.
"""

from __future__ import annotations

from dataclasses import field, replace
from enum import Enum

from omnigraph.model.frozen import frozen


class Scalar(Enum):
    """The scalar types of the schema language, spelt as in `.pg`."""

    STRING = "String"
    BLOB = "Blob"
    BOOL = "Bool"
    I32 = "I32"
    I64 = "I64"
    U32 = "U32"
    U64 = "U64"
    F32 = "F32"
    F64 = "F64"
    DATETIME = "DateTime"
    DATE = "Date"
    VECTOR = "Vector"
    DURATION = "Duration"
    """What lies between two moments. Only expressions have it: no property holds one."""

    @property
    def is_integer(self) -> bool:
        return self in _INTEGERS

    @property
    def is_float(self) -> bool:
        return self in _FLOATS

    @property
    def is_numeric(self) -> bool:
        return self in _INTEGERS or self in _FLOATS

    @property
    def is_temporal(self) -> bool:
        return self in (Scalar.DATE, Scalar.DATETIME, Scalar.DURATION)


_INTEGERS = frozenset({Scalar.I32, Scalar.I64, Scalar.U32, Scalar.U64})
_FLOATS = frozenset({Scalar.F32, Scalar.F64})

_WIDER = frozenset({(Scalar.I32, Scalar.I64), (Scalar.U32, Scalar.U64), (Scalar.U32, Scalar.I64), (Scalar.F32, Scalar.F64)})
"""Types, and those that hold all of their values."""

INTEGER_RANGES: dict[Scalar, tuple[int, int]] = {
    Scalar.I32: (-(2**31), 2**31 - 1),
    Scalar.I64: (-(2**63), 2**63 - 1),
    Scalar.U32: (0, 2**32 - 1),
    Scalar.U64: (0, 2**64 - 1),
}
"""Inclusive bounds of each integer type."""


@frozen
class PropertyType:
    """The type of a property, parameter or expression."""

    scalar: Scalar
    nullable: bool = False
    is_list: bool = False
    enum_values: tuple[str, ...] | None = None
    """Allowed values, sorted bytewise; None when the type is not an enum."""
    dimension: int | None = None
    """Length of a vector; None for every other scalar."""
    enum_order: tuple[str, ...] | None = field(default=None, compare=False)
    """Allowed values as they were declared, where that is known and another order: by it results are ordered."""

    @property
    def is_enum(self) -> bool:
        return self.enum_values is not None

    @property
    def is_vector(self) -> bool:
        return self.scalar is Scalar.VECTOR

    @property
    def is_blob(self) -> bool:
        return self.scalar is Scalar.BLOB

    @property
    def is_string(self) -> bool:
        """A single String or enum value."""
        return self.scalar is Scalar.STRING and not self.is_list

    @property
    def is_numeric(self) -> bool:
        """A single number."""
        return self.scalar.is_numeric and not self.is_list

    @property
    def form(self) -> tuple[Scalar, bool, int | None]:
        """What a value consists of: types of one form hold values that compare, whatever else they allow or forbid."""
        return self.scalar, self.is_list, self.dimension

    def widens(self, other: PropertyType) -> bool:
        """Whether it holds every value of another type, exactly, and is not the same."""
        return self.is_list == other.is_list and (other.scalar, self.scalar) in _WIDER

    def as_nullable(self) -> PropertyType:
        return self if self.nullable else replace(self, nullable=True)

    def as_required(self) -> PropertyType:
        return replace(self, nullable=False) if self.nullable else self

    def element(self) -> PropertyType:
        """The type of one element of a list."""
        return replace(self, is_list=False, nullable=False)

    def compatible_with(self, other: PropertyType) -> bool:
        """Same list-ness, then same scalar (and dimension) or both numeric. Nullability and enum values do not matter."""
        if self.is_list != other.is_list:
            return False
        if self.scalar is other.scalar:
            return self.dimension == other.dimension
        return self.scalar.is_numeric and other.scalar.is_numeric

    def __str__(self) -> str:
        return self.display()

    def display(self) -> str:
        """The canonical spelling, valid in `.pg` except that enum values are sorted."""
        if self.enum_values is not None:
            core = f"enum({', '.join(self.enum_values)})"
        elif self.scalar is Scalar.VECTOR:
            core = f"Vector({self.dimension})"
        else:
            core = self.scalar.value
        if self.is_list:
            core = f"[{core}]"
        return f"{core}?" if self.nullable else core
