"""What a commit holds, kept in memory by pin: nodes, edges, adjacency, saved state."""
