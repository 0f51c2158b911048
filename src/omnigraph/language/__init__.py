"""The two languages of OmniGraph: `.pg` for schemas, `.gq` for queries. Text in, tree out; no meaning yet.

`parse_schema`, `parse_queries` and `parse_expression` give the tree or raise `ParseError` with every problem found. `read_schema`
and `read_queries` give what could be read together with the problems, for editors and linters that want to go on.
"""

from __future__ import annotations

from omnigraph.errors import ParseError
from omnigraph.language.diagnostics import Family, Problems
from omnigraph.language.gq import grammar as gq_grammar
from omnigraph.language.gq import tree as gq_tree
from omnigraph.language.gq.expressions import expression
from omnigraph.language.gq.mistakes import QUERY_MISTAKES
from omnigraph.language.pg import grammar as pg_grammar
from omnigraph.language.pg import tree as pg_tree
from omnigraph.language.pg.mistakes import SCHEMA_MISTAKES
from omnigraph.language.reading import read_items
from omnigraph.language.source import Source, Span

__all__ = ["Source", "parse_expression", "parse_queries", "parse_schema", "read_queries", "read_schema"]


def read_schema(source: Source) -> tuple[pg_tree.Schema, Problems]:
    """The declarations that can be read, and the problems of the rest."""
    items, problems = read_items(source, pg_grammar.declaration, pg_grammar.DECLARATION_START, SCHEMA_MISTAKES)
    return pg_tree.Schema(tuple(items)), problems


def parse_schema(source: Source) -> pg_tree.Schema:
    """The tree of a `.pg` text."""
    tree, problems = read_schema(source)
    if problems:
        raise ParseError(problems.found)
    return tree


def read_queries(source: Source) -> tuple[gq_tree.QueryFile, Problems]:
    """The queries that can be read, and the problems of the rest."""
    items, problems = read_items(source, gq_grammar.query, gq_grammar.QUERY_START, QUERY_MISTAKES)
    return gq_tree.QueryFile(tuple(items)), problems


def parse_queries(source: Source) -> gq_tree.QueryFile:
    """The tree of a `.gq` text."""
    tree, problems = read_queries(source)
    if problems:
        raise ParseError(problems.found)
    return tree


def parse_expression(source: Source) -> gq_tree.Expression:
    """The tree of one expression of `.gq`, which stands alone."""
    items, problems = read_items(source, expression, gq_grammar.QUERY_START, QUERY_MISTAKES)
    if not problems and len(items) != 1:
        end = len(source.text)
        message = "an expression is expected" if not items else "one expression is expected, and there are several"
        problems.add(Family.PARSE, "expression", message, Span(0 if not items else items[1].span.start, end))
    if problems:
        raise ParseError(problems.found)
    return items[0]
