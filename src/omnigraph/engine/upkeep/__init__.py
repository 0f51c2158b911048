"""Upkeep: indexes, compaction, embeddings, verification."""
