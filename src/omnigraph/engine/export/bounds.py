"""How many rows of an answer become a subgraph by default."""

from __future__ import annotations

from typing import Final

SUBGRAPH_ROWS: Final = 500
"""Rows of a pattern that are made into a graph by default."""
