"""Tables at pinned versions under one manifest per branch: the only place where anything becomes visible."""
