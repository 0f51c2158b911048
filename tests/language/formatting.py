"""Texts laid out by the formatter, checked on the way: formatting again changes nothing, and the text says the same."""

from __future__ import annotations

from omnigraph.language import Source, parse_queries, parse_schema
from omnigraph.language.gq.format import format_queries
from omnigraph.language.pg.format import format_schema


def schema(text: str) -> str:
    """The formatted text, after checking that formatting it again changes nothing and that it says the same."""
    formatted = format_schema(Source(text))
    assert format_schema(Source(formatted)) == formatted
    assert parse_schema(Source(formatted)) == parse_schema(Source(text))
    return formatted


def queries(text: str) -> str:
    """The same for queries."""
    formatted = format_queries(Source(text))
    assert format_queries(Source(formatted)) == formatted
    assert parse_queries(Source(formatted)) == parse_queries(Source(text))
    return formatted


def clauses(text: str) -> str:
    """The formatted clauses of a match block, without their indentation."""
    formatted = queries(f"query q() {{ match {{ {text} }} return {{ $a }} }}").splitlines()
    return "\n".join(line[8:] for line in formatted[2 : formatted.index("    }")])


def body(text: str) -> str:
    """The formatted body of a query, without its indentation."""
    return "\n".join(line[4:] for line in queries(f"query q() {{ {text} }}").splitlines()[1:-1])
