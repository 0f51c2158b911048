"""Schemas of a stored graph: documents, indexes they declare, and how a new one is applied."""
