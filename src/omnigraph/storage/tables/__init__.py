"""One table at a pinned version: read it, search it, change it."""
