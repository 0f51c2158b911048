"""The query language `.gq`: grammar, tree and layout."""
