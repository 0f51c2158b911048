"""The same rows laid out anew: folds, columns, indexes."""
