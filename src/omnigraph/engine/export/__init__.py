"""A graph, or a part of it, for others: lines, files, subgraphs, numbers."""
