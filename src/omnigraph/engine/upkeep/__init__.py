"""What nobody asks for and everybody relies on: indexes, folds, embeddings, verification."""
