"""Words and vectors: terms, postings, edits, distances."""
