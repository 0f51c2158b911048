"""Values into the types of properties: one by one with everything that can be wrong, and whole columns at once."""
