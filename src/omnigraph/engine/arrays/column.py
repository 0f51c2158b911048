"""Values in columns, ready for numpy: what expressions are evaluated on.

A `Column` is a whole property in row order; a `Vec` is the values of an expression for the rows of a frame. Numbers, booleans,
dates and times are numpy arrays with a mask of what is there; everything else (text, lists, vectors) stays in Arrow.

    Column(arrow).take(rows)     the values of some rows; -1 is a row that does not exist, whose value is null
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.engine.arrays.numbering import Numbers, has_nobody
from omnigraph.engine.arrays.string_buffer import FEW, Texts

Mask = np.ndarray[tuple[int], np.dtype[np.bool_]]
Array = np.ndarray[tuple[int], np.dtype[Any]]


def is_plain(type_: pa.DataType) -> bool:
    """Whether values of a type are numbers to numpy."""
    return bool(
        pa.types.is_integer(type_)
        or pa.types.is_floating(type_)
        or pa.types.is_boolean(type_)
        or pa.types.is_date32(type_)
        or pa.types.is_timestamp(type_)
        or pa.types.is_duration(type_)
    )


def physical(type_: pa.DataType) -> pa.DataType:
    """The type of the numbers that values of a type are: days, or milliseconds."""
    if pa.types.is_date32(type_):
        return pa.int32()
    return pa.int64() if pa.types.is_timestamp(type_) or pa.types.is_duration(type_) else type_


@dataclass(slots=True, eq=False)
class Vec:
    """One value per row. `plain` or `arrow` is set, not both. Never changed once made."""

    type: pa.DataType
    plain: Array | None = None
    valid: Mask | None = None
    """Which plain values are there; None: all."""
    arrow: pa.Array | None = None

    @classmethod
    def of(cls, array: pa.Array) -> Vec:
        """Values from Arrow."""
        if not is_plain(array.type):
            return cls(array.type, arrow=array)
        valid = array.is_valid().to_numpy(zero_copy_only=False) if array.null_count else None
        filled = array.fill_null(False if pa.types.is_boolean(array.type) else _zero(array.type)) if array.null_count else array
        return cls(array.type, filled.cast(physical(array.type)).to_numpy(zero_copy_only=False), valid)

    def __len__(self) -> int:
        return len(self.arrow if self.plain is None else self.plain)  # type: ignore[arg-type]

    @property
    def nbytes(self) -> int:
        """What the values take in memory."""
        if self.plain is not None:
            return int(self.plain.nbytes + (0 if self.valid is None else self.valid.nbytes))
        assert self.arrow is not None
        return int(self.arrow.nbytes)

    def is_valid(self) -> Mask:
        """Which values are there."""
        if self.plain is not None:
            return np.ones(len(self.plain), np.bool_) if self.valid is None else self.valid
        assert self.arrow is not None
        found: Mask = self.arrow.is_valid().to_numpy(zero_copy_only=False)
        return found

    def take(self, rows: Numbers, *, complete: bool = False) -> Vec:
        """Values of some rows; row -1 has none. `complete`: there is no such row."""
        if self.plain is not None and self.valid is None and complete:
            return Vec(self.type, self.plain[rows])
        missing = rows < 0 if not complete and has_nobody(rows) else None
        if self.plain is not None:
            if missing is not None and len(self.plain) == 0:
                return Vec(self.type, np.zeros(len(rows), self.plain.dtype), np.zeros(len(rows), np.bool_))
            valid = None if self.valid is None else self.valid[rows]
            if missing is not None:
                valid = ~missing if valid is None else valid & ~missing
            return Vec(self.type, self.plain[rows], valid)
        assert self.arrow is not None
        if missing is None and len(rows) == 1:
            return Vec(self.type, arrow=self.arrow.slice(rows[0], 1))
        return Vec(self.type, arrow=self.arrow.take(pa.array(rows, mask=missing)))

    def slice(self, start: int, stop: int) -> Vec:
        """Values of consecutive rows."""
        if self.plain is not None:
            return Vec(self.type, self.plain[start:stop], None if self.valid is None else self.valid[start:stop])
        assert self.arrow is not None
        return Vec(self.type, arrow=self.arrow.slice(start, stop - start))

    def keep(self, mask: Mask) -> Vec:
        """Values where a mask is true."""
        if self.plain is not None:
            return Vec(self.type, self.plain[mask], None if self.valid is None else self.valid[mask])
        assert self.arrow is not None
        return Vec(self.type, arrow=self.arrow.filter(pa.array(mask)))

    def to_arrow(self) -> pa.Array:
        """The values as Arrow."""
        if self.plain is None:
            assert self.arrow is not None
            return self.arrow
        mask = None if self.valid is None else ~self.valid
        stored = physical(self.type)
        array = pa.array(self.plain, stored, mask=mask)
        return array if stored == self.type else array.cast(self.type)

    def to_pylist(self) -> list[Any]:
        """The values as plain Python."""
        if self.plain is not None and physical(self.type) == self.type:
            values = self.plain.tolist()
            if self.valid is None:
                return values
            return [v if there else None for v, there in zip(values, self.valid.tolist(), strict=True)]
        return self.to_arrow().to_pylist()  # type: ignore[no-any-return]


def _zero(type_: pa.DataType) -> pa.Scalar:
    return pa.scalar(0, physical(type_)).cast(type_)


TEXT = pa.string()


class FewTexts(Vec):
    """Texts that are plain Python already, and Arrow only if somebody asks."""

    __slots__ = ("_texts",)
    _texts: list[Any]

    def __init__(self, texts: list[str | None]) -> None:
        self.type = TEXT
        self.plain = None
        self.valid = None
        self._texts = texts

    @property
    def arrow(self) -> pa.Array:  # type: ignore[override]
        return pa.array(self._texts, TEXT)

    def __len__(self) -> int:
        return len(self._texts)

    def to_pylist(self) -> list[Any]:
        return self._texts


class Column:
    """A whole property, in row order."""

    def __init__(self, arrow: pa.Array, identity: int = -1) -> None:
        self.arrow = arrow
        self.identity = identity
        """Which column of its table it is, whatever it is called."""
        self.vec = Vec.of(arrow)
        self.texts = Texts(arrow) if pa.types.is_string(arrow.type) else None

    def __len__(self) -> int:
        return len(self.arrow)

    @property
    def nbytes(self) -> int:
        plain = 0 if self.vec.plain is None or self.vec.valid is None else self.vec.plain.nbytes + self.vec.valid.nbytes
        return int(self.arrow.nbytes) + plain

    def take(self, rows: Numbers, *, complete: bool = False) -> Vec:
        """Values of some rows; row -1 has none. `complete`: there is no such row."""
        if complete and self.texts is not None and len(rows) <= FEW:
            return FewTexts(self.texts.at(rows.tolist()))
        return self.vec.take(rows, complete=complete)

    @cached_property
    def codes(self) -> tuple[Array, pa.Array]:
        """Equal values as equal small numbers, and the value of each number. Null is a value of its own."""
        encoded = one_zero(self.vec).to_arrow().dictionary_encode(null_encoding="encode")
        return encoded.indices.to_numpy(zero_copy_only=False), encoded.dictionary


def concat(parts: list[Vec]) -> Vec:
    """Several vectors of one type, one after the other."""
    if len(parts) == 1:
        return parts[0]
    if all(p.plain is not None for p in parts):
        plain = np.concatenate([p.plain for p in parts if p.plain is not None])
        valid = None if all(p.valid is None for p in parts) else np.concatenate([p.is_valid() for p in parts])
        return Vec(parts[0].type, plain, valid)
    return Vec(parts[0].type, arrow=pa.concat_arrays([p.to_arrow() for p in parts]))


def one_zero(vec: Vec) -> Vec:
    """The values with both zeros of floats as one, as comparisons have them."""
    if vec.plain is None or vec.plain.dtype.kind != "f":
        return vec
    return Vec(vec.type, vec.plain + vec.plain.dtype.type(0), vec.valid)


def nulls(type_: pa.DataType, rows: int) -> Vec:
    """Rows without a value."""
    return Vec.of(pa.nulls(rows, type_))


def to_mask(found: pa.Array) -> Mask:
    """A boolean Arrow array as a mask: null is false."""
    mask: Mask = pc.fill_null(found, False).to_numpy(zero_copy_only=False)
    return mask
