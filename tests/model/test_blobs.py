"""Cells of Blobs: any bytes and any URI can be told apart and read back."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from omnigraph.errors import UnsupportedFormat
from omnigraph.model.blobs import MARK, bytes_of, managed, reference, uri_of


@given(st.binary() | st.binary().map(lambda b: MARK + b))
@example(MARK)
@example(reference("s3://media/a"))
@example(managed(MARK))
def test_bytes_are_bytes(data: bytes) -> None:
    assert (bytes_of(managed(data)), uri_of(managed(data))) == (data, None)


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_a_reference_is_a_reference(uri: str) -> None:
    assert uri_of(reference(uri)) == uri
    with pytest.raises(ValueError, match="another place"):
        bytes_of(reference(uri))


@given(st.binary())
def test_bytes_that_do_not_begin_with_the_mark_are_stored_as_they_are(data: bytes) -> None:
    assert managed(data) == data, "as in every graph written before there were references"


@pytest.mark.parametrize("cell", [MARK, MARK + b"Z", MARK + b"Zs3://media/a"])
def test_a_mark_of_a_later_version_is_not_guessed_at(cell: bytes) -> None:
    with pytest.raises(UnsupportedFormat):
        uri_of(cell)
