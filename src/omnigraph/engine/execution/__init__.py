"""A plan over a snapshot, to a result."""
