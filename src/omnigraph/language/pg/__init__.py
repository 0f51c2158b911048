"""The schema language `.pg`: grammar, tree and layout."""
