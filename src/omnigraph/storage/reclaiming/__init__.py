"""Space given back, and proof that nothing is missing: retention, reclaim, verify."""
