"""The engine: checked queries in, answers out, over one snapshot of a stored graph."""
