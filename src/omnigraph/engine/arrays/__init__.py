"""Columns in memory: vectors, groups, order, hashes, string buffers, numberings."""
