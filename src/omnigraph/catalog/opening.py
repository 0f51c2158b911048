"""From a schema text straight to a catalog, for tools that work on files: lint, visualization, tests.

Identities are those of a fresh graph; the identity domain is a fixed one, since nothing is stored.
"""

from __future__ import annotations

from omnigraph.catalog.catalog import Catalog
from omnigraph.catalog.declare import declare
from omnigraph.catalog.identity import resolve
from omnigraph.catalog.ir import SchemaIR
from omnigraph.language.source import Source

OFFLINE_DOMAIN = "00000000000000000000000000"
"""The identity domain of a schema that belongs to no graph."""


def offline_ir(source: Source) -> SchemaIR:
    """The schema of a text as a fresh graph would accept it."""
    return resolve(declare(source), None, domain=OFFLINE_DOMAIN).ir


def offline_catalog(source: Source) -> Catalog:
    """The catalog of a schema text."""
    return Catalog.of(offline_ir(source))
