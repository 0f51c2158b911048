"""Schemas that come with the package."""

from __future__ import annotations

from pathlib import Path

import pytest

import omnigraph as og
from omnigraph.language.pg.format import format_schema
from omnigraph.language.source import Source
from omnigraph.memory.templates import TEMPLATES, schema


@pytest.mark.parametrize("name", TEMPLATES)
def test_a_template_is_a_schema_in_its_layout(name: str, tmp_path: Path) -> None:
    text = schema(name)
    assert format_schema(Source(text, "template")) == text
    with og.init(tmp_path / "g.omni", schema=text, durability="os") as graph:
        assert graph.schema() == text


def test_the_dimension_is_that_of_the_model() -> None:
    assert "Vector(384)?" in schema("memory")
    assert "Vector(768)?" in schema("memory", dimension=768)
    for wrong in (0, -1, 65_537, True, "7"):
        with pytest.raises(og.UsageError, match="a vector has from 1 to 65,536 numbers"):
            schema("memory", dimension=wrong)  # type: ignore[arg-type]


def test_a_template_that_is_not_there() -> None:
    with pytest.raises(og.NotFound, match="no template `memroy`") as raised:
        schema("memroy")
    assert "memory" in str(raised.value.hint)
